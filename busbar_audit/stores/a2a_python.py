"""The A2A Python SDK's stores on PostgreSQL and SQLite: how they are recognised, their revisions, what is due in each.

Source: fact sheet section 8.1. Numbers: 1 before owners, then one for each revision of its migrations. The SDK makes tables
without a stamp as well, and its tool stamps a database without making them: shape and stamp are compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from busbar_audit.payloads import a2a_json as payloads
from busbar_audit.stores import a2a_names
from busbar_audit.stores.family import Ask, Derived, Facts, Family, Generation, Tables
from busbar_audit.stores.shapes import ColumnShape, Difference, Shape, TableShape

NAME = "a2a-python"
ENGINE = "postgres"
TASKS, CONFIGS, VERSIONS, EVENTS, STAMP = (
    "tasks",
    "push_notification_configs",
    "task_versions",
    "task_events",
    "a2a_alembic_version",
)
REVISIONS = {"6419d2d130f6": 2, "38ce57e08137": 3, "b5e3d1c8a2f7": 4}
NEWER = 99
_SINCE = {"owner": 2, "last_updated": 2, "protocol_version": 3}
_COLUMNS = {
    TASKS: "id context_id kind status artifacts history metadata owner last_updated protocol_version",
    CONFIGS: "task_id config_id config_data owner protocol_version",
    VERSIONS: "task_id owner version",
    EVENTS: "seq task_id owner task_version event_data",
    STAMP: "version_num",
}


# What a SQLite file has to hold there; all else is text.
_TYPES = {
    "config_data": "BLOB",
    "event_data": "BLOB",
    "seq": "INTEGER",
    "version": "INTEGER",
    "task_version": "INTEGER",
}


# The JavaScript SDK's tables of the same names have tenants.
_TENANT = frozenset({"tenant"})
KINDS = {
    TASKS: (frozenset({"id", "context_id", "kind", "status", "history"}), _TENANT),
    CONFIGS: (frozenset({"task_id", "config_id", "config_data"}), _TENANT),
}


def recognise(tables: Tables) -> bool:
    """Whether tables with these columns are those of the Python SDK."""
    if any("tenant" in tables.get(name, set()) for name in KINDS):
        return False
    return "version_num" in tables.get(STAMP, set()) or any(a2a_names.alike(tables, KINDS).values())


def stamp(ask: Ask, found: Shape, schema: str) -> int | None:
    """The number of the stamped revision; None without a stamp, `NEWER` for one that is not known."""
    if STAMP not in found.tables:
        return None
    from psycopg import sql

    rows = ask(sql.SQL("SELECT version_num::text FROM {}").format(sql.Identifier(schema, STAMP)))
    return _highest(rows)


def stamp_in_file(ask: Ask, found: Shape, _schema: str) -> int | None:
    """The same of a SQLite file."""
    return _highest(ask(f"SELECT version_num FROM {STAMP}")) if STAMP in found.tables else None  # noqa: S608 - our name


def _highest(rows: list[tuple[Any, ...]]) -> int | None:
    return max((REVISIONS.get(revision, NEWER) for (revision,) in rows), default=None)


def generation(found: Shape, stamp: int | None) -> Generation:
    """Tell the revision from the stamp and from the columns there are; the higher one is due."""
    names = {column.name for name in (TASKS, CONFIGS) for column in _columns(found, name)}
    implied = 3 if "protocol_version" in names else 2 if "owner" in names else 1
    if VERSIONS in found.tables:
        implied = 4
    taken = max(implied, stamp or 0)
    return Generation(stamp or 0, implied, taken if taken <= 4 else None)


def expected(number: int) -> Shape:
    """The tables of a revision with the names of their columns; their types are not compared."""
    return Shape(
        {
            name: TableShape(
                name, False, False, tuple(_column(c) for c in columns.split() if _SINCE.get(c, 1) <= number)
            )
            for name, columns in _COLUMNS.items()
            if name not in (VERSIONS, EVENTS) or number >= 4
        },
        {},
        {},
    )


def differences(wanted: Shape, found: Shape) -> tuple[Difference, ...]:
    """Columns and tables that are due and not there. One of the two stores alone is legal, and so is no stamp."""
    lost = []
    for name, table in wanted.tables.items():
        there = {column.name for column in _columns(found, name)}
        for column in table.columns:
            if there and column.name not in there:
                lost.append(Difference("table-differs", name, column.name, f"column {column.name} is missing"))
    if TASKS not in found.tables and CONFIGS not in found.tables:
        lost.append(Difference("table-missing", TASKS, TASKS, "neither tasks nor push_notification_configs is there"))
    if (VERSIONS in found.tables) != (EVENTS in found.tables):
        name = EVENTS if VERSIONS in found.tables else VERSIONS
        lost.append(Difference("table-missing", name, name, "the table is not there"))
    return tuple(sorted(lost, key=lambda d: (d.kind, d.table, d.name)))


def _columns(shape: Shape, table: str) -> tuple[ColumnShape, ...]:
    return shape.tables[table].columns if table in shape.tables else ()


def _column(name: str) -> ColumnShape:
    return ColumnShape(name, _TYPES.get(name, "TEXT"), False, None, 0)


FAMILY = Family(
    NAME,
    ENGINE,
    1,
    4,
    "up to revision b5e3d1c8a2f7",
    "revision",
    recognise,
    stamp,
    generation,
    expected,
    differences,
    damaged="",
    always=(),
    tables=frozenset(_COLUMNS),
    telling=frozenset({"config_data", "kind"}),
    renamed=a2a_names.renamed("A2A Python SDK", KINDS),
    facts=a2a_names.facts(KINDS),
    evidence=frozenset({TASKS, CONFIGS}),
    evidence_kind="task or push configuration",
    derived={
        "python_tasks": Derived(
            frozenset({TASKS}), lambda con: Facts(payloads.TASK_COLUMNS, payloads.python_tasks(con))
        ),
        "python_configs": Derived(
            frozenset({CONFIGS}), lambda con: Facts(payloads.CONFIG_COLUMNS, payloads.python_configs(con))
        ),
    },
)
SQLITE = replace(FAMILY, engine="sqlite", stamp=stamp_in_file, damaged="A2A-P17", always=("A2A-P17",))
