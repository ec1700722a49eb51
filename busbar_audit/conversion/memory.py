"""What was decoded and derived once, for a session that is converted many times over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from busbar_audit.conversion.events import Event
from busbar_audit.conversion.payloads import Number
from busbar_audit.conversion.rows import LegacyRow
from busbar_audit.conversion.turns import LegacyTurn


class Memory:
    """Rows and turns of one session, by all that they are made from.

    It holds everything it is given: for sessions that are small enough to be held whole.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str], LegacyRow] = {}
        self._events: dict[tuple[object, ...], list[Event]] = {}
        self._header: Mapping[str, Any] = {}
        self._ends: dict[str, bool] = {}

    def row(self, sequence: int, text: str, decode: Callable[[], LegacyRow]) -> LegacyRow:
        """A row by its place and text."""
        key = (sequence, text)
        if key not in self._rows:
            self._rows[key] = decode()
        return self._rows[key]

    def events(
        self, header: Mapping[str, Any], turn: LegacyTurn, at: Number, derive: Callable[[], list[Event]]
    ) -> list[Event]:
        """Events of a turn, by the header, its rows, which are all held here, and when its run is opened."""
        if header != self._header:
            self._events.clear()
            self._header = header
        key = (at, turn.turn_id, *(id(one) for one in turn.rows))
        if key not in self._events:
            self._events[key] = derive()
        return self._events[key]

    def ends(self, text: str, told: Callable[[str], bool]) -> bool:
        """Whether a stored payload ends its invocation."""
        if text not in self._ends:
            self._ends[text] = told(text)
        return self._ends[text]
