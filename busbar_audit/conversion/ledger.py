"""The ledger that a conversion appends to, with the rules of every append: identity, equality, seal, one opening, tools.

It writes to a SQLite connection of a private copy, or of a store in memory; each append is a transaction of its own, as the
product has it.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from busbar_audit.conversion import refusal
from busbar_audit.conversion.events import Event
from busbar_audit.conversion.memory import Memory
from busbar_audit.conversion.rows import MARKER, LegacyRow, decode_row, join_chunks
from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import OPENED, opening_of
from busbar_audit.transcript.projection import is_terminal

MOST_ROWS, MOST_WEIGHT = 256, 4 << 20
_INSERT = "INSERT INTO runtime_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
# By way of a table of SQLite's own, which goes to a file where it grows: the events of a long session are many.
_RESEQUENCE = """CREATE TEMP TABLE conversion_order AS SELECT row_number() OVER
(ORDER BY coalesce(b.committed_at, e.committed_at), e.invocation_id, o.ordinal) AS place,
o.event_id AS event_id FROM runtime_session_event_ordinals AS o
JOIN runtime_events AS e ON e.event_id = o.event_id
LEFT JOIN runtime_events AS b ON b.invocation_id = e.invocation_id AND b.event_kind = 'invocation_opened'
WHERE o.session_id = ?"""


@dataclass(frozen=True)
class Owned:
    """Which turns and runs of a session are somebody's already.

    turns : those that no conversion touches: an ending is there, or the run is not a converted one. runs : all that began.
    """

    turns: frozenset[str]
    runs: frozenset[str]


@dataclass(frozen=True)
class PageOfRows:
    """One page of legacy rows. last : sequence of its last row. high : the highest of the session as it was read."""

    rows: list[LegacyRow]
    last: int | None
    high: int | None


class Ledger:
    """One store's ledger and legacy rows.

    Parameters
    ----------
    connection : of a private copy that nobody else writes to; it is set to one transaction a statement.
    memory : of what was decoded of the same session before.
    """

    def __init__(self, connection: sqlite3.Connection, memory: Memory | None = None) -> None:
        connection.isolation_level = None
        self._con = connection
        self.memory = memory
        # What the last append told of its invocation and session, so that the next one need not ask: place, ending, numbers.
        self._last: tuple[tuple[str, str, str, str], bool, int, int] | None = None

    def header(self, session: str) -> dict[str, Any]:
        """The header of a session as stored.

        Raises
        ------
        LookupError : there is no such session.
        """
        row = self._con.execute("SELECT payload_json FROM session_metadata WHERE session_id = ?", (session,)).fetchone()
        if row is None:
            raise LookupError(f"no session {session}")
        found: dict[str, Any] = js.parse(row[0])
        return found

    def mark(self, session: str, now: int) -> None:
        """Say in the header that the session's transcript is in the ledger."""
        header = {**self.header(session), "transcriptLedgerVersion": 1}
        self._con.execute(
            "UPDATE session_metadata SET payload_json = ?, metadata_version = metadata_version + 1, committed_at = ? "
            "WHERE session_id = ?",
            (js.stringify(header), now, session),
        )

    def page(self, session: str, after: int | None) -> PageOfRows:
        """Rows after a sequence: at most 256 and 4 MiB, the first one always.

        Raises
        ------
        Refusal : one of them cannot be read, and so none of the page is.
        """
        (high,) = self._con.execute(
            "SELECT max(sequence) FROM session_messages WHERE session_id = ?", (session,)
        ).fetchone()
        rows: list[LegacyRow] = []
        weight = 0
        for sequence, text in self._con.execute(
            "SELECT sequence, record_json FROM session_messages WHERE session_id = ? AND sequence > ? "
            "ORDER BY sequence LIMIT ?",
            (session, -1 if after is None else after, MOST_ROWS),
        ):
            row = self._row(session, sequence, text)
            if rows and weight + row.weight > MOST_WEIGHT:
                break
            rows.append(row)
            weight += row.weight
        return PageOfRows(rows, rows[-1].sequence if rows else None, high)

    def _row(self, session: str, sequence: int, text: str) -> LegacyRow:
        if "$maka" not in text or not _is_marker(text):
            return self._decoded(session, sequence, text, chunked=False)
        place = (session, sequence)
        told = self._con.execute(
            "SELECT record_bytes, sha256 FROM session_message_payloads WHERE session_id = ? AND sequence = ?", place
        ).fetchone()
        parts = self._con.execute(
            "SELECT chunk_index, data, sha256 FROM session_message_chunks WHERE session_id = ? AND sequence = ? "
            "ORDER BY chunk_index",
            place,
        ).fetchall()
        return self._decoded(session, sequence, join_chunks(session, sequence, told, parts), chunked=True)

    def _decoded(self, session: str, sequence: int, text: str, *, chunked: bool) -> LegacyRow:
        if self.memory is None:
            return decode_row(session, sequence, text, chunked=chunked)
        return self.memory.row(sequence, text, lambda: decode_row(session, sequence, text, chunked=chunked))

    def owned(self, session: str, derived: Any) -> Owned:
        """What is somebody's, over all inline invocations.

        Parameters
        ----------
        derived : the run that a turn's conversion has, as a function of session and turn.
        """
        turns, runs = set(), set()
        for invocation, run, turn in self._inline(session):
            runs.add(run)
            if run != derived(session, turn) or self._ended(invocation):
                turns.add(turn)
        return Owned(frozenset(turns), frozenset(runs))

    def _inline(self, session: str) -> Iterator[tuple[str, str, str]]:
        seen = set()
        for invocation, run, turn, text in self._con.execute(
            "SELECT invocation_id, run_id, turn_id, payload_json FROM runtime_events WHERE session_id = ? AND event_kind = ?",
            (session, OPENED),
        ).fetchall():
            seen.add(invocation)
            if _inline(js.parse(text).get("content")):
                yield invocation, run, turn
        for invocation, run, turn, text in self._con.execute(
            "SELECT invocation_id, run_id, turn_id, opening_json FROM runtime_legacy_invocation_openings WHERE session_id = ?",
            (session,),
        ).fetchall():
            if invocation not in seen and _inline(js.parse(text)):
                yield invocation, run, turn

    def _ended(self, invocation: str) -> bool:
        rows = self._con.execute("SELECT payload_json FROM runtime_events WHERE invocation_id = ?", (invocation,))
        return any(self._ends(text) for (text,) in rows)

    def _ends(self, text: str) -> bool:
        return _terminal(text) if self.memory is None else self.memory.ends(text, _terminal)

    def stored(self, session: str, run: str) -> tuple[Counter[str], bool]:
        """How many events of a run were made from each row, and whether the run has its opening."""
        counts: Counter[str] = Counter()
        opened = False
        for kind, text in self._con.execute(
            "SELECT event_kind, payload_json FROM runtime_events WHERE session_id = ? AND run_id = ?", (session, run)
        ):
            opened |= kind == OPENED
            made_from = (js.parse(text).get("refs") or {}).get("storedMessageId")
            if made_from is not None:
                counts[made_from] += 1
        return counts, opened

    def events(self, session: str, run: str) -> Iterator[dict[str, Any]]:
        """Events of a run, decoded, in order."""
        for (text,) in self._con.execute(
            "SELECT payload_json FROM runtime_events WHERE session_id = ? AND run_id = ? ORDER BY event_seq",
            (session, run),
        ).fetchall():
            yield js.parse(text)

    def append(self, event: Event) -> bool:
        """Append an event, in a transaction of its own; whether anything was written.

        Raises
        ------
        Refusal : the ledger does not take it; nothing was written.
        """
        if not event.readable:
            raise refusal.invalid_event(event.event_id)
        there = self._con.execute(
            "SELECT payload_json FROM runtime_events WHERE event_id = ?", (event.event_id,)
        ).fetchone()
        if there is not None:
            if there[0] == event.text or js.same(js.parse(there[0]), js.parse(event.text)):
                return False
            raise refusal.identity_conflict(event.event_id)
        place = (event.session_id, event.invocation_id, event.run_id, event.turn_id)
        if self._last is None or self._last[0] != place:
            self._fits(event)
            self._last = (place, self._sealed(event), *self._numbers(event))
        _, sealed, seq, ordinal = self._last
        if sealed:
            raise refusal.sealed(event.run_id, event.event_id)
        self._tools(event)
        self._con.execute("BEGIN IMMEDIATE")
        try:
            self._con.execute(_INSERT, (event.event_id, *place, seq, event.kind, event.text, event.committed_at))
            self._con.execute(
                "INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)",
                (event.session_id, ordinal, event.event_id),
            )
        except sqlite3.IntegrityError:
            self._con.execute("ROLLBACK")
            raise refusal.opened_twice(event.event_id) from None
        except BaseException:
            self._con.execute("ROLLBACK")
            raise
        self._con.execute("COMMIT")
        self._last = (place, event.ends, seq + 1, ordinal + 1)
        return True

    def _numbers(self, event: Event) -> tuple[int, int]:
        """The next number in the invocation, and the next place in the session."""
        row = self._con.execute(
            "SELECT (SELECT coalesce(max(event_seq), 0) + 1 FROM runtime_events WHERE invocation_id = ?), "
            "(SELECT coalesce(max(ordinal), 0) + 1 FROM runtime_session_event_ordinals WHERE session_id = ?)",
            (event.invocation_id, event.session_id),
        ).fetchone()
        return int(row[0]), int(row[1])

    def _fits(self, event: Event) -> None:
        others = self._con.execute(
            "SELECT DISTINCT session_id, run_id, turn_id FROM runtime_events WHERE invocation_id = ?",
            (event.invocation_id,),
        ).fetchall()
        if any(other != (event.session_id, event.run_id, event.turn_id) for other in others):
            raise refusal.invocation_conflict(event.invocation_id, event.event_id)
        others = self._con.execute(
            "SELECT DISTINCT invocation_id, turn_id FROM runtime_events WHERE session_id = ? AND run_id = ?",
            (event.session_id, event.run_id),
        ).fetchall()
        if any(other != (event.invocation_id, event.turn_id) for other in others):
            raise refusal.run_conflict(event.run_id, event.event_id)

    def _sealed(self, event: Event) -> bool:
        rows = self._con.execute(
            "SELECT payload_json FROM runtime_events WHERE session_id = ? AND run_id = ?",
            (event.session_id, event.run_id),
        )
        return any(self._ends(text) for (text,) in rows)

    def _tools(self, event: Event) -> None:
        content = event.payload.get("content") or {}
        kind, used = content.get("kind"), content.get("id")
        if kind not in ("function_call", "function_response"):
            return
        calls = responses = 0
        for stored_kind, text in self._con.execute(
            "SELECT event_kind, payload_json FROM runtime_events WHERE invocation_id = ? "
            "AND event_kind IN ('function_call', 'function_response') AND instr(payload_json, ?) > 0",
            (event.invocation_id, js.stringify(used)),
        ):
            if js.parse(text)["content"].get("id") == used:
                calls += stored_kind == "function_call"
                responses += stored_kind == "function_response"
        if kind == "function_call" and calls:
            raise refusal.tool_rejected("duplicate_call", event.event_id)
        if kind == "function_response" and not calls:
            raise refusal.tool_rejected("orphan_response", event.event_id)
        if kind == "function_response" and responses:
            raise refusal.tool_rejected("duplicate_response", event.event_id)

    def resequence(self, session: str) -> None:
        """Number all events of a session anew, by when their invocation was opened, in one transaction."""
        self._last = None
        self._con.execute("DROP TABLE IF EXISTS temp.conversion_order")
        self._con.execute(_RESEQUENCE, (session,))
        self._con.execute("BEGIN IMMEDIATE")
        try:
            self._con.execute("DELETE FROM runtime_session_event_ordinals WHERE session_id = ?", (session,))
            self._con.execute(
                "INSERT INTO runtime_session_event_ordinals SELECT ?, place, event_id FROM temp.conversion_order",
                (session,),
            )
        except BaseException:
            self._con.execute("ROLLBACK")
            raise
        self._con.execute("COMMIT")
        self._con.execute("DROP TABLE temp.conversion_order")


def _terminal(text: str) -> bool:
    return is_terminal(js.parse(text))


def _is_marker(text: str) -> bool:
    try:
        return bool(js.parse(text) == MARKER)
    except js.NotJson:
        return False


def _inline(content: Any) -> bool:
    told = opening_of(content)
    return "parentRunId" not in told["lineage"] or (told["source"] != "fresh" and "agentId" not in told["lineage"])
