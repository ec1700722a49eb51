"""Faults in keys, usage, tasks, approvals, the ledger, and between the two copies of the audit chain."""

# ruff: noqa: S608 - every piece of SQL here is a constant of this module

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from busbar_audit.stores.busbar_shapes import statements
from busbar_audit.synth.bodies import dumps
from busbar_audit.synth.fault import Fault, Planted, codes
from busbar_audit.synth.faults_chain import Place, at, chain_of, edited, middle, place
from busbar_audit.synth.records import delete, insert, reseal, save, unguarded

_OLD, _NEW, _ALL = (8, 9), (10, 11, 12), tuple(range(5, 13))
_COPY = {"bodies": "migrated", "odd": ("audit_copy",)}
_METER = "INSERT INTO usage_metering (bucket, key_id, provider, model) VALUES ('{}', '{}', 'openai', 'gpt-x')"
_FIRST = "(SELECT min(id) FROM plane_records WHERE kind = 'task')"
_FIRST_ACTIVE = "(SELECT min(id) FROM plane_records WHERE kind = 'task' AND disposition = 'active')"
_FIRST_EVENTS = "(SELECT min(parent) FROM plane_records WHERE kind = 'task_event')"
_CREDENTIAL = "WHERE id = (SELECT min(id) FROM credentials)"
_BUDGET = "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', '', {}, {}, {}, 0, 0, 0)"
_TASK = "(SELECT min(task_id) FROM tasks WHERE state = 'completed' AND artifact_cursor = 0)"


def _of_task(command: str) -> str:
    """Return the command for the one finished task without artifacts that comes first."""
    return f"{command} WHERE task_id = {_TASK}"


def _sql(
    name: str, title: str, generations: Collection[int], short: str, *commands: str, table: str = "", **needs: Any
) -> Fault:
    """Return a fault that is a few SQL statements, guards put back afterwards."""

    def apply(c: sqlite3.Connection) -> Planted:
        before = c.total_changes
        with unguarded(c):
            for command in commands:
                c.execute(command)
        if c.total_changes == before:
            raise LookupError("the store has no row this fault can change")
        return Planted(codes(*short.split()), table)

    return Fault(name, title, generations, apply, needs)


def _py(
    name: str,
    title: str,
    generations: Collection[int],
    apply: Callable[[sqlite3.Connection], Planted],
    needs: Mapping[str, Any] | None = None,
) -> Fault:
    def guarded(c: sqlite3.Connection) -> Planted:
        with unguarded(c):
            return apply(c)

    return Fault(name, title, generations, guarded, needs or {})


# ---- audit ---------------------------------------------------------------------------------------------------------


def _partial_copy(c: sqlite3.Connection) -> Planted:
    (last,) = c.execute("SELECT max(seq) FROM audit_log").fetchone()
    delete(c, "audit", "admin", last - 9, last)
    return Planted(codes("C14"), "audit", "admin", last - 9, last, 10)


def _other_copy(c: sqlite3.Connection) -> Planted:
    chain = chain_of(c, place("audit"))
    r = middle(place("audit"), chain)
    save(c, edited(r))
    reseal(c, "audit", "admin", r.seq)
    return at(r, "C15", last=chain[-1].seq, count=chain[-1].seq - r.seq + 1)


def _audit_outcome(name: str) -> Fault:
    where = place(name)

    def apply(c: sqlite3.Connection) -> Planted:
        r = middle(where, chain_of(c, where))
        save(c, r.edit(outcome="maybe"))
        reseal(c, r.population, r.scope, r.seq)
        return at(r, "D03")

    return _py(
        f"{name}_outcome_unknown", f"{name}: an outcome outside the closed set", where.generations, apply, where.needs
    )


def _audit_bytes(c: sqlite3.Connection) -> Planted:
    where = place("audit_log")
    r = middle(where, chain_of(c, where))
    c.execute("UPDATE audit_log SET resource = CAST(x'ff' AS TEXT) WHERE seq = ?", (r.seq,))
    return at(r, "C22", "S14")


# ---- tasks ---------------------------------------------------------------------------------------------------------


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

    return _py(f"{where}_{name}", f"{where}: {title}", at_place.generations, apply, at_place.needs)


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

    return _py(f"{where}_after_end", f"{where}: work after the end", at_place.generations, apply, at_place.needs)


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


def _both_logs(c: sqlite3.Connection) -> Planted:
    call = place("call")
    old = Place("mcp_calls", "mcp_calls", _NEW)
    first = chain_of(c, call)[0]
    for sql in statements(10, leftovers=True):
        if "mcp_calls" in sql and "TRIGGER" not in sql:
            c.execute(sql)
    fields = {k: v for k, v in first.fields.items() if k in _MCP}
    left = replace(first, population=old.population, form="row", fields=fields, ts=first.ts - 100).edit(
        request_id="req-old"
    )
    insert(c, replace(left, hash=left.digest()))
    return at(left, "C20")


_MCP = ("outcome", "pin_generation", "reason", "request_id", "server", "tool", "tool_digest")


def _with_guard(c: sqlite3.Connection) -> Planted:
    with unguarded(c):
        planted = _both_logs(c)
    c.execute(next(s for s in statements(10, leftovers=True) if "TRIGGER mcp_calls_no_update" in s))
    return planted


FAULTS: tuple[Fault, ...] = (
    _py("audit_copy_partial", "kind audit: the copy of audit_log stopped early", _NEW, _partial_copy, _COPY),
    _py("audit_copy_differs", "kind audit: the copy tells another story, sealed again", _NEW, _other_copy, _COPY),
    *(_audit_outcome(name) for name in ("audit_log", "audit", "audit_neutral")),
    _py("audit_log_bad_utf8", "audit_log: a text that is no UTF-8", (5, 6, 7, 8, 9), _audit_bytes),
    # tasks
    _py("task_events_last_deleted", "the last event of a finished task was deleted", _OLD, _last_event),
    _sql("tasks_row_deleted", "a task row is gone, its events stay", _OLD, "T01", _of_task("DELETE FROM tasks")),
    _sql("tasks_no_events", "a task has no events", _OLD, "T02", _of_task("DELETE FROM task_events")),
    _sql("tasks_state_edited", "a task's state was edited", _OLD, "T03", _of_task("UPDATE tasks SET state = 'failed'")),
    _sql(
        "tasks_context_edited",
        "a task's context was edited",
        _OLD,
        "T09",
        _of_task("UPDATE tasks SET context_id = 'ctx-other'"),
    ),
    _sql(
        "tasks_cursor_edited",
        "a cursor without artifacts",
        _OLD,
        "T11",
        _of_task("UPDATE tasks SET artifact_cursor = 5"),
    ),
    _sql(
        "tasks_cursor_negative", "a cursor below zero", _OLD, "T12", _of_task("UPDATE tasks SET artifact_cursor = -1")
    ),
    _sql(
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
    _sql(
        "task_disposition",
        "a live task is marked terminal",
        _NEW,
        "T17",
        "UPDATE plane_records SET disposition = 'terminal' WHERE kind = 'task' AND id = " + _FIRST_ACTIVE,
    ),
    _sql(
        "task_row_ts",
        "a task row's time differs from its body",
        _NEW,
        "T17",
        "UPDATE plane_records SET ts = ts - 1 WHERE kind = 'task' AND id = " + _FIRST,
    ),
    _sql(
        "task_row_deleted",
        "a task record is gone, its events stay",
        _NEW,
        "T01",
        "DELETE FROM plane_records WHERE kind = 'task' AND id = " + _FIRST,
    ),
    _sql(
        "task_no_events",
        "a task record has no events",
        _NEW,
        "T02",
        "DELETE FROM plane_records WHERE kind = 'task_event' AND parent = " + _FIRST_EVENTS,
    ),
    _sql(
        "demotion_seq",
        "an upserted record at seq 1",
        _NEW,
        "T18",
        "UPDATE plane_records SET seq = 1 WHERE kind = 'demotion'",
    ),
    _py("task_event_version_3", "a digest version nobody knows", _NEW, _version_three),
    Fault("call_in_both_logs", "a principal has calls in mcp_calls and in kind call", _NEW, _with_guard),
    # approvals
    _sql(
        "tokens_mixed",
        "tokens of two kinds",
        _NEW,
        "A01",
        "INSERT INTO plane_tokens SELECT 'ask', 'x' || token, expires_at FROM plane_tokens LIMIT 1",
    ),
    _sql(
        "token_long",
        "a token that lives for years",
        _NEW,
        "A02",
        "INSERT INTO plane_tokens VALUES ('approval', 'nonce_long', 4000000000)",
    ),
    _sql(
        "approval_long",
        "an approval that lives for years",
        (9,),
        "A02",
        "INSERT INTO spent_ask_states VALUES ('nonce_long', 4000000000)",
    ),
    # keys, credentials, denylist
    _sql(
        "key_tombstone_signs",
        "a deleted key still has credentials",
        _ALL,
        "K01",
        "UPDATE credentials SET key_id = 'vk_retired' " + _CREDENTIAL,
    ),
    _sql(
        "key_deleted_early",
        "a key deleted before it was made",
        _ALL,
        "K02",
        "UPDATE keys SET deleted_at = created_at - 1 WHERE id = 'vk_retired'",
    ),
    _sql("deny_undated", "a denial without a time", _ALL, "K03", "INSERT INTO denylist VALUES ('sub_old', '', 0)"),
    _sql(
        "grants_wrong",
        "scope grants name pools and hold numbers",
        _NEW,
        "K06",
        "UPDATE keys SET scope_grants = '{\"pool\":[1]}' WHERE id = 'vk_alice'",
    ),
    _sql(
        "secret_plain",
        "a secret in clear text",
        _ALL,
        "K08",
        "UPDATE credentials SET secret = 'v1:plain:open' " + _CREDENTIAL,
    ),
    _sql("metering_orphan", "metering of a key that is gone", _ALL, "K09", _METER.format("1699920000", "vk_gone")),
    _sql(
        "key_bad_utf8",
        "a key's name is no UTF-8",
        _ALL,
        "S14",
        "UPDATE keys SET name = CAST(x'c328' AS TEXT) WHERE id = 'vk_alice'",
    ),
    # usage
    _sql(
        "tokens_without_requests",
        "tokens in a window without requests",
        _ALL,
        "U01",
        "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', 'gpt-x', 0, 0, 10, 5, 0, 0)",
    ),
    _sql("sentinel_tokens", "tokens on the row for requests", _ALL, "U02", _BUDGET.format(5, 5, 1)),
    _sql("overbilled", "more billed than requested", _ALL, "U03", _BUDGET.format(1, 2, 0)),
    _sql("negative_counter", "a counter below zero", _ALL, "U05", _BUDGET.format(1, -1, 0)),
    _sql(
        "bucket_not_a_day", "a bucket that is not a day's start", _ALL, "U06", _METER.format("1699920001", "vk_alice")
    ),
    _sql(
        "unit_orphan",
        "a unit row without its window",
        _NEW,
        "U08",
        "INSERT INTO usage_window_units VALUES (1, 'budget:eng', 'gpt-x', 'audio_seconds', 1)",
    ),
    _sql(
        "unit_reserved", "a reserved unit in a unit table", _NEW, "U09", "UPDATE usage_window_units SET unit = 'input'"
    ),
    _sql(
        "journal_gap",
        "a journal stream with a gap",
        (11, 12),
        "U12",
        "DELETE FROM journal WHERE stream = 'node-1' AND seq = 3",
    ),
    _sql("money_over", "more money used than the cap", (11, 12), "U12", "UPDATE money_used SET used = 2000000000"),
)
