"""Makes one plain file of a copy and what came with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from busbar_audit.errors import NotADatabase, SnapshotError
from busbar_audit.snapshot.connect import connect, primary_code
from busbar_audit.target import beside, read_header, size_of
from busbar_audit.text import printable


def make_plain(copy: Path, source: Path) -> None:
    """Recover what is beside the copy and leave one file in rollback mode, readable without writing anything."""
    try:
        with closing(connect(copy, "rw")) as con:
            # Reading recovers: the log is taken in, a hot journal rolled back.
            con.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        if primary_code(error) == sqlite3.SQLITE_NOTADB:
            raise no_database(source, error) from None
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
        _require_all_pages(copy, source)
    with closing(connect(copy, "rw")) as con:
        # Damage in the schema is for the integrity check to describe; it must not stop this.
        con.execute("PRAGMA writable_schema=ON")
        con.execute("PRAGMA synchronous=OFF")
        mode = con.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    left = [suffix for suffix in ("-wal", "-shm", "-journal") if beside(copy, suffix).exists()]
    if mode != "delete" or left:
        raise SnapshotError(
            f"The copy of {printable(source)} could not be recovered (journal mode {mode}, left: {left}).",
            "One file after the recovery.",
            "Nothing was checked. Open the store once with its own program, stop it, and audit it then.",
        )


def _require_all_pages(copy: Path, source: Path) -> None:
    """Refuse a file that ends before the pages its header counts; with a log the newest count is in there."""
    header, size = read_header(copy), copy.stat().st_size
    if header is None or header.page_count is None or size_of(beside(copy, "-wal")):
        return
    wanted = header.page_count * header.page_size
    if wanted > size:
        raise NotADatabase(
            f"{printable(source)} is cut short: {size:,} bytes.",
            f"{header.page_count:,} pages of {header.page_size:,} bytes, {wanted:,} bytes, says its header.",
            "Restore it from a backup; nothing was checked.",
        )


def no_database(source: Path, error: sqlite3.Error) -> NotADatabase:
    """Build the error for what only SQLite noticed: the first bytes are right, the rest is not."""
    return NotADatabase(
        f"{printable(source)} begins like a SQLite database, but SQLite says: {printable(error)}.",
        "A readable SQLite database.",
        "If the store is encrypted, name a decrypted copy; else restore it from a backup.",
    )
