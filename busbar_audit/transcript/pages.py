"""Pages of a transcript as each generation of its query serves them, by rows and by bytes (maka sheet 6.1 and 6.3).

A position is a durable sequence, inclusive. A record larger than what is left of a page is cut in bytes: older pages take its
tail first, newer ones its head; where it was cut the next page goes on. What is read for a page is counted, step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import Session
from busbar_audit.transcript.selection import Generation, Step, steps
from busbar_audit.transcript.view import STRIDE, PageRow

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
    """One page; `next` is None at the end of the walk.

    events, read : payloads that were decoded for it, and their bytes.
    """

    fragments: tuple[Fragment, ...]
    next: Cursor | None
    events: int = 0
    read: int = 0

    @property
    def served(self) -> int:
        """Bytes that the page returns."""
        return sum(len(fragment.data) for fragment in self.fragments)


class Pages:
    """The pages of one session.

    Parameters
    ----------
    session : its events, openings and outcomes.
    generation : of the query; what Q-A and Q-C give is emulated and unverified.
    watermark : newest ordinal that is read; None for all.
    """

    def __init__(self, session: Session, generation: Generation = "Q-B", watermark: int | None = None) -> None:
        self._steps, newest = steps(session, generation, watermark)
        self.high_water = None if newest is None else newest * STRIDE + STRIDE - 1

    @property
    def steps(self) -> Sequence[Step]:
        """What pages read at once, by place."""
        return self._steps

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
        read = [0, 0]
        for row in self._rows(direction, start, read):
            if len(fragments) >= messages or used >= size:
                return Page(tuple(fragments), Cursor(row.sequence), *read)
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
                return Page(tuple(fragments), Cursor(row.sequence, low if direction == "older" else high), *read)
        return Page(tuple(fragments), None, *read)

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

    def _rows(self, direction: Direction, start: Cursor | None, read: list[int]) -> Iterator[PageRow]:
        """Rows from a position on, step by step; turns that overlap are one step, in order of their rows."""
        for cluster in self._clusters() if direction == "newer" else reversed(self._clusters()):
            first, last = min(t.first for t in cluster) * STRIDE, max(t.last for t in cluster) * STRIDE + STRIDE - 1
            if start is not None and (last < start.position if direction == "newer" else first > start.position):
                continue
            read[0] += sum(step.events for step in cluster)
            read[1] += sum(step.size for step in cluster)
            refusal = next((turn.refusal for turn in cluster if turn.refusal is not None), None)
            if refusal is not None:
                raise refusal
            rows = sorted((row for turn in cluster for row in turn.rows), key=lambda row: row.sequence)
            for row in rows if direction == "newer" else reversed(rows):
                if start is None or (
                    row.sequence >= start.position if direction == "newer" else row.sequence <= start.position
                ):
                    yield row

    def _clusters(self) -> Sequence[list[Step]]:
        clusters: list[list[Step]] = []
        end = -1
        for turn in self._steps:
            if clusters and turn.first <= end:
                clusters[-1].append(turn)
            else:
                clusters.append([turn])
            end = max(end, turn.last)
        return clusters
