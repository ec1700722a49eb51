"""A store copied as a set of files, where SQLite itself may not or need not open it.

A main file with its write-ahead log, or with its rollback journal, is a complete store at every moment at which none
of the files changes: that is what SQLite relies on after a power failure. So the set is copied, read once more, and
taken only if identity, size and times of every file are the same before and after and every byte read again is that of
the copy; SQLite recovers in the copy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from busbar_audit.target import beside

SET = ("", "-wal", "-journal")
_CHUNK = 4 * 1024 * 1024
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Mark:
    """One file at one moment."""

    file: tuple[int, int]
    size: int
    mtime_ns: int
    ctime_ns: int


def copy_set(source: Path, copy: Path, *, attempts: int, progress: Progress | None = None) -> bool:
    """Copy the main file and its log or journal; False if they did not hold still in any attempt.

    Parameters
    ----------
    source : main file. It and its companions are only read.
    copy : main file of the copy; its companions get the same suffixes beside it. Overwritten, removed on failure.
    attempts : how often to try.
    progress : called with bytes done and bytes in all (reading twice).
    """
    for attempt in range(attempts):
        if attempt:
            time.sleep(0.1 * attempt)
        done = False
        try:
            done = _copy_once(source, copy, progress)
        except FileNotFoundError:
            pass  # a log or journal went away in between: not still
        finally:
            if not done:
                remove_set(copy)
        if done:
            return True
    return False


def remove_set(copy: Path) -> None:
    """Remove a copy with everything SQLite keeps beside it."""
    for suffix in (*SET, "-shm"):
        beside(copy, suffix).unlink(missing_ok=True)


def _copy_once(source: Path, copy: Path, progress: Progress | None) -> bool:
    before = _marks(source)
    total = 2 * sum(mark.size for mark in before.values())
    seen = 0

    def report(count: int) -> None:
        nonlocal seen
        seen += count
        if progress is not None:
            progress(min(seen, total), total)

    for suffix in before:
        _stream(beside(source, suffix), beside(copy, suffix), report)
    if _marks(source) != before:
        return False
    same = all(_same(beside(source, suffix), beside(copy, suffix), report) for suffix in before)
    return same and _marks(source) == before


def _marks(source: Path) -> dict[str, _Mark]:
    marks = {}
    for suffix in SET:
        try:
            state = beside(source, suffix).stat()
        except FileNotFoundError:
            continue
        marks[suffix] = _Mark((state.st_dev, state.st_ino), state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return marks


def _stream(source: Path, copy: Path, report: Callable[[int], None]) -> None:
    """Write what a file holds to `copy`."""
    target = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    buffer = memoryview(bytearray(_CHUNK))
    try:
        with source.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                rest = buffer[:count]
                while rest:
                    rest = rest[os.write(target, rest) :]
                report(count)
    finally:
        os.close(target)


def _same(source: Path, copy: Path, report: Callable[[int], None]) -> bool:
    """Whether two files hold the same bytes now."""
    with source.open("rb") as one, copy.open("rb") as other:
        while part := one.read(_CHUNK):
            if other.read(_CHUNK) != part:
                return False
            report(len(part))
        return not other.read(1)
