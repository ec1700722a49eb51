"""Ways to write down a single fault of a synthetic maka workspace: by SQL, or by a change of one payload or record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from busbar_audit.transcript import js

Change = Callable[[dict[str, Any]], object]
NEWER = (16, 18)
WRITTEN_TWICE = (11, 12)


@dataclass(frozen=True)
class MakaFault:
    """A fault that can be planted.

    codes : short codes of exactly the findings it adds (``B01``). place : what the finding of the first one names; the
        session stands for ``{s}``, the converted run of its first turn for ``{run}``. large : needs chunked records.
        population : where it is planted: in a native session (s), a converted one (c), one of `maka_imports` (f, l).
        rows : first and last number that its own finding names, where the fault says so. cause : part of what it says.
    apply : given the open store and the session.
    """

    name: str
    codes: tuple[str, ...]
    place: str
    apply: Callable[[sqlite3.Connection, str], object]
    generations: Collection[int] = NEWER
    population: str = "s"
    large: bool = False
    rows: tuple[int, int] | None = None
    cause: str = ""


def edit(con: sqlite3.Connection, event_id: str, change: Change) -> None:
    """Change the payload of an event and store it in canonical form again."""
    (text,) = con.execute("SELECT payload_json FROM runtime_events WHERE event_id = ?", (event_id,)).fetchone()
    event = json.loads(text)
    change(event)
    con.execute(
        "UPDATE runtime_events SET payload_json = ? WHERE event_id = ?", (js.stringify(event, ordered=True), event_id)
    )


def edit_row(con: sqlite3.Connection, session: str, message_id: str, change: Change) -> None:
    """Change the record of a legacy row."""
    place = (session, message_id)
    (text,) = con.execute(
        "SELECT record_json FROM session_messages WHERE session_id = ? AND message_id = ?", place
    ).fetchone()
    record = json.loads(text)
    change(record)
    con.execute(
        "UPDATE session_messages SET record_json = ? WHERE session_id = ? AND message_id = ?",
        (js.stringify(record), *place),
    )


def remove(con: sqlite3.Connection, event_id: str, *, place: bool = True) -> None:
    """Take an event out of the ledger, and its place in the session with it."""
    con.execute("DELETE FROM runtime_events WHERE event_id = ?", (event_id,))
    if place:
        con.execute("DELETE FROM runtime_session_event_ordinals WHERE event_id = ?", (event_id,))


def append(con: sqlite3.Connection, after: str, event_id: str, change: Change, kind: str | None = None) -> None:
    """Append a changed copy of an event to its invocation, at the end of the session."""
    row = con.execute("SELECT * FROM runtime_events WHERE event_id = ?", (after,)).fetchone()
    _, session, invocation, run, turn, _, label, text, at = row
    event = json.loads(text) | {"id": event_id}
    change(event)
    (seq,) = con.execute(
        "SELECT max(event_seq) + 1 FROM runtime_events WHERE invocation_id = ?", (invocation,)
    ).fetchone()
    con.execute(
        "INSERT INTO runtime_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (event_id, session, invocation, run, turn, seq, kind or label, js.stringify(event, ordered=True), at),
    )
    con.execute(
        """INSERT INTO runtime_session_event_ordinals
        SELECT session_id, max(ordinal) + 1, ? FROM runtime_session_event_ordinals WHERE session_id = ?""",
        (event_id, session),
    )


def on_event(event_id: str, change: Change) -> Callable[[sqlite3.Connection, str], None]:
    """Change one event; ``{s}`` in its id stands for the session."""
    return lambda con, s: edit(con, event_id.format(s=s), change)


def on_row(message_id: str, change: Change) -> Callable[[sqlite3.Connection, str], None]:
    """Change one row; ``{s}`` in its id stands for the session."""
    return lambda con, s: edit_row(con, s, message_id.format(s=s), change)


def by_sql(*statements: str) -> Callable[[sqlite3.Connection, str], None]:
    """Statements with the session bound as :s."""

    def apply(con: sqlite3.Connection, session: str) -> None:
        before = con.total_changes
        for statement in statements:
            con.execute(statement, {"s": session})
        if con.total_changes == before:
            raise LookupError("the store has no row this fault can change")

    return apply


def to(**members: Any) -> Change:
    """Set members."""
    return lambda event: event.update(members)


def content(**members: Any) -> Change:
    """Set members of the content."""
    return lambda event: event["content"].update(members)


def actions(**members: Any) -> Change:
    """Set actions."""
    return lambda event: event.setdefault("actions", {}).update(members)


def without(key: str) -> Change:
    """Leave a member out."""
    return lambda event: event.pop(key)
