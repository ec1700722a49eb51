"""One run at a time: a lock that a living process holds on a file, which goes with the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from busbar_audit.errors import ReportError
from busbar_audit.text import printable


@contextlib.contextmanager
def held(lock: Path, what: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock `lock`, whose directory is there, for the block; the file is removed at its end.

    A killed run leaves the file and no lock on it, so that the next run takes it over.

    Parameters
    ----------
    what : what the lock is of, for the message. wait : wait for the other run; for work of a moment.

    Raises
    ------
    ReportError : another run holds it. OSError : the file cannot be made.
    """
    descriptor = _taken(lock, what, wait)
    try:
        yield
    finally:
        # Removed while it is held: whoever opened it before finds another file, or none, under the name and tries again.
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(lock: Path, what: str, wait: bool) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), lock.lstat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise ReportError(
                f"Another run is under way for {printable(what)}.",
                "Expected one run at a time.",
                "Nothing was changed: what was published before is still there. Wait for it to end, or stop it.",
            ) from None
        except FileNotFoundError:
            pass  # the other run ended between the two steps
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
