"""Faults in keys, usage, approvals, the ledger, and between the two copies of the audit chain."""

# ruff: noqa: S608 - every piece of SQL here is a constant of this module

from __future__ import annotations

import sqlite3
from dataclasses import replace

from busbar_audit.stores.busbar_shapes import statements
from busbar_audit.synth.fault import Fault, Planted, codes
from busbar_audit.synth.faults_chain import Place, at, chain_of, edited, middle, place
from busbar_audit.synth.planting import by_function, by_sql
from busbar_audit.synth.records import delete, insert, reseal, save, unguarded

_OLD, _NEW, _ALL = (8, 9), (10, 11, 12), tuple(range(5, 13))
_COPY = {"bodies": "migrated", "odd": ("audit_copy",)}
_METER = "INSERT INTO usage_metering (bucket, key_id, provider, model) VALUES ('{}', '{}', 'openai', 'gpt-x')"
_CREDENTIAL = "WHERE id = (SELECT min(id) FROM credentials)"
_BUDGET = "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', '', {}, {}, {}, 0, 0, 0)"


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


FAULTS: tuple[Fault, ...] = (
    by_function("audit_copy_partial", "kind audit: the copy of audit_log stopped early", _NEW, _partial_copy, _COPY),
    by_function("audit_copy_differs", "kind audit: the copy differs, sealed again", _NEW, _other_copy, _COPY),
    *(_audit_outcome(name) for name in ("audit_log", "audit", "audit_neutral")),
    by_function("audit_log_bad_utf8", "audit_log: a text that is no UTF-8", (5, 6, 7, 8, 9), _audit_bytes),
    Fault("call_in_both_logs", "a principal has calls in mcp_calls and in kind call", _NEW, _with_guard),
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
    # keys, credentials, denylist
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
    ),
    # usage
    by_sql(
        "tokens_without_requests",
        "tokens in a window without requests",
        _ALL,
        "U01",
        "INSERT INTO usage_windows VALUES (1699920000, 'budget:eng', 'gpt-x', 0, 0, 10, 5, 0, 0)",
    ),
    by_sql("sentinel_tokens", "tokens on the row for requests", _ALL, "U02", _BUDGET.format(5, 5, 1)),
    by_sql("overbilled", "more billed than requested", _ALL, "U03", _BUDGET.format(1, 2, 0)),
    by_sql("negative_counter", "a counter below zero", _ALL, "U05", _BUDGET.format(1, -1, 0)),
    by_sql(
        "bucket_not_a_day", "a bucket that is not a day's start", _ALL, "U06", _METER.format("1699920001", "vk_alice")
    ),
    by_sql(
        "unit_orphan",
        "a unit row without its window",
        _NEW,
        "U08",
        "INSERT INTO usage_window_units VALUES (1, 'budget:eng', 'gpt-x', 'audio_seconds', 1)",
    ),
    by_sql(
        "unit_reserved", "a reserved unit in a unit table", _NEW, "U09", "UPDATE usage_window_units SET unit = 'input'"
    ),
    by_sql(
        "journal_gap",
        "a journal stream with a gap",
        (11, 12),
        "U12",
        "DELETE FROM journal WHERE stream = 'node-1' AND seq = 3",
    ),
    by_sql("money_over", "more money used than the cap", (11, 12), "U12", "UPDATE money_used SET used = 2000000000"),
)
