"""The A2A JavaScript SDK's stores on PostgreSQL and SQLite: how they are recognised, and what is due in them.

Source: fact sheet section 8.2. There is one generation. Its default table names are those of the Python SDK; tenants tell them
apart. Each store has a ledger of its own, in which the names of its migrations stand.
"""

from __future__ import annotations

from dataclasses import replace

from busbar_audit.payloads import a2a_json as payloads
from busbar_audit.stores import a2a_names
from busbar_audit.stores.family import Ask, Derived, Facts, Family, Generation, Tables
from busbar_audit.stores.shapes import ColumnShape, Difference, Shape, TableShape

NAME = "a2a-js"
TASKS, CONFIGS = "tasks", "push_notification_configs"
# The ledger of each store, and its one migration.
LEDGERS = {TASKS: ("a2a_tasks_migrations", "0001_create_tasks"),
           CONFIGS: ("a2a_push_notification_configs_migrations", "0001_create_push_notification_configs")}  # fmt: skip
_COLUMNS = {
    TASKS: "tenant owner id context_id status_last_updated status_state status artifacts history metadata protocol_version",
    CONFIGS: "tenant owner task_id config_id config_data protocol_version",
    **{ledger: "name timestamp" for ledger, _ in LEDGERS.values()},
}
KINDS = {
    TASKS: (frozenset({"tenant", "owner", "id", "status_last_updated", "status"}), frozenset[str]()),
    CONFIGS: (frozenset({"tenant", "owner", "task_id", "config_id", "config_data"}), frozenset[str]()),
}


def recognise(tables: Tables) -> bool:
    """Whether tables with these columns are those of the JavaScript SDK; a ledger alone is a store whose tables are gone."""
    ledgers = any("name" in tables.get(ledger, set()) for ledger, _ in LEDGERS.values())
    return ledgers or any(a2a_names.alike(tables, KINDS).values())


def stamp(_ask: Ask, _found: Shape, _schema: str) -> int | None:
    """The ledgers are read as tables and held against the shape by a check; they name no generation."""
    return None


def generation(_found: Shape, _stamp: int | None) -> Generation:
    """There is one."""
    return Generation(0, 1, 1)


def expected(_number: int) -> Shape:
    """The tables with the names of their columns; their types are not compared, but for what SQLite has to hold."""
    return Shape(
        {
            name: TableShape(name, False, False, tuple(_column(column) for column in columns.split()))
            for name, columns in _COLUMNS.items()
        },
        {},
        {},
    )


def differences(wanted: Shape, found: Shape) -> tuple[Difference, ...]:
    """Columns that are due and not there. One of the two stores alone is legal; a ledger without its table is not."""
    lost = []
    for name, table in wanted.tables.items():
        there = {column.name for column in found.tables[name].columns} if name in found.tables else set()
        lost += [
            Difference("table-differs", name, column.name, f"column {column.name} is missing")
            for column in table.columns
            if there and column.name not in there
        ]
    return tuple(sorted(lost, key=lambda d: (d.kind, d.table, d.name)))


def _column(name: str) -> ColumnShape:
    return ColumnShape(name, "INTEGER" if name == "status_last_updated" else "TEXT", False, None, 0)


FAMILY = Family(
    NAME,
    "postgres",
    1,
    1,
    "0001",
    "ledger",
    recognise,
    stamp,
    generation,
    expected,
    differences,
    damaged="",
    always=(),
    tables=frozenset(_COLUMNS),
    evidence=frozenset({TASKS, CONFIGS}),
    evidence_kind="task or push configuration",
    derived={
        "js_tasks": Derived(frozenset({TASKS}), lambda con: Facts(payloads.TASK_COLUMNS, payloads.js_tasks(con))),
        "js_configs": Derived(
            frozenset({CONFIGS}), lambda con: Facts(payloads.CONFIG_COLUMNS, payloads.js_configs(con))
        ),
    },
    telling=frozenset({"config_data", "status_last_updated"}),
    renamed=a2a_names.renamed("A2A JavaScript SDK", KINDS),
    facts=a2a_names.facts(KINDS),
)
SQLITE = replace(FAMILY, engine="sqlite", damaged="A2A-J17", always=("A2A-J17",))
