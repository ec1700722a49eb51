"""One fault, and what is known after it was planted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from busbar_audit.stores import busbar_pg_shapes

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
class OnPostgres:
    """How a fault comes into a store on PostgreSQL.

    A fault in what rows say is planted in the rows before they are copied there; nothing more is to be told of it.

    rows : whether it is planted in the rows; else by the statements alone.
    before : statements on the empty tables, such as the removal of a constraint that the rows break.
    after : statements on the filled tables, for what is about this engine's own shape.
    short : short codes to expect there, where they are others than on SQLite.
    generations : where it can be planted; by default those of the fault that this engine has as well.
    absent : why there is no such fault on this engine; "" if there is.
    """

    rows: bool = True
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    short: str = ""
    generations: tuple[int, ...] = ()
    absent: str = ""


def by_statements(*after: str, short: str = "", generations: tuple[int, ...] = ()) -> OnPostgres:
    """Return the way of a fault that is statements of PostgreSQL and none of the rows."""
    return OnPostgres(rows=False, after=after, short=short, generations=generations)


def absent(why: str) -> OnPostgres:
    """Return the way of a fault that PostgreSQL cannot have."""
    return OnPostgres(absent=why)


@dataclass(frozen=True)
class Fault:
    """A fault that can be planted.

    generations : SQLite generations it can be planted in; none for a fault that only PostgreSQL has.
    needs : options of `write_busbar` beyond the defaults that the store must have been written with.
    on_postgres : how it comes into a store on that engine.
    """

    name: str
    title: str
    generations: Collection[int]
    apply: Apply
    needs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    on_postgres: OnPostgres = OnPostgres()

    @property
    def on_postgres_in(self) -> tuple[int, ...]:
        """PostgreSQL generations it can be planted in."""
        way = self.on_postgres
        if way.absent or self.needs.get("bodies") == "migrated":  # an upgrade there copies nothing
            return ()
        return way.generations or tuple(n for n in busbar_pg_shapes.GENERATIONS if n in self.generations)


def codes(*short: str) -> frozenset[str]:
    """Return full codes from short ones (`C01` is BUS-C01)."""
    return frozenset(f"BUS-{code}" for code in short)
