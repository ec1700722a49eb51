"""A conversion that was cut, resumed: what has to hold of it, and how the cut is made."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from busbar_audit.conversion.converter import RESEQUENCE, Conversion, Stopped, convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.memory import Memory
from busbar_audit.conversion.recovery import recover
from busbar_audit.rehearsal.ledgerstate import LedgerState, clone_of, content, converted, ledger_state, stored_events

Point = int | str
# How much later a resume is, in milliseconds.
DAY = 86_400_000

# What has to hold of a conversion that was cut and resumed.
KEPT = "what was in the ledger is unchanged"
OWED = "the resume appends what is missing and nothing else"
SAME = "it ends as the uninterrupted run does"
ROWS = "the old rows are untouched"
GROWS = "every attempt that owes something makes progress"
AFTER_RECOVERY = "after recovery: "


@dataclass(frozen=True)
class Uninterrupted:
    """A session's conversion as it is if nothing happens, which every resume has to come to.

    store : the session before it, in memory. whole : what the conversion did. begun, end : its ledger before and after.
    memory : of its rows and events, where they are few enough to be held.
    """

    store: sqlite3.Connection
    session: str
    whole: Conversion
    begun: LedgerState
    end: LedgerState
    memory: Memory | None

    def cut(self, wanted: set[Point], judge: Callable[[Point, sqlite3.Connection], None]) -> int:
        """Run the conversion once more, and judge a clone of the store at each point; how many there were."""
        seen: set[Point] = set()

        def cut(point: Point) -> None:
            if point in wanted and point not in seen:
                seen.add(point)
                with closing(clone_of(run)) as clone:
                    judge(point, clone)

        with closing(clone_of(self.store)) as run:
            ledger = Ledger(run, self.memory)
            done = convert(
                ledger, self.session, before=lambda done, what: cut(done.appends if what == "append" else what)
            )
            # Where a refusal ended it, or nothing comes after the last append, the store as it is now is that point.
            cut(done.appends)
        return len(seen)

    def broken(self, clone: sqlite3.Connection) -> Iterator[str]:
        """Properties that do not hold of a resume, with the recovery of open runs in between and without it.

        Recovery passes converted runs by, so it is another case only where a native run is open.
        """
        with closing(clone_of(clone)) as other:
            if recover(other, self.session, DAY):
                yield from (f"{AFTER_RECOVERY}{what}" for what in self._resumed(other))
        yield from self._resumed(clone)

    @property
    def turn_by_turn(self) -> bool:
        """Whether a turn, once converted, is never looked at again: then a resume is settled where its turn ends.

        What is left of a turn over the edge of a page is another matter for the run that converted it than for one that
        finds it converted.
        """
        whole = self.whole
        return whole.complete and not whole.left_out and len(whole.emitted or ()) == whole.appends

    def near(self, clone: sqlite3.Connection, point: int) -> Iterator[str]:
        """The same of a resume up to the end of the turn that was cut, where `turn_by_turn`; after recovery, to the very end.

        There the ledger has to be the uninterrupted run's at that place: its rows as there, and nothing else written. With no
        rows of one turn before and behind that place, what follows from equal ledgers is equal.
        """
        with closing(clone_of(clone)) as other:
            if recover(other, self.session, DAY):
                yield from (f"{AFTER_RECOVERY}{what}" for what in self._resumed(other))
        emitted = self.whole.emitted or []
        ends = point
        while ends < len(emitted) and (ends == point or self._turn(emitted[ends]) == self._turn(emitted[ends - 1])):
            ends += 1
        changes = clone.total_changes
        second = Conversion()

        def stop(done: Conversion, what: str) -> None:
            nonlocal second
            second = done
            if point + done.appends >= ends or what != "append":
                raise Stopped

        with suppress(Stopped):
            second = convert(Ledger(clone, self.memory), self.session, now=DAY, before=stop)
        again = second.emitted or []
        if again != emitted[point:ends]:
            yield OWED
        if clone.total_changes - changes != 2 * len(again):
            yield KEPT
        first = len(self.begun.events) + point
        places = clone.execute(
            "SELECT event_id FROM runtime_session_event_ordinals WHERE session_id = ? AND ordinal > "
            "(SELECT max(ordinal) - ? FROM runtime_session_event_ordinals WHERE session_id = ?) ORDER BY ordinal",
            (self.session, ends - point, self.session),
        ).fetchall()
        stored = stored_events(clone, self.session, after=first)
        wanted = {name: content(self.end.events[name]) for name in emitted[point:ends]}
        if [name for (name,) in places] != emitted[point:ends] or stored != wanted:
            yield SAME

    def _turn(self, name: str) -> object:
        return self.end.events[name][2]

    def _resumed(self, clone: sqlite3.Connection) -> Iterator[str]:
        """Properties that do not hold of a store in which a conversion was cut."""
        there = stored_events(clone, self.session)
        second = convert(Ledger(clone, self.memory), self.session, now=DAY)
        after = ledger_state(clone, self.session)
        if any(content(after.events.get(name)) != event for name, event in there.items()):
            yield KEPT
        present = sum(map(converted, there)) - len(self.begun.converted())
        if second.appends != self.whole.appends - present:
            yield OWED
        refused = [None if done.refusal is None else done.refusal.message for done in (self.whole, second)]
        if not after.same(self.end) or refused[0] != refused[1]:
            yield SAME
        if after.rows != self.begun.rows:
            yield ROWS
        if self.whole.appends > present and not second.appends:
            yield GROWS

    def killed(self, point: int, inside: bool, folder: Path) -> Iterator[str]:
        """The same with a file, and a child process that kills itself at the point.

        Parameters
        ----------
        inside : in the middle of the transaction after so many appends, not before it.
        """
        path = folder / f"killed-{point}.sqlite"
        try:
            with closing(sqlite3.connect(path)) as file:
                self.store.backup(file)
                file.execute("PRAGMA journal_mode = WAL")
            child = (sys.executable, "-m", __name__, str(path), self.session, str(point), str(inside))
            ended = subprocess.run(child, capture_output=True, timeout=600, check=False)
            if ended.returncode != -signal.SIGKILL and (point < self.whole.appends or self.whole.complete):
                yield f"the child ended with {ended.returncode} instead"
                return
            with closing(sqlite3.connect(path, isolation_level=None)) as file:
                if file.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                    yield "the file is damaged"
                yield from self._resumed(file)
        finally:
            for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
                name.unlink(missing_ok=True)


def _die_at(path: str, session: str, point: int, inside: bool) -> None:
    """What a child does: convert, and kill itself before the transaction after so many, or before that one's commit."""
    commits = 0

    def traced(statement: str) -> None:
        nonlocal commits
        if statement == "COMMIT" and inside and commits == point:
            os.kill(os.getpid(), signal.SIGKILL)
        commits += statement == "COMMIT"

    def before(done: Conversion, what: str) -> None:
        if what in ("append", RESEQUENCE) and not inside and done.appends == point:
            os.kill(os.getpid(), signal.SIGKILL)

    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.set_trace_callback(traced)
        convert(Ledger(con), session, before=before)


if __name__ == "__main__":
    _die_at(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True")
