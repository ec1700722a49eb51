"""The views of schema ``audit``: made on demand, in the order their texts need them.

A view file is ``queries/views/<family>/<view>.sql``; a view that is put together of parts has one file a part,
``<view>.<part>.sql``, and holds the rows of every part whose tables are in the store. Kinds: ``view``, ``table``
(computed once, and so is a view with such a part), ``part``. Of a small store every view is computed once: to plan a view
anew in each of a hundred queries takes longer than to keep its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import duckdb

from busbar_audit import queries
from busbar_audit.errors import QueryFileError
from busbar_audit.queries import Query
from busbar_audit.stores.family import Derived

_KEYS = ("view", "kind", "about", "applies")


class Views:
    """The view files of one store's family, engine and generation.

    Parameters
    ----------
    con : the audit's DuckDB connection.
    family, engine, generation : of the store.
    tables : tables the store has.
    small : says when a view is made whether all that is loaded is little.
    derived : tables of schema ``source`` that Python makes from loaded ones. fill : puts one there.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        family: str,
        engine: str,
        generation: int,
        tables: Iterable[str],
        small: Callable[[], bool],
        derived: Mapping[str, Derived],
        fill: Callable[[str, Sequence[tuple[str, str]], Iterable[Any]], None],
    ) -> None:
        self._con = con
        self._derived = derived
        self._fill = fill
        self._small = small
        self._counts: dict[str, int] = {}
        self._tables = frozenset(tables)
        self._files: dict[str, list[Query]] = defaultdict(list)
        for query in _of_family(family):
            if query.covers(family, engine, generation):
                self._files[query.header["view"]].append(query)
        self._made: set[str] = set()
        self._known: dict[str, frozenset[str]] = {}
        self._missing: dict[str, str | None] = {}
        self._usable: dict[str, list[Query]] = {}
        for statement in _macros():
            con.execute(statement)

    def names(self) -> list[str]:
        """Names of all views that this store can have, without the schema."""
        return sorted(name for name in self._files if self._parts(name))

    def about(self, name: str) -> str:
        """What a row of the view is, for people."""
        return self._files[name][0].header["about"]

    def tables_of(self, relation: str) -> frozenset[str]:
        """Tables of the store a relation is made from, those the store lacks included."""
        if relation not in self._known:
            schema, _, name = relation.partition(".")
            files = self._files.get(name, []) if schema == "audit" else []
            read = frozenset().union(*(query.reads for query in files))
            below = frozenset().union(*(self.tables_of(inner) for inner in read))
            if schema == "source" and name in self._derived:
                below = self._derived[name].tables
            self._known[relation] = frozenset({name}) if schema == "raw" else below
        return self._known[relation]

    def reads(self, relation: str) -> frozenset[str]:
        """Every relation that one is made from, itself included."""
        schema, _, name = relation.partition(".")
        files = self._files.get(name, []) if schema == "audit" else []
        below = frozenset[str]().union(*(query.reads for query in files))
        return frozenset({relation}).union(*(self.reads(inner) for inner in below))

    def missing(self, relation: str) -> str | None:
        """Why a relation cannot be had of this store, or None."""
        if relation not in self._missing:
            self._missing[relation] = self._lacking(relation)
        return self._missing[relation]

    def _lacking(self, relation: str) -> str | None:
        schema, _, name = relation.partition(".")
        if schema == "raw" and name != "rejects" and name not in self._tables:
            return f"the store has no table {name}"
        if schema == "audit" and not self._files.get(name):
            return f"this generation has no {name}"
        if schema == "audit" and not self._parts(name):
            lacking = sorted(self.tables_of(relation) - self._tables)
            return f"the store has no table {', '.join(lacking)}"
        if schema == "source" and name in self._derived and (lost := self._derived[name].tables - self._tables):
            return f"the store has no table {', '.join(sorted(lost))}"
        return None

    def make(self, relation: str, values: Mapping[str, Any]) -> None:
        """Make a relation of schema ``audit`` and, before it, what it reads. Others are there already or do not exist."""
        schema, _, name = relation.partition(".")
        if schema == "source" and name in self._derived and relation not in self._made:
            self._derive_with_others(name)
        if schema != "audit" or name in self._made:
            return
        parts = self._parts(name)
        if not parts:
            raise QueryFileError(f"View {relation}: {self.missing(relation)}.")
        for part in parts:
            for needed in sorted(part.reads):
                self.make(needed, values)
        kept = self._small() or any(part.header["kind"] == "table" for part in parts)
        body = "\nUNION ALL BY NAME\n".join(f"({part.sql}\n)" for part in parts)
        (statement,) = queries.statements(f"CREATE {'TABLE' if kept else 'VIEW'} audit.{name} AS {body}")
        self._con.execute(statement, parts[0].bind(values))
        self._made.add(name)

    def _derive_with_others(self, name: str) -> None:
        """Make a table of schema ``source``, by way of another one whose reading makes it too: nothing is read twice."""
        for other, derived in self._derived.items():
            if name in derived.beside and f"source.{other}" not in self._made and self._loaded(derived.tables):
                self._derive(other)
        if f"source.{name}" not in self._made:
            self._derive(name)

    def _derive(self, name: str) -> None:
        derived = self._derived[name]
        beside = next((other for other in derived.beside if self._loaded(self._derived[other].tables)), None)
        if derived.both is None or beside is None:
            facts = derived.fill(self._con)
            self._fill(f"source.{name}", facts.columns, facts.rows)
            self._made.add(f"source.{name}")
            return
        facts, others = derived.both(self._con)
        self._fill(f"source.{name}", facts.columns, facts.rows)
        self._made.add(f"source.{name}")
        try:
            self._fill(f"source.{beside}", others.columns, others.rows)
        except duckdb.InterruptException:
            raise
        except Exception:
            # Whoever asks for it is told then, when it is made by itself.
            return
        self._made.add(f"source.{beside}")

    def _loaded(self, tables: Iterable[str]) -> bool:
        told = self._con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'").fetchall()
        return {name for (name,) in told}.issuperset(tables)

    def has(self, relation: str) -> bool:
        """Whether a relation of schema ``audit`` has been made."""
        return relation.partition(".")[2] in self._made

    def count(self, relation: str) -> int:
        """Rows of a relation that has been made, counted once: no source or view changes during a run."""
        if relation not in self._counts:
            row = self._con.execute(f"SELECT count(*) FROM {relation}").fetchone()  # noqa: S608 - names of our own files
            self._counts[relation] = int(row[0]) if row else 0
        return self._counts[relation]

    def _parts(self, name: str) -> list[Query]:
        if name not in self._usable:
            self._usable[name] = [
                query
                for query in self._files.get(name, [])
                if all(self.missing(relation) is None for relation in query.reads)
            ]
        return self._usable[name]


@cache
def _of_family(family: str) -> tuple[Query, ...]:
    paths = sorted((queries.root() / "views" / family).glob("*.sql"))
    return tuple(queries.load(path, keys=_KEYS, optional=("params",)) for path in paths)


@cache
def _macros() -> tuple[duckdb.Statement, ...]:
    texts = (path.read_text(encoding="utf-8") for path in sorted((queries.root() / "macros").glob("*.sql")))
    return tuple(statement for text in texts for statement in queries.statements(text))
