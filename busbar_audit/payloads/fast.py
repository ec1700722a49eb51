"""Rows of the relations over payloads by column, for a large store: the rows that `lines` gives, some thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from busbar_audit.payloads.a2a_columns import read_configs, read_tasks
from busbar_audit.payloads.batch import Batch
from busbar_audit.payloads.lines import Line, config_line, kind_of, task_line
from busbar_audit.payloads.urls import describe

# Of a URL without a query all is told by what stands before the path, and many callbacks have that in common.
_PLAIN = r"\A([A-Za-z][A-Za-z0-9+.-]*://[^/?&;]*/)[^?&;]*\z"


def tasks(con: Any, query: str, most: int) -> Iterator[Line | Batch]:
    """Rows of ``source.task_payloads``; the query gives ``_row`` and the payload, so many rows at a time."""
    for rows in _batches(con, query, most):
        told = read_tasks(rows.column(1))
        yield _sure([*_head(rows), *map(pa.array, told.values)], told.doubtful)
        yield from (task_line(*row) for row in _left(rows, told.doubtful))


def configs(con: Any, query: str, most: int, key: bytes) -> Iterator[Line | Batch]:
    """Rows of ``source.config_payloads``; the query gives ``_row``, the payload, task id, config id and URL."""
    line = partial(config_line, key)
    for rows in _batches(con, query, most):
        told = read_configs(rows.column(1))
        # One without a URL may be of another numbering.
        doubtful = told.doubtful | pc.equal(told.values[3], "").to_numpy(zero_copy_only=False)
        yield _sure([*_head(rows), *_config(key, rows, told.values)], doubtful)
        yield from (line(*row) for row in _left(rows, doubtful))


def _batches(con: Any, query: str, most: int) -> Iterator[pa.RecordBatch]:
    # A second connection reads while the first one writes: a batch at a time is in memory, however many rows there are.
    with con.cursor() as reading:
        for batch in reading.sql(query).to_arrow_reader(most):
            if batch.num_rows:
                yield batch


def _head(rows: pa.RecordBatch) -> list[Any]:
    count = rows.num_rows
    sizes = pc.cast(pc.binary_length(rows.column(1)), pa.int64())
    return [rows.column(0), sizes, pa.repeat(True, count), pa.nulls(count, pa.string())]


def _config(key: bytes, rows: pa.RecordBatch, told: Sequence[pa.StringArray]) -> list[Any]:
    tenants, ids, own, urls, tokens, schemes, credentials = told
    count = len(urls)
    kinds = pc.dictionary_encode(schemes)
    some = pc.not_equal(credentials, "")
    return [
        pa.repeat(False, count),
        own,
        ids,
        pc.fill_null(pc.not_equal(urls, rows.column(4)), True),
        _marks(key, tenants),
        pc.not_equal(tokens, ""),
        some,
        pa.array(map(kind_of, kinds.dictionary.to_pylist()), pa.string()).take(kinds.indices),
        _marks(key, pc.if_else(some, credentials, tokens)),
        *callbacks(urls),
    ]


def callbacks(urls: pa.StringArray) -> list[Any]:
    """What `describe` tells of each, a column for each thing."""
    told = pc.dictionary_encode(pc.replace_substring_regex(urls, pattern=_PLAIN, replacement=r"\1"))
    columns = zip(*map(describe, told.dictionary.to_pylist()), strict=True)
    return [pa.array(column).take(told.indices) for column in columns]


def _marks(key: bytes, values: pa.StringArray) -> Any:
    """`lines.mark` of each."""
    some = pc.not_equal(values, "")
    if not pc.any(some).as_py():
        return pa.nulls(len(values), pa.int64())
    numbers = pa.array(list(map(hash, zip(repeat(key), values.to_pylist(), strict=False))), pa.int64())
    return pc.if_else(some, numbers, None)


def _sure(columns: Sequence[Any], doubtful: Any) -> Batch:
    """The rows that are not doubtful."""
    if not doubtful.any():
        return Batch(columns)
    return Batch([column.filter(pa.array(~doubtful)) for column in columns])


def _left(rows: pa.RecordBatch, doubtful: Any) -> Iterator[Line]:
    if doubtful.any():
        yield from zip(*(column.filter(pa.array(doubtful)).to_pylist() for column in rows.columns), strict=True)
