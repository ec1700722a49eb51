"""What the next purge would take: the prediction is the purge itself on a private copy, row for row."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support_a2a import BASES
from support_audit import AS_OF, built, copied, edit
from support_postgres import Server

from busbar_audit.errors import PolicyError
from busbar_audit.policy import Hold, Policy, read_policy
from busbar_audit.retention.rehearsal import PostgresCopy, SqliteCopy, differences
from busbar_audit.retention.simulation import begin, keys, predict, simulate
from busbar_audit.retention.verbs import Verb, verbs
from busbar_audit.store import open_store
from busbar_audit.stores import busbar_shapes
from busbar_audit.synth.a2a import write_a2a
from busbar_audit.synth.busbar_pg import write_busbar_pg
from busbar_audit.synth.maka import write_maka

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
STORES = 200
START = AS_OF - 7 * 86_400
NOW = AS_OF
DAYS = [START // 86_400 * 86_400 + n * 86_400 for n in range(8)]
# Of a cutoff, the moment itself and those beside it are what a wrong comparison gives away.
BORDERS = (DAYS[2] - 1, DAYS[2], DAYS[2] + 1)
STATES = (
    "submitted",
    "working",
    "input-required",
    "auth-required",
    "completed",
    "failed",
    "canceled",
    "rejected",
    "Completed",
    "paused",
)
KINDS = ("task", "task_event", "call", "audit", "demotion", "push_config")
_TYPES = {"INTEGER": "BIGINT", "TEXT": "VARCHAR", "BLOB": "BLOB"}


# ---- 200 generated SQLite stores of every generation, in memory ------------------------------------------------------


def _value(rng: random.Random, table: str, name: str, kind: str) -> Any:
    """A value near the borders that the predicates go by, or anything."""
    if name in ("ts", "updated_at", "window_start", "expires_at", "recorded_at", "created_at"):
        return rng.choice((0, -1, 2**62, NOW, NOW - 1, NOW - 86_400, NOW - 86_399, *BORDERS, *BORDERS, DAYS[4]))
    if name == "bucket":
        return rng.choice((*(str(d) for d in DAYS), f"0{DAYS[2]}", f"{DAYS[2]}.0", "", "day"))
    if name == "state":
        return rng.choice(STATES)
    if name == "disposition":
        return rng.choice(("active", "terminal"))
    if name == "kind" and table == "plane_tokens":
        return rng.choice(("ask", "approval"))
    if name == "kind" and table == "plane_records":
        return rng.choice(KINDS)
    if name in ("task_id", "identity", "principal", "parent"):
        return rng.choice(("t1", "t2", "t3", "T1", "clé", "a|b", ""))
    if kind == "INTEGER":
        return rng.randrange(-2, 9)
    return rng.randbytes(4) if kind == "BLOB" else rng.choice(("a", "b", "task", "\n", "ü")) + str(rng.randrange(4))


def _filled(con: sqlite3.Connection, rng: random.Random, table: str) -> None:
    columns = con.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
    rows = [tuple(_value(rng, table, name, kind) for name, kind in columns) for _ in range(rng.randrange(14))]
    marks = ", ".join("?" * len(columns))
    con.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)


def _carried(source: sqlite3.Connection, con: duckdb.DuckDBPyConnection, table: str) -> None:
    columns = source.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
    declared = ", ".join(f'"{name}" {_TYPES[kind]}' for name, kind in columns)
    con.execute(f"CREATE TABLE raw.{table} ({declared})")
    rows = source.execute(f"SELECT * FROM {table}").fetchall()
    if rows:
        marks = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows))
        con.execute(f"INSERT INTO raw.{table} VALUES {marks}", [value for row in rows for value in row])


def _listed(generation: int) -> list[Verb]:
    kinds = {"plane_records": KINDS, "plane_tokens": ("ask", "approval")}
    return list(verbs("busbar", "sqlite", generation, kinds))


@pytest.mark.parametrize("generation", range(5, 13))
def test_the_prediction_is_the_purge(generation: int) -> None:
    """25 stores a generation, 200 in all: every verb on half of them, with the trigger on tasks and without it."""
    listed = _listed(generation)
    taken = dict.fromkeys((verb.label for verb in listed), 0)
    tables = sorted({table for verb in listed for table in verb.tables})
    with closing(sqlite3.connect(":memory:")) as template, closing(duckdb.connect(config={"threads": 1})) as con:
        busbar_shapes.create(template, generation)
        con.execute("CREATE SCHEMA raw")
        con.execute("CREATE SCHEMA source")
        for number in range(STORES // 8 * (4 if FULL else 1)):
            rng = random.Random(f"{generation}/{number}")
            with closing(sqlite3.connect(":memory:")) as store:
                template.backup(store)
                for table in tables:
                    _filled(store, rng, table)
                active = {"tasks_cascade_events"}
                if 8 <= generation <= 9 and number % 4 == 3:
                    store.execute("DROP TRIGGER tasks_cascade_events")
                    active = set()
                store.commit()
                # One transaction a store, all of it in memory: a commit a statement would cost more than the statements.
                con.execute("BEGIN")
                for table in tables:
                    _carried(store, con, table)
                copy = SqliteCopy(store)
                begin(con)
                # Half of the verbs on each store, the other half on the next; all of them with BUSBAR_AUDIT_FULL.
                for verb in listed if FULL else listed[number % 2 :: 2]:
                    cutoff = rng.choice((0, DAYS[2], DAYS[2], DAYS[2] + 1, DAYS[5], 2**64))
                    predict(con, verb, cutoff, NOW, active)
                    done = copy.purge(verb, verb.values(cutoff, NOW))
                    assert differences(keys(con, verb), done.keys) == [], (generation, number, verb.label, cutoff)
                    taken[verb.label] += sum(len(rows) for rows in done.keys.values())
                con.execute("ROLLBACK")
    assert all(taken.values()), f"these took nothing in any store: {[v for v, n in taken.items() if not n]}"


def test_a_wrong_prediction_would_be_seen() -> None:
    said, went = {"tasks": {("a",), ("b",)}}, {"tasks": {("b",)}, "task_events": {("b", "1")}}
    assert differences(said, went) == [("task_events", "taken", ("b", "1")), ("tasks", "predicted", ("a",))]


# ---- whole stores ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


def effects(store: Path, **options: Any) -> dict[str, dict[str, list[str]]]:
    """Places of each effect by verb, those without any left out."""
    with open_store(store) as opened:
        found = simulate(opened, as_of=NOW, **options)
    return {p.verb.label: {n: [str(r["place"]) for r in rows] for n, rows in p.effects.items() if rows} for p in found}


@pytest.mark.parametrize("generation", [9, 12])
def test_a_finished_purge_puts_no_work_at_risk(bases: Path, generation: int) -> None:
    verb = {9: "purge_tasks_before", 12: "purge_plane_records_before(task)"}[generation]
    assert effects(built(bases, generation, {}), cutoff=NOW, only=[verb]) == {verb: {}}


def test_live_work_marked_terminal_is_at_risk(bases: Path, tmp_path: Path) -> None:
    store = copied(built(bases, 12, {}), tmp_path / "store.db")
    with closing(sqlite3.connect(store)) as con:
        (task,) = con.execute("SELECT id FROM plane_records WHERE kind = 'task' AND disposition = 'active'").fetchone()
    edit(store, "UPDATE plane_records SET disposition = 'terminal' WHERE kind = 'task' AND id = ?", task)
    verb = "purge_plane_records_before(task)"
    assert effects(store, cutoff=NOW + 1, only=[verb]) == {verb: {"purge_at_risk": [task]}}


def test_records_with_the_time_zero_are_younger_than_the_cutoff(bases: Path, tmp_path: Path) -> None:
    store = copied(built(bases, 12, {}), tmp_path / "store.db")
    with closing(sqlite3.connect(store)) as con:
        con.execute("DROP TRIGGER plane_records_chain_no_update")
        con.execute("UPDATE plane_records SET ts = 0 WHERE kind = 'call'")
        callers = [
            c for (c,) in con.execute("SELECT DISTINCT parent FROM plane_records WHERE kind = 'call' ORDER BY 1")
        ]
        con.execute(busbar_shapes.trigger_sql("plane_records_chain_no_update"))
        con.commit()
    verb = "purge_plane_records_before(call)"
    assert effects(store, cutoff=1, only=[verb]) == {verb: {"purge_younger": callers}}


def test_without_the_trigger_events_stay_behind_and_it_is_said(bases: Path, tmp_path: Path) -> None:
    store = copied(built(bases, 9, {}), tmp_path / "store.db")
    edit(store, "DROP TRIGGER tasks_cascade_events")
    with closing(sqlite3.connect(store)) as con:
        ended = "SELECT task_id FROM tasks WHERE state IN ('completed', 'failed', 'canceled', 'rejected') ORDER BY 1"
        orphaned = [t for (t,) in con.execute(ended)]
    with open_store(store) as opened:
        (found,) = simulate(opened, as_of=NOW, cutoff=NOW + 1, only=["purge_tasks_before"])
    assert found.rows == {"tasks": len(orphaned), "task_events": 0}
    assert [r["place"] for r in found.effects["purge_orphans"]] == orphaned
    assert any("not in force" in note for note in found.notes)


def test_chains_that_lose_their_head_are_named_with_their_new_beginning(bases: Path) -> None:
    cutoff = START + 3 * 86_400
    with open_store(built(bases, 9, {})) as opened:
        (found,) = simulate(opened, as_of=NOW, cutoff=cutoff, only=["purge_mcp_calls_before"])
        left = opened.con.execute(
            "SELECT principal, min(seq) FROM raw.mcp_calls WHERE ts >= $1 GROUP BY 1 HAVING min(seq) > 1 ORDER BY 1",
            [cutoff],
        ).fetchall()
    assert left
    assert [(r["place"], r["begins_at"], r["from_inside"]) for r in found.effects["purge_heads"]] == [
        (*r, 0) for r in left
    ]


def test_a_policy_gives_each_verb_its_cutoff_and_names_what_is_held(bases: Path) -> None:
    store = built(bases, 9, {})
    with closing(sqlite3.connect(store)) as con:
        (caller,) = con.execute("SELECT principal FROM mcp_calls ORDER BY ts LIMIT 1").fetchone()
    holds = (
        Hold("calls", caller, "case 7"),
        Hold("calls", "vk_nobody", "case 8"),
        Hold("calls", caller, "over", until=NOW),
    )
    with open_store(store) as opened:
        found = simulate(opened, as_of=NOW, policy=Policy(cutoffs={"calls": -3 * 86_400}, holds=holds))
    assert {p.verb.name: p.cutoff for p in found} == {
        "purge_mcp_calls_before": NOW - 3 * 86_400,
        "redeem_ask_state": None,
    }
    assert {p.verb.name: [r["place"] for r in p.effects["purge_held"]] for p in found if p.effects["purge_held"]} == {
        "purge_mcp_calls_before": [caller]
    }


@pytest.mark.parametrize(
    "text",
    [
        "of = 'windows'\nplace = 'x'\nreason = 'y'",
        "of = 'tasks'\nplace = ' '\nreason = 'y'",
        "of = 'tasks'\nplace = 'x'",
        "of = 'tasks'\nplace = 'x'\nreason = 'y'\nsince = 3",
        "of = 'tasks'\nplace = 'x'\nreason = 'y'\nwhen = 3",
    ],
)
def test_a_hold_that_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "policy.toml").write_text(f"[[hold]]\n{text}\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="hold"):
        read_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize("generation", [11, 12, 16, 18])
def test_deleted_sessions_of_maka_are_predicted(tmp_path: Path, generation: int) -> None:
    path = write_maka(tmp_path / "runtime.sqlite", generation=generation).path
    edit(
        path,
        "INSERT INTO session_metadata_tombstones (session_id, deleted_at, cleanup_pending) VALUES ('s1', 1, 1), ('s2', 1, 0)",
    )
    with open_store(path) as store:
        (found,) = simulate(store, as_of=NOW)
        with closing(SqliteCopy.of(store.snapshot.path, tmp_path / "copy.db").connection) as con:
            done = SqliteCopy(con).purge(found.verb, found.verb.values(None, NOW))
        assert differences(keys(store.con, found.verb), done.keys) == []
    assert found.rows["runtime_events"] > 0


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def _agrees(server: Server, database: str, schema: str, cutoffs: list[int], family: str) -> dict[str, int]:
    """Hold every verb against the purge, in a transaction that is rolled back; rows taken by verb."""
    taken: dict[str, int] = {}
    for cutoff in cutoffs:
        with open_store(server.uri(database), family=family, schema=schema) as store, server.connect(database) as con:
            found = simulate(store, as_of=NOW + 400_000, cutoff=cutoff)
            # A TRUNCATE would wait for the transaction that the store was read in.
            store.source.finish()
            assert found
            for each in found:
                done = PostgresCopy(con, schema).purge(each.verb, each.verb.values(each.cutoff, NOW + 400_000))
                assert differences(keys(store.con, each.verb), done.keys) == [], (each.verb.label, cutoff)
                taken[each.verb.label] = taken.get(each.verb.label, 0) + each.total
    return taken


@pytest.mark.parametrize("generation", [6, 10, 11])
def test_the_prediction_is_the_purge_on_postgres(postgres: Server, generation: int) -> None:
    database = postgres.new(f"purge_busbar_{generation}")
    for seed in range(6 if FULL else 1):
        schema = f"s{seed}"
        write_busbar_pg(postgres.uri(database), schema, generation=generation, seed=seed, calls=60, tasks=12, audits=20)
        taken = _agrees(postgres, database, schema, [START + 4 * 86_400, *([2**64] if FULL else [])], "busbar")
        assert all(taken.values()), taken


@pytest.fixture(scope="module")
def a2a(postgres: Server) -> str:
    return postgres.new("purge_a2a")


@pytest.mark.parametrize("base", [base for base in BASES if base != "push"])
def test_deletes_of_a2a_tasks_are_predicted(postgres: Server, a2a: str, base: str) -> None:
    generation, variant = BASES[base]
    write_a2a(postgres.uri(a2a), base, generation=generation, variant=variant, tasks=12)
    taken = _agrees(postgres, a2a, base, [NOW - 86_400, *([NOW] if FULL else [])], "a2a")
    assert all(taken.values()), taken
    if base == "v4":
        # A trigger that is off takes nothing along.
        postgres.run(a2a, "ALTER TABLE v4.a2a_tasks DISABLE TRIGGER a2a_delete_task_push_configs_trigger")
        _agrees(postgres, a2a, base, [NOW - 86_400], "a2a")
