"""Keys, credentials, denylist, usage and the v11 ledger of a synthetic store: small tables in ordinary use."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator

from busbar_audit.synth.bodies import dumps
from busbar_audit.synth.plan import Plan

_MODELS = (("openai", "gpt-x"), ("anthropic", "claude-y"))
_BILLED = 50  # principals with usage rows; the others are too quiet to be billed
_KEY_INSERT = (
    "INSERT INTO keys (id, name, key_group, allowed_pools, labels, enabled, generation_hash, created_at, updated_at, "
    "expires_at, deleted_at, revision) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
)


def write_keys(connection: sqlite3.Connection, plan: Plan) -> None:
    """Write keys (one deleted), credentials, denylist, and the revision counter that covers them."""
    day = 86_400
    revision = 0
    minted = plan.start - 30 * day
    keys: list[tuple[object, ...]] = []
    credentials: list[tuple[object, ...]] = []
    for n, name in enumerate(plan.principal_names):
        revision += 1
        pools = None if n % 5 == 4 else dumps(["fast", "slow"][: 1 + n % 2])
        labels = dumps({"team": ("growth", "platform")[n % 2]})
        group = ("eng", "ops", None)[n % 3]
        expires = plan.end + 60 * day
        keys.append(
            (
                name,
                f"key of {name}",
                group,
                pools,
                labels,
                1,
                f"binding:{n}:g1",
                minted,
                minted,
                expires,
                None,
                revision,
            )
        )
        if n % 2 == 0 and n < _BILLED:
            revision += 1
            secret = "v1:aesgcm:" + hashlib.sha256(f"{plan.seed}/{n}".encode()).hexdigest()
            row = (
                f"cred_{n:05d}",
                name,
                "sigv4",
                0,
                f"AKIASYNTH{n:07d}",
                secret,
                "recoverable",
                minted,
                minted,
                revision,
            )
            credentials.append(row)
    revision += 1
    gone = plan.start + plan.span // 3
    keys.append(
        ("vk_retired", "", None, "[]", "{}", 0, "binding:retired:g1", minted, gone, plan.end + 60 * day, gone, revision)
    )
    connection.executemany(_KEY_INSERT, keys)
    connection.executemany(
        "INSERT INTO credentials (id, key_id, kind, slot, public_id, secret, secret_form, created_at, updated_at, "
        "revision) VALUES (?,?,?,?,?,?,?,?,?,?)",
        credentials,
    )
    connection.execute(
        "INSERT INTO denylist (sub, reason, created_at) VALUES ('sub_leaked', 'leaked in a log', ?)", (plan.half,)
    )
    connection.execute("UPDATE store_revision SET revision = ?", (revision,))
    if plan.generation >= 10 and plan.bodies != "migrated":
        connection.execute(
            "UPDATE keys SET scope_grants = ?, minted_by = 'admin' WHERE id = ?",
            (dumps({"mcp_server": [plan.server_names[0]], "agent": ["planner"]}), plan.principal_names[0]),
        )


def write_usage(connection: sqlite3.Connection, plan: Plan) -> None:
    """Write usage windows (requests on the '' row, tokens on the model rows) and metering that agree day by day."""
    windows: list[tuple[object, ...]] = []
    metering: list[tuple[object, ...]] = []
    for row in _days(plan):
        day, name, counts = row
        windows.append((day, name, "", sum(c[0] for c in counts), sum(c[1] for c in counts), 0, 0, 0, 0))
        for (provider, model), (requests, billable, *tokens) in zip(_MODELS, counts, strict=True):
            windows.append((day, name, model, 0, 0, *tokens))
            metering.append((str(day), name, provider, model, "eng", "v3", requests, billable, *tokens))
    connection.executemany("INSERT INTO usage_windows VALUES (?,?,?,?,?,?,?,?,?)", windows)
    columns = (
        "bucket, key_id, provider, model, key_group_at_use, pricing_version, requests, billable_requests, "
        "tokens_input, tokens_output, tokens_cache_read, tokens_cache_write"
    )
    connection.executemany(f"INSERT INTO usage_metering ({columns}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", metering)  # noqa: S608
    if plan.generation >= 10 and plan.bodies != "migrated":
        day, name, _ = next(_days(plan))
        provider, model = _MODELS[0]
        connection.execute("INSERT INTO usage_window_units VALUES (?,?,?,'audio_seconds',12)", (day, name, model))
        connection.execute(
            "INSERT INTO usage_metering_units VALUES (?,?,?,?,0,'audio_seconds',12)", (str(day), name, provider, model)
        )


def _days(plan: Plan) -> Iterator[tuple[int, str, list[tuple[int, ...]]]]:
    rng = plan.random("usage")
    for n in range(plan.days + 1):
        day = (plan.start + n * 86_400) // 86_400 * 86_400
        if day > plan.end:
            return
        for name in plan.principal_names[:_BILLED]:
            counts: list[tuple[int, ...]] = []
            for place in range(len(_MODELS)):
                requests = rng.randrange(20, 200)
                # A refused or failed request is refunded, so billable stays below requests now and then.
                refunded = requests // 10 if (n + place) % 2 == 0 else 0
                counts.append((requests, requests - refunded, requests * 900, requests * 300, requests * 10, requests))
            yield day, name, counts


def write_ledger(connection: sqlite3.Connection, plan: Plan) -> None:
    """Write a few valid rows of the generation 11 and 12 tables (fact sheet 2.6, 2.7)."""
    for n in range(3):
        op = hashlib.sha256(f"{plan.seed}/op/{n}".encode()).digest()[:16]
        connection.execute("INSERT INTO store_ops VALUES (?,?,?,?)", (op, '{"verb":"put"}', "ok", plan.end - 60 * n))
    cap = -(2**63) + 5 if "u64_money" in plan.odd else 1_000_000_000
    for n, name in enumerate(plan.principal_names[:3]):
        slot = dumps([name, None, 0, "", plan.start])
        connection.execute("INSERT INTO money_caps VALUES (?,?,1)", (slot, cap))
        connection.execute("INSERT INTO money_used VALUES (?,?)", (slot, 1000 * (n + 1)))
        connection.execute("INSERT INTO money_slices (slot, remaining) VALUES (?,?)", (slot, 0 if n == 2 else 500))
        connection.execute("INSERT INTO sessions VALUES (?,?,?)", (n + 1, "node-1", name))
    for stream in ("node-1", "node-2"):
        rows = [(stream, seq, f"{stream}/{seq}".encode()) for seq in range(1, 6)]
        connection.executemany("INSERT INTO journal VALUES (?,?,?)", rows)
    connection.execute("INSERT INTO schema_records VALUES ('push.callback', ?, ?)", (b"k1", b"{}"))
    connection.execute("INSERT INTO schema_records VALUES ('rate.card', ?, ?)", (b"k2", b'{"v":1}'))
    if plan.generation >= 12:
        connection.execute("INSERT INTO money_epoch VALUES (0, 1)")
