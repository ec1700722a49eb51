"""States that an A2A store on PostgreSQL is left in by what goes wrong around a migration, by name; planted for real.

Source: fact sheet sections 2.4 and 3.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from busbar_audit.stores import a2a_bodies as bodies
from busbar_audit.stores.a2a_shapes import CONFIGS, FOREIGN_KEY, TASKS
from busbar_audit.synth import a2a_helpers

Con = psycopg.Connection[Any]
_SIGNATURES = {bodies.PUSH_LOCK: "text", bodies.DELETE_LOCK: "", bodies.CLEANUP: ""}


@dataclass(frozen=True)
class State:
    """A state by name. generations : of the store it can be made in. codes : of the checks that find it. apply : makes it."""

    name: str
    title: str
    generations: tuple[int, ...]
    codes: tuple[str, ...]
    apply: Callable[[Con, str], None]


def _said(template: str, *names: str) -> Callable[[Con, str], None]:
    """Statements of one template, once a name; {table} and {configs} are the store's, {name} the name in its schema."""

    def apply(con: Con, schema: str) -> None:
        for name in names or ("",):
            words = {"tasks": sql.Identifier(schema, TASKS), "configs": sql.Identifier(schema, CONFIGS)}
            arguments = sql.SQL(_SIGNATURES.get(name, ""))
            function = sql.SQL("{}({})").format(sql.Identifier(schema, name), arguments)
            con.execute(sql.SQL(template).format(**words, function=function, name=sql.Identifier(name)))

    return apply


def _column(con: Con, schema: str) -> None:
    _said("ALTER TABLE {configs} ADD COLUMN local_postgres_task boolean NOT NULL DEFAULT false")(con, schema)


def _no_key(con: Con, schema: str) -> None:
    _column(con, schema)
    _said("ALTER TABLE {configs} DROP CONSTRAINT {name}", FOREIGN_KEY)(con, schema)


def _migrated(con: Con, schema: str) -> None:
    """What the v4 migration does, over any older shape."""
    _column(con, schema)
    _said("ALTER TABLE {configs} DROP CONSTRAINT IF EXISTS {name}", FOREIGN_KEY)(con, schema)
    for name in ("idx_a2a_push_configs_task", "idx_a2a_push_configs_created_sequence"):
        con.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(schema, name)))
    for statement in (*a2a_helpers.helpers(schema, 14), *a2a_helpers.triggers(schema, 14)):
        con.execute(statement)


def _older_process(con: Con, schema: str) -> None:
    for statement in a2a_helpers.helpers(schema, 13):
        con.execute(statement)


def _quoted_key(con: Con, schema: str) -> None:
    for statement in a2a_helpers.helpers(schema, 14, only=(bodies.DELETE_LOCK,), quoted=True):
        con.execute(statement)


def _changed_id(con: Con, schema: str) -> None:
    con.execute(
        sql.SQL(
            "UPDATE {tasks} SET id = 'moved' WHERE id = (SELECT min(task_id) FROM {configs} WHERE local_postgres_task)"
        ).format(tasks=sql.Identifier(schema, TASKS), configs=sql.Identifier(schema, CONFIGS))
    )


STATES = {
    state.name: state
    for state in (
        State("column-only", "the provenance column was added, the foreign key is still there", (3,), ("M02", "D02"), _column),
        State("no-helpers", "column added and foreign key dropped, no helper installed: push-only", (3,), ("D02",), _no_key),
        State("migrated", "a foreign-key store that the migration went over: no row is local", (3,), ("D02",), _migrated),
        State("migrated-too-early", "the first shape, with the migration over it", (1, 2), ("G04", "M09", "D02"), _migrated),
        State("older-process", "a process of v3 started since and put its helpers back", (14,), ("M04",), _older_process),
        State("unequal-keys", "one lock helper spells its key in quotes: the locks do not exclude each other",
              (14,), ("L04",), _quoted_key),
        State("no-comments", "restored from a dump without comments", (14,), ("M04",),
              _said("COMMENT ON FUNCTION {function} IS NULL", *bodies.HELPERS)),
        State("no-privileges", "restored from a dump without privileges: PUBLIC may call the helpers", (12, 13, 14), ("F04",),
              _said("GRANT EXECUTE ON FUNCTION {function} TO PUBLIC", bodies.PUSH_LOCK, bodies.CLEANUP)),
        State("no-triggers", "restored without the section after data", (14,), ("M03",),
              _said("DROP TRIGGER {name} ON {tasks}", *bodies.TRIGGERS)),
        State("trigger-off", "the trigger that locks before a delete is disabled", (13, 14), ("F11",),
              _said("ALTER TABLE {tasks} DISABLE TRIGGER {name}", bodies.LOCK_TRIGGER)),
        State("changed-id", "the id of a task was changed: its configurations stay behind",
              (11, 12, 13, 14), ("D07", "D01"), _changed_id),
    )
}  # fmt: skip
