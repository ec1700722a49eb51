"""Room on the disk, asked for before a copy starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from busbar_audit.errors import NotEnoughSpace
from busbar_audit.text import printable

MARGIN = 16 * 1024 * 1024


def require_space(directory: Path, needed: int, what: str) -> None:
    """Refuse to start if `needed` bytes and a margin do not fit.

    Parameters
    ----------
    directory : where the bytes will go; it exists.
    needed : bytes.
    what : what needs them, for the message.

    Raises
    ------
    NotEnoughSpace
        With the free and the needed bytes.
    """
    free = shutil.disk_usage(directory).free
    if free < needed + MARGIN:
        raise no_space(directory, needed + MARGIN, what, free)


def no_space(directory: Path, needed: int, what: str, free: int | None = None) -> NotEnoughSpace:
    """Build the error for a disk that is too small, or that ran full on the way (`free` None: asked now)."""
    free = shutil.disk_usage(directory).free if free is None else free
    return NotEnoughSpace(
        f"{free:,} bytes are free in {printable(directory)}.",
        f"{needed:,} bytes for {what}.",
        "Make room, or set BUSBAR_AUDIT_TMPDIR to a directory on a larger disk.",
    )
