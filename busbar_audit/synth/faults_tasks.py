"""Faults of task rows against their events, in the typed tables and in plane records."""

# ruff: noqa: S608 - every piece of SQL here is a constant of this module

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from typing import Any

from busbar_audit.synth.bodies import dumps
from busbar_audit.synth.fault import Fault, Planted, codes
from busbar_audit.synth.faults_chain import at, chain_of, middle, place
from busbar_audit.synth.planting import by_function, by_sql
from busbar_audit.synth.records import delete, insert, reseal, save

_OLD, _NEW = (8, 9), (10, 11, 12)
_FIRST = "(SELECT min(id) FROM plane_records WHERE kind = 'task')"
_FIRST_ACTIVE = "(SELECT min(id) FROM plane_records WHERE kind = 'task' AND disposition = 'active')"
_FIRST_EVENTS = "(SELECT min(parent) FROM plane_records WHERE kind = 'task_event')"
_TASK = "(SELECT min(task_id) FROM tasks WHERE state = 'completed' AND artifact_cursor = 0)"


def _of_task(command: str) -> str:
    """Return the command for the one finished task without artifacts that comes first."""
    return f"{command} WHERE task_id = {_TASK}"


def _last_event(c: sqlite3.Connection) -> Planted:
    row = c.execute(
        _of_task("SELECT task_id, max(seq) FROM task_events") + " AND kind = 'task.terminal' GROUP BY 1"
    ).fetchone()
    if row is None:
        raise LookupError("no finished task without artifacts")
    task, seq = row
    (end,) = c.execute("SELECT max(seq) FROM task_events WHERE task_id = ?", (task,)).fetchone()
    delete(c, "task_events", task, seq, end)
    return Planted(codes("T03"), "task_events", task, seq, end, end - seq + 1)


def _event(name: str, title: str, where: str, short: str, of_kind: str, **fields: Any) -> Fault:
    """Return a fault in the first event of this kind of a finished task, sealed again."""
    at_place = place(where)

    def apply(c: sqlite3.Connection) -> Planted:
        chain = chain_of(c, at_place)
        r = next(x for x in chain if x.fields["kind"] == of_kind)
        save(c, r.edit(**fields))
        reseal(c, r.population, r.scope, r.seq)
        return at(r, *short.split())

    return by_function(f"{where}_{name}", f"{where}: {title}", at_place.generations, apply, at_place.needs)


def _after_the_end(where: str) -> Fault:
    at_place = place(where)

    def apply(c: sqlite3.Connection) -> Planted:
        last = chain_of(c, at_place)[-1]
        more = replace(last, seq=last.seq + 1, ts=last.ts + 1, prev_hash=last.hash)
        more = more.edit(kind="task.working", state="working")
        again = replace(more, seq=last.seq + 2, ts=last.ts + 2).edit(kind="task.terminal", state=last.fields["state"])
        more = replace(more, hash=more.digest())
        again = replace(again, prev_hash=more.hash)
        insert(c, more)
        insert(c, replace(again, hash=again.digest()))
        return at(more, "T04", "T05", last=again.seq, count=2)

    return by_function(
        f"{where}_after_end", f"{where}: work after the end", at_place.generations, apply, at_place.needs
    )


def _task_body(name: str, title: str, short: str, **fields: Any) -> Fault:
    """Return a fault in the body of a finished task's plane record."""

    def apply(c: sqlite3.Connection) -> Planted:
        for task, body in c.execute("SELECT id, body FROM plane_records WHERE kind = 'task' ORDER BY id").fetchall():
            value = json.loads(body)
            if value["state"] == "completed" and value["artifact_cursor"] == 0:
                c.execute(
                    "UPDATE plane_records SET body = ? WHERE kind = 'task' AND id = ?",
                    (dumps({**value, **fields}).encode(), task),
                )
                return Planted(codes(*short.split()), "plane_records", task)
        raise LookupError("no finished task without artifacts")

    return Fault(f"task_{name}", f"plane task: {title}", _NEW, apply)


def _version_three(c: sqlite3.Connection) -> Planted:
    where = place("task_event")
    r = middle(where, chain_of(c, where))
    save(c, r.edit(digest_version=3))
    return at(r, "C18")


FAULTS: tuple[Fault, ...] = (
    by_function("task_events_last_deleted", "the last event of a finished task was deleted", _OLD, _last_event),
    by_sql("tasks_row_deleted", "a task row is gone, its events stay", _OLD, "T01", _of_task("DELETE FROM tasks")),
    by_sql("tasks_no_events", "a task has no events", _OLD, "T02", _of_task("DELETE FROM task_events")),
    by_sql("tasks_state_edited", "a state was edited", _OLD, "T03", _of_task("UPDATE tasks SET state = 'failed'")),
    by_sql(
        "tasks_context_edited",
        "a task's context was edited",
        _OLD,
        "T09",
        _of_task("UPDATE tasks SET context_id = 'ctx-other'"),
    ),
    by_sql(
        "tasks_cursor_edited",
        "a cursor without artifacts",
        _OLD,
        "T11",
        _of_task("UPDATE tasks SET artifact_cursor = 5"),
    ),
    by_sql(
        "tasks_cursor_negative", "a cursor below zero", _OLD, "T12", _of_task("UPDATE tasks SET artifact_cursor = -1")
    ),
    by_sql(
        "tasks_direction_unknown",
        "a direction outside the set",
        _OLD,
        "T07",
        _of_task("UPDATE tasks SET direction = 'sideways'"),
    ),
    *(
        fault
        for where in ("task_events", "task_event", "task_event_v2")
        for fault in (
            _event(
                "kind_unknown", "a kind of event nobody knows", where, "T07", "task.delegated", kind="task.teleported"
            ),
            _event(
                "principal_edited",
                "an event of another principal",
                where,
                "T09",
                "task.delegated",
                principal="vk_other",
            ),
            _event(
                "first_kind", "the first event is no submission", where, "T06", "task.submitted", kind="task.rehydrated"
            ),
            _after_the_end(where),
        )
    ),
    _task_body("row_state", "the state was edited", "T03", state="failed"),
    _task_body("row_context", "the context was edited", "T09", context_id="ctx-other"),
    _task_body("row_cursor", "a cursor without artifacts", "T11", artifact_cursor=5),
    by_sql(
        "task_disposition",
        "a live task is marked terminal",
        _NEW,
        "T17",
        "UPDATE plane_records SET disposition = 'terminal' WHERE kind = 'task' AND id = " + _FIRST_ACTIVE,
    ),
    by_sql(
        "task_row_ts",
        "a task row's time differs from its body",
        _NEW,
        "T17",
        "UPDATE plane_records SET ts = ts - 1 WHERE kind = 'task' AND id = " + _FIRST,
    ),
    by_sql(
        "task_row_deleted",
        "a task record is gone, its events stay",
        _NEW,
        "T01",
        "DELETE FROM plane_records WHERE kind = 'task' AND id = " + _FIRST,
    ),
    by_sql(
        "task_no_events",
        "a task record has no events",
        _NEW,
        "T02",
        "DELETE FROM plane_records WHERE kind = 'task_event' AND parent = " + _FIRST_EVENTS,
    ),
    by_sql(
        "demotion_seq",
        "an upserted record at seq 1",
        _NEW,
        "T18",
        "UPDATE plane_records SET seq = 1 WHERE kind = 'demotion'",
    ),
    by_function("task_event_version_3", "a digest version nobody knows", _NEW, _version_three),
)
