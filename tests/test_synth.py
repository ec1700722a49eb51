"""Synthetic busbar stores: right shape, right digests, the same rows for the same seed. No audit engine in here."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from busbar_audit.chains import recipes
from busbar_audit.errors import OutputExists, UsageError
from busbar_audit.stores.busbar_shapes import GENERATIONS, expected
from busbar_audit.stores.shapes import differences, read
from busbar_audit.synth.busbar import Head, SynthStore, write_busbar
from busbar_audit.synth.plan import ODD

EVENT_FIELDS = ("task_id", "seq", "ts", "kind", "context_id", "principal", "agent_id", "state")
FORMS: list[dict[str, Any]] = [
    *({"generation": g} for g in GENERATIONS),
    *({"generation": g, "bodies": b} for g in (10, 12) for b in ("neutral", "migrated")),
    {"generation": 11, "odd": ("fresh",)},
    {"generation": 10, "bodies": "neutral", "odd": ("fresh",)},
    {"generation": 10, "bodies": "migrated", "odd": ("audit_copy",)},
    {"generation": 10, "event_digest": "mixed"},
]


def rows(store: SynthStore, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store.path)) as connection:
        return connection.execute(sql).fetchall()


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


def records(store: SynthStore) -> list[tuple[str, str, int, str, str, str]]:
    """Every chain record as population, scope, seq, prev_hash, stored hash, hash recomputed from its own fields."""
    found: list[tuple[str, str, int, str, str, str]] = []
    tables = {t for (t,) in rows(store, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    for row in rows(store, "SELECT prev_hash, seq, ts, action, resource, outcome, principal, hash FROM audit_log"):
        found.append(("audit_log", "audit_log", row[1], row[0], row[7], recipes.admin_audit(*row[:7])))
    if "mcp_calls" in tables:
        for scope, seq, ts, prev, digest, text in rows(
            store, "SELECT principal, seq, ts, prev_hash, hash, body FROM mcp_calls"
        ):
            found.append(("mcp_calls", scope, seq, prev, digest, call_digest(prev, scope, seq, ts, json.loads(text))))
    if "task_events" in tables:
        for row in rows(store, f"SELECT prev_hash, {','.join(EVENT_FIELDS)}, hash FROM task_events"):
            found.append(("task_events", row[1], row[2], row[0], row[9], recipes.event_v1(*row[:9])))
    if "plane_records" in tables:
        for kind, scope, seq, ts, blob in rows(
            store, "SELECT kind, parent, seq, ts, body FROM plane_records WHERE parent IS NOT NULL"
        ):
            body = json.loads(blob)
            assert body["seq"] == seq
            assert ts == body["ts"] if "ts" in body else ts > 0
            again = plane_digest(kind, scope, body)
            found.append((kind, scope, seq, body["prev_hash"], body["hash"], again))
    return found


def call_digest(prev: str, scope: str, seq: int, ts: int, body: dict[str, Any]) -> str:
    names = ("server", "tool", "outcome", "reason", "tool_digest", "pin_generation")
    return recipes.call(prev, scope, seq, ts, *(body[n] for n in names))


def plane_digest(kind: str, scope: str, body: dict[str, Any]) -> str:
    prev, seq = body["prev_hash"], body["seq"]
    if "content" in body:
        content = bytes(body["content"])
        if kind == "call":
            assert recipes.parse_neutral_call(content) is not None
            return recipes.neutral_call_digest(prev, scope, seq, content)
        assert recipes.parse_neutral_audit(content) is not None
        return recipes.neutral_audit_digest(prev, seq, content)
    if kind == "call":
        assert body["principal"] == scope
        return call_digest(prev, scope, seq, body["ts"], body)
    if kind == "audit":
        return recipes.admin_audit(
            prev, *(body[n] for n in ("seq", "ts", "action", "resource", "outcome", "principal"))
        )
    recipe = recipes.event_v2 if body.get("digest_version") == 2 else recipes.event_v1
    assert body["task_id"] == scope
    return recipe(prev, *(body[n] for n in EVENT_FIELDS))


def chains(store: SynthStore) -> dict[tuple[str, str], Head]:
    """Walk all chains: digests match, links hold, no gaps; return the heads found."""
    heads: dict[tuple[str, str], Head] = {}
    for population, scope, seq, prev, digest, again in sorted(records(store), key=lambda r: r[:3]):
        assert digest == again, (population, scope, seq)
        old = heads.get((population, scope))
        if old is None:
            heads[population, scope] = Head(seq, prev, seq, digest, 1)
            assert (prev == "") == (seq == 1)
            continue
        assert (seq, prev) == (old.last_seq + 1, old.last_hash), (population, scope, seq)
        heads[population, scope] = Head(old.first_seq, old.first_prev_hash, seq, digest, old.records + 1)
    return heads


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_store_is_whole(tmp_path: Path, form: dict[str, Any]) -> None:
    store = write_busbar(tmp_path / "s.db", calls=300, **form)
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (form["generation"],)
        assert differences(expected(form["generation"]), read(connection)) == ()
    assert chains(store) == store.heads
    for table, count in store.counts.items():
        name, _, kind = table.partition("/")
        where = f" WHERE kind = '{kind}'" if kind else ""
        assert rows(store, f"SELECT count(*) FROM {name}{where}") == [(count,)]
    calls = store.counts.get("mcp_calls", 0) + store.counts.get("plane_records/call", 0)
    assert calls == (300 if form["generation"] >= 7 else 0)
    assert store.counts["audit_log"] == (0 if "fresh" in form.get("odd", ()) else 50)
    tasks = store.counts.get("tasks", 0) + store.counts.get("plane_records/task", 0)
    assert tasks == (20 if form["generation"] >= 8 else 0)


@pytest.mark.parametrize("form", [{"generation": 9}, {"generation": 12, "bodies": "neutral"}], ids=str)
def test_the_same_seed_gives_the_same_rows(tmp_path: Path, form: dict[str, Any]) -> None:
    odd = ("unicode", "pipes", "retry", "empty_texts", "clock_back_small")
    a = write_busbar(tmp_path / "a.db", seed=7, odd=odd, **form)
    b = write_busbar(tmp_path / "b.db", seed=7, odd=odd, **form)
    c = write_busbar(tmp_path / "c.db", seed=8, odd=odd, **form)
    assert dump(a.path) == dump(b.path) != dump(c.path)
    assert (a.counts, a.heads) == (b.counts, b.heads)


def test_small_tables_agree_with_each_other(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=12)
    assert rows(store, "SELECT count(*) FROM keys WHERE deleted_at IS NOT NULL") == [(1,)]
    (latest,) = rows(
        store, "SELECT max(revision) FROM (SELECT revision FROM keys UNION SELECT revision FROM credentials)"
    )
    assert rows(store, "SELECT id, revision FROM store_revision") == [(0, *latest)]
    assert not rows(
        store, "SELECT 1 FROM usage_windows WHERE (model = '') <> (tokens_input = 0) OR billable_requests > requests"
    )
    windows = "SELECT bucket_id, window_start, sum(requests), sum(tokens_output) FROM usage_windows GROUP BY 1, 2"
    metering = (
        "SELECT key_id, CAST(bucket AS INTEGER), sum(requests), sum(tokens_output) FROM usage_metering GROUP BY 1, 2"
    )
    assert rows(store, f"{windows} ORDER BY 1, 2") == rows(store, f"{metering} ORDER BY 1, 2")
    assert rows(store, "SELECT count(*) FROM usage_metering WHERE billable_requests < requests") != [(0,)]
    assert not rows(store, "SELECT 1 FROM money_used u JOIN money_caps c USING (slot) WHERE u.used > c.cap")
    assert not rows(store, "SELECT 1 FROM journal GROUP BY stream HAVING min(seq) <> 1 OR max(seq) <> count(*)")


def test_tasks_follow_the_machine(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=9, tasks=200)
    terminal = {"completed", "failed", "canceled", "rejected"}
    after = {
        "submitted": {"working", "input-required", "auth-required", *terminal},
        "working": {"input-required", "auth-required", *terminal},
        "input-required": {"working", "auth-required", *terminal},
        "auth-required": {"working", "input-required", *terminal},
    }
    seen = set()
    for task_id, context, principal, state, agent, cursor, created, updated in rows(
        store,
        "SELECT task_id, context_id, principal, state, agent_id, artifact_cursor, created_at, updated_at FROM tasks",
    ):
        events = rows(
            store,
            "SELECT kind, state, agent_id, ts, context_id, principal FROM task_events "
            f"WHERE task_id = '{task_id}' ORDER BY seq",
        )
        assert events[0][:4] == ("task.submitted", "submitted", "", created)
        assert (events[-1][1], events[-1][2]) == (state, agent)
        assert {e[4:] for e in events} == {(context, principal)}
        assert sum(e[0] == "task.artifact" for e in events) == cursor
        now, changed = "submitted", created
        for kind, to, _, ts, *_ in events[1:]:
            if to != now:
                assert to in after[now]
                interrupted = now in ("input-required", "auth-required")
                right = "task.terminal" if to in terminal else "task.interrupted"
                assert kind == (("task.resumed" if interrupted else "task.working") if to == "working" else right)
                now = to
            if kind not in ("task.delegated", "task.push_delivered"):
                changed = ts
        assert updated == changed
        assert state in terminal or state == "input-required" or updated > store.end - 86_400
        seen.add(state)
    assert seen == {"working", "input-required", *terminal}


def test_calls_are_of_normal_use(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=9, calls=3000)
    keys = {k for (k,) in rows(store, "SELECT id FROM keys WHERE deleted_at IS NULL")}
    pins: dict[tuple[str, str], int] = {}
    requests = set()
    ((demoted, when),) = rows(store, "SELECT server, recorded_at FROM mcp_demotions")
    served_before = False
    for principal, ts, text in rows(store, "SELECT principal, ts, body FROM mcp_calls ORDER BY principal, seq"):
        body = json.loads(text)
        assert text == json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert principal in keys
        assert body["tool"].startswith(body["server"] + "_")
        assert body["tool_digest"] or body["outcome"] == "refused"
        assert body["outcome"] == ("dispatched" if body["reason"] in ("", "upstream_failed") else "refused")
        assert pins.get((principal, body["server"]), 0) <= body["pin_generation"]
        pins[principal, body["server"]] = body["pin_generation"]
        requests.add(body["request_id"])
        if body["server"] == demoted:
            served_before = True
            assert ts < when
    assert served_before
    assert len(requests) == 3000


def test_a_migrated_store_holds_the_rows_the_copy_makes(tmp_path: Path) -> None:
    old = write_busbar(tmp_path / "old.db", generation=9, seed=3)
    new = write_busbar(tmp_path / "new.db", generation=10, seed=3, bodies="migrated")
    names = [c.name for c in expected(9).tables["task_events"].columns]
    for row in rows(old, "SELECT * FROM task_events"):
        body = json.dumps(dict(zip(names, row, strict=True)), separators=(",", ":"), ensure_ascii=False).encode()
        assert rows(
            new,
            f"SELECT kind, id, parent, ts, disposition, body FROM plane_records WHERE kind = 'task_event' "
            f"AND identity = '{row[0]}' AND seq = {row[1]}",
        ) == [("task_event", row[0], row[0], row[2], "active", body)]
    names = [c.name for c in expected(9).tables["tasks"].columns]
    for row in rows(old, "SELECT * FROM tasks"):
        body = json.dumps(dict(zip(names, row, strict=True)), separators=(",", ":"), ensure_ascii=False).encode()
        ended = row[4] in ("completed", "failed", "canceled", "rejected")
        assert rows(
            new, f"SELECT seq, parent, ts, disposition, body FROM plane_records WHERE kind = 'task' AND id = '{row[0]}'"
        ) == [(0, None, row[9], "terminal" if ended else "active", body)]
    assert rows(
        new,
        "SELECT 'approval', nonce, expires_at FROM plane_tokens JOIN (SELECT token nonce FROM plane_tokens) "
        "ON nonce = token",
    ) == [("approval", *r) for r in rows(old, "SELECT * FROM spent_ask_states")]
    shared = "SELECT * FROM mcp_calls ORDER BY ts LIMIT 700"
    assert rows(new, shared) == rows(old, shared)
    assert rows(new, "SELECT min(seq) FROM plane_records WHERE kind = 'call'") == [(1,)]


@pytest.mark.parametrize("odd", ODD)
def test_each_oddity_is_there(tmp_path: Path, odd: str) -> None:
    late = odd in ("fresh", "audit_copy", "u64_money")
    form: dict[str, Any] = {"generation": 11 if late else 9}
    if odd == "audit_copy":
        form["bodies"] = "migrated"
    store = write_busbar(tmp_path / "s.db", calls=2000, odd=[odd], **form)
    if odd not in ("audit_gap", "purged_head"):
        assert chains(store) == store.heads
    proofs = {
        "purged_head": "SELECT min(seq) > 1 FROM mcp_calls",
        "audit_gap": "SELECT max(seq) - count(*) = 3 FROM audit_log",
        "clock_back_small": "SELECT max(p - ts) BETWEEN 1 AND 300 FROM (SELECT ts, lag(ts) OVER "
        "(PARTITION BY principal ORDER BY seq) p FROM mcp_calls)",
        "unicode": "SELECT count(*) > 0 FROM mcp_calls WHERE principal = 'vk_東京'",
        "pipes": "SELECT count(*) > 0 FROM audit_log WHERE instr(resource, '|')",
        "many_principals": "SELECT count(DISTINCT principal) > 1000 FROM mcp_calls",
        "big_body": "SELECT max(length(body)) > 300000 FROM mcp_calls",
        "retry": "SELECT count(*) > count(DISTINCT json_extract(body, '$.request_id')) FROM mcp_calls",
        "empty_texts": "SELECT count(*) > 0 FROM mcp_calls WHERE json_extract(body, '$.server') = ''",
        "u64_pin": "SELECT count(*) > 0 FROM mcp_calls WHERE body GLOB '*:922337203685477*'",
        "u64_money": "SELECT min(cap) < 0 FROM money_caps",
        "silent_principal": "SELECT max(ts - p) > 400000 FROM (SELECT ts, lag(ts) OVER (ORDER BY seq) p FROM mcp_calls "
        "WHERE principal = 'vk_alice')",
        "audit_copy": "SELECT count(*) = 50 FROM audit_log JOIN plane_records USING (seq) WHERE kind = 'audit'",
        "fresh": "SELECT count(*) = 0 FROM audit_log",
        "empty": "SELECT count(*) = 0 FROM keys",
    }
    assert rows(store, proofs[odd]) == [(1,)]


def test_a_purge_leaves_later_digests_and_links_whole(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=9, odd=["purged_head"])
    assert all(digest == again for *_, digest, again in records(store))
    found = {(p, s): h for (p, s), h in store.heads.items() if p == "mcp_calls"}
    for (_, scope), head in found.items():
        assert head.first_seq > 1
        assert head.first_prev_hash
        assert head.records == head.last_seq - head.first_seq + 1
        assert rows(store, f"SELECT min(seq), max(seq) FROM mcp_calls WHERE principal = '{scope}'") == [
            (head.first_seq, head.last_seq)
        ]
    assert found


def test_placeholder_digests_link_but_do_not_match(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=9, digest_placeholders=True)
    assert not any(digest == again for *_, digest, again in records(store))
    assert rows(store, "SELECT prev_hash, hash FROM audit_log WHERE seq < 3") == [("", "h1"), ("h1", "h2")]


def test_oddities_can_be_combined_over_many_calls(tmp_path: Path) -> None:
    said: list[tuple[int, int]] = []
    started = time.perf_counter()
    store = write_busbar(
        tmp_path / "s.db", generation=9, calls=100_000, progress=lambda done, total: said.append((done, total))
    )
    print(f"100 000 calls in {time.perf_counter() - started:.2f} s")
    assert store.counts["mcp_calls"] == 100_000
    assert said == sorted(said)
    assert said[-1][1] == 100_000
    assert sum(h.records for (p, _), h in store.heads.items() if p == "mcp_calls") == 100_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"generation": 4},
        {"generation": 13},
        {"generation": 9, "odd": ["nonsense"]},
        {"generation": 9, "odd": ["fresh"]},
        {"generation": 9, "bodies": "neutral"},
        {"generation": 9, "event_digest": "v2"},
        {"generation": 10, "audit_variant": "core"},
        {"generation": 10, "bodies": "migrated", "odd": ["fresh"]},
        {"generation": 9, "calls": -1},
        {"generation": 9, "principals": 0},
    ],
    ids=str,
)
def test_wrong_options_are_usage_errors_and_leave_no_file(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        write_busbar(tmp_path / "s.db", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_text("mine")
    with pytest.raises(OutputExists):
        write_busbar(path, generation=9)
    assert path.read_text() == "mine"


def test_the_journal_mode_can_be_chosen(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=6, journal="delete")
    assert rows(store, "PRAGMA journal_mode") == [("delete",)]
    assert [p.name for p in tmp_path.iterdir()] == ["s.db"]
