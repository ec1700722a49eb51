"""What is legal but odd in imports raises nothing; what is lost in any generation is named, row for row."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_maka import Judged, by_session, judged

from busbar_audit.findings import Outcome
from busbar_audit.store import open_store
from busbar_audit.stores import maka_shapes
from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_planting import edit_row
from busbar_audit.synth.maka_rewriting import add_row

LATE = 1_900_000_000_000


def _changed(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as con:
        for statement in statements:
            con.execute(statement)
        con.commit()
    return path


def _version(sessions: str, version: int | None) -> str:
    told = f"json_set(payload_json, '$.transcriptLedgerVersion', {version})"
    if version is None:
        told = "json_remove(payload_json, '$.transcriptLedgerVersion')"
    return f"UPDATE session_metadata SET payload_json = {told} WHERE session_id LIKE '{sessions}'"


def _renamed(old: str, new: str) -> list[str]:
    """A session under another id; it has rows alone."""
    tables = ("session_messages", "session_metadata", "session_catalog_projection")
    header = (
        f"UPDATE session_metadata SET payload_json = json_set(payload_json, '$.id', '{new}') WHERE session_id = '{new}'"
    )
    return [*(f"UPDATE {table} SET session_id = '{new}' WHERE session_id = '{old}'" for table in tables), header]


def _fates(path: Path) -> dict[str, int]:
    """Rows by fate; the account is shown to balance."""
    with open_store(path) as store:
        store.view("import_account")
        assert store.con.execute("SELECT count(*) FROM audit.import_account WHERE NOT balances").fetchone() == (0,)
        rows = store.con.execute("SELECT fate, count(*) FROM audit.import_rows GROUP BY 1").fetchall()
    return dict(rows)


# --- legal but odd ---

# Generation, what is done to a healthy workspace, codes above info that are meant to be told, and fates that it has.
ODD: dict[str, tuple[int, tuple[str, ...], set[str], set[str]]] = {
    "never imported, staged, converted and not yet marked, without rows, notes of no turn, WorkHub": (
        18,
        (
            _version("c%", None),
            _version("f1", 0),
            _version("l1", 0),
            "DELETE FROM session_messages WHERE session_id = 'l2'",
            """UPDATE session_messages SET record_json = json_remove(record_json, '$.turnId')
            WHERE session_id = 'l3' AND message_type = 'system_note'""",
            *_renamed("l4", "maka_workhub_coordination"),
            _version("maka_workhub%", 1),
        ),
        {"D01"},
        {"converted", "skipped", "pending"},
    ),
    "marked, with native runs alone": (12, (_version("%", 1),), set(), {"owned", "skipped"}),
    "runs without rows": (18, ("DELETE FROM session_messages",), set(), set()),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_legal_raises_nothing(name: str, tmp_path: Path) -> None:
    generation, statements, low, fates = ODD[name]
    path = write_maka(tmp_path / "runtime.sqlite", generation=generation, sessions=1, imports=4).path
    ended = judged(_changed(path, *statements))
    assert ended.could_not_run() == {}
    assert {f.code[5:] for f in ended.found if f.severity != "info"} == low
    assert set(_fates(path)) == fates
    if not fates:
        assert ended.result.check("MAKA-D21").outcome is Outcome.NOTHING_TO_CHECK


def test_a_workspace_without_anything_is_not_green(tmp_path: Path) -> None:
    path = tmp_path / "runtime.sqlite"
    with closing(sqlite3.connect(path)) as con:
        maka_shapes.create(con, 18)
        con.execute("PRAGMA user_version = 18")
        con.execute("PRAGMA journal_mode = wal")
        con.commit()
    ended = judged(path)
    assert [f.code for f in ended.found if f.severity in ("critical", "high", "medium")] == []
    for code in ("D12", "D13", "D19", "D21", "D22"):
        assert ended.result.check(f"MAKA-{code}").outcome is Outcome.NOTHING_TO_CHECK
    assert str(ended.result.verdict.value) == "inconclusive"


# --- lost in any generation ---


def _without_events(con: sqlite3.Connection, session: str, status: str) -> None:
    """A native run of which its header alone is left."""
    con.execute(
        "UPDATE core_agent_runs SET record_json = json_set(record_json, '$.status', ?) WHERE run_id = ?",
        (status, f"{session}-r4"),
    )
    con.execute("DELETE FROM runtime_events WHERE invocation_id = ?", (f"{session}-i4",))


def _without_prompt(con: sqlite3.Connection, session: str) -> None:
    con.execute(
        """DELETE FROM runtime_events WHERE turn_id = ? AND json_extract(payload_json, '$.role') = 'user'
        AND json_extract(payload_json, '$.content.kind') = 'text'""",
        (f"{session}-t1",),
    )


def test_rows_that_native_runs_lack_are_told_apart(tmp_path: Path) -> None:
    """Runs that their header has as over and as going on, a text that is another, prompts admitted and not."""
    path = write_maka(tmp_path / "runtime.sqlite", generation=12, sessions=5).path
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA foreign_keys = on")
        _without_events(con, "s1", "completed")
        _without_events(con, "s2", "running")
        (answer,) = con.execute(
            """SELECT message_id FROM session_messages WHERE session_id = 's3' AND message_type = 'assistant'
            AND json_type(record_json, '$.thinking') = 'object' ORDER BY sequence LIMIT 1"""
        ).fetchone()
        edit_row(con, "s3", answer, lambda row: row.update(text="another"))
        _without_prompt(con, "s4")
        _without_prompt(con, "s5")
        con.execute("DELETE FROM core_root_turn_admissions WHERE session_id = 's5'")
        con.commit()
    assert _fates(path)["lost"] == 7 + 1 + 1 + 1
    found = [f for f in judged(path).found if f.code in ("MAKA-D19", "MAKA-R03", "MAKA-B27")]
    told = {
        s: [(f.code[5:], f.first_seq, f.detail) for f in found if f.place == s] for s in ("s1", "s2", "s3", "s4", "s5")
    }
    assert [seq for _, seq, _ in told["s1"]] == [20, 22, 23, 24, 25, 26, 27]
    assert told["s2"] == []
    ((code, _, detail),) = told["s3"]  # thinking has its text in the ledger: nothing is wrong with the projection
    assert (code, detail.endswith("an event says something else")) == ("D19", True)
    # R03 begins with an admission; without one the row has it.
    assert [(code, seq) for code, seq, _ in told["s4"] + told["s5"]] == [("R03", None), ("D19", 0)]


Change = Callable[[sqlite3.Connection, random.Random], object]


def _row(con: sqlite3.Connection, r: random.Random) -> tuple[str, int, str]:
    rows = con.execute("SELECT session_id, sequence, message_id FROM session_messages ORDER BY 1, 2").fetchall()
    return r.choice(rows)


def _no_event(con: sqlite3.Connection, r: random.Random) -> None:
    (event,) = r.choice(con.execute("SELECT event_id FROM runtime_events ORDER BY 1").fetchall())
    con.execute("DELETE FROM runtime_events WHERE event_id = ?", (event,))


def _no_run(con: sqlite3.Connection, r: random.Random) -> None:
    (run,) = r.choice(con.execute("SELECT DISTINCT invocation_id FROM runtime_events ORDER BY 1").fetchall())
    con.execute("DELETE FROM runtime_events WHERE invocation_id = ?", (run,))


def _late(con: sqlite3.Connection, r: random.Random) -> None:
    session, sequence, _ = _row(con, r)
    (turn,) = con.execute(
        "SELECT json_extract(record_json, '$.turnId') FROM session_messages WHERE (session_id, sequence) = (?, ?)",
        (session, sequence),
    ).fetchone()
    told: dict[str, Any] = r.choice(
        [
            {"type": "user", "text": "late"},
            {"type": "assistant", "text": "late", "modelId": "m"},
            {"type": "system_note", "kind": "context_compacted"},
            {"type": "tool_call", "toolName": "x", "args": {}},
        ]
    )
    made = {"id": f"late-{r.random()}", "ts": r.choice([1, LATE]), "turnId": turn or f"{session}-t77"}
    add_row(con, session, told | made)


def _marked(con: sqlite3.Connection, r: random.Random) -> None:
    con.execute(_version(_row(con, r)[0], r.choice([None, 0, 1])))


def _without_admissions(con: sqlite3.Connection, r: random.Random) -> None:
    if con.execute("SELECT 1 FROM sqlite_master WHERE name = 'core_root_turn_admissions'").fetchone():
        con.execute("DELETE FROM core_root_turn_admissions WHERE session_id = ?", (_row(con, r)[0],))


def _named(ended: Judged, session: str, turn: str, sequence: int, code: str) -> bool:
    """Whether a finding of this code holds the row in its range, or names its turn."""
    own = [f for f in by_session(ended.found, [session])[session] if f.code[5:] == code]
    return any(
        turn in f.detail
        or (f.first_seq is not None and f.last_seq is not None and f.first_seq <= sequence <= f.last_seq)
        for f in own
    )


@pytest.mark.parametrize("generation", [8, pytest.param(12, marks=pytest.mark.full), 18])
def test_whatever_is_done_each_lost_row_has_its_finding(generation: int, tmp_path: Path) -> None:
    r = random.Random(generation)
    path = write_maka(tmp_path / "runtime.sqlite", generation=generation, sessions=3, imports=4).path
    changes: list[Change] = [_no_event, _no_event, _no_event, _no_run, _late, _late, _marked, _without_admissions]
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA foreign_keys = off")
        for _ in range(3):
            for change in changes:
                change(con, r)
        con.commit()
    ended = judged(path)
    assert ended.could_not_run() == {}
    assert "D21" not in ended.codes()
    with open_store(path) as store:
        store.view("import_rows")
        lost = store.con.execute(
            "SELECT session_id, turn_id, sequence, code FROM audit.import_rows WHERE fate = 'lost' ORDER BY ALL"
        ).fetchall()
    assert lost
    assert [row for row in lost if not _named(ended, *row)] == []
