"""What an error of a PostgreSQL server or of the way to it means for an audit."""

from __future__ import annotations

import psycopg

from busbar_audit.errors import SnapshotError, StoreLocked

LATER = "Nothing was checked. Try again later."
_ENDED = ("57P01", "57P02", "57P03", "25P03")


def explained(error: psycopg.Error, doing: str, said: str) -> SnapshotError:
    """The same for an error of psycopg; `said` is its text without secrets."""
    lost = isinstance(error, psycopg.OperationalError) and error.sqlstate in (None, *_ENDED)
    return meaning(error.sqlstate, doing, said, lost=lost)


def meaning(state: str | None, doing: str, said: str, *, lost: bool) -> SnapshotError:
    """What to tell.

    Parameters
    ----------
    state : SQLSTATE, None where the server gave none.
    doing : what was being done. said : the message, without secrets.
    lost : the connection is gone.
    """
    if state == "55P03":
        return StoreLocked(
            f"A lock held by another session kept the server from {doing}: {said}.", "A table that can be read.", LATER
        )
    if state == "57014":
        return SnapshotError(
            f"The server ended {doing}: {said}.",
            "A statement that ends within statement_timeout.",
            "Nothing was checked. Audit at a quieter time, or a replica.",
        )
    if state == "40001":
        return SnapshotError(
            f"The replica could not keep the snapshot during {doing}: {said}.",
            "A snapshot that lives as long as loading does.",
            "Nothing was checked. Raise max_standby_streaming_delay or set hot_standby_feedback, or audit the primary.",
        )
    if state == "42501":
        return SnapshotError(
            f"This role may not do {doing}: {said}.",
            "USAGE on the schema and SELECT on its tables, without row-level security.",
            "Nothing was checked. See docs/postgres-role.sql.",
        )
    if lost:
        return SnapshotError(
            f"The connection was lost during {doing}: {said}.", "One connection from begin to end.", LATER
        )
    return SnapshotError(f"The server refused {doing}: {said}.", "A database that can be read.", LATER)
