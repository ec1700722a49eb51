"""What is known to go wrong with a session at this upgrade, with its rows (maka sheet 4.7, 16)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from busbar_audit.conversion import identity
from busbar_audit.conversion.converter import Conversion
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.text import printable

# Pages of the product serve turns up to so many events.
PAGED_EVENTS = 8_192


@dataclass(frozen=True)
class Risk:
    """A known case in a session.

    case : its short name, see `CASES`. severity : as findings have it. first, last, rows : the old rows it is about.
    detail : in words, without content.
    """

    case: str
    severity: str
    turn_id: str
    first: int | None
    last: int | None
    rows: int
    detail: str

    @property
    def grave(self) -> bool:
        """Whether rows are lost, or the session is."""
        return self.severity in ("high", "medium")


CASES = {
    "refused": ("high", "the store refuses what a row gives, at this read and at every later one"),
    "unreadable": ("high", "a row cannot be read, so its page and all behind it are not converted"),
    "half turn": ("high", "a turn that an earlier build began under another invocation; nobody can finish it"),
    "shifted": ("high", "stored events and old rows give other numbers to the same events"),
    "cut": (
        "high",
        "rows of a turn behind the page at which the turn was converted; they are lost, and the turn ends early",
    ),
    "unprompted": ("medium", "a turn without a user row is not converted"),
    "giant": ("low", "a turn whose conversion or reading goes beyond what was bounded"),
    "mixed": ("low", "turns of an early conversion, of the text alone, stay beside full ones"),
    "foreign prefix": ("info", "a conversion begun by an earlier build is resumed, and its events stay as they are"),
    "repeated ids": ("info", "two rows of a turn have one id; both are converted, and shown with one id"),
}


def risks(store: sqlite3.Connection, session: str, done: Conversion) -> tuple[Risk, ...]:
    """The known cases of a session, in the order of its rows.

    Parameters
    ----------
    store : the session before its conversion. done : what a conversion of a copy did.
    """
    found = [*_of(done), *_prefixes(store, session), *_repeated(store, session)]
    return tuple(sorted(found, key=lambda risk: (risk.first is None, risk.first or 0, risk.case)))


def _risk(case: str, turn: str, first: int | None, last: int | None, rows: int, more: str = "") -> Risk:
    severity, text = CASES[case]
    return Risk(case, severity, turn, first, last, rows, text + (f": {more}" if more else ""))


def _of(done: Conversion) -> Iterator[Risk]:
    if done.refusal is not None:
        refused = _refused(done.refusal)
        # A late prompt is refused, and what is behind it is lost by the next attempt: one case.
        if not any(told.case == refused.case and told.first == refused.first for told in done.left_out):
            yield refused
    for told in done.left_out:
        yield _risk(told.case, told.turn_id, told.first, told.last, told.rows)
    if done.largest > PAGED_EVENTS:
        yield _risk("giant", "", None, None, done.largest, f"{done.largest:,} rows at once")


def _refused(error: Refusal) -> Risk:
    case = "refused"
    if error.code == "stored_session_message_incompatible":
        case = "unreadable"
    elif "run identity conflict" in error.message or "invocation identity conflict" in error.message:
        case = "half turn"
    elif "RuntimeEvent identity conflict" in error.message and not error.event_id.endswith("-opened"):
        case = "shifted"
    elif "RuntimeEvent identity conflict" in error.message:
        case = "cut"
    at = error.row
    return _risk(case, "", at, at, 0 if at is None else 1, printable(error.code or error.message))


def _prefixes(con: sqlite3.Connection, session: str) -> Iterator[Risk]:
    """Converted runs whose events are not named as this conversion names them."""
    early = foreign = 0
    for invocation, run, turn, event in con.execute(
        "SELECT invocation_id, run_id, turn_id, event_id FROM runtime_events WHERE session_id = ? AND event_seq = 1",
        [session],
    ):
        if run == identity.run_id(session, turn):
            early += invocation != run
            foreign += invocation == run and not event.startswith(run)
    if early:
        yield _risk("mixed", "", None, None, 0, f"{early} turn(s)")
    if foreign:
        yield _risk("foreign prefix", "", None, None, 0, f"{foreign} turn(s)")


def _repeated(con: sqlite3.Connection, session: str) -> Iterator[Risk]:
    seen: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for sequence, turn, row in con.execute(
        """SELECT sequence, json_extract(record_json, '$.turnId'), message_id FROM session_messages
        WHERE session_id = ? AND json_valid(record_json) ORDER BY sequence""",
        [session],
    ):
        if turn is not None:
            seen[turn, row] += 1
            first.setdefault((turn, row), sequence)
            if seen[turn, row] == 2:
                yield _risk("repeated ids", turn, first[turn, row], sequence, 2)
