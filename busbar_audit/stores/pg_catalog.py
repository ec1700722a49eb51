"""The shape of tables in one schema of a PostgreSQL database, read from pg_catalog; no right on the tables is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from busbar_audit.stores.shapes import ColumnShape, IndexShape, Shape, TableShape, TriggerShape

Rows = Callable[..., list[tuple[Any, ...]]]

_CAST = re.compile(r"::(?:[a-z_ ]+|\"[^\"]+\")$")

# format_type leaves a collation out; it is named where the column has another one than its type.
_COLUMNS = """
SELECT c.relname, a.attname,
    format_type(a.atttypid, a.atttypmod)
        || CASE WHEN a.attcollation <> t.typcollation AND l.collname IS NOT NULL
            THEN ' collate "' || l.collname || '"' ELSE '' END,
    a.attnotnull, CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) ELSE 'generated' END,
    coalesce(array_position(k.conkey, a.attnum), 0)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_collation l ON l.oid = a.attcollation
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND c.relname = ANY(%s)
ORDER BY c.relname, a.attnum
"""
_INDEXES = """
SELECT x.relname, c.relname, i.indisunique AND i.indisvalid,
    ARRAY(SELECT coalesce(a.attname, '') FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS u(attnum, place)
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.attnum AND u.attnum > 0 ORDER BY u.place)::text[],
    i.indpred IS NOT NULL OR NOT i.indisvalid
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class x ON x.oid = i.indexrelid
WHERE n.nspname = %s AND c.relname = ANY(%s) AND NOT i.indisprimary
"""
_TRIGGERS = """
SELECT t.tgname, c.relname FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = ANY(%s) AND NOT t.tgisinternal
"""
_RIGHTS = """
SELECT c.relname, has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid),
    pg_relation_size(c.oid), c.relpersistence = 'u'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND c.relname = ANY(%s)
"""
_SCHEMAS = """
SELECT n.nspname, c.relname, array_agg(a.attname::text) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND (c.relname = ANY(%s) OR c.oid IN (SELECT t.attrelid FROM pg_attribute t WHERE t.attname = ANY(%s)))
GROUP BY n.nspname, c.relname ORDER BY n.nspname, c.relname
"""


@dataclass(frozen=True)
class Rights:
    """What this role may do with one table, and how the server keeps it.

    lacking : why it may not read it, with what to grant; "" if it may. bytes : on the server.
    unlogged : the server empties it after a crash, and a replica never has its rows.
    """

    lacking: str
    bytes: int
    unlogged: bool


def schemas(rows: Rows, names: Collection[str], telling: Collection[str] = ()) -> dict[str, dict[str, set[str]]]:
    """Schemas that have tables of these names, or with one of these columns: schema to table to column names."""
    found: dict[str, dict[str, set[str]]] = {}
    for schema, table, columns in rows(_SCHEMAS, list(names), list(telling)):
        found.setdefault(schema, {})[table] = set(columns)
    return found


def read(rows: Rows, schema: str, names: Collection[str]) -> Shape:
    """Read the shape of the tables of these names in one schema; other tables are passed over."""
    wanted = list(names)
    columns: dict[str, list[ColumnShape]] = {}
    for table, column, kind, notnull, default, place in rows(_COLUMNS, schema, wanted):
        columns.setdefault(table, []).append(ColumnShape(column, kind, notnull, _default(default), place))
    tables = {name: TableShape(name, False, False, tuple(shapes)) for name, shapes in columns.items()}
    indexes = {
        name: IndexShape(name, table, unique, tuple(keys), partial)
        for name, table, unique, keys, partial in rows(_INDEXES, schema, wanted)
    }
    triggers = {
        name: TriggerShape(name, table, "", "", guard=False, when=False, effect="other")
        for name, table in rows(_TRIGGERS, schema, wanted)
    }
    return Shape(tables, indexes, triggers)


def rights(rows: Rows, schema: str, names: Collection[str], role: str) -> dict[str, Rights]:
    """What `role`, the one connected, may read of these tables."""
    found = {}
    for table, usage, select, hidden, size, unlogged in rows(_RIGHTS, schema, list(names)):
        lacking = ""
        if not usage:
            lacking = f"permission denied; GRANT USAGE ON SCHEMA {schema} TO {role}"
        elif not select:
            lacking = f"permission denied; GRANT SELECT ON {schema}.{table} TO {role}"
        elif hidden:
            lacking = f"row-level security may hide rows of {schema}.{table} from {role}; it needs BYPASSRLS"
        found[table] = Rights(lacking, int(size or 0), unlogged)
    return found


def _default(text: str | None) -> str | None:
    """A default in one spelling: without the cast that the server adds; a sequence by that word."""
    if text is None:
        return None
    if text.startswith("nextval("):
        return "sequence"
    return _CAST.sub("", text)
