"""Conversions of earlier builds, so that what they left can be made again: C1, C2 and C3 (maka sheet 0.3, 4).

All of them group a turn over the whole session at once. What is not told of them is as in C4.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.appending import Ledger, Watch, read_header
from busbar_audit.conversion.engine import Conversion, ownership
from busbar_audit.conversion.events import Event, envelope
from busbar_audit.conversion.pages import Bounds, read_page
from busbar_audit.conversion.payloads import Number
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.conversion.rows import LegacyRow
from busbar_audit.conversion.turns import LegacyTurn, derive, grouped

Clock = Callable[[], int]
Ids = Callable[[], str]


def all_rows(con: sqlite3.Connection, session: str) -> Iterator[LegacyRow]:
    """All rows of a session."""
    after: int | None = None
    while True:
        page = read_page(con, session, after, Bounds())
        yield from page.rows
        if not page.rows:
            return
        after = page.rows[-1].sequence


def convert_historic(
    con: sqlite3.Connection,
    session: str,
    generation: str,
    *,
    clock: Clock,
    ids: Ids,
    watch: Watch | None = None,
) -> Conversion:
    """Convert a session as C1, C2 or C3 did.

    Parameters
    ----------
    generation : C1: random ids, text of the conversation alone, and a turn with an opening is never looked at again.
        C2: derived ids under a live clock, so that a retry meets its own events as strangers.
        C3: derived ids, fixed clock; a lone opening is adopted, any other prefix is sealed as abandoned.
    clock : milliseconds now. ids : a new random id.
    """
    done = Conversion(session)
    header = read_header(con, session)
    if header.get("transcriptLedgerVersion") == 1:
        return done
    ledger = Ledger(con, session, watch)
    started, owned = ownership(con, session)

    def append(event: Event) -> None:
        done.appended += ledger.append(event)
        done.emitted.append(event.event_id)

    try:
        turns = [turn for turn in grouped(all_rows(con, session)) if turn.has_prompt]
        for at, turn in enumerate(turns):
            run = identity.run_id(session, turn.turn_id)
            if turn.turn_id in owned or (generation == "C1" and run in started):
                continue
            opened = max(0, (header.get("createdAt") or 0) - len(turns)) + at
            events = _derived(session, header, turn, opened, generation, clock)
            if generation == "C1":
                events = [_renamed(event, ids()) for event in events]
            if generation == "C3" and run in started:
                stored = [one["id"] for one in ledger.events(run)]
                if len(stored) == 1:
                    events = events[1:]
                elif stored != [event.event_id for event in events[: len(stored)]]:
                    events = [_abandoned(session, turn, run, clock())]
            for event in events:
                append(event)
        ledger.patch()
    except Refusal as stopped:
        done.error = stopped
    return done


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
    return envelope(identity.abandoned_id(run), session, run, run, turn.turn_id, body)
