"""One session's conversion, from its rows into the ledger: pages, turns, appends, resequence, version mark (sheet 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.events import Event
from busbar_audit.conversion.ledger import Ledger, Owned, PageOfRows
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.conversion.turns import LegacyTurn, derive, grouped, opened_at

# Where a rehearsal stops a conversion, beside after so many appends.
RESEQUENCE, MARK = "before_resequence", "before_header_patch"
# Rows that would have been an event of their turn, beside its prompt.
_CONVERTED = ("assistant", "tool_call", "tool_result", "permission_decision", "token_usage")


class Stopped(Exception):
    """Raised by a rehearsal in place of the process's death."""


@dataclass(frozen=True)
class LeftOut:
    """Rows of a turn that are not converted.

    case : `cut` (the turn was converted at an earlier page, without them) or `unprompted` (no user row among them).
    first, last, rows : by sequence.
    """

    case: str
    turn_id: str
    first: int
    last: int
    rows: int


@dataclass
class Conversion:
    """What one attempt did.

    Attributes
    ----------
    appends : events written. emitted : ids of all events that the ledger took, in order, or None. refusal : what ended it, if
    anything did. pages : (after, rows, last, high) of each page that was read. largest : most rows held at once.
    complete : whether the version was marked. left_out : rows of turns that it passed by.
    """

    appends: int = 0
    emitted: list[str] | None = field(default_factory=list)
    refusal: Refusal | None = None
    pages: list[tuple[int | None, int, int | None, int | None]] = field(default_factory=list)
    largest: int = 0
    resequenced: bool = False
    complete: bool = False
    left_out: list[LeftOut] = field(default_factory=list)


def convert(
    ledger: Ledger,
    session: str,
    *,
    now: int = 0,
    before: Callable[[Conversion, str], None] | None = None,
    repaired: bool = False,
    names: bool = True,
) -> Conversion:
    """Convert a session as generation C4 does, from wherever an earlier attempt left it.

    Parameters
    ----------
    now : what the clock says; nothing of an event depends on it.
    before : called before each append ("append"), the resequence and the mark, with what was done so far. What it raises goes
        through, and leaves the ledger as it was then.
    repaired : as C5 does: a turn is grouped over the whole session, and a text of the assistant alone makes one too.
    names : keep the ids of all events, the one thing that grows with the session beside which turns are somebody's.

    Returns
    -------
    What was done. A refusal of the product's ends the attempt and is told there, not raised.
    """
    done = Conversion(emitted=[] if names else None)
    try:
        _converted(ledger, session, done, before or (lambda _, __: None), now, repaired)
    except Refusal as refused:
        done.refusal = refused
    return done


def _converted(
    ledger: Ledger, session: str, done: Conversion, before: Callable[[Conversion, str], None], now: int, repaired: bool
) -> None:
    header = ledger.header(session)
    owned = ledger.owned(session, identity.run_id)
    seen: set[str] = set()
    for turn, high in (_whole if repaired else _by_page)(ledger, session, done):
        if turn.turn_id in owned.turns:
            continue
        kept = turn.has_prompt or (repaired and turn.has_answer)
        if turn.turn_id in seen or (not kept and any(one.row["type"] in _CONVERTED for one in turn.rows)):
            case = "cut" if turn.turn_id in seen else "unprompted"
            done.left_out.append(LeftOut(case, turn.turn_id, turn.first, turn.last, len(turn.rows)))
        seen.add(turn.turn_id)
        if kept:
            _turn(ledger, session, header, turn, high, owned, done, before)
    before(done, RESEQUENCE)
    ledger.resequence(session)
    done.resequenced = True
    before(done, MARK)
    ledger.mark(session, now)
    done.complete = True


def _pages(ledger: Ledger, session: str, done: Conversion) -> Iterator[PageOfRows]:
    after: int | None = None
    while True:
        page = ledger.page(session, after)
        done.pages.append((after, len(page.rows), page.last, page.high))
        yield page
        if not page.rows:
            return
        after = page.last


def _by_page(ledger: Ledger, session: str, done: Conversion) -> Iterator[tuple[LegacyTurn, int]]:
    """Turns of each page, and the session's highest sequence as it was read."""
    carried: LegacyTurn | None = None
    for page in _pages(ledger, session, done):
        turns = grouped(page.rows, carried)
        done.largest = max(done.largest, sum(len(turn.rows) for turn in turns))
        # The last turn to appear may go on in the next page; without a row there is none.
        carried = turns.pop() if page.rows and turns else None
        for turn in turns:
            yield turn, page.high or 0


def _whole(ledger: Ledger, session: str, done: Conversion) -> Iterator[tuple[LegacyTurn, int]]:
    """Turns in the order of their last rows, each with all its rows up to what was the highest sequence at first."""
    last: dict[str, int] = {}
    high: int | None = None
    for page in _pages(ledger, session, done):
        high = page.high or 0 if high is None else high
        last.update((turn.turn_id, turn.last) for turn in grouped(page.rows))
    begun: dict[str, LegacyTurn] = {}
    for page in _pages(ledger, session, done):
        ended = []
        for turn in grouped(page.rows):
            whole = begun.setdefault(turn.turn_id, LegacyTurn(turn.turn_id))
            whole.rows.extend(one for one in turn.rows if one.sequence <= last.get(turn.turn_id, -1))
            if whole.rows and whole.last == last[turn.turn_id]:
                ended.append(begun.pop(turn.turn_id))
        done.largest = max(done.largest, sum(len(turn.rows) for turn in (*begun.values(), *ended)))
        yield from ((turn, high or 0) for turn in sorted(ended, key=lambda one: one.last))


def _turn(
    ledger: Ledger,
    session: str,
    header: Mapping[str, Any],
    turn: LegacyTurn,
    high: int,
    owned: Owned,
    done: Conversion,
    before: Callable[[Conversion, str], None],
) -> None:
    at = opened_at(header, turn.first, high)

    def derived() -> list[Event]:
        return derive(session, header, turn, at, conversation=header.get("externalOrigin") is not None)

    events = derived() if ledger.memory is None else ledger.memory.events(header, turn, at, derived)
    for event in _missing(ledger, session, events, owned):
        before(done, "append")
        try:
            done.appends += ledger.append(event)
        except Refusal as refused:
            refused.row = turn.first if event.sequence is None else event.sequence
            raise
        if done.emitted is not None:
            done.emitted.append(event.event_id)


def _missing(ledger: Ledger, session: str, events: list[Event], owned: Owned) -> list[Event]:
    """Events of a turn that are not there yet, told by the rows that stored ones were made from."""
    run = events[0].run_id
    if run not in owned.runs:
        return events
    counts, opened = ledger.stored(session, run)
    left = [] if opened else events[:1]
    for event in events[1:]:
        made_from = event.stored_id
        if made_from is not None and counts[made_from] > 0:
            counts[made_from] -= 1
        else:
            left.append(event)
    return left
