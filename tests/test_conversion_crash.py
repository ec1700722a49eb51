"""The conversion cut at its appends and resumed: all properties hold, known cases are named, and faults do not pass."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sessions_maka import Row, assistant, call, generated, header, minimal, native, result, state, user
from support_conversion import add_rows, loaded

from busbar_audit.conversion import appending, engine
from busbar_audit.conversion.appending import Ledger
from busbar_audit.conversion.engine import convert
from busbar_audit.conversion.events import Event
from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.migration import migrate
from busbar_audit.conversion.pages import Bounds
from busbar_audit.rehearsal.conversion import lines, rehearse_store
from busbar_audit.rehearsal.crash import Rehearsed, points, rehearse
from busbar_audit.rehearsal.risks import AT_RISK, risks
from busbar_audit.stores import maka_shapes


def cut(rows: list[Row], head: Row | None = None, **options: Any) -> Rehearsed:
    with closing(loaded(head or header(), rows)) as con:
        return rehearse(con, "s", **options)


# --- what has to hold ---


def test_every_append_of_thirty_sessions() -> None:
    events = 0
    for seed in range(30):
        recovering = (False, True) if seed % 3 == 0 else (seed % 2 == 0,)
        done = cut(generated(seed), most=None, bounds=Bounds(rows=3 + seed % 11), recovering=recovering)
        assert done.uninterrupted.error is None
        assert (done.broken, done.points) == ([], len(recovering) * (done.events + 2)), seed
        events += done.events
    assert events > 300


def test_two_hundred_points_of_a_session_of_two_thousand_rows() -> None:
    done = cut(native(250, notes=4), most=200, recovering=(False,))
    assert (done.rows, done.events, done.points, done.broken) == (2_000, 1_000, 202, [])


def test_points_are_spread_evenly_with_both_ends() -> None:
    assert points(4, None) == {0, 1, 2, 3, 4}
    assert points(4, 200) == {0, 1, 2, 3, 4}
    assert points(1_000, 5) == {0, 250, 500, 750, 1_000}
    assert points(7, 1) == {0}


def _open_run(con: sqlite3.Connection) -> None:
    """A native run that a crash left open."""
    opening = {"kind": "invocation_opened", "source": {"kind": "fresh"}, "root": {"kind": "user"}}
    told = {"id": "n-1", "content": opening, "ts": 5}
    con.execute(
        "INSERT INTO runtime_events VALUES ('n-1', 's', 'n', 'n', 'tn', 1, 'invocation_opened', ?, 5)",
        [json.dumps(told)],
    )
    con.execute("INSERT INTO runtime_session_event_ordinals VALUES ('s', 1, 'n-1')")


def test_recovery_of_open_runs_in_between_changes_nothing_of_the_conversion() -> None:
    with closing(loaded(header(), minimal())) as con:
        _open_run(con)
        done = rehearse(con, "s", most=None)
    assert (done.events, done.broken) == (8, [])


# --- faults of a converter, which a rehearsal has to find ---


def _ids_by_chance(patch: pytest.MonkeyPatch) -> None:
    """Ids that another attempt does not find again, and a resume by id."""
    count = iter(range(1_000_000))
    real = engine.derive

    def derive(*told: Any, **more: Any) -> list[Event]:
        renamed = []
        for event in real(*told, **more):
            name = f"{event.event_id}-{next(count)}"
            renamed.append(Event(name, *_place(event), {**event.payload, "id": name}, event.sequence))
        return renamed

    patch.setattr(engine, "derive", derive)
    patch.setattr(
        engine.Scan,
        "_derived",
        lambda self, turn, at: derive(self._session, self._header, turn, at, conversation=False),
    )


def _place(event: Event) -> tuple[str, str, str, str]:
    return event.session_id, event.invocation_id, event.run_id, event.turn_id


def _twice(patch: pytest.MonkeyPatch) -> None:
    """A resume that does not see what is there, under new ids."""

    def missing(events: list[Event], stored: Iterator[Any] | None) -> Iterator[Event]:
        if stored is None:
            yield from events
            return
        for event in events[1:]:
            name = f"{event.event_id}-again"
            yield Event(name, *_place(event), {**event.payload, "id": name}, event.sequence)

    patch.setattr(engine, "missing", missing)


def _version_first(patch: pytest.MonkeyPatch) -> None:
    """The version set before the rows are converted."""
    real = engine.Scan.run

    def run(self: Any) -> None:
        appending_patch = Ledger.patch
        appending_patch(self._ledger)
        real(self)

    patch.setattr(engine.Scan, "run", run)


def _rows_taken(patch: pytest.MonkeyPatch) -> None:
    """Old rows deleted once they are converted."""
    real = Ledger.append

    def append(self: Ledger, event: Event) -> bool:
        found = real(self, event)
        if event.ends and event.sequence is not None:
            self.con.execute("DELETE FROM session_message_chunks")
            self.con.execute("UPDATE session_messages SET message_ts = 1 WHERE sequence = ?", [event.sequence])
        return found

    patch.setattr(Ledger, "append", append)


def _overwritten(patch: pytest.MonkeyPatch) -> None:
    """Events of an earlier attempt touched by a later one."""
    real = engine.Scan.run

    def run(self: Any) -> None:
        self._con.execute("UPDATE runtime_events SET committed_at = committed_at + 1")
        real(self)

    patch.setattr(engine.Scan, "run", run)


def _given_up(patch: pytest.MonkeyPatch) -> None:
    """A turn with an opening is left alone."""
    patch.setattr(engine, "missing", lambda events, stored: iter(events if stored is None else ()))


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "ids by chance": (_ids_by_chance, "end"),
    "twice": (_twice, "appended"),
    "version first": (_version_first, "last"),
    "rows changed": (_rows_taken, "rows"),
    "events changed": (_overwritten, "kept"),
    "given up": (_given_up, "appended"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_converter_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, name = FAULTS[fault]
    plant(monkeypatch)
    done = cut(minimal() + native(2), most=None, recovering=(False,))
    assert name in {one.name for one in done.broken}


def test_no_clock_gets_into_what_is_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    done = cut(minimal(), most=None, generation="C2")
    assert {one.name for one in done.broken} >= {"end", "appended"}
    assert "identity" in "".join(one.detail for one in done.broken) or done.broken


# --- the known cases, each made and named ---

_TURN = [user("t", 1), assistant("t", 2), state("t", 9)]
_TOOL = [user("t", 1), call("t", 2, "c"), result("t", 3, "c")]
_FILLER = [
    row
    for n in range(90)
    for row in (user(f"f{n}", 10 * n), assistant(f"f{n}", 10 * n + 1), state(f"f{n}", 10 * n + 2))
]
_CUT = [user("a", 1), *_FILLER, assistant("a", 2), state("a", 3), user("z", 9), state("z", 9)]
_CUT_TWICE = [user("a", 1), *_FILLER, user("a", 5), state("a", 6)]
CASES: dict[str, tuple[list[Row], str, str, tuple[int | None, int | None]]] = {
    "late answer": (_CUT, "cut", "high", (271, 272)),
    "late prompt": (_CUT_TWICE, "cut", "high", (271, 272)),
    "orphan result": ([*_TURN[:2], result("t", 3, "gone"), _TURN[2]], "refused", "high", (2, 2)),
    "repeated result": ([*_TOOL, result("t", 4, "c", row="again")], "refused", "high", (3, 3)),
    "unknown type": ([*_TURN, {"type": "hologram", "id": "h", "turnId": "t", "ts": 10}], "unreadable", "high", (3, 3)),
    "no prompt": ([*_TURN, assistant("v", 20), state("v", 21)], "unprompted", "medium", (3, 4)),
    "two rows of one id": ([_TURN[0], _TURN[1], {**_TURN[1], "ts": 4}, _TURN[2]], "repeated ids", "info", (1, 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_known_case_is_named_with_its_rows(case: str) -> None:
    rows, name, severity, extent = CASES[case]
    with closing(loaded(header(), rows)) as con:
        found = risks(con, "s")
        done = rehearse(con, "s", most=5)
    assert [(risk.case, risk.severity, (risk.first, risk.last)) for risk in found] == [(name, severity, extent)]
    assert {one.name for one in done.broken} <= {"end", "appended", "grew"}
    if name in ("unprompted", "repeated ids") or case == "late answer":
        assert done.broken == []
    if case == "late prompt":  # the first read fails, and the second one loses what is behind
        assert {one.name for one in done.broken} >= {"end"}


def test_a_healthy_session_is_not_at_risk() -> None:
    for seed in range(30):
        with closing(loaded(header(), generated(seed))) as con:
            assert risks(con, "s") == [], seed


def test_a_row_that_came_in_between_and_sorts_first_shifts_the_numbers() -> None:
    def stop(what: str, taken: int) -> None:
        if what == "append" and taken == 4:
            raise KeyError

    with closing(loaded(header(), minimal())) as con:
        with pytest.raises(KeyError):
            convert(con, "s", watch=stop)
        assert risks(con, "s") == []
        add_rows(con, "s", [assistant("turn-1", 105)])
        (risk,) = risks(con, "s")
        assert (risk.case, risk.severity, risk.first) == ("shifted", "high", 6)


def test_what_earlier_builds_began_is_named() -> None:
    def stop(what: str, taken: int) -> None:
        if what == "append" and taken == 3:
            raise KeyError

    def stop_in_turn(what: str, taken: int) -> None:
        if what == "append" and taken == 2:
            raise KeyError

    names = iter(range(100))
    with closing(loaded(header(), minimal())) as con:
        with pytest.raises(KeyError):
            convert_as("C1", con, "s", ids=lambda: f"random-{next(names)}", watch=stop)
        assert [(risk.case, risk.severity) for risk in risks(con, "s")] == [("foreign prefix", "info")]
        assert rehearse(con, "s", most=None).broken == []
    with closing(loaded(header(), minimal())) as con:
        con.execute("CREATE TABLE core_agent_runs (session_id, run_id PRIMARY KEY, created_at, record_json)")
        with pytest.raises(KeyError):
            convert_as("C0", con, "s", ids=lambda: f"random-{next(names)}", watch=stop_in_turn)
        assert migrate(con, "s") == 1
        assert {(risk.case, risk.severity) for risk in risks(con, "s")} == {("half turn", "high"), ("mixed", "low")}
        done = rehearse(con, "s", most=None)
        assert done.uninterrupted.error is not None


# --- whole stores ---


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a healthy session and one at risk."""
    path = tmp_path_factory.mktemp("crash") / "runtime.sqlite"
    sessions = {"good": minimal() + native(3), "risky": CASES["orphan result"][0], "empty": []}
    with closing(sqlite3.connect(path)) as con:
        maka_shapes.create(con, 18)
        con.execute("PRAGMA user_version = 18")
        con.execute("PRAGMA journal_mode = wal")
        for session, rows in sessions.items():
            con.execute(
                "INSERT INTO session_metadata (session_id, payload_json, created_at, is_archived, has_unread, committed_at)"
                " VALUES (?, ?, 1, 0, 0, 1)",
                [session, json.dumps(header(session))],
            )
            for at, row in enumerate(rows):
                con.execute(
                    "INSERT INTO session_messages (session_id, sequence, message_id, message_type, message_ts, record_json)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    [session, at, row["id"], row["type"], row["ts"], json.dumps(row, separators=(",", ":"))],
                )
        con.commit()
    return path


def test_a_store_is_rehearsed_and_killed_for_real_and_not_touched(workspace: Path) -> None:
    before = workspace.read_bytes()
    document = rehearse_store(str(workspace), most=4)
    told = {one["session"]: one for one in document["sessions"]}
    assert (document["verdict"], document["exit_code"]) == ("findings", 1)
    assert {name: one["outcome"] for name, one in told.items()} == {
        "good": "holds",
        "risky": AT_RISK,
        "empty": "nothing to convert",
    }
    assert (told["good"]["kills"], told["good"]["broken_in_all"], told["good"]["events"]) == (3, 0, 20)
    (risk,) = told["risky"]["risks"]
    assert (risk["case"], risk["first"], risk["last"]) == ("refused", 2, 2)
    assert workspace.read_bytes() == before
    shown = "\n".join(lines(document))
    assert "session risky: session at risk before this upgrade" in shown
    assert "a question" not in shown + json.dumps(document)


def test_a_healthy_session_alone_is_clean_and_none_is_inconclusive(workspace: Path) -> None:
    assert rehearse_store(str(workspace), most=2, kills=0, only=["good"])["verdict"] == "clean"
    assert rehearse_store(str(workspace), most=2, kills=0, only=["empty"])["verdict"] == "inconclusive"


def _upgraded(workspace: Path, folder: Path, change: str = "") -> Path:
    """The workspace after its sessions were converted, and perhaps one thing changed."""
    path = folder / "runtime.sqlite"
    with closing(sqlite3.connect(workspace)) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        for session in ("good", "risky"):
            convert(con, session)
        if change:
            con.execute(change)
    return path


CHANGES = {
    "": "as foretold",
    "DELETE FROM runtime_events WHERE event_id LIKE '%-e2' AND session_id = 'good' AND turn_id = 't1'": "is missing",
    "UPDATE runtime_events SET payload_json = replace(payload_json, 'an answer', 'another') WHERE turn_id = 't1'"
    " AND session_id = 'good'": "differs in payload",
    "UPDATE session_metadata SET payload_json = json_remove(payload_json, '$.transcriptLedgerVersion')"
    " WHERE session_id = 'good'": "is not converted to its end",
    "UPDATE session_messages SET message_ts = 0 WHERE session_id = 'good'": "old rows are not what they were",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_upgrade_is_held_against_what_was_foretold(workspace: Path, tmp_path: Path, change: str) -> None:
    after = _upgraded(workspace, tmp_path, change)
    document = rehearse_store(str(workspace), after=str(after))
    told = {one["session"]: one for one in document["sessions"]}
    assert told["risky"]["outcome"] == "as foretold"
    assert told["risky"]["error"].startswith("Tool ledger transition rejected: orphan_response")
    if not change:
        assert (document["verdict"], told["good"]["outcome"]) == ("clean", "as foretold")
    else:
        assert (document["verdict"], told["good"]["outcome"]) == ("findings", "differs")
        assert CHANGES[change] in told["good"]["differences"][0]["what"]


def test_the_names_of_steps_are_those_of_the_engine() -> None:
    assert {appending.APPEND, appending.RESEQUENCE, appending.PATCH} == {"append", "resequence", "patch"}
