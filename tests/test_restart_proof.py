"""The restart proof with small gateways of our own: an honest one, and one for each way of losing what was accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support_audit import built, copied

GATEWAY = Path(__file__).with_name("gateway.py")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return copied(built(tmp_path, 9, {"tasks": 4, "calls": 20}), tmp_path / "busbar-governance.db")


def prove(store: Path, kind: str, *more: str) -> subprocess.CompletedProcess[str]:
    def command(verb: str) -> str:
        return f"{sys.executable} {GATEWAY} {store} {kind} {verb}"

    words = [sys.executable, "-m", "busbar_audit.cli", "rehearse", str(store), "--restart-proof"]
    words += ["--write", command("write"), "--restart", command("restart"), "--purge", command("purge"), *more]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def codes(ended: subprocess.CompletedProcess[str]) -> dict[str, str]:
    checks = json.loads(ended.stdout)["stores"][0]["checks"]
    return {c["code"]: c["outcome"] for c in checks if c["code"] in ("BUS-D05", "BUS-D06", "BUS-D07", "BUS-D08")}


def test_an_honest_store_is_proven(store: Path) -> None:
    ended = prove(store, "honest", "--json")
    assert set(codes(ended).values()) == {"pass"}, ended.stdout
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines()[-1] == "clean"


def test_a_store_that_keeps_nothing_is_named(store: Path) -> None:
    ended = prove(store, "forgetful", "--json")
    assert codes(ended) == {
        "BUS-D05": "finding",
        "BUS-D06": "pass",
        "BUS-D07": "pass",
        "BUS-D08": "could_not_run",
    }
    assert ended.returncode == 1


def test_a_store_that_loses_its_wal_is_named_with_every_kind_of_row(store: Path) -> None:
    ended = prove(store, "wal-loser", "--json")
    assert codes(ended) == {"BUS-D05": "pass", "BUS-D06": "finding", "BUS-D07": "pass", "BUS-D08": "pass"}
    lost = next(c for c in json.loads(ended.stdout)["stores"][0]["checks"] if c["code"] == "BUS-D06")
    assert {(s["subject"], s["records"]) for s in lost["samples"]} == {
        ("audit_log", 3),
        ("mcp_calls", 3),
        ("tasks", 2),
        ("task_events", 5),
    }
    assert ended.returncode == 1


def test_a_purge_that_takes_live_work_is_named(store: Path) -> None:
    ended = prove(store, "greedy", "--json")
    assert codes(ended)["BUS-D07"] == "finding"
    assert ended.returncode == 1


@pytest.mark.parametrize(("command", "says"), [("false", "exit code 1"), ("sleep 30", "stopped at its timeout")])
def test_a_command_that_fails_or_hangs_proves_nothing(store: Path, command: str, says: str) -> None:
    words = [sys.executable, "-m", "busbar_audit.cli", "rehearse", str(store), "--restart-proof", "--timeout", "1"]
    ended = subprocess.run(
        [*words, "--write", command, "--restart", "true"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert says in ended.stderr
    assert ended.stdout.splitlines()[-1] == "inconclusive"


def test_a_command_that_does_not_exist_is_a_usage_error(store: Path) -> None:
    ended = prove(store, "honest", "--write", "no-such-program-here")
    assert ended.returncode == 2
    assert "no-such-program-here" in ended.stderr


def test_it_needs_both_commands(store: Path) -> None:
    words = [sys.executable, "-m", "busbar_audit.cli", "rehearse", str(store)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 2
