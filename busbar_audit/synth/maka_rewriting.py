"""Converted turns written anew: their events changed as a list, with ids, numbers and places given out again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from busbar_audit.synth.maka import transcript_run
from busbar_audit.transcript import js

Event = dict[str, Any]
Changes = Callable[[list[Event]], list[Event]]


def rewrite(
    con: sqlite3.Connection,
    session: str,
    k: int,
    change: Changes,
    *,
    ids: Callable[[str, int, Event], str] | None = None,
    invocation: str | None = None,
) -> None:
    """Change the list of a converted turn's events; ids, numbers and places are given out again, without gaps.

    ids : the id of an event, given the run and its number, 0 for the opening. invocation : another than the run.
    """
    run = transcript_run(session, f"{session}-t{k}")
    named = ids or (lambda run, n, _: f"{run}-e{n}" if n else f"{run}-opened")
    stored = con.execute(
        "SELECT event_id, payload_json FROM runtime_events WHERE run_id = ? ORDER BY event_seq", (run,)
    )
    held = {event_id: json.loads(text) for event_id, text in stored}
    order = [
        event_id
        for (event_id,) in con.execute(
            "SELECT event_id FROM runtime_session_event_ordinals WHERE session_id = ? ORDER BY ordinal", (session,)
        )
    ]
    first = next(n for n, event_id in enumerate(order) if event_id in held)
    events = change(list(held.values()))
    con.execute("DELETE FROM runtime_events WHERE run_id = ?", (run,))
    con.execute("DELETE FROM runtime_session_event_ordinals WHERE session_id = ?", (session,))
    new = []
    for n, event in enumerate(events):
        told = event | {"id": named(run, n, event), "invocationId": invocation or run}
        new.append(told["id"])
        con.execute(
            "INSERT INTO runtime_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                told["id"],
                session,
                told["invocationId"],
                run,
                f"{session}-t{k}",
                n + 1,
                label(told),
                js.stringify(told, ordered=True),
                told["ts"],
            ),
        )
    kept = [event_id for event_id in order if event_id not in held]
    places = [*kept[:first], *new, *kept[first:]]
    con.executemany(
        "INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)",
        ((session, n, event_id) for n, event_id in enumerate(places, start=1)),
    )


def label(event: Event) -> str:
    """The coarse label of an event."""
    kind = (event.get("content") or {}).get("kind")
    return str(kind or event.get("status") or "runtime_fact")


def random_id(run: str, n: int, _: Event) -> str:
    """An id as the early converters gave them, plain here."""
    return f"random-{run[-8:]}-{n}"


def add_row(con: sqlite3.Connection, session: str, record: dict[str, Any]) -> None:
    """Append a row to a session."""
    con.execute(
        """INSERT INTO session_messages SELECT ?, max(sequence) + 1, ?, ?, ?, ?
        FROM session_messages WHERE session_id = ?""",
        (session, record["id"], record["type"], record["ts"], js.stringify(record), session),
    )
