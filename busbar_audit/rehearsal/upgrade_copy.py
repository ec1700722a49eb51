"""The private copy that an upgrade works on: fresh, opened, told by digests of its tables."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from busbar_audit.warehouse import quoted

_SIDES = ("", "-wal", "-shm", "-journal")


def files(copy: Path) -> tuple[str, ...]:
    """Names of a database file and of what SQLite keeps beside it."""
    return tuple(f"{copy.name}{suffix}" for suffix in _SIDES)


def fresh(source: Path, copy: Path) -> Path:
    """Put a finished copy in the place of `copy` and of all that was kept beside it."""
    for name in files(copy):
        (copy.parent / name).unlink(missing_ok=True)
    shutil.copyfile(source, copy)
    return copy


def beside(copy: Path, to: Path) -> Path:
    """Copy a file with its log and journal as they lie there, so that looking at it changes nothing for the next run."""
    for suffix in _SIDES:
        (to.parent / f"{to.name}{suffix}").unlink(missing_ok=True)
        source = copy.parent / f"{copy.name}{suffix}"
        if suffix != "-shm" and source.exists():
            shutil.copyfile(source, to.parent / f"{to.name}{suffix}")
    return to


def size(copy: Path) -> int:
    """Bytes of a file and of what is kept beside it."""
    return sum((copy.parent / name).stat().st_size for name in files(copy) if (copy.parent / name).exists())


def opened(path: Path) -> sqlite3.Connection:
    """Open a copy of ours, writable, so that SQLite rolls back what a command left in a journal."""
    con = sqlite3.connect(path)
    con.execute("PRAGMA trusted_schema = ON")
    return con


def digests(path: Path) -> dict[str, str]:
    """A digest of each table's rows, in whatever order they come, and one of the schema and its stamp.

    Raises
    ------
    sqlite3.Error : a table cannot be read.
    """
    with closing(opened(path)) as con:
        con.text_factory = bytes
        told = {}
        for (name,) in con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall():
            table = name.decode("utf-8", "replace")
            total = rows = 0
            for row in con.execute(f"SELECT * FROM {quoted(table)}"):  # noqa: S608 - a quoted name
                rows += 1
                total += int.from_bytes(hashlib.sha256(repr(row).encode()).digest())
            told[table] = f"{rows}/{total % 2**256:064x}"
        schema = con.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        version = con.execute("PRAGMA user_version").fetchone()
        told["the schema"] = hashlib.sha256(repr((schema, version)).encode()).hexdigest()
        return told


def apart(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Names of tables that differ, in order."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def state(copy: Path, before: Mapping[str, str], done: Mapping[str, str]) -> str:
    """How a kill left a copy: `rolled back`, `done`, `part way` or `unreadable`. Looked at beside it."""
    try:
        there = digests(beside(copy, copy.with_name("looked-at.db")))
    except sqlite3.Error:
        return "unreadable"
    return "rolled back" if there == before else "done" if there == done else "part way"


def end(copy: Path, done: Mapping[str, str]) -> str:
    """`same` where a copy is as the upgrade without a kill left it, else what differs."""
    try:
        with closing(opened(copy)) as con:
            (sound,) = con.execute("PRAGMA integrity_check(1)").fetchone()
        changed = apart(done, digests(copy))
    except sqlite3.Error as error:
        return f"cannot be read: {error}"
    return str(sound) if sound != "ok" else f"ends otherwise in {', '.join(changed)}" if changed else "same"
