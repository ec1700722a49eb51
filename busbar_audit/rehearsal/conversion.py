"""A workspace's conversion rehearsed session by session: cut at chosen points, resumed, and held against the uninterrupted run.

Everything happens in private stores made from a finished copy. Each point is a clone of the store as it is at that append,
resumed as if the process had died there and begun again a day later.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from busbar_audit.conversion.converter import MARK, RESEQUENCE, convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.memory import Memory
from busbar_audit.rehearsal.cost import Estimate, estimate, turns_of
from busbar_audit.rehearsal.foretold import Foretold
from busbar_audit.rehearsal.ledgerstate import LedgerState, clone_of, extracted, ledger_state
from busbar_audit.rehearsal.resumption import AFTER_RECOVERY, DAY, OWED, ROWS, SAME, Point, Uninterrupted
from busbar_audit.rehearsal.risks import Risk, risks
from busbar_audit.text import printable
from busbar_audit.transcript import js

# Of more appends than this, points are sampled.
EVERY = 120
# Of more points than this, the others are resumed to the end of the turn they are in.
_FAR = 20
_SHOWN = 10
# Of more text than this, in characters, nothing is held from one resume to the next.
_HELD = 16 << 20


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
    rows : its legacy rows. appends : events of the uninterrupted run. points : where it was cut. far : of these, so many were
    resumed to the very end, the others to the end of the turn. killed : by SIGKILL, and to the very end.
    refusal : what ends the conversion of this session, in the product's words; None where it ends well.
    retry : what a second attempt after a refusal does: ``refused again``, or ``succeeds, with … row(s) lost``.
    failures : properties that did not hold. risks : known cases in it, with their rows.
    estimate : how long the product's own conversion takes, by the model fitted to its measured figures.
    """

    session_id: str
    rows: int
    appends: int
    points: int = 0
    far: int = 0
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
            "to_the_end": self.far, "killed": self.killed, "refusal": self.refusal, "retry": self.retry,
            "failures": [{"point": each.point, "property": each.property} for each in self.failures],
            "risks": [asdict(each) for each in self.risks],
            "estimate": None if self.estimate is None else asdict(self.estimate),
        }  # fmt: skip


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
    with closing(extracted(path, session)) as store:
        begun = ledger_state(store, session)
        (rows, size) = store.execute(
            "SELECT count(*), coalesce(sum(length(record_json)), 0) FROM session_messages WHERE session_id = ?",
            (session,),
        ).fetchone()
        memory = Memory() if size <= _HELD else None
        with closing(clone_of(store)) as whole:
            done = convert(Ledger(whole, memory), session)
            end = ledger_state(whole, session)
            estimated = estimate(turns_of(whole, session))
            retry = _retried(whole, session, end) if done.refusal is not None else None
        run = Uninterrupted(store, session, done, begun, end, memory)
        # A session that a second attempt ends otherwise than the first has no one end to hold a resume against.
        judged = not (retry or "").startswith("succeeds")
        failures: list[Failure] = []
        if begun.rows != end.rows:
            failures.append(Failure("whole", ROWS))
        stages: list[Point] = [RESEQUENCE, MARK] if done.complete else []
        chosen = _chosen(done.appends, points)
        # Few points are all resumed to the end; of many those that are further apart, and the first and the last.
        far = set(chosen if len(chosen) <= _FAR or not run.turn_by_turn else _chosen(done.appends, _FAR))

        ended: list[bool] = []

        def judge(point: Point, clone: sqlite3.Connection) -> None:
            near = isinstance(point, int) and point not in far
            ended.append(not near)
            for what in run.near(clone, int(point)) if near else run.broken(clone):
                if judged or what.removeprefix(AFTER_RECOVERY) not in (OWED, SAME):
                    failures.append(Failure(point, what))

        cut = run.cut({*chosen, *far, *stages}, judge)
        killed = 0
        if kills and folder is not None:
            for number, point in enumerate(_chosen(done.appends, kills)):
                # In turn: between two transactions, and inside the next one.
                failures += [Failure(point, f"SIGKILL: {what}") for what in run.killed(point, number % 2 == 1, folder)]
                killed += 1
        refusal = None if done.refusal is None else done.refusal.message
        return Rehearsed(
            session,
            rows,
            done.appends,
            points=cut + killed,
            far=sum(ended) + killed,
            killed=killed,
            refusal=refusal,
            retry=retry,
            failures=tuple(failures),
            risks=risks(store, session, done),
            estimate=estimated,
        )


def _chosen(appends: int, most: int) -> list[int]:
    """Numbers of appends after which to cut: all, or so many of them evenly spread, the first and the last included."""
    if appends + 1 <= most:
        return list(range(appends + 1))
    return sorted({round(at * appends / max(1, most - 1)) for at in range(most)})


def _retried(whole: sqlite3.Connection, session: str, first: LedgerState) -> str:
    """What a second attempt does of a session that was refused."""
    again = convert(Ledger(whole), session, now=DAY)
    if again.refusal is not None:
        return "refused again" if not again.appends else f"refused again, after {again.appends} more event(s)"
    lost = _unconverted(whole, session)
    new = len(ledger_state(whole, session).events) - len(first.events)
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


def lines(found: Sequence[Rehearsed]) -> Iterator[str]:
    """For a terminal."""
    for each in found:
        killed = f", {each.killed:,} by SIGKILL" if each.killed else ""
        far = f", from {each.far:,} resumed to the end of all" if each.far < each.points else ""
        what = f"{each.rows:,} row(s), {each.appends:,} event(s), cut at {each.points:,} point(s){killed}{far}"
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
