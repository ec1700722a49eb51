"""The analyst's desk: from a check to the rows behind it, and case files that verify without the store."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_cli import called, last
from support_reports import AS_OF, HOSTILE, Page, clean_store, hostile_store

from busbar_audit.errors import OutputExists, ReportError, UnknownCheck, UsageError
from busbar_audit.reporting import casefile, digests, progress
from busbar_audit.reporting.desk import Found
from busbar_audit.reporting.schema import validator
from busbar_audit.reporting.session import Session, open_run
from busbar_audit.reporting.verification import verify
from busbar_audit.synth import KINDS
from busbar_audit.synth.a2a_command import write_python_file
from busbar_audit.synth.maka import write_maka

SECRET = "canary-5d1f"
UTC = "2023-11-23T00:00:00Z"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gateway with faults, one of generation 12, a workspace with a broken run, tasks of the Python SDK."""
    folder = tmp_path_factory.mktemp("desk")
    hostile_store(folder / "gateway.db")
    with closing(sqlite3.connect(folder / "gateway.db")) as con, con:
        con.execute("UPDATE keys SET labels = json_object('note', ?)", (SECRET,))
    clean_store(folder / "planes.db", generation=12)
    with closing(sqlite3.connect(folder / "planes.db")) as con, con:
        for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            con.execute(f'DROP TRIGGER "{name}"')
        con.execute(
            "UPDATE plane_records SET body = CAST(replace(body, 'dispatched', 'dispatchee') AS BLOB) "
            "WHERE kind = 'call' AND seq = 7"
        )
    write_maka(folder / "workspace.sqlite", generation=18)
    with closing(sqlite3.connect(folder / "workspace.sqlite")) as con, con:
        con.execute(
            "UPDATE runtime_events SET payload_json = ? WHERE event_id = (SELECT min(event_id) FROM runtime_events)",
            (SECRET,),
        )
    list(write_python_file(folder / "tasks.db", generation=KINDS["a2a-python"], seed=1, size=12, odd=()))
    with closing(sqlite3.connect(folder / "tasks.db")) as con, con:
        con.execute("DELETE FROM tasks WHERE id IN (SELECT min(task_id) FROM push_notification_configs)")
    return folder


@pytest.fixture(scope="module")
def runs(stores: Path) -> Iterator[dict[str, Session]]:
    opened = {
        path.stem: open_run(path, as_of=AS_OF) for path in sorted(stores.iterdir()) if path.suffix in (".db", ".sqlite")
    }
    yield opened
    for run in opened.values():
        run.close()


@pytest.fixture(scope="module")
def gateway(runs: dict[str, Session]) -> Session:
    return runs["gateway"]


def _every(run: Session) -> list[Found]:
    codes = [check["code"] for check in run.document["checks"] if check["outcome"] == "finding"]
    return [found for code in codes for found in list(run.find(code))[:10]]


def test_every_finding_of_every_family_can_be_looked_at(runs: dict[str, Session]) -> None:
    marked: dict[str, int] = {}
    for name, run in runs.items():
        for found in _every(run):
            for block in (found.around(2), found.explain()):
                for text in (repr(block), block.html, repr(found)):
                    assert SECRET not in text
                    assert "\x1b" not in text
                assert "<script" not in block.html
            marked[name] = marked.get(name, 0) + ("this  " in repr(found.around(2)))
            assert found.sql.lstrip().upper().startswith(("SELECT", "WITH"))
            (same,) = run.find(found.finding.identity)
            assert same == found
    assert marked.keys() == runs.keys()
    assert all(marked.values()), marked


def test_the_records_beside_a_finding(gateway: Session) -> None:
    gap = next(f for f in gateway.find("BUS-C03") if f.finding.records == 3)
    rows = [line.split() for line in repr(gap.around(2)).splitlines()]
    assert [row[0] for row in rows[1:]] == ["3", "4", "8", "9", "10"], "5 to 7 are not there to be marked"
    link = gateway.find("BUS-C02")[0]
    assert [row.split()[:2] for row in repr(link.around(1)).splitlines()[1:]] == [
        [str(link.finding.first_seq - 1), repr(link.around(1)).splitlines()[1].split()[1]],  # type: ignore[operator]
        ["this", str(link.finding.first_seq)],
        [str(link.finding.first_seq + 1), repr(link.around(1)).splitlines()[3].split()[1]],  # type: ignore[operator]
    ]
    assert "ba-bad" in link.around(1).html


def test_content_is_shown_only_when_asked(runs: dict[str, Session]) -> None:
    bad = next(found for found in _every(runs["workspace"]) if "bytes, sha256" in repr(found.around(1)))
    texts = {shown: repr(bad.around(1, show_content=shown)) for shown in (False, True)}
    assert "bytes, sha256" not in texts[True]
    assert texts[True] != texts[False]


def test_a_check_without_findings_says_how_it_ended(gateway: Session) -> None:
    passed = gateway.find("BUS-C05")
    assert (len(passed), passed.total) == (0, 0)
    assert repr(passed).startswith("BUS-C05 has no finding: pass, ")
    assert "pass" in passed._repr_html_()
    assert list(passed.frame().columns[:3]) == ["code", "severity", "subject"]
    with pytest.raises(IndexError, match="no finding: pass"):
        passed[0]
    assert "not applicable (needs --witness)" in repr(gateway.find("BUS-C12"))
    assert "nothing at nobody" in repr(gateway.find("BUS-C03", place="nobody"))
    with pytest.raises(UnknownCheck, match="BUS-C99"):
        gateway.find("BUS-C99")


def test_findings_are_a_table_and_a_frame(gateway: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gateway.find("bus-c03")
    assert {f.code for f in found} == {"BUS-C03"}
    assert len(found.frame()) == len(found) == found.total
    assert str(found.frame()["first_seq"].dtype) == "Int64"
    assert [f.finding.place for f in gateway.find("BUS-C03", place=found[0].finding.place)] == [found[0].finding.place]
    page = Page(found._repr_html_())
    assert "BUS-C03" in page.text
    assert page.loads() == []
    monkeypatch.setitem(sys.modules, "itables", None)
    with pytest.raises(ReportError, match="itables"):
        found.live()
    shown: list[Any] = []
    fake = types.SimpleNamespace(init_notebook_mode=lambda connected: shown.append(connected), show=shown.append)
    monkeypatch.setitem(sys.modules, "itables", fake)
    found.live()
    assert shown[0] is False, "nothing is loaded from a network"
    assert list(shown[1]["code"]) == ["BUS-C03"] * len(found)


def test_a_trail_has_every_row_that_names_a_thing_in_the_order_of_time(gateway: Session) -> None:
    principal = gateway.con.execute("SELECT min(principal) FROM raw.mcp_calls WHERE principal LIKE 'vk_%'").fetchone()[
        0
    ]  # type: ignore[index]
    trail = gateway.trail(principal)
    calls = gateway.con.execute("SELECT seq FROM raw.mcp_calls WHERE principal = $1 ORDER BY 1", [principal]).fetchall()
    assert list(trail["seq"][trail["table"] == "mcp_calls"]) == [seq for (seq,) in calls]
    assert {"mcp_calls", "keys", "task_events"} <= set(trail["table"])
    assert list(trail["time"]) == sorted(trail["time"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert (gateway.trail(principal, limit=2)["table"] == "mcp_calls").sum() == 2
    assert "More than 2 rows of" in str(said[0].message)
    assert gateway.trail("nobody").empty


def test_tables_say_what_a_row_is(runs: dict[str, Session]) -> None:
    for run in runs.values():
        told = run.tables()
        assert {"raw", "audit", "findings"} == set(told["schema"])
        assert (told["about"].str.len() > 5).all()
        assert told["rows"][told["schema"] != "audit"].notna().all()


# ---- case files ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cases(stores: Path, runs: dict[str, Session], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    for content in (False, True):
        for run, code in (("gateway", "BUS-C01"), ("gateway", "BUS-C02"), ("planes", "BUS-C01"), ("workspace", "")):
            found = runs[run].find(code)[0] if code else next(iter(_every(runs[run])))
            found.export(folder / f"{run}-{code or 'any'}-{content}", show_content=content)
    return folder


def test_a_case_file_verifies_elsewhere_without_the_store(cases: Path, tmp_path: Path) -> None:
    for case in sorted(cases.iterdir()):
        there = Path(shutil.copytree(case, tmp_path / case.name))
        done = called("verify", there)
        assert (done.returncode, last(done.stdout)) == (0, "clean"), done.stdout
        assert sorted(path.name for path in there.iterdir()) == [
            "case.json",
            "index.html",
            "manifest.json",
            "query.sql",
        ]
        document = json.loads((there / "case.json").read_text())
        validator("case").validate(document)
        content = case.name.endswith("True")
        assert document["content"] == ("included" if content else "withheld")
        page = Page((there / "index.html").read_text())
        assert page.loads() == []
        assert "script" not in page.names()
        if not content:
            whole = "".join(path.read_text() for path in there.iterdir())
            assert SECRET not in whole
            assert "dispatche" not in whole.replace("dispatched", "") or "planes" not in case.name


def test_what_the_digests_show_is_recomputed_by_the_other_verifier(cases: Path) -> None:
    for name, seq in (("gateway-BUS-C01-False", 3), ("planes-BUS-C01-True", 7)):
        document = json.loads((cases / name / "case.json").read_text())
        shown = {record["seq"]: record["shows"] for record in document["records"]}
        assert [at for at, said in shown.items() if "content" in said] == [seq]
        assert not [at for at, said in shown.items() if "link" in said]
    document = json.loads((cases / "gateway-BUS-C02-True" / "case.json").read_text())
    # The hash that the record names is in its digest.
    assert [record["seq"] for record in document["records"] if record["shows"] == ["content", "link"]] == [4]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["records"][1].update(shows=["link"]), "says of record"),
        (lambda d: d["records"][1].update(recomputed="0" * 64), "names a digest of record"),
        (lambda d: d["records"][1]["stored"].update(action="other"), "names a digest of record"),
        (lambda d: d["records"][1].update(prev_hash="0" * 64), "names hashes of record"),
        (lambda d: d["store"].update(location="/elsewhere"), "names other runs or stores"),
        (lambda d: d.update(records=[{}]), "cannot be read as a case file"),
    ],
)
def test_a_case_whose_manifest_was_made_anew_still_has_to_add_up(
    cases: Path, tmp_path: Path, change: Any, said: str
) -> None:
    case = Path(shutil.copytree(cases / "gateway-BUS-C01-True", tmp_path / "case"))
    document = json.loads((case / "case.json").read_text())
    change(document)
    (case / "case.json").write_text(json.dumps(document))
    assert {d.kind for d in verify(case).differences} >= {"changed"}
    told = json.loads((case / "manifest.json").read_text())
    from busbar_audit.reporting.manifest import sha256

    told["files"]["case.json"] = {"bytes": (case / "case.json").stat().st_size, "sha256": sha256(case / "case.json")}
    (case / "manifest.json").write_text(json.dumps(told))
    found = verify(case).differences
    assert found
    assert all(said in d.what or d.kind == "case" for d in found), found
    assert any(said in d.what for d in found), found


def test_evidence_is_written_once_and_never_replaced(
    stores: Path, cases: Path, tmp_path: Path, gateway: Session
) -> None:
    done = called("evidence", stores / "gateway.db", "BUS-C01", "--as-of", UTC, "--out", tmp_path / "case")
    assert done.returncode == 0, done.stderr
    assert "content   withheld" in done.stdout
    assert called("verify", tmp_path / "case").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "case").iterdir()}
    for again in (
        called("evidence", stores / "gateway.db", "BUS-C01", "--as-of", UTC, "--out", tmp_path / "case"),
        called("audit", stores / "gateway.db", "--only", "BUS-S01", "--out", tmp_path / "case"),
    ):
        assert again.returncode == 2
        assert "evidence is never replaced" in again.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "case").iterdir()} == before
    nothing = called("evidence", stores / "gateway.db", "BUS-C05", "--out", tmp_path / "none")
    assert (nothing.returncode, (tmp_path / "none").exists()) == (3, False)
    assert "BUS-C05 has no finding: pass" in nothing.stderr
    assert called("evidence", stores / "gateway.db", "BUS-X99", "--out", tmp_path / "none").returncode == 2
    assert called("evidence", stores / "gateway.db", "A2A-D01", "--out", tmp_path / "none").returncode == 2
    with pytest.raises(OutputExists):
        gateway.find("BUS-C01")[0].export(cases / "gateway-BUS-C01-True")
    with pytest.raises(UsageError, match="of one check"):
        casefile.write([gateway.find("BUS-C01")[0], gateway.find("BUS-C02")[0]], tmp_path / "two")


def test_what_records_show_beside_each_other() -> None:
    def record(seq: int, prev: str, own: str, again: str | None = "") -> dict[str, Any]:
        return {"seq": seq, "prev_hash": prev, "hash": own, "recomputed": own if again == "" else again}

    chain = [
        record(1, "", "a"), record(2, "a", "b"), record(2, "a", "x"), record(3, "x", "c"), record(4, "y", "d"),
        record(6, "e", "f"), record(7, "f", "g", "z"), record(8, "g", "h", None),
    ]  # fmt: skip
    assert digests.shows(chain) == [["begins"], [], [], [], ["link"], ["not shown"], ["content"], ["undecodable"]]


# ---- progress in a notebook ------------------------------------------------------------------------------------------


def test_a_bar_appears_after_two_seconds_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data)

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        shown.append(data)
        return Handle()

    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_display", lambda: display)
    with progress.progress() as say:
        say("loading tables")
        assert shown == []
        for now[0], step in ((102.5, "loading <tables>"), (102.6, "too soon"), (103.0, "BUS-C01 digests")):
            say(step)
    assert "&lt;tables&gt;" in shown[0]["text/html"]
    assert 'value="0.' in shown[1]["text/html"]
    assert shown[-1] == {"text/html": "", "text/plain": ""}
    assert len(shown) == 3


def test_outside_a_notebook_nothing_is_shown() -> None:
    assert progress._display() is None


def test_a_principal_that_is_an_attack_is_text_in_every_block(gateway: Session, tmp_path: Path) -> None:
    found = [each for each in _every(gateway) if each.finding.place == HOSTILE]
    assert found
    for each in found:
        assert HOSTILE not in each.explain().html + each.around(1).html
    found[0].export(tmp_path / "case")
    assert Page((tmp_path / "case" / "index.html").read_text()).loads() == []
    assert verify(tmp_path / "case").differences == ()
