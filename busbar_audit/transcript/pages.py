"""Pages of a transcript as query generation Q-B serves them: by rows and by bytes, in both directions (maka sheet 6.1, 6.3).

A position is a durable sequence, inclusive. A record larger than what is left of a page is cut in bytes: older pages take its
tail first, newer ones its head; where it was cut the next page goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import Session
from busbar_audit.transcript.projection import is_terminal
from busbar_audit.transcript.view import STRIDE, PageRow, Refused, invocation_rows, placed

Direction = Literal["older", "newer"]


@dataclass(frozen=True)
class Cursor:
    """Where a page begins: a sequence, and for a record that was cut the byte at which it was."""

    position: int
    byte_offset: int | None = None


@dataclass(frozen=True)
class Fragment:
    """A record, or a part of one: its bytes begin at `byte_offset` of `total` bytes."""

    sequence: int
    byte_offset: int
    total: int
    data: bytes


@dataclass(frozen=True)
class Page:
    """One page; `next` is None at the end of the walk."""

    fragments: tuple[Fragment, ...]
    next: Cursor | None


@dataclass(frozen=True)
class _Turn:
    """One settled invocation: from the place of its opening to that of its ending."""

    first: int
    last: int
    rows: tuple[PageRow, ...]
    refusal: Refused | None


class Pages:
    """The pages of one session.

    Parameters
    ----------
    session : its events, openings and outcomes.
    """

    def __init__(self, session: Session) -> None:
        by_invocation, ordinals = placed(session.events)
        turns = []
        for opening in session.openings:
            own = by_invocation.get(opening.invocation_id, [])
            ends = [s for s in sorted(own, key=lambda s: s.seq) if s.event is not None and is_terminal(s.event)]
            first, last = ordinals.get(opening.event_id or ""), ends[0].ordinal if ends else None
            if not opening.inline or first is None or last is None:
                continue
            try:
                rows = invocation_rows(opening, own, session.outcomes, ordinals)
            except Refused as refused:
                turns.append(_Turn(first, last, (), refused))
            else:
                turns.append(_Turn(first, last, tuple(rows), None))
        self._turns = sorted(turns, key=lambda turn: turn.first)
        self.high_water = max((turn.last for turn in turns), default=-1) * STRIDE + STRIDE - 1 if turns else None

    def page(self, direction: Direction, start: Cursor | None, messages: int, size: int) -> Page:
        """One page.

        Parameters
        ----------
        start : where it begins; None for the newest row (older) or the oldest (newer).
        messages, size : most fragments, and most bytes of all of them.

        Raises
        ------
        Refused : a turn that the page reaches cannot be shown.
        """
        fragments: list[Fragment] = []
        used = 0
        for row in self._rows(direction, start):
            if len(fragments) >= messages or used >= size:
                return Page(tuple(fragments), Cursor(row.sequence))
            data = js.stringify(row.row).encode("utf-8", "surrogatepass")
            at = start.byte_offset if start is not None and row.sequence == start.position else None
            low, high = (0, len(data) if at is None else at) if direction == "older" else (at or 0, len(data))
            room = size - used
            cut = high - low > room
            if cut:
                low, high = (high - room, high) if direction == "older" else (low, low + room)
            fragments.append(Fragment(row.sequence, low, len(data), data[low:high]))
            used += high - low
            if cut:
                return Page(tuple(fragments), Cursor(row.sequence, low if direction == "older" else high))
        return Page(tuple(fragments), None)

    def walk(self, direction: Direction, messages: int, size: int) -> Iterator[Page]:
        """All pages from one end to the other.

        Raises
        ------
        Refused : as `page`.
        """
        page = self.page(direction, None, messages, size)
        while True:
            yield page
            if page.next is None:
                return
            page = self.page(direction, page.next, messages, size)

    def _rows(self, direction: Direction, start: Cursor | None) -> Iterator[PageRow]:
        """Rows from a position on, turn by turn; turns that overlap are one step, in order of their rows."""
        for cluster in self._clusters() if direction == "newer" else reversed(self._clusters()):
            first, last = min(t.first for t in cluster) * STRIDE, max(t.last for t in cluster) * STRIDE + STRIDE - 1
            if start is not None and (last < start.position if direction == "newer" else first > start.position):
                continue
            refusal = next((turn.refusal for turn in cluster if turn.refusal is not None), None)
            if refusal is not None:
                raise refusal
            rows = sorted((row for turn in cluster for row in turn.rows), key=lambda row: row.sequence)
            for row in rows if direction == "newer" else reversed(rows):
                if start is None or (
                    row.sequence >= start.position if direction == "newer" else row.sequence <= start.position
                ):
                    yield row

    def _clusters(self) -> Sequence[list[_Turn]]:
        clusters: list[list[_Turn]] = []
        end = -1
        for turn in self._turns:
            if clusters and turn.first <= end:
                clusters[-1].append(turn)
            else:
                clusters.append([turn])
            end = max(end, turn.last)
        return clusters
