"""What pages cost to read: events and bytes that each query generation decodes for those it returns (maka sheet 6.3).

Walks are made for a sample of sessions, so that an audit costs what it did: the first by name, of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from busbar_audit.transcript.ledger import Session
from busbar_audit.transcript.pages import Pages
from busbar_audit.transcript.selection import GENERATIONS, Generation
from busbar_audit.transcript.view import Refused

# The sample: sessions, and what is decoded for them in all. Rows and bytes of a page: what clients ask for at most.
SESSIONS, BYTES, EVENTS = 20, 4 << 20, 5_000
MESSAGES, BUDGET = 64, 512 << 10


@dataclass(frozen=True)
class Cost:
    """A walk through one session from its newest page to its oldest.

    pages : it took. events, read : payloads that were decoded, and their bytes. served : bytes returned.
    """

    generation: Generation
    pages: int
    events: int
    read: int
    served: int


def costs(session: Session) -> Iterator[Cost]:
    """What the walk of each generation costs; nothing of one whose pages are refused."""
    for generation in GENERATIONS:
        try:
            walk = list(Pages(session, generation).walk("older", MESSAGES, BUDGET))
        except Refused:
            continue
        events, read, served = (sum(getattr(page, name) for page in walk) for name in ("events", "read", "served"))
        yield Cost(generation, len(walk), events, read, served)


@dataclass
class Sample:
    """Which sessions are walked: the first ones, until there are enough of them or enough is decoded."""

    sessions: int = SESSIONS
    size: int = BYTES
    events: int = EVENTS

    def takes(self, session: Session) -> bool:
        """Whether a session is in the sample; it is counted then."""
        size, events = sum(stored.bytes for stored in session.events), len(session.events)
        if not self.sessions or size > self.size or events > self.events:
            return False
        self.sessions, self.size, self.events = self.sessions - 1, self.size - size, self.events - events
        return True
