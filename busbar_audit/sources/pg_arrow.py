"""Large tables of a PostgreSQL database as Arrow batches, by a second connection that joins the snapshot.

The driver reads COPY in C, so no row passes through Python. Where a second connection cannot be had (a limit of the role,
a way to log in that this driver does not know, a pooler in front of several servers) nothing is lost but time: the table
is read by the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from busbar_audit.errors import SnapshotError
from busbar_audit.snapshot.pg_errors import LATER, meaning
from busbar_audit.snapshot.postgres import PostgresSnapshot

# So that a scan begins at the first page and is one: the rows of a table that nobody changes come in the same order again.
_ORDERLY = {"synchronize_seqscans": "off", "max_parallel_workers_per_gather": "0"}
_BATCH = "adbc.postgresql.batch_size_hint_bytes"
SEES = "SELECT txid_current_snapshot()::text"


class Joined:
    """A connection in a transaction of its own, begun with the snapshot of another one."""

    def __init__(self, snapshot: PostgresSnapshot) -> None:
        self._words = snapshot.words
        self._connection = dbapi.connect(snapshot.words.line(), autocommit=False)
        try:
            for statement in (
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
                # The server's own id, and names and numbers of ours: nothing of the store.
                f"SET TRANSACTION SNAPSHOT '{snapshot.snapshot}'",
                *(f"SET LOCAL {name} = '{value}'" for name, value in (*snapshot.settings.items(), *_ORDERLY.items())),
            ):
                with self._connection.cursor() as cursor:
                    cursor.execute(statement)
            self.sees = self._sees()
        except BaseException:
            self.close()
            raise

    def batches(self, query: str, doing: str, size: int) -> Iterator[pa.RecordBatch]:
        """The rows of a query in batches of about `size` bytes.

        Raises
        ------
        SnapshotError, StoreLocked : the server ended it, or the transaction was not the same to the end.
        """
        try:
            with self._connection.cursor(adbc_stmt_kwargs={_BATCH: str(size)}) as cursor:
                cursor.execute(query)
                yield from cursor.fetch_record_batch()
            if self._sees() != self.sees:
                raise SnapshotError(
                    f"The statements did not stay in one transaction during {doing}.", "One snapshot to the end.", LATER
                )
        except (Error, pa.ArrowException, OSError) as error:
            raise self._explained(error, doing) from None

    def close(self) -> None:
        """Close the connection, whatever its state."""
        with suppress(Error, RuntimeError):
            self._connection.close()

    def _sees(self) -> Any:
        with self._connection.cursor() as cursor:
            cursor.execute(SEES)
            return cursor.fetchone()

    def _explained(self, error: BaseException, doing: str) -> SnapshotError:
        state = getattr(error, "sqlstate", None)
        said = self._words.masked(error)
        # The driver's own words stand before those of the server.
        said = said.rpartition("ERROR:")[2].strip()
        return meaning(state, doing, said, lost=state is None or state.startswith(("08", "57P")))


def joined(snapshot: PostgresSnapshot) -> Joined | None:
    """A second connection that sees what the snapshot shows, or None where it cannot be had."""
    try:
        second = Joined(snapshot)
    except (Error, OSError):
        return None
    if [second.sees] == snapshot.rows(SEES):
        return second
    second.close()
    return None
