"""What the helpers of a migrated A2A store do, tried on a copy in transactions that are rolled back. Source: fact sheet 5.5."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from busbar_audit.rehearsal.a2a_state import Con
from busbar_audit.rehearsal.outcomes import Outcome
from busbar_audit.stores.a2a_bodies import PUSH_LOCK
from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS

Connect = Callable[[], Con]
_FAR = 2**62  # given, since what a default takes from a sequence is not rolled back
_TASK = (
    "INSERT INTO {tasks} (id, context_id, state, has_status_timestamp, status_seconds, status_nanos, revision, "
    "created_sequence, task_proto, updated_at) VALUES ({id}, '', 1, false, 0, 0, 1, {far}, ''::bytea, now())"
)
_CONFIG = (
    "INSERT INTO {configs} (task_id, config_id, url, created_sequence, config_proto, updated_at, local_postgres_task) "
    "VALUES ({id}, {name}, '', {far}, ''::bytea, now(), {local})"
)


@dataclass
class _Tried:
    """One transaction of a probe, in the store's schema."""

    con: Con
    schema: str
    task: str

    def run(self, template: str, **words: Any) -> list[tuple[Any, ...]]:
        given = {name: sql.Literal(value) for name, value in {"id": self.task, "far": _FAR, **words}.items()}
        names: dict[str, sql.Composable] = {
            "tasks": sql.Identifier(self.schema, TASKS),
            "configs": sql.Identifier(self.schema, CONFIGS),
            "helper": sql.Identifier(self.schema, PUSH_LOCK),
            "place": sql.Identifier(self.schema),
            "role": sql.Identifier(self.task),
        }
        cursor = self.con.execute(sql.SQL(template).format(**names, **given))
        return cursor.fetchall() if cursor.description else []

    def fill(self) -> None:
        """A task of our own, one configuration of it that is local and one that is not."""
        self.run(_TASK)
        for name, local in (("local", True), ("external", False)):
            self.run(_CONFIG, name=name, local=local)

    def left(self) -> list[str]:
        return [str(name) for (name,) in self.run("SELECT config_id FROM {configs} WHERE task_id = {id} ORDER BY 1")]


def probes(connect: Connect, schema: str) -> list[Outcome]:
    """Try every behaviour; the copy is as it was afterwards.

    Parameters
    ----------
    connect : opens another connection to the copy, autocommit, search_path pg_catalog.
    """
    return [*_alone(connect, schema), _together(connect, schema)]


def _alone(connect: Connect, schema: str) -> Iterator[Outcome]:
    for name, rule, expected, act in (
        ("delete-cleans", "a deleted task takes its local configuration, not the other", ["external"], _deleted),
        ("truncate-cleans", "TRUNCATE takes every local configuration, no other", (0, True), _truncated),
        ("missing-task", "for a task that is not there the helper says false", [(False,)], _called),
        ("present-task", "for a task that is there it says true", [(True,)], _called_present),
        ("isolation-refused", "repeatable read is refused by the helper", "0A000", _isolated),
        ("serializable-refused", "serializable is refused by the helper", "0A000", _serializable),
        ("truncate-refused", "repeatable read is refused by TRUNCATE", "0A000", _isolated_truncate),
        ("row-security-refused", "row-level security on the tasks is refused", "0A000", _secured),
        ("no-select-refused", "a caller that may not read tasks is refused", "42501", _poor),
        ("no-execute-refused", "a caller without EXECUTE is refused", "42501", _poorest),
    ):
        with connect() as con:
            tried = _Tried(con, schema, f"a2a_probe_{secrets.token_hex(8)}")
            try:
                with con.transaction(force_rollback=True):
                    found = act(tried)
            except psycopg.Error as error:
                found = error.sqlstate or type(error).__name__
        yield _told(name, rule, expected, found)


def _told(name: str, rule: str, expected: Any, found: Any) -> Outcome:
    if found == expected:
        return Outcome(name, True, rule)
    if isinstance(found, _NotTold):
        return Outcome(name, None, found.why)
    return Outcome(name, False, f"{rule}; found {found!r}", 1)


@dataclass(frozen=True)
class _NotTold:
    why: str


def _deleted(tried: _Tried) -> Any:
    tried.fill()
    tried.run("DELETE FROM {tasks} WHERE id = {id}")
    return tried.left()


def _truncated(tried: _Tried) -> Any:
    tried.fill()
    count = "SELECT count(*) FILTER (WHERE local_postgres_task), count(*) FILTER (WHERE NOT local_postgres_task) FROM {configs}"
    ((_, others),) = tried.run(count)
    tried.run("TRUNCATE {tasks}")
    ((local, still),) = tried.run(count)
    return local, others == still


def _called(tried: _Tried) -> Any:
    return tried.run("SELECT {helper}({id})")


def _called_present(tried: _Tried) -> Any:
    tried.fill()
    return _called(tried)


def _isolated(tried: _Tried) -> Any:
    tried.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    return _called(tried)


def _serializable(tried: _Tried) -> Any:
    tried.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    return _called(tried)


def _isolated_truncate(tried: _Tried) -> Any:
    tried.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    return tried.run("TRUNCATE {tasks}")


def _secured(tried: _Tried) -> Any:
    tried.run("ALTER TABLE {tasks} ENABLE ROW LEVEL SECURITY")
    return _called(tried)


def _poor(tried: _Tried) -> Any:
    return _called_by_role(tried, "GRANT EXECUTE ON FUNCTION {helper}(text) TO {role}")


def _poorest(tried: _Tried) -> Any:
    # All that it needs but EXECUTE.
    return _called_by_role(tried, "GRANT SELECT ON {tasks} TO {role}")


def _called_by_role(tried: _Tried, granted: str) -> Any:
    if not _role(tried):
        return _NotTold("needs a role on the copy that may make roles")
    tried.run(granted)
    tried.run("SET LOCAL ROLE {role}")
    return _called(tried)


def _role(tried: _Tried) -> bool:
    ((may,),) = tried.run("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    if may:
        tried.run("CREATE ROLE {role}")
        tried.run("GRANT USAGE ON SCHEMA {place} TO {role}")
    return bool(may)


def _together(connect: Connect, schema: str) -> Outcome:
    """One session deletes a task, another one asks for it: it has to wait."""
    rule = "who creates for a task that is being deleted waits"
    with connect() as first, connect() as second:
        one, two = _Tried(first, schema, ""), _Tried(second, schema, "")
        found = one.run("SELECT min(id) FROM {tasks}")
        if not found or found[0][0] is None:
            return Outcome("delete-excludes", None, "nothing to try it on: there is no task")
        one.task = two.task = str(found[0][0])
        told: Any = "did not wait"
        with suppress(psycopg.Error), first.transaction(force_rollback=True):
            one.run("DELETE FROM {tasks} WHERE id = {id}")
            try:
                with second.transaction(force_rollback=True):
                    two.run("SET LOCAL lock_timeout = '100ms'")
                    _called(two)
            except psycopg.Error as error:
                told = error.sqlstate
        return _told("delete-excludes", rule, "55P03", told)
