"""A2A stores on PostgreSQL: clean ones of every generation, one fault at a time, and what is legal though odd."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from faults_a2a import CLEAN, FAULTS, LOCK, PUSH, Fault, P, T, batches, config, helpers, task
from support_a2a import BASES, DATABASE, POLICY, codes, judged, prepare, written
from support_audit import AS_OF
from support_postgres import Server, running

from busbar_audit import queries, warehouse
from busbar_audit.auditing import audit
from busbar_audit.checks import catalogue
from busbar_audit.findings import Outcome
from busbar_audit.payloads import relations
from busbar_audit.policy import Policy
from busbar_audit.reporting.session import Session
from busbar_audit.store import open_store
from busbar_audit.synth import a2a_helpers

_NUMBERS = count()
# Java tables, sequences that may not be read and locks of sessions have tests of their own.
ELSEWHERE = {"A2A-G02", "A2A-D26", "A2A-L05"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        prepare(up)
        yield up


@pytest.mark.parametrize("base", BASES)
def test_a_clean_store_is_clean(server: Server, base: str) -> None:
    with open_store(server.uri(DATABASE), schema=base) as store:
        assert (store.family, store.engine, store.generation.taken) == ("a2a", "postgres", BASES[base][0])
        assert store.differences == ()
    result, _ = judged(server, base)
    assert (result.exit_code, codes(result)) == (0, set()), result
    assert all(line.adds_up for line in result.account)
    not_run = {r.code: r.reason for r in result.results if r.outcome is Outcome.COULD_NOT_RUN}
    assert not not_run


# Each fault by itself with BUSBAR_AUDIT_FULL; else those that cannot be taken for one another share a store.
CASES = [[fault] for fault in FAULTS] if os.environ.get("BUSBAR_AUDIT_FULL") else batches()


@pytest.mark.parametrize(
    "faults", [pytest.param(b, id=f"{b[0].base}: {', '.join(f.name for f in b)}"[:90]) for b in CASES]
)
def test_faults_are_found_and_nothing_else(server: Server, faults: list[Fault]) -> None:
    schema = f"f{next(_NUMBERS)}"
    written(server, faults[0].base, schema)
    with server.connect(DATABASE) as con:
        for fault in faults:
            fault.apply(con, schema)
    result, findings = judged(server, schema)
    found: dict[str, list[str]] = {}
    graver: set[str] = set()
    for finding in findings:
        if finding.severity != "info":
            code = finding.code.removeprefix("A2A-")
            found.setdefault(code, []).append(f"{finding.place}: {finding.detail}")
            graver |= set() if finding.severity == "low" else {code}
    expected = {code: text.replace("{s}", schema) for fault in faults for code, text in fault.found.items()}
    assert found.keys() == expected.keys(), found
    for code, text in expected.items():
        assert any(text in told for told in found[code]), (code, text, found[code])
    assert found.keys() - graver == {code for fault in faults for code in fault.low}
    assert result.exit_code == (1 if graver else 0)
    assert all(line.adds_up for line in result.account)
    assert "hunter2" not in json.dumps(result.as_dict())


def test_every_check_has_a_fault() -> None:
    found = {f"A2A-{code}" for fault in FAULTS for code in fault.found}
    there = {c.code for c in catalogue() if c.family == "a2a" and c.severity != "info" and c.area != "java"}
    assert there - found == ELSEWHERE


# ---- what is not audited, and what cannot be -------------------------------------------------------------------------


def _java(con: Any, schema: str) -> None:
    con.execute(f"CREATE SCHEMA {schema}")
    con.execute(f"CREATE TABLE {schema}.{T} (task_id text PRIMARY KEY, context_id text, state text, task_data text)")
    con.execute(
        f"CREATE TABLE {schema}.{P} (task_id text, config_id text, task_data text, PRIMARY KEY (task_id, config_id))"
    )
    con.execute(f"INSERT INTO {schema}.{T} VALUES ('t', 'c', 'TASK_STATE_WORKING', %s)",
                ('{"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}',))  # fmt: skip


def test_tables_of_the_java_sdk_are_recognised_and_named_loudly(server: Server) -> None:
    with server.connect(DATABASE) as con:
        _java(con, "java")
    result, findings = judged(server, "java")
    assert (result.exit_code, [(f.code, f.severity, f.place) for f in findings]) == (
        0, [("A2A-G02", "info", P), ("A2A-G02", "info", T)],
    )  # fmt: skip
    assert "must not run here" in findings[0].detail
    assert "a2a-java" in result.check("A2A-D01").reason
    with server.connect(DATABASE) as con:
        con.execute(f"ALTER TABLE java.{P} ADD COLUMN local_postgres_task boolean NOT NULL DEFAULT false")
        for statement in (*a2a_helpers.helpers("java", 14), *a2a_helpers.triggers("java", 14)):
            con.execute(statement)
        with pytest.raises(psycopg.errors.UndefinedColumn):
            con.execute(f"DELETE FROM java.{T}")
    result, findings = judged(server, "java")
    assert (result.exit_code, {f.severity for f in findings}) == (1, {"critical"})


def test_a_newer_marker_is_not_guessed_at(server: Server) -> None:
    written(server, "v4", "newer")
    with server.connect(DATABASE) as con:
        con.execute(f"COMMENT ON FUNCTION newer.{PUSH}(text) IS 'task-aware-push-config-v5'")
    result, findings = judged(server, "newer")
    assert (result.exit_code, findings) == (3, [])
    assert "generation 5 is not known" in result.check("A2A-D01").reason


def test_a_role_with_catalog_rights_only(server: Server) -> None:
    """The catalog is judged; what needs rows is not, and the grant that is missing is named."""
    with server.connect(DATABASE) as con:
        con.execute("CREATE ROLE a2a_blind LOGIN")
        con.execute("GRANT USAGE ON SCHEMA v4 TO a2a_blind")
    result, _ = judged(server, "v4", "a2a_blind")
    assert (result.exit_code, codes(result)) == (3, set())
    blind = {r.code for r in result.results if r.outcome is Outcome.COULD_NOT_RUN}
    assert blind == {
        c.code for c in catalogue() if c.family == "a2a" and c.area in ("data", "callbacks")
    }  # fmt: skip
    assert f"GRANT SELECT ON v4.{T} TO a2a_blind" in result.check("A2A-D04").reason
    assert (
        "SEQUENCE v4.a2a_push_configs_created_sequence, v4.a2a_tasks_created_sequence" in result.check("A2A-D26").reason
    )
    assert result.check("A2A-D14").outcome is not Outcome.PASS
    assert result.check("A2A-F04").outcome is Outcome.PASS
    with server.connect(DATABASE) as con:
        con.execute(f"GRANT EXECUTE ON FUNCTION v4.{CLEAN}() TO PUBLIC")
        assert codes(judged(server, "v4", "a2a_blind")[0]) == {"F04"}
        con.execute(f"REVOKE EXECUTE ON FUNCTION v4.{CLEAN}() FROM PUBLIC")
        con.execute("GRANT SELECT ON ALL TABLES IN SCHEMA v4 TO a2a_blind")
        con.execute("GRANT SELECT ON ALL SEQUENCES IN SCHEMA v4 TO a2a_blind")
    assert judged(server, "v4", "a2a_blind")[0].exit_code == 0


def test_a_lock_held_by_an_idle_session_is_seen(server: Server) -> None:
    with server.connect(DATABASE) as con:
        ((task_id,),) = con.execute(f"SELECT id FROM v4.{T} ORDER BY 1 LIMIT 1").fetchall()
        con.execute("BEGIN")
        con.execute(f"SELECT v4.{PUSH}(%s)", (task_id,))
        result, findings = judged(server, "v4")
        con.execute("ROLLBACK")
    assert codes(result) == {"L05"}
    assert [(f.place, f.detail.partition(",")[0]) for f in findings if f.code == "A2A-L05"] == [
        (task_id, "shared lock")
    ]


def _wait(con: Any, query: str) -> list[Any]:
    """Ask until there is an answer, or ten seconds are over."""
    ended = time.monotonic() + 10
    while not (rows := con.execute(query).fetchall()) and time.monotonic() < ended:
        time.sleep(0.02)
    assert rows, query
    return list(rows)


def test_an_audit_takes_weak_locks_and_calls_no_helper(server: Server) -> None:
    with server.connect(DATABASE) as con:
        con.execute("ALTER ROLE postgres IN DATABASE a2a SET track_functions = 'all'")
    try:
        with open_store(server.uri(DATABASE), schema="v4") as store:
            store.load()
            with server.connect(DATABASE) as con:
                modes = con.execute(
                    "SELECT DISTINCT l.locktype, l.mode FROM pg_locks l JOIN pg_stat_activity a USING (pid) "
                    "WHERE a.application_name = 'busbar-audit' AND l.locktype <> 'virtualxid'"
                ).fetchall()
            assert modes == [("relation", "AccessShareLock")]
        judged(server, "v4")
        with server.connect(DATABASE) as con:
            # A process tells its calls when it ends.
            _wait(
                con, "SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'busbar-audit')"
            )
            with server.connect(DATABASE) as other:
                other.execute(f"SELECT v4.{PUSH}('x')")
            # This one call is counted, so none of the audits' would have been missed.
            counted = "SELECT funcname, calls FROM pg_stat_user_functions WHERE schemaname = 'v4' AND calls > 0"
            assert _wait(con, counted) == [(PUSH, 1)]
    finally:
        with server.connect(DATABASE) as con:
            con.execute("ALTER ROLE postgres IN DATABASE a2a RESET track_functions")


# ---- real orphans ----------------------------------------------------------------------------------------------------


def test_our_helpers_do_what_the_real_ones_do(server: Server) -> None:
    """Else the faults below would be of our own making: local configurations go, external ones stay, refusals are refused."""
    written(server, "v4", "real")
    with server.connect(DATABASE) as con:
        local = f"SELECT count(*) FROM real.{P} WHERE local_postgres_task"
        ((before,),) = con.execute(local).fetchall()
        ((task_id, own),) = con.execute(
            f"SELECT task_id, count(*) FROM real.{P} WHERE local_postgres_task GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
        ).fetchall()
        con.execute(f"DELETE FROM real.{T} WHERE id = %s", (task_id,))
        assert con.execute(local).fetchall() == [(before - own,)]
        assert con.execute(f"SELECT real.{PUSH}(%s)", (task_id,)).fetchall() == [(False,)]
        for before_it, refusal in (
            ("SET default_transaction_isolation = 'serializable'", psycopg.errors.FeatureNotSupported),
            ("SET ROLE a2a_poor", psycopg.errors.InsufficientPrivilege),
        ):
            con.execute(before_it)
            with pytest.raises(refusal):
                con.execute(f"SELECT real.{PUSH}('x')")
            con.execute("RESET ALL")
            con.execute("RESET ROLE")
        con.execute(f"TRUNCATE real.{T}")
        assert con.execute(f"SELECT count(*), bool_or(local_postgres_task) FROM real.{P}").fetchall() == [(3, False)]


# ---- legal though odd ------------------------------------------------------------------------------------------------


def test_what_is_legal_is_no_finding(server: Server) -> None:
    schema = "odd"
    written(server, "v4", schema)
    with server.connect(DATABASE) as con:
        task(con, schema, 1, moment=None)
        con.execute(f"UPDATE odd.{T} SET has_status_timestamp = false WHERE created_sequence = 1")
        # A payload of a later protocol: fields that nobody here knows.
        con.execute(
            f"UPDATE odd.{T} SET task_proto = task_proto || '\\xfa3f03616263'::bytea WHERE created_sequence = 3"
        )
        config(con, schema, 2, "http://127.0.0.1:8080/hook", token="t")
        config(con, schema, 3, "https://agent.svc.cluster.internal/hook", scheme="Bearer", credentials="same")
        config(con, schema, 4, "https://hooks.example.com/hook", scheme="Bearer", credentials="same", tenant="one")
        con.execute(f"DELETE FROM odd.{T} WHERE created_sequence = 20")  # a gap, and what its trigger does
        con.execute(
            "SELECT nextval('odd.a2a_tasks_created_sequence'), nextval('odd.a2a_push_configs_created_sequence')"
        )
        con.execute(f"ALTER TABLE odd.{T} ENABLE ALWAYS TRIGGER {CLEAN}_trigger")
        con.execute(f"ALTER TABLE odd.{P} ENABLE ROW LEVEL SECURITY")  # the cleanup's owner owns the table
        con.execute("CREATE FUNCTION odd.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
        con.execute(f"CREATE TRIGGER noted AFTER UPDATE OR DELETE ON odd.{T} FOR EACH ROW EXECUTE FUNCTION odd.noted()")
        con.execute(f"CREATE TRIGGER noted AFTER INSERT ON odd.{P} FOR EACH ROW EXECUTE FUNCTION odd.noted()")
        con.execute(f"CREATE INDEX mine ON odd.{P} (url)")
        con.execute("CREATE TABLE odd.others (i int)")
        con.execute(f"CREATE PUBLICATION whole FOR TABLE odd.{T}, odd.{P}")
        con.execute("CREATE ROLE a2a_reader")
        con.execute(f"GRANT SELECT ON odd.{P} TO a2a_reader")
        con.execute("ALTER ROLE a2a_reader SET default_transaction_isolation = 'serializable'")
        con.execute(f"COMMENT ON TABLE odd.{T} IS 'ours'")
        con.execute(f'ALTER TABLE odd.{T} ALTER COLUMN id TYPE text COLLATE "C"')
        con.execute(
            f"ALTER TABLE odd.{T} ALTER status_seconds SET DEFAULT '0'::bigint, "
            "ALTER updated_at SET DEFAULT CURRENT_TIMESTAMP"
        )
        # Settings that never hold: of a role that may not log in, and of one that has another one in this database.
        for name, kind in (("a2a_group", "NOLOGIN"), ("a2a_sweeper", "LOGIN")):
            con.execute(f"CREATE ROLE {name} {kind}")
            con.execute(f"GRANT DELETE ON odd.{T} TO {name}")
            con.execute(f"ALTER ROLE {name} SET default_transaction_isolation = 'serializable'")
            con.execute(f"ALTER ROLE {name} SET session_replication_role = 'ORIGIN'")
        con.execute("ALTER ROLE a2a_sweeper IN DATABASE a2a SET default_transaction_isolation = 'read committed'")
        # Two groups that each give half of what a service needs.
        con.execute("CREATE ROLE a2a_caller NOLOGIN")
        con.execute(f"GRANT EXECUTE ON FUNCTION odd.{PUSH}(text) TO a2a_caller")
        con.execute("CREATE ROLE a2a_member LOGIN IN ROLE a2a_caller, a2a_reader")
        con.execute(f"GRANT SELECT ON odd.{T} TO a2a_reader")
    result, findings = judged(server, schema)
    assert (result.exit_code, codes(result)) == (0, set()), [f for f in findings if f.severity != "info"]
    assert {"A2A-F12", "A2A-F16", "A2A-S01", "A2A-S04", "A2A-S05", "A2A-S06"} <= result.codes()


def test_legal_states_are_told_as_information(server: Server) -> None:
    with server.connect(DATABASE) as con:
        con.execute("CREATE ROLE a2a_plain LOGIN")
        # Helpers that a superuser owns, a service without time limits, and a month after the last traffic.
        written(server, "v4", "told", role="a2a_plain", owner=None)
        con.execute("SELECT pg_advisory_lock(4711)")
        policy = Policy(helpers=POLICY.helpers)
        result, _ = judged(server, "told", policy=policy, as_of=AS_OF + 30 * 86_400)
        con.execute("SELECT pg_advisory_unlock(4711)")
    assert codes(result) - {"D19"} == set()
    assert {"A2A-D03", "A2A-D17", "A2A-F09", "A2A-G05", "A2A-L06", "A2A-L07", "A2A-S05"} <= result.codes()
    assert "A2A-M06" in judged(server, "push")[0].codes()


def test_a_column_of_another_type_is_named_and_its_values_are_not(server: Server) -> None:
    """What cannot be compared is not judged, and why is told without the value that was in the way."""
    written(server, "v4", "retyped")
    with server.connect(DATABASE) as con:
        con.execute(f"ALTER TABLE retyped.{T} ALTER status_seconds DROP DEFAULT, ALTER status_seconds TYPE text")
        con.execute(f"UPDATE retyped.{T} SET status_seconds = 'hunter2 ''\nhunter2' WHERE created_sequence = 1")
    result, findings = judged(server, "retyped")
    assert codes(result) == {"G03"}
    assert result.check("A2A-D09").outcome is Outcome.COULD_NOT_RUN
    assert "Could not convert string …" in result.check("A2A-D09").reason
    assert "hunter2" not in json.dumps(result.as_dict()) + str(findings)


def test_a_store_whose_schema_has_capitals(server: Server) -> None:
    written(server, "v4", "OddSchema")
    result, findings = judged(server, "OddSchema")
    assert codes(result) == set(), findings


# ---- every shape, every query ----------------------------------------------------------------------------------------


# Every query ran on every generation's shape above; what differs where nothing is in it shows on these.
@pytest.mark.parametrize("base", ["first", "legacy", "push", "v4"])
def test_every_query_works_on_the_empty_shape(server: Server, base: str) -> None:
    schema = f"empty_{base}"
    written(server, base, schema, tasks=0)
    with server.connect(DATABASE) as con:
        con.execute(f"TRUNCATE {schema}.{T}, {schema}.{P}")
    with open_store(server.uri(DATABASE), schema=schema) as store:
        for name in store.views.names():
            store.view(name)
        result = audit(store, as_of=AS_OF, policy=POLICY)
        session = Session(result.as_dict(), store.con, result=result)
        assert "No task is stored." in session.tasks().html or base == "push"
        assert "Rules by which the newest SDK accepts" in session.startup().html
        for shown, told in ((session.callbacks(), "No callback"), (session.provenance(), "No push configuration")):
            assert told in shown.html
    assert result.exit_code == 3
    assert "there was no evidence to check" in " ".join(result.reasons)
    for ended in result.results:
        assert ended.outcome is not Outcome.COULD_NOT_RUN, (ended.code, ended.reason)
        if ended.outcome is Outcome.NOT_APPLICABLE:
            assert ended.reason.startswith(("needs ", "not for ")), (ended.code, ended.reason)


def test_a_store_is_judged_alike_whatever_its_size(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large one has its views planned anew for each query, and its payloads decoded by column."""
    written(server, "v4", "twice")
    with server.connect(DATABASE) as con:
        for fault in batches()[0]:
            fault.apply(con, "twice")
    said = []
    for small, many in ((warehouse.SMALL_BYTES, 10_000), (-1, 0)):
        monkeypatch.setattr(warehouse, "SMALL_BYTES", small)
        monkeypatch.setattr(warehouse, "_LITTLE", min(warehouse._LITTLE, max(0, small)))
        monkeypatch.setattr(relations, "_MANY", many)
        result, _ = judged(server, "twice")
        said.append([(r.code, r.outcome, r.reason, r.examined, r.findings, r.samples) for r in result.results])
    assert said[0] == said[1]


# ---- stores that the vendor's own migration made ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(server: Server, samples: Path) -> Path:
    folder = samples / "a2a"
    if not folder.is_dir() or shutil.which("psql") is None:
        pytest.skip(f"needs {folder} and psql")
    with server.connect("postgres") as con:
        con.execute("CREATE ROLE a2a_sdk")
        con.execute("CREATE ROLE a2a_auditor")
    for name in ("a2a_legacy", "a2a_v4"):
        server.new(name)
        dump = gzip.decompress((folder / f"{name}.sql.gz").read_bytes()).splitlines()
        _psql(server, name, b"\n".join(line for line in dump if not line.startswith((b"\\restrict", b"\\unrestrict"))))
    return folder


def _psql(server: Server, database: str, script: bytes) -> None:
    command = [shutil.which("psql") or "psql", "-q", "-v", "ON_ERROR_STOP=1", server.uri(database)]
    subprocess.run(command, input=script, check=True, capture_output=True)


def _failing(server: Server, database: str) -> tuple[set[str], set[str], str]:
    """Rules of the start-up validation that fail, codes that are found, and what the store is."""
    with open_store(server.uri(database), family="a2a") as store:
        result = audit(store)
        list(result.findings())
        rules = store.view("startup_rules").fetchall()
        return {rule for rule, _, holds in rules if not holds}, codes(result), store.name


@pytest.mark.real_stores
def test_start_up_verdicts_of_the_real_stores(server: Server, real: Path) -> None:
    """The table of sheet section 2.4, as far as stores for it are here."""
    seeded = {"S01", "S03", "S07"}  # put there on purpose
    assert _failing(server, "a2a_legacy") == ({"B1", "B2"}, seeded, "a2a postgres foreign-key era")
    assert _failing(server, "a2a_v4") == (set(), seeded | {"D02"}, "a2a postgres v4")

    push_only = server.copy_of("a2a_legacy")
    with server.connect(push_only) as con:
        con.execute(f"ALTER TABLE {P} ADD COLUMN local_postgres_task boolean NOT NULL DEFAULT false")
        con.execute(f"ALTER TABLE {P} DROP CONSTRAINT a2a_push_configs_task_fk")
    rules, found, name = _failing(server, push_only)
    assert (rules, found, name) == (set(), seeded | {"D02"}, "a2a postgres push-only")

    migrated = server.copy_of("a2a_legacy")
    _psql(server, migrated, (real / "task-aware-push-config-v4.sql").read_bytes())
    assert _failing(server, migrated) == (set(), seeded | {"D02"}, "a2a postgres v4")

    mixed = server.copy_of("a2a_v4")
    with server.connect(mixed) as con:
        con.execute(f"GRANT EXECUTE ON FUNCTION {CLEAN}() TO PUBLIC")
        con.execute(f"COMMENT ON FUNCTION {LOCK}() IS 'task-aware-push-config-v3'")
        con.execute(f"ALTER TABLE {T} DISABLE TRIGGER {LOCK}_trigger")
        con.execute(f"DROP TRIGGER a2a_truncate_task_push_configs_trigger ON {T}")
    rules, found, _ = _failing(server, mixed)
    assert (rules, found - seeded) == ({"C2", "D1", "D4", "T1"}, {"D02", "F04", "M04", "F11", "M03"})

    unequal = server.copy_of("a2a_v4")
    with server.connect(unequal) as con:
        ((text,),) = con.execute(f"SELECT pg_get_functiondef('{LOCK}()'::regprocedure)").fetchall()
        con.execute(text.replace("'public.a2a_tasks'", '\'"public"."a2a_tasks"\'').encode())
    rules, found, _ = _failing(server, unequal)
    assert (rules, found - seeded) == (set(), {"D02", "L04"}), "accepted by the SDK, and broken"

    # Helpers of v3 are none of the vendor's here, so their bodies are told as unknown too; the rules that fail are the same.
    older = server.copy_of("a2a_v4")
    with server.connect(older) as con:
        for statement in a2a_helpers.helpers("public", 13):
            con.execute(statement)
    rules, found, _ = _failing(server, older)
    assert (rules, found - seeded) == ({"L1", "C1", "D1"}, {"D02", "M04", "M05"})

    complete = server.copy_of("a2a_v4")
    with server.connect(complete) as con:
        for statement in a2a_helpers.helpers("public", 13):
            con.execute(statement)
        con.execute(f"DROP TRIGGER a2a_truncate_task_push_configs_trigger ON {T}")
    rules, found, name = _failing(server, complete)
    assert (rules, name) == ({"L1", "C1", "D1", "T1"}, "a2a postgres v3")

    server.new("javaish")
    with server.connect("javaish") as con:
        con.execute("DROP SCHEMA public")
        _java(con, "public")
        con.execute(f"ALTER TABLE public.{P} RENAME COLUMN task_data TO task_json")
        con.execute(f"ALTER TABLE public.{P} ADD COLUMN url text, ADD COLUMN config_proto bytea")
        con.execute("INSERT INTO a2a_tasks VALUES ('u', 'c', 'x', '{}')")
    _psql(server, "javaish", (real / "task-aware-push-config-v4.sql").read_bytes())
    with server.connect("javaish") as con, pytest.raises(psycopg.errors.UndefinedColumn):
        con.execute("DELETE FROM a2a_tasks")
    with open_store(server.uri("javaish"), family="a2a") as store:
        result = audit(store)
        assert (result.exit_code, result.check("A2A-G02").severity) == (1, "critical"), "the SDK would accept it"


def test_start_up_verdicts_of_generated_stores(server: Server) -> None:
    """The same table under the policy that goes with them: the helpers are ours, and accepted."""
    changed = {"older": ("v4", helpers(13)), "unequal": ("v4", helpers(14, LOCK, quoted=True))}
    for schema, (base, apply) in changed.items():
        written(server, base, f"verdict_{schema}")
        with server.connect(DATABASE) as con:
            apply(con, f"verdict_{schema}")
    expected: dict[str, set[str]] = {
        "first": {"B1"}, "legacy": {"B1", "B2"}, "push": set(), "v3b": {"L1", "C1", "D1", "T1"}, "v4": set(),
        "verdict_older": {"L1", "C1", "D1"}, "verdict_unequal": set(),
    }  # fmt: skip
    for schema, rules in expected.items():
        with open_store(server.uri(DATABASE), schema=schema) as store:
            audit(store, as_of=AS_OF, policy=POLICY, only=["A2A-G09"])
            failing = {rule for rule, _, holds in store.con.execute("FROM audit.startup_rules").fetchall() if not holds}
        assert failing == rules, schema


@pytest.mark.real_stores
def test_no_secret_of_a_real_store_is_told(server: Server, real: Path) -> None:
    pytest.importorskip("a2a.types.a2a_pb2", reason="needs a2a-sdk (extra test)")
    from a2a.types import a2a_pb2

    with server.connect("a2a_v4") as con:
        rows = con.execute(f"SELECT config_proto, url FROM {P}").fetchall()
    secrets = set()
    for data, url in rows:
        told = a2a_pb2.TaskPushNotificationConfig.FromString(data)
        secrets |= {told.token, told.authentication.credentials, url.partition("://")[2].rpartition("@")[0]} - {""}
    assert len(secrets) > 100
    with open_store(server.uri("a2a_v4")) as store:
        result = audit(store)
        document = json.dumps(result.as_dict()) + json.dumps([vars(f) for f in result.findings()], default=str)
        told = str(store.con.execute("FROM source.config_payloads").fetchall())
    assert not [secret for secret in secrets if secret in document or secret in told]


# Ids of the sheet that have no check file, each with the reason; docs/a2a.md tells the same.
NOT_CHECKS = {
    "G01": "a database without such a store is refused when it is opened",
    "G08": "an older server is refused when it is connected to",
    "D24": "row-level security that hides rows makes the checks over them could_not_run",
}
SHEET = {"G": 8, "M": 11, "F": 18, "L": 7, "D": 24, "S": 7}


def test_every_check_of_the_sheet_exists_or_has_a_reason() -> None:
    there = {c.code.removeprefix("A2A-") for c in catalogue() if c.family == "a2a"}
    due = {f"{letter}{number:02}" for letter, last in SHEET.items() for number in range(1, last + 1)}
    assert due - there == NOT_CHECKS.keys()
    told = (Path(__file__).parent.parent / "docs" / "a2a.md").read_text(encoding="utf-8")
    assert all(f"A2A-{code}" in told for code in NOT_CHECKS)


def test_figures_over_tasks_work_for_these_stores_too(server: Server) -> None:
    """Views that other families have under the same name have the same columns: pages show them all alike."""
    with open_store(server.uri(DATABASE), schema="v4") as store:
        audit(store, as_of=AS_OF, policy=POLICY)
        for path in sorted((queries.root() / "figures").glob("*.sql")):
            figure = queries.figure(path.stem)
            if "audit.tasks" in figure.reads and all(
                store.views.missing(relation) is None for relation in figure.reads
            ):
                store.con.execute(figure.sql, figure.bind({"as_of": AS_OF}))
        (total,) = store.con.execute(
            "SELECT count(*) FROM audit.tasks WHERE decodable AND class <> 'unknown'"
        ).fetchone() or (0,)
        assert total == 40
