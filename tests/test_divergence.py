"""What notebook 02 shows: how sessions are read, differences by class, and the first one of each session side by side."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support_maka import planted
from support_reports import Page

from busbar_audit.auditing import audit
from busbar_audit.reporting.divergence import CLASSES
from busbar_audit.reporting.runner import report
from busbar_audit.reporting.session import Session
from busbar_audit.store import open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_faults import FAULTS
from busbar_audit.synth.maka_planting import edit

SECRET = "correcthorsebattery"
# Fault by fault: class, and the first row that differs as (type, row, Session view, pages).
EXPECTED = {
    "ordinal-removed": ("V13", ("assistant", "{s}-t1-answer", "shown", "hidden")),
    "opening-late": ("V16", ("user", "{s}-t1-user", "shown", "hidden")),
    "straggler": ("V4", ("token_usage", "{s}-i1-e9", "shown", "hidden")),
    "ended-twice": ("V4", ("user", "{s}-t1-user", "refused", "shown")),
    "handoff-pause": ("V3", ("user", "{s}-t1-user", "refused", "shown")),
    "orphan-thinking": ("V5", None),
    "outcome-removed": ("V19", None),  # neither opens: there is nothing to lay side by side
    "usage-text": ("V5", None),
    "preview-old": (None, None),  # no matter of the readers
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, dict[str, str]]]:
    """A session for each fault, and a text in one of them that must not be seen."""
    path = tmp_path_factory.mktemp("maka") / "runtime.sqlite"
    where = planted(path, 18, [FAULTS[name] for name in EXPECTED])
    with closing(sqlite3.connect(path)) as con:
        edit(con, "s1-i1-e3", lambda event: event["content"].update(text=SECRET))
        con.commit()
    with open_store(path) as store:
        result = audit(store)
        assert result.check("MAKA-T15").findings == 0
        yield Session(result.as_dict(), store.con, result=result), {fault.name: s for s, fault in where.items()}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_first_difference_of_a_session_has_both_versions(name: str, shown: tuple[Session, dict[str, str]]) -> None:
    session, where = shown
    kind, row = EXPECTED[name]
    told = session.con.execute(
        "SELECT code FROM audit.transcript_facts WHERE fact = 'divergence' AND session_id = $1", [where[name]]
    ).fetchall()
    assert told == ([(kind,)] if kind else [])
    near = session.con.execute(
        """SELECT records, code, message, view, pages FROM audit.transcript_facts
        WHERE fact = 'beside' AND session_id = $1 ORDER BY records""",
        [where[name]],
    ).fetchall()
    if row is None:
        assert near == []
        return
    first = next(line for line in near if line[0] == 0)
    assert first[1:] == tuple(word.format(s=where[name]) for word in row)
    assert [line[0] for line in near] == list(range(near[0][0], near[0][0] + len(near)))
    assert 1 < len(near) <= 7
    assert all(line[3:] == ("shown", "shown") for line in near if line[0] < 0)


def test_sections_say_what_a_user_sees_and_no_text(shown: tuple[Session, dict[str, str]]) -> None:
    session, where = shown
    blocks = (session.readers(), session.differences(), session.first_difference(), session.refused_sessions())
    pages = "".join(block.html for block in blocks)
    assert SECRET not in pages + "".join(map(repr, blocks))
    assert Page(pages).loads() == []
    read, by_class, first, refused = map(repr, blocks)
    assert [line.split("  ")[0] for line in read.splitlines()[1:]] == [
        "read alike", "alike, but for an open run", "read differently", "refused by the Session view",
    ]  # fmt: skip
    assert {line.split()[0] for line in by_class.splitlines()[2:]} == {"V1", "V3", "V4", "V5", "V13", "V16", "V19"}
    for kind, seen in (("V19", "neither opens"), ("V5", "neither opens"), ("V13", CLASSES["V13"][1])):
        assert seen in next(line for line in by_class.splitlines() if line.startswith(kind + " "))
    assert {line.split()[0] for line in first.splitlines()[1:]} == {
        where[name] for name, (_, row) in EXPECTED.items() if row is not None
    }
    assert where["outcome-removed"] in refused
    assert "3 more session(s) read differently." in session.first_difference(2).html


def test_alike_and_of_another_family(tmp_path: Path) -> None:
    write_maka(tmp_path / "runtime.sqlite", sessions=2, converted=0)
    with closing(sqlite3.connect(tmp_path / "runtime.sqlite")) as con:
        assert con.execute("SELECT count(*) FROM runtime_events").fetchone() != (0,)
    with open_store(tmp_path / "runtime.sqlite") as store:
        result = audit(store)
        session = Session(result.as_dict(), store.con, result=result)
        assert "no session is read differently" in repr(session.first_difference())
        assert "Every session opens." in repr(session.refused_sessions())
    with open_store(write_busbar(tmp_path / "busbar.db", generation=12, calls=5).path) as store:
        result = audit(store)
        session = Session(result.as_dict(), store.con, result=result)
        for block in (session.readers(), session.differences(), session.first_difference(), session.refused_sessions()):
            assert "no workspace" in repr(block)


def test_a_report_of_a_workspace_has_the_page(tmp_path: Path) -> None:
    planted(tmp_path / "runtime.sqlite", 18, [FAULTS["straggler"]])
    outcome = report([tmp_path / "runtime.sqlite"], out=tmp_path / "out", notebooks=["02"])
    assert outcome.exit_code == 1
    page = Page(next((tmp_path / "out").rglob("02_divergence.html")).read_text(encoding="utf-8"))
    assert page.loads() == []
    assert "s2-i1-e9" in page.text
    assert CLASSES["V4"][1] in page.text


def test_what_pages_cost_is_told_for_each_generation(shown: tuple[Session, dict[str, str]]) -> None:
    """Q-B decodes whole turns for each page, Q-A the events it shows and what they refer to."""
    session, _ = shown
    found = {row["generation"]: row for row in session.rows(session.figure("divergence_cost"))}
    assert list(found) == ["Q-A", "Q-B", "Q-C"]
    assert {row["sessions"] for row in found.values()} == {found["Q-B"]["sessions"]}
    for row in found.values():
        assert row["pages"] >= row["sessions"] > 0
        assert row["ratio"] == pytest.approx(float(row["read"]) / float(row["served"]))
        assert row["worst"] >= row["ratio"]
    assert found["Q-B"]["events"] > found["Q-A"]["events"] > 0
    lines = [line.split() for line in repr(session.reading_costs()).splitlines()]
    assert [line[:2] for line in lines if line and line[0].startswith("Q-")] == [
        ["Q-A", "emulated,"], ["Q-B", "verified"], ["Q-C", "emulated,"],
    ]  # fmt: skip
