"""The conversion of old rows: what it writes, cut anywhere and resumed, and what it is known to lose."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support_cli import called, last
from support_conversion import HEADER, events_of, session_store
from support_maka import planted

from busbar_audit.conversion import identity
from busbar_audit.conversion.converter import convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.rehearsal import resumption
from busbar_audit.rehearsal import risks as knowing
from busbar_audit.rehearsal.conversion import Rehearsed, _chosen, rehearse_session
from busbar_audit.rehearsal.foretold import against
from busbar_audit.rehearsal.ledgerstate import sessions
from busbar_audit.rehearsal.resumption import KEPT, OWED, SAME
from busbar_audit.rehearsal.risks import PAGED_EVENTS
from busbar_audit.store import open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_faults import FAULTS
from busbar_audit.transcript import ledger as transcript
from busbar_audit.transcript.event_shape import NOTES
from busbar_audit.transcript.view import page_rows

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
Row = dict[str, Any]


# --- what it writes ---


def test_ids_of_converted_runs() -> None:
    assert identity.run_id("session-1", "turn-1") == "transcript-1a127ab4a5bfd9d460a4f30311ed68ee11c4545b253c5e1e"
    assert identity.run_id("s", "t") == "transcript-12dce344856d5b2d37cc4945201f16fc9512e61d917421d0"


MINIMAL: list[Row] = [
    {"type": "user", "id": "m-user", "turnId": "turn-1", "ts": 100, "text": "Hello"},
    {"type": "assistant", "id": "m-answer", "turnId": "turn-1", "ts": 110, "text": "Hi there",
     "thinking": {"text": "think", "signature": "sig"}, "modelId": "row-model"},
    {"type": "tool_call", "id": "tool-1", "turnId": "turn-1", "ts": 120, "toolName": "Read", "args": {"path": "a"}},
    {"type": "tool_result", "id": "m-result", "turnId": "turn-1", "ts": 130, "toolUseId": "tool-1", "isError": False,
     "content": {"kind": "text", "text": "content"}, "durationMs": 5},
    {"type": "token_usage", "id": "m-usage", "turnId": "turn-1", "ts": 140, "input": 10, "output": 20},
    {"type": "turn_state", "id": "m-state", "turnId": "turn-1", "ts": 150, "status": "completed"},
]  # fmt: skip


def test_the_minimal_session_has_exactly_its_eight_events() -> None:
    con = session_store("session-1", HEADER, MINIMAL)
    done = convert(Ledger(con), "session-1")
    run = identity.run_id("session-1", "turn-1")
    assert (done.appends, done.refusal, done.complete, done.resequenced) == (8, None, True, True)
    events = events_of(con, "session-1")
    assert [e["event_id"] for e in events] == [f"{run}-opened", *(f"{run}-e{n}" for n in range(1, 8))]
    assert [e["event_kind"] for e in events] == [
        "invocation_opened", "text", "text", "thinking", "function_call", "function_response", "runtime_fact", "completed",
    ]  # fmt: skip
    assert [(e["event_seq"], e["ordinal"]) for e in events] == [(n, n) for n in range(1, 9)]
    assert [e["committed_at"] for e in events] == [994, 100, 110, 110, 120, 130, 140, 150]
    assert {e["invocation_id"] for e in events} == {e["run_id"] for e in events} == {run}
    user = json.loads(events[1]["payload_json"])
    assert user["content"] == {"kind": "text", "text": "Hello"}
    assert user["refs"] == {"storedMessageId": "m-user"}
    assert user["actions"]["stateDelta"]["makaRuntimeRecovery"]["generatedAt"] == 994
    assert json.loads(events[0]["payload_json"])["content"]["route"]["modelId"] == "header-model"
    assert Ledger(con).header("session-1")["transcriptLedgerVersion"] == 1
    again = convert(Ledger(con), "session-1", now=1)
    assert (again.appends, events_of(con, "session-1")) == (0, events)
    # What pages serve of it, at its durable places; thinking has no row of its own.
    tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    read = transcript.Ledger(con, tables, 18).read(["session-1"])["session-1"]
    rows = page_rows(read.openings, read.events, read.outcomes)
    assert [(row.sequence, row.row["type"]) for row in rows] == [
        (16, "user"), (24, "assistant"), (40, "tool_call"), (48, "tool_result"), (56, "token_usage"), (64, "turn_state"),
    ]  # fmt: skip
    shown = [{**row, "modelId": "header-model"} if row["type"] == "assistant" else row for row in MINIMAL]
    assert [row.row for row in rows] == shown
    assert 8 * max(event["ordinal"] for event in events) + 7 == 71


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda rows: rows.pop(2), "orphan_response"),
        (lambda rows: rows.append({**rows[2], "ts": 121}), "duplicate_call"),
        (lambda rows: rows.append({**rows[3], "id": "again", "ts": 131}), "duplicate_response"),
        (lambda rows: rows[3].update(ts=119), "orphan_response"),
        (lambda rows: rows[3].update(type="tool_outcome"), "stored_session_message_incompatible"),
        (lambda rows: rows[4].update(surplus=1), "stored_session_message_incompatible"),
    ],
)
def test_what_the_ledger_refuses_stops_the_session_for_good(
    change: Callable[[list[Row]], object], refused: str
) -> None:
    rows = [dict(row) for row in MINIMAL]
    change(rows)
    con = session_store("s", HEADER, rows)
    first = convert(Ledger(con), "s")
    assert first.refusal is not None
    assert (first.refusal.code, first.complete) == (refused, False)
    left = events_of(con, "s")
    assert len(left) == first.appends
    second = convert(Ledger(con), "s", now=9)
    assert second.refusal is not None
    assert (second.refusal.message, second.appends) == (first.refusal.message, 0)
    assert events_of(con, "s") == left
    assert "transcriptLedgerVersion" not in Ledger(con).header("s")


def test_an_append_is_refused_for_each_reason_and_then_nothing_is_written() -> None:
    con = session_store("s", HEADER, MINIMAL)
    convert(Ledger(con), "s")
    events = events_of(con, "s")
    run = identity.run_id("s", "turn-1")
    for column, value, words in (
        ("payload_json", '{"id":1}', "RuntimeEvent identity conflict for"),
        ("turn_id", "another", "RuntimeEvent invocation identity conflict for"),
    ):
        with closing(_copy(con)) as damaged:
            damaged.execute(f"UPDATE runtime_events SET {column} = ? WHERE event_id = ?", (value, f"{run}-opened"))
            damaged.execute("DELETE FROM runtime_events WHERE event_id = ?", (f"{run}-e7",))
            damaged.execute("UPDATE runtime_events SET event_kind = 'text' WHERE event_id = ?", (f"{run}-opened",))
            held = damaged.execute("SELECT count(*) FROM runtime_events").fetchone()
            done = convert(Ledger(damaged), "s")
            assert done.refusal is not None
            assert done.refusal.message.startswith(words)
            assert damaged.execute("SELECT count(*) FROM runtime_events").fetchone() == held
    with closing(_copy(con)) as damaged:
        # A run that was sealed by another ending than its own takes nothing more.
        damaged.execute("DELETE FROM runtime_events WHERE event_id = ?", (f"{run}-e2",))
        text = events[-1]["payload_json"]
        damaged.execute("UPDATE runtime_events SET turn_id = 'turn-1' WHERE event_id = ?", (f"{run}-e7",))
        assert '"endInvocation":true' in text
        done = convert(Ledger(damaged), "s")
        assert (done.appends, done.refusal) == (0, None)  # its turn is somebody's already


def _copy(con: sqlite3.Connection) -> sqlite3.Connection:
    other = sqlite3.connect(":memory:", isolation_level=None)
    con.backup(other)
    return other


def test_memory_follows_the_page_and_the_largest_turn() -> None:
    rows: list[Row] = []
    for turn in range(400):
        rows += _turn(random.Random(turn), f"t{turn}", turn * 100, tools=False)
    small = convert(Ledger(session_store("s", HEADER, rows[: len(rows) // 4])), "s")
    large = convert(Ledger(session_store("s", HEADER, rows)), "s")
    assert len(large.pages) > 3 * len(small.pages) - 3
    assert large.largest <= 256 + max(len(_turn(random.Random(n), "t", 0, tools=False)) for n in range(400))


# --- cut and resumed ---


def _turn(rng: random.Random, turn: str, at: int, *, tools: bool = True) -> list[Row]:
    """A turn of any legal shape, its rows in order of time."""

    def row(type_: str, **members: Any) -> Row:
        made = {"type": type_, "id": f"{turn}-{len(rows)}", "turnId": turn, "ts": at + len(rows), **members}
        rows.append(made)
        return made

    rows: list[Row] = []
    row("user", text=rng.choice(("why?", "ünï 漢字 😀", "")))
    for _ in range(rng.randrange(4)):
        kind = rng.choice(("assistant", "tool", "usage", "note") if tools else ("assistant", "usage"))
        if kind == "assistant":
            thinking = {"thinking": {"text": "hm"}} if rng.random() < 0.5 else {}
            row("assistant", text="a" * rng.randrange(3), modelId="m", **thinking)
        elif kind == "tool":
            call = row("tool_call", toolName="Read", args={"n": rng.choice((1, 1.5, 10**21, "x"))})
            if rng.random() < 0.8:
                row("tool_result", toolUseId=call["id"], isError=False, content={"kind": "text", "text": "ok"})
        elif kind == "usage":
            row("token_usage", input=1, output=2)
        else:
            row("system_note", kind=NOTES[0], data={"x": 1})
    if rng.random() < 0.8:
        row("turn_state", status=rng.choice(("completed", "failed", "aborted", "running")))
    return rows


def _sessions(count: int, turns: int) -> Iterator[tuple[str, list[Row]]]:
    for number in range(count):
        rng = random.Random(number)
        rows = [row for n in range(turns) for row in _turn(rng, f"t{n}", n * 50)]
        yield f"s{number}", rows


def _file(folder: Path, made: Iterator[tuple[str, list[Row]]]) -> Path:
    path = folder / "runtime.sqlite"
    with closing(session_store("none", HEADER, ())) as con:
        for session, rows in made:
            with closing(session_store(session, HEADER, rows)) as one:
                for table in (
                    "session_metadata",
                    "session_messages",
                    "session_message_payloads",
                    "session_message_chunks",
                ):
                    found = one.execute(f"SELECT * FROM {table}").fetchall()
                    for each in found:
                        con.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(each))})", each)
        con.execute("DELETE FROM session_metadata WHERE session_id = 'none'")
        with closing(sqlite3.connect(path)) as file:
            con.backup(file)
    return path


def test_every_append_of_generated_sessions_may_be_the_last_one(tmp_path: Path) -> None:
    path = _file(tmp_path, _sessions(30, 4))
    before = path.read_bytes()
    names = sessions(path)
    assert len(names) == 30
    found = [rehearse_session(path, name, points=1000) for name in names]
    assert [(each.session_id, each.refusal, each.failures) for each in found] == [(name, None, ()) for name in names]
    assert all(each.points == each.appends + 3 for each in found)  # each append, before the first, and the two stages
    assert sum(each.appends for each in found) > 400
    assert path.read_bytes() == before


def test_a_long_session_may_be_cut_anywhere(tmp_path: Path) -> None:
    rows = [row for n in range(560) for row in _turn(random.Random(n), f"t{n}", n * 50)]
    assert len(rows) >= 2000
    path = _file(tmp_path, iter([("long", rows)]))
    found = rehearse_session(path, "long", points=200)
    assert (found.refusal, found.failures) == (None, ())
    assert found.points >= 200


def test_a_process_that_is_killed_is_resumed_to_the_same_end(tmp_path: Path) -> None:
    path = _file(tmp_path, _sessions(1, 4))
    found = rehearse_session(path, "s0", points=2, kills=3, folder=tmp_path)
    assert (found.killed, found.failures) == (3, ())
    assert [each.name for each in tmp_path.iterdir()] == ["runtime.sqlite"]


def _forgets(ledger: Ledger, event: Any, honest: Any) -> bool:
    return False if event.event_id.endswith("-e1") and event.payload["ts"] > 50 else honest(ledger, event)


def _tells_the_time(ledger: Ledger, event: Any, honest: Any) -> bool:
    return honest(ledger, replace(event, payload={**event.payload, "ts": event.payload["ts"] + 1}))


def _writes_over(ledger: Ledger, event: Any, honest: Any) -> bool:
    sql = "UPDATE runtime_events SET committed_at = committed_at + 1 WHERE event_seq = 1"
    ledger._con.execute(sql)
    return honest(ledger, event)


def _misplaces(ledger: Ledger, event: Any, honest: Any) -> bool:
    done = honest(ledger, event)
    sql = "UPDATE runtime_session_event_ordinals SET ordinal = ordinal + 7 WHERE event_id = ?"
    ledger._con.execute(sql, (event.event_id,))
    return done


@pytest.mark.parametrize("points", [3, 1000], ids=["to the very end", "to the end of the turn"])
@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        (_forgets, {OWED, SAME}),
        (_tells_the_time, {SAME}),
        (_writes_over, {KEPT}),
        (_misplaces, {SAME}),
    ],
)
def test_a_property_that_does_not_hold_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Any, wanted: set[str], points: int
) -> None:
    path = _file(tmp_path, _sessions(1, 12))
    honest = Ledger.append

    def patched(ledger: Ledger, session: str, **words: Any) -> Any:
        if "now" in words:  # of resumed attempts alone
            monkeypatch.setattr(Ledger, "append", lambda self, event: how(self, event, honest))
        try:
            return convert(ledger, session, **words)
        finally:
            monkeypatch.setattr(Ledger, "append", honest)

    monkeypatch.setattr(resumption, "convert", patched)
    found = rehearse_session(path, "s0", points=points)
    assert (found.far < found.points) == (points > 20)
    seen = {each.property for each in found.failures}
    assert seen >= wanted
    assert found.at_risk
    if points > 20:
        near = {each.property for each in found.failures if each.point not in _chosen(found.appends, 20)}
        assert near & wanted, "a resume that is stopped at the end of its turn sees it too"


# --- what it is known to lose, told before ---


def _edge(tail: list[Row]) -> list[Row]:
    """254 rows of ended turns, a turn that begins at a page's end before another one does, and rows of it afterwards."""
    rows: list[Row] = []
    for n in range(127):
        turn = f"t{n}"
        rows += [
            {"type": "user", "id": f"u{n}", "turnId": turn, "ts": n * 10, "text": "q"},
            {"type": "turn_state", "id": f"s{n}", "turnId": turn, "ts": n * 10 + 1, "status": "completed"},
        ]
    rows.append({"type": "user", "id": "late-u", "turnId": "late", "ts": 5000, "text": "q"})
    rows.append({"type": "user", "id": "other-u", "turnId": "other", "ts": 5001, "text": "q"})
    return [*rows, *tail, {"type": "turn_state", "id": "late-s", "turnId": "late", "ts": 5010, "status": "completed"}]


def _rehearsed(folder: Path, rows: list[Row]) -> Rehearsed:
    return rehearse_session(_file(folder, iter([("edge", rows)])), "edge", points=3)


def test_a_turn_over_the_edge_of_a_page_is_cut_and_success_is_reported(tmp_path: Path) -> None:
    con = session_store(
        "edge",
        HEADER,
        _edge([{"type": "assistant", "id": "late-a", "turnId": "late", "ts": 5005, "text": "x", "modelId": "m"}]),
    )
    done = convert(Ledger(con), "edge")
    assert done.complete
    texts = "".join(event["payload_json"] for event in events_of(con, "edge"))
    assert "late-u" in texts
    assert "late-a" not in texts
    ending = [json.loads(e["payload_json"]) for e in events_of(con, "edge") if e["turn_id"] == "late"][-1]
    assert (ending["status"], ending["actions"]["stateDelta"]["failureClass"]) == ("failed", "missing_terminal_event")


@pytest.mark.parametrize(("rows", "told"), [(PAGED_EVENTS, []), (PAGED_EVENTS + 1, ["giant"])])
def test_a_turn_beyond_what_was_bounded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, told: list[str]
) -> None:
    if not FULL:
        # The same with a bound that a test can afford; the whole suite has the real one.
        rows += 300 - PAGED_EVENTS
        monkeypatch.setattr(knowing, "PAGED_EVENTS", 300)
    answers = [
        {"type": "assistant", "id": f"a{n}", "turnId": "t", "ts": n, "text": "x", "modelId": "m"}
        for n in range(1, rows - 1)
    ]
    turn = [
        {"type": "user", "id": "u", "turnId": "t", "ts": 0, "text": "q"},
        *answers,
        {"type": "turn_state", "id": "s", "turnId": "t", "ts": rows, "status": "completed"},
    ]
    found = rehearse_session(_file(tmp_path, iter([("edge", turn)])), "edge", points=2)
    assert (found.refusal, found.failures, found.appends) == (None, (), rows + 1)
    assert [(risk.case, risk.rows) for risk in found.risks] == [(each, rows) for each in told]


def test_a_second_prompt_over_the_edge_fails_once_and_then_loses_the_tail(tmp_path: Path) -> None:
    second = {"type": "user", "id": "late-u2", "turnId": "late", "ts": 5006, "text": "again"}
    found = _rehearsed(tmp_path, _edge([second]))
    assert found.refusal is not None
    assert found.refusal.startswith("RuntimeEvent identity conflict for transcript-")
    assert found.refusal.endswith("-opened")
    assert found.retry is not None
    assert found.retry.startswith("succeeds with ")
    assert "1 row(s) of its turns are in no event" in found.retry


def test_the_pre_flight_and_the_engine_agree_on_what_fails(tmp_path: Path) -> None:
    """Two readings of the same rules: views over the store, and the conversion itself on a copy."""
    wanted = [
        fault for fault in FAULTS.values() if fault.population == "l" and 18 in fault.generations and not fault.large
    ]
    path = tmp_path / "runtime.sqlite"
    where = planted(path, 18, wanted)
    with open_store(path) as store:
        store.view("import_risks")
        told = store.con.execute(
            "SELECT DISTINCT session_id FROM audit.import_risks WHERE effect = 'fails' OR detail LIKE '%first attempt fails%'"
        ).fetchall()
        foretold = {session for (session,) in told}
        found = [rehearse_session(store.snapshot.path, each, points=2) for each in sessions(store.snapshot.path)]
    refused = {each.session_id: each.refusal for each in found if each.refusal is not None}
    assert len(where) >= 10
    assert refused.keys() == foretold, {
        s: (where[s].name, refused.get(s)) for s in refused.keys() ^ foretold if s in where
    }
    assert {fault.name for s, fault in where.items() if s in refused} >= {
        "risk-orphan-result", "risk-call-twice", "risk-result-twice", "risk-unreadable", "risk-half-turn",
    }  # fmt: skip
    assert all(each.failures == () for each in found)


# --- a real upgrade held against the prediction ---


def _upgraded(path: Path, session: str) -> Path:
    """What an upgrade leaves, made by our own conversion: what is compared is the comparison."""
    later = path.with_name("after.sqlite")
    with closing(sqlite3.connect(path)) as con, closing(sqlite3.connect(later)) as other:
        con.backup(other)
        convert(Ledger(other), session, now=5)
    return later


def test_a_conversion_that_went_as_predicted_and_each_way_in_which_it_did_not(tmp_path: Path) -> None:
    before = _file(tmp_path, _sessions(1, 4))
    after = _upgraded(before, "s0")
    good = against(before, after, "s0")
    assert good.holds
    assert (good.predicted, good.missing, good.unforeseen, good.differing) == (good.same, 0, 0, 0)
    assert good.predicted > 10
    run = identity.run_id("s0", "t1")
    for statement, counts, first in (
        ("DELETE FROM runtime_events WHERE event_id = :run || '-e1'", (1, 0, 0), f"{run}-e1"),
        ("UPDATE runtime_events SET event_id = 'x' WHERE event_id = :run || '-e1'", (1, 1, 0), f"{run}-e1"),
        ("UPDATE runtime_events SET payload_json = '{}' WHERE event_id = :run || '-e1'", (0, 0, 1), f"{run}-e1"),
        ("UPDATE runtime_events SET committed_at = 1 WHERE event_id = :run || '-opened'", (0, 0, 1), f"{run}-opened"),
        ("UPDATE session_metadata SET payload_json = '{\"id\":\"s0\"}' WHERE :run <> ''", (0, 0, 0), None),
    ):
        damaged = tmp_path / "damaged.sqlite"
        with closing(sqlite3.connect(after)) as con, closing(sqlite3.connect(damaged)) as other:
            con.backup(other)
            other.execute(statement, {"run": run})
            other.commit()
        bad = against(before, damaged, "s0")
        assert not bad.holds
        assert ((bad.missing, bad.unforeseen, bad.differing), bad.first) == (counts, first)


# --- the command ---


def test_the_command_names_sessions_at_risk(tmp_path: Path) -> None:
    path = tmp_path / "runtime.sqlite"
    planted(path, 18, [FAULTS["risk-orphan-result"]])
    before = path.read_bytes()
    done = called("rehearse", path, "--conversion", "--points", "5", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"], last(done.stderr)) == (1, "findings", "findings")
    assert {each["session"]: each["refusal"] is not None for each in told["sessions"]} == {"l1": False, "l2": True}
    assert path.read_bytes() == before
    done = called("rehearse", path, "--conversion", "--session", "l1", "--kills", "1")
    assert (done.returncode, last(done.stdout)) == (0, "clean")
    assert "1 by SIGKILL" in done.stdout
    done = called("rehearse", path, "--conversion", "--after", path)
    assert (done.returncode, last(done.stdout)) == (1, "findings")
    assert "l1: 0 of 26 predicted event(s) are there as predicted" in done.stdout
    done = called("rehearse", path, "--conversion", "--points", "5")
    assert "l2: " in done.stdout
    assert "session at risk before this upgrade: Tool ledger transition rejected: orphan_response" in done.stdout


def test_nothing_to_rehearse_is_never_clean(tmp_path: Path) -> None:
    write_maka(tmp_path / "runtime.sqlite", sessions=1)
    done = called("rehearse", tmp_path / "runtime.sqlite", "--conversion")
    assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
    write_maka(tmp_path / "old.sqlite", sessions=1, generation=10)
    done = called("rehearse", tmp_path / "old.sqlite", "--conversion")
    assert done.returncode == 2
    assert "core_agent_runs" in done.stderr
    gateway = write_busbar(tmp_path / "gateway.db", generation=12, calls=5).path
    assert called("rehearse", gateway, "--conversion").returncode in (2, 3)
    assert called("rehearse", tmp_path / "runtime.sqlite", "--conversion", "--session", "nobody").returncode == 2
