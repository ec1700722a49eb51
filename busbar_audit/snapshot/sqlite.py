"""A private, consistent copy of a SQLite store that may be in use at the same time.

The usual way is SQLite's backup API from a read-only connection inside one read transaction, so that a busy writer
can neither tear the copy nor make it start anew. Where SQLite refuses, and where opening would leave files beside the
store (a WAL store that nobody has open), the set of files is copied instead, see `setcopy`.

One trap shapes the order of things here: POSIX drops all locks a process holds on a file as soon as it closes *any*
descriptor of that file. The source is therefore read as a plain file only before SQLite opens it and after that.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from busbar_audit.errors import SnapshotError, StoreLocked
from busbar_audit.snapshot.connect import connect, primary_code
from busbar_audit.snapshot.disk import no_space, require_space
from busbar_audit.snapshot.integrity import ForeignKeyViolation, foreign_key_violations, integrity_check
from busbar_audit.snapshot.recover import make_plain, no_database
from busbar_audit.snapshot.setcopy import copy_set, remove_set
from busbar_audit.snapshot.source import SourceState, observe, with_shm
from busbar_audit.target import beside, parse_target
from busbar_audit.text import printable

__all__ = [
    "ForeignKeyViolation",
    "Snapshot",
    "SourceState",
    "foreign_key_violations",
    "integrity_check",
    "take_snapshot",
]

Progress = Callable[[int, int], None]
Method = Literal["backup", "file set"]
_STEP_BYTES = 16 * 1024 * 1024
_ATTEMPTS = 5
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_REFUSED = (
    sqlite3.SQLITE_READONLY,  # hot journal under mode=ro
    sqlite3.SQLITE_CANTOPEN,  # WAL in a read-only directory
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,  # the copy as it is, for the integrity check to describe
)


@dataclass(frozen=True)
class Snapshot:
    """A finished copy: one plain file in rollback mode, nothing beside it.

    Attributes
    ----------
    path : the copy.  source : real path of the store.
    method : 'backup' (SQLite's backup API) or 'file set'.
    taken_at : UTC; the copy is the store as it was at this moment.
    size : bytes of the copy.  seconds : all that was spent on it.
    digest : its SHA-256, see `sha256`.
    """

    path: Path
    source: Path
    method: Method
    taken_at: datetime
    size: int
    seconds: float
    source_state: SourceState
    digest: Future[str] = field(repr=False, compare=False)

    @property
    def sha256(self) -> str:
        """Of the copy, reckoned in a thread of its own."""
        return self.digest.result()


def take_snapshot(
    path: Path,
    directory: Path,
    *,
    busy_timeout: float = 30.0,
    progress: Progress | None = None,
    further_factor: float = 0.0,
) -> Snapshot:
    """Copy a store into a private directory. The source is only read.

    Must not be called while this process has a SQLite connection to the same store, see the module's text.

    Parameters
    ----------
    path : main file of the store (or a directory holding one).
    directory : where the copy goes, see `rundir.run_directory`.
    busy_timeout : seconds to wait for a lock of another process.
    progress : called with the work done and the work in all; only their ratio means something.
    further_factor : bytes that will be needed in `directory` later per byte of the store, asked for beforehand.

    Raises
    ------
    TargetNotFound, NotAStore, NotADatabase
        As `parse_target`; NotADatabase also for what only SQLite notices: encrypted or cut short behind the header.
    StoreLocked
        Another process kept the store locked for longer than `busy_timeout`.
    NotEnoughSpace
        With both figures.
    SnapshotError
        No consistent copy could be had.
    """
    begun = time.perf_counter()
    source = parse_target(Path(path)).sqlite_file()
    try:
        before, shm = observe(source)
        needed = _room(before, further_factor)
        require_space(directory, needed, f"a private copy of {printable(source)} and what is made from it")
        copy = _new_file(directory)
    except OSError as error:
        raise _unreadable(source, error) from None
    done = False
    try:
        method, taken_at = _copy(source, copy, before, busy_timeout, progress)
        digest = _digest(copy)
        state = with_shm(before, shm)
        done = True
    except sqlite3.Error as error:
        if primary_code(error) == sqlite3.SQLITE_FULL:
            raise no_space(directory, needed, "a private copy of the store; the disk ran full on the way") from None
        raise SnapshotError(
            f"SQLite could not copy {printable(source)}: {printable(error)}.", "A readable store.", _LATER
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise no_space(directory, needed, "a private copy of the store; the disk ran full on the way") from None
        raise _unreadable(source, error) from None
    finally:
        if not done:
            remove_set(copy)
    seconds = time.perf_counter() - begun
    return Snapshot(copy, source, method, taken_at, copy.stat().st_size, seconds, state, digest)


def _digest(copy: Path) -> Future[str]:
    """SHA-256 of the copy; the caller goes on meanwhile, as nobody changes the copy."""
    file = copy.open("rb")

    def reckon() -> str:
        with file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    thread = ThreadPoolExecutor(1)
    reckoned = thread.submit(reckon)
    thread.shutdown(wait=False)
    return reckoned


_LATER = "Nothing was checked. Try again later, or stop the store and audit it then."


def _copy(
    source: Path, copy: Path, state: SourceState, busy_timeout: float, progress: Progress | None
) -> tuple[Method, datetime]:
    # A WAL store without both files beside it is open nowhere. SQLite would create them just to read it, perhaps
    # as files the store's own user may not write; a copy of the set leaves no trace.
    in_use = beside(source, "-shm").exists() and state.wal_bytes is not None
    if state.journal_mode == "wal" and not in_use:
        taken_at = datetime.now(UTC)
        if copy_set(source, copy, attempts=1, progress=progress):
            make_plain(copy, source)
            return "file set", taken_at
    try:
        taken_at = _backup(source, copy, busy_timeout, progress)
    except sqlite3.Error as error:
        code = primary_code(error)
        if code in _LOCKED:
            raise StoreLocked(
                f"{printable(source)} is locked by another process ({printable(error)}).",
                f"A moment without an exclusive lock within {busy_timeout:g} seconds.",
                _LATER,
            ) from None
        if code == sqlite3.SQLITE_NOTADB:
            raise no_database(source, error) from None
        if code not in _REFUSED:
            raise
        refusal = str(error)
    else:
        make_plain(copy, source)
        return "backup", taken_at
    taken_at = datetime.now(UTC)
    if not copy_set(source, copy, attempts=_ATTEMPTS, progress=progress):
        raise SnapshotError(
            f"SQLite refused to read {printable(source)} in place ({printable(refusal)}), and its files changed "
            f"in each of {_ATTEMPTS} attempts to copy them as a set.",
            "A store that can be read beside its writer, or one that rests for as long as a copy takes.",
            _LATER,
        )
    make_plain(copy, source)
    return "file set", taken_at


def _backup(source: Path, copy: Path, busy_timeout: float, progress: Progress | None) -> datetime:
    """Copy by the backup API; return the moment at which the read transaction began."""
    copy.touch(mode=0o600)
    with closing(connect(source, "ro", busy_timeout)) as con:
        con.execute("PRAGMA query_only=ON")
        con.execute("BEGIN")
        # Reading one header field takes the read lock, also where the schema is damaged.
        con.execute("PRAGMA schema_version").fetchone()
        taken_at = datetime.now(UTC)
        page_size: int = con.execute("PRAGMA page_size").fetchone()[0]

        def report(_status: int, remaining: int, total: int) -> None:
            if progress is not None:
                progress(total - remaining, total)

        with closing(connect(copy, "rw")) as out:
            # A copy that is cut off is thrown away, so it needs neither a journal nor to be on the disk.
            out.execute("PRAGMA journal_mode=OFF")
            out.execute("PRAGMA synchronous=OFF")
            con.backup(out, pages=max(1, _STEP_BYTES // page_size), progress=report)
        con.execute("ROLLBACK")
    return taken_at


def _room(state: SourceState, further_factor: float) -> int:
    """Bytes needed: a set of files grows by its log while it is recovered."""
    wal = state.wal_bytes or 0
    return int((state.main_bytes + wal) * (1 + further_factor)) + wal + (state.journal_bytes or 0)


def _new_file(directory: Path) -> Path:
    number = 1
    while True:
        copy = directory / ("snapshot.db" if number == 1 else f"snapshot-{number}.db")
        try:
            os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            number += 1
        else:
            return copy


def _unreadable(source: Path, error: OSError) -> SnapshotError:
    return SnapshotError(
        f"{printable(error.filename or source)} cannot be read or written: {error.strerror}.",
        "A store this user may read, and a private directory it may write to.",
        "Run the audit as such a user, or set BUSBAR_AUDIT_TMPDIR.",
    )
