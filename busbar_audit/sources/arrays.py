"""Rows of Python values as Arrow arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from busbar_audit.warehouse import SourceColumn

_ARROW = {"text": pa.string(), "integer": pa.int64(), "blob": pa.binary(), "real": pa.float64()}
_NUMBERS = {"integer": "q", "real": "d"}


def batch(columns: tuple[SourceColumn, ...], rows: list[tuple[Any, ...]], done: int) -> pa.RecordBatch:
    """Rows as a batch with their numbers, which go on after `done`, in the column ``_row`` before the others."""
    arrays = [numbered(done, len(rows))]
    arrays += [_array(column.kind, values) for column, values in zip(columns, zip(*rows, strict=True), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=["_row", *(column.name for column in columns)])


def numbered(done: int, count: int) -> pa.Array:
    """The numbers of `count` rows, after `done` rows before them."""
    return _array("integer", range(done + 1, done + 1 + count))


def _array(kind: str, values: Sequence[Any]) -> pa.Array:
    """Values of one column as an Arrow array. `pa.array` would do, but is slower and loads pandas."""
    count, missing = len(values), None
    if None in values:
        # One bit a value, the lowest first.
        bits = "".join("0" if value is None else "1" for value in reversed(values))
        missing = pa.py_buffer(int(bits, 2).to_bytes((count + 7) // 8, "little"))
        values = [(b"" if kind in ("text", "blob") else 0) if value is None else value for value in values]
    if number := _NUMBERS.get(kind):
        return pa.Array.from_buffers(_ARROW[kind], count, [missing, pa.py_buffer(array(number, values))])
    offsets = array("i", accumulate(map(len, values), initial=0))
    return pa.Array.from_buffers(_ARROW[kind], count, [missing, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])
