"""Faults in keys, approvals, durability, and between the two copies of the audit chain."""

# ruff: noqa: S608 - every piece of SQL here is a constant of this module

from __future__ import annotations

import sqlite3
from dataclasses import replace

from busbar_audit.stores.busbar_shapes import statements
from busbar_audit.synth.fault import Fault, Planted, absent, codes
from busbar_audit.synth.faults_chain import Place, at, chain_of, edited, middle, place
from busbar_audit.synth.planting import by_function, by_sql
from busbar_audit.synth.records import delete, insert, reseal, save, unguarded

_OLD, _NEW, _ALL = (8, 9), (10, 11, 12), tuple(range(5, 13))
_COPY = {"bodies": "migrated", "odd": ("audit_copy",)}
_METER = "INSERT INTO usage_metering (bucket, key_id, provider, model) VALUES ('{}', '{}', 'openai', 'gpt-x')"
_BOB = "WHERE id = 'vk_bob'"
_CREDENTIAL = "WHERE id = (SELECT min(id) FROM credentials)"
_NO_SUCH_TEXT = absent("PostgreSQL refuses a text that is no UTF-8")


# ---- audit ---------------------------------------------------------------------------------------------------------


def _partial_copy(c: sqlite3.Connection) -> Planted:
    """Let the copy end ten records early, and with it what was written behind it."""
    last = _last_copied(c)
    delete(c, "audit", "admin", last - 9, 2**62)
    return Planted(codes("C14"), "audit", "admin", last - 9, last, 10)


def _other_copy(c: sqlite3.Connection) -> Planted:
    last = _last_copied(c)
    r = middle(place("audit"), [r for r in chain_of(c, place("audit")) if r.seq <= last])
    save(c, edited(r))
    reseal(c, "audit", "admin", r.seq)
    return at(r, "C15", last=last, count=last - r.seq + 1)


def _last_copied(c: sqlite3.Connection) -> int:
    (last,) = c.execute("SELECT max(seq) FROM audit_log").fetchone()
    return int(last)


def _audit_outcome(name: str) -> Fault:
    where = place(name)

    def apply(c: sqlite3.Connection) -> Planted:
        r = middle(where, chain_of(c, where))
        save(c, r.edit(outcome="maybe"))
        reseal(c, r.population, r.scope, r.seq)
        return at(r, "D03")

    return by_function(
        f"{name}_outcome_unknown", f"{name}: an outcome outside the closed set", where.generations, apply, where.needs
    )


def _audit_bytes(c: sqlite3.Connection) -> Planted:
    where = place("audit_log")
    r = middle(where, chain_of(c, where))
    c.execute("UPDATE audit_log SET resource = CAST(x'ff' AS TEXT) WHERE seq = ?", (r.seq,))
    return at(r, "C22", "S14")


def _both_logs(c: sqlite3.Connection) -> Planted:
    call = place("call")
    old = Place("mcp_calls", "mcp_calls", _NEW)
    chain = chain_of(c, call)
    first = chain[0]
    for sql in statements(10, leftovers=True):
        if "mcp_calls" in sql and "TRIGGER" not in sql:
            c.execute(sql)
    fields = {k: v for k, v in first.fields.items() if k in _MCP}
    left = replace(first, population=old.population, form="row", fields=fields, ts=first.ts - 100).edit(
        request_id="req-old"
    )
    insert(c, replace(left, hash=left.digest()))
    return at(first, "C20", last=chain[-1].seq, count=len(chain) + 1)


_MCP = ("outcome", "pin_generation", "reason", "request_id", "server", "tool", "tool_digest")


def _with_guard(c: sqlite3.Connection) -> Planted:
    with unguarded(c):
        planted = _both_logs(c)
    c.execute(next(s for s in statements(10, leftovers=True) if "TRIGGER mcp_calls_no_update" in s))
    return planted


# ---- approvals, durability -----------------------------------------------------------------------------------------


def _use_unrecorded(name: str, generations: tuple[int, ...], table: str) -> Fault:
    where = place(name)

    def apply(c: sqlite3.Connection) -> Planted:
        chain = chain_of(c, where)
        plain, last = middle(where, chain), chain[-1]
        asked = replace(plain, seq=last.seq + 1, ts=last.ts + 1, prev_hash=last.hash)
        asked = asked.edit(outcome="refused", reason="caller_ask_pending", request_id="req-ask")
        asked = asked.edit(pin_generation=max(r.fields["pin_generation"] for r in chain))
        asked = replace(asked, hash=asked.digest())
        done = replace(asked, seq=asked.seq + 1, ts=asked.ts + 20, prev_hash=asked.hash)
        done = done.edit(outcome="dispatched", reason="", request_id="req-done")
        insert(c, asked)
        insert(c, replace(done, hash=done.digest()))
        c.execute(f"DELETE FROM {table}")
        return at(asked, "A04")

    return by_function(f"{name}_use_unrecorded", f"{name}: an approval was used, none is stored", generations, apply)


def _expired(table: str, columns: str) -> str:
    return (
        f"INSERT INTO {table} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150) "
        f"SELECT {columns}, 1700000000 + i FROM n"
    )


_STOPPED = 1_700_000_000 + 3 * 86_400

FAULTS: tuple[Fault, ...] = (
    by_function("audit_copy_partial", "kind audit: the copy of audit_log stopped early", _NEW, _partial_copy, _COPY),
    by_function("audit_copy_cut", "kind audit: cut off within the copy of audit_log", _NEW, _partial_copy),
    by_function("audit_copy_differs", "kind audit: the copy differs, sealed again", _NEW, _other_copy, _COPY),
    by_function(
        "audit_copy_rewritten", "kind audit: rewritten from within the copy on, sealed again", _NEW, _other_copy
    ),
    *(_audit_outcome(name) for name in ("audit_log", "audit", "audit_neutral")),
    by_function(
        "audit_log_bad_utf8",
        "audit_log: a text that is no UTF-8",
        (5, 6, 7, 8, 9),
        _audit_bytes,
        on_postgres=_NO_SUCH_TEXT,
    ),
    Fault(
        "call_in_both_logs",
        "a principal has calls in mcp_calls and in kind call",
        _NEW,
        _with_guard,
        on_postgres=absent("the definition of mcp_calls there is not known"),
    ),
    # approvals
    by_sql(
        "tokens_mixed",
        "tokens of two kinds",
        _NEW,
        "A01",
        "INSERT INTO plane_tokens SELECT 'ask', 'x' || token, expires_at FROM plane_tokens LIMIT 1",
    ),
    by_sql(
        "token_long",
        "a token that lives for years",
        _NEW,
        "A02",
        "INSERT INTO plane_tokens VALUES ('approval', 'nonce_long', 4000000000)",
    ),
    by_sql(
        "approval_long",
        "an approval that lives for years",
        (9,),
        "A02",
        "INSERT INTO spent_ask_states VALUES ('nonce_long', 4000000000)",
    ),
    by_sql(
        "approvals_expired",
        "approvals that nobody swept",
        (9,),
        "A03",
        _expired("spent_ask_states", "'old_' || i"),
    ),
    by_sql(
        "tokens_expired", "tokens that nobody swept", _NEW, "A03", _expired("plane_tokens", "'approval', 'old_' || i")
    ),
    _use_unrecorded("mcp_calls", (9,), "spent_ask_states"),
    _use_unrecorded("call", _NEW, "plane_tokens"),
    # durability
    by_sql(
        "tasks_kept_nothing",
        "agents were called, no task is stored",
        _OLD,
        "D01",
        "DELETE FROM tasks",
        "DELETE FROM task_events",
    ),
    by_sql(
        "plane_kept_nothing",
        "agents were called, no task is stored",
        _NEW,
        "D01",
        "DELETE FROM plane_records WHERE kind IN ('task', 'task_event')",
    ),
    by_sql(
        "mcp_calls_stopped", "no call is written any more", _OLD, "D02", f"DELETE FROM mcp_calls WHERE ts > {_STOPPED}"
    ),
    by_sql(
        "call_stopped",
        "no call is written any more",
        _NEW,
        "D02",
        f"DELETE FROM plane_records WHERE kind = 'call' AND ts > {_STOPPED}",
    ),
    by_sql(
        "task_events_stopped",
        "no task event is written any more",
        _OLD,
        "D02",
        f"DELETE FROM task_events WHERE task_id IN (SELECT task_id FROM tasks WHERE updated_at > {_STOPPED})",
        f"DELETE FROM tasks WHERE updated_at > {_STOPPED}",
        tasks=60,
    ),
    by_sql(
        "task_event_stopped",
        "no task event is written any more",
        _NEW,
        "D02",
        f"DELETE FROM plane_records WHERE kind = 'task_event' AND parent IN (SELECT id FROM plane_records "
        f"WHERE kind = 'task' AND ts > {_STOPPED})",
        f"DELETE FROM plane_records WHERE kind = 'task' AND ts > {_STOPPED}",
        tasks=60,
    ),
    by_sql(
        "metering_stopped",
        "usage is no longer metered while windows go on",
        _ALL,
        "D09",
        f"DELETE FROM usage_metering WHERE CAST(bucket AS INTEGER) > {_STOPPED}",
    ),
    by_sql(
        "task_events_left_out",
        "tasks go on and no event of them is written",
        _OLD,
        "D09 T02",
        "DELETE FROM task_events WHERE task_id IN (SELECT task_id FROM tasks WHERE state = 'working')",
        tasks=60,
    ),
    by_sql(
        "task_event_left_out",
        "tasks go on and no event of them is written",
        _NEW,
        "D09 T02",
        "DELETE FROM plane_records WHERE kind = 'task_event' AND parent IN (SELECT id FROM plane_records "
        "WHERE kind = 'task' AND json_extract(CAST(body AS TEXT), '$.state') = 'working')",
        tasks=60,
    ),
    by_sql(
        "tasks_left_out",
        "events of work go on and no task of them is written",
        _OLD,
        "D09 T01",
        "DELETE FROM tasks WHERE state = 'working'",
        tasks=60,
    ),
    # keys, credentials, denylist
    by_sql("key_wildcard", "a key may use everything", _ALL, "K04", "UPDATE keys SET allowed_pools = NULL " + _BOB),
    by_sql(
        "key_expired", "an expired key is enabled", _ALL, "K07", "UPDATE keys SET expires_at = created_at + 1 " + _BOB
    ),
    by_sql(
        "grants_of_pools",
        "scope grants name pools",
        _NEW,
        "K06",
        'UPDATE keys SET scope_grants = \'{"agent":["planner"],"pool":["fast"]}\' WHERE id = \'vk_alice\'',
    ),
    by_sql(
        "key_tombstone_signs",
        "a deleted key still has credentials",
        _ALL,
        "K01",
        "UPDATE credentials SET key_id = 'vk_retired' " + _CREDENTIAL,
    ),
    by_sql(
        "key_deleted_early",
        "a key deleted before it was made",
        _ALL,
        "K02",
        "UPDATE keys SET deleted_at = created_at - 1 WHERE id = 'vk_retired'",
    ),
    by_sql("deny_undated", "a denial without a time", _ALL, "K03", "INSERT INTO denylist VALUES ('sub_old', '', 0)"),
    by_sql(
        "grants_wrong",
        "scope grants name pools and hold numbers",
        _NEW,
        "K06",
        "UPDATE keys SET scope_grants = '{\"pool\":[1]}' WHERE id = 'vk_alice'",
    ),
    by_sql(
        "secret_plain",
        "a secret in clear text",
        _ALL,
        "K08",
        "UPDATE credentials SET secret = 'v1:plain:open' " + _CREDENTIAL,
    ),
    by_sql("metering_orphan", "metering of a key that is gone", _ALL, "K09", _METER.format("1699920000", "vk_gone")),
    by_sql(
        "key_bad_utf8",
        "a key's name is no UTF-8",
        _ALL,
        "S14",
        "UPDATE keys SET name = CAST(x'c328' AS TEXT) WHERE id = 'vk_alice'",
        on_postgres=_NO_SUCH_TEXT,
    ),
)
