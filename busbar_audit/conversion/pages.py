"""Pages of legacy rows: at most 256 rows and 4 MiB, and the first row always fits (maka sheet 4.6)."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from busbar_audit.conversion.refusal import incompatible
from busbar_audit.conversion.rows import MARKER, LegacyRow, decode_row, join_chunks
from busbar_audit.transcript import js

if TYPE_CHECKING:
    from busbar_audit.conversion.events import Event

ROWS = 256
WEIGHT = 4 << 20
_CHUNKED = json.dumps(MARKER, separators=(",", ":"))


@dataclass(frozen=True)
class Bounds:
    """Bounds of a page: rows, and UTF-16 units (bytes where a row is in chunks)."""

    rows: int = ROWS
    weight: int = WEIGHT


class Memo:
    """What attempts on one session have in common, so that many of them cost little: rows read, and events made of them.

    Rows are recognised by their text, turns by their rows.
    """

    def __init__(self) -> None:
        self.rows: dict[int, tuple[str, LegacyRow]] = {}
        self.turns: dict[tuple[object, ...], list[Event]] = {}


@dataclass(frozen=True)
class Page:
    """Rows of a page, and the session's highest sequence as it was read; no rows: there is nothing more.

    after : the sequence that the page begins behind; None for the first one.
    """

    after: int | None
    rows: list[LegacyRow]
    high: int | None


def read_page(
    con: sqlite3.Connection, session: str, after: int | None, bounds: Bounds, memo: Memo | None = None
) -> Page:
    """The page behind a sequence.

    Parameters
    ----------
    bounds : of the page. memo : of rows that were read before.

    Raises
    ------
    Refusal : a row of the page cannot be read, so that nothing of it is converted.
    """
    (high,) = con.execute("SELECT max(sequence) FROM session_messages WHERE session_id = ?", [session]).fetchone()
    found: list[LegacyRow] = []
    total = 0
    asked = con.execute(
        "SELECT sequence, record_json FROM session_messages WHERE session_id = ? AND sequence > ? ORDER BY sequence"
        " LIMIT ?",
        [session, -1 if after is None else after, bounds.rows],
    )
    for sequence, text in asked:
        told = _told(con, session, sequence) if text == _CHUNKED else None
        own = told[0] if told else js.length(text) if isinstance(text, str) else 0
        if found and total + own > bounds.weight:
            break
        total += own
        known = memo.rows.get(sequence) if memo is not None and told is None else None
        if known is not None and known[0] == text:
            found.append(known[1])
            continue
        found.append(_read(con, session, sequence, text, told))
        if memo is not None and told is None:
            memo.rows[sequence] = (text, found[-1])
    asked.close()
    return Page(after, found, high)


def _told(con: sqlite3.Connection, session: str, sequence: int) -> tuple[int, str]:
    told = con.execute(
        "SELECT record_bytes, sha256 FROM session_message_payloads WHERE session_id = ? AND sequence = ?",
        [session, sequence],
    ).fetchone()
    if told is None:
        raise incompatible(session, sequence)
    return told[0], told[1]


def _read(
    con: sqlite3.Connection, session: str, sequence: int, text: object, told: tuple[int, str] | None
) -> LegacyRow:
    if told is None:
        if not isinstance(text, str):
            raise incompatible(session, sequence)
        return decode_row(session, sequence, text)
    parts = con.execute(
        "SELECT chunk_index, data, sha256 FROM session_message_chunks WHERE session_id = ? AND sequence = ?"
        " ORDER BY chunk_index",
        [session, sequence],
    ).fetchall()
    return decode_row(session, sequence, join_chunks(session, sequence, told, parts), chunked=True)
