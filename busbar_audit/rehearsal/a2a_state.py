"""The state of an A2A store that a migration is judged by: catalog, files, sequences, and a digest of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from busbar_audit.stores import a2a_catalog
from busbar_audit.stores.a2a_shapes import CONFIG_SEQUENCE, CONFIGS, TASK_SEQUENCE, TASKS

Con = psycopg.Connection[Any]
Row = Mapping[str, Any]
LOCAL = "local_postgres_task"
_KEYS = {TASKS: ("id",), CONFIGS: ("task_id", "config_id")}
_SETTINGS = {
    "search_path": "pg_catalog", "row_security": "off", "TimeZone": "UTC", "DateStyle": "ISO", "IntervalStyle": "postgres",
    "bytea_output": "hex", "extra_float_digits": "1",
}  # fmt: skip
_FILES = """
SELECT c.relname, c.relfilenode::bigint FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = ANY (%s) ORDER BY 1
"""
_SEQUENCES = """
SELECT sequencename::text, last_value FROM pg_catalog.pg_sequences
WHERE schemaname = %s AND sequencename = ANY (%s) ORDER BY 1
"""


@dataclass(frozen=True)
class Catalog:
    """relations : as `a2a_catalog.RELATIONS`, rows by column name. files : relfilenodes. sequences : last values."""

    relations: Mapping[str, list[dict[str, Any]]]
    files: Mapping[str, int]
    sequences: Mapping[str, int | None]

    def columns(self, table: str) -> dict[str, dict[str, Any]]:
        """Columns of one of the two tables by name; none where it is not there."""
        return {r["column_name"]: r for r in self.relations["column_defaults"] if r["table_name"] == table}

    def by_name(self, relation: str) -> dict[str, dict[str, Any]]:
        """Rows of a relation by their name; of functions those of the store's own schema that are meant."""
        rows = self.relations[relation]
        return {r["name"]: r for r in rows if relation != "functions" or (r["here"] and r["intended"])}


@dataclass(frozen=True)
class State:
    """catalog : see `Catalog`. rows : of each table, key to a digest of all columns but the provenance.

    local : provenance by key of the configurations, empty where the column is not there.
    """

    catalog: Catalog
    rows: Mapping[str, Mapping[tuple[str, ...], bytes]]
    local: Mapping[tuple[str, ...], bool | None]


def read_catalog(con: Con, schema: str) -> Catalog:
    """Read what the catalog says of the store in a schema."""

    def ask(query: str, values: Any = None) -> list[tuple[Any, ...]]:
        return con.execute(query.encode(), values).fetchall()

    told = a2a_catalog.read(ask, schema)
    relations = {
        name: [dict(zip((column for column, _ in a2a_catalog.RELATIONS[name]), row, strict=True)) for row in rows]
        for name, rows in told.items()
    }
    for right in relations["role_rights"]:  # in no order of its own
        right["lacking"] = ", ".join(sorted(filter(None, right["lacking"].split(", "))))
    files = {str(name): int(node) for name, node in ask(_FILES, (schema, [TASKS, CONFIGS]))}
    sequences = {str(name): last for name, last in ask(_SEQUENCES, (schema, [TASK_SEQUENCE, CONFIG_SEQUENCE]))}
    return Catalog(relations, files, sequences)


def read_state(con: Con, schema: str, like: State | None = None) -> State:
    """Read catalog and rows in one transaction that writes nothing. Some 200 bytes of memory a row.

    like : an earlier state; digests are of the columns that it had, so that one that was added changes no row.
    """
    with con.transaction():
        con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return state_here(con, schema, like)


def state_here(con: Con, schema: str, like: State | None = None) -> State:
    """Read catalog and rows in the transaction that is open, whose settings are changed for it."""
    for name, value in _SETTINGS.items():
        con.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
    catalog = read_catalog(con, schema)
    rows: dict[str, dict[tuple[str, ...], bytes]] = {}
    local: dict[tuple[str, ...], bool | None] = {}
    for table, key in _KEYS.items():
        there = catalog.columns(table)
        rows[table] = {}
        # A column that is gone takes its values with it: every row is another one then.
        digested = there.keys() if like is None else there.keys() & like.catalog.columns(table).keys()
        if not set(key) <= there.keys():
            continue
        for *values, provenance, digest in _digested(con, schema, table, key, sorted(digested), LOCAL in there):
            rows[table][tuple(values)] = bytes(digest)
            if LOCAL in there:
                local[tuple(values)] = provenance
    return State(catalog, rows, local)


def _digested(con: Con, schema: str, table: str, key: tuple[str, ...], columns: list[str], local: bool) -> Any:
    query = sql.SQL("SELECT {key}, {local}, substr(sha256(textsend(ROW({columns})::text)), 1, 16) FROM {table}").format(
        key=sql.SQL(", ").join(map(sql.Identifier, key)),
        local=sql.Identifier(LOCAL) if local else sql.SQL("NULL::boolean"),
        columns=sql.SQL(", ").join(sql.Identifier(name) for name in columns if name != LOCAL),
        table=sql.Identifier(schema, table),
    )
    with con.cursor(name="rehearsal") as cursor:
        cursor.itersize = 10_000
        cursor.execute(query)
        yield from cursor


def differing(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """What differs of two mappings: ``lost``, ``new`` or ``changed``, and the key; ordered."""
    found = [("lost", key) for key in before.keys() - after.keys()]
    found += [("new", key) for key in after.keys() - before.keys()]
    found += [("changed", key) for key in before.keys() & after.keys() if before[key] != after[key]]
    return sorted(found, key=repr)


def unlike(before: State, after: State) -> list[tuple[str, Any]]:
    """All that differs of two states: which part, and the differing things in it; empty where they are equal."""
    old, new = before.catalog, after.catalog
    parts: dict[str, tuple[Mapping[Any, Any], Mapping[Any, Any]]]
    parts = {name: (_counted(old.relations[name]), _counted(new.relations[name])) for name in old.relations}
    parts |= {"files": (old.files, new.files), "sequences": (old.sequences, new.sequences)}
    parts |= {table: (before.rows[table], after.rows[table]) for table in before.rows}
    parts["provenance"] = (before.local, after.local)
    return [(part, each) for part, both in parts.items() for each in differing(*both)]


def _counted(rows: list[dict[str, Any]]) -> dict[Any, Any]:
    """Rows by their text, with how often each is there."""
    return dict(Counter(repr(sorted(row.items(), key=repr)) for row in rows))
