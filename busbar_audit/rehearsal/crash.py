"""The conversion of a session cut at every append, and resumed from each of them.

One run is watched. Before each append the file is copied, and the copy is resumed with a clock that moved, with the
recovery of open runs in between and without it. What has to hold of each: see `PROPERTIES`.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.conversion.appending import APPEND, PATCH, RESEQUENCE, read_header
from busbar_audit.conversion.engine import Conversion
from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.pages import Bounds, Memo
from busbar_audit.conversion.recovery import RECOVERED, recover
from busbar_audit.conversion.staging import copied, legacy_rows

PROPERTIES = {
    "kept": "nothing changed that was there",
    "appended": "appended is what was derived without what was there",
    "end": "the end equals the uninterrupted run",
    "rows": "the old rows are untouched",
    "grew": "progress grew, and a further attempt adds nothing",
    "last": "the version comes last",
}
DAY = 86_400_000
_NOW = 1_900_000_000_000

Stored = tuple[Any, ...]


@dataclass(frozen=True)
class Broken:
    """A property that did not hold.

    name : of the property. point : appends before the cut, or where it was cut otherwise. detail : in words, no content.
    """

    name: str
    point: str
    detail: str


@dataclass
class Rehearsed:
    """What the cuts of one session showed.

    generation : of the conversion. events : of the uninterrupted run. points : cuts that were resumed, each with and
    without recovery. uninterrupted : the run itself. end : all events of the session as it left them.
    """

    session: str
    generation: str
    rows: int
    events: int
    uninterrupted: Conversion
    end: list[Stored]
    points: int = 0
    broken: list[Broken] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    """What a store holds of a session: events in order, version, digest of the old rows, types of rows added to them."""

    events: list[Stored]
    version: object
    rows: str
    added: frozenset[str]

    def own(self) -> dict[str, Stored]:
        """Events by their id, without their ordinal: a resequence may move them."""
        return {event[0]: event[:-1] for event in self.events}


def state(con: sqlite3.Connection, session: str, high: int) -> State:
    """Read what a store holds of a session.

    Parameters
    ----------
    high : highest sequence of its old rows; what is above it was added since.
    """
    asked = "SELECT DISTINCT message_type FROM session_messages WHERE sequence > ?"
    added = frozenset(kind for (kind,) in con.execute(asked, [high]))
    return State(_events(con, session), _version(con, session), rows_digest(con, high), added)


def highest(con: sqlite3.Connection) -> int:
    """The highest sequence of a staged session's rows; -1 without any."""
    (found,) = con.execute("SELECT coalesce(max(sequence), -1) FROM session_messages").fetchone()
    return int(found)


def _events(con: sqlite3.Connection, session: str) -> list[Stored]:
    return con.execute(
        """SELECT e.event_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq, e.event_kind, e.payload_json,
        e.committed_at, o.ordinal FROM runtime_events e LEFT JOIN runtime_session_event_ordinals o USING (event_id)
        WHERE e.session_id = ? ORDER BY o.ordinal IS NULL, o.ordinal, e.invocation_id, e.event_seq""",
        [session],
    ).fetchall()


def _version(con: sqlite3.Connection, session: str) -> object:
    return read_header(con, session).get("transcriptLedgerVersion")


def rows_digest(con: sqlite3.Connection, high: int) -> str:
    """A digest over the old rows of a staged session, up to a sequence."""
    digest = hashlib.sha256()
    for row in legacy_rows(con, high):
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class _Writes:
    """Which tables a connection writes: what it never prepares a change of, it does not change."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self.seen: set[tuple[int, str | None]] = set()
        con.set_authorizer(self._told)

    def _told(self, action: int, one: str | None, two: str | None, _db: str | None, _by: str | None) -> int:
        if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            self.seen.add((action, one))
        return sqlite3.SQLITE_OK

    @property
    def legal(self) -> bool:
        """No old row was touched, and no event but by adding it."""
        return not any(
            str(table).startswith("session_message") or (table == "runtime_events" and action != sqlite3.SQLITE_INSERT)
            for action, table in self.seen
        )


def points(total: int, most: int | None) -> set[int]:
    """Numbers of appends after which a run is cut: all, or so many at even distances, the first and last among them."""
    if total < 0:
        return set()
    if most is None or total + 1 <= most:
        return set(range(total + 1))
    if most < 2:
        return {0}
    return {round(at * total / (most - 1)) for at in range(most)}


def rehearse(
    staged: sqlite3.Connection,
    session: str,
    *,
    generation: str = "C4",
    most: int | None = 200,
    bounds: Bounds | None = None,
    recovering: Sequence[bool] = (False, True),
    progress: Callable[[int, int], None] | None = None,
) -> Rehearsed:
    """Cut the conversion of a session and resume it, again and again.

    Parameters
    ----------
    staged : the session in a database of its own, see `busbar_audit.conversion.staging.stage`; it is not changed.
    most : cuts at most, spread evenly; None for every append. The resequence and the version are cut in any case.
    recovering : resume after the recovery of open runs, without it, or both.
    progress : called with cuts done and cuts in all.
    """
    memo = Memo()

    def attempt(con: sqlite3.Connection, clock: int, watch: Callable[[str, int], None] | None = None) -> Conversion:
        return convert_as(
            generation, con, session, clock=lambda: clock, bounds=bounds, watch=watch, importing=True, memo=memo
        )

    with closing(copied(staged)) as con:
        (rows,) = con.execute("SELECT count(*) FROM session_messages").fetchone()
        high = highest(con)
        before = state(con, session, high)
        whole = attempt(con, _NOW)
        end = state(con, session, high)
    done = Rehearsed(session, generation, rows, len(whole.emitted), whole, end.events)
    # Where an append is refused, the run is cut before it too; where none is, the resequence comes next.
    wanted = points(len(whole.emitted) - (whole.error is None), most)
    in_all = len(recovering) * (len(wanted) + 2 * (whole.error is None))

    judge = _Judge(session, generation, high, attempt, before, end, whole)

    def cut(what: str, taken: int) -> None:
        if what == APPEND and taken in wanted:
            point = f"after {taken} appends"
        elif what in (RESEQUENCE, PATCH):
            point = f"before the {'resequence' if what == RESEQUENCE else 'version'}"
        else:
            return
        for recovery in recovering:
            if not judge.quick(run, taken, recovery):
                done.broken.extend(judge.closely(run, point, taken, recovery))
            done.points += 1
            if progress is not None:
                progress(done.points, in_all)

    with closing(copied(staged)) as run:
        attempt(run, _NOW, cut)
    return done


@dataclass(frozen=True)
class _Judge:
    """Resumes copies of a run that was cut, and holds their ends against the uninterrupted one."""

    session: str
    generation: str
    high: int
    attempt: Callable[[sqlite3.Connection, int], Conversion]
    before: State
    end: State
    whole: Conversion

    def quick(self, run: sqlite3.Connection, taken: int, recovery: bool) -> bool:
        """Whether all properties hold, as far as the end and the tables written tell; without one, look closely.

        The events left are among those of the uninterrupted run, so an equal end has kept them.
        """
        with closing(copied(run)) as con:
            writes = _Writes(con)
            if _version(con, self.session) == 1:
                return False
            con.execute("BEGIN")
            ended = recover(con, self.session, _NOW + DAY) if recovery else 0
            resumed = self.attempt(con, _NOW + DAY)
            return (
                not ended
                and resumed.error is None
                and self.whole.error is None
                and writes.legal
                and len(resumed.emitted) == len(self.whole.emitted) - taken
                and _version(con, self.session) == 1 == self.end.version
                and _events(con, self.session) == self.end.events
            )

    def closely(self, run: sqlite3.Connection, point: str, taken: int, recovery: bool) -> Iterator[Broken]:
        """Each property by itself."""
        with closing(copied(run)) as con:
            yield from self._closely(con, point, taken, recovery)

    def _closely(self, con: sqlite3.Connection, point: str, taken: int, recovery: bool) -> Iterator[Broken]:
        session, whole = self.session, self.whole
        left = state(con, session, self.high)
        if left.version == 1:
            yield Broken("last", point, "the session has version 1 although the run was cut before it")
        if recovery:
            recover(con, session, _NOW + DAY)
            point = f"{point}, recovered"
        resumed = self.attempt(con, _NOW + DAY)
        after = state(con, session, self.high)
        own = after.own()
        changed = sum(own.get(name) != event for name, event in left.own().items())
        if changed:
            yield Broken("kept", point, f"{changed} event(s) changed or gone")
        if after.rows != self.before.rows or not after.added <= ({"turn_state"} if self.generation == "C0" else set()):
            yield Broken("rows", point, "old rows are not what they were")
        if _said(resumed) != _said(whole):
            yield Broken("end", point, f"ended with {_named(resumed)}, the uninterrupted run with {_named(whole)}")
        elif not _equal(after, self.end):
            told = f"{len(after.events)} events, {len(self.end.events)} in the uninterrupted run, or others"
            yield Broken("end", point, told)
        if len(resumed.emitted) != len(whole.emitted) - taken:
            missing = len(whole.emitted) - taken
            yield Broken("appended", point, f"{len(resumed.emitted)} event(s) appended, {missing} were missing")
        if (after.version == 1) != (resumed.error is None):
            yield Broken("last", point, f"version {after.version} after an attempt that ended with {_named(resumed)}")
        further = self.attempt(con, _NOW + 2 * DAY)
        if further.appended or (resumed.error is None and further.error is not None):
            yield Broken("grew", point, f"a further attempt appended {further.appended}: {_named(further)}")


def _said(done: Conversion) -> str | None:
    return None if done.error is None else done.error.message


def _named(done: Conversion) -> str:
    if done.error is None:
        return "success"
    return f"{done.error.name} at {done.error.event_id or f'row {done.error.sequence}'}"


def _equal(after: State, end: State) -> bool:
    """Whether two ends are the same; endings by the recovery of open runs are apart from it, and so are numbers then."""
    if after.version != end.version:
        return False
    if after.events == end.events:
        return True
    ours = [event[:-1] for event in after.events if not event[0].endswith(RECOVERED)]
    return len(ours) < len(after.events) and ours == [event[:-1] for event in end.events]
