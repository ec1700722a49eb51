"""Conversions of earlier builds and of the repaired grouping, what they leave, and what of it is known to go wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sessions_maka import Row, assistant, call, generated, header, minimal, native, result, state, user
from support_conversion import events_of, session_store
from support_maka import unpacked
from test_cli import called, last

from busbar_audit.conversion import ledger as rules
from busbar_audit.conversion.converter import Conversion, LeftOut, convert
from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.migration import migrate
from busbar_audit.conversion.recovery import RECOVERED, recover
from busbar_audit.conversion.schema import HEADERS
from busbar_audit.errors import NotAStore, UsageError
from busbar_audit.rehearsal import resumption
from busbar_audit.rehearsal.conversion import Rehearsed, rehearse_session
from busbar_audit.rehearsal.foretold import against
from busbar_audit.rehearsal.ledgerstate import sessions
from busbar_audit.rehearsal.resumption import OWED, SAME
from busbar_audit.rehearsal.risks import risks
from busbar_audit.stores import maka_shapes


class Killed(Exception):
    """The conversion was stopped from outside."""


def stop(after: int) -> Callable[[Conversion, str], None]:
    """What stops a conversion after so many events."""

    def before(done: Conversion, what: str) -> None:
        if what == "append" and len(done.emitted) == after:
            raise Killed

    return before


@pytest.fixture
def con() -> Iterator[sqlite3.Connection]:
    """The minimal session, in memory."""
    with closing(session_store("s", header(), minimal())) as store:
        yield store


def names() -> Callable[[], str]:
    """Ids as if by chance."""
    count = iter(range(10_000))
    return lambda: f"random-{next(count)}"


def ids(con: sqlite3.Connection) -> list[str]:
    return [event["event_id"] for event in events_of(con, "s")]


def contents(con: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return [tuple(event.values()) for event in events_of(con, "s")]


def begun(con: sqlite3.Connection, generation: str, after: int) -> None:
    with pytest.raises(Killed):
        convert_as(generation, con, "s", clock=lambda: 7, ids=names(), before=stop(after))


# --- earlier builds ---


def test_c1_writes_text_alone_under_random_ids_and_freezes_a_turn_that_it_began(con: sqlite3.Connection) -> None:
    begun(con, "C1", 2)
    assert ids(con) == ["random-0", "random-1"]
    done = convert_as("C1", con, "s", ids=names())
    assert (done.refusal, done.appends, done.complete) == (None, 0, True)
    assert len(ids(con)) == 2


def test_c2_meets_its_own_events_as_strangers(con: sqlite3.Connection) -> None:
    begun(con, "C2", 4)
    for _ in range(2):
        done = convert_as("C2", con, "s", clock=lambda: 8)
        assert done.refusal is not None
        assert (done.refusal.message.startswith("RuntimeEvent identity conflict for "), done.appends) == (True, 0)


def test_c3_adopts_a_lone_opening_and_seals_any_other_prefix(con: sqlite3.Connection) -> None:
    begun(con, "C3", 1)
    done = convert_as("C3", con, "s")
    assert (done.refusal, done.appends, len(ids(con))) == (None, 7, 8)
    with closing(session_store("s", header(), minimal())) as other:
        begun(other, "C3", 3)
        done = convert_as("C3", other, "s")
        assert (done.refusal, done.appends) == (None, 1)
        assert ids(other)[-1].endswith("-abandoned")


@pytest.mark.parametrize("generation", ["C2", "C3"])
@pytest.mark.parametrize("after", range(1, 8))
def test_c4_resumes_what_they_began_and_keeps_it(con: sqlite3.Connection, generation: str, after: int) -> None:
    begun(con, generation, after)
    left = {event["event_id"]: event["payload_json"] for event in events_of(con, "s")}
    done = convert(Ledger(con), "s")
    assert (done.refusal, done.appends) == (None, 8 - after)
    assert left.items() <= {event["event_id"]: event["payload_json"] for event in events_of(con, "s")}.items()


def test_recovery_of_earlier_builds_sealed_converted_runs_and_today_it_passes_them_by(con: sqlite3.Connection) -> None:
    begun(con, "C2", 3)
    assert recover(con, "s", 9) == 0
    assert recover(con, "s", 9, spare=False) == 1
    assert ids(con)[-1].endswith(RECOVERED)
    assert convert(Ledger(con), "s").appends == 0
    assert json.loads(events_of(con, "s")[-1]["payload_json"])["status"] == "failed"


def test_unknown_generations_and_missing_headers_are_said(con: sqlite3.Connection) -> None:
    with pytest.raises(UsageError, match="C0, C1"):
        convert_as("C9", con, "s")
    with pytest.raises(UsageError, match="run headers"):
        convert_as("C0", con, "s")


# --- the repaired grouping ---


def test_where_turns_follow_each_other_the_repaired_grouping_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(25):
        whole = []
        for repaired in (False, True):
            monkeypatch.setattr(rules, "MOST_ROWS", 256 if seed % 3 else 1 + seed % 7)
            with closing(session_store("s", header(), generated(seed))) as store:
                done = convert(Ledger(store), "s", repaired=repaired)
                assert (done.refusal, done.left_out) == (None, []), seed
                whole.append(contents(store))
        assert whole[0] == whole[1], seed


def test_the_repaired_grouping_has_what_c4_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_ROWS", 3)
    rows = [user("a", 1), user("b", 2), assistant("b", 3), assistant("a", 4), state("a", 5), state("b", 6)]
    rows += [assistant("c", 7), state("c", 8), call("d", 9, "x")]
    with closing(session_store("s", header(), rows)) as store:
        done = convert(Ledger(store), "s")
        assert done.left_out == [
            LeftOut("cut", "a", 3, 4, 2),
            LeftOut("unprompted", "c", 6, 7, 2),
            LeftOut("unprompted", "d", 8, 8, 1),
        ]
        assert [event["event_kind"] for event in events_of(store, "s") if event["turn_id"] == "a"][-1] == "failed"
    with closing(session_store("s", header(), rows)) as store:
        done = convert(Ledger(store), "s", repaired=True)
        assert done.left_out == [LeftOut("unprompted", "d", 8, 8, 1)]
        ends = [
            event["event_kind"] for event in events_of(store, "s") if event["event_kind"] in ("completed", "failed")
        ]
        assert ends == ["completed"] * 3


# --- stores with run headers ---


def _headed(store: sqlite3.Connection, run: str, turn: str, status: str) -> None:
    record = {"runId": run, "invocationId": f"i-{run}", "turnId": turn, "status": status, "createdAt": 5}
    record |= {"backendKind": "ai-sdk", "llmConnectionSlug": "c", "modelId": "m", "cwd": "/w", "completedAt": 6}
    store.execute("INSERT INTO core_agent_runs VALUES ('s', ?, 5, ?)", (run, json.dumps(record)))


def test_run_headers_become_openings_before_anything_is_converted() -> None:
    with closing(session_store("s", header(), native(2))) as store:
        store.execute(HEADERS)
        _headed(store, "r0", "t0", "completed")
        assert migrate(store, "s") == 1
        assert migrate(store, "s") == 0
        assert ids(store) == ["invocation_opened:r0", "invocation_terminal:r0"]
        done = convert(Ledger(store), "s")
        # The turn of the native run is its own; the other one is converted.
        assert (done.refusal, done.appends) == (None, 4)


def test_a_header_that_cannot_be_read_ends_the_upgrade_and_is_named() -> None:
    for text in ("{", "[]", "{}", None):
        with closing(session_store("s", header(), native(1))) as store:
            store.execute(HEADERS)
            store.execute("INSERT INTO core_agent_runs VALUES ('s', 'r-bad', 5, ?)", (text,))
            with pytest.raises(NotAStore, match="r-bad"):
                migrate(store, "s")


@pytest.mark.real_stores
def test_real_stores_before_openings_are_rehearsed_as_their_upgrade_went(samples: Path, tmp_path: Path) -> None:
    refused = {}
    for name in ("b-legacy", "e-b-kill-event-20"):
        (path,) = unpacked(samples / "maka" / f"{name}.tar.xz", tmp_path / name, r"checkpointed/runtime\.sqlite$")
        found = rehearse_session(path, "a3a9c69d-e95d-4da9-8236-d012ac9d4067", points=3)
        assert found.failures == ()
        refused[name] = [(risk.case, risk.first) for risk in found.risks if risk.severity == "high"]
    assert refused == {"b-legacy": [("refused", 49)], "e-b-kill-event-20": [("half turn", 36)]}


@pytest.mark.real_stores
def test_an_upgrade_of_the_oldest_workspace_with_rows_went_as_foretold(samples: Path, tmp_path: Path) -> None:
    (before,) = unpacked(samples / "maka" / "old-v018.tar.xz", tmp_path, r"checkpointed/runtime\.sqlite$")
    (after,) = unpacked(samples / "maka" / "c4-on-real-stores.tar.xz", tmp_path, r"db/real-old-v018\.sqlite$")
    told = [against(before, after, session) for session in sessions(before)]
    assert [(each.predicted, each.same, each.holds) for each in told] == [(16, 16, True), (0, 0, True)]


# --- cut and resumed ---


def _file(folder: Path, rows: list[Row], change: Callable[[sqlite3.Connection], None] | None = None) -> Path:
    path = folder / "runtime.sqlite"
    with closing(session_store("s", header(), rows)) as store, closing(sqlite3.connect(path)) as file:
        if change is not None:
            change(store)
        store.backup(file)
    return path


def _native_run(store: sqlite3.Connection) -> None:
    """A native run that a crash left open, opened after the session was made."""
    opening = {"kind": "invocation_opened", "source": {"kind": "fresh"}, "root": {"kind": "user"}}
    event = json.dumps({"id": "n-1", "content": opening, "ts": 1_700_000_000_500})
    store.execute(
        "INSERT INTO runtime_events VALUES ('n-1', 's', 'n', 'n', 'tn', 1, 'invocation_opened', ?, 1700000000500)",
        [event],
    )
    store.execute("INSERT INTO runtime_session_event_ordinals VALUES ('s', 1, 'n-1')")


def test_recovery_of_an_open_run_in_between_changes_nothing_of_the_conversion(tmp_path: Path) -> None:
    found = rehearse_session(_file(tmp_path, minimal(), _native_run), "s", points=100)
    assert (found.appends, found.failures, found.at_risk) == (8, (), False)


def test_recovery_that_seals_converted_runs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "recover", lambda con, session, at: recover(con, session, at, spare=False))
    found = rehearse_session(_file(tmp_path, minimal()), "s", points=100)
    assert {each.property for each in found.failures} >= {
        f"after recovery: {SAME}",
        f"after recovery: {OWED}",
    }


def test_a_process_is_killed_between_appends_inside_one_and_inside_the_resequence(tmp_path: Path) -> None:
    path = _file(tmp_path, minimal(), _native_run)
    found = rehearse_session(path, "s", points=2, kills=2, folder=tmp_path)
    # Before the first append, and inside the transaction after all of them: the resequence.
    assert (found.killed, found.failures) == (2, ())
    found = rehearse_session(path, "s", points=2, kills=4, folder=tmp_path)
    assert (found.killed, found.failures) == (4, ())
    assert [each.name for each in tmp_path.iterdir()] == ["runtime.sqlite"]


# --- the known cases, each made and named with its rows ---

_TURN = [user("t", 1), assistant("t", 2), state("t", 9)]
_TOOL = [user("t", 1), call("t", 2, "c"), result("t", 3, "c")]
_FILLER = [row for n in range(90) for row in (user(f"f{n}", n), assistant(f"f{n}", n + 1), state(f"f{n}", n + 2))]
CASES: dict[str, tuple[list[Row], str, str, tuple[int, int]]] = {
    "late answer": ([user("a", 1), *_FILLER, assistant("a", 2), state("a", 3)], "cut", "high", (271, 272)),
    "late prompt": ([user("a", 1), *_FILLER, user("a", 5), state("a", 6)], "cut", "high", (271, 272)),
    "orphan result": ([*_TURN[:2], result("t", 3, "gone"), _TURN[2]], "refused", "high", (2, 2)),
    "repeated result": ([*_TOOL, result("t", 4, "c", row="again")], "refused", "high", (3, 3)),
    "unknown type": ([*_TURN, {"type": "hologram", "id": "h", "turnId": "t", "ts": 10}], "unreadable", "high", (3, 3)),
    "no prompt": ([*_TURN, assistant("v", 20), state("v", 21)], "unprompted", "medium", (3, 4)),
    "one id twice": ([_TURN[0], _TURN[1], {**_TURN[1], "ts": 4}, _TURN[2]], "repeated ids", "info", (1, 2)),
}


def _rehearsed(folder: Path, rows: list[Row]) -> Rehearsed:
    return rehearse_session(_file(folder, rows), "s", points=3)


@pytest.mark.parametrize("case", CASES)
def test_a_known_case_is_named_with_its_rows(tmp_path: Path, case: str) -> None:
    rows, name, severity, extent = CASES[case]
    found = _rehearsed(tmp_path, rows)
    assert [(risk.case, risk.severity, (risk.first, risk.last)) for risk in found.risks] == [(name, severity, extent)]
    assert found.at_risk == (severity != "info")
    assert found.failures == ()


def test_healthy_sessions_have_no_case() -> None:
    for seed in range(30):
        with closing(session_store("s", header(), generated(seed))) as store:
            with closing(sqlite3.connect(":memory:")) as copy:
                store.backup(copy)
                done = convert(Ledger(copy), "s")
            assert risks(store, "s", done) == (), seed


def test_a_row_that_came_in_between_and_sorts_first_shifts_the_numbers(con: sqlite3.Connection, tmp_path: Path) -> None:
    begun(con, "C4", 4)
    row = assistant("turn-1", 105)
    con.execute("INSERT INTO session_messages VALUES ('s', 6, ?, 'assistant', 105, ?)", (row["id"], json.dumps(row)))
    with closing(sqlite3.connect(tmp_path / "runtime.sqlite")) as file:
        con.backup(file)
    found = rehearse_session(tmp_path / "runtime.sqlite", "s", points=3)
    assert [(risk.case, risk.severity, risk.first) for risk in found.risks] == [("shifted", "high", 6)]


def test_what_earlier_builds_began_is_named(con: sqlite3.Connection, tmp_path: Path) -> None:
    begun(con, "C1", 2)
    with closing(sqlite3.connect(tmp_path / "runtime.sqlite")) as file:
        con.backup(file)
    found = rehearse_session(tmp_path / "runtime.sqlite", "s", points=20)
    assert [(risk.case, risk.severity) for risk in found.risks] == [("foreign prefix", "info")]
    assert (found.failures, found.at_risk) == ((), False)


def test_the_command_says_cases_and_rows_and_no_content(tmp_path: Path) -> None:
    rows = CASES["no prompt"][0]
    path = tmp_path / "runtime.sqlite"
    with closing(sqlite3.connect(path)) as file:
        maka_shapes.create(file, 18)
        file.execute("PRAGMA user_version = 18")
        file.execute("PRAGMA journal_mode = wal")
        file.execute(
            "INSERT INTO session_metadata (session_id, payload_json, created_at, is_archived, has_unread, committed_at)"
            " VALUES ('s', ?, 1, 0, 0, 1)",
            [json.dumps(header())],
        )
        for at, row in enumerate(rows):
            told = ("s", at, row["id"], row["type"], row["ts"], json.dumps(row))
            file.execute(
                "INSERT INTO session_messages (session_id, sequence, message_id, message_type, message_ts, record_json)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                told,
            )
        file.commit()
    done = called("rehearse", path, "--conversion", "--points", "3")
    assert (done.returncode, last(done.stdout)) == (1, "findings")
    assert "medium: unprompted, turn v, rows 3 to 4" in done.stdout
    assert "an answer" not in done.stdout
