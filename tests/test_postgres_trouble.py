"""PostgreSQL in trouble: writers beside the audit, connections that end, locks, poolers, replicas. No half verdict, ever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pg_writers import WRITERS
from support_audit import AS_OF
from support_pooler import cut, pooler
from support_postgres import Server, caught_up, judged, running, standby

from busbar_audit.auditing import audit
from busbar_audit.errors import NotAStore, SnapshotError, StoreLocked, UnknownFamily
from busbar_audit.findings import Outcome
from busbar_audit.result import Result
from busbar_audit.snapshot import postgres
from busbar_audit.snapshot.postgres import open_postgres
from busbar_audit.sources import postgres as source
from busbar_audit.store import open_store
from busbar_audit.stores.busbar_pg_shapes import expected
from busbar_audit.synth.busbar_pg import write_busbar_pg

HERE = Path(__file__).parent
SIZE: dict[str, Any] = {"seed": 1, "calls": 60, "tasks": 6, "audits": 24, "days": 7, "principals": 3}
FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
AUDITS = 50 if FULL else 20
# Of every invariant of the writers at least one. Most audits make one check and the sums below; every check takes longer.
INVARIANTS = ("BUS-C01", "BUS-C02", "BUS-C03", "BUS-T02", "BUS-T03", "BUS-U01", "BUS-S12", "BUS-M08")

COUNTS = """
SELECT bucket_id, requests,
    (SELECT sum(tokens_input) // 7 FROM raw.usage_ledger AS l WHERE l.bucket_id = w.bucket_id),
    (SELECT count(*) FROM raw.plane_chain WHERE kind = 'call' AND parent = w.bucket_id),
    (SELECT count(*) FROM raw.plane_chain WHERE kind = 'task_event' AND parent = 'task-' || w.bucket_id)
FROM raw.usage_windows AS w WHERE bucket_id ^@ 'writer-' ORDER BY 1
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new("v10")
        write_busbar_pg(up.uri("v10"), "busbar", generation=10, **SIZE)
        yield up


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name is short enough for a socket."""
    path = Path(tempfile.mkdtemp(prefix="door-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(params=["one", "two"])
def connections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether tables are read by the first connection, as small ones are, or by a second one, as large ones are."""
    if request.param == "two":
        monkeypatch.setattr(source, "_LARGE", 0)
    return str(request.param)


def _graver(result: Result) -> set[str]:
    return {code for code in result.codes() if result.check(code).severity != "info"}


def _nothing_judged(result: Result) -> None:
    """Exit 3, not one finding, and nothing passed but what looks at the catalog alone."""
    assert result.exit_code == 3
    assert result.codes() == set()
    passed = {r.code for r in result.results if r.outcome is Outcome.PASS}
    assert passed <= {"BUS-S05", "BUS-S06", "BUS-S08", "BUS-S10"}, passed
    assert result.chains == []


# ---- one moment ------------------------------------------------------------------------------------------------------


def test_every_audit_beside_four_writers_sees_whole_transactions_only(server: Server) -> None:
    uri = server.uri(server.copy_of("v10"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = subprocess.Popen(
        [sys.executable, str(HERE / "pg_writers.py"), uri],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    seen = []
    try:
        while len(seen) < AUDITS:
            only = () if len(seen) in (5, AUDITS - 5) else INVARIANTS if FULL or len(seen) % 10 == 0 else ("BUS-S12",)
            with open_store(uri) as store:
                store.load("plane_chain", "usage_windows", "usage_ledger", "store_revision")
                result = audit(store, as_of=AS_OF, only=only)
                assert _graver(result) == set(), (len(seen), result)
                assert result.exit_code == 0
                counts = store.con.execute(COUNTS).fetchall()
                revision = store.con.execute("SELECT max(revision) FROM raw.store_revision").fetchone()
            for line in counts:
                assert line[1] == line[2] == line[3] == line[4], line
            if len(counts) < WRITERS:
                assert writers.poll() is None
                continue  # they have not all begun
            assert revision is not None
            seen.append((sum(line[1] for line in counts), revision[0]))
    finally:
        written, _ = writers.communicate()
    # Every snapshot is a later one, and none is a mixture: the revision grows by one with every transaction.
    assert seen == sorted(seen)
    assert len({revision - calls for calls, revision in seen}) == 1
    assert seen[-1][0] > seen[0][0]
    assert int(written) >= seen[-1][0]


def test_an_audit_writes_nothing(server: Server) -> None:
    """The server's own counters do not move, while they do for one written row; our transaction never gets a number."""
    name = server.copy_of("v10")
    counters = (
        "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd, n_dead_tup FROM pg_stat_user_tables ORDER BY 1"
    )
    reads = "SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_user_tables"

    def now(sql: str) -> list[tuple[Any, ...]]:
        with server.connect(name) as con:
            con.execute("SELECT pg_stat_force_next_flush()")
            return con.execute(sql.encode()).fetchall()

    server.run(name, "VACUUM (FREEZE, ANALYZE)")
    before, read = now(counters), now(reads)
    with open_store(server.uri(name)) as store:
        store.load()
        assert store.snapshot.rows("SELECT pg_current_xact_id_if_assigned()") == [(None,)]
        assert audit(store, as_of=AS_OF).exit_code == 0
    assert now(counters) == before
    assert now(reads) > read, "the counters do count what the audit does"
    server.run(name, "INSERT INTO denylist VALUES ('one', '', 1)")
    assert now(counters) != before


@pytest.mark.parametrize("table", sorted(expected(11).tables) if FULL else ["store_sessions", "plane_records"])
def test_a_role_that_lacks_any_one_table_is_never_told_that_all_is_clean(server: Server, table: str) -> None:
    """Not even where no check reads it: its rows are in no account. Asked for something else, the answer stands."""
    if not server.has("v11"):
        server.new("v11")
        write_busbar_pg(server.uri("v11"), "busbar", generation=11, **SIZE)
        server.run("v11", "CREATE ROLE partial LOGIN", "GRANT USAGE ON SCHEMA busbar TO partial",
                   "GRANT SELECT ON ALL TABLES IN SCHEMA busbar TO partial")  # fmt: skip
    server.run("v11", f"REVOKE SELECT ON {table} FROM partial")
    try:
        result = judged(server.uri("v11", "partial"))
        other = judged(
            server.uri("v11", "partial"),
            only=["BUS-U01" if table.startswith(("store", "plane", "audit")) else "BUS-C16"],
        )
    finally:
        server.run("v11", f"GRANT SELECT ON {table} TO partial")
    assert result.exit_code == 3
    blind = [r.reason for r in result.results if r.outcome is Outcome.COULD_NOT_RUN]
    assert all(f"GRANT SELECT ON busbar.{table} TO partial" in reason for reason in blind)
    assert blind or table in ("store_ops", "store_records", "store_sessions")
    assert any(f"in no account: {table}" in reason for reason in result.reasons)
    assert other.exit_code == 0


# ---- connections that end --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_connection_that_ends_in_the_middle_of_loading(server: Server, folder: Path, share: float) -> None:
    with cut(folder, server.socket) as door:
        if share:
            with open_store(door.uri("v10")) as store:
                opened = door.passed
                assert audit(store, as_of=AS_OF, only=INVARIANTS).exit_code == 0
            whole = door.passed - opened
        with open_store(door.uri("v10")) as store:
            door.left = int(whole * share) if share else 1
            result = audit(store, as_of=AS_OF, only=INVARIANTS)
    _nothing_judged(result)
    assert "connection was lost" in result.check("BUS-C01").reason


def test_a_connection_that_ends_while_the_store_is_recognised(server: Server, folder: Path) -> None:
    with cut(folder, server.socket) as door:
        open_store(door.uri("v10")).close()
        whole = door.passed
        for share in (0.1, 0.5, 0.8):
            door.left = int(whole * share)
            with pytest.raises(SnapshotError):
                open_store(door.uri("v10"))


def test_a_session_ended_by_its_server(server: Server, folder: Path) -> None:
    name = server.copy_of("v10")
    with open_store(server.uri(name)) as store:
        store.load("keys")
        with server.connect(name) as con:
            con.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'busbar-audit' "
                "AND datname = current_database()"
            )
        result = audit(store, as_of=AS_OF)
    _nothing_judged(result)
    assert "connection was lost" in result.check("BUS-C01").reason


# ---- time limits and locks -------------------------------------------------------------------------------------------


def test_a_statement_that_takes_too_long_in_the_middle_of_loading(server: Server, connections: str) -> None:
    name = server.copy_of("v10")
    server.run(name, "INSERT INTO denylist SELECT 's' || i, repeat('x', 200), i FROM generate_series(1, 20000) AS g(i)")
    with open_store(server.uri(name)) as store:
        if connections == "one":
            store.load("audit_log")
            store.snapshot.rows("SELECT set_config('statement_timeout', '1', true)")
        else:
            store.snapshot.settings["statement_timeout"] = "1"
        result = audit(store, as_of=AS_OF)
    _nothing_judged(result)
    assert "statement timeout" in result.check("BUS-C01").reason


def test_a_lock_that_another_session_holds(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waited for as long as was said, then named; a lock that ends in time does no harm."""
    name = server.copy_of("v10")
    monkeypatch.setattr(open_postgres, "__kwdefaults__", {"statement_timeout": 5.0, "lock_timeout": 0.3})
    with psycopg.connect(server.uri(name)) as con:
        con.execute("LOCK TABLE busbar.plane_chain IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreLocked, match=r"lock timeout[^\n]*\n[^\n]*\nNothing was checked"):
            open_store(server.uri(name))
        con.rollback()
        # Every other kind of lock is no hindrance.
        con.execute("LOCK TABLE busbar.plane_chain IN EXCLUSIVE MODE")
        assert judged(server.uri(name)).exit_code == 0
    with open_store(server.uri(name)) as store, psycopg.connect(server.uri(name)) as con:
        # Nobody can take the lock between counting and loading: counting has taken ours.
        con.execute("SET lock_timeout = 200")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            con.execute("LOCK TABLE busbar.plane_chain IN ACCESS EXCLUSIVE MODE")
        assert audit(store, as_of=AS_OF).exit_code == 0


# ---- poolers ---------------------------------------------------------------------------------------------------------


def test_a_pooler_in_transaction_mode_serves(server: Server, folder: Path, connections: str) -> None:
    with pooler(folder, server.socket, "transaction") as door:
        result = judged(door.uri("v10"), only=INVARIANTS)
        assert (result.exit_code, _graver(result)) == (0, set())
        assert not door.refused
        assert door.turns >= (1 if connections == "one" else 2)
        with pytest.raises(SnapshotError, match=r"unsupported startup parameter: options[^\n]*\n.*pooler"):
            open_store(door.uri("v10", more="&options=-csearch_path%3Dbusbar"))


@pytest.mark.parametrize(
    ("mode", "says"),
    [("statement", "connection pooler stands in between"), ("careless", "did not stay in one transaction")],
)
def test_a_pooler_that_keeps_no_transaction_is_noticed(server: Server, folder: Path, mode: Any, says: str) -> None:
    with pooler(folder, server.socket, mode) as door, pytest.raises(SnapshotError, match=says):
        open_store(door.uri("v10"))


@pytest.mark.parametrize("version", ["9.6.24", "11.22 (Debian 11.22-1)"])
def test_a_server_that_is_too_old(server: Server, folder: Path, version: str) -> None:
    with (
        pooler(folder, server.socket, "transaction", version) as door,
        pytest.raises(NotAStore, match=rf"PostgreSQL {version[:4]}.*\n.*PostgreSQL 12 or later"),
    ):
        open_store(door.uri("v10"))


def test_a_pooler_that_does_not_tell_the_version(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pooler(folder, server.socket, "transaction", "") as door:
        assert judged(door.uri("v10"), only=INVARIANTS).exit_code == 0
        monkeypatch.setattr(postgres, "OLDEST_SERVER", 990000)
        with pytest.raises(NotAStore, match="PostgreSQL 99 or later"):
            open_store(door.uri("v10"))


# ---- replicas --------------------------------------------------------------------------------------------------------


_CONFLICTS = "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = current_database()"


def test_a_read_replica(server: Server) -> None:
    name = server.copy_of("v10")
    with standby(server, "max_standby_streaming_delay=0", "hot_standby_feedback=off") as replica:
        caught_up(server, replica)
        with open_store(replica.uri(name)) as store:
            result = audit(store, as_of=AS_OF)
            assert (result.exit_code, _graver(result)) == (0, set())
            document = result.as_dict()["snapshot"]
            assert document["replica"] is True
            assert document["lsn"]
            # What the primary writes later is not seen.
        with open_store(replica.uri(name)) as store:
            # The primary removes rows that our snapshot needs, and this replica does not wait for us.
            server.run(name, "DELETE FROM audit_log WHERE seq > 20")
            for _ in range(100):
                # What runs by itself on the primary may keep one vacuum from removing them.
                server.run(name, "VACUUM (FREEZE) audit_log")
                caught_up(server, replica)
                with replica.connect(name) as con:
                    (conflicts,) = con.execute(_CONFLICTS).fetchone()
                if conflicts:
                    break
                time.sleep(0.1)
            result = audit(store, as_of=AS_OF)
        _nothing_judged(result)
        assert "could not keep the snapshot" in result.check("BUS-C01").reason


# ---- the second connection ------------------------------------------------------------------------------------------


def test_both_ways_to_read_give_the_same_values(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server.copy_of("v10")
    text = "clé-ß|\u202e\\N\t\r\n\"',\x01"
    with server.connect(name) as con:
        con.execute(
            "INSERT INTO busbar.denylist VALUES (%s, '', %s), ('\\N', %s, %s)", (text, -(2**63), text, 2**63 - 1)
        )
        con.execute("INSERT INTO busbar.plane_records VALUES ('odd', 'x', NULL, 0, 0, 'active', '\\x00ff0a5c4e')")
        con.execute("INSERT INTO busbar.plane_records VALUES ('odd', 'y', '', 0, 0, 'active', '')")
    seen = []
    for large in (1 << 40, 0):
        monkeypatch.setattr(source, "_LARGE", large)
        with open_store(server.uri(name)) as store:
            store.load()
            assert (store.source._joined is None) == (large > 0)
            tables = [f'raw."{table}"' for table in sorted(store.warehouse.loaded)]
            for table in tables:
                numbers = store.con.execute(f"SELECT min(_row), max(_row), count(DISTINCT _row), count(*) FROM {table}")
                first, last, distinct, count = numbers.fetchall()[0]
                assert (first, last, distinct) in ((1, count, count), (None, None, 0))
            query = "SELECT * EXCLUDE (_row) FROM {} ORDER BY ALL"
            seen.append([store.con.execute(query.format(table)).fetchall() for table in tables])
            shapes = [store.con.execute(f"DESCRIBE {table}").fetchall() for table in tables]
            seen[-1].append(shapes)
            store.source.finish()
    assert seen[0] == seen[1]
    assert any((text, "", -(2**63)) == row[1:] for rows in seen[0] for row in rows)


def test_rows_of_a_later_moment_are_not_seen_by_either(server: Server, connections: str) -> None:
    name = server.copy_of("v10")
    with open_store(server.uri(name)) as store:
        server.run(name, "DELETE FROM plane_chain", "UPDATE audit_log SET action = 'x'")
        result = audit(store, as_of=AS_OF)
        assert (store.source._joined is None) or connections == "two"
    assert (result.exit_code, _graver(result)) == (0, set())


def test_without_a_second_connection_the_first_one_reads(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server.copy_of("v10")
    server.run(name, "CREATE ROLE single LOGIN CONNECTION LIMIT 1", "GRANT USAGE ON SCHEMA busbar TO single",
               "GRANT SELECT ON ALL TABLES IN SCHEMA busbar TO single")  # fmt: skip
    monkeypatch.setattr(source, "_LARGE", 0)
    with open_store(server.uri(name, "single")) as store:
        result = audit(store, as_of=AS_OF)
        assert store.source._alone
    assert (result.exit_code, _graver(result)) == (0, set())


def test_a_second_connection_that_sees_something_else_is_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from busbar_audit.sources import pg_arrow

    monkeypatch.setattr(pg_arrow.Joined, "_sees", lambda _: ("1:1:",))
    monkeypatch.setattr(source, "_LARGE", 0)
    with open_store(server.uri("v10")) as store:
        assert audit(store, as_of=AS_OF).exit_code == 0
        assert store.source._alone


# ---- what the command says -------------------------------------------------------------------------------------------


def test_every_trouble_ends_with_3_and_without_a_password(server: Server, folder: Path) -> None:
    """By the command line: one clear message each, the last word, and the password nowhere."""
    secret = "zu/geheim&?#%"
    given = server.uri("v10", "postgres", secret)
    with pooler(folder, server.socket, "statement") as door:
        behind = door.uri("v10").replace("postgres@", given.split("//")[1].split("@")[0] + "@")
        cases = {
            "STATEMENT": (behind, [], "pooling mode"),
            "DATABASE": (given.replace("/v10", "/missing"), [], 'database "missing" does not exist'),
        }
        for name, (dsn, more, says) in cases.items():
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), name: dsn}
            ended = subprocess.run(
                [sys.executable, "-m", "busbar_audit.cli", "audit", f"env:{name}", *more],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert ended.returncode == 3, ended
            assert ended.stdout.splitlines()[-1] == "inconclusive"
            assert says in ended.stderr
            assert "geheim" not in ended.stdout + ended.stderr


def test_a_schema_without_a_store(server: Server) -> None:
    name = server.copy_of("v10")
    server.run(name, "CREATE SCHEMA elsewhere")
    with pytest.raises(UnknownFamily, match=r"schema elsewhere holds no busbar or a2a.* store.*\n.*busbar"):
        open_store(server.uri(name), schema="elsewhere")
    server.run(name, "DROP SCHEMA busbar CASCADE")
    with pytest.raises(UnknownFamily, match="no schema holds"):
        open_store(server.uri(name))
