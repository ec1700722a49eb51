"""Connections to SQLite files by name, whatever is in the name."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Literal
from urllib.parse import quote


def connect(path: Path, mode: Literal["ro", "rw"], busy_timeout: float = 5.0) -> sqlite3.Connection:
    """Open an existing SQLite file; never create one. Transactions are the caller's (`isolation_level=None`).

    Parameters
    ----------
    path : the file; any name, also with '?', '#', '%', newlines or bytes that are no UTF-8.
    mode : 'ro' or 'rw'.
    busy_timeout : seconds to wait for another process's lock.
    """
    # An empty authority ("file:///…"), so that a path with two leading slashes is not read as a host name.
    uri = f"file://{quote(os.fsencode(path.absolute()))}?mode={mode}"
    con = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=busy_timeout)
    con.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return con


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, e.g. ``sqlite3.SQLITE_BUSY``; 1 (SQLITE_ERROR) where there is none."""
    return getattr(error, "sqlite_errorcode", 1) & 0xFF
