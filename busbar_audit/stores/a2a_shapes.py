"""The PostgreSQL tables of the A2A C++ SDK, generation by generation, in our own spelling.

Source: fact sheet sections 1.1, 1.2 and 2.1. Numbers: 1 first shape, 2 sequence era, 3 foreign-key era, 4 provenance column
without helpers (push-only), 11 to 14 the marked generations v1 to v4. v3a and v3b have one marker and one table shape.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    TEXT,
    TIMESTAMP,
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    Table,
    text,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.schema import CreateIndex, CreateSchema, CreateSequence, CreateTable
from sqlalchemy.types import TypeEngine

from busbar_audit.errors import UsageError
from busbar_audit.stores.shapes import ColumnShape, IndexShape, Shape, TableShape

TASKS, CONFIGS = "a2a_tasks", "a2a_push_notification_configs"
TASK_SEQUENCE, CONFIG_SEQUENCE = "a2a_tasks_created_sequence", "a2a_push_configs_created_sequence"
FOREIGN_KEY = "a2a_push_configs_task_fk"
GENERATIONS = (1, 2, 3, 4, 11, 12, 13, 14)
NAMES = {
    1: "first shape",
    2: "sequence era",
    3: "foreign-key era",
    4: "push-only",
    11: "v1",
    12: "v2",
    13: "v3",
    14: "v4",
}


def metadata(generation: int, schema: str | None = None) -> MetaData:
    """Return the two tables of one generation with their indexes, all of them in `schema`."""
    if generation not in GENERATIONS:
        raise UsageError(
            f"a2a generation {generation}", f"expected one of {GENERATIONS}", "name a generation this version knows"
        )
    meta = MetaData(schema=schema)
    _tasks(meta, generation, schema)
    _configs(meta, generation, schema)
    return meta


def statements(generation: int, schema: str) -> tuple[str, ...]:
    """Return the DDL of one generation: the schema, sequences, tables, then indexes; no helpers and no triggers."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    meta = metadata(generation, schema)
    names = [TASK_SEQUENCE] * (generation >= 2) + [CONFIG_SEQUENCE] * (generation >= 3)
    made = [CreateSequence(Sequence(name, schema=schema)) for name in names]
    indexes = [index for table in meta.sorted_tables for index in sorted(table.indexes, key=lambda i: str(i.name))]
    every: list[Any] = [CreateSchema(schema, if_not_exists=True), *made]
    every += [CreateTable(table) for table in meta.sorted_tables]
    every += [CreateIndex(index) for index in indexes]
    return tuple(str(statement.compile(dialect=dialect)).strip() for statement in every)


@cache
def expected(generation: int) -> Shape:
    """Return the shape a store of this generation must have; the triggers are judged by checks of their own."""
    tables, indexes = {}, {}
    for table in metadata(generation).sorted_tables:
        tables[table.name] = TableShape(table.name, False, False, tuple(_shape(column) for column in table.columns))
        for index in table.indexes:
            columns = tuple(index.columns.keys())
            indexes[str(index.name)] = IndexShape(str(index.name), table.name, False, columns, partial=False)
    return Shape(tables, indexes, {})


def _shape(column: Column[Any]) -> ColumnShape:
    key = [other.name for other in column.table.primary_key.columns]
    place = key.index(column.name) + 1 if column.name in key else 0
    kind = str(column.type.compile(dialect=postgresql.dialect())).lower()  # type: ignore[no-untyped-call]
    default = getattr(column.server_default, "arg", None)
    told = None if default is None else "sequence" if str(default).startswith("nextval(") else str(default)
    return ColumnShape(column.name, kind, True, told, place)


def _column(name: str, kind: TypeEngine[Any], default: str | None = None) -> Column[Any]:
    said = None if default is None else text(default)
    return Column(name, kind, nullable=False, server_default=said, autoincrement=False)


def _next(sequence: str, schema: str | None) -> str:
    place = f'"{schema}"."{sequence}"' if schema else sequence
    return f"nextval('{place}'::regclass)"


def _tasks(meta: MetaData, generation: int, schema: str | None) -> None:
    columns = [_column("id", TEXT()), _column("context_id", TEXT()), _column("state", INTEGER())]
    if generation >= 2:
        columns.append(_column("has_status_timestamp", BOOLEAN(), "false"))
    columns += [_column("status_seconds", BIGINT(), "0"), _column("status_nanos", INTEGER(), "0")]
    if generation >= 3:
        columns.append(_column("revision", BIGINT(), "1"))
    if generation >= 2:
        columns.append(_column("created_sequence", BIGINT(), _next(TASK_SEQUENCE, schema)))
    columns += [_column("task_proto", BYTEA()), _column("updated_at", TIMESTAMP(timezone=True), "now()")]
    table = Table(TASKS, meta, *columns, PrimaryKeyConstraint("id", name=f"{TASKS}_pkey"))
    c = table.c
    tail: tuple[ColumnElement[Any], ...]
    if generation == 1:
        tail = (c.status_seconds.desc(), c.status_nanos.desc(), c.id.desc())
        Index("idx_a2a_tasks_updated", *tail)
    else:
        tail = (c.created_sequence,)
        Index("idx_a2a_tasks_created_sequence", *tail)
    Index("idx_a2a_tasks_context", c.context_id, *tail)
    Index("idx_a2a_tasks_state", c.state, *tail)


def _configs(meta: MetaData, generation: int, schema: str | None) -> None:
    columns = [_column("task_id", TEXT()), _column("config_id", TEXT()), _column("url", TEXT())]
    if generation >= 3:
        columns.append(_column("created_sequence", BIGINT(), _next(CONFIG_SEQUENCE, schema)))
    columns.append(_column("config_proto", BYTEA()))
    if generation >= 4:
        columns.append(_column("local_postgres_task", BOOLEAN(), "false"))
    columns.append(_column("updated_at", TIMESTAMP(timezone=True), "now()"))
    key = PrimaryKeyConstraint("task_id", "config_id", name=f"{CONFIGS}_pkey")
    table = Table(CONFIGS, meta, *columns, key)
    if generation == 3:
        place = f"{schema}.{TASKS}.id" if schema else f"{TASKS}.id"
        table.append_constraint(ForeignKeyConstraint(["task_id"], [place], name=FOREIGN_KEY, ondelete="CASCADE"))
    if generation < 13 and generation != 4:
        Index("idx_a2a_push_configs_task", table.c.task_id)
        if generation >= 3:
            Index("idx_a2a_push_configs_created_sequence", table.c.task_id, table.c.created_sequence)
