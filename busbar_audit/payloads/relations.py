"""The relations ``source.task_payloads`` and ``source.config_payloads``: what the payloads of loaded rows say.

A small store is read payload by payload, a large one by column (`fast`); both tell the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from typing import Any

from busbar_audit.payloads.batch import Batch
from busbar_audit.payloads.lines import CONFIG_COLUMNS, TASK_COLUMNS, Line, config_line, task_line

__all__ = ["CONFIG_COLUMNS", "TASK_COLUMNS", "Line", "batches", "config_lines", "task_lines"]

_BATCH = 5_000
# Of fewer rows the fast reader brings less than importing numpy costs.
_MANY = 2_000
# Of payloads wider than this fewer rows are taken at a time.
_AT_ONCE = 32 << 20


def task_lines(con: Any) -> Iterator[Line | Batch]:
    """Rows of ``source.task_payloads`` in the columns of `TASK_COLUMNS`, from ``raw.a2a_tasks`` of a DuckDB connection."""
    table, columns = "a2a_tasks", "_row, task_proto"
    count, most = _extent(con, table, "task_proto")
    if count >= _MANY:
        # Imported here: it costs a tenth of a second that a small store need not pay.
        from busbar_audit.payloads import fast

        yield from fast.tasks(con, _query(con, table, columns), most)
    else:
        for rows in batches(con, f"SELECT {columns} FROM {{}}.raw.{table}", most):  # noqa: S608 - names of ours
            yield from (task_line(*row) for row in rows)


def config_lines(con: Any) -> Iterator[Line | Batch]:
    """Rows of ``source.config_payloads`` in the columns of `CONFIG_COLUMNS`."""
    key = secrets.token_bytes(16)
    table, columns = "a2a_push_notification_configs", "_row, config_proto, task_id, config_id, url"
    count, most = _extent(con, table, "config_proto")
    if count >= _MANY:
        from busbar_audit.payloads import fast

        yield from fast.configs(con, _query(con, table, columns), most, key)
    else:
        line = partial(config_line, key)
        for rows in batches(con, f"SELECT {columns} FROM {{}}.raw.{table}", most):  # noqa: S608 - names of ours
            yield from (line(*row) for row in rows)


def batches(con: Any, query: str, most: int = _BATCH) -> Iterator[list[Line]]:
    """Rows of a query over loaded tables, so many of them in memory at a time; ``{}`` in it is the database."""
    # A second connection reads while the first one writes: a batch at a time is in memory, however many rows there are.
    with con.cursor() as reading:
        reading.execute(query.format(_database(con)))
        while rows := reading.fetchmany(most):
            yield rows


def _extent(con: Any, table: str, wide: str) -> tuple[int, int]:
    """Rows of a table, and how many of them may be in memory at a time."""
    ((count, widest),) = con.execute(
        f"SELECT count(*), coalesce(max(octet_length({wide})), 0) FROM raw.{table}"  # noqa: S608 - names of ours
    ).fetchall()
    return int(count), max(1, min(_BATCH, _AT_ONCE // (int(widest) + 1)))


def _query(con: Any, table: str, columns: str) -> str:
    return f"SELECT {columns} FROM {_database(con)}.raw.{table}"  # noqa: S608 - names of ours


def _database(con: Any) -> str:
    ((name,),) = con.execute("SELECT current_database()").fetchall()
    return '"' + str(name).replace('"', '""') + '"'
