"""Rows given column by column, where many are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any


@dataclass(frozen=True)
class Batch:
    """Rows of one relation. columns : an Arrow array or a list for each column, all of one length."""

    columns: Sequence[Any]

    def chosen(self, which: Sequence[bool] | None) -> Batch:
        """Those rows alone, of columns that are lists; all of them for None."""
        return self if which is None else Batch([list(compress(column, which)) for column in self.columns])

    def rows(self) -> list[tuple[Any, ...]]:
        """The same row by row, of columns that are Arrow arrays."""
        return list(zip(*(column.to_pylist() for column in self.columns), strict=True))
