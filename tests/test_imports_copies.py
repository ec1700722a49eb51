"""An earlier store held against a later one: legacy rows that must not change, and a gateway's copies; notebook 03."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support_reports import Page

from busbar_audit.auditing import audit
from busbar_audit.errors import UsageError
from busbar_audit.findings import Outcome
from busbar_audit.imports.planes import plane_lines
from busbar_audit.reporting.runner import report
from busbar_audit.reporting.session import Session, open_run
from busbar_audit.store import open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_faults import FAULTS
from busbar_audit.synth.maka_planting import edit, edit_row

SECRET = "correcthorsebattery"


# --- legacy rows before and after ---


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_maka(tmp_path_factory.mktemp("maka") / "runtime.sqlite", sessions=1, imports=3).path


def _rows_changed(path: Path, before: Path) -> tuple[Outcome, list[tuple[str, int, int, str, str]]]:
    with open_store(path) as store:
        result = audit(store, only=("MAKA-D20",), before=before)
        found = [(f.place, f.first_seq, f.records, f.detail, f.severity) for f in result.findings()]
        return result.check("MAKA-D20").outcome, found


def test_rows_that_a_conversion_changed_are_named(workspace: Path, tmp_path: Path) -> None:
    assert _rows_changed(workspace, workspace) == (Outcome.PASS, [])
    path = Path(shutil.copy(workspace, tmp_path / "runtime.sqlite"))
    with closing(sqlite3.connect(path)) as con:
        edit_row(con, "f1", "f1-b1", lambda row: row.update(text="another"))
        con.execute("DELETE FROM session_messages WHERE message_id IN ('f2-u4', 'f2-end4')")
        for session, kind in (("f3", "turn_state"), ("l1", "user")):
            con.execute(
                """INSERT INTO session_messages SELECT session_id, 21, message_id || 'x', ?, message_ts,
                replace(replace(record_json, 'completed', 'failed'), '"type":"turn_state"', '"type":"' || ? || '"')
                FROM session_messages WHERE session_id = ? AND sequence = 20""",
                (kind, kind, session),
            )
        con.commit()
    outcome, found = _rows_changed(path, workspace)
    assert outcome is Outcome.FINDING
    assert found == [
        ("f1", 8, 1, "1 row(s) changed", "critical"),
        ("f2", 16, 2, "2 row(s) gone", "critical"),
        ("f3", 21, 1, "1 row(s) ending added", "info"),  # as the header-era converter does
        ("l1", 21, 1, "1 row(s) appended", "info"),
    ]


def test_a_workspace_in_use_is_no_alarm(workspace: Path, tmp_path: Path) -> None:
    """Sessions go on, come and are deleted between two copies; a row put inside or taken without that is told."""
    earlier, later = tmp_path / "earlier.sqlite", Path(shutil.copy(workspace, tmp_path / "later.sqlite"))
    shutil.copy(workspace, earlier)
    with closing(sqlite3.connect(earlier)) as con:
        con.execute("DELETE FROM session_messages WHERE session_id = 'f1'")  # imported since
        con.execute("DELETE FROM session_messages WHERE session_id = 'f2' AND sequence > 10")  # went on since
        con.execute("DELETE FROM session_messages WHERE session_id = 'f3' AND sequence = 4")  # put inside since
        con.commit()
    with closing(sqlite3.connect(later)) as con:
        con.execute("DELETE FROM session_messages WHERE session_id = 'l1'")
        con.commit()
        unexplained = _rows_changed(later, earlier)[1]
        con.execute("INSERT INTO session_metadata_tombstones VALUES ('l1', 1, 0)")
        con.commit()
    told = {(place, detail.partition(" row(s) ")[2], severity) for place, _, _, detail, severity in unexplained}
    assert {each for each in told if each[2] != "info"} == {("f3", "added", "critical"), ("l1", "gone", "critical")}
    assert ("f1", "appended", "info") in told
    after = {(place, severity) for place, *_, severity in _rows_changed(later, earlier)[1]}
    assert after == {("f1", "info"), ("f2", "info"), ("f3", "critical"), ("l1", "info")}


def test_an_earlier_store_that_no_check_reads_is_refused(workspace: Path, tmp_path: Path) -> None:
    gateway = write_busbar(tmp_path / "gateway.db", generation=9, calls=10).path
    with open_store(gateway) as store, pytest.raises(UsageError, match="no check of busbar sqlite v9 reads it"):
        audit(store, before=gateway)
    with open_store(workspace) as store, pytest.raises(UsageError, match="MAKA-D20, which reads it, is not selected"):
        audit(store, before=workspace, only=["MAKA-A05"])


def test_an_earlier_store_of_another_kind_is_refused(workspace: Path, tmp_path: Path) -> None:
    gateway = write_busbar(tmp_path / "gateway.db", generation=9, calls=10).path
    with open_store(workspace) as store, pytest.raises(UsageError, match="busbar"):
        audit(store, before=gateway)
    old = write_maka(tmp_path / "old.sqlite", generation=5, sessions=1).path
    with open_store(workspace) as store, pytest.raises(UsageError, match="nothing of it can be compared"):
        audit(store, before=old)


# --- the copies of a gateway's upgrade ---


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A v9 store and what the upgrade to v10 makes of it: mcp_calls as they were at that moment."""
    folder = tmp_path_factory.mktemp("pair")
    before, after = folder / "before.db", folder / "after.db"
    write_busbar(before, generation=9, seed=3, calls=120)
    write_busbar(after, generation=10, seed=3, calls=120, bodies="migrated")
    _changed(before, f"ATTACH '{after}' AS after", "DROP TRIGGER IF EXISTS mcp_calls_no_update",
             "DELETE FROM mcp_calls WHERE (principal, seq) NOT IN (SELECT principal, seq FROM after.mcp_calls)")  # fmt: skip
    return before, after


def _changed(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            con.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            con.execute(statement)
    return path


def _account(lines: Iterable[tuple[object, ...]]) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for _, kind, _, _, fate, _, rows in lines:
        fates = told.setdefault(str(kind), {})
        fates[str(fate)] = fates.get(str(fate), 0) + int(str(rows))
    return told


def test_every_typed_row_of_an_upgrade_is_accounted_for(pair: tuple[Path, Path]) -> None:
    before, after = pair
    with closing(sqlite3.connect(before)) as con:
        held = {
            table: con.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("task_events", "tasks", "mcp_demotions", "spent_ask_states", "mcp_calls")
        }
    assert all(held.values())
    assert _account(plane_lines(before, after)) == {
        kind: {"owned" if kind == "mcp_calls" else "converted": rows} for kind, rows in held.items()
    }


@pytest.mark.parametrize(
    ("where", "statement", "kind", "fate", "rule"),
    [
        ("after", "DELETE FROM plane_records WHERE kind = 'task' AND identity = (SELECT min(identity) FROM plane_records"
         " WHERE kind = 'task')", "tasks", "lost", "8.2 no record"),
        ("after", "UPDATE plane_records SET body = CAST(replace(CAST(body AS TEXT), '\"kind\":\"task.', '\"kind\":\"tusk.')"
         " AS BLOB) WHERE kind = 'task_event' AND seq = 1", "task_events", "differs", "8.2 the record"),
        ("after", "UPDATE plane_records SET disposition = 'active' WHERE kind = 'task'", "tasks", "differs", "8.2 the record"),
        ("after", "DELETE FROM plane_tokens WHERE kind = 'approval'", "spent_ask_states", "lost", "8.2 no approval"),
        ("after", "UPDATE plane_tokens SET expires_at = 5 WHERE kind = 'approval'", "spent_ask_states", "differs",
         "8.2 the token"),
        ("after", "DELETE FROM mcp_calls WHERE seq = 1", "mcp_calls", "lost", "8.2 not in mcp_calls"),
        ("after", "UPDATE mcp_calls SET ts = ts + 1 WHERE seq = 1", "mcp_calls", "differs", "8.2 the row"),
        ("after", "DROP TABLE mcp_calls", "mcp_calls", "lost", "8.2 not in mcp_calls"),
        ("after", "DELETE FROM plane_records WHERE kind = 'demotion'", "mcp_demotions", "lost", "8.2 no record"),
        ("before", "UPDATE task_events SET seq = seq - 2 WHERE seq < 3", "task_events", "lost", "8.2 equal to another row"),
    ],
)  # fmt: skip
def test_a_row_that_did_not_arrive_is_named(
    where: str, statement: str, kind: str, fate: str, rule: str, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    stores = {
        name: Path(shutil.copy(path, tmp_path / name)) for name, path in zip(("before", "after"), pair, strict=True)
    }
    _changed(stores[where], statement)
    bad = [line for line in plane_lines(stores["before"], stores["after"]) if line[4] in ("lost", "differs")]
    assert {line[1] for line in bad} == {kind}
    assert any(line[4] == fate and line[5].startswith(rule) for line in bad)
    assert all(line[6] == 1 for line in bad)


def test_a_record_that_stood_in_the_way_is_told_from_one_that_was_changed(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    """R14: a plane record of the same key from before the crossing keeps its place, and the typed row is lost."""
    before, after = (Path(shutil.copy(path, tmp_path / path.name)) for path in pair)
    columns = "kind, identity, seq, id, parent, ts, disposition, x'7b7d' AS body"
    row = f"SELECT {columns} FROM {{}}plane_records WHERE kind = 'demotion'"
    _changed(before, f"ATTACH '{after}' AS after", f"CREATE TABLE plane_records AS {row.format('after.')}")
    _changed(after, "UPDATE plane_records SET body = x'7b7d' WHERE kind = 'demotion'")
    bad = [line for line in plane_lines(before, after) if line[4] == "lost"]
    assert [(line[1], line[5]) for line in bad] == [
        ("mcp_demotions", "8.2 a record with its key was there before (R9)")
    ]


def test_what_a_purge_may_take_is_low_and_what_it_may_not_is_high(pair: tuple[Path, Path], tmp_path: Path) -> None:
    def told(*statements: str) -> tuple[Outcome, set[tuple[str, str]]]:
        after = Path(shutil.copy(pair[1], tmp_path / "after.db"))
        _changed(after, *statements)
        with open_store(after) as store:
            result = audit(store, only=("BUS-T21",), before=pair[0])
            found = {(f.subject, f.severity) for f in result.findings()}
            return result.check("BUS-T21").outcome, found

    assert told() == (Outcome.PASS, set())
    one = "(SELECT min(identity) FROM plane_records WHERE kind = 'task')"
    assert told(f"DELETE FROM plane_records WHERE kind IN ('task', 'task_event') AND identity = {one}")[1] == {
        ("tasks", "low"),
        ("task_events", "low"),
    }
    assert told(f"DELETE FROM plane_records WHERE kind = 'task' AND identity = {one}")[1] == {("tasks", "high")}
    assert told("DELETE FROM plane_records WHERE kind = 'demotion'", "DELETE FROM plane_tokens")[1] == {
        ("mcp_demotions", "low"),
        ("spent_ask_states", "low"),
    }
    assert told("DELETE FROM mcp_calls WHERE seq = 1")[1] == {("mcp_calls", "low")}
    assert told("DELETE FROM mcp_calls WHERE seq = 2")[1] == {("mcp_calls", "high")}
    assert told("UPDATE mcp_calls SET ts = ts + 1 WHERE seq = 1")[1] == {("mcp_calls", "high")}
    with open_store(pair[1]) as store:
        check = audit(store, only=("BUS-T21",)).check("BUS-T21")
        assert (check.outcome, check.reason) == (Outcome.NOT_APPLICABLE, "needs --before")


# --- the notebook ---


@pytest.fixture
def shown(workspace: Path, tmp_path: Path) -> Iterator[Session]:
    """A workspace with a lost answer, a row that will be refused, and a text that must not be seen."""
    path = Path(shutil.copy(workspace, tmp_path / "runtime.sqlite"))
    with closing(sqlite3.connect(path)) as con:
        FAULTS["lost-10-assistant"].apply(con, "f2")
        FAULTS["risk-orphan-result"].apply(con, "l2")
        edit_row(con, "f2", "f2-b1", lambda row: row.update(text=SECRET))
        edit(con, "s1-i1-e3", lambda event: event["content"].update(text=SECRET))
        con.commit()
    run = open_run(path)
    assert run.store is not None
    with run.store:
        yield run


def test_the_account_is_shown_with_lost_rows_and_risks_and_no_text(shown: Session) -> None:
    account, lost, risk = shown.import_account(), shown.lost_rows(), shown.at_risk()
    pages = "".join(block.html for block in (account, lost, risk))
    assert SECRET not in pages + "".join(map(repr, (account, lost, risk)))
    assert Page(pages).loads() == []
    assert "svg" in Page(pages).names()
    first = repr(account).split("Session by session")[1].splitlines()[2].split()
    assert (first[0], first[-1]) == ("f2", "8")
    near = [line.split() for line in repr(lost).splitlines()[1:]]
    assert [(row[0], row[1], row[-2]) for row in near if row[-1] == "D12"] == [("f2", "8", "lost")]
    assert [row[1] for row in near] == ["5", "6", "7", "8", "9", "10", "11"]
    assert "orphan_response" in repr(risk)
    assert "gateway" in repr(shown.copies())


def test_the_copies_of_a_gateway_are_shown(pair: tuple[Path, Path]) -> None:
    run = open_run(pair[1], before=pair[0])
    assert run.store is not None
    with run.store:
        page = Page(run.copies().html)
    for said in ("plane copy", "task_events", "engine copy", "audit_log", "8.2 R7", "8.2 stays in mcp_calls (R10)"):
        assert said in page.text


@pytest.mark.full
def test_a_report_has_the_copies_of_a_gateway(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """The earlier store is read once, by the report; the notebook only shows."""
    before, after = pair
    done = report(after, tmp_path / "out", notebooks=["03"], before=before)
    assert [[run.completed for run in runs] for runs in done.notebooks] == [[True]]
    page = Page(next((tmp_path / "out").rglob("03_import_completeness.html")).read_text(encoding="utf-8"))
    for said in ("plane copy", "task_events", "engine copy", "audit_log", "8.2 R7", "8.2 stays in mcp_calls (R10)"):
        assert said in page.text


def test_without_an_earlier_store_that_is_said(pair: tuple[Path, Path], tmp_path: Path) -> None:
    after = Path(shutil.copy(pair[1], tmp_path / "after.db"))
    run = open_run(after)
    assert run.store is not None
    with run.store:
        told = repr(run.copies())
        assert "The plane copy cannot be told without the store from before the upgrade" in told
        assert "8.4 no engine has copied it" in told
        assert "no rows that are imported" in repr(run.import_account())
