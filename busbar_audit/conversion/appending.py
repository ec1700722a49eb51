"""Append to the ledger by the product's own rules: identity, equality of duplicates, seal, tools, one opening.

Source: maka sheet 2.4, 2.5 and 16. One event is one transaction, as in the product: what was appended stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.conversion import refusal
from busbar_audit.conversion.events import Event
from busbar_audit.transcript import js
from busbar_audit.transcript.projection import is_terminal

# Called with what comes next and how many events were taken so far; what it raises stops the conversion there, as a
# kill would. Inside: a transaction is open, and what it holds so far will not be durable.
Watch = Callable[[str, int], None]
APPEND, RESEQUENCE, PATCH = "append", "resequence", "patch"
INSIDE_APPEND, INSIDE_RESEQUENCE = "inside append", "inside resequence"


@contextmanager
def transaction(con: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; inside another one, a part of it."""
    if con.in_transaction:
        yield
        return
    con.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


@dataclass
class _Run:
    """What the rules need to know of the run at hand."""

    place: tuple[str, str, str]
    sealed: bool = False
    last: int = 0
    opened: bool = False
    ids: set[str] = field(default_factory=set)
    calls: dict[str, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)


class Ledger:
    """The ledger of one session, in a private copy.

    Parameters
    ----------
    con : without transactions of its own (``isolation_level=None``). session : its id.
    watch : called before each step, and inside its transaction.
    """

    def __init__(self, con: sqlite3.Connection, session: str, watch: Watch | None = None) -> None:
        self.con, self.session = con, session
        self.appended = self.taken = 0
        self._watch = watch or (lambda _what, _taken: None)
        self._run: _Run | None = None
        self._ordinal: int | None = None
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self._partials = "runtime_partial_snapshots" in tables

    def append(self, event: Event) -> bool:
        """Append an event durably; false if it is stored already, and equal.

        Raises
        ------
        Refusal : the rules of the ledger are against it; nothing was written.
        """
        self._watch(APPEND, self.taken)
        if event.invalid:
            raise refusal.invalid_event(event.event_id)
        with transaction(self.con):
            try:
                self._insert(event, self._known(event))
            except (refusal.Refusal, sqlite3.IntegrityError):
                # An event of this id comes before all other rules; asked only now, since few appends meet one.
                if not self._stored(event):
                    raise
                self.taken += 1
                return False
            self._watch(INSIDE_APPEND, self.taken)
        self._note(event)
        self.appended += 1
        self.taken += 1
        return True

    def _stored(self, event: Event) -> bool:
        """Whether the event is there already, and is the same."""
        found = self.con.execute("SELECT payload_json FROM runtime_events WHERE event_id = ?", [event.event_id])
        stored = found.fetchone()
        if stored is None:
            return False
        if not js.same(js.parse(stored[0]), js.parse(event.text)):
            raise refusal.identity_conflict(event.event_id) from None
        return True

    def events(self, run: str) -> Iterator[Mapping[str, Any]]:
        """Events of a run, in the order of the ledger."""
        for (text,) in self.con.execute(
            "SELECT payload_json FROM runtime_events WHERE session_id = ? AND run_id = ? ORDER BY event_seq",
            [self.session, run],
        ):
            yield js.parse(text)

    def _known(self, event: Event) -> _Run:
        run = self._run
        place = (event.invocation_id, event.run_id, event.turn_id)
        if run is None or run.place != place:
            run = self._load(event, place)
            self._run = run
        if event.event_id in run.ids:
            raise refusal.identity_conflict(event.event_id)
        if run.sealed:
            raise refusal.sealed(event.run_id, event.event_id)
        content = event.payload.get("content") or {}
        if content.get("kind") == "function_call":
            before = run.calls.get(content["id"])
            if before is not None:
                same = before == content["name"]
                raise refusal.tool_rejected("duplicate_call" if same else "identity_conflict", event.event_id)
        elif content.get("kind") == "function_response":
            if content["id"] not in run.calls:
                raise refusal.tool_rejected("orphan_response", event.event_id)
            if content["id"] in run.answered:
                raise refusal.tool_rejected("duplicate_response", event.event_id)
            if run.calls[content["id"]] != content["name"]:
                raise refusal.tool_rejected("identity_conflict", event.event_id)
        elif content.get("kind") == "invocation_opened" and run.opened:
            raise refusal.opened_twice(event.event_id)
        return run

    def _load(self, event: Event, place: tuple[str, str, str]) -> _Run:
        """Read what is stored of the run; its identity is checked against both columns, live chunks included."""
        invocation, run_id, turn = place
        kept = ("runtime_events", "runtime_partial_snapshots")[: 1 + self._partials]
        for table in kept:
            other = self.con.execute(_OTHER_INVOCATION[table], [invocation, self.session, run_id, turn]).fetchone()
            if other is not None:
                raise refusal.invocation_conflict(invocation, event.event_id)
            other = self.con.execute(_OTHER_RUN[table], [self.session, run_id, invocation, turn]).fetchone()
            if other is not None:
                raise refusal.run_conflict(run_id, event.event_id)
        run = _Run(place)
        for name, sequence, text in self.con.execute(
            "SELECT event_id, event_seq, payload_json FROM runtime_events WHERE invocation_id = ? ORDER BY event_seq",
            [invocation],
        ):
            _add(run, name, js.parse(text), sequence)
        return run

    def _insert(self, event: Event, run: _Run) -> None:
        self.con.execute(
            "INSERT INTO runtime_events (event_id, session_id, invocation_id, run_id, turn_id, event_seq, event_kind,"
            " payload_json, committed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                event.event_id,
                event.session_id,
                event.invocation_id,
                event.run_id,
                event.turn_id,
                run.last + 1,
                event.kind,
                event.text,
                event.committed_at,
            ),
        )
        self.con.execute(
            "INSERT INTO runtime_session_event_ordinals (session_id, ordinal, event_id) VALUES (?, ?, ?)",
            (self.session, self._next(), event.event_id),
        )

    def _next(self) -> int:
        if self._ordinal is None:
            asked = "SELECT max(ordinal) FROM runtime_session_event_ordinals WHERE session_id = ?"
            self._ordinal = self.con.execute(asked, [self.session]).fetchone()[0] or 0
        return self._ordinal + 1

    def _note(self, event: Event) -> None:
        self._ordinal = self._next()
        if self._run is not None:
            _add(self._run, event.event_id, event.payload, self._run.last + 1)

    def resequence(self) -> None:
        """Number the session's events anew by the time of their opening, in one transaction (sheet 2.5)."""
        self._watch(RESEQUENCE, self.taken)
        self._ordinal = None
        with transaction(self.con):
            self.con.execute("CREATE TEMP TABLE IF NOT EXISTS resequenced (event_id TEXT PRIMARY KEY, ordinal INTEGER)")
            self.con.execute("DELETE FROM temp.resequenced")
            self.con.execute(_RESEQUENCED, [self.session])
            changed = self.con.execute(_MOVED, [self.session]).fetchone()
            if changed[0]:
                # First out of the way, so that no number is taken twice on the way.
                self.con.execute("DELETE FROM runtime_session_event_ordinals WHERE session_id = ?", [self.session])
                self.con.execute(
                    "INSERT INTO runtime_session_event_ordinals (session_id, ordinal, event_id)"
                    " SELECT ?, ordinal, event_id FROM temp.resequenced ORDER BY ordinal",
                    [self.session],
                )
            self._watch(INSIDE_RESEQUENCE, self.taken)

    def patch(self) -> None:
        """Mark the session as converted: a transaction of its own, and the last one."""
        self._watch(PATCH, self.taken)
        with transaction(self.con):
            header = read_header(self.con, self.session)
            header["transcriptLedgerVersion"] = 1
            self.con.execute(
                "UPDATE session_metadata SET payload_json = ? WHERE session_id = ?",
                [js.stringify(header), self.session],
            )


def read_header(con: sqlite3.Connection, session: str) -> dict[str, Any]:
    """The header of a session."""
    (text,) = con.execute("SELECT payload_json FROM session_metadata WHERE session_id = ?", [session]).fetchone()
    header: dict[str, Any] = js.parse(text)
    return header


_RESEQUENCED = """INSERT INTO temp.resequenced
SELECT o.event_id, row_number() OVER (ORDER BY coalesce(opening.committed_at, e.committed_at), e.invocation_id, o.ordinal)
FROM runtime_session_event_ordinals o
JOIN runtime_events e ON e.event_id = o.event_id
LEFT JOIN runtime_events opening
  ON opening.invocation_id = e.invocation_id AND opening.event_kind = 'invocation_opened'
WHERE o.session_id = ?"""
_MOVED = """SELECT count(*) FROM runtime_session_event_ordinals o JOIN temp.resequenced n USING (event_id)
WHERE o.session_id = ? AND o.ordinal <> n.ordinal"""
_OTHER_INVOCATION = {
    table: f"SELECT 1 FROM {table} WHERE invocation_id = ? AND NOT (session_id = ? AND run_id = ? AND turn_id = ?) LIMIT 1"  # noqa: S608
    for table in ("runtime_events", "runtime_partial_snapshots")
}
_OTHER_RUN = {
    table: f"SELECT 1 FROM {table} WHERE session_id = ? AND run_id = ? AND NOT (invocation_id = ? AND turn_id = ?) LIMIT 1"  # noqa: S608
    for table in ("runtime_events", "runtime_partial_snapshots")
}


def _add(run: _Run, name: str, payload: Any, sequence: int) -> None:
    run.ids.add(name)
    run.last = sequence
    run.sealed = run.sealed or is_terminal(payload)
    content = payload.get("content") or {}
    kind = content.get("kind")
    if kind == "invocation_opened":
        run.opened = True
    elif kind == "function_call":
        run.calls.setdefault(content["id"], content["name"])
    elif kind == "function_response":
        run.answered.add(content["id"])
