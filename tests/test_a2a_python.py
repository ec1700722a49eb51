# ruff: noqa: E501 - tables
"""Stores of the A2A Python SDK on PostgreSQL: one that the SDK itself wrote, and small ones with a fault each."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
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
from busbar_audit.errors import UnknownFamily
from busbar_audit.findings import Finding, Outcome
from busbar_audit.result import Result
from busbar_audit.store import find_stores, open_store

_TASKS = "id varchar(36) PRIMARY KEY, context_id varchar(36), kind varchar(16), status json, artifacts json, history json, metadata json"
_CONFIGS = "task_id varchar(36), config_id varchar(255), config_data bytea, PRIMARY KEY (task_id, config_id)"
_OWNED = ", owner varchar(255), last_updated timestamp, protocol_version varchar(16)"
FERNET = b"gAAAAA" + b"Bx" * 60


def _store(con: psycopg.Connection[Any], s: str, *, revision: str | None = "b5e3d1c8a2f7") -> None:
    con.execute(f"CREATE SCHEMA {s}".encode())
    con.execute(f"CREATE TABLE {s}.tasks ({_TASKS}{_OWNED})".encode())
    con.execute(
        f"CREATE TABLE {s}.push_notification_configs ({_CONFIGS}{_OWNED.replace(' last_updated timestamp,', '')})".encode()
    )
    con.execute(
        f"CREATE TABLE {s}.task_versions (task_id varchar(36) PRIMARY KEY, owner varchar(255), version bigint)".encode()
    )
    con.execute(
        f"CREATE TABLE {s}.task_events (seq bigint PRIMARY KEY, task_id varchar(36), owner varchar(255), task_version bigint, event_data bytea)".encode()
    )
    if revision:
        con.execute(f"CREATE TABLE {s}.a2a_alembic_version (version_num varchar(32) PRIMARY KEY)".encode())
        con.execute(f"INSERT INTO {s}.a2a_alembic_version VALUES ('{revision}')".encode())
    for n in range(8):
        moment = f"2023-11-20T10:00:0{n}.000{n}00"
        old = n % 4 == 3
        status = {
            "state": "input-required" if old else "TASK_STATE_WORKING",
            "timestamp": moment + ("" if old else "Z"),
        }
        con.execute(
            f"INSERT INTO {s}.tasks VALUES (%s, 'c', 'task', %s, '[]', '[]', 'null', 'alice', %s, %s)".encode(),
            (f"t{n}", json.dumps(status), moment, "0.3" if old else "1.0"),
        )
        config = {"id": f"t{n}", "taskId": f"t{n}", "url": f"https://h{n}.example.com/x", "token": "hunter2"}
        con.execute(
            f"INSERT INTO {s}.push_notification_configs VALUES (%s, %s, %s, 'alice', '1.0')".encode(),
            (f"t{n}", f"t{n}", json.dumps(config).encode()),
        )
        con.execute(f"INSERT INTO {s}.task_versions VALUES ('t{n}', 'alice', 1)".encode())


def _config(n: int, **words: Any) -> tuple[str, tuple[bytes]]:
    told = {"id": f"t{n}", "taskId": f"t{n}", "url": "https://h.example.com/x", **words}
    query = f"UPDATE {{s}}.push_notification_configs SET config_data = %s WHERE task_id = 't{n}'"
    return query, (json.dumps(told).encode(),)


# code: statement, its values, text in place or detail. All of them stand in one store: each code has one cause.
FAULTS: dict[str, tuple[tuple[str, tuple[Any, ...]], str]] = {
    "P01": (
        ("ALTER TABLE {s}.push_notification_configs DROP COLUMN protocol_version", ()),
        "protocol_version is missing",
    ),
    "P02": (("UPDATE {s}.tasks SET owner = NULL WHERE id = 't0'", ()), "no owner"),
    "P03": (("UPDATE {s}.tasks SET protocol_version = '0.3' WHERE id = 't1'", ()), "t1: protocol_version 0.3"),
    "P05": (("UPDATE {s}.tasks SET last_updated = last_updated + interval '1 second' WHERE id = 't2'", ()), "1000000"),
    "P08": (("UPDATE {s}.tasks SET status = '[]' WHERE id = 't3'", ()), "t3: the status is no JSON object"),
    "P09": (_config(0, taskId="other"), "t0 / t0"),
    "P10": (("INSERT INTO {s}.task_versions VALUES ('gone', 'alice', 1)", ()), "gone"),
    "P11": (("""UPDATE {s}.tasks SET status = '{{"state": "hunter2"}}' WHERE id = 't4'""", ()), "t4"),
    "P12": (_config(1, url="https://me:hunter2@user.example.com/x"), "user.example.com"),
    "P13": (_config(2, url="hunter2"), "unreadable host"),
    "P14": (_config(3, url="http://plain.example.com", token="hunter2"), "plain.example.com"),
    "P15": (_config(4, url="https://169.254.169.254/"), "metadata"),
    "P19": (("CREATE TABLE {s}.tasks_copy AS TABLE {s}.tasks", ()), "tasks_copy: it has the columns of tasks"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new("python")
        with up.connect("python") as con:
            _store(con, "clean")
        yield up


def _judged(server: Server, schema: str, database: str = "python") -> tuple[Result, list[Finding]]:
    with open_store(server.uri(database), family="a2a-python", schema=schema) as store:
        result = audit(store, as_of=AS_OF)
        return result, list(result.findings())


def test_a_clean_store_is_clean(server: Server) -> None:
    result, findings = _judged(server, "clean")
    assert (result.exit_code, {f.code for f in findings}) == (0, {"A2A-P16"})
    assert {r.code for r in result.results if r.outcome is not Outcome.PASS} == {
        "A2A-P06",
        "A2A-P16",
        "A2A-P17",
        "A2A-P18",
    }
    assert all(line.adds_up for line in result.account)


def test_faults_are_found_and_nothing_else(server: Server) -> None:
    with server.connect("python") as con:
        _store(con, "broken")
        for (statement, values), _ in FAULTS.values():
            con.execute(statement.format(s="broken").encode(), values or None)
    result, findings = _judged(server, "broken")
    found: dict[str, list[str]] = {}
    for finding in findings:
        if finding.severity != "info":
            found.setdefault(finding.code.removeprefix("A2A-"), []).append(f"{finding.place}: {finding.detail}")
    assert found.keys() == FAULTS.keys(), found
    assert {code: len(told) for code, told in found.items()} == dict.fromkeys(FAULTS, 1), found
    assert all(text in found[code][0] for code, (_, text) in FAULTS.items()), found
    assert "hunter2" not in json.dumps(result.as_dict())
    every = {c.code.removeprefix("A2A-") for c in catalogue() if c.family == "a2a-python" and c.severity != "info"}
    assert every - {"P06", "P17", "P18"} == FAULTS.keys(), "those three are for SQLite"


def test_what_is_legal_is_no_finding(server: Server) -> None:
    with server.connect("python") as con:
        _store(con, "odd", revision=None)
        con.execute("UPDATE odd.push_notification_configs SET config_data = %s WHERE task_id = 't0'", (FERNET,))
        con.execute("DELETE FROM odd.tasks WHERE id = 't1'")
        con.execute("DELETE FROM odd.task_versions")
        con.execute("UPDATE odd.tasks SET last_updated = NULL, protocol_version = NULL WHERE id = 't2'")
        con.execute(
            """UPDATE odd.tasks SET status = '{"state": "TASK_STATE_WORKING"}', last_updated = NULL WHERE id = 't4'"""
        )
        con.execute("UPDATE odd.tasks SET status = '{}', last_updated = NULL WHERE id = 't5'")
        con.execute("DROP TABLE odd.task_events, odd.task_versions")
    result, findings = _judged(server, "odd")
    assert (result.exit_code, {f.code for f in findings}) == (0, {"A2A-P04", "A2A-P07", "A2A-P16"}), findings


def test_a_stamp_proves_nothing(server: Server) -> None:
    with server.connect("python") as con:
        con.execute("CREATE SCHEMA stamped")
        con.execute("CREATE TABLE stamped.a2a_alembic_version AS SELECT 'b5e3d1c8a2f7'::varchar AS version_num")
        con.execute("CREATE SCHEMA newer")
        con.execute("CREATE TABLE newer.a2a_alembic_version AS SELECT 'ffffffffffff'::varchar AS version_num")
    result, findings = _judged(server, "stamped")
    assert (result.exit_code, [(f.code, f.place) for f in findings]) == (1, [("A2A-P01", "tasks")])
    result, findings = _judged(server, "newer")
    assert (result.exit_code, findings) == (3, [])
    assert "a newer revision is not known" in result.check("A2A-P01").reason


def test_tables_of_other_names_are_found_by_their_columns(server: Server, tmp_path: Path) -> None:
    with server.connect("python") as con:
        _store(con, "named")
        con.execute("ALTER TABLE named.tasks RENAME TO agent_tasks")
        con.execute("ALTER TABLE named.push_notification_configs RENAME TO agent_callbacks")
        con.execute("UPDATE named.agent_tasks SET protocol_version = '0.3' WHERE id = 't1'")
    result, findings = _judged(server, "named")
    assert {f.code: f.place for f in findings if f.severity != "info"} == {"A2A-P03": "t1"}
    assert {line.table: line.examined for line in result.account if line.examined} == {
        "tasks": 8, "push_notification_configs": 8, "task_versions": 8,
    }  # fmt: skip
    with server.connect("python") as con:
        con.execute("CREATE TABLE named.other_tasks AS TABLE named.agent_tasks")
    with pytest.raises(
        UnknownFamily, match="2 tables have the columns of the A2A Python SDK's tasks: agent_tasks, other_tasks"
    ):
        _judged(server, "named")
    path = _file(
        tmp_path / "named.db",
        extra=(
            "ALTER TABLE tasks RENAME TO mine",
            "ALTER TABLE push_notification_configs RENAME TO hooks",
            "UPDATE mine SET last_updated = '2023-11-20 11:00:00.000000', context_id = CAST('c' AS blob) WHERE id = 't1'",
        ),
    )
    assert _of_file(path)[1].keys() == {"A2A-P05", "A2A-P18"}


@pytest.mark.real_stores
def test_a_store_that_the_sdk_wrote(server: Server, samples: Path) -> None:
    dump, psql = samples / "a2a" / "a2a_python.sql.gz", shutil.which("psql")
    if not dump.exists() or psql is None:
        pytest.skip(f"needs {dump} and psql")
    server.new("written")
    lines = gzip.decompress(dump.read_bytes()).splitlines()
    script = b"\n".join(line for line in lines if not line.startswith((b"\\restrict", b"\\unrestrict")))
    subprocess.run(
        [psql, "-q", "-v", "ON_ERROR_STOP=1", server.uri("written")], input=script, check=True, capture_output=True
    )
    assert [target.family for target in find_stores(server.uri("written"))] == ["a2a-python"]
    result, findings = _judged(server, "public", "written")
    assert (result.exit_code, {f.code for f in findings}) == (0, {"A2A-P16", "A2A-P19"}), (
        findings
    )  # a second table, encrypted
    assert {line.table: line.examined for line in result.account if line.examined} == {
        "tasks": 120,
        "push_notification_configs": 60,
    }


# ---- the same on SQLite ----------------------------------------------------------------------------------------------


def _file(path: Path, *, extra: tuple[str, ...] = ()) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"CREATE TABLE tasks ({_TASKS}{_OWNED.replace('timestamp', 'datetime')})")
        configs = _CONFIGS.replace("bytea", "blob, owner varchar(255), protocol_version varchar(16)")
        con.execute(f"CREATE TABLE push_notification_configs ({configs})")
        con.execute("CREATE TABLE a2a_alembic_version (version_num varchar(32) PRIMARY KEY)")
        con.execute("INSERT INTO a2a_alembic_version VALUES ('38ce57e08137')")
        for n in range(4):
            status = {"state": "TASK_STATE_COMPLETED", "timestamp": f"2023-11-20T10:00:0{n}.500000Z"}
            row = (
                f"t{n}",
                "c",
                "task",
                json.dumps(status),
                "[]",
                "[]",
                "null",
                "alice",
                f"2023-11-20 10:00:0{n}.500000",
                "1.0",
            )
            con.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            config = {"id": "c", "taskId": f"t{n}", "url": f"https://h{n}.example.com/x"}
            con.execute(
                "INSERT INTO push_notification_configs VALUES (?, 'c', ?, 'alice', '1.0')",
                (f"t{n}", json.dumps(config).encode()),
            )
        for statement in extra:
            con.execute(statement)
        con.commit()
    return path


def _of_file(path: Path) -> tuple[Result, dict[str, str]]:
    with open_store(path) as store:
        assert (store.family, store.engine) == ("a2a-python", "sqlite")
        result = audit(store, as_of=AS_OF)
        return result, {f.code: f"{f.place}: {f.detail}" for f in result.findings()}


def test_a_file_of_the_sdk(tmp_path: Path) -> None:
    result, findings = _of_file(_file(tmp_path / "clean.db"))
    assert (result.exit_code, findings) == (0, {})
    assert {r.code for r in result.results if r.outcome is not Outcome.PASS} == {"A2A-P10"}
    assert {line.table: line.examined for line in result.account if line.examined} == {
        "tasks": 4,
        "push_notification_configs": 4,
    }


def test_faults_of_a_file(tmp_path: Path) -> None:
    path = _file(
        tmp_path / "broken.db",
        extra=(
            f"UPDATE tasks SET context_id = '{'x' * 40}' WHERE id = 't0'",
            "UPDATE tasks SET last_updated = '2023-11-20 11:00:00.000000' WHERE id = 't1'",
            "UPDATE tasks SET status = CAST(status AS blob) WHERE id = 't2'",
            "UPDATE push_notification_configs SET config_data = x'00' WHERE task_id = 't3'",
        ),
    )
    result, findings = _of_file(path)
    assert result.exit_code == 1
    assert findings.keys() == {"A2A-P05", "A2A-P06", "A2A-P08", "A2A-P18"}, findings
    assert "context id of 40" in findings["A2A-P06"]
    assert "storage class blob" in findings["A2A-P18"]
    assert "t3 / c" in findings["A2A-P08"]


def test_a_damaged_file_is_not_judged(tmp_path: Path) -> None:
    path = _file(tmp_path / "damaged.db")
    with closing(sqlite3.connect(path)) as con:
        for n in range(200):
            con.execute("INSERT INTO tasks SELECT ?, context_id, kind, status, artifacts, history, metadata, owner, last_updated, "
                        "protocol_version FROM tasks WHERE id = 't0'", (f"more{n}",))  # fmt: skip
        con.commit()
    data = bytearray(path.read_bytes())
    middle = len(data) // 8192 * 4096
    data[middle : middle + 3000] = b"\xff" * 3000
    path.write_bytes(data)
    result, findings = _of_file(path)
    assert set(findings) == {"A2A-P17"}
    assert {r.outcome for r in result.results if r.code != "A2A-P17"} == {Outcome.COULD_NOT_RUN}
