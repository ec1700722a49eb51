# ruff: noqa: E501 - tables
"""Stores of the A2A SDKs in JavaScript and Java: a clean one of each, a fault for every check, and what is legal though odd."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support_audit import AS_OF
from support_postgres import Server, running

from busbar_audit.auditing import audit
from busbar_audit.checks import catalogue
from busbar_audit.errors import NotAStore
from busbar_audit.findings import Outcome
from busbar_audit.result import Result
from busbar_audit.store import find_stores, open_store
from busbar_audit.target import parse_target

_JS = (
    'CREATE TABLE {s}tasks (tenant varchar(255) {c} NOT NULL, owner varchar(255) {c} NOT NULL, id varchar(36) {c} NOT NULL, context_id varchar(36) {c} NOT NULL, '
    "status_last_updated bigint NOT NULL, status_state varchar(255) {c}, status text, artifacts text, history text, metadata text, protocol_version varchar(255), PRIMARY KEY (tenant, owner, id))",
    "CREATE TABLE {s}push_notification_configs (tenant varchar(255) {c} NOT NULL, owner varchar(255) {c} NOT NULL, task_id varchar(36) {c} NOT NULL, config_id varchar(36) {c} NOT NULL, "
    "config_data text, protocol_version varchar(255), PRIMARY KEY (tenant, owner, task_id, config_id))",
    *(f"CREATE TABLE {{s}}{name}_migrations (name varchar(255) PRIMARY KEY, timestamp varchar(255) NOT NULL)" for name in ("a2a_tasks", "a2a_push_notification_configs")),
    "INSERT INTO {s}a2a_tasks_migrations VALUES ('0001_create_tasks', '2023-11-01T00:00:00.000Z')",
    "INSERT INTO {s}a2a_push_notification_configs_migrations VALUES ('0001_create_push_notification_configs', '2023-11-01T00:00:00.000Z')",
)  # fmt: skip


def _js(run: Any, s: str, collation: str) -> None:
    """Eight tasks with a callback each, and one task without any status, as the SDK allows."""
    for statement in _JS:
        run(statement.replace("{s}", s).replace("{c}", collation))
    for n in range(8):
        state = "TASK_STATE_COMPLETED" if n % 2 else "TASK_STATE_WORKING"
        status = json.dumps({"state": state, "timestamp": f"2023-11-20T10:00:0{n}.12{n}Z"})
        run(
            f"INSERT INTO {s}tasks VALUES ('t', 'alice', 't{n}', 'c', {1700474400120 + 1001 * n}, '{state}', '{status}', '[]', '[]', NULL, '1.0')"
        )
        config = json.dumps({"url": f"https://h{n}.example.com/x", "wireVersion": "1.0"})
        run(f"INSERT INTO {s}push_notification_configs VALUES ('t', 'alice', 't{n}', 'c', '{config}', '1.0')")
    run(f"INSERT INTO {s}tasks VALUES ('t', 'alice', 'bare', '', 0, NULL, NULL, NULL, NULL, NULL, '1.0')")


def _callback(n: int, **words: Any) -> str:
    told = json.dumps({"url": "https://h.example.com/x", **words})
    return f"UPDATE {{s}}push_notification_configs SET config_data = '{told}' WHERE task_id = 't{n}'"


# code: statement, text in place or detail. All of them stand in one store: each code has one cause.
JS_FAULTS = {
    "J01": ("ALTER TABLE {s}tasks DROP COLUMN metadata", "column metadata is missing"),
    "J02": ("UPDATE {s}tasks SET owner = '' WHERE id = 'bare'", "1 row(s) with empty owner"),
    "J03": ("""UPDATE {s}tasks SET status = '{"state": "working", "timestamp": "2023-11-20T10:00:00.120Z"}' WHERE id = 't0'""", "t0: protocol_version 1.0, dialect 0.3"),
    "J05": ("UPDATE {s}tasks SET status_state = 'TASK_STATE_FAILED' WHERE id = 't1'", "t1: the status is completed"),
    "J07": ("UPDATE {s}tasks SET status_last_updated = status_last_updated + 5 WHERE id = 't2'", "t2: they differ by 5"),
    "J08": ("UPDATE {s}push_notification_configs SET config_data = 'hunter2' WHERE task_id = 't3'", "t3 / c"),
    "J09": (_callback(4, taskId="other"), "t4 / c"),
    "J11": ("""UPDATE {s}tasks SET status = '{"state": "hunter2", "timestamp": "2023-11-20T10:00:06.126Z"}' WHERE id = 't6'""", "t6"),
    "J12": (_callback(0, url="https://me:hunter2@user.example.com/x"), "user.example.com"),
    "J13": (_callback(1, url="hunter2"), "unreadable host"),
    "J14": (_callback(2, url="http://plain.example.com/x", token="hunter2"), "plain.example.com"),
    "J15": (_callback(5, url="https://169.254.169.254/"), "metadata"),
    "J19": ("CREATE TABLE {s}hooks_copy AS SELECT * FROM {s}push_notification_configs", "hooks_copy"),
}  # fmt: skip
FILE_FAULTS = {
    "J06": ("UPDATE {s}tasks SET context_id = '" + "x" * 40 + "' WHERE id = 't5'", "context id of 40"),
    "J18": ("UPDATE {s}tasks SET artifacts = CAST('[]' AS blob) WHERE id = 't7'", "storage class blob"),
}

_JAVA = (
    "CREATE TABLE {s}a2a_tasks (task_id varchar(255) PRIMARY KEY, context_id varchar(255), state varchar(255), status_timestamp timestamptz, task_data text NOT NULL, finalized_at timestamptz)",
    "CREATE TABLE {s}a2a_push_notification_configs (task_id varchar(255), config_id varchar(255), task_data text NOT NULL, protocol_version varchar(255), created_at timestamptz, PRIMARY KEY (task_id, config_id))",
)


def _java(run: Any, s: str) -> None:
    for statement in _JAVA:
        run(statement.replace("{s}", s))
    for n in range(8):
        state, old = ("COMPLETED" if n % 2 else "WORKING"), n >= 6
        moment = f"2023-11-20T10:00:0{n}.123456Z"
        told = {
            "id": f"t{n}",
            "contextId": "c",
            "status": {"state": state.lower() if old else f"TASK_STATE_{state}", "timestamp": moment},
        }
        final = f"'{moment}'" if n % 2 else "NULL"
        run(
            f"INSERT INTO {s}a2a_tasks VALUES ('t{n}', 'c', '{state if old else 'TASK_STATE_' + state}', '{moment[:23]}Z', '{json.dumps(told)}', {final})"
        )
        config = json.dumps({"id": "c", "taskId": f"t{n}", "url": f"https://h{n}.example.com/x"})
        run(f"INSERT INTO {s}a2a_push_notification_configs VALUES ('t{n}', 'c', '{config}', '1.0', now())")


def _hook(n: int, **words: Any) -> str:
    told = json.dumps({"id": "c", "taskId": f"t{n}", "url": "https://h.example.com/x", **words})
    return f"UPDATE {{s}}a2a_push_notification_configs SET task_data = '{told}' WHERE task_id = 't{n}'"


def _json(n: int, of: str, by: str) -> str:
    return f"UPDATE {{s}}a2a_tasks SET task_data = replace(task_data, '{of}', '{by}') WHERE task_id = 't{n}'"


JAVA_FAULTS = {
    "K02": ("UPDATE {s}a2a_tasks SET task_data = 'hunter2' WHERE task_id = 't0'", "t0: no JSON object"),
    "K03": (_json(1, '"t1"', '"other"'), "t1: the JSON is of task other"),
    "K05": (_json(2, "TASK_STATE_WORKING", "hunter2"), "t2"),
    "K06": (_hook(3, taskId="other"), "t3 / c"),
    "K07": ("UPDATE {s}a2a_tasks SET context_id = 'x', state = 'TASK_STATE_FAILED', status_timestamp = status_timestamp + interval '1 second' WHERE task_id = 't4'", "t4: other than in the JSON: context_id, state, status_timestamp"),
    "K08": ("UPDATE {s}a2a_tasks SET finalized_at = now() WHERE task_id = 't6'", "t6: finalized, and its state is working"),
    "K10": ("""INSERT INTO {s}a2a_push_notification_configs SELECT 't7', 'm' || n, '{"url": "https://m.example.com/"}', '1.0', now() FROM generate_series(1, 100) n""", "t7: 101"),
    "K12": (_hook(0, url="https://me:hunter2@user.example.com/x"), "user.example.com"),
    "K13": (_hook(1, url="hunter2"), "unreadable host"),
    "K14": (_hook(2, url="http://plain.example.com/x", token="hunter2"), "plain.example.com"),
    "K15": (_hook(5, url="https://169.254.169.254/"), "metadata"),
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new("peers")
        yield up


def _made(server: Server, schema: str, make: Any, *words: str, faults: Any = ()) -> tuple[Result, dict[str, list[str]]]:
    with server.connect("peers") as con:
        con.execute(f"CREATE SCHEMA {schema}".encode())
        run = _runner(con)
        make(run, f"{schema}.", *words)
        for statement in faults:
            run(statement.replace("{s}", f"{schema}."))
    return _judged(server.uri("peers"), schema=schema)


def _runner(con: psycopg.Connection[Any]) -> Any:
    return lambda statement: con.execute(statement.encode())


def _judged(target: Any, **words: Any) -> tuple[Result, dict[str, list[str]]]:
    with open_store(target, **words) as store:
        result = audit(store, as_of=AS_OF)
        found: dict[str, list[str]] = {}
        for f in result.findings():
            if f.severity != "info":
                found.setdefault(f.code.removeprefix("A2A-"), []).append(f"{f.place}: {f.detail}")
    assert all(line.adds_up for line in result.account)
    assert "hunter2" not in json.dumps(result.as_dict())
    return result, found


def _expect(found: dict[str, list[str]], faults: dict[str, tuple[str, str]]) -> None:
    assert found.keys() == faults.keys(), found
    assert {code: len(told) for code, told in found.items()} == dict.fromkeys(faults, 1), found
    assert all(text in found[code][0] for code, (_, text) in faults.items()), found


def test_a_store_of_the_java_script_sdk(server: Server) -> None:
    result, found = _made(server, "js", _js, 'COLLATE "C"')
    assert (result.store.family, result.exit_code, found) == ("a2a-js", 0, {})
    assert {r.code for r in result.results if r.outcome is not Outcome.PASS} == {"A2A-J06", "A2A-J17", "A2A-J18"}
    assert {line.table: line.examined for line in result.account if line.examined} == {
        "tasks": 9,
        "push_notification_configs": 8,
    }
    result, found = _made(
        server, "js_broken", _js, 'COLLATE "C"', faults=[statement for statement, _ in JS_FAULTS.values()]
    )
    assert result.exit_code == 1
    _expect(found, JS_FAULTS)


def test_the_same_in_a_file(tmp_path: Path) -> None:
    for name, faults in (("clean", {}), ("broken", {**JS_FAULTS, **FILE_FAULTS})):
        path = tmp_path / f"{name}.db"
        with closing(sqlite3.connect(path)) as con:
            _js(con.execute, "", "COLLATE BINARY")
            for statement, _ in faults.values():
                con.execute(statement.replace("{s}", ""))
            con.commit()
        result, found = _judged(path)
        assert (result.store.family, result.store.engine, result.exit_code) == ("a2a-js", "sqlite", bool(faults))
        _expect(found, faults)
    with path.open("r+b") as file:
        file.seek(4096 + 50)
        file.write(b"\xff" * 3000)
    assert set(_judged(path)[1]) == {"J17"}
    every = {c.code.removeprefix("A2A-") for c in catalogue() if c.family == "a2a-js" and c.severity != "info"}
    assert every == {*JS_FAULTS, *FILE_FAULTS, "J17"}


def test_what_is_legal_in_a_store_of_the_java_script_sdk(server: Server) -> None:
    faults = (
        "DELETE FROM {s}tasks WHERE id = 't0'",  # its configuration stays: nothing ever removes one
        "DROP TABLE {s}a2a_tasks_migrations, {s}a2a_push_notification_configs_migrations",
        "ALTER TABLE {s}tasks RENAME TO my_tasks",
        _callback(1, url="http://127.0.0.1:8080/hook"),
        _callback(2, token="t", authentication={"scheme": "Bearer", "credentials": "c"}),
        "UPDATE {s}push_notification_configs SET config_data = NULL WHERE task_id = 't3'",
    )
    result, found = _made(server, "js_odd", _js, 'COLLATE "C"', faults=faults)
    # A configuration without any payload has no callback either.
    assert (result.exit_code, found.keys()) == (1, {"J13"})
    assert {"A2A-J04", "A2A-J14", "A2A-J15", "A2A-J16"} <= result.codes()


def test_a_ledger_without_its_tables_is_no_store_in_order(server: Server) -> None:
    result, found = _made(server, "js_gone", _js, 'COLLATE "C"', faults=("DROP TABLE {s}tasks",))
    assert (result.exit_code, [told for code in found for told in found[code]]) == (
        1, ["tasks: its ledger a2a_tasks_migrations has 1 line(s), and the table is not there"],
    )  # fmt: skip


def test_a_store_of_the_java_sdk(server: Server) -> None:
    result, found = _made(server, "java", _java)
    assert (result.store.name, result.exit_code, found) == ("a2a postgres a2a-java", 0, {})
    assert {r.code for r in result.results if r.outcome is Outcome.PASS} == {
        c.code for c in catalogue() if c.code.startswith("A2A-K")
    }
    assert result.check("A2A-G02").severity == "info"
    assert "the C++ migration must not run here" in result.check("A2A-G02").samples[0].detail
    assert {line.table: line.examined for line in result.account} == {
        "a2a_tasks": 8,
        "a2a_push_notification_configs": 8,
    }
    result, found = _made(server, "java_broken", _java, faults=[statement for statement, _ in JAVA_FAULTS.values()])
    _expect(found, JAVA_FAULTS)
    result, found = _made(
        server, "java_cut", _java, faults=("ALTER TABLE {s}a2a_push_notification_configs DROP COLUMN config_id",)
    )
    assert (result.exit_code, "column config_id is missing" in found["K01"][0]) == (1, True)
    every = {c.code.removeprefix("A2A-") for c in catalogue() if c.code.startswith("A2A-K") and c.severity != "info"}
    assert every == {*JAVA_FAULTS, "K01"}  # A2A-K01 has a store of its own


def test_what_is_legal_in_a_store_of_the_java_sdk(server: Server) -> None:
    faults = (
        "ALTER TABLE {s}a2a_tasks DROP COLUMN finalized_at, DROP COLUMN status_timestamp, DROP COLUMN state",  # an older version
        "UPDATE {s}a2a_tasks SET context_id = NULL",
        "DELETE FROM {s}a2a_tasks WHERE task_id = 't0'",
        _hook(1, token="t", url="https://agent/hook"),
    )
    result, found = _made(server, "java_odd", _java, faults=faults)
    assert (result.exit_code, found) == (0, {})
    assert {"A2A-G02", "A2A-K04", "A2A-K15", "A2A-K16"} == result.codes()


def test_every_store_of_a_database_is_named(server: Server) -> None:
    named = {(t.schema, t.family) for t in find_stores(server.uri("peers"))}
    assert {("js", "a2a-js"), ("js_odd", "a2a-js"), ("java", "a2a")} <= named


@pytest.mark.parametrize(
    "target", ["mysql://root:hunter2@db/a2a", "mysql+aiomysql://root:hunter2@db/a2a", "mariadb://db/a2a"]
)
def test_my_sql_is_refused_by_name(target: str) -> None:
    with pytest.raises(NotAStore, match="MySQL or MariaDB") as refused:
        parse_target(target)
    assert "hunter2" not in str(refused.value)
    assert refused.value.exit_code == 3
