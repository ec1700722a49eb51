"""Both readers of a session side by side around their first difference: which rows, never what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from busbar_audit.transcript import js
from busbar_audit.transcript.compare import Comparison, keyed
from busbar_audit.transcript.ledger import Session
from busbar_audit.transcript.projection import Row

EACH_SIDE = 3
# An open run is in the Session view and not yet in pages: nothing that anyone has to look at.
EXPECTED = frozenset({"V1"})


class Beside(NamedTuple):
    """One row, or one event that a reader refuses.

    place : its number in this list, the first difference being 0. view, pages : shown, hidden, refused, or differs.
    members : names of the members that differ, for a row that both show.
    """

    place: int
    event_id: str
    turn_id: str
    type: str
    row_id: str
    view: str
    pages: str
    members: str


def beside(session: Session, done: Comparison) -> list[Beside]:
    """Rows around the first difference of a session that is not an expected one; none if there is no such difference."""
    told = [one for one in done.divergences if one.kind not in EXPECTED and {one.view, one.pages} != {"refused"}]
    if not told:
        return []
    wanted = {one.event_id for one in told}
    lines = _lines(done, {stored.event_id: stored.invocation_id for stored in session.events})
    first = next((at for at, line in enumerate(lines) if line.event_id in wanted and _apart(line)), None)
    if first is None:
        first = next((at for at, line in enumerate(lines) if "refused" in (line.view, line.pages)), None)
    if first is None:
        # What differs is no row of either reader: an event that one of them refuses, or the order of all.
        one = told[0]
        turn = next((stored.turn_id for stored in session.events if stored.event_id == one.event_id), "")
        return [Beside(0, one.event_id, turn, "event", "", one.view, one.pages, "")]
    start = max(0, first - EACH_SIDE)
    return [line._replace(place=at - first) for at, line in enumerate(lines[start : first + EACH_SIDE + 1], start)]


def _lines(done: Comparison, invocations: Mapping[str, str]) -> list[Beside]:
    """All rows in the order of the Session view, and where it has none, in that of pages."""
    shown = {} if done.view is None else keyed(done.view.sources, done.view.rows)
    served = keyed([row.source for row in done.served], [row.row for row in done.served])
    without = "refused" if done.view is None else "hidden"
    lines = []
    for key, row in shown.items():
        other = served.get(key)
        if other is None:
            pages = "refused" if invocations.get(key[0]) in done.closed else "hidden"
            lines.append(_line(key[0], row, "shown", pages, ""))
        elif other is row or other == row:
            lines.append(_line(key[0], row, "shown", "shown", ""))
        else:
            names = sorted(n for n in row.keys() | other.keys() if not js.same(row.get(n), other.get(n)))
            lines.append(_line(key[0], row, "shown", "differs", ", ".join(names)))
    lines += [_line(key[0], row, without, "shown", "") for key, row in served.items() if key not in shown]
    return lines


def _line(event_id: str, row: Row, view: str, pages: str, members: str) -> Beside:
    return Beside(0, event_id, row.get("turnId") or "", row["type"], row["id"], view, pages, members)


def _apart(line: Beside) -> bool:
    return (line.view, line.pages) != ("shown", "shown")
