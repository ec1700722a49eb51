"""The PostgreSQL schema of busbar, generations 6, 10 and 11, in our own spelling.

Source: fact sheet section 3. Each generation is a MetaData, from which an empty store can be created and the expected
shape is told without a server. Generations 7 to 9 were development only and their definitions are not known.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    BIGINT,
    BOOLEAN,
    SMALLINT,
    TEXT,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.schema import CreateIndex, CreateSchema, CreateTable
from sqlalchemy.sql.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from busbar_audit.errors import UsageError
from busbar_audit.stores.shapes import ColumnShape, IndexShape, Shape, TableShape

GENERATIONS = (6, 10, 11)
# Typed tables of the development generations; an upgrade to 10 keeps them and reads them no more.
STRANDED = frozenset({"mcp_calls", "tasks", "task_events", "mcp_demotions", "spent_ask_states"})
TOKENS = ("tokens_input", "tokens_output", "tokens_cache_read", "tokens_cache_write")


def metadata(generation: int, schema: str | None = None) -> MetaData:
    """Return the tables and indexes of one generation (6, 10 or 11), all of them in `schema`."""
    if generation not in GENERATIONS:
        raise UsageError(
            f"busbar PostgreSQL generation {generation}", "expected 6, 10 or 11", "name a generation this version knows"
        )
    meta = MetaData(schema=schema)
    _governance(meta, generation)
    _usage(meta, generation)
    if generation >= 10:
        _planes(meta)
    if generation >= 11:
        _ledger(meta)
    return meta


@cache
def statements(generation: int, schema: str) -> tuple[str, ...]:
    """Return the DDL of one generation: the schema, tables, then indexes."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    meta = metadata(generation, schema)
    tables = [str(CreateTable(table).compile(dialect=dialect)).strip() for table in meta.sorted_tables]
    indexes = [
        str(CreateIndex(index).compile(dialect=dialect))
        for table in meta.sorted_tables
        for index in sorted(table.indexes, key=lambda index: str(index.name))
    ]
    return (str(CreateSchema(schema, if_not_exists=True).compile(dialect=dialect)), *tables, *indexes)


@cache
def expected(generation: int) -> Shape:
    """Return the shape a store of this generation must have.

    Returns
    -------
    Shape without triggers (there are none on this engine); from generation 10 on the typed tables of the development
    generations are legacy names.
    """
    tables, indexes = {}, {}
    for table in metadata(generation).sorted_tables:
        tables[table.name] = TableShape(
            table.name, False, False, tuple(_column_shape(column) for column in table.columns)
        )
        named = [(str(index.name), bool(index.unique), tuple(index.columns.keys())) for index in table.indexes]
        named += [
            (str(unique.name), True, tuple(unique.columns.keys()))
            for unique in table.constraints
            if isinstance(unique, UniqueConstraint)
        ]
        for name, unique_index, columns in named:
            indexes[name] = IndexShape(name, table.name, unique_index, columns, partial=False)
    return Shape(tables, indexes, {}, legacy_tables=STRANDED if generation >= 10 else frozenset())


def _column_shape(column: Column[Any]) -> ColumnShape:
    key = [other.name for other in column.table.primary_key.columns]
    place = key.index(column.name) + 1 if column.name in key else 0
    kind = str(column.type.compile(dialect=postgresql.dialect())).lower()  # type: ignore[no-untyped-call]
    kind = kind.replace(' collate "c"', ' collate "C"')
    default = getattr(column.server_default, "arg", None)
    number = column.autoincrement is True
    return ColumnShape(
        column.name,
        "bigint" if number else kind,
        not column.nullable or bool(place),
        "sequence" if number else None if default is None else str(default),
        place,
    )


def _text(name: str, default: str | None = None, *, null: bool = False, exact: bool = False) -> Column[Any]:
    return _column(name, TEXT(collation="C") if exact else TEXT(), default, null)


def _int(name: str, default: str | None = None, *, null: bool = False) -> Column[Any]:
    return _column(name, BIGINT(), default, null)


def _column(name: str, kind: TypeEngine[Any], default: str | None, null: bool) -> Column[Any]:
    return Column(
        name, kind, nullable=null, server_default=None if default is None else text(default), autoincrement=False
    )


def _table(meta: MetaData, name: str, *items: SchemaItem, pk: tuple[str, ...]) -> Table:
    return Table(name, meta, *items, PrimaryKeyConstraint(*pk, name=f"{name}_pkey"))


def _governance(meta: MetaData, generation: int) -> None:
    _table(meta, "busbar_schema", _int("version"), pk=("version",))
    _table(
        meta,
        "store_revision",
        _column("only_row", BOOLEAN(), "true", null=False),
        _int("revision", "0"),
        CheckConstraint("only_row", name="store_revision_only_row_check"),
        CheckConstraint("revision >= 0", name="store_revision_revision_check"),
        pk=("only_row",),
    )
    added = ("idp_subject", "binding_mode", "minted_by", "allowed_scopes_by_kind")
    keys = _table(
        meta,
        "keys",
        _text("id"),
        _text("generation_hash"),
        _text("name"),
        _text("allowed_pools", null=True),
        _column("enabled", BOOLEAN(), "true", null=False),
        _int("created_at"),
        _text("key_group", null=True),
        _text("labels", "'{}'"),
        _int("expires_at", null=True),
        _int("deleted_at", null=True),
        _int("revision", "0"),
        *([_text(name, null=True) for name in added] if generation >= 10 else ()),
        CheckConstraint("deleted_at IS NULL OR NOT enabled", name="keys_tombstone_disabled"),
        pk=("id",),
    )
    Index("idx_keys_revision", keys.c.revision)
    parent = f"{meta.schema}.keys.id" if meta.schema else "keys.id"
    credentials = _table(
        meta,
        "credentials",
        _text("id"),
        _text("key_id"),
        _text("kind"),
        _column("slot", SMALLINT(), None, null=False),
        _text("public_id"),
        _text("secret", null=True),
        _text("secret_form"),
        _int("created_at"),
        _int("updated_at"),
        _int("expires_at", null=True),
        _int("revoked_at", null=True),
        _text("revoke_reason", null=True),
        _int("revision", "0"),
        ForeignKeyConstraint(["key_id"], [parent], ondelete="CASCADE", name="credentials_key_id_fkey"),
        CheckConstraint("kind = 'sigv4'", name="credentials_kind_check"),
        CheckConstraint("slot IN (0, 1)", name="credentials_slot_check"),
        CheckConstraint("(secret_form = 'none') = (secret IS NULL)", name="credentials_secret_form_matches"),
        UniqueConstraint("kind", "public_id", name="credentials_public_id_uniq"),
        UniqueConstraint("key_id", "kind", "slot", name="credentials_slot_uniq"),
        pk=("id",),
    )
    Index("idx_credentials_revision", credentials.c.revision)
    Index("idx_credentials_key_id", credentials.c.key_id)
    _table(meta, "denylist", _text("sub"), _text("reason", "''"), _int("created_at", "0"), pk=("sub",))
    names = ("action", "resource", "outcome", "principal", "prev_hash", "hash")
    _table(meta, "audit_log", _int("seq"), _int("ts"), *(_text(name) for name in names), pk=("seq",))


def _usage(meta: MetaData, generation: int) -> None:
    requests = ("requests", "billable_requests")
    window = ("bucket_id", "window_start")
    _table(
        meta, "usage_windows", _text("bucket_id"), _int("window_start"), *(_int(n, "0") for n in requests), pk=window
    )
    _table(
        meta,
        "usage_ledger",
        _text("bucket_id"),
        _int("window_start"),
        _text("model"),
        *(_int(name, "0") for name in TOKENS),
        pk=(*window, "model"),
    )
    new = generation >= 10
    key = ("key_id", "bucket", "model", "provider", *(("priced_from_ms",) if new else ()))
    metering = _table(
        meta,
        "usage_metering",
        _text("key_id"),
        _int("bucket"),
        _text("model"),
        _text("provider"),
        *(_int(name, "0") for name in (*TOKENS, *requests)),
        _text("key_group_at_use", "''"),
        _text("pricing_version", "''"),
        *([_int("priced_from_ms", "0")] if new else ()),
        pk=key,
    )
    Index("idx_usage_metering_bucket", metering.c.bucket)
    if not new:
        return
    _table(
        meta,
        "usage_ledger_units",
        _text("bucket_id"),
        _int("window_start"),
        _text("model"),
        _text("unit", exact=True),
        _int("count", "0"),
        pk=(*window, "model", "unit"),
    )
    units = _table(
        meta,
        "usage_metering_units",
        _text("key_id"),
        _int("bucket"),
        _text("model"),
        _text("provider"),
        _int("priced_from_ms", "0"),
        _text("unit", exact=True),
        _int("count", "0"),
        pk=(*key, "unit"),
    )
    Index("idx_usage_metering_units_bucket", units.c.bucket)


def _planes(meta: MetaData) -> None:
    def stated() -> CheckConstraint:
        return CheckConstraint("disposition IN ('active', 'terminal')")

    records = _table(
        meta,
        "plane_records",
        _text("kind", exact=True),
        _text("id", exact=True),
        _text("parent", null=True, exact=True),
        _int("seq", "0"),
        _int("ts"),
        _text("disposition"),
        _column("body", BYTEA(), None, null=False),
        stated(),
        pk=("kind", "id"),
    )
    Index("plane_records_kind_ts_idx", records.c.kind, records.c.ts)
    Index("plane_records_kind_parent_idx", records.c.kind, records.c.parent)
    chain = _table(
        meta,
        "plane_chain",
        _text("kind", exact=True),
        _text("parent", exact=True),
        _int("seq"),
        _text("id", exact=True),
        _int("ts"),
        _text("disposition"),
        _column("body", BYTEA(), None, null=False),
        stated(),
        pk=("kind", "parent", "seq"),
    )
    Index("plane_chain_kind_ts_idx", chain.c.kind, chain.c.ts)
    _table(
        meta,
        "plane_tokens",
        _text("kind", exact=True),
        _text("token", exact=True),
        _int("expires_at"),
        pk=("kind", "token"),
    )


def _ledger(meta: MetaData) -> None:
    ops = _table(
        meta,
        "store_ops",
        _column("op_id", BYTEA(), None, null=False),
        _text("body"),
        _text("answer"),
        _int("recorded_at"),
        pk=("op_id",),
    )
    Index("store_ops_recorded_at_idx", ops.c.recorded_at)
    _table(
        meta,
        "store_journal",
        _text("stream", exact=True),
        _int("seq"),
        _column("record", BYTEA(), None, null=False),
        pk=("stream", "seq"),
    )
    _table(meta, "store_sessions", _int("session"), _text("node"), _text("principal"), pk=("session",))
    _table(
        meta,
        "store_records",
        _text("schema_id", exact=True),
        _column("key", BYTEA(), None, null=False),
        _column("value", BYTEA(), None, null=False),
        pk=("schema_id", "key"),
    )
    _table(meta, "money_slots", _text("slot", exact=True), _int("cap"), _int("config_gen"), _int("used"), pk=("slot",))
    number: Column[Any] = Column("slice_id", BIGINT(), nullable=False, autoincrement=True)
    _table(meta, "money_slices", number, _text("slot"), _int("remaining"), pk=("slice_id",))
