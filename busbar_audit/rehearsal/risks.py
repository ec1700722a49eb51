"""What is known to go wrong with a session at this upgrade, found by converting a copy of it (maka sheet 4.7, 16)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from busbar_audit.conversion import identity
from busbar_audit.conversion.engine import Conversion
from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.conversion.staging import copied
from busbar_audit.text import printable

AT_RISK = "session at risk before this upgrade"
# A page of the product serves turns up to so many events, and one call of its runtime takes so many arguments.
PAGED_EVENTS, ARGUMENTS, WEIGHT = 8_192, 100_000, 16 << 20


@dataclass(frozen=True)
class Risk:
    """A known case in a session.

    case : its short name, see `CASES`. severity : as findings have it. first, last, rows : the old rows it is about.
    detail : in words, without content.
    """

    case: str
    severity: str
    session: str
    turn: str
    first: int | None
    last: int | None
    rows: int
    detail: str


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
    "staged": ("medium", "an imported session that was never published; only its import may convert it"),
    "giant": ("low", "a turn whose conversion or reading goes beyond what was bounded"),
    "mixed": ("low", "turns of an early conversion, of the text alone, stay beside full ones"),
    "foreign prefix": ("info", "a conversion begun by an earlier build is resumed, and its events stay as they are"),
    "repeated ids": ("info", "two rows of a turn have one id; both are converted, and shown with one id"),
}


def risks(staged: sqlite3.Connection, session: str, generation: str = "C4") -> list[Risk]:
    """The known cases of a session, by converting a copy of it.

    Parameters
    ----------
    staged : the session in a database of its own; it is not changed.
    """
    version = staged.execute(
        "SELECT json_extract(payload_json, '$.transcriptLedgerVersion') FROM session_metadata"
    ).fetchone()[0]
    with closing(copied(staged)) as con:
        done = convert_as(generation, con, session, importing=True)
    found = [*_of(done, session), *_prefixes(staged, session), *_repeated(staged, session)]
    if version == 0:
        found.append(_risk("staged", session, "", None, None, done.pages[0][1] if done.pages else 0))
    return sorted(found, key=lambda risk: (risk.first is None, risk.first or 0, risk.case))


def _risk(case: str, session: str, turn: str, first: int | None, last: int | None, rows: int, more: str = "") -> Risk:
    severity, text = CASES[case]
    return Risk(case, severity, session, turn, first, last, rows, text + (f": {more}" if more else ""))


def _of(done: Conversion, session: str) -> Iterator[Risk]:
    if done.error is not None:
        refused = _refused(done.error, session)
        # A late prompt is refused, and what is behind it is lost by the next attempt: one case.
        if not any(told.why == refused.case and told.first == refused.first for told in done.left_out):
            yield refused
    for told in done.left_out:
        yield _risk(told.why, session, told.turn, told.first, told.last, told.rows)
    turn, rows, weight = done.largest
    if rows > min(PAGED_EVENTS, ARGUMENTS) or weight > WEIGHT:
        yield _risk("giant", session, turn, None, None, rows, f"{rows:,} rows, {weight:,} characters")


def _refused(error: Refusal, session: str) -> Risk:
    case = "refused"
    if error.code == "stored_session_message_incompatible":
        case = "unreadable"
    elif "run identity conflict" in error.message or "invocation identity conflict" in error.message:
        case = "half turn"
    elif "RuntimeEvent identity conflict" in error.message and not error.event_id.endswith("-opened"):
        case = "shifted"
    elif "RuntimeEvent identity conflict" in error.message:
        case = "cut"
    at = error.sequence
    return _risk(case, session, "", at, at, 0 if at is None else 1, printable(error.code or error.message))


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
        yield _risk("mixed", session, "", None, None, 0, f"{early} turn(s)")
    if foreign:
        yield _risk("foreign prefix", session, "", None, None, 0, f"{foreign} turn(s)")


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
                yield _risk("repeated ids", session, turn, first[turn, row], sequence, 2)
