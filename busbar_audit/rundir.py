"""The private directory of one run: copies of stores and everything derived from them.

It is removed at the end of the run. A killed run leaves its directory behind, and the next run removes it: a run holds
a lock on `owner.lock` in its directory for as long as it lives, so a free lock means that nobody is there any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from busbar_audit.errors import SnapshotError
from busbar_audit.text import printable

VARIABLE = "BUSBAR_AUDIT_TMPDIR"
_LOCK = "owner.lock"
_NAME = re.compile(r"busbar-audit-[0-9a-f]{16}")


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """Make a private directory for this run; remove it at the end, and those of runs that were killed.

    Yields
    ------
    Path
        ``busbar-audit-<random>``, mode 0700, under ``$BUSBAR_AUDIT_TMPDIR`` or the system's temporary directory.

    Raises
    ------
    SnapshotError
        No directory can be made there.
    """
    try:
        parent = Path(os.environ.get(VARIABLE) or tempfile.gettempdir()).resolve()
        remove_abandoned(parent)
        path, lock = create(parent)
    except OSError as error:
        raise SnapshotError(
            f"No private directory can be made: {error.strerror}: {printable(error.filename or '')}.",
            "A directory this user may write to, with room for a copy of the store.",
            f"Set {VARIABLE} to one.",
        ) from None
    try:
        yield path
    finally:
        remove(path)
        os.close(lock)


def remove_abandoned(parent: Path) -> int:
    """Remove the directories that killed runs of this user left under `parent`; return how many."""
    removed = 0
    with os.scandir(parent) as entries:
        names = [entry.name for entry in entries if _NAME.fullmatch(entry.name)]
    for name in names:
        # What cannot be removed is left alone: clearing up after others must not stop this run.
        with contextlib.suppress(OSError):
            removed += _remove_if_abandoned(parent / name)
    return removed


def create(parent: Path) -> tuple[Path, int]:
    """Make the directory and take its lock.

    Another run may look at the directory at any moment. Before the lock is taken it may take the directory for an
    abandoned one and remove it, so once the lock is held, it must still be the lock in the directory; else once more.
    """
    while True:
        path = parent / f"busbar-audit-{secrets.token_hex(8)}"
        path.mkdir(mode=0o700)
        lock = -1
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(lock), (path / _LOCK).lstat()):
                return path, lock
        except FileNotFoundError:
            pass
        except BaseException:
            if lock >= 0:
                os.close(lock)
            shutil.rmtree(path, ignore_errors=True)
            raise
        if lock >= 0:
            os.close(lock)


def _remove_if_abandoned(path: Path) -> bool:
    """Remove one directory if it is this user's and no living run holds its lock."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        # Killed before it made its lock, or about to make it. An empty directory is all that may go;
        # a run that finds its directory gone makes another.
        path.rmdir()
        return True
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its run is alive
        if not os.path.samestat(os.fstat(lock), (path / _LOCK).lstat()):
            return False
        remove(path)
        return not path.exists()
    finally:
        os.close(lock)


def remove(path: Path) -> None:
    """Remove the directory, its lock last: if this is cut off in the middle, the next run can go on."""
    with contextlib.suppress(OSError):
        for entry in list(path.iterdir()):
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, onerror=_unlock_and_retry)
            else:
                entry.unlink(missing_ok=True)
        (path / _LOCK).unlink(missing_ok=True)
        path.rmdir()


def _unlock_and_retry(action: object, name: str, error: object) -> None:
    """Let a directory inside the run directory that was made read-only go as well."""
    entry = Path(name)
    with contextlib.suppress(OSError):
        entry.parent.chmod(0o700)
        if entry.is_dir() and not entry.is_symlink():
            entry.chmod(0o700)
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
