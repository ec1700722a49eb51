# ruff: noqa: E501 - statements
"""How configurations lose their task (sheet 3.4), each way gone for real and named with its cause; and an audit beside a migration."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest
from support_audit import AS_OF
from support_postgres import Server, running

from busbar_audit.auditing import audit
from busbar_audit.policy import Policy
from busbar_audit.result import Result
from busbar_audit.snapshot.postgres import open_postgres
from busbar_audit.sources import postgres as sources
from busbar_audit.store import open_store
from busbar_audit.stores.a2a_bodies import DELETE_LOCK, DELETE_TRIGGER, LOCK_TRIGGER, PUSH_LOCK
from busbar_audit.synth import a2a_helpers
from busbar_audit.synth import a2a_payloads as payload
from busbar_audit.synth.a2a import write_a2a

T, P = "a2a_tasks", "a2a_push_notification_configs"
DB = "causes"
# Every body of ours: what was done to a store is told by other checks than the one for bodies.
BODIES = tuple(
    digest
    for generation in (13, 14)
    for quoted in (False, True)
    for digest in a2a_helpers.digests("any", generation, quoted=quoted)
)
FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
NOTHING_LEFT = "nothing of it is left to see"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new(DB)
        yield up


def _new(server: Server, schema: str, **words: Any) -> None:
    write_a2a(server.uri(DB), schema, **{"generation": 14, "tasks": 12, **words})


def _judged(server: Server, schema: str, database: str = DB) -> tuple[Result, set[str], list[tuple[str, int, str]]]:
    """The result, its codes, and of the orphans: task, how many, and the cause that is told."""
    with open_store(server.uri(database), family="a2a", schema=schema) as store:
        result = audit(store, as_of=AS_OF, policy=Policy(helpers=BODIES))
        orphans = [
            (f.place, f.records, f.detail.partition("; likely: ")[2]) for f in result.findings() if f.code == "A2A-D01"
        ]
        grave = {code.removeprefix("A2A-") for code in result.codes() if result.check(code).severity != "info"}
        return result, grave - {"F13"}, orphans


def _with_configs(con: Any, s: str) -> tuple[str, int]:
    """The task with most local configurations."""
    query = f"SELECT task_id, count(*) FROM {s}.{P} WHERE local_postgres_task GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
    row = con.execute(query.encode()).fetchone()
    return str(row[0]), int(row[1])


def _create(con: Any, s: str, task: str, config: str = "late") -> int:
    """What the SDK does to create a configuration: ask the helper and insert in one statement; rows written."""
    url = "https://a.example.com/x"
    return con.execute(
        f"INSERT INTO {s}.{P} (task_id, config_id, url, config_proto, local_postgres_task, updated_at) "
        f"SELECT %(t)s, %(c)s, %(u)s, %(p)s, true, '2023-11-20' FROM (SELECT {s}.{PUSH_LOCK}(%(t)s) AS found) AS asked WHERE found".encode(),
        {"t": task, "c": config, "u": url, "p": payload.config(task, config, url)},
    ).rowcount  # fmt: skip


# ---- ways to lose a task, each as it happens -------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["repeatable read", *(["serializable"] if FULL else [])])
def test_a_delete_by_an_old_snapshot(server: Server, level: str) -> None:
    s = level.replace(" ", "_")
    _new(server, s)
    with server.connect(DB) as deleter, server.connect(DB) as creator:
        task, _ = _with_configs(creator, s)
        deleter.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
        deleter.execute(f"SELECT count(*) FROM {s}.{P}".encode())
        assert _create(creator, s, task) == 1
        deleter.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))
        deleter.execute("COMMIT")
    _, codes, orphans = _judged(server, s)
    assert (codes, [(place, n) for place, n, _ in orphans]) == ({"D01"}, [(task, 1)])
    assert orphans[0][2].startswith(NOTHING_LEFT)
    assert "repeatable read or serializable" in orphans[0][2]


def test_the_same_by_a_role_that_is_set_to_it(server: Server) -> None:
    s = "isolated"
    _new(server, s)
    with server.connect(DB) as con:
        con.execute("CREATE ROLE sweeper LOGIN")
        con.execute(f"GRANT USAGE ON SCHEMA {s} TO sweeper".encode())
        con.execute(f"GRANT SELECT, DELETE ON {s}.{T} TO sweeper".encode())
        con.execute("ALTER ROLE sweeper SET default_transaction_isolation = 'repeatable read'")
        task, _ = _with_configs(con, s)
        with psycopg.connect(server.uri(DB, "sweeper")) as deleter:
            deleter.execute(f"SELECT count(*) FROM {s}.{T}".encode())
            assert _create(con, s, task) == 1
            deleter.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))
        _, codes, orphans = _judged(server, s)
        con.execute("ALTER ROLE sweeper RESET default_transaction_isolation")
    assert (codes, [(place, n) for place, n, _ in orphans]) == ({"D01", "L01"}, [(task, 1)])
    assert (
        orphans[0][2] == "a role or database that may delete tasks is set to repeatable read or serializable (A2A-L01)"
    )


def _replica(con: Any, s: str, task: str) -> None:
    con.execute("SET session_replication_role = replica")
    con.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))
    con.execute("RESET session_replication_role")


def _off(con: Any, s: str, task: str) -> None:
    con.execute(f"ALTER TABLE {s}.{T} DISABLE TRIGGER {DELETE_TRIGGER}".encode())
    con.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))


def _off_for_a_while(con: Any, s: str, task: str) -> None:
    _off(con, s, task)
    con.execute(f"ALTER TABLE {s}.{T} ENABLE TRIGGER {DELETE_TRIGGER}".encode())


def _renamed(con: Any, s: str, task: str) -> None:
    con.execute(f"UPDATE {s}.{T} SET id = 'moved' WHERE id = %s".encode(), (task,))


def _dropped(con: Any, s: str, task: str) -> None:
    con.execute(f"DROP TRIGGER {DELETE_TRIGGER} ON {s}.{T}; DROP TRIGGER {LOCK_TRIGGER} ON {s}.{T}".encode())
    con.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))


WAYS: list[tuple[str, Callable[[Any, str, str], None], set[str], str]] = [
    ("replica", _replica, {"D01"}, NOTHING_LEFT),
    ("off", _off, {"D01", "F11"}, "a trigger is off, or fires for replicas only (A2A-F11)"),
    ("off_once", _off_for_a_while, {"D01"}, NOTHING_LEFT),
    ("id", _renamed, {"D01", "D07"}, "the id of the task was changed (A2A-D07)"),
    ("dropped", _dropped, {"D01", "M03"}, "triggers are not there (A2A-M03): restored without them, or dropped"),
]


@pytest.mark.parametrize(("name", "apply", "codes", "cause"), WAYS, ids=[way[0] for way in WAYS])
def test_a_delete_that_no_trigger_sees(server: Server, name: str, apply: Any, codes: set[str], cause: str) -> None:
    s = f"way_{name}"
    _new(server, s)
    with server.connect(DB) as con:
        task, own = _with_configs(con, s)
        apply(con, s, task)
    _, found, orphans = _judged(server, s)
    assert (found, [(place, n) for place, n, _ in orphans]) == (codes, [(task, own)])
    assert orphans[0][2].startswith(cause)


def test_a_truncate_after_an_older_process_came_back(server: Server) -> None:
    s = "older"
    _new(server, s)
    with server.connect(DB) as con:
        for statement in a2a_helpers.helpers(s, 13):
            con.execute(statement)
        ((local,),) = con.execute(f"SELECT count(*) FROM {s}.{P} WHERE local_postgres_task".encode()).fetchall()
        con.execute(f"TRUNCATE {s}.{T}".encode())
    _, codes, orphans = _judged(server, s)
    assert codes == {"D01", "M04"}
    assert sum(n for _, n, _ in orphans) == local
    assert {cause for *_, cause in orphans} == {
        "an older process has put its cleanup back (A2A-M04): since then a truncate removes nothing"
    }


def test_a_creation_that_does_not_wait_since_the_keys_differ(server: Server) -> None:
    """Two sessions at once: with equal keys the creator waits and finds no task; with unequal ones it leaves an orphan."""
    for s, quoted in (("equal", False), ("unequal", True)):
        _new(server, s)
        with server.connect(DB) as deleter, server.connect(DB) as creator:
            for statement in a2a_helpers.helpers(s, 14, only=(DELETE_LOCK,), quoted=quoted):
                deleter.execute(statement)
            task, _ = _with_configs(deleter, s)
            deleter.execute("BEGIN")
            deleter.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))
            written: list[int] = []
            beside = threading.Thread(target=lambda s=s, t=task, c=creator, w=written: w.append(_create(c, s, t)))
            beside.start()
            beside.join(0.3)
            assert beside.is_alive() is not quoted
            deleter.execute("COMMIT")
            beside.join(5)
            assert written == [int(quoted)]
        _, codes, orphans = _judged(server, s)
        assert codes == ({"D01", "L04"} if quoted else set())
        assert [cause for *_, cause in orphans] == (
            ["the lock helpers make unequal keys (A2A-L04): creation does not wait for a delete"] if quoted else []
        )


def test_a_task_deleted_after_a_migration_leaves_what_was_there_before(server: Server) -> None:
    s = "adopted"
    _new(server, s, generation=3)
    with server.connect(DB) as con:
        con.execute(f"ALTER TABLE {s}.{P} ADD COLUMN local_postgres_task boolean NOT NULL DEFAULT false".encode())
        con.execute(f"ALTER TABLE {s}.{P} DROP CONSTRAINT a2a_push_configs_task_fk".encode())
        con.execute(f"DROP INDEX {s}.idx_a2a_push_configs_task, {s}.idx_a2a_push_configs_created_sequence".encode())
        for statement in (*a2a_helpers.helpers(s, 14), *a2a_helpers.triggers(s, 14)):
            con.execute(statement)
        ((task, own),) = con.execute(
            f"SELECT task_id, count(*) FROM {s}.{P} GROUP BY 1 ORDER BY 2 DESC LIMIT 1".encode()
        ).fetchall()
        con.execute(f"DELETE FROM {s}.{T} WHERE id = %s".encode(), (task,))
    with open_store(server.uri(DB), schema=s) as store:
        audit(store, as_of=AS_OF, policy=Policy(helpers=BODIES))
        found = store.view("orphan_causes").fetchall()
    assert [(row[0], row[1], row[2]) for row in found] == [(task, False, own)]
    assert "from before the migration" in found[0][-1]


def test_a_copied_schema_is_named(server: Server) -> None:
    """Its helpers still name the old one: a delete there removes the other store's configurations."""
    _new(server, "before")
    _new(server, "copied")
    with server.connect(DB) as con:
        for statement in a2a_helpers.helpers("before", 14):
            con.execute(statement.as_string(con).replace('FUNCTION "before"', 'FUNCTION "copied"').encode())
        task, own = _with_configs(con, "copied")
        con.execute(f"DELETE FROM copied.{T} WHERE id = %s".encode(), (task,))
        ((left,),) = con.execute(f"SELECT count(*) FROM before.{P} WHERE task_id = %s".encode(), (task,)).fetchall()
    assert left == 0, "the wrong store's, as both have the same rows"
    _, codes, orphans = _judged(server, "copied")
    assert {"M11", "D01"} <= codes
    assert [(place, n) for place, n, _ in orphans] == [(task, own)]
    assert orphans[0][2].startswith("a helper is in, or names, another schema (A2A-M11)")


# ---- restored dumps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ((), set()),
        (("--no-comments",), {"M04"}),
        (("--no-privileges",), {"F04"}),
        (("--section=pre-data", "--section=data"), {"M03", "M08", "G03"}),
        (("--data-only",), {"D14"}),
    ],
    ids=["whole", "no comments", "no privileges", "no post-data", "data only"],
)
def test_a_restored_dump(server: Server, words: tuple[str, ...], codes: set[str]) -> None:
    tool = server.programs / "pg_dump"
    if not tool.exists():
        pytest.skip(f"needs {tool}")
    if not server.has("dumped"):
        server.new("dumped")
        write_a2a(server.uri("dumped"), "kept", generation=14, tasks=12)
    name = f"restored_{'_'.join(w.strip('-').replace('=', '_').replace('-', '_') for w in words)}"
    server.new(name)
    tables = (
        ("--table=kept.a2a_tasks", "--table=kept.a2a_push_notification_configs") if words == ("--data-only",) else ()
    )
    dumped = subprocess.run([tool, *words, *tables, server.uri("dumped")], check=True, capture_output=True).stdout
    if words == ("--data-only",):
        write_a2a(server.uri(name), "kept", generation=14, tasks=0)
        with server.connect(name) as con:
            con.execute(f"TRUNCATE kept.{P}; SELECT setval('kept.a2a_push_configs_created_sequence', 1)".encode())
    subprocess.run([server.programs / "psql", "-q", server.uri(name)], input=dumped, check=True, capture_output=True)
    assert _judged(server, "kept", name)[1] == codes


# ---- beside a migration ----------------------------------------------------------------------------------------------


def _migrate(con: Any, s: str) -> None:
    """What takes the migration's locks: ACCESS EXCLUSIVE on both tables."""
    con.execute(
        f"ALTER TABLE {s}.{P} ADD COLUMN IF NOT EXISTS local_postgres_task boolean NOT NULL DEFAULT false".encode()
    )
    for statement in a2a_helpers.triggers(s, 14):
        con.execute(statement)


def test_an_audit_does_not_hold_up_a_migration(server: Server) -> None:
    """While tables are read the migration waits; when the checks run, it does not: the transaction is over by then."""
    s = "beside"
    _new(server, s)
    with open_store(server.uri(DB), schema=s) as store:
        store.load()
        with server.connect(DB) as con:
            modes = con.execute(
                "SELECT DISTINCT l.mode FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'busbar-audit' AND l.locktype = 'relation'"
            ).fetchall()
            assert modes == [("AccessShareLock",)]
            con.execute("SET lock_timeout = '100ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                _migrate(con, s)
            store.source.finish()
            _migrate(con, s)
        begun = time.monotonic()
        assert audit(store, as_of=AS_OF, policy=Policy(helpers=BODIES)).exit_code == 0
        assert time.monotonic() - begun < 30


def test_a_migration_does_not_hold_up_an_audit(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives up after its own lock_timeout and says so; nothing is half judged."""
    s = "behind"
    _new(server, s)
    with open_store(server.uri(DB), schema=s) as store:
        timeout = store.source.snapshot.rows("SHOW lock_timeout")
    assert timeout != [("0",)], "an audit never waits without an end"
    monkeypatch.setattr(sources, "open_postgres", partial(open_postgres, lock_timeout=0.5))
    with server.connect(DB) as con:
        con.execute("BEGIN")
        _migrate(con, s)
        begun = time.monotonic()
        with pytest.raises(Exception, match="lock"), open_store(server.uri(DB), schema=s):
            pass
        assert time.monotonic() - begun < 10
        con.execute("ROLLBACK")
    assert _judged(server, s)[1] == set()
