"""Walks through the pages of a session whose pages can lose rows: which sizes of page lose which (maka sheet 12.6, T06).

A walk loses rows only where an event stands before the opening of its invocation: a page that gets there from further on
has it, one that begins there has not. Elsewhere walks of every size give every row once: tests show that on generated
sessions of every legal shape, and so they are not made for each audited one.
"""

from __future__ import annotations

from typing import NamedTuple

from busbar_audit.transcript.compare import Comparison
from busbar_audit.transcript.ledger import Session
from busbar_audit.transcript.pages import Direction, Pages
from busbar_audit.transcript.view import Refused

_WAYS: tuple[Direction, ...] = ("older", "newer")
_SIZES = (1, 3, 64)
_BUDGET = 512 << 10


class Lost(NamedTuple):
    """What pages of one size lose: the way of the walk, rows in a page, how many rows, and the event of the first."""

    direction: Direction
    messages: int
    rows: int
    event_id: str


def lost_rows(session: Session, done: Comparison) -> list[Lost]:
    """What walks lose; nothing where no row stands before the opening of its invocation, or pages do not open."""
    if not any(found.kind == "V16" for found in done.divergences):
        return []
    pages = Pages(session)
    rows = {row.sequence: row.source for step in pages.steps for row in step.rows}
    found = []
    for direction in _WAYS:
        for messages in _SIZES:
            try:
                walk = list(pages.walk(direction, messages, _BUDGET))
            except Refused:
                continue
            seen = {fragment.sequence for page in walk for fragment in page.fragments}
            gone = sorted(rows.keys() - seen)
            if gone:
                found.append(Lost(direction, messages, len(gone), rows[gone[0]]))
    return found
