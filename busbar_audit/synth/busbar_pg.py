"""Write a synthetic busbar store into a PostgreSQL schema: the rows of the SQLite store in this engine's shape."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from busbar_audit.errors import AuditError, OutputExists, UsageError
from busbar_audit.snapshot.conninfo import Words
from busbar_audit.snapshot.postgres import connect
from busbar_audit.stores import busbar_pg_shapes as shapes
from busbar_audit.synth.busbar import SynthStore, write_busbar
from busbar_audit.synth.fault import Planted
from busbar_audit.synth.faults import ON_POSTGRES, on_postgres, plant_rows
from busbar_audit.text import printable

# Where each table's rows come from: the query over the SQLite store. Columns stand in the order of the query.
_PLAIN = {
    "store_revision": ("only_row, revision", "SELECT 1, revision FROM store_revision"),
    "keys": (
        "id, generation_hash, name, allowed_pools, enabled, created_at, key_group, labels, expires_at, deleted_at, revision",
        "SELECT id, generation_hash, name, allowed_pools, enabled, created_at, key_group, labels, expires_at, deleted_at, "
        "revision FROM keys",
    ),
    "credentials": (
        "id, key_id, kind, slot, public_id, secret, secret_form, created_at, updated_at, expires_at, revoked_at, "
        "revoke_reason, revision",
        "SELECT id, key_id, kind, slot, public_id, secret, secret_form, created_at, updated_at, expires_at, revoked_at, "
        "revoke_reason, revision FROM credentials",
    ),
    "denylist": ("sub, reason, created_at", "SELECT sub, reason, created_at FROM denylist"),
    "audit_log": (
        "seq, ts, action, resource, outcome, principal, prev_hash, hash",
        "SELECT seq, ts, action, resource, outcome, principal, prev_hash, hash FROM audit_log",
    ),
    "usage_windows": (
        "bucket_id, window_start, requests, billable_requests",
        "SELECT bucket_id, window_start, requests, billable_requests FROM usage_windows WHERE model = ''",
    ),
    "usage_ledger": (
        "bucket_id, window_start, model, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write",
        "SELECT bucket_id, window_start, model, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write "
        "FROM usage_windows WHERE model <> ''",
    ),
    "usage_metering": (
        "key_id, bucket, model, provider, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, requests, "
        "billable_requests, key_group_at_use, pricing_version",
        "SELECT key_id, CAST(bucket AS INTEGER), model, provider, tokens_input, tokens_output, tokens_cache_read, "
        "tokens_cache_write, requests, billable_requests, key_group_at_use, pricing_version FROM usage_metering",
    ),
}
_SINCE_10 = {
    "usage_ledger_units": (
        "bucket_id, window_start, model, unit, count",
        "SELECT bucket_id, window_start, model, unit, count FROM usage_window_units",
    ),
    "usage_metering_units": (
        "key_id, bucket, model, provider, priced_from_ms, unit, count",
        "SELECT key_id, CAST(bucket AS INTEGER), model, provider, priced_from_ms, unit, count FROM usage_metering_units",
    ),
    "plane_records": (
        "kind, id, parent, seq, ts, disposition, body",
        "SELECT kind, id, parent, seq, ts, disposition, body FROM plane_records WHERE parent IS NULL",
    ),
    "plane_chain": (
        "kind, parent, seq, id, ts, disposition, body",
        "SELECT kind, parent, seq, id, ts, disposition, body FROM plane_records WHERE parent IS NOT NULL",
    ),
    "plane_tokens": ("kind, token, expires_at", "SELECT kind, token, expires_at FROM plane_tokens"),
}
_SINCE_11 = {
    "store_ops": ("op_id, body, answer, recorded_at", "SELECT op_id, body, answer, recorded_at FROM store_ops"),
    "store_journal": ("stream, seq, record", "SELECT stream, seq, record FROM journal"),
    "store_sessions": ("session, node, principal", "SELECT session, node, principal FROM sessions"),
    "store_records": ("schema_id, key, value", "SELECT schema, record_key, value FROM schema_records"),
    "money_slots": (
        "slot, cap, config_gen, used",
        "SELECT slot, cap, config_gen, coalesce(used, 0) FROM money_caps LEFT JOIN money_used USING (slot)",
    ),
    "money_slices": ("slot, remaining", "SELECT slot, remaining FROM money_slices ORDER BY slice_id"),
}
_BOOLEANS = {("keys", "enabled"), ("store_revision", "only_row")}


def write_busbar_pg(
    conninfo: str, schema: str, *, generation: int, faults: Collection[str] = (), **options: Any
) -> tuple[SynthStore, list[Planted]]:
    """Write one store; the same arguments always give the same rows, and those of `write_busbar` with these arguments.

    Parameters
    ----------
    conninfo : of a database this role may create a schema in.
    schema : to be made; if it is there, it must hold no table.
    generation : 6, 10 or 11.
    faults : names of `ON_POSTGRES`, to be planted in this order; the options their faults need have to be among `options`.
    options : of `write_busbar`, without those of its file.

    Returns
    -------
    SynthStore, its path the name of the schema, and what an audit must say of each fault.

    Raises
    ------
    OutputExists : the schema holds tables.
    UsageError : an option or a fault that is unknown or that this generation or engine cannot have.
    AuditError : the server refused it; nothing was written.
    """
    if generation not in shapes.GENERATIONS:
        raise UsageError(f"generation {generation} on PostgreSQL", "expected 6, 10 or 11", "name one of them")
    for name in faults:
        on_postgres(name, generation)
    if options.get("bodies") == "migrated":
        raise UsageError("bodies migrated on PostgreSQL.", "An upgrade there copies nothing.", "Leave the option out.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        made = write_busbar(path, generation=generation, journal="delete", **options)
        planted = [plant_rows(path, name, generation) for name in faults]
        counts = copy_rows(path, conninfo, schema, generation, faults)
    return replace(made, path=Path(schema), counts=counts), planted


def copy_rows(store: Path, conninfo: str, schema: str, generation: int, faults: Collection[str] = ()) -> dict[str, int]:
    """Make a schema of a generation and fill it with the rows of a SQLite store of the same generation.

    A value that the SQLite store may hold and PostgreSQL cannot (a NUL in a text) is refused by the server.

    Parameters
    ----------
    faults : names of `ON_POSTGRES` that `plant_rows` has planted in the store; what is left of them is done here.

    Returns
    -------
    rows copied, by table.

    Raises
    ------
    OutputExists : the schema holds tables.
    AuditError : the server refused it. Nothing was written: it is one transaction.
    """
    tables = {**_PLAIN, **(_SINCE_10 if generation >= 10 else {}), **(_SINCE_11 if generation >= 11 else {})}
    if generation >= 10:
        tables["keys"] = _with(tables["keys"], "allowed_scopes_by_kind", "scope_grants", "idp_subject", "minted_by")
        tables["usage_metering"] = _with(tables["usage_metering"], "priced_from_ms", "priced_from_ms")
    counts = {}
    ways = [ON_POSTGRES[name].on_postgres for name in faults]
    with _writing(conninfo) as target, closing(sqlite3.connect(store)) as source:
        _require_empty(target, schema)
        for statement in shapes.statements(generation, schema):
            target.execute(statement.encode())
        target.execute(sql.SQL("SET LOCAL search_path TO {}, pg_catalog").format(sql.Identifier(schema)))
        for statement in (statement for way in ways for statement in way.before):
            target.execute(statement.encode())
        target.execute(
            sql.SQL("INSERT INTO {} VALUES (%s)").format(sql.Identifier(schema, "busbar_schema")), (generation,)
        )
        for table in ("keys", *(name for name in tables if name != "keys")):
            columns, query = tables[table]
            names = [name.strip() for name in columns.split(",")]
            counts[table] = _fill(target, sql.Identifier(schema, table), table, names, source.execute(query))
        for statement in (statement for way in ways for statement in way.after):
            target.execute(statement.encode())
    return counts


@contextmanager
def _writing(conninfo: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection whose one transaction is committed at the end; errors are told without secrets."""
    words = Words.of(conninfo)
    connection = connect(words)
    try:
        with connection:
            yield connection
    except psycopg.Error as error:
        raise AuditError(
            f"The server refused the synthetic store: {words.masked(error)}.",
            "A role that may create a schema and tables in it.",
            "Nothing was written.",
        ) from None


def _with(table: tuple[str, str], *names: str) -> tuple[str, str]:
    """Add columns to a table's two lists: the first name is the target's of the second; the others are the same in both."""
    columns, query = table
    same = list(names[2:])
    head, tail = query.split(" FROM ")
    return ", ".join([columns, names[0], *same]), f"{', '.join([head, names[1], *same])} FROM {tail}"


def _fill(
    target: psycopg.Connection[Any], into: sql.Identifier, table: str, names: list[str], rows: Iterable[tuple[Any, ...]]
) -> int:
    booleans = [(table, name) in _BOOLEANS for name in names]
    any_boolean = any(booleans)
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(into, sql.SQL(", ").join(map(sql.Identifier, names)))
    count = 0
    with target.cursor() as cursor, cursor.copy(query) as copy:
        for row in rows:
            copy.write_row(_with_booleans(row, booleans) if any_boolean else row)
            count += 1
    return count


def _with_booleans(row: tuple[Any, ...], booleans: list[bool]) -> list[Any]:
    return [bool(value) if truth else value for value, truth in zip(row, booleans, strict=True)]


def _require_empty(target: psycopg.Connection[Any], schema: str) -> None:
    row = target.execute(
        "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'f', 'v', 'm')",
        (schema,),
    ).fetchone()
    if row and row[0]:
        raise OutputExists(
            f"Schema {printable(schema)} holds {row[0]} tables or views.",
            "An empty or a new schema.",
            "Name another one.",
        )
