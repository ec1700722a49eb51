"""A store in one schema of a PostgreSQL database, read in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from psycopg import sql

from busbar_audit.errors import SnapshotError, UnknownFamily, UsageError
from busbar_audit.snapshot.integrity import ForeignKeyViolation
from busbar_audit.snapshot.postgres import PostgresSnapshot, open_postgres
from busbar_audit.sources import arrays
from busbar_audit.sources.base import About
from busbar_audit.stores import a2a, a2a_js, a2a_python, busbar_pg, pg_catalog
from busbar_audit.stores.family import Family
from busbar_audit.stores.probes import Probe
from busbar_audit.stores.shapes import Difference, Shape, TableShape
from busbar_audit.text import printable
from busbar_audit.warehouse import BATCH_BYTES, Loaded, SourceColumn, SourceTable, Warehouse

if TYPE_CHECKING:
    from busbar_audit.sources.pg_arrow import Joined

FAMILIES = (busbar_pg.FAMILY, a2a.FAMILY, a2a_js.FAMILY, a2a_python.FAMILY)
_NAMES = " or ".join(family.name for family in FAMILIES)
_LARGEST = 65536
# Of so many bytes on the server, a second connection brings more than it costs.
_LARGE = 8 << 20


def find_schemas(conninfo: str, family: str | None = None) -> list[tuple[str, str]]:
    """Schema and family of every store of a database, in this order.

    Parameters
    ----------
    family : of this one only.
    """
    snapshot = open_postgres(conninfo)
    try:
        found = _stores(snapshot, family)
        snapshot.end()
    finally:
        snapshot.abandon()
    return [(schema, each.name) for schema, each in found]


def _stores(snapshot: PostgresSnapshot, family: str | None) -> list[tuple[str, Family]]:
    names, telling = (frozenset().union(*sets) for sets in zip(*((f.tables, f.telling) for f in FAMILIES), strict=True))
    return [
        (schema, each)
        for schema, tables in pg_catalog.schemas(snapshot.rows, names, telling).items()
        for each in FAMILIES
        if family in (None, each.name) and each.recognise(each.own(tables))
    ]


class PostgresSource:
    """One schema, its transaction open until `finish`.

    Raises
    ------
    UsageError : several schemas hold a store and none was named.
    UnknownFamily : the database, or the schema named, holds no busbar store.
    NotAStore, SnapshotError : see `open_postgres`.
    """

    def __init__(self, conninfo: str, label: str, schema: str | None, family: str | None = None) -> None:
        self.snapshot: PostgresSnapshot = open_postgres(conninfo)
        try:
            # Names of tables that differ from the family's: all that is asked of the server uses them.
            self._there: Mapping[str, str] = {}
            self.schema, found = self._store(label, schema, family)
            self.about = self._recognise(found)
        except BaseException:
            self.snapshot.abandon()
            raise
        self._joined: Joined | None = None
        self._alone = False

    @property
    def taken_at(self) -> datetime:
        """The moment the transaction began, by the server's clock."""
        return self.snapshot.taken_at

    def load(self, warehouse: Warehouse, table: str) -> Loaded:
        """Load one table in the transaction: in the order of its primary key, a large one in the order of its pages."""
        if self.snapshot.connection.closed:
            raise SnapshotError(
                f"Table {table} was not loaded, and the transaction it would be read in is over.",
                "Tables are loaded before the first check runs.",
                "Load it before the audit, or open the store again.",
            )
        shape = self.about.found.tables[table]
        columns = _columns(shape)
        loaded = warehouse.load_batches(
            SourceTable(table, columns), self.about.rows[table], self._batches(shape, columns)
        )
        self.snapshot.require_unmoved(self.schema, self._there.get(table, table))
        return loaded

    def texts(self, table: str) -> Iterator[dict[str, str | bytes | None]]:
        """Every row of one table in the transaction, in no order: each value as the server writes it, bytea as bytes."""
        shape = self.about.found.tables[table]
        names = [column.name for column in shape.columns]
        asked = [
            sql.SQL("{}" if column.type == "bytea" else "{}::text").format(sql.Identifier(column.name))
            for column in shape.columns
        ]
        query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(asked), self._named(table))
        for rows in self.snapshot.fetched(query, self._batch_rows(shape, _columns(shape)), self._reading(table)):
            for row in rows:
                yield dict(zip(names, row, strict=True))
        self.snapshot.require_unmoved(self.schema, self._there.get(table, table))

    def finish(self) -> None:
        """End the transaction; nothing is asked of the server afterwards."""
        self._part()
        self.snapshot.end()

    def close(self) -> None:
        """Close all connections, whatever their state."""
        self._part()
        self.snapshot.abandon()

    def _part(self) -> None:
        if self._joined is not None:
            self._joined.close()
            self._joined = None

    def _second(self, table: str) -> Joined | None:
        """A second connection for a large table; None where it is not worth it or cannot be had."""
        if self.about.bytes[table] < _LARGE or self._alone:
            return None
        if self._joined is None:
            # Imported here: it costs 0.1 s that a small store need not pay.
            from busbar_audit.sources import pg_arrow

            self._joined = pg_arrow.joined(self.snapshot)
            self._alone = self._joined is None
        return self._joined

    def health(self) -> tuple[list[str], list[ForeignKeyViolation]]:
        """Nothing: a server does not say of its pages what SQLite says of a file."""
        return [], []

    def cleared_calls(self) -> list[str]:
        """Nothing: all chains are looked at in SQL."""
        return []

    def probes(self) -> list[Probe]:
        """Nothing: the tables have no guards to try."""
        return []

    def facts(self) -> Mapping[str, Any]:
        """Nothing of a file."""
        return {"journal_mode": None, "main_bytes": None, "wal_bytes": None}

    def document(self) -> dict[str, Any]:
        """The part ``snapshot`` of result.json."""
        snapshot = self.snapshot
        return {
            "method": snapshot.method,
            "taken_at": snapshot.taken_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "snapshot": snapshot.snapshot,
            "lsn": snapshot.lsn,
            "server_version": printable(snapshot.server_version),
            "system_identifier": snapshot.system_identifier,
            "database": printable(snapshot.database),
            "schema": printable(self.schema),
            "replica": snapshot.replica,
        }

    def _store(self, label: str, named: str | None, family: str | None) -> tuple[str, Family]:
        every = _stores(self.snapshot, family)
        stores = [(schema, each) for schema, each in every if named in (None, schema)]
        told = [f"{printable(schema)} ({each.name})" for schema, each in every]
        if not stores and named is not None:
            raise UnknownFamily(
                f"{label}: schema {printable(named)} holds no {family or _NAMES} store.",
                f"Schemas that do: {', '.join(told) or 'none'}.",
                "Nothing was checked.",
            )
        if not stores:
            raise UnknownFamily(
                f"{label}: no schema holds a {family or _NAMES} store.",
                "Expected the tables and columns of one; names alone are not enough.",
                "Check the database name. Nothing was checked.",
            )
        if len(stores) > 1:
            raise UsageError(
                f"{label} holds {len(stores)} stores, in the schemas {', '.join(told)}.",
                "Exactly one.",
                "Name one with --schema, and --family if one schema holds two.",
            )
        return stores[0]

    def _recognise(self, family: Family) -> About:
        ask, schema = self.snapshot.rows, self.schema
        tables = pg_catalog.schemas(ask, family.tables, family.telling).get(schema, {})
        self._there = family.renamed(tables)
        names = {self._there.get(name, name): name for name in family.tables}
        found = _renamed(pg_catalog.read(ask, schema, names), names)
        rights = {
            names[there]: right for there, right in pg_catalog.rights(ask, schema, names, self.snapshot.role).items()
        }
        unreadable = {name: right.lacking for name, right in rights.items() if right.lacking}
        readable = replace(found, tables={name: t for name, t in found.tables.items() if name not in unreadable})
        generation = family.generation(found, family.stamp(ask, readable, schema))
        expected = family.expected(generation.taken) if generation.taken is not None else None
        return About(
            family,
            generation,
            found,
            expected,
            (*family.differences(expected, found), *_unlogged(expected, rights)) if expected else (),
            {name: self._count(name) for name in readable.tables},
            unreadable,
            {name: right.bytes for name, right in rights.items()},
            family.facts(ask, readable, schema),
            self._there,
        )

    def _named(self, table: str) -> sql.Identifier:
        return sql.Identifier(self.schema, self._there.get(table, table))

    def _count(self, table: str) -> int:
        ((count,),) = self.snapshot.rows(sql.SQL("SELECT count(*) FROM {}").format(self._named(table)))
        return int(count)

    def _batches(self, shape: TableShape, columns: tuple[SourceColumn, ...]) -> Iterator[pa.RecordBatch]:
        done, doing = 0, self._reading(shape.name)
        if second := self._second(shape.name):
            names = ["_row", *(column.name for column in columns)]
            # In the order of its pages: sorting it would write as much again to the server's disk.
            query = self._query(shape, [_plain(column) for column in columns])
            text = query.as_string(self.snapshot.connection)
            for batch in second.batches(text, doing, BATCH_BYTES // 4):
                numbers = arrays.numbered(done, batch.num_rows)
                yield pa.RecordBatch.from_arrays([numbers, *batch.columns], names=names)
                done += batch.num_rows
            return
        query = self._query(shape, [_asked(column) for column in columns]) + sql.SQL(" ORDER BY ") + _order(shape)
        for rows in self.snapshot.fetched(query, self._batch_rows(shape, columns), doing):
            yield arrays.batch(columns, rows, done)
            done += len(rows)

    def _query(self, shape: TableShape, values: Sequence[sql.Composable]) -> sql.Composed:
        return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(values), self._named(shape.name))

    def _reading(self, table: str) -> str:
        return f"reading {printable(self.schema)}.{printable(table)}"

    def _batch_rows(self, shape: TableShape, columns: tuple[SourceColumn, ...]) -> int:
        wide = [
            sql.SQL("coalesce(octet_length({}), 0)").format(_plain(column))
            for column in columns
            if column.kind in ("text", "blob")
        ]
        if not wide:
            return _LARGEST
        query = sql.SQL("SELECT coalesce(max({}), 0)::bigint FROM {}").format(
            sql.SQL(" + ").join(wide), self._named(shape.name)
        )
        ((widest,),) = self.snapshot.rows(query)
        return max(1, min(_LARGEST, BATCH_BYTES // (int(widest) + 64)))


def _renamed(found: Shape, names: Mapping[str, str]) -> Shape:
    """The shape with its tables under the family's names."""
    tables = {names[name]: replace(table, name=names[name]) for name, table in found.tables.items()}
    indexes = {name: replace(index, table=names[index.table]) for name, index in found.indexes.items()}
    triggers = {name: replace(trigger, table=names[trigger.table]) for name, trigger in found.triggers.items()}
    return replace(found, tables=tables, indexes=indexes, triggers=triggers)


def _unlogged(expected: Shape, rights: Mapping[str, pg_catalog.Rights]) -> Iterator[Difference]:
    for name, right in rights.items():
        if right.unlogged and name in expected.tables:
            yield Difference("table-differs", name, "", "UNLOGGED, emptied by the server after a crash")


def _columns(shape: TableShape) -> tuple[SourceColumn, ...]:
    return tuple(SourceColumn(c.name, _kind(c.type), not c.notnull, c.type == "boolean") for c in shape.columns)


def _kind(kind: str) -> str:
    plain = kind.split(" collate ")[0]
    if plain in ("bigint", "integer", "smallint", "boolean"):
        return "integer"
    if plain in ("real", "double precision"):
        return "real"
    return "blob" if plain == "bytea" else "text"


def _plain(column: SourceColumn) -> sql.Composable:
    name = sql.Identifier(column.name)
    if column.kind == "integer":
        # A boolean has no cast to bigint of its own; by way of int it has one.
        return sql.SQL("{}::int::bigint").format(name) if column.boolean else sql.SQL("{}::bigint").format(name)
    if column.kind == "real":
        return sql.SQL("{}::float8").format(name)
    return sql.SQL("{}::text").format(name) if column.kind == "text" else name


def _asked(column: SourceColumn) -> sql.Composable:
    # As bytes: they are UTF-8 there and here, and need not become text in between.
    return sql.SQL("convert_to({}, 'UTF8')").format(_plain(column)) if column.kind == "text" else _plain(column)


def _order(shape: TableShape) -> sql.Composable:
    key = [column for column in sorted(shape.columns, key=lambda c: c.pk_position) if column.pk_position]
    if not key:
        return sql.SQL("ctid")
    # Byte order, whatever the collation of the database: the order in which the other engine has these rows.
    return sql.SQL(", ").join(
        sql.SQL('{} COLLATE "C"').format(sql.Identifier(column.name))
        if _kind(column.type) == "text"
        else sql.Identifier(column.name)
        for column in key
    )
