"""Notebook 04: ages, what is gone and why, and what the next purge would take, as a report shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support_audit import AS_OF
from support_reports import Page

from busbar_audit.auditing import audit
from busbar_audit.policy import Policy
from busbar_audit.reporting.runner import report
from busbar_audit.reporting.session import Session, next_purges
from busbar_audit.store import open_store
from busbar_audit.synth import plant, write_busbar
from busbar_audit.synth.maka import write_maka

DAY = 86_400


@contextmanager
def _session(path: Path, policy: Policy | None = None, **words: Any) -> Iterator[Session]:
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, policy=policy, **words)
        yield Session(result.as_dict(), store.con, result=result, purges=next_purges(result, policy))


def _why(session: Session) -> dict[tuple[str, str], str]:
    query = session.figure("retention_gone")
    cutoffs = (session.purges or {}).get("cutoffs", {})
    rows = session.rows(query, {"calls": cutoffs.get("calls"), "tasks": cutoffs.get("tasks")})
    return {(row["population"], row["about"]): row["why"] for row in rows}


@pytest.fixture(scope="module")
def purged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose calls were purged by time, for all principals."""
    path = tmp_path_factory.mktemp("purged") / "s.db"
    write_busbar(path, generation=12, calls=200, tasks=12, audits=30, odd=("purged_head",))
    return path


def test_a_lawful_purge_is_declared_or_plausible_and_never_unexplained(purged: Path) -> None:
    with _session(purged) as session:
        assert _why(session) == {("call", "head-missing"): "plausible by time"}
        assert "plausible by time" in repr(session.gone())
    # The purge ran earlier: what is older than today's cutoff and still there is due, and proves nothing against it.
    with _session(purged, Policy(cutoffs={"calls": -DAY})) as session:
        assert _why(session) == {("call", "head-missing"): "declared"}
        rows = session.rows(session.figure("retention_ages"), {"as_of": AS_OF, "calls": AS_OF - DAY, "tasks": None})
        due = {row["population"]: row["due"] for row in rows}
        assert due["call"] > 0
        assert due["audit"] == 0


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("call_deleted", {("call", "gap-inner"): "unexplained"}),
        ("audit_head_deleted", {("audit", "head-missing"): "unexplained"}),
    ],
)
def test_what_no_purge_may_take_is_unexplained(
    fault: str, expected: dict[tuple[str, str], str], tmp_path: Path
) -> None:
    write_busbar(tmp_path / "s.db", generation=12, calls=60, tasks=6, audits=30)
    plant(tmp_path / "s.db", fault)
    with _session(tmp_path / "s.db", Policy(cutoffs={"calls": -DAY})) as session:
        assert _why(session) == expected


def test_the_next_purge_is_told_and_what_it_would_hurt(purged: Path) -> None:
    with _session(purged, Policy(cutoffs={"calls": -3 * DAY, "tasks": -3 * DAY})) as session:
        shown = session.next_purge()
        assert "purge_plane_records_before(call)" in repr(shown)
        assert "Not predicted, since no cutoff is declared: purge_metering_before" in shown.html
        assert Page(shown.html).loads() == []
    with _session(purged) as session:
        assert "Not predicted" in session.next_purge().html
        session.purges = None
        assert "was not predicted in this run" in repr(session.next_purge())
        session.purges = {"failed": "Table <b>x</b> cannot be loaded.", "cutoffs": {}}
        assert "&lt;b&gt;x&lt;/b&gt;" in session.next_purge().html


def test_ages_and_growth_add_up(purged: Path) -> None:
    with _session(purged) as session:
        held = dict(session.con.execute("SELECT population, count(*) FROM audit.chain_records GROUP BY 1").fetchall())
        rows = session.rows(session.figure("retention_ages"), {"as_of": AS_OF, "calls": None, "tasks": None})
        ages = ("future", "day", "week", "month", "quarter", "year", "older", "undated")
        assert {row["population"]: sum(row[age] for age in ages) for row in rows} == held
        growth = session.rows(session.figure("retention_growth"), {"as_of": AS_OF})
        assert {row["population"]: row["held"] for row in growth} == held
        assert "svg" in Page(session.ages().html).names()
        assert "Growth" in repr(session.growth())


def test_when_the_disk_is_full_is_told_or_said_to_be_unknown(purged: Path) -> None:
    with _session(purged) as session:
        assert session.purges is not None
        size = session.document["snapshot"]["source"]["main_bytes"]
        growth = session.rows(session.figure("retention_growth"), {"as_of": AS_OF})
        held, a_day = sum(r["held"] for r in growth), sum(r["a_day"] for r in growth)
        assert session.purges["disk"]["free"] > 0
        session.purges["disk"]["free"] = round(10 * a_day * size / held)
        lines = [" ".join(line.split()) for line in repr(session.disk()).splitlines()]
        assert "full in, days 10" in lines
        assert f"database file, bytes {size:,}" in lines
        session.purges["disk"] = {"free": None, "why": "nobody knows"}
        assert "not known: nobody knows" in repr(session.disk())
        session.purges = None
        assert "did not ask" in repr(session.disk())
        session.document = {**session.document, "snapshot": {}}
        assert "cannot be told" in repr(session.disk())


def test_nothing_looked_at_is_said_and_not_shown_as_empty(purged: Path, tmp_path: Path) -> None:
    with _session(purged, only=("BUS-K01",)) as session:
        for block in (session.ages(), session.gone(), session.growth(), session.disk(), session.next_purge()):
            assert "not part of this run" in repr(block)
    write_maka(tmp_path / "runtime.sqlite", sessions=1)
    with _session(tmp_path / "runtime.sqlite") as session:
        assert session.purges is None
        assert "gateways' stores" in repr(session.ages())
        assert "gateways' stores" in repr(session.disk())


def test_a_report_has_the_page(purged: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[retention]\ncalls = "3d"\n')
    report([purged], out=tmp_path / "out", notebooks=["04"], policy=tmp_path / "policy.toml", as_of=AS_OF)
    page = Page((tmp_path / "out" / "04_retention_effects.html").read_text(encoding="utf-8"))
    assert page.loads() == []
    for words in ("purge_plane_records_before(call)", "declared", "full in, days", "Every cell of this notebook ran."):
        assert words in page.text
