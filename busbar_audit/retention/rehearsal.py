"""A purge run for real on a private copy, and which rows it took; the store itself is never written."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

from busbar_audit.retention.simulation import Key
from busbar_audit.retention.verbs import Verb

_BOUND = re.compile(r"\$([a-z][a-z_]*)")


@dataclass(frozen=True)
class Taken:
    """What a purge took: keys by table, seconds, and bytes it wrote to the log (None where that was not measured)."""

    keys: Mapping[str, set[Key]]
    seconds: float
    log_bytes: int | None = None


class Copy(Protocol):
    """A private copy that a purge may be tried on."""

    def keys(self, table: str) -> set[Key]:
        """Primary keys of all rows of a table, each value as text."""

    def tables(self) -> Sequence[str]:
        """Every table of the copy."""

    def purge(self, verb: Verb, values: Mapping[str, Any]) -> Taken:
        """Run a verb, say what it took from any table, and leave the copy as it was."""


def _texts(row: Iterable[Any]) -> Key:
    return tuple(bytes(v).hex() if isinstance(v, bytes | memoryview) else str(v) for v in row)


def _within(values: Mapping[str, Any]) -> dict[str, Any]:
    """A cutoff beyond 64 bits means the same as the last one within: the gateway clamps it, too."""
    return {k: min(max(v, -(2**63)), 2**63 - 1) if isinstance(v, int) else v for k, v in values.items()}


class SqliteCopy:
    """A copy in a SQLite connection of ours, with foreign keys on as the gateway has them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.isolation_level = None
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA recursive_triggers = OFF")
        self.connection = connection
        self._keys: dict[str, str] = {}
        self._before: dict[str, set[Key]] = {}

    @classmethod
    def of(cls, snapshot: Path, place: Path) -> SqliteCopy:
        """A file of its own, made from a finished snapshot."""
        source, target = sqlite3.connect(f"{snapshot.absolute().as_uri()}?mode=ro", uri=True), sqlite3.connect(place)
        try:
            source.backup(target)
        finally:
            source.close()
        target.execute("PRAGMA journal_mode = WAL")
        target.execute("PRAGMA wal_autocheckpoint = 0")
        return cls(target)

    def tables(self) -> Sequence[str]:
        """Every table of the copy."""
        rows = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        return [name for (name,) in rows]

    def keys(self, table: str) -> set[Key]:
        """Primary keys of all rows of a table."""
        if table not in self._keys:
            columns = self.connection.execute(
                "SELECT name, pk FROM pragma_table_info(?) ORDER BY pk", (table,)
            ).fetchall()
            key = [name for name, place in columns if place] or ["rowid"]
            names = ", ".join('"' + name.replace('"', '""') + '"' if name != "rowid" else name for name in key)
            self._keys[table] = f'SELECT {names} FROM "{table}"'  # noqa: S608 - quoted names
        return {_texts(row) for row in self.connection.execute(self._keys[table])}

    def purge(self, verb: Verb, values: Mapping[str, Any]) -> Taken:
        """Run a verb in a transaction that is rolled back."""
        # Every purge is taken back, so what was there before the first one is there before each.
        self._before = self._before or {table: self.keys(table) for table in self.tables()}
        bound, changes = _within(values), self.connection.total_changes
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            started = time.perf_counter()
            for query in verb.purges:
                self.connection.execute(query.sql, {p.name: bound[p.name] for p in query.parameters})
            seconds = time.perf_counter() - started
            # Rows that a trigger or a foreign key deletes are counted in this number, too.
            changed = self.connection.total_changes > changes
            taken = {table: rows - self.keys(table) for table, rows in self._before.items()} if changed else {}
        finally:
            self.connection.execute("ROLLBACK")
        return Taken({table: rows for table, rows in taken.items() if rows}, seconds)


class PostgresCopy:
    """A copy in a schema of a PostgreSQL database that nobody else uses."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self.connection, self.schema = connection, schema
        self._keys: dict[str, sql.Composed] = {}

    def tables(self) -> Sequence[str]:
        """Every table of the copy."""
        rows = self.connection.execute(
            "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p') "
            "ORDER BY 1",
            (sql.Identifier(self.schema).as_string(self.connection),),
        )
        return [name for (name,) in rows.fetchall()]

    def keys(self, table: str) -> set[Key]:
        """Primary keys of all rows of a table."""
        if table not in self._keys:
            rows = self.connection.execute(
                "SELECT a.attname FROM pg_catalog.pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k(number, place) "
                "JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number "
                "WHERE i.indisprimary AND i.indrelid = %s::regclass ORDER BY k.place",
                (sql.Identifier(self.schema, table).as_string(self.connection),),
            ).fetchall()
            names: list[sql.Composable] = [sql.Identifier(name) for (name,) in rows] or [sql.SQL("ctid::text")]
            self._keys[table] = sql.SQL("SELECT {} FROM {}").format(
                sql.SQL(", ").join(names), sql.Identifier(self.schema, table)
            )
        return {_texts(row) for row in self.connection.execute(self._keys[table]).fetchall()}

    def purge(self, verb: Verb, values: Mapping[str, Any]) -> Taken:
        """Run a verb in a transaction that is rolled back; bytes of log are those of the whole server meanwhile."""
        bound = _within(values)
        with self.connection.transaction(force_rollback=True):
            self.connection.execute(
                sql.SQL("SET LOCAL search_path TO {}, pg_catalog").format(sql.Identifier(self.schema))
            )
            before = {table: self.keys(table) for table in self.tables()}
            start = self.connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
            started = time.perf_counter()
            for query in verb.purges:
                text = _BOUND.sub(r"%(\1)s", query.sql.replace("%", "%%"))
                given = {p.name: bound[p.name] for p in query.parameters}
                self.connection.execute(text.encode(), given)
            seconds = time.perf_counter() - started
            written = self.connection.execute(
                "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)::bigint", start
            ).fetchone()
            taken = {table: rows - self.keys(table) for table, rows in before.items()}
        return Taken(
            {table: rows for table, rows in taken.items() if rows}, seconds, int(written[0]) if written else None
        )


def differences(predicted: Mapping[str, set[Key]], taken: Mapping[str, set[Key]]) -> list[tuple[str, str, Key]]:
    """Rows on which prediction and purge do not agree: table, ``predicted`` or ``taken`` alone, key; in this order."""
    found = []
    for table in sorted({*predicted, *taken}):
        said, went = predicted.get(table, set()), taken.get(table, set())
        found += [(table, "predicted", key) for key in sorted(said - went)]
        found += [(table, "taken", key) for key in sorted(went - said)]
    return found
