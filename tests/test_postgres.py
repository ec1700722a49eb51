"""Stores on PostgreSQL: clean ones, faults by SQL, least privilege, read-only, concurrent writers, secrets."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support_audit import AS_OF
from support_cli import called
from support_postgres import Server, judged

from busbar_audit.auditing import audit
from busbar_audit.errors import AuditError, NotAStore, SnapshotError, StoreLocked, UnknownFamily, UsageError
from busbar_audit.findings import Outcome
from busbar_audit.reporting.runner import write_report
from busbar_audit.reporting.schema import validate
from busbar_audit.result import Result
from busbar_audit.snapshot import postgres
from busbar_audit.snapshot.postgres import open_postgres
from busbar_audit.store import find_stores, open_store
from busbar_audit.stores import busbar_pg, pg_catalog
from busbar_audit.synth import write_busbar
from busbar_audit.synth.busbar_pg import copy_rows, write_busbar_pg
from busbar_audit.synth.faults import plant
from busbar_audit.target import parse_target

REPOSITORY = Path(__file__).parent.parent
SAMPLES = Path(os.environ.get("BUSBAR_AUDIT_SAMPLES", REPOSITORY.parent / "shared" / "stores"))
SIZE: dict[str, Any] = {"seed": 1, "calls": 60, "tasks": 6, "audits": 24, "days": 7, "principals": 3}
BASES = {"v6": (6, "typed"), "v10": (10, "typed"), "v10n": (10, "neutral"), "v11": (11, "typed")}


@pytest.fixture(scope="session")
def server(postgres: Server) -> Server:
    for name, (generation, bodies) in BASES.items():
        postgres.new(name)
        more = {"bodies": bodies} if generation >= 10 else {}
        write_busbar_pg(postgres.uri(name), "busbar", generation=generation, **SIZE, **more)
    return postgres


def _codes(result: Result) -> set[str]:
    """Codes of findings; legal states that are worth a look are left out."""
    return {code for code in result.codes() if result.check(code).severity != "info"}


@pytest.mark.parametrize("base", BASES)
def test_a_clean_store_is_clean(server: Server, base: str) -> None:
    with open_store(server.uri(base)) as store:
        assert (store.engine, store.generation.taken) == ("postgres", BASES[base][0])
        assert store.differences == ()
        result = audit(store, as_of=AS_OF)
        assert (result.exit_code, _codes(result)) == (0, set()), result
        assert store.source.snapshot.connection.closed, "the transaction ends when loading ends"
        assert all(line.adds_up for line in result.account)
        document = result.as_dict()
    validate("result", document)
    assert document["snapshot"]["schema"] == "busbar"
    assert document["store"]["engine"] == "postgres"
    expected = {"audit_log"} if base == "v6" else {"audit_log", "audit", "call", "task_event"}
    assert set(document["chains"]["totals"]) == expected


@pytest.mark.parametrize("generation", [6, 10, 11])
def test_every_query_works_on_the_empty_shape(server: Server, generation: int) -> None:
    name = server.new(f"empty_{generation}")
    write_busbar_pg(server.uri(name), "busbar", generation=generation, odd=("empty",))
    with open_store(server.uri(name)) as store:
        store.load()
        for view in store.views.names():
            store.view(view)
        result = audit(store, as_of=AS_OF)
    assert result.exit_code == 3
    for ended in result.results:
        assert ended.outcome is not Outcome.COULD_NOT_RUN, (ended.code, ended.reason)
        if ended.outcome is Outcome.NOT_APPLICABLE:
            assert ended.reason.startswith(("needs ", "not for ")), (ended.code, ended.reason)


# Faults that no other engine can have in this way, or that break several rules at once; the catalogue of single faults is
# gone through in test_postgres_faults. Name, base, statements, exactly these codes.
_BODY = "convert_to(replace(convert_from(body, 'UTF8'), {}), 'UTF8')"
_ONE = "kind = 'call' AND parent = (SELECT min(parent) FROM plane_chain WHERE kind = 'call') AND seq = {}"
_RENUMBERED = _BODY.format("'\"seq\":5,', '\"seq\":99,'")
FAULTS: list[tuple[str, str, list[str], set[str]]] = [
    ("audit negative", "v6", ["UPDATE audit_log SET ts = -5 WHERE seq = 1"], {"BUS-C01", "BUS-C07"}),
    ("call row renumbered in its body", "v10", [f"UPDATE plane_chain SET body = {_RENUMBERED} WHERE {_ONE.format(5)}"],
        {"BUS-C01", "BUS-C16"}),
    ("neutral call edited", "v10n", [f"UPDATE plane_chain SET body = {_RENUMBERED} WHERE {_ONE.format(5)}"],
        {"BUS-C01", "BUS-C16"}),
    ("neutral audit deleted", "v10n", ["DELETE FROM plane_chain WHERE kind = 'audit' AND seq = 4"],
        {"BUS-C03", "BUS-C14", "BUS-D04"}),
    ("call by a principal without key", "v11", ["DELETE FROM credentials", "DELETE FROM keys WHERE id = "
        "(SELECT min(parent) FROM plane_chain WHERE kind = 'call')"], {"BUS-M08", "BUS-K09"}),
    ("orphan metering", "v11", ["UPDATE usage_metering SET key_id = 'gone' WHERE (key_id, bucket, model) = "
        "(SELECT key_id, bucket, model FROM usage_metering ORDER BY 1, 2, 3 LIMIT 1)",
        "DELETE FROM usage_metering_units"], {"BUS-K09", "BUS-U07"}),
    ("slice without slot", "v11", ["INSERT INTO money_slices (slot, remaining) VALUES ('gone', 1)"], {"BUS-U12"}),
]  # fmt: skip


@pytest.mark.parametrize(("base", "statements", "codes"), [pytest.param(*f[1:], id=f[0]) for f in FAULTS])
def test_a_fault_is_found_and_nothing_else(server: Server, base: str, statements: list[str], codes: set[str]) -> None:
    name = server.copy_of(base)
    server.run(name, *statements)
    result = judged(server.uri(name))
    assert _codes(result) == codes, result
    assert all(line.adds_up for line in result.account)


def test_what_is_not_known_is_refused(server: Server) -> None:
    for version, exits in ((12, 3), (9, 3)):
        name = server.copy_of("v10")
        server.run(name, f"INSERT INTO busbar_schema VALUES ({version})", "UPDATE busbar_schema SET version = 9 "
                   "WHERE version = 10 AND (SELECT max(version) FROM busbar_schema) = 9")  # fmt: skip
        if version == 9:
            server.run(name, "DROP TABLE plane_chain, plane_records", "CREATE TABLE mcp_demotions (server text)",
                       "DELETE FROM busbar_schema WHERE version > 9")  # fmt: skip
        result = judged(server.uri(name))
        assert result.exit_code == exits
        assert result.check("BUS-C01").outcome is Outcome.COULD_NOT_RUN
        assert "6, 10 and 11" in result.check("BUS-C01").reason
    server.new("nothing")
    with pytest.raises(UnknownFamily):
        open_store(server.uri("nothing"))


# Generation, bodies, faults of the catalogue that leave each other alone.
TWINS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "healthy": (10, "neutral", ()),
    "chains and tables": (10, "typed", ("call_rehashed", "audit_copy_rewritten", "task_event_relinked", "tokens_mixed",
        "revision_behind", "secret_plain", "overbilled", "metering_orphan", "unit_negative", "unit_reserved", "grants_wrong",
        "deny_undated", "key_deleted_early")),
    "content": (10, "typed", ("call_outcome_unknown", "call_stranger", "task_row_callback", "task_event_sidecar_ts",
        "task_disposition")),
    "neutral chains": (10, "neutral", ("call_neutral_deleted", "task_event_v2_two_edited", "audit_neutral_zero_ts")),
    "v6": (6, "typed", ("audit_log_replaced", "key_tombstone_signs", "tokens_without_requests")),
    "v11": (11, "typed", ("call_time_back", "task_no_events", "journal_gap", "money_over")),
}  # fmt: skip
# What is about one engine's way to write is not for the other.
_ONE_ENGINE = {"BUS-C20", "BUS-M02", "BUS-M06", "BUS-U02"}
_OURS = ("BUS-C", "BUS-M", "BUS-T", "BUS-A", "BUS-K", "BUS-U", "BUS-D", "BUS-S02", "BUS-S12")


@pytest.mark.parametrize("twin", TWINS)
def test_the_same_store_on_both_engines(server: Server, tmp_path: Path, twin: str) -> None:
    """Findings and chains are equal, code by code, for a healthy store and for stores with faults in every population."""
    generation, bodies, faults = TWINS[twin]
    path = tmp_path / "store.db"
    more = {"bodies": bodies} if generation >= 10 else {}
    write_busbar(
        path, generation=generation, journal="wal", **{**SIZE, "calls": 120, "tasks": 20, "audits": 40}, **more
    )
    planted = frozenset[str]().union(*(plant(path, fault).codes for fault in faults))
    name = server.new("twin_" + twin.replace(" ", "_"))
    copy_rows(path, server.uri(name), "busbar", generation)
    seen = []
    for target in (str(path), server.uri(name)):
        with open_store(target) as store:
            result = audit(store, as_of=AS_OF)
            found = sorted(
                (f.code, f.severity, f.subject, f.place, f.first_seq or 0, f.last_seq or 0, f.records, f.detail)
                for f in result.findings()
                if f.code.startswith(_OURS)
            )
            outcomes = {r.code: (r.outcome, r.examined) for r in result.results if r.code.startswith(_OURS)}
            seen.append((found, result.chains, outcomes))
    (found, chains, outcomes), there = seen
    assert found == there[0]
    assert chains == there[1]
    assert len(chains) > 0
    both = outcomes.keys() - _ONE_ENGINE
    tables = {"BUS-S02"}  # it counts the tables
    assert {c: outcomes[c] for c in both - tables} == {c: there[2][c] for c in both - tables}
    graver = {code for code, severity, *_ in found if severity != "info"}
    assert graver <= planted <= {code for code, *_ in found}


def test_values_are_exact(server: Server) -> None:
    text = "clé-ß|\u202e\\N\t\r\n\"',\x01"
    name = server.copy_of("v10")
    with server.connect(name) as con:
        con.execute(
            "INSERT INTO busbar.denylist VALUES (%s, '', -9223372036854775808), ('\\N', %s, 9223372036854775807)",
            (text, text),
        )
        con.execute("INSERT INTO busbar.plane_records VALUES ('odd', 'x', NULL, 0, 0, 'active', '\\x00ff0a5c4e')")
    with open_store(server.uri(name)) as store:
        store.load("denylist", "plane_records", "keys")
        rows = store.con.execute(
            "SELECT sub, reason, created_at FROM raw.denylist WHERE sub IN (?, '\\N') ORDER BY sub DESC", [text]
        ).fetchall()
        assert rows == [(text, "", -(2**63)), ("\\N", text, 2**63 - 1)]
        assert store.con.execute("SELECT body, parent FROM raw.plane_records WHERE kind = 'odd'").fetchall() == [
            (b"\x00\xff\n\\N", None)
        ]
        assert store.con.execute("SELECT DISTINCT typeof(enabled), enabled FROM raw.keys ORDER BY 2").fetchall() == [
            ("BIGINT", 0),
            ("BIGINT", 1),
        ]
        ordered = store.con.execute("SELECT sub FROM raw.denylist ORDER BY _row").fetchall()
        assert [s.encode() for (s,) in ordered] == sorted(s.encode() for (s,) in ordered)


def test_large_values_come_in_bounded_batches(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from busbar_audit.sources import postgres as source

    monkeypatch.setattr(source, "BATCH_BYTES", 4000)
    name = server.copy_of("v6")
    server.run(name, "INSERT INTO denylist SELECT 's' || i, repeat('x', 1000), i FROM generate_series(1, 500) AS g(i)")
    with open_store(server.uri(name)) as store:
        store.load("denylist")
        row = store.con.execute(
            "SELECT count(*), count(DISTINCT _row), max(_row), sum(created_at) FROM raw.denylist WHERE sub ^@ 's'"
        ).fetchone()
        assert row is not None
        assert row[0] == 501
        assert row[1] == 501


# ---- reading only ----------------------------------------------------------------------------------------------------


def test_the_server_refuses_our_writes_and_counts_none(server: Server) -> None:
    name = server.copy_of("v10")
    counters = (
        "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, n_dead_tup, n_live_tup FROM pg_stat_user_tables ORDER BY 1"
    )
    with server.connect(name) as con:
        before, wal = con.execute(counters).fetchall(), con.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        assert judged(server.uri(name)).exit_code == 0
        con.execute("SELECT pg_stat_clear_snapshot()")
        assert con.execute(counters).fetchall() == before
        assert wal is not None
    snapshot = open_postgres(server.uri(name))
    try:
        for statement in ("UPDATE busbar.keys SET name = ''", "CREATE TABLE busbar.x (i int)", "SELECT nextval('busbar.s')",
                          "DELETE FROM busbar.audit_log"):  # fmt: skip
            with pytest.raises((psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.UndefinedTable)):
                snapshot.connection.execute(statement.encode())
            snapshot.connection.rollback()
    finally:
        snapshot.abandon()


def test_catalog_and_rows_are_of_one_moment(server: Server) -> None:
    name = server.copy_of("v6")
    with open_store(server.uri(name)) as store:
        server.run(name, "DELETE FROM audit_log WHERE seq > 3", "INSERT INTO denylist VALUES ('later', '', 1)")
        assert audit(store, as_of=AS_OF).exit_code == 0
        assert store.rows["audit_log"] == SIZE["audits"]


def test_a_truncated_table_is_not_taken_for_an_empty_one(server: Server) -> None:
    name = server.copy_of("v6")
    with open_store(server.uri(name)) as store:
        # Counting took a lock on every table; a table that was rewritten before that shows by its file.
        with server.connect(name) as con:
            con.execute("SET lock_timeout = '200ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                con.execute("TRUNCATE busbar.audit_log")
        assert audit(store, as_of=AS_OF).exit_code == 0
    snapshot = open_postgres(server.uri(name))
    try:
        snapshot.rows("SELECT 1")
        server.run(name, "TRUNCATE audit_log")
        assert snapshot.rows("SELECT count(*) FROM busbar.audit_log") == [(0,)]
        with pytest.raises(SnapshotError, match="truncated or rewritten"):
            snapshot.require_unmoved("busbar", "audit_log")
    finally:
        snapshot.abandon()


# ---- rights ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def auditor(server: Server) -> str:
    """A database whose store is open to the documented role; the role's script is run as it stands."""
    psql = shutil.which("psql")
    name = server.copy_of("v10")
    if psql is None:
        pytest.skip("needs psql")
    subprocess.run(
        [psql, "-q", "-v", "role=busbar_auditor", "-v", "schema=busbar", "-v", "ON_ERROR_STOP=1", "-f",
         str(REPOSITORY / "docs" / "postgres-role.sql"), server.uri(name)], check=True)  # fmt: skip
    server.run(name, "ALTER ROLE busbar_auditor PASSWORD 'pässwörd/&?#x'")
    return name


def test_the_documented_role_is_enough(server: Server, auditor: str) -> None:
    result = judged(server.uri(auditor, "busbar_auditor"))
    assert (result.exit_code, _codes(result)) == (0, set())
    with psycopg.connect(server.uri(auditor, "busbar_auditor")) as con:
        for statement in ("CREATE TABLE busbar.x (i int)", "SET TRANSACTION READ WRITE; DELETE FROM busbar.audit_log"):
            with pytest.raises((psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)):
                con.execute(statement.encode())
            con.rollback()


@pytest.mark.parametrize("table", ["audit_log", "keys", "plane_chain", "busbar_schema", "store_revision"])
def test_a_role_that_lacks_a_table(server: Server, auditor: str, table: str) -> None:
    server.run(auditor, f"REVOKE SELECT ON {table} FROM busbar_auditor")
    try:
        with open_store(server.uri(auditor, "busbar_auditor")) as store:
            result = audit(store, as_of=AS_OF)
            document = result.as_dict()
        validate("result", document)
    finally:
        server.run(auditor, f"GRANT SELECT ON {table} TO busbar_auditor")
    assert result.exit_code == 3
    blind = [r for r in result.results if r.outcome is Outcome.COULD_NOT_RUN]
    assert blind
    assert all(f"GRANT SELECT ON busbar.{table} TO busbar_auditor" in r.reason for r in blind)
    assert any(r.outcome is Outcome.PASS for r in result.results)
    reads = {
        "audit_log": "BUS-C01",
        "keys": "BUS-S12",
        "plane_chain": "BUS-C16",
        "busbar_schema": "BUS-S15",
        "store_revision": "BUS-S12",
    }
    assert reads[table] in {r.code for r in blind}


def test_faults_outweigh_a_lacking_table(server: Server) -> None:
    name = server.copy_of("v10")
    server.run(name, "GRANT USAGE ON SCHEMA busbar TO busbar_auditor",
               "GRANT SELECT ON ALL TABLES IN SCHEMA busbar TO busbar_auditor",
               "REVOKE SELECT ON keys FROM busbar_auditor", "UPDATE audit_log SET action = 'x' WHERE seq = 2")  # fmt: skip
    result = judged(server.uri(name, "busbar_auditor"))
    assert (result.exit_code, _codes(result)) == (1, {"BUS-C01"})


def test_row_level_security_hides_nothing_unsaid(server: Server, auditor: str) -> None:
    server.run(
        auditor, "ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY", "CREATE POLICY few ON audit_log USING (seq < 5)"
    )
    try:
        result = judged(server.uri(auditor, "busbar_auditor"))
    finally:
        server.run(auditor, "DROP POLICY few ON audit_log", "ALTER TABLE audit_log DISABLE ROW LEVEL SECURITY")
    assert result.exit_code == 3
    assert "row-level security" in result.check("BUS-C01").reason


def test_a_stranded_table_that_may_not_be_counted(server: Server) -> None:
    name = server.copy_of("v10")
    server.run(name, "GRANT USAGE ON SCHEMA busbar TO busbar_auditor",
               "GRANT SELECT ON ALL TABLES IN SCHEMA busbar TO busbar_auditor",
               "CREATE TABLE tasks (task_id text)", "INSERT INTO tasks VALUES ('t1')")  # fmt: skip
    result = judged(server.uri(name, "busbar_auditor"))
    assert _codes(result) == {"BUS-S10"}
    assert "may not be read" in result.check("BUS-S10").samples[0].detail


def test_no_right_on_the_schema(server: Server, auditor: str) -> None:
    server.run(auditor, "REVOKE USAGE ON SCHEMA busbar FROM busbar_auditor")
    try:
        result = judged(server.uri(auditor, "busbar_auditor"))
    finally:
        server.run(auditor, "GRANT USAGE ON SCHEMA busbar TO busbar_auditor")
    assert result.exit_code == 3
    assert "GRANT USAGE ON SCHEMA busbar" in result.check("BUS-C01").reason


# ---- trouble ---------------------------------------------------------------------------------------------------------


def test_a_lock_is_waited_for_and_then_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server.copy_of("v6")
    monkeypatch.setattr(postgres, "LOCK_TIMEOUT", 0.2)
    monkeypatch.setattr(open_postgres, "__kwdefaults__", {"statement_timeout": 5.0, "lock_timeout": 0.2})
    with psycopg.connect(server.uri(name)) as con:
        con.execute("LOCK TABLE busbar.keys IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreLocked, match="lock"):
            open_store(server.uri(name))
        con.rollback()


def test_a_statement_that_takes_too_long(server: Server) -> None:
    snapshot = open_postgres(server.uri("v6"), statement_timeout=0.1)
    try:
        with pytest.raises(SnapshotError, match="statement timeout"):
            snapshot.rows("SELECT pg_sleep(5)")
    finally:
        snapshot.abandon()


def test_a_lost_connection_gives_no_half_verdict(server: Server) -> None:
    name = server.copy_of("v6")
    with open_store(server.uri(name)) as store:
        with server.connect(name) as con:
            con.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'busbar-audit' "
                        "AND datname = current_database()")  # fmt: skip
        result = audit(store, as_of=AS_OF)
    assert result.exit_code == 3
    assert "connection was lost" in result.check("BUS-C01").reason
    assert not _codes(result)


def test_a_connection_lost_after_the_last_table_counts_as_lost(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(server.uri("v6")) as store:
        taken = store.source.snapshot
        object.__setattr__(taken, "taken_at", taken.taken_at.replace(year=2001))
        result = audit(store, as_of=AS_OF)
    assert result.exit_code == 3
    assert "did not stay in one transaction" in result.check("BUS-C01").reason


def test_an_old_server_and_another_encoding(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.connect("postgres") as con:
        con.execute("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with pytest.raises(NotAStore, match="LATIN1"):
        open_postgres(server.uri("latin"))
    monkeypatch.setattr(postgres, "OLDEST_SERVER", 990000)
    with pytest.raises(NotAStore, match="PostgreSQL 99 or later"):
        open_postgres(server.uri("v6"))


def test_names_in_the_search_path_do_not_deceive(server: Server) -> None:
    name = server.copy_of("v6")
    server.run(name, "CREATE FUNCTION public.count(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0'",
               "ALTER DATABASE " + name + " SET search_path = public, pg_catalog",
               "ALTER DATABASE " + name + " SET default_transaction_isolation = 'read committed'")  # fmt: skip
    assert judged(server.uri(name)).exit_code == 0


# ---- several stores, schemas, targets --------------------------------------------------------------------------------


def test_every_schema_with_a_store_is_a_store(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = server.new("several")
    write_busbar_pg(server.uri(name), "one", generation=6, **SIZE)
    write_busbar_pg(server.uri(name), 'tw"o', generation=10, **SIZE)
    server.run(name, "CREATE SCHEMA other", "CREATE TABLE other.keys (id int)")
    targets = find_stores(server.uri(name))
    assert [t.schema for t in targets] == ["one", 'tw"o']
    with pytest.raises(UsageError, match="--schema"):
        open_store(server.uri(name))
    with pytest.raises(UnknownFamily, match="schema other"):
        open_store(server.uri(name), schema="other")
    with pytest.raises(UsageError, match="PostgreSQL only"):
        find_stores(_any_file(tmp_path), schema="one")
    assert [t.schema for t in find_stores(server.uri(name), schema='tw"o')] == ['tw"o']
    monkeypatch.setenv("DSN", server.uri(name))
    run = called("audit", "env:DSN", "--json", "--as-of", "2023-11-21T22:13:20Z", "--out", tmp_path / "out")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    validate("run", document)
    assert [s["snapshot"]["schema"] for s in document["stores"]] == ["one", 'tw"o']
    assert (tmp_path / "out" / "stores" / "2-busbar" / "result.json").exists()
    shown = called("inspect", "env:DSN", "--schema", "one")
    assert shown.returncode == 0
    assert "busbar postgres v6" in shown.stdout


def _any_file(folder: Path) -> str:
    write_busbar(folder / "any.db", generation=6, calls=1, tasks=0, audits=1)
    return str(folder / "any.db")


def test_no_password_in_anything(server: Server, auditor: str, tmp_path: Path) -> None:
    secret = "pässwörd/&?#x"
    given = server.uri(auditor, "busbar_auditor", secret)
    forms = (secret, given.split(":")[2].split("@")[0], "wörd")
    with open_store(given) as store:
        result = audit(store, as_of=AS_OF)
        write_report([result], tmp_path / "out")
        texts = [
            repr(store),
            store._repr_html_(),
            repr(result),
            repr(store.target),
            repr(store.source.snapshot),
            str(store.target),
        ]
    texts += [p.read_bytes().decode("utf-8", "replace") for p in (tmp_path / "out").rglob("*") if p.is_file()]
    for bad in (given.replace("/copy", "/no_such"), given.replace("@/", "@nowhere.invalid/") + "&connect_timeout=2",
                f"postgresql://u:{secret}@h/db", f"host=h password={secret}",
                given + "&sslmode=wrong", given + "&nonsense=1"):  # fmt: skip
        try:
            open_store(bad).close()
        except AuditError as error:
            texts += [str(error), repr(error)]
    assert len(texts) > 12
    for text in texts:
        assert not [form for form in forms if form in text]


def test_targets_with_a_driver_in_the_scheme(server: Server) -> None:
    uri = server.uri("v6").replace("postgresql://", "postgresql+psycopg://")
    assert parse_target(uri).kind == "postgres"
    assert judged(uri).exit_code == 0


def test_the_result_repeats(server: Server) -> None:
    documents = []
    for _ in range(2):
        with open_store(server.uri("v10")) as store:
            document = audit(store, as_of=AS_OF).as_dict()
        del document["run"]
        for name in ("taken_at", "snapshot", "lsn"):
            del document["snapshot"][name]
        for check in document["checks"]:
            del check["seconds"]
        documents.append(json.dumps(document, sort_keys=True))
    assert documents[0] == documents[1]


# ---- shapes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["v6", "v10", "v11"])
def test_shape_read_back_is_the_expected_one(server: Server, base: str) -> None:
    snapshot = open_postgres(server.uri(base))
    try:
        found = pg_catalog.read(snapshot.rows, "busbar", busbar_pg.TABLES)
    finally:
        snapshot.abandon()
    assert busbar_pg.differences(busbar_pg.expected(BASES[base][0]), found) == ()
    assert {d.kind for d in busbar_pg.differences(busbar_pg.expected(11), found)} <= {
        "table-missing",
        "table-differs",
        "index-missing",
    }


def test_columns_appended_by_an_upgrade_are_no_difference(server: Server) -> None:
    name = server.copy_of("v10")
    server.run(name, "ALTER TABLE keys DROP COLUMN idp_subject", "ALTER TABLE keys ADD COLUMN idp_subject text",
               "INSERT INTO busbar_schema VALUES (6)")  # fmt: skip
    result = judged(server.uri(name))
    assert (result.exit_code, _codes(result)) == (0, set())


@pytest.mark.real_stores
def test_the_fixture_of_the_project(server: Server) -> None:
    dump, psql = SAMPLES / "busbar" / "pg_v6_fixture.sql.gz", shutil.which("psql")
    if not dump.exists() or psql is None:
        pytest.skip(f"needs {dump} and psql")
    name = server.new("fixture")
    script = b"\n".join(
        line
        for line in gzip.decompress(dump.read_bytes()).splitlines()
        if not line.startswith((b"\\restrict", b"\\unrestrict"))
    )
    subprocess.run(
        [psql, "-q", "-v", "ON_ERROR_STOP=1", server.uri(name)], input=script, check=True, capture_output=True
    )
    with open_store(server.uri(name)) as store:
        assert store.name == "busbar postgres v6"
        assert store.differences == ()
        result = audit(store, as_of=AS_OF)
        # The fixture keeps its secret in clear text, and more.
        assert not {code for code in _codes(result) if code[:5] in ("BUS-C", "BUS-S", "BUS-U")}
        assert "BUS-K08" in _codes(result)
        assert [(c.scope, c.records, c.verdict) for c in result.chains] == [("audit_log", 2, "intact-unanchored")]
