"""A workspace's conversion rehearsed session by session: cut at chosen points, resumed, and held against the uninterrupted run.

Everything happens in private stores made from a finished copy. Each point is a clone of the store as it is at that append,
resumed as if the process had died there and begun again a day later.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.converter import MARK, RESEQUENCE, Conversion, convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.migration import migrate
from busbar_audit.conversion.recovery import RECOVERED, recover
from busbar_audit.conversion.schema import COPIED, HEADERS, in_memory
from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.cost import Estimate, estimate, turns_of
from busbar_audit.rehearsal.risks import Risk, risks
from busbar_audit.text import printable
from busbar_audit.transcript import js

Point = int | str
_DAY = 86_400_000
# Of more appends than this, points are sampled.
EVERY = 120
_SHOWN = 10
# What older workspaces do not have, and the upgrade makes: openings of run headers, places of events by their rowid.
_LATER = {
    "runtime_legacy_invocation_openings",
    "runtime_session_event_ordinals",
    "session_message_chunks",
    "session_message_payloads",
}

# What has to hold of a conversion that was cut and resumed.
KEPT = "what was in the ledger is unchanged"
OWED = "the resume appends what is missing and nothing else"
SAME = "it ends as the uninterrupted run does"
ROWS = "the old rows are untouched"
GROWS = "every attempt that owes something makes progress"
_RECOVERED = "after recovery: "


@dataclass(frozen=True)
class Failure:
    """A property that did not hold, at a point."""

    point: Point
    property: str


@dataclass(frozen=True)
class Rehearsed:
    """One session.

    Attributes
    ----------
    rows : its legacy rows. appends : events of the uninterrupted run. points : where it was cut. killed : of these, by SIGKILL.
    refusal : what ends the conversion of this session, in the product's words; None where it ends well.
    retry : what a second attempt after a refusal does: ``refused again``, or ``succeeds, with … row(s) lost``.
    failures : properties that did not hold. risks : known cases in it, with their rows.
    estimate : how long the product's own conversion takes, by the model fitted to its measured figures.
    """

    session_id: str
    rows: int
    appends: int
    points: int = 0
    killed: int = 0
    refusal: str | None = None
    retry: str | None = None
    failures: tuple[Failure, ...] = ()
    risks: tuple[Risk, ...] = ()
    estimate: Estimate | None = None

    @property
    def at_risk(self) -> bool:
        """Whether somebody has to look at the session before the upgrade."""
        return self.refusal is not None or bool(self.failures) or any(risk.grave for risk in self.risks)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "session": self.session_id, "rows": self.rows, "appends": self.appends, "points": self.points,
            "killed": self.killed, "refusal": self.refusal, "retry": self.retry,
            "failures": [{"point": each.point, "property": each.property} for each in self.failures],
            "risks": [asdict(each) for each in self.risks],
            "estimate": None if self.estimate is None else asdict(self.estimate),
        }  # fmt: skip


@dataclass
class _State:
    """A ledger at rest: events with their places, the header's version, and the old rows' digest."""

    events: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    version: Any = None
    rows: str = ""

    def converted(self) -> dict[str, tuple[Any, ...]]:
        """Events without those of the recovery."""
        return {name: event for name, event in self.events.items() if not name.endswith(RECOVERED)}

    def same(self, other: _State) -> bool:
        """Whether two are the same; endings by the recovery are apart from that, and they move what comes after them."""
        if self.version != other.version:
            return False
        if self.events == other.events:
            return True
        ours = self.converted()
        return len(ours) < len(self.events) and _in_order(ours) == _in_order(other.events)


def _in_order(events: Mapping[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Events in the order of their places, without the numbers of these."""
    return [(name, *event[:-1]) for name, event in sorted(events.items(), key=lambda each: each[1][-1] or 0)]


def sessions(path: Path) -> list[str]:
    """Sessions of a store that have legacy rows and are not said to be converted, by id.

    Raises
    ------
    UsageError : the store has no such tables.
    """
    with closing(_opened(path)) as con:
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        needed = {*COPIED} - _LATER
        if "runtime_legacy_invocation_openings" not in tables:
            # Without them nothing tells which turns a native run owns.
            needed.add("core_agent_runs")
        if lacking := sorted(needed - tables):
            raise UsageError(
                f"The workspace has no table {', '.join(lacking)}.",
                "Runtime schema 8 or later, with session_messages.",
                "Older workspaces are migrated by the product first.",
            )
        rows = con.execute(
            "SELECT m.session_id, m.payload_json FROM session_metadata AS m "
            "WHERE EXISTS (SELECT 1 FROM session_messages AS r WHERE r.session_id = m.session_id) ORDER BY m.session_id"
        )
        return [session for session, text in rows if _version(text) != 1]


def _version(text: str) -> Any:
    try:
        header = js.parse(text)
    except js.NotJson:
        return None
    return header.get("transcriptLedgerVersion") if isinstance(header, dict) else None


def rehearse_session(
    path: Path, session: str, *, points: int = EVERY, kills: int = 0, folder: Path | None = None
) -> Rehearsed:
    """Cut one session's conversion at up to so many points, and resume it from each.

    Parameters
    ----------
    path : a finished copy of the store. points : appends at which it is cut, spread evenly over all if there are more; the
        resequence and the version mark are cut in any case. kills : of these points, so many by SIGKILL of a child process.
    folder : private; needed for `kills`.
    """
    with closing(_extracted(path, session)) as store:
        begun = _state(store, session)
        with closing(_clone(store)) as whole:
            done = convert(Ledger(whole), session)
            end = _state(whole, session)
            estimated = estimate(turns_of(whole, session))
            retry = _retried(whole, session, end) if done.refusal is not None else None
        # A session that a second attempt ends otherwise than the first has no one end to hold a resume against.
        judged = not (retry or "").startswith("succeeds")
        rows = store.execute("SELECT count(*) FROM session_messages WHERE session_id = ?", (session,)).fetchone()[0]
        chosen = _chosen(done.appends, points)
        failures: list[Failure] = []
        if begun.rows != end.rows:
            failures.append(Failure("whole", ROWS))
        stages: list[Point] = [RESEQUENCE, MARK] if done.complete else []
        cut = _cut(
            store,
            session,
            {*chosen, *stages},
            lambda point, clone: failures.extend(
                Failure(point, what)
                for what in _both(clone, session, begun, done, end)
                if judged or what.removeprefix(_RECOVERED) not in (OWED, SAME)
            ),
        )
        killed = 0
        if kills and folder is not None:
            for number, point in enumerate(_chosen(done.appends, kills)):
                # In turn: between two transactions, and inside the next one.
                inside = number % 2 == 1
                killing = (store, session, point, inside, folder, begun, done, end)
                failures += [Failure(point, f"SIGKILL: {what}") for what in _killed(*killing)]
                killed += 1
        refusal = None if done.refusal is None else done.refusal.message
        return Rehearsed(
            session, rows, done.appends, cut + killed, killed, refusal, retry, tuple(failures), risks(store, session, done),
            estimated,
        )  # fmt: skip


@dataclass(frozen=True)
class Foretold:
    """A real conversion held against our own: events as predicted, not there, that nobody foretold, and that differ.

    first : id of the first event that is not as predicted. version : what the later header says of the conversion.
    """

    session_id: str
    predicted: int
    same: int
    missing: int
    unforeseen: int
    differing: int
    first: str | None
    refusal: str | None
    version: Any

    @property
    def holds(self) -> bool:
        """Whether the real conversion did what ours does, and ended as ours does."""
        return self.same == self.predicted and not self.unforeseen and (self.version == 1) == (self.refusal is None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "session": self.session_id}


def against(before: Path, after: Path, session: str) -> Foretold:
    """Predict every event of a session's conversion from an earlier store, and look for it in a later one.

    Parameters
    ----------
    before, after : finished copies of the store, as it was and as the upgrade left it. Runs that began meanwhile are left out.
    """
    with closing(_extracted(before, session)) as own, closing(_extracted(after, session)) as later:
        there = _state(own, session).events
        done = convert(Ledger(own), session)
        ours, real = _state(own, session).events, _state(later, session)
        turns = {event[2] for name, event in ours.items() if name not in there}
        derived = {name for name, event in real.events.items() if event[1] == identity.run_id(session, event[2])}
    new = [name for name in ours if name not in there]
    same = [name for name in new if _content(real.events.get(name)) == _content(ours[name])]
    missing = [name for name in new if name not in real.events]
    unforeseen = sorted(name for name in derived - ours.keys() if real.events[name][2] in turns or not turns)
    apart = [name for name in new if name in real.events and name not in set(same)]
    first = next(iter([*missing, *apart, *unforeseen]), None)
    refusal = None if done.refusal is None else done.refusal.message
    return Foretold(
        session, len(new), len(same), len(missing), len(unforeseen), len(apart), first, refusal, real.version
    )  # fmt: skip


def _chosen(appends: int, most: int) -> list[int]:
    """Numbers of appends after which to cut: all, or so many of them evenly spread, the first and the last included."""
    if appends + 1 <= most:
        return list(range(appends + 1))
    return sorted({round(at * appends / max(1, most - 1)) for at in range(most)})


def _cut(
    store: sqlite3.Connection, session: str, wanted: set[Point], judge: Callable[[Point, sqlite3.Connection], None]
) -> int:
    """Run the conversion once more, and judge a clone of the store at each point; how many there were."""
    seen: set[Point] = set()

    def cut(point: Point) -> None:
        if point in wanted and point not in seen:
            seen.add(point)
            with closing(_clone(run)) as clone:
                judge(point, clone)

    with closing(_clone(store)) as run:
        done = convert(Ledger(run), session, before=lambda done, what: cut(done.appends if what == "append" else what))
        # Where a refusal ended it, or nothing comes after the last append, the store as it is now is that point.
        cut(done.appends)
    return len(seen)


def _both(clone: sqlite3.Connection, session: str, begun: _State, whole: Conversion, end: _State) -> Iterator[str]:
    """Properties that do not hold of a resume, with the recovery of open runs in between and without it.

    Recovery passes converted runs by, so it is another case only where a native run is open.
    """
    with closing(_clone(clone)) as other:
        if recover(other, session, _DAY):
            yield from (f"{_RECOVERED}{what}" for what in _resumed(other, session, begun, whole, end))
    yield from _resumed(clone, session, begun, whole, end)


def _resumed(clone: sqlite3.Connection, session: str, begun: _State, whole: Conversion, end: _State) -> Iterator[str]:
    """Properties that do not hold of a store in which a conversion was cut."""
    there = _state(clone, session)
    second = convert(Ledger(clone), session, now=_DAY)
    after = _state(clone, session)
    if any(_content(after.events.get(name)) != _content(event) for name, event in there.events.items()):
        yield KEPT
    present = len(there.converted()) - len(begun.converted())
    if second.appends != whole.appends - present:
        yield OWED
    refused = [None if done.refusal is None else done.refusal.message for done in (whole, second)]
    if not after.same(end) or refused[0] != refused[1]:
        yield SAME
    if after.rows != begun.rows:
        yield ROWS
    if whole.appends > present and not second.appends:
        yield GROWS


def _content(event: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """An event without its place in the session, which the resequence may change."""
    return None if event is None else event[:-1]


def _retried(whole: sqlite3.Connection, session: str, first: _State) -> str:
    """What a second attempt does of a session that was refused."""
    again = convert(Ledger(whole), session, now=_DAY)
    if again.refusal is not None:
        return "refused again" if not again.appends else f"refused again, after {again.appends} more event(s)"
    lost = _unconverted(whole, session)
    new = len(_state(whole, session).events) - len(first.events)
    return f"succeeds with {new} more event(s), and {lost} row(s) of its turns are in no event" if lost else "succeeds"


def _unconverted(con: sqlite3.Connection, session: str) -> int:
    """Rows with a turn, of the kinds that become events, that no event says it was made from."""
    made = {
        (js.parse(text).get("refs") or {}).get("storedMessageId")
        for (text,) in con.execute("SELECT payload_json FROM runtime_events WHERE session_id = ?", (session,))
    }
    rows = con.execute(
        "SELECT message_id FROM session_messages WHERE session_id = ? AND message_type IN "
        "('user', 'assistant', 'tool_call', 'tool_result', 'permission_decision', 'token_usage')",
        (session,),
    )
    return sum(name not in made for (name,) in rows)


def _state(con: sqlite3.Connection, session: str) -> _State:
    rows = con.execute(
        "SELECT e.event_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq, e.event_kind, e.payload_json, e.committed_at, "
        "o.ordinal FROM runtime_events AS e LEFT JOIN runtime_session_event_ordinals AS o ON o.event_id = e.event_id "
        "WHERE e.session_id = ?",
        (session,),
    )
    found = _State({row[0]: row[1:] for row in rows})
    header = con.execute("SELECT payload_json FROM session_metadata WHERE session_id = ?", (session,)).fetchone()
    found.version = _version(header[0]) if header else None
    digest = hashlib.sha256()
    for table in ("session_messages", "session_message_payloads", "session_message_chunks"):
        for row in con.execute(f"SELECT * FROM {table} WHERE session_id = ? ORDER BY 2, 3", (session,)):  # noqa: S608 - our names
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    found.rows = digest.hexdigest()
    return found


def _opened(path: Path) -> sqlite3.Connection:
    con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    con.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return con


def _extracted(path: Path, session: str) -> sqlite3.Connection:
    """One session of a store, in memory, as the upgrade has it when it begins to convert."""
    store = in_memory()
    with closing(_opened(path)) as con:
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        runs = {name for _, name, *_ in con.execute("PRAGMA table_info(core_agent_runs)")}
        kept = {table: columns for table, columns in COPIED.items() if table in tables}
        if "record_json" in runs:
            store.execute(HEADERS)
            kept["core_agent_runs"] = ("session_id", "run_id", "created_at", "record_json")
        for table, columns in kept.items():
            # The names are our own.
            marks = ", ".join("?" * len(columns))
            rows = con.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE session_id = ?", (session,))  # noqa: S608
            store.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608 - our names
        if "runtime_session_event_ordinals" not in tables:
            order = con.execute("SELECT event_id FROM runtime_events WHERE session_id = ? ORDER BY rowid", (session,))
            places = ((session, place, event) for place, (event,) in enumerate(order, 1))
            store.executemany("INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)", places)
    migrate(store, session)
    return store


def _clone(store: sqlite3.Connection) -> sqlite3.Connection:
    other = sqlite3.connect(":memory:", isolation_level=None)
    store.backup(other)
    return other


def _killed(
    store: sqlite3.Connection,
    session: str,
    point: int,
    inside: bool,
    folder: Path,
    begun: _State,
    whole: Conversion,
    end: _State,
) -> Iterator[str]:
    """The same with a file, and a child process that kills itself at the point."""
    path = folder / f"killed-{point}.sqlite"
    try:
        with closing(sqlite3.connect(path)) as file:
            store.backup(file)
            file.execute("PRAGMA journal_mode = WAL")
        child = (sys.executable, "-m", "busbar_audit.rehearsal.conversion", str(path), session, str(point), str(inside))
        ended = subprocess.run(child, capture_output=True, timeout=600, check=False)
        if ended.returncode != -signal.SIGKILL and (point < whole.appends or whole.complete):
            yield f"the child ended with {ended.returncode} instead"
            return
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            if file.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                yield "the file is damaged"
            yield from _resumed(file, session, begun, whole, end)
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


def lines(found: Sequence[Rehearsed]) -> Iterator[str]:
    """For a terminal."""
    for each in found:
        killed = f", {each.killed:,} by SIGKILL" if each.killed else ""
        what = f"{each.rows:,} row(s), {each.appends:,} event(s), cut at {each.points:,} point(s){killed}"
        yield f"{printable(each.session_id[:60])}: {what}"
        if each.estimate is not None and each.estimate.seconds >= 1:
            took = each.estimate
            span = f"{took.seconds:,.0f} s ({took.low:,.0f} to {took.high:,.0f})"
            yield f"    the product's conversion takes about {span} on the machine of the figures"
            yield f"    of it {took.silence:,.1f} s in one step; the largest turn has {took.largest_turn:,} event(s)"
        if each.refusal is not None:
            yield f"    session at risk before this upgrade: {printable(each.refusal[:200])}"
            yield f"    a second attempt: {each.retry}"
        elif any(risk.grave for risk in each.risks):
            yield "    session at risk before this upgrade"
        for risk in each.risks[:_SHOWN]:
            extent = "" if risk.first is None else f", rows {risk.first} to {risk.last}"
            turn = f", turn {printable(risk.turn_id[:60])}" if risk.turn_id else ""
            yield f"    {risk.severity}: {risk.case}{turn}{extent}: {printable(risk.detail[:200])}"
        if len(each.risks) > _SHOWN:
            yield f"    {len(each.risks) - _SHOWN:,} more known cases"
        for failure in each.failures[:5]:
            yield f"    at {failure.point}: does not hold: {failure.property}"
        if len(each.failures) > 5:
            yield f"    {len(each.failures) - 5:,} more"


def told(found: Sequence[Foretold]) -> Iterator[str]:
    """A comparison for a terminal."""
    for each in found:
        what = f"{each.same:,} of {each.predicted:,} predicted event(s) are there as predicted"
        yield f"{printable(each.session_id[:60])}: {what}"
        if not each.holds:
            rest = f"{each.missing:,} missing, {each.differing:,} otherwise, {each.unforeseen:,} that nothing foretold"
            yield f"    {rest}; the first is {printable(str(each.first))}"
        if each.refusal is not None:
            yield f"    ours ended with: {printable(each.refusal[:200])}"


def document(found: Sequence[Rehearsed] | Sequence[Foretold]) -> Mapping[str, Any]:
    """For JSON."""
    code = exit_code(found)
    return {
        "format": "busbar-audit-conversion/1",
        "verdict": {0: "clean", 1: "findings", 3: "inconclusive"}[code],
        "exit_code": code,
        "sessions": [each.as_dict() for each in found],
    }


def exit_code(found: Sequence[Rehearsed] | Sequence[Foretold]) -> int:
    """1 where a session is at risk or was converted otherwise than predicted, 3 where there was nothing to look at."""
    if not found:
        return 3
    return 1 if any(not each.holds if isinstance(each, Foretold) else each.at_risk for each in found) else 0


if __name__ == "__main__":
    _die_at(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "True")
