"""Synthetic A2A stores by command: clean under the policy that is written with them, and each state found by its checks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support_audit import AS_OF
from support_postgres import Server, running

from busbar_audit.auditing import audit
from busbar_audit.cli import main
from busbar_audit.policy import read_policy
from busbar_audit.store import open_store
from busbar_audit.synth.a2a_states import STATES

# Healthy stores of every generation are judged in test_a2a; here it is about the command.
HEALTHY: list[tuple[int, tuple[str, ...]]] = [(13, ("v3a",)), (14, ())]
# What happens to real stores in these ways is in test_a2a_causes; with BUSBAR_AUDIT_FULL every state is planted.
PLANTED = ["migrated-too-early", "no-helpers", "trigger-off", "column-only"]
if os.environ.get("BUSBAR_AUDIT_FULL"):
    PLANTED = list(STATES)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        up.new("synthetic")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SYNTH_DSN", up.uri("synthetic"))
            yield up


def _command(*words: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["busbar-audit", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(str(ended.value.code))


def _found(server: Server, schema: str, policy: Path) -> tuple[int, set[str]]:
    with open_store(server.uri("synthetic"), schema=schema) as store:
        result = audit(store, as_of=AS_OF, policy=read_policy(policy))
        grave = {code.removeprefix("A2A-") for code in result.codes() if result.check(code).severity != "info"}
        return result.exit_code, grave - {"F13"}  # nobody but the owner was granted anything


@pytest.mark.parametrize(("generation", "odd"), HEALTHY)
def test_a_store_is_clean_under_its_policy(
    server: Server, tmp_path: Path, generation: int, odd: tuple[str, ...]
) -> None:
    schema, policy = f"g{generation}{''.join(odd)}", tmp_path / "policy.toml"
    words = [
        "--generation",
        str(generation),
        "--size",
        "12",
        "--policy",
        str(policy),
        *(w for o in odd for w in ("--odd", o)),
    ]
    assert _command("synth", "a2a", "--out", "env:SYNTH_DSN", "--schema", schema, *words) == 0
    assert _found(server, schema, policy) == (0, set())
    if generation == 14:
        with open_store(server.uri("synthetic"), schema=schema) as store:
            assert audit(store, as_of=AS_OF).check("A2A-M05").findings, "their bodies are ours, and unknown without it"


@pytest.mark.parametrize(("name", "generation"), [(name, STATES[name].generations[-1]) for name in PLANTED])
def test_a_state_is_found_and_nothing_else(server: Server, tmp_path: Path, name: str, generation: int) -> None:
    schema, policy = f"s_{name.replace('-', '_')}", tmp_path / "policy.toml"
    words = ["--generation", str(generation), "--size", "12", "--policy", str(policy), "--fault", name]
    assert _command("synth", "a2a", "--out", "env:SYNTH_DSN", "--schema", schema, *words) == 0
    assert _found(server, schema, policy) == (1, set(STATES[name].codes))


@pytest.mark.parametrize("generation", [4])
def test_a_store_of_the_python_sdk(server: Server, tmp_path: Path, generation: int) -> None:
    path = tmp_path / "store.db"
    odd = ["--odd", "encrypted", *(["--odd", "old-dialect"] if generation > 2 else [])]
    words = ["--generation", str(generation), "--size", "24", *odd]
    assert _command("synth", "a2a-python", "--out", str(path), *words) == 0
    schema = f"p{generation}"
    assert _command("synth", "a2a-python", "--out", "env:SYNTH_DSN", "--schema", schema, *words) == 0
    for target in (str(path), server.uri("synthetic")):
        with open_store(target, schema=None if target == str(path) else schema) as store:
            assert (store.family, store.generation.taken) == ("a2a-python", generation)
            result = audit(store, as_of=AS_OF)
            assert (result.exit_code, result.codes()) == (0, {"A2A-P07", "A2A-P16"})
            assert result.check("A2A-P07").samples[0].detail == "8 plain, 8 encrypted"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("a2a", "--out", "env:SYNTH_DSN"), "needs --schema"),
        (("a2a", "--out", "store.db", "--schema", "x"), "writes into a PostgreSQL database"),
        (("a2a", "--out", "env:SYNTH_DSN", "--schema", "x", "--generation", "5"), "a2a generation 5"),
        (("a2a", "--out", "env:SYNTH_DSN", "--schema", "x", "--fault", "nope"), "No fault named nope"),
        (("a2a", "--out", "env:SYNTH_DSN", "--schema", "x", "--fault", "column-only"), "is for generations 3, not 14"),
        (("a2a-python", "--out", "store.db", "--odd", "nope"), "No odd shape named nope"),
        (("a2a-python", "--out", "env:SYNTH_DSN", "--schema", "x", "--fault", "nope"), "plants no faults"),
    ],
)
def test_a_wrong_call_is_refused(
    server: Server, words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _command("synth", *words) == 2
    assert told in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_what_there_is_to_plant_is_listed(capsys: Any) -> None:
    assert _command("synth", "a2a", "--list") == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("v3a", *STATES))
    assert _command("synth", "a2a-python", "--list") == 0
    assert "encrypted" in capsys.readouterr().out
