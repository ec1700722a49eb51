"""One way in for all generations of the conversion."""

from __future__ import annotations

import sqlite3
import time
import uuid

from busbar_audit.conversion.converter import Conversion, convert
from busbar_audit.conversion.headers import convert_headers
from busbar_audit.conversion.historic import Before, Clock, Ids, convert_historic
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.errors import UsageError
from busbar_audit.text import printable

GENERATIONS = ("C0", "C1", "C2", "C3", "C4", "C5")


def now() -> int:
    """Milliseconds of the machine's clock."""
    return time.time_ns() // 1_000_000


def random_id() -> str:
    """An id as the product makes them."""
    return str(uuid.uuid4())


def convert_as(
    generation: str,
    con: sqlite3.Connection,
    session: str,
    *,
    clock: Clock = now,
    ids: Ids = random_id,
    before: Before | None = None,
) -> Conversion:
    """Convert a session of a private copy as a generation does; see `converter.convert` for the rest.

    Raises
    ------
    UsageError : no such generation, or C0 on a store that is younger.
    """
    if generation not in GENERATIONS:
        raise UsageError(f"Conversion {printable(generation)}.", f"Expected one of {', '.join(GENERATIONS)}.")
    if generation == "C0":
        return convert_headers(con, session, clock=clock, ids=ids, before=before)
    if generation in ("C1", "C2", "C3"):
        return convert_historic(Ledger(con), session, generation, clock=clock, ids=ids, before=before)
    return convert(Ledger(con), session, now=clock(), before=before, repaired=generation == "C5")
