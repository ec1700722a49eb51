"""Arrow batches put into DuckDB by one statement, which runs beside the making of them.

One statement for all of them: one for each batch would cost more than what it stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from queue import Full, Queue
from typing import Any, cast

import duckdb
import pyarrow as pa

__all__ = ["put"]

# Seconds after which it is looked whether the statement still runs.
_PATIENCE = 0.2


class _GivenUp(Exception):
    """No more batches come, and those that came are not to be kept."""


def put(con: duckdb.DuckDBPyConnection, statement: str, batches: Iterator[pa.RecordBatch]) -> int:
    """Run a statement that reads all batches as ``arriving``: each is stored while the next one is made.

    Returns
    -------
    Rows that arrived. Where a batch could not be made, or the statement failed, none of them is kept.

    Raises
    ------
    duckdb.Error : the statement failed. What the making of batches raises is raised as well.
    """
    first = next(batches, None)
    if first is None:
        return 0
    waiting: Queue[Any] = Queue(1)
    rows, last = 0, cast(Any, _GivenUp)
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(_run, con, statement, first.schema, waiting)
        try:
            for batch in chain([first], batches):
                if not _given(waiting, batch, running):
                    break
                rows += batch.num_rows
            else:
                last = None
        finally:
            _given(waiting, last, running)
    running.result()
    return rows


def _run(con: duckdb.DuckDBPyConnection, statement: str, schema: pa.Schema, waiting: Queue[Any]) -> None:
    con.register("arriving", pa.RecordBatchReader.from_batches(schema, _taken(waiting)))
    try:
        con.execute(statement)
    finally:
        con.unregister("arriving")


def _taken(waiting: Queue[Any]) -> Iterator[pa.RecordBatch]:
    while (batch := waiting.get()) is not None:
        if batch is _GivenUp:
            raise _GivenUp
        yield batch


def _given(waiting: Queue[Any], batch: Any, running: Future[None]) -> bool:
    """Whether a batch was given to the statement, which may have ended before."""
    while not running.done():
        try:
            waiting.put(batch, timeout=_PATIENCE)
        except Full:
            continue
        return True
    return False
