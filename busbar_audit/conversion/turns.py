"""Rows to turns, and a turn to its events (maka sheet 4.2, 4.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.ending import ending_body
from busbar_audit.conversion.events import Event, envelope
from busbar_audit.conversion.payloads import Number, Turn, bodies, opening_body
from busbar_audit.conversion.refusal import invalid_event
from busbar_audit.conversion.rows import LegacyRow
from busbar_audit.transcript.event_shape import reference_problems


@dataclass
class LegacyTurn:
    """Rows of one turn, in the order of their sequence."""

    turn_id: str
    rows: list[LegacyRow] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The sequence of its first kept row: it dates the opening."""
        return self.rows[0].sequence

    @property
    def last(self) -> int:
        """The sequence of its last kept row."""
        return self.rows[-1].sequence

    @property
    def has_prompt(self) -> bool:
        """Whether a user row is among them; without one the turn is not converted (C0 to C4)."""
        return any(one.row["type"] == "user" for one in self.rows)

    @property
    def has_answer(self) -> bool:
        """Whether there is a text of the assistant."""
        return any(one.row["type"] == "assistant" and one.row["text"] for one in self.rows)


def grouped(rows: Iterable[LegacyRow], before: LegacyTurn | None = None) -> list[LegacyTurn]:
    """Turns in the order in which they first appear.

    Rows without a turn are nobody's; user rows that a running turn took (steering) are that run's.

    Parameters
    ----------
    before : the turn carried over from the page before; it comes first.
    """
    found = {before.turn_id: LegacyTurn(before.turn_id, list(before.rows))} if before else {}
    for one in rows:
        turn = one.turn
        if turn is None or (one.row["type"] == "user" and one.row.get("steeringEventId")):
            continue
        found.setdefault(turn, LegacyTurn(turn)).rows.append(one)
    return list(found.values())


def opened_at(header: Mapping[str, Any], first: int, high: int) -> Number:
    """When a converted run is said to have been opened: before the session, in the order of first rows (C4).

    Parameters
    ----------
    first : sequence of the turn's first kept row. high : the session's highest sequence as the page was read.
    """
    created: Number = header.get("createdAt") or 0
    return max(0, created - 1 - (high - first))


def derive(session: str, header: Mapping[str, Any], turn: LegacyTurn, at: Number, *, conversation: bool) -> list[Event]:
    """All events of a turn: opening, rows in order of time, ending.

    Parameters
    ----------
    at : when the run is opened. conversation : text of user and assistant alone.

    Raises
    ------
    Refusal : a row gives an event that the product does not read.
    """
    run = identity.run_id(session, turn.turn_id)
    place = (session, run, run, turn.turn_id)
    events = [envelope(identity.opening_id(run), *place, opening_body(header, at))]
    by_time = sorted(turn.rows, key=lambda one: one.row["ts"])
    for sequence, body in _bodies(turn, by_time, at, conversation):
        event = envelope(identity.event_id(run, len(events)), *place, body)
        if "inlineReferences" in (body.get("content") or {}) and reference_problems(body["content"]):
            raise invalid_event(event.event_id)
        events.append(replace(event, sequence=sequence))
    return events


def _bodies(
    turn: LegacyTurn, by_time: Sequence[LegacyRow], at: Number, conversation: bool
) -> Iterator[tuple[int | None, Any]]:
    told = Turn(turn.rows)
    for one in by_time:
        for body in bodies(one.row, told, at, conversation=conversation):
            yield one.sequence, body
    state = next((one for one in reversed(by_time) if one.row["type"] == "turn_state"), None)
    yield (state.sequence if state else None), ending_body(turn.rows, by_time, at)
