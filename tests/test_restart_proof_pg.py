"""The restart proof on PostgreSQL: small gateways of our own, restarted together with a server that really crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_pg import NOW
from support_postgres import Server, judged, running

from busbar_audit.errors import ReportError, SnapshotError, UsageError
from busbar_audit.rehearsal.commands import run
from busbar_audit.rehearsal.restart import Commands, restart_proof
from busbar_audit.result import Result
from busbar_audit.synth.busbar_pg import write_busbar_pg

GATEWAY = Path(__file__).with_name("gateway_pg.py")
SECRET = "gehe/im&?#%ß"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new("base")
        write_busbar_pg(
            up.uri("base"), "busbar", generation=10, seed=1, calls=20, tasks=4, audits=6, days=2, principals=2
        )
        up.new("old")
        write_busbar_pg(up.uri("old"), "busbar", generation=6, seed=1, calls=0, tasks=0, audits=6, days=2, principals=2)
        yield up


def _command(kind: str, verb: str) -> str:
    return f"{sys.executable} {GATEWAY} {kind} {verb}"


def _proven(uri: str, commands: Commands) -> tuple[dict[str, str], Result]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        result = restart_proof(uri, commands, keep=lambda proof: proof.result.as_dict()).result
    return {r.code: r.outcome.value for r in result.results if r.code.startswith("BUS-D")}, result


def test_an_honest_store_is_proven_across_a_crash_of_its_server(server: Server) -> None:
    """By the command, with a password: the gateway gets it by environment, and nobody else gets it."""
    name = server.copy_of("base")
    server.run(name, "CREATE ROLE gateway LOGIN SUPERUSER")
    environment = {**os.environ, "DSN": server.uri(name, "gateway", SECRET), "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "busbar_audit.cli", "rehearse", "env:DSN", "--restart-proof", "--json"]
    for verb in ("write", "restart", "purge"):
        words += [f"--{verb}", _command("honest", verb)]
    ended = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    checks = {c["code"]: c["outcome"] for c in json.loads(ended.stdout)["stores"][0]["checks"]}
    assert {code: outcome for code, outcome in checks.items() if code.startswith("BUS-D")} == dict.fromkeys(
        ("BUS-D05", "BUS-D06", "BUS-D07", "BUS-D08"), "pass"
    )
    assert ended.stderr.splitlines()[-1] == "clean"
    assert "gehe" not in ended.stdout + ended.stderr
    # What the gateway wrote, and the purge left, is as sound as its restart.
    found = judged(server.uri(name), as_of=NOW + 1000).codes()
    assert not {code for code in found if code.startswith(("BUS-C", "BUS-M", "BUS-T0", "BUS-D"))}


def test_a_store_that_keeps_nothing_is_named(server: Server) -> None:
    commands = Commands(_command("forgetful", "write"), "true", purge="true")
    outcomes, result = _proven(server.uri(server.copy_of("base")), commands)
    assert outcomes == {"BUS-D05": "finding", "BUS-D06": "pass", "BUS-D07": "pass", "BUS-D08": "could_not_run"}
    assert result.exit_code == 1


def test_a_store_that_loses_rows_at_the_crash_is_named_with_every_kind_of_row(server: Server) -> None:
    name = server.copy_of("base")
    server.run(name, "ALTER TABLE plane_chain SET UNLOGGED", "ALTER TABLE plane_records SET UNLOGGED")
    with server.connect(name) as con:
        rows = con.execute(
            "SELECT 'kind ' || kind, count(*) FROM (SELECT kind FROM busbar.plane_chain UNION ALL SELECT kind FROM "
            "busbar.plane_records WHERE kind <> 'demotion') AS r GROUP BY kind"
        ).fetchall()
    before = {str(subject): int(count) for subject, count in rows}
    commands = Commands(_command("unlogged", "write"), _command("unlogged", "restart"))
    outcomes, result = _proven(server.uri(name), commands)
    assert outcomes == {"BUS-D05": "pass", "BUS-D06": "finding", "BUS-D07": "pass", "BUS-D08": "pass"}
    added = {"kind call": 3, "kind audit": 3, "kind task": 2, "kind task_event": 5}
    lost = {f.subject: f.records for f in result.check("BUS-D06").samples}
    assert lost == {subject: before[subject] + more for subject, more in added.items()}
    assert result.exit_code == 1


def test_a_purge_that_takes_live_work_is_named(server: Server) -> None:
    greedy = Commands(_command("honest", "write"), "true", purge=_command("greedy", "purge"))
    outcomes, result = _proven(server.uri(server.copy_of("base")), greedy)
    assert outcomes == {"BUS-D05": "pass", "BUS-D06": "pass", "BUS-D07": "finding", "BUS-D08": "pass"}
    assert {f.subject for f in result.check("BUS-D07").samples} == {"kind task", "kind task_event"}


def test_the_store_named_by_schema(server: Server) -> None:
    name = server.copy_of("base")
    write_busbar_pg(server.uri(name), "other", generation=10, seed=2, calls=5, tasks=1, audits=2, days=2,
                    principals=1)  # fmt: skip
    commands = Commands(_command("honest", "write"), "true")
    with pytest.raises(UsageError, match="--schema"):
        restart_proof(server.uri(name), commands, keep=lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        proof = restart_proof(server.uri(name), commands, schema="other", keep=lambda _: None)
    assert proof.result.exit_code == 0
    with server.connect(name) as con:
        found = con.execute("SELECT count(*) FROM other.plane_chain WHERE parent = 'vk_alice'").fetchone()
    assert found == (3 + 5,)


def test_what_cannot_be_proven_is_refused_before_any_command(server: Server, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    commands = Commands(f"touch {ran}", f"touch {ran}")
    name = server.copy_of("base")
    server.run(name, "CREATE ROLE halfblind LOGIN", "GRANT USAGE ON SCHEMA busbar TO halfblind",
               "GRANT SELECT ON ALL TABLES IN SCHEMA busbar TO halfblind",
               "REVOKE SELECT ON plane_chain FROM halfblind")  # fmt: skip
    with pytest.raises(SnapshotError, match=r"plane_chain cannot be compared.*GRANT SELECT"):
        restart_proof(server.uri(name, "halfblind"), commands, keep=lambda _: None)
    server.run(name, "INSERT INTO busbar_schema VALUES (99)")
    with pytest.raises(UsageError, match="unknown generation"):
        restart_proof(server.uri(name), commands, keep=lambda _: None)
    assert not ran.exists()


def test_a_command_that_fails_shows_its_output_without_the_password(server: Server) -> None:
    uri = server.uri(server.copy_of("old"), "postgres", SECRET)
    talk = f"{sys.executable} -c \"import os; print(os.environ['BUSBAR_AUDIT_TARGET'], chr(27)); exit(4)\""
    with pytest.raises(ReportError) as failed:
        restart_proof(uri, Commands(talk, "true"), keep=lambda _: None)
    assert "exit code 4" in str(failed.value)
    assert "postgresql://postgres:***@/" in str(failed.value)
    assert "gehe" not in str(failed.value)
    assert "\x1b" not in str(failed.value)


def test_a_secret_cut_in_two_by_the_limit_is_not_shown() -> None:
    noise = f"{sys.executable} -c \"print('x' * 9 + 'SECRET' * 20000); print('the end')\""
    ended = run(noise, timeout=30, environment={}, secrets=("SECRET",))
    assert ended.output == "the end\n"


def test_an_audit_names_tables_that_a_crash_empties(server: Server) -> None:
    name = server.copy_of("old")
    server.run(name, "ALTER TABLE audit_log SET UNLOGGED")
    result = judged(server.uri(name))
    assert result.exit_code == 1
    assert [(f.subject, f.detail) for f in result.check("BUS-S06").samples] == [
        ("audit_log", "table-differs: UNLOGGED, emptied by the server after a crash")
    ]
