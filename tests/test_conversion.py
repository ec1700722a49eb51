"""The conversion of one session: what it appends, by which rules, and what it leaves out."""

from __future__ import annotations

import json
import sqlite3
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions_maka import CREATED, Row, assistant, call, generated, header, minimal, native, result, state, user
from support_conversion import held, loaded

from busbar_audit.conversion import identity
from busbar_audit.conversion.appending import read_header
from busbar_audit.conversion.engine import Conversion, LeftOut, convert
from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.pages import Bounds
from busbar_audit.conversion.staging import copied
from busbar_audit.errors import UsageError


def converted(rows: list[Row], head: Row | None = None, **options: Any) -> tuple[Conversion, list[tuple[Any, ...]]]:
    """An attempt on a session, and the events that the session has after it."""
    with closing(loaded(head or header(), rows)) as con:
        done = convert(con, (head or header())["id"], **options)
        return done, held(con, (head or header())["id"])


def test_the_golden_minimal_session() -> None:
    head = {**header("session-1"), "createdAt": 1000}
    done, events = converted(minimal(), head)
    run = "transcript-1a127ab4a5bfd9d460a4f30311ed68ee11c4545b253c5e1e"
    assert (done.error, done.appended, done.resequenced) == (None, 8, True)
    assert [event[0] for event in events] == [f"{run}-opened", *(f"{run}-e{n}" for n in range(1, 8))]
    kinds = ["invocation_opened", "text", "text", "thinking", "function_call", "function_response", "runtime_fact"]
    assert [event[6] for event in events] == [*kinds, "completed"]
    assert [event[5] for event in events] == [event[9] for event in events] == [*range(1, 9)]
    assert [event[8] for event in events] == [994, 100, 110, 110, 120, 130, 140, 150]
    refs = [json.loads(event[7]).get("refs", {}).get("storedMessageId") for event in events]
    assert refs == [None, "m-user", "m-assistant", "m-assistant", "tool-1", "m-result", "m-usage", "m-state"]


def test_ids_of_runs_are_those_of_the_two_vectors() -> None:
    assert identity.run_id("session-1", "turn-1") == "transcript-1a127ab4a5bfd9d460a4f30311ed68ee11c4545b253c5e1e"
    assert identity.run_id("s", "t") == "transcript-12dce344856d5b2d37cc4945201f16fc9512e61d917421d0"


def test_the_version_is_set_last_and_a_second_attempt_does_nothing() -> None:
    with closing(loaded(header(), native(2))) as con:
        assert convert(con, "s").appended == 8
        assert list(read_header(con, "s"))[-1] == "transcriptLedgerVersion"
        before = held(con, "s")
        assert convert(con, "s") == Conversion("s")
        assert held(con, "s") == before


def test_a_staged_import_is_converted_by_its_import_alone() -> None:
    head = header(transcriptLedgerVersion=0, externalOrigin={"adapterId": "x", "sourceSessionId": "y"})
    done, events = converted(minimal(), {**head, "id": "s"})
    assert (done.error is not None and "still being prepared" in done.error.message, events) == (True, [])
    done, events = converted(minimal(), {**head, "id": "s"}, importing=True)
    assert (done.error, [event[6] for event in events]) == (None, ["invocation_opened", "text", "text", "completed"])


# --- what the ledger refuses ---

_ONE = [user("t", 1), call("t", 2, "c"), result("t", 3, "c"), state("t", 9)]
REFUSED: dict[str, tuple[list[Row], str, int]] = {
    "result without call": ([user("t", 1), result("t", 3, "gone"), state("t", 9)], "orphan_response", 1),
    "result before its call": ([user("t", 1), call("t", 5, "c"), result("t", 4, "c")], "orphan_response", 2),
    "call of another turn": (
        [user("t", 1), call("t", 2, "c"), user("v", 5), result("v", 6, "c")],
        "orphan_response",
        3,
    ),
    "two calls": ([*_ONE[:2], {**call("t", 3, "c")}, state("t", 9)], "duplicate_call", 2),
    "two names": ([*_ONE[:2], {**call("t", 3, "c"), "toolName": "Write"}], "identity_conflict", 2),
    "two results": ([*_ONE[:3], result("t", 4, "c", row="again"), state("t", 9)], "duplicate_response", 3),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rows_of_tools_that_the_ledger_refuses(case: str) -> None:
    rows, code, sequence = REFUSED[case]
    done, events = converted(rows)
    assert done.error is not None
    assert (done.error.code, done.error.sequence) == (code, sequence)
    assert done.error.message == f"Tool ledger transition rejected: {code} at {done.error.event_id}"
    assert len(events) == len(done.emitted) > 0
    with closing(loaded(header(), rows)) as con:
        for attempt in range(3):
            again = convert(con, "s")
            assert again.error is not None
            assert (again.error.message, again.appended) == (done.error.message, 0 if attempt else len(events))
        assert read_header(con, "s").get("transcriptLedgerVersion") is None


def test_in_the_text_of_a_conversation_nothing_of_tools_is_refused() -> None:
    origin = {"adapterId": "x", "sourceSessionId": "y"}
    for rows, _, _ in REFUSED.values():
        done, events = converted(rows, header(externalOrigin=origin))
        assert done.error is None
        assert {event[6] for event in events} <= {"invocation_opened", "text", "completed", "failed"}


# --- pages and groups ---


def test_rows_behind_the_page_of_their_turn_are_left_out_and_the_repaired_grouping_has_them() -> None:
    rows = [user("a", 1), user("b", 2), assistant("b", 3), assistant("a", 4), state("a", 5), state("b", 6)]
    one, whole = converted(rows)
    done, cut = converted(rows, bounds=Bounds(rows=3))
    assert (one.error, done.error, one.left_out) == (None, None, [])
    assert done.left_out == [LeftOut("cut", "a", 3, 4, 2)]
    assert len(cut) == len(whole) - 1
    assert [json.loads(event[7])["actions"]["stateDelta"]["failureClass"] for event in cut if event[6] == "failed"] == [
        "missing_terminal_event"
    ]
    repaired, same = converted(rows, bounds=Bounds(rows=3), repaired=True)
    assert (repaired.error, same) == (None, whole)


def test_a_late_prompt_fails_the_first_read_and_is_lost_by_the_second() -> None:
    rows = [user("a", 1), user("b", 2), state("b", 3), user("a", 4), state("a", 5)]
    with closing(loaded(header(), rows)) as con:
        first = convert(con, "s", bounds=Bounds(rows=3))
        assert first.error is not None
        opening = identity.opening_id(identity.run_id("s", "a"))
        assert first.error.message == f"RuntimeEvent identity conflict for {opening}"
        assert convert(con, "s", bounds=Bounds(rows=3)).error is None
        assert "u-a-4" not in "".join(event[7] for event in held(con, "s"))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 9), weight=st.integers(1, 400))
def test_where_turns_follow_each_other_pages_make_no_difference(seed: int, rows: int, weight: int) -> None:
    told = generated(seed)
    whole = converted(told)[1]
    for repaired in (False, True):
        assert converted(told, bounds=Bounds(rows, weight), repaired=repaired)[1] == whole


def test_a_turn_without_a_prompt_is_left_out_and_the_repaired_grouping_has_it() -> None:
    rows = [assistant("a", 1), state("a", 2), call("b", 3, "c"), user("d", 5), state("d", 6)]
    done, events = converted(rows)
    assert done.left_out == [LeftOut("unprompted", "a", 0, 1, 2), LeftOut("unprompted", "b", 2, 2, 1)]
    assert {event[4] for event in events} == {"d"}
    assert {event[4] for event in converted(rows, repaired=True)[1]} == {"a", "d"}


def test_a_turn_that_a_native_run_owns_is_not_converted() -> None:
    opening = {"kind": "invocation_opened", "source": {"kind": "fresh"}, "root": {"kind": "user"}}
    event = {
        "event_id": "n-1",
        "session_id": "s",
        "invocation_id": "n",
        "run_id": "n",
        "turn_id": "t0",
        "event_seq": 1,
        "event_kind": "invocation_opened",
        "payload_json": json.dumps({"content": opening, "ts": CREATED + 5}),
        "committed_at": CREATED + 5,
        "ordinal": 1,
    }
    with closing(loaded(header(), native(2), [event])) as con:
        done = convert(con, "s")
        assert (done.error, {row[4] for row in held(con, "s")}) == (None, {"t0", "t1"})
        # The native run was opened later than the session was made, and so it comes last.
        assert [row[0] for row in held(con, "s")][-1] == "n-1"
        assert done.appended == 4


# --- earlier builds ---


def _counter() -> Iterator[str]:
    yield from (f"random-{n}" for n in range(10_000))


def _as(
    generation: str, con: sqlite3.Connection, clock: int, names: Iterator[str], stop: int | None
) -> Conversion | None:
    def watch(what: str, taken: int) -> None:
        if what == "append" and taken == stop:
            raise KeyError(stop)

    try:
        return convert_as(generation, con, "s", clock=lambda: clock, ids=lambda: next(names), watch=watch)
    except KeyError:
        return None


def test_earlier_builds_do_not_resume_each_in_its_own_way() -> None:
    with closing(loaded(header(), minimal() + native(1))) as whole:
        for generation in ("C1", "C2", "C3"):
            with closing(copied(whole)) as con:
                names = _counter()
                assert _as(generation, con, 1, names, 3) is None
                done = _as(generation, con, 2, names, None)
                assert done is not None
                events = held(con, "s")
                if generation == "C1":  # the turn is frozen, and reported as done
                    assert (done.error, events[0][0], len(events)) == (None, "random-0", 3 + 4)
                elif generation == "C2":  # its own events are strangers to it
                    assert done.error is not None
                    assert done.error.message.startswith("RuntimeEvent identity conflict for ")
                else:
                    assert done.error is None


def test_a_conversion_that_others_began_is_resumed_and_keeps_what_they_wrote() -> None:
    with closing(loaded(header(), minimal())) as whole:
        full = converted(minimal())[1]
        for generation in ("C2", "C3"):
            for stop in range(1, 8):
                with closing(copied(whole)) as con:
                    _as(generation, con, 1, _counter(), stop)
                    left = held(con, "s")
                    done = convert(con, "s")
                    assert (done.error, done.appended) == (None, 8 - stop)
                    events = held(con, "s")
                    assert [event[0] for event in events] == [event[0] for event in full]
                    assert {event[:9] for event in left} <= {event[:9] for event in events}


def test_the_conversion_of_run_headers_needs_run_headers() -> None:
    with closing(loaded(header(), minimal())) as con, pytest.raises(UsageError, match="run headers"):
        convert_as("C0", con, "s")
    with closing(loaded(header(), minimal())) as con, pytest.raises(UsageError, match="C0, C1"):
        convert_as("C9", con, "s")


# --- cost ---


def _peak(path: Path, turns: int) -> int:
    with closing(loaded(header(), native(turns))) as source, closing(sqlite3.connect(path)) as file:
        source.backup(file)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("PRAGMA synchronous = OFF")
        tracemalloc.start()
        done = convert(con, "s")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (done.error, done.appended) == (None, 4 * turns)
    return peak


def test_memory_is_that_of_a_page_however_long_the_session(tmp_path: Path) -> None:
    small, large = _peak(tmp_path / "small.sqlite", 60), _peak(tmp_path / "large.sqlite", 400)
    # What grows is one id of each turn and event: some hundred bytes of them, not their rows.
    assert large - small < 340 * 1_200
    assert large < 4 << 20
