"""One session's conversion, from its rows into the ledger: pages, turns, appends, resequence, version mark (sheet 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.events import Event
from busbar_audit.conversion.ledger import Ledger, Owned
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.conversion.turns import LegacyTurn, derive, grouped, opened_at

# Where a rehearsal stops a conversion, beside after so many appends.
RESEQUENCE, MARK = "before_resequence", "before_header_patch"


class Stopped(Exception):
    """Raised by a rehearsal in place of the process's death."""


@dataclass
class Conversion:
    """What one attempt did.

    Attributes
    ----------
    appends : events written. emitted : ids of all events that the ledger took, in order. refusal : what ended it, if
    anything did. pages : (after, rows, last, high) of each page that was read. largest : most rows held at once.
    complete : whether the version was marked.
    """

    appends: int = 0
    emitted: list[str] = field(default_factory=list)
    refusal: Refusal | None = None
    pages: list[tuple[int | None, int, int | None, int | None]] = field(default_factory=list)
    largest: int = 0
    resequenced: bool = False
    complete: bool = False


def convert(
    ledger: Ledger,
    session: str,
    *,
    now: int = 0,
    before: Callable[[Conversion, str], None] | None = None,
) -> Conversion:
    """Convert a session as generation C4 does, from wherever an earlier attempt left it.

    Parameters
    ----------
    now : what the clock says; nothing of an event depends on it.
    before : called before each append ("append"), the resequence and the mark, with what was done so far. What it raises goes
        through, and leaves the ledger as it was then.

    Returns
    -------
    What was done. A refusal of the product's ends the attempt and is told there, not raised.
    """
    done = Conversion()
    try:
        _converted(ledger, session, done, before or (lambda _, __: None), now)
    except Refusal as refused:
        done.refusal = refused
    return done


def _converted(
    ledger: Ledger, session: str, done: Conversion, before: Callable[[Conversion, str], None], now: int
) -> None:
    header = ledger.header(session)
    owned = ledger.owned(session, identity.run_id)
    carried: LegacyTurn | None = None
    after: int | None = None
    while True:
        page = ledger.page(session, after)
        done.pages.append((after, len(page.rows), page.last, page.high))
        turns = grouped(page.rows, carried)
        done.largest = max(done.largest, sum(len(turn.rows) for turn in turns))
        # The last turn to appear may go on in the next page; without a row there is none.
        carried = turns.pop() if page.rows and turns else None
        for turn in turns:
            _turn(ledger, session, header, turn, page.high or 0, owned, done, before)
        if not page.rows:
            break
        after = page.last
    before(done, RESEQUENCE)
    ledger.resequence(session)
    done.resequenced = True
    before(done, MARK)
    ledger.mark(session, now)
    done.complete = True


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
    if not turn.has_prompt or turn.turn_id in owned.turns:
        return
    at = opened_at(header, turn.first, high)
    events = derive(session, header, turn, at, conversation=header.get("externalOrigin") is not None)
    for event in _missing(ledger, session, events, owned):
        before(done, "append")
        done.appends += ledger.append(event)
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
