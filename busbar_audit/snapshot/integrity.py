"""What SQLite itself says about a snapshot: pages, indexes, constraints, foreign keys."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from busbar_audit.snapshot.connect import connect


class ForeignKeyViolation(NamedTuple):
    """One row without its parent; or, with `foreign_key` -1, a table whose keys could not be checked and why.

    `rowid` is None for tables without row ids.
    """

    table: str
    rowid: int | None
    parent: str
    foreign_key: int


def integrity_check(path: Path, limit: int = 100) -> list[str]:
    """Run ``PRAGMA integrity_check`` over a snapshot.

    Parameters
    ----------
    path : a finished snapshot, never a live store.
    limit : most messages wanted.

    Returns
    -------
    list of str
        Empty if all is well. Damage that stops SQLite is a message as well, not an exception.
    """
    messages: list[str] = []
    try:
        # SQLite leaves CHECK constraints out on a read-only file, and refuses those that call JSON functions where the
        # schema is not trusted; so the private copy is opened for writing, and kept from it by query_only.
        with closing(connect(path, "rw")) as con:
            con.execute("PRAGMA query_only=ON")
            for (message,) in con.execute(f"PRAGMA integrity_check({int(limit)})"):
                messages.append(str(message))
    except sqlite3.DatabaseError as error:
        messages.append(str(error))
    return [] if messages == ["ok"] else messages


def foreign_key_violations(path: Path) -> list[ForeignKeyViolation]:
    """Run ``PRAGMA foreign_key_check`` over a snapshot, table by table, so that one bad key definition hides no other.

    Returns
    -------
    list of ForeignKeyViolation
        By table name, then row; empty if all is well. Damage is an entry as well, not an exception.
    """
    found: list[ForeignKeyViolation] = []
    try:
        # Not with an untrusted schema either: SQLite then refuses even to read one whose indexes call JSON functions.
        with closing(connect(path, "rw")) as con:
            con.execute("PRAGMA query_only=ON")
            tables = [
                name for (name,) in con.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            ]
            for table in tables:
                try:
                    quoted = table.replace('"', '""')
                    rows = con.execute(f'PRAGMA foreign_key_check("{quoted}")').fetchall()
                    found.extend(sorted((ForeignKeyViolation(*row) for row in rows), key=_by_row))
                except sqlite3.DatabaseError as error:
                    found.append(ForeignKeyViolation(table, None, str(error), -1))
    except sqlite3.DatabaseError as error:
        found.append(ForeignKeyViolation("", None, str(error), -1))
    return found


def _by_row(violation: ForeignKeyViolation) -> tuple[int, str, int]:
    return (-1 if violation.rowid is None else violation.rowid, violation.parent, violation.foreign_key)
