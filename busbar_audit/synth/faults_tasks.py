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
from busbar_audit.synth.records import Record, delete, insert, load, reseal, save

_OLD, _NEW = (8, 9), (10, 11, 12)
_FIRST = "(SELECT min(id) FROM plane_records WHERE kind = 'task')"
_FIRST_ACTIVE = "(SELECT min(id) FROM plane_records WHERE kind = 'task' AND disposition = 'active')"
_FIRST_FINISHED = "(SELECT min(id) FROM plane_records WHERE kind = 'task' AND disposition = 'terminal')"
_FIRST_EVENTS = "(SELECT min(parent) FROM plane_records WHERE kind = 'task_event')"
_TASK = "(SELECT min(task_id) FROM tasks WHERE state = 'completed' AND artifact_cursor = 0)"

_CALLBACKS = (
    ("a plain host", "http://cb.example.com/x"),
    ("this host, with a password", "http://ops:hunter2@127.0.0.1:9000/x?token=t0ken"),
    ("a private network", "https://192.168.7.1/x"),
    ("a bare name", "https://redis:6379/"),
    ("a number for an address", "https://2130706433/"),
    ("cloud metadata", "https://169.254.169.254/latest"),
    ("no URL at all", "javascript:alert(1)"),
)


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
    return Planted(codes("T03"), "tasks", task)


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


def _cut(where: str, name: str, title: str, code: str, kept: str) -> Fault:
    """Return a fault that takes a task back to its event of this kind, row and all: nothing is inconsistent."""
    at_place = place(where)

    def apply(c: sqlite3.Connection) -> Planted:
        for task in _tasks(c, at_place.population):
            chain = load(c, at_place.population, task)
            last = next((r for r in chain if r.fields["kind"] == kept), None)
            if last is None or any(r.fields["kind"] == "task.artifact" for r in chain[: last.seq]):
                continue
            delete(c, last.population, task, last.seq + 1, chain[-1].seq)
            _set_row(c, last)
            return Planted(codes(code), "tasks" if last.population == "task_events" else "task", task)
        raise LookupError(f"no finished task with a {kept}")

    return by_function(f"{where}_{name}", f"{where}: {title}", at_place.generations, apply, at_place.needs)


def _tasks(c: sqlite3.Connection, population: str) -> list[str]:
    """Return finished tasks, oldest first."""
    if population == "task_events":
        return [t for (t,) in c.execute("SELECT task_id FROM tasks WHERE state = 'completed' ORDER BY created_at")]
    rows = c.execute("SELECT id, body FROM plane_records WHERE kind = 'task' AND disposition = 'terminal'")
    found = [(body["created_at"], task, body["state"]) for task, body in ((t, json.loads(b)) for t, b in rows)]
    return [task for _, task, state in sorted(found) if state == "completed"]


def _set_row(c: sqlite3.Connection, last: Record) -> None:
    state = last.fields["state"]
    if last.population == "task_events":
        c.execute(
            "UPDATE tasks SET state = ?, updated_at = ?, artifact_cursor = 0 WHERE task_id = ?",
            (state, last.ts, last.scope),
        )
        return
    (body,) = c.execute("SELECT body FROM plane_records WHERE kind = 'task' AND id = ?", (last.scope,)).fetchone()
    value = {**json.loads(body), "state": state, "updated_at": last.ts, "artifact_cursor": 0}
    c.execute(
        "UPDATE plane_records SET body = ?, ts = ?, disposition = 'active' WHERE kind = 'task' AND id = ?",
        (dumps(value).encode(), last.ts, last.scope),
    )


def _resubmitted(where: str) -> Fault:
    at_place = place(where)

    def apply(c: sqlite3.Connection) -> Planted:
        for task in _tasks(c, at_place.population):
            chain = load(c, at_place.population, task)
            again = next((r for r in chain if r.fields["kind"] == "task.resumed"), None)
            if again is not None:
                save(c, again.edit(kind="task.submitted", state="submitted"))
                for r in chain[again.seq :]:
                    if r.fields["kind"] == "task.artifact":
                        save(c, r.edit(state="submitted"))
                reseal(c, again.population, task, again.seq)
                return at(again, "T04")
        raise LookupError("no finished task that was resumed")

    return by_function(
        f"{where}_resubmitted",
        f"{where}: a waiting task is submitted again",
        at_place.generations,
        apply,
        at_place.needs,
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
            _event("kind_edited", "the end is called work", where, "T10", "task.terminal", kind="task.working"),
            _event("nameless", "an event without a principal", where, "T08 T09", "task.delegated", principal=""),
            _after_the_end(where),
        )
    ),
    *(
        fault
        for where in ("task_events", "task_event")
        for fault in (
            _cut(where, "stuck", "a task at work for days", "T13", "task.working"),
            _cut(where, "waiting", "a task that waits for a person", "T14", "task.interrupted"),
            _resubmitted(where),
        )
    ),
    by_sql(
        "tasks_state_unknown", "a state nobody knows", _OLD, "T03 T07", _of_task("UPDATE tasks SET state = 'paused'")
    ),
    by_sql(
        "tasks_no_context", "a task without a context", _OLD, "T08 T09", _of_task("UPDATE tasks SET context_id = ''")
    ),
    by_sql(
        "tasks_made_late",
        "a task made after it ended",
        _OLD,
        "T06 T12",
        _of_task("UPDATE tasks SET created_at = updated_at + 5"),
    ),
    by_sql(
        "tasks_updated_1970",
        "a task last written in 1970",
        _OLD,
        "T06 T12",
        _of_task("UPDATE tasks SET created_at = 0, updated_at = 0"),
    ),
    *(
        by_sql(
            f"tasks_callback_{n}",
            f"a callback to {what}",
            _OLD,
            "T19",
            _of_task(f"UPDATE tasks SET push_callback = '{url}'"),
        )
        for n, (what, url) in enumerate(_CALLBACKS)
    ),
    _task_body("row_callback", "a callback inside", "T19", push_callback="https://[::1]/x"),
    _task_body("row_cursor_negative", "a cursor below zero", "T12", artifact_cursor=-1),
    _task_body("row_cursor_huge", "a cursor above 2^63", "T11 T12", artifact_cursor=2**63),
    _task_body("row_cursor_text", "a cursor that is a text", "T20", artifact_cursor="0"),
    _task_body("row_direction", "a direction outside the set", "T07", direction="sideways"),
    _task_body("row_other_id", "the task inside has another id", "T18", task_id="other"),
    by_sql(
        "task_not_json",
        "a task that is no JSON",
        _NEW,
        "T20",
        "UPDATE plane_records SET body = x'7b22' WHERE kind = 'task' AND id = " + _FIRST,
    ),
    by_sql(
        "task_kept_active",
        "a finished task is marked active",
        _NEW,
        "T17",
        "UPDATE plane_records SET disposition = 'active' WHERE kind = 'task' AND id = " + _FIRST_FINISHED,
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
