"""What a family of stores is on one engine: all that the way of the data asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.stores.probes import Guard
from busbar_audit.stores.shapes import Difference, Shape

# table name to the names of its columns
Tables = Mapping[str, set[str]]
# A query with parameters in, its rows out: in the snapshot's own transaction, or on the private copy.
Ask = Callable[..., list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Generation:
    """What the stamp says, what the shape says, and what the store is taken for.

    stamp : of the store, 0 where it has none.
    implied : the lowest generation that has all the tables found (0: older than any known).
    taken : the generation whose rules are applied; None where the stamp is newer than known, or nothing is known.
    """

    stamp: int
    implied: int
    taken: int | None


@dataclass(frozen=True)
class Facts:
    """A table of schema ``source``: columns as (name, DuckDB type), and rows or batches of rows; an iterator is used once."""

    columns: Sequence[tuple[str, str]]
    rows: Iterable[Any]


@dataclass(frozen=True)
class Derived:
    """A table of schema ``source`` that Python makes from loaded tables, as SQL cannot.

    tables : those it is made from. fill : given the DuckDB connection, returns the content.
    beside : others, of which the same reading makes the first one whose tables are loaded as well; `both` returns this
        one's content and then the other's, and their rows have to be taken in this order.
    """

    tables: frozenset[str]
    fill: Callable[[Any], Facts]
    beside: tuple[str, ...] = ()
    both: Callable[[Any], tuple[Facts, Facts]] | None = None


@dataclass(frozen=True)
class Family:
    """One family on one engine.

    Attributes
    ----------
    name, engine : such as ``busbar`` and ``sqlite``.
    oldest, newest, known : the first and last known generation, and all in words.
    recognise : whether tables with these columns are a store of the family; names alone never are.
    stamp : what the store says of its generation, None where it says nothing. It may ask, but the tables it asks for
        have to be there and readable: given are the question function, the shape, and the schema ("" on SQLite).
    stamp_name : what the stamp is called in reports.
    generation : from shape and stamp.
    expected, differences : the shape of a generation, and what a store's shape lacks or has beside it.
    tables : names to look for in a schema (PostgreSQL; a SQLite file is looked at whole).
    guards : append-only triggers that are tried on the private copy (SQLite).
    damaged : code of the check of the file itself; once it finds something, no later check can run.
    always : codes of checks that run on a store of any generation, `damaged` among them.
    evidence : tables whose rows are what is audited; empty where the records of chains are. Without any such row a run
        is inconclusive. evidence_kind : one of them in words.
    derived : tables of schema ``source`` made in Python, by name.
    facts : tables of schema ``source`` read in the snapshot beside the store's own, by name.
    telling : columns by which tables of other names are looked at too, where the product lets its user name them.
    renamed : of tables that have other names here, the name of the family's to the name here.
    """

    name: str
    engine: str
    oldest: int
    newest: int
    known: str
    stamp_name: str
    recognise: Callable[[Tables], bool]
    stamp: Callable[[Ask, Shape, str], int | None]
    generation: Callable[[Shape, int | None], Generation]
    expected: Callable[[int], Shape]
    differences: Callable[[Shape, Shape], tuple[Difference, ...]]
    damaged: str
    always: tuple[str, ...]
    tables: frozenset[str] = frozenset()
    guards: tuple[Guard, ...] = ()
    evidence: frozenset[str] = frozenset()
    evidence_kind: str = "chained record"
    derived: Mapping[str, Derived] = field(default_factory=dict)
    facts: Callable[[Ask, Shape, str], Mapping[str, Facts]] = lambda _ask, _found, _schema: {}
    telling: frozenset[str] = frozenset()
    renamed: Callable[[Tables], Mapping[str, str]] = lambda _tables: {}

    def own(self, tables: Tables) -> Tables:
        """The tables under the names that the family gives them."""
        here = {there: name for name, there in self.renamed(tables).items()}
        return {here.get(name, name): columns for name, columns in tables.items()}
