"""Pages of legacy rows: at most 256 rows and 4 MiB, and the first row always fits (maka sheet 4.6)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
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
    """What attempts on one session have in common, so that many of them cost little: pages read, and events made of them.

    Pages are recognised by the text of their rows, turns by their rows.
    """

    def __init__(self) -> None:
        self.pages: dict[tuple[int | None, Bounds], tuple[list[tuple[int, object]], Page]] = {}
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
    bounds : of the page. memo : of pages that were read before.

    Raises
    ------
    Refusal : a row of the page cannot be read, so that nothing of it is converted.
    """
    (high,) = con.execute("SELECT max(sequence) FROM session_messages WHERE session_id = ?", [session]).fetchone()
    asked = con.execute(
        "SELECT sequence, record_json FROM session_messages WHERE session_id = ? AND sequence > ? ORDER BY sequence"
        " LIMIT ?",
        [session, -1 if after is None else after, bounds.rows],
    )
    if memo is None:
        page, _ = _fill(con, session, after, high, asked, bounds)
        asked.close()
        return page
    texts = asked.fetchall()
    known = memo.pages.get((after, bounds))
    if known is not None and known[0] == texts and known[1].high == high:
        return known[1]
    page, chunked = _fill(con, session, after, high, texts, bounds)
    if not chunked:
        memo.pages[after, bounds] = texts, page
    return page


def _fill(
    con: sqlite3.Connection,
    session: str,
    after: int | None,
    high: int | None,
    texts: Iterable[tuple[int, object]],
    bounds: Bounds,
) -> tuple[Page, bool]:
    """The page, and whether a row of it is in chunks."""
    found: list[LegacyRow] = []
    total, chunked = 0, False
    for sequence, text in texts:
        told = _told(con, session, sequence) if text == _CHUNKED else None
        own = told[0] if told else js.length(text) if isinstance(text, str) else 0
        if found and total + own > bounds.weight:
            break
        total += own
        chunked = chunked or told is not None
        found.append(_read(con, session, sequence, text, told))
    return Page(after, found, high), chunked


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
