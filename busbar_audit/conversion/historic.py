"""Conversions of earlier builds, so that what they left can be made again: C1, C2 and C3 (maka sheet 0.3, 4).

All of them group a turn over the whole session at once. What is not told of them is as in C4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.converter import MARK, Conversion
from busbar_audit.conversion.events import Event, envelope
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.payloads import Number
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.conversion.rows import LegacyRow
from busbar_audit.conversion.turns import LegacyTurn, derive, grouped

Clock = Callable[[], int]
Ids = Callable[[], str]
Before = Callable[[Conversion, str], None]


def all_rows(ledger: Ledger, session: str) -> Iterator[LegacyRow]:
    """All rows of a session."""
    after: int | None = None
    while True:
        page = ledger.page(session, after)
        yield from page.rows
        if not page.rows:
            return
        after = page.last


def convert_historic(
    ledger: Ledger, session: str, generation: str, *, clock: Clock, ids: Ids, before: Before | None = None
) -> Conversion:
    """Convert a session as C1, C2 or C3 did.

    Parameters
    ----------
    generation : C1: random ids, text of the conversation alone, and a turn with an opening is never looked at again.
        C2: derived ids under a live clock, so that a retry meets its own events as strangers.
        C3: derived ids, fixed clock; a lone opening is adopted, any other prefix is sealed as abandoned.
    clock : milliseconds now. ids : a new random id. before : as for `converter.convert`.
    """
    done, stop = Conversion(), before or (lambda _done, _what: None)
    try:
        for events in _turns(ledger, session, generation, clock, ids):
            for event in events:
                stop(done, "append")
                done.appends += ledger.append(event)
                if done.emitted is not None:
                    done.emitted.append(event.event_id)
        stop(done, MARK)
        ledger.mark(session, clock())
        done.complete = True
    except Refusal as stopped:
        done.refusal = stopped
    return done


def _turns(ledger: Ledger, session: str, generation: str, clock: Clock, ids: Ids) -> Iterator[list[Event]]:
    header = ledger.header(session)
    owned = ledger.owned(session, identity.run_id)
    turns = [turn for turn in grouped(all_rows(ledger, session)) if turn.has_prompt]
    begun = max(0, (header.get("createdAt") or 0) - len(turns))
    for at, turn in enumerate(turns):
        run = identity.run_id(session, turn.turn_id)
        if turn.turn_id in owned.turns or (generation == "C1" and run in owned.runs):
            continue
        events = _derived(session, header, turn, begun + at, generation, clock)
        if generation == "C1":
            events = [_renamed(event, ids()) for event in events]
        if generation == "C3" and run in owned.runs:
            stored = [one["id"] for one in ledger.events(session, run)]
            events = events[1:] if len(stored) == 1 else [_abandoned(session, turn, run, clock())]
        yield events


def _derived(
    session: str, header: dict[str, Any], turn: LegacyTurn, opened: Number, generation: str, clock: Clock
) -> list[Event]:
    talk = generation == "C1" or "externalOrigin" in header
    events = derive(session, header, turn, opened, conversation=talk)
    if generation == "C3":
        return events
    now = clock()
    return [replace(event, payload=_stamped(event.payload, now)) for event in events]


def _stamped(payload: Any, now: int) -> Any:
    """An event with the moment at which it was made, where it says so."""
    delta = (payload.get("actions") or {}).get("stateDelta") or {}
    if "makaRuntimeRecovery" not in delta:
        return payload
    told = {**delta["makaRuntimeRecovery"], "generatedAt": now}
    return {**payload, "actions": {**payload["actions"], "stateDelta": {**delta, "makaRuntimeRecovery": told}}}


def _renamed(event: Event, name: str) -> Event:
    return replace(event, event_id=name, payload={**event.payload, "id": name})


def _abandoned(session: str, turn: LegacyTurn, run: str, now: int) -> Event:
    body = {
        "role": "system",
        "author": "system",
        "status": "failed",
        "ts": now,
        "actions": {
            "endInvocation": True,
            "stateDelta": {"failureClass": "missing_terminal_event", "errorClass": "missing_terminal_event"},
        },
    }
    return envelope(f"{run}-abandoned", session, run, run, turn.turn_id, body)
