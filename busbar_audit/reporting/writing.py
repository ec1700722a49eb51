"""What the system says when a report cannot be written, in our words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from busbar_audit.errors import ReportError
from busbar_audit.text import printable


@contextlib.contextmanager
def told(what: str, place: Path, kept: str) -> Iterator[None]:
    """Turn an error of the system into one that names the place and what is still as it was.

    Raises
    ------
    ReportError : the block ended with an OSError.
    """
    try:
        yield
    except OSError as error:
        raise ReportError(
            f"The {what} in {printable(place)} cannot be written: {error.strerror or error}.",
            f"Expected a place this user may write to, with room for the {what}.",
            kept,
        ) from error
