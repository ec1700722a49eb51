"""One session taken out of a private copy, to be converted again and again: what is copied is the session, not the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from busbar_audit.conversion.schema import HEADERS, TABLES, in_memory

_BY_SESSION = (
    "session_metadata",
    "session_messages",
    "session_message_payloads",
    "session_message_chunks",
    "runtime_events",
    "runtime_session_event_ordinals",
    "runtime_legacy_invocation_openings",
    "runtime_partial_snapshots",
    "core_agent_runs",
)


def sessions(path: Path) -> list[tuple[str, int]]:
    """Sessions of a store that a conversion would still look at, with their number of old rows, in order of their id."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
        found = con.execute(
            """SELECT m.session_id, count(r.sequence) FROM session_metadata m
            LEFT JOIN session_messages r USING (session_id)
            WHERE json_valid(m.payload_json) AND json_extract(m.payload_json, '$.transcriptLedgerVersion') IS NOT 1
            GROUP BY 1 ORDER BY 1"""
        )
        return [(session, rows) for session, rows in found]


def stage(path: Path, session: str, to: Path | None = None) -> sqlite3.Connection:
    """A database with this session alone.

    Parameters
    ----------
    path : a private copy of the store; it is only read. to : a new file; in memory if none is named.

    Returns
    -------
    a connection without transactions of its own; the caller closes it.
    """
    con = in_memory() if to is None else _file(to)
    con.execute("ATTACH ? AS store", [f"{path.absolute().as_uri()}?mode=ro"])
    (version,) = con.execute("PRAGMA store.user_version").fetchone()
    con.execute("BEGIN")
    for table in _BY_SESSION:
        there = _columns(con, "store", table)
        if table == "core_agent_runs" and "record_json" in there:
            con.execute(HEADERS)
        columns = [name for name in _columns(con, "main", table) if name in there]
        if columns:
            told = ", ".join(columns)
            con.execute(
                f"INSERT INTO main.{table} ({told}) SELECT {told} FROM store.{table} WHERE session_id = ?",  # noqa: S608
                [session],
            )
    con.execute("COMMIT")
    con.execute("DETACH store")
    con.execute(f"PRAGMA user_version = {int(version)}")
    return con


def _file(to: Path) -> sqlite3.Connection:
    con = connect(to)
    con.executescript(TABLES)
    return con


def connect(path: Path) -> sqlite3.Connection:
    """A staged file, as durable as the product keeps its own."""
    con = sqlite3.connect(path.absolute().as_uri(), uri=True, isolation_level=None)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA synchronous = FULL")
    return con


def copied(con: sqlite3.Connection) -> sqlite3.Connection:
    """A copy of a staged session, in memory."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    con.backup(copy)
    return copy


def _columns(con: sqlite3.Connection, schema: str, table: str) -> list[str]:
    return [name for _, name, *_ in con.execute(f"PRAGMA {schema}.table_info({table})")]


def legacy_rows(con: sqlite3.Connection, high: int) -> Iterator[tuple[object, ...]]:
    """All old rows and their chunks, as they are stored, up to a sequence."""
    for table in ("session_messages", "session_message_payloads", "session_message_chunks"):
        yield from con.execute(f"SELECT * FROM {table} WHERE sequence <= ? ORDER BY 1, 2, 3", [high])  # noqa: S608
