"""The SQLite schema of busbar, generation by generation (5 to 12), in our own spelling.

Source: fact sheet section 2. Each generation is a MetaData; an empty store can be created from it, and its shape is
read back from such a store, so that what is expected and what is found went through the same reader.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any

from sqlalchemy import (
    BLOB,
    INTEGER,
    TEXT,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from busbar_audit.errors import UsageError
from busbar_audit.stores.shapes import Shape, TableShape, read

GENERATIONS = range(5, 13)
LEGACY_TABLES = frozenset({"tasks", "task_events", "mcp_demotions", "spent_ask_states"})
COUNTERS = ("requests", "billable_requests", "tokens_input", "tokens_output", "tokens_cache_read", "tokens_cache_write")

# name, table, definition, first generation, last generation
TRIGGERS: tuple[tuple[str, str, str, int, int], ...] = (
    (
        "keys_guard_hard_delete",
        "keys",
        """CREATE TRIGGER keys_guard_hard_delete BEFORE DELETE ON keys
        WHEN EXISTS (SELECT 1 FROM usage_metering WHERE key_id = OLD.id)
        BEGIN SELECT RAISE(ABORT, 'this key still has metering rows'); END""",
        5,
        12,
    ),
    (
        "keys_cascade_credentials",
        "keys",
        """CREATE TRIGGER keys_cascade_credentials AFTER DELETE ON keys
        BEGIN DELETE FROM credentials WHERE key_id = OLD.id; END""",
        5,
        12,
    ),
    (
        "audit_log_no_update",
        "audit_log",
        """CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
        BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END""",
        5,
        12,
    ),
    (
        "audit_log_no_delete",
        "audit_log",
        """CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
        BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END""",
        5,
        12,
    ),
    (
        "mcp_calls_no_update",
        "mcp_calls",
        """CREATE TRIGGER mcp_calls_no_update BEFORE UPDATE ON mcp_calls
        BEGIN SELECT RAISE(ABORT, 'a call record is never changed'); END""",
        7,
        12,
    ),
    (
        "tasks_cascade_events",
        "tasks",
        """CREATE TRIGGER tasks_cascade_events AFTER DELETE ON tasks
        BEGIN DELETE FROM task_events WHERE task_id = OLD.task_id; END""",
        8,
        9,
    ),
    (
        "plane_records_chain_no_update",
        "plane_records",
        """CREATE TRIGGER plane_records_chain_no_update BEFORE UPDATE ON plane_records WHEN OLD.parent IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'a chained plane record is never changed'); END""",
        10,
        12,
    ),
)


def metadata(generation: int, *, leftovers: bool = False) -> MetaData:
    """Return the tables and indexes of one generation.

    Parameters
    ----------
    generation : 5 to 12, the store's own schema number.
    leftovers : with the tables an upgrade may leave behind (`mcp_calls` from generation 10 on).
    """
    _known(generation)
    meta = MetaData()
    _governance(meta, generation)
    _usage(meta, generation)
    if 7 <= generation <= 9 or (leftovers and generation >= 10):
        _calls(meta)
    if 8 <= generation <= 9:
        _tasks(meta)
    if generation == 9:
        _table(meta, "mcp_demotions", _text("server"), _text("reason"), _int("recorded_at"), pk=("server",))
        _table(meta, "spent_ask_states", _text("nonce"), _int("expires_at"), pk=("nonce",))
    if generation >= 10:
        _planes(meta)
    if generation >= 11:
        _ledger(meta, generation)
    return meta


@cache
def statements(generation: int, *, leftovers: bool = False) -> tuple[str, ...]:
    """Return the DDL of one generation: tables, then indexes, then triggers."""
    dialect = sqlite.dialect()
    meta = metadata(generation, leftovers=leftovers)
    tables = [str(CreateTable(t).compile(dialect=dialect)).strip() for t in meta.sorted_tables]
    indexes = [
        str(CreateIndex(i).compile(dialect=dialect))
        for t in meta.sorted_tables
        for i in sorted(t.indexes, key=lambda i: str(i.name))
    ]
    guards = [sql for _, table, sql, first, last in TRIGGERS if first <= generation <= last and table in meta.tables]
    return (*tables, *indexes, *guards)


def trigger_sql(name: str) -> str:
    """Return our definition of one of the store's triggers."""
    return next(sql for known, _, sql, _, _ in TRIGGERS if known == name)


def create(connection: sqlite3.Connection, generation: int, *, leftovers: bool = False) -> None:
    """Create an empty store of a generation in an empty database: schema, version stamp, revision row (0, 0)."""
    for statement in statements(generation, leftovers=leftovers):
        connection.execute(statement)
    connection.execute("INSERT INTO store_revision (id, revision) VALUES (0, 0)")
    connection.execute(f"PRAGMA user_version = {int(generation)}")
    connection.commit()


@cache
def expected(generation: int) -> Shape:
    """Return the shape a store of this generation must have.

    Parameters
    ----------
    generation : 5 to 12.

    Returns
    -------
    Shape; from generation 10 on `mcp_calls` is an optional table (an upgrade leaves it) and the four dropped tables
    are legacy names.
    """
    _known(generation)
    connection = sqlite3.connect(":memory:")
    try:
        create(connection, generation, leftovers=True)
        full = read(connection)
    finally:
        connection.close()
    optional: dict[str, TableShape] = {}
    if generation >= 10:
        optional["mcp_calls"] = full.tables["mcp_calls"]
    return Shape(
        tables={name: table for name, table in full.tables.items() if name not in optional},
        indexes=full.indexes,
        triggers=full.triggers,
        optional_tables=optional,
        legacy_tables=LEGACY_TABLES if generation >= 10 else frozenset(),
    )


def _known(generation: int) -> None:
    if generation not in GENERATIONS:
        raise UsageError(
            f"busbar SQLite generation {generation}", "expected 5 to 12", "name a generation this version knows"
        )


def _text(name: str, default: str | None = None, *, null: bool = False) -> Column[Any]:
    return _column(name, TEXT(), default, null)


def _int(name: str, default: str | None = None, *, null: bool = False) -> Column[Any]:
    return _column(name, INTEGER(), default, null)


def _blob(name: str) -> Column[Any]:
    return _column(name, BLOB(), None, null=False)


def _column(name: str, kind: TypeEngine[Any], default: str | None, null: bool) -> Column[Any]:
    return Column(name, kind, nullable=null, server_default=None if default is None else text(default))


def _counters() -> list[Column[Any]]:
    return [_int(name, "0") for name in COUNTERS]


def _check(name: str, rule: str) -> CheckConstraint:
    return CheckConstraint(rule, name=name)


def _table(
    meta: MetaData, name: str, *items: SchemaItem, pk: tuple[str, ...], rowid: bool = True, **more: Any
) -> Table:
    return Table(name, meta, *items, PrimaryKeyConstraint(*pk), sqlite_strict=True, sqlite_with_rowid=rowid, **more)


def _governance(meta: MetaData, generation: int) -> None:
    _table(meta, "store_meta", _text("k"), _text("v"), pk=("k",), rowid=False)
    _table(meta, "store_revision", _int("id"), _int("revision", "0"), _check("revision_one_row", "id = 0"), pk=("id",))
    added = [_text(n, null=True) for n in ("scope_grants", "idp_subject", "binding_mode", "minted_by")]
    keys = _table(
        meta,
        "keys",
        _text("id"),
        _text("name"),
        _text("key_group", null=True),
        _text("allowed_pools", null=True),
        _text("labels", "'{}'"),
        _int("enabled", "1"),
        _text("generation_hash"),
        _int("created_at"),
        _int("updated_at"),
        _int("expires_at", null=True),
        _int("deleted_at", null=True),
        _int("revision", "0"),
        *(added if generation >= 10 else ()),
        _check("keys_enabled_bool", "enabled IN (0, 1)"),
        _check("keys_pools_json", "allowed_pools IS NULL OR json_type(allowed_pools) = 'array'"),
        _check("keys_labels_json", "json_type(labels) = 'object' AND length(labels) <= 4096"),
        _check("keys_tombstone_off", "deleted_at IS NULL OR enabled = 0"),
        _check("keys_expiry_after", "expires_at IS NULL OR expires_at > created_at"),
        *(
            [_check("keys_scope_grants_json", "scope_grants IS NULL OR json_type(scope_grants) = 'object'")]
            if generation >= 10
            else ()
        ),
        pk=("id",),
    )
    Index("keys_revision_idx", keys.c.revision)
    Index("keys_group_live_idx", keys.c.key_group, sqlite_where=keys.c.deleted_at.is_(None))
    credentials = _table(
        meta,
        "credentials",
        _text("id"),
        _text("key_id"),
        _text("kind"),
        _int("slot"),
        _text("public_id"),
        _text("secret", null=True),
        _text("secret_form"),
        _int("created_at"),
        _int("updated_at"),
        _int("expires_at", null=True),
        _int("revoked_at", null=True),
        _text("revoke_reason", null=True),
        _int("revision", "0"),
        ForeignKeyConstraint(["key_id"], ["keys.id"], ondelete="CASCADE", onupdate="RESTRICT"),
        _check("cred_kind", "kind = 'sigv4'"),
        _check("cred_slot", "slot IN (0, 1)"),
        _check("cred_form", "secret_form IN ('none', 'recoverable', 'digest')"),
        _check("cred_form_null", "(secret_form = 'none') = (secret IS NULL)"),
        _check("cred_sigv4_recov", "kind <> 'sigv4' OR secret_form = 'recoverable'"),
        _check("cred_secret_fmt", "secret IS NULL OR secret GLOB 'v1:?*:?*'"),
        _check("cred_reason_ord", "revoke_reason IS NULL OR revoked_at IS NOT NULL"),
        _check("cred_expiry_after", "expires_at IS NULL OR expires_at > created_at"),
        pk=("id",),
    )
    Index("cred_public_id_uq", credentials.c.kind, credentials.c.public_id, unique=True)
    Index("cred_slot_uq", credentials.c.key_id, credentials.c.kind, credentials.c.slot, unique=True)
    Index("cred_revision_idx", credentials.c.revision)
    _table(meta, "denylist", _text("sub"), _text("reason", "''"), _int("created_at", "0"), pk=("sub",), rowid=False)
    audit = _table(
        meta,
        "audit_log",
        _int("seq", null=True),  # the row id itself; SQLite fills a NULL, so busbar declares no NOT NULL here
        _int("ts"),
        *(_text(n) for n in ("action", "resource", "outcome", "principal", "prev_hash", "hash")),
        pk=("seq",),
    )
    Index("audit_resource_seq_idx", audit.c.resource, audit.c.seq)


def _usage(meta: MetaData, generation: int) -> None:
    window = (_int("window_start"), _text("bucket_id"), _text("model"))
    _table(meta, "usage_windows", *window, *_counters(), pk=("window_start", "bucket_id", "model"), rowid=False)
    new = generation >= 10
    key = ("bucket", "key_id", "provider", "model", *(("priced_from_ms",) if new else ()))
    metering = _table(
        meta,
        "usage_metering",
        *(_text(n) for n in key[:4]),
        _text("key_group_at_use", "''"),
        _text("pricing_version", "''"),
        *_counters(),
        *([_int("priced_from_ms", "0")] if new else ()),
        pk=key,
        rowid=False,
    )
    Index("um_key_bucket_idx", metering.c.key_id, metering.c.bucket)
    if not new:
        return
    _table(
        meta,
        "usage_window_units",
        _int("window_start"),
        _text("bucket_id"),
        _text("model"),
        _text("unit"),
        _int("count", "0"),
        pk=("window_start", "bucket_id", "model", "unit"),
        rowid=False,
    )
    _table(
        meta,
        "usage_metering_units",
        *(_text(n) for n in key[:4]),
        _int("priced_from_ms", "0"),
        _text("unit"),
        _int("count", "0"),
        pk=(*key, "unit"),
        rowid=False,
    )


def _calls(meta: MetaData) -> None:
    calls = _table(
        meta,
        "mcp_calls",
        _text("principal"),
        _int("seq"),
        _int("ts"),
        _text("prev_hash"),
        _text("hash"),
        _text("body"),
        _int("expires_at", null=True),
        _int("version", "0"),
        pk=("principal", "seq"),
    )
    Index("mcp_calls_ts_idx", calls.c.ts)


def _tasks(meta: MetaData) -> None:
    tasks = _table(
        meta,
        "tasks",
        *(_text(n) for n in ("task_id", "context_id", "principal", "direction", "state", "agent_id")),
        _int("artifact_cursor"),
        _text("push_callback"),
        _int("created_at"),
        _int("updated_at"),
        pk=("task_id",),
    )
    Index("tasks_state_updated_idx", tasks.c.state, tasks.c.updated_at)
    names = ("kind", "context_id", "principal", "agent_id", "state", "request_id", "prev_hash", "hash")
    _table(
        meta,
        "task_events",
        _text("task_id"),
        _int("seq"),
        _int("ts"),
        *(_text(n) for n in names),
        pk=("task_id", "seq"),
    )


def _planes(meta: MetaData) -> None:
    records = _table(
        meta,
        "plane_records",
        _text("kind"),
        _text("identity"),
        _int("seq"),
        _text("id"),
        _text("parent", null=True),
        _int("ts"),
        _text("disposition"),
        _blob("body"),
        _check("plane_disposition", "disposition IN ('active', 'terminal')"),
        pk=("kind", "identity", "seq"),
        rowid=False,
    )
    Index("plane_records_kind_ts_idx", records.c.kind, records.c.ts)
    Index("plane_records_kind_parent_idx", records.c.kind, records.c.parent, records.c.seq)
    _table(meta, "plane_tokens", _text("kind"), _text("token"), _int("expires_at"), pk=("kind", "token"), rowid=False)


def _ledger(meta: MetaData, generation: int) -> None:
    ops = _table(
        meta,
        "store_ops",
        _blob("op_id"),
        _text("body"),
        _text("answer"),
        _int("recorded_at"),
        pk=("op_id",),
        rowid=False,
    )
    Index("store_ops_recorded_idx", ops.c.recorded_at)
    _table(meta, "money_caps", _text("slot"), _int("cap"), _int("config_gen"), pk=("slot",), rowid=False)
    _table(meta, "money_used", _text("slot"), _int("used"), pk=("slot",), rowid=False)
    _table(
        meta,
        "money_slices",
        _int("slice_id", null=True),
        _text("slot"),
        _int("remaining"),
        *([_int("valid_until_ms", "-1")] if generation >= 12 else ()),
        pk=("slice_id",),
        sqlite_autoincrement=True,
    )
    _table(meta, "journal", _text("stream"), _int("seq"), _blob("record"), pk=("stream", "seq"), rowid=False)
    sessions = _table(meta, "sessions", _int("session"), _text("node"), _text("principal"), pk=("session",))
    Index("sessions_principal_idx", sessions.c.principal)
    _table(
        meta,
        "schema_records",
        _text("schema"),
        _blob("record_key"),
        _blob("value"),
        pk=("schema", "record_key"),
        rowid=False,
    )
    if generation >= 12:
        _table(meta, "money_epoch", _int("id"), _int("epoch"), _check("epoch_one_row", "id = 0"), pk=("id",))
