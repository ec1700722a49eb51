"""The conversion of one session: rows to events, page by page, and the mark last (maka sheet 4.6).

It works on a private copy, and changes nothing in it but the ledger and the session's version.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.appending import Ledger, Watch, read_header
from busbar_audit.conversion.events import Event
from busbar_audit.conversion.pages import Bounds, Memo, Page, read_page
from busbar_audit.conversion.payloads import Number
from busbar_audit.conversion.refusal import Refusal, being_prepared
from busbar_audit.conversion.turns import LegacyTurn, derive, grouped, opened_at
from busbar_audit.transcript import js
from busbar_audit.transcript.projection import is_terminal


@dataclass(frozen=True)
class LeftOut:
    """Rows of a turn that are not converted.

    why : `unprompted` (no user row among them) or `cut` (the turn was converted at an earlier page, without them).
    first, last, rows : by sequence.
    """

    why: str
    turn: str
    first: int
    last: int
    rows: int


@dataclass
class Conversion:
    """What one attempt did.

    error : what stopped it; None when the session has its version. emitted : ids of the events that the ledger took or had, in
    order. appended : how many of them were new. pages : after, rows, last sequence and high water of each page read.
    left_out : rows that it will never convert. largest : the turn of most rows, with their number and weight.
    """

    session: str
    error: Refusal | None = None
    emitted: list[str] = field(default_factory=list)
    appended: int = 0
    pages: list[tuple[int | None, int, int | None, int | None]] = field(default_factory=list)
    resequenced: bool = False
    left_out: list[LeftOut] = field(default_factory=list)
    largest: tuple[str, int, int] = ("", 0, 0)


# Rows that would have been an event of their turn.
_CONVERTED = ("assistant", "tool_call", "tool_result", "permission_decision", "token_usage")


def convert(
    con: sqlite3.Connection,
    session: str,
    *,
    bounds: Bounds | None = None,
    watch: Watch | None = None,
    importing: bool = False,
    repaired: bool = False,
    memo: Memo | None = None,
) -> Conversion:
    """Convert a session as C4 does: whole turns of each page but the last one, which waits for the next page.

    Parameters
    ----------
    con : of a private copy, without transactions of its own (``isolation_level=None``).
    watch : called with what comes next (append, resequence, patch) and how many came before; what it raises passes.
    importing : the caller is the import of another program's session, which alone may convert version 0.
    repaired : as C5 does, which groups a turn over the whole session.
    memo : of other attempts on the same session; it holds the whole of it.

    Returns
    -------
    what was done, with the product's error if there was one. A session of version 1 is left as it is.
    """
    done = Conversion(session)
    header = read_header(con, session)
    version = header.get("transcriptLedgerVersion")
    if version == 1:
        return done
    try:
        if version == 0 and not importing:
            raise being_prepared()
        (Repaired if repaired else Scan)(con, session, header, bounds or Bounds(), watch, done, memo).run()
    except Refusal as stopped:
        done.error = stopped
    return done


class Scan:
    """One attempt of C4."""

    def __init__(
        self,
        con: sqlite3.Connection,
        session: str,
        header: Mapping[str, Any],
        bounds: Bounds,
        watch: Watch | None,
        done: Conversion,
        memo: Memo | None = None,
    ) -> None:
        self._con, self._session, self._header = con, session, header
        self._bounds, self._done, self._memo = bounds, done, memo
        self._ledger = Ledger(con, session, watch)
        self._started, self._owned = ownership(con, session)
        self._seen: set[str] = set()

    def run(self) -> None:
        """Convert what is to be converted; then the order, and the version last."""
        for turn, high in self._turns():
            self._convert(turn, high)
        self._ledger.resequence()
        self._done.resequenced = True
        self._ledger.patch()

    def _turns(self) -> Iterator[tuple[LegacyTurn, int | None]]:
        """Turns as they are converted, each with the session's highest sequence as its page was read."""
        carried: LegacyTurn | None = None
        for page in self._pages():
            turns = grouped(page.rows, carried)
            carried = turns.pop() if turns and page.rows else None
            for turn in turns:
                yield turn, page.high

    def _kept(self, turn: LegacyTurn) -> bool:
        return turn.has_prompt

    def _pages(self) -> Iterator[Page]:
        after: int | None = None
        while True:
            page = read_page(self._con, self._session, after, self._bounds, self._memo)
            after = page.rows[-1].sequence if page.rows else None
            self._done.pages.append((page.after, len(page.rows), after, page.high))
            yield page
            if after is None:
                return

    def _convert(self, turn: LegacyTurn, high: int | None) -> None:
        if turn.turn_id in self._owned:
            return
        early = turn.turn_id in self._seen
        self._seen.add(turn.turn_id)
        weight = sum(row.weight for row in turn.rows)
        if len(turn.rows) > self._done.largest[1]:
            self._done.largest = (turn.turn_id, len(turn.rows), weight)
        if early or not self._kept(turn):
            told = LeftOut("cut" if early else "unprompted", turn.turn_id, turn.first, turn.last, len(turn.rows))
            if early or any(row.row["type"] in _CONVERTED for row in turn.rows):
                self._done.left_out.append(told)
        if not self._kept(turn):
            return
        at = opened_at(self._header, turn.first, turn.last if high is None else high)
        events = self._derived(turn, at)
        run = identity.run_id(self._session, turn.turn_id)
        for event in missing(events, self._ledger.events(run) if run in self._started else None):
            try:
                self._done.appended += self._ledger.append(event)
            except Refusal as refused:
                refused.sequence = turn.first if event.sequence is None else event.sequence
                raise
            self._done.emitted.append(event.event_id)

    def _derived(self, turn: LegacyTurn, at: Number) -> Sequence[Event]:
        key = (turn.turn_id, at, *(id(row) for row in turn.rows))
        known = self._memo.turns.get(key) if self._memo is not None else None
        if known is None:
            talk = "externalOrigin" in self._header
            known = derive(self._session, self._header, turn, at, conversation=talk)
            if self._memo is not None:
                self._memo.turns[key] = known
        return known


class Repaired(Scan):
    """One attempt of C5: a turn is converted at its last row, wherever the pages end; an answer alone makes a turn."""

    def _turns(self) -> Iterator[tuple[LegacyTurn, int | None]]:
        last: dict[str, int] = {}
        high: int | None = None
        for page in self._pages():
            high = page.high if high is None else high
            last.update((turn.turn_id, turn.last) for turn in grouped(page.rows))
        begun: dict[str, LegacyTurn] = {}
        for page in self._pages():
            ended = []
            for turn in grouped(page.rows):
                whole = begun.setdefault(turn.turn_id, LegacyTurn(turn.turn_id))
                # Rows that came in after the first pass are of the next attempt.
                whole.rows.extend(row for row in turn.rows if row.sequence <= last.get(turn.turn_id, -1))
                if whole.rows and whole.last == last[turn.turn_id]:
                    ended.append(begun.pop(turn.turn_id))
            yield from ((turn, high) for turn in sorted(ended, key=lambda one: one.last))

    def _kept(self, turn: LegacyTurn) -> bool:
        return turn.has_prompt or turn.has_answer


def missing(events: Sequence[Event], stored: Iterator[Mapping[str, Any]] | None) -> Iterator[Event]:
    """Events of a turn that are still to be appended.

    Parameters
    ----------
    events : all of the turn, the opening first. stored : those of a run that was begun; None for one that was not.
    """
    if stored is None:
        yield from events
        return
    there: Counter[str] = Counter()
    for one in stored:
        told = (one.get("refs") or {}).get("storedMessageId")
        if told is not None:
            there[told] += 1
    for event in events[1:]:
        if event.stored_id is not None and there[event.stored_id] > 0:
            there[event.stored_id] -= 1
        else:
            yield event


def ownership(con: sqlite3.Connection, session: str) -> tuple[set[str], set[str]]:
    """Runs that were begun, and turns that nobody converts any more: ended ones, and those of a native run."""
    started, owned = set(), set()
    for invocation, run, turn, text in con.execute(_INVENTORY, [session, session]):
        content = js.parse(text)
        if not _inline(content.get("content") or content):
            continue
        started.add(run)
        if run != identity.run_id(session, turn) or _ended(con, invocation):
            owned.add(turn)
    return started, owned


# A shelved opening stands for an invocation only as long as no event opens it.
_INVENTORY = """
SELECT invocation_id, run_id, turn_id, payload_json FROM runtime_events
WHERE session_id = ? AND event_kind = 'invocation_opened'
UNION ALL
SELECT invocation_id, run_id, turn_id, opening_json FROM runtime_legacy_invocation_openings l
WHERE session_id = ? AND NOT EXISTS (
  SELECT 1 FROM runtime_events e WHERE e.invocation_id = l.invocation_id AND e.event_kind = 'invocation_opened')
"""


def _inline(opening: Mapping[str, Any]) -> bool:
    lineage = opening.get("lineage") or {}
    if "parentRunId" not in lineage:
        return True
    return (opening.get("source") or {}).get("kind") != "fresh" and "agentId" not in lineage


def _ended(con: sqlite3.Connection, invocation: str) -> bool:
    # From the end, where the ending is.
    found = con.execute(
        "SELECT payload_json FROM runtime_events WHERE invocation_id = ? ORDER BY event_seq DESC", [invocation]
    )
    return any(is_terminal(js.parse(text)) for (text,) in found)
