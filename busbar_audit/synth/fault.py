"""One fault, and what is known after it was planted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Apply = Callable[[sqlite3.Connection], "Planted"]


@dataclass(frozen=True)
class Planted:
    """What an audit must say.

    codes : exactly the finding codes that the fault adds to those of the store without it.
    population, scope : the chain, or the table and '' where the fault is in no chain.
    first_seq, last_seq, records : first and last bad (or absent) record and their number; 0 outside of chains.
    outcome : `finding`, or `could_not_run` where the check of that code must decline to judge.
    """

    codes: frozenset[str]
    population: str = ""
    scope: str = ""
    first_seq: int = 0
    last_seq: int = 0
    records: int = 0
    outcome: str = "finding"


@dataclass(frozen=True)
class Fault:
    """A fault that can be planted.

    generations : SQLite generations it can be planted in.
    needs : options of `write_busbar` beyond the defaults that the store must have been written with.
    """

    name: str
    title: str
    generations: Collection[int]
    apply: Apply
    needs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def codes(*short: str) -> frozenset[str]:
    """Return full codes from short ones (`C01` is BUS-C01)."""
    return frozenset(f"BUS-{code}" for code in short)
