"""Rows given column by column, where many are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Batch:
    """Rows of one relation. columns : an Arrow array for each column, all of one length."""

    columns: Sequence[Any]

    def rows(self) -> list[tuple[Any, ...]]:
        """The same row by row."""
        return list(zip(*(column.to_pylist() for column in self.columns), strict=True))
