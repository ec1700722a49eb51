"""`busbar-audit synth busbar-pg` and the demo's store on PostgreSQL: what is written, what is refused, what is never shown."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support_postgres import Server

from busbar_audit import cli, demo, synth
from busbar_audit.auditing import audit
from busbar_audit.errors import AuditError, OutputExists, SnapshotError, UsageError
from busbar_audit.findings import at_least
from busbar_audit.reporting import runner
from busbar_audit.store import open_store
from busbar_audit.synth.faults import FAULTS, ON_POSTGRES
from busbar_audit.verdict import Verdict

SECRET = "sésame/&?"
Refused = Callable[..., str]
SIZE: dict[str, Any] = {"seed": 1, "size": 60}


@pytest.fixture(scope="session")
def database(postgres: Server) -> str:
    name = postgres.new("synthetic")
    postgres.run(name, f"CREATE ROLE maker LOGIN PASSWORD '{SECRET}'", "CREATE ROLE stranger LOGIN",
                 "GRANT CREATE ON DATABASE synthetic TO maker")  # fmt: skip
    return name


def _schemas(server: Server, database: str) -> set[str]:
    with server.connect(database) as con:
        return {name for (name,) in con.execute("SELECT nspname FROM pg_namespace").fetchall()}


def _command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("busbar-audit")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_command_writes_what_it_says_and_no_password(postgres: Server, database: str) -> None:
    uri = postgres.uri(database, "maker", SECRET)
    words = ("synth", "busbar-pg", "--out", "env:DSN", "--schema", "made", "--size", "60", "--fault", "call_deleted")
    done = _command(*words, DSN=uri)
    assert done.returncode == 0, done.stderr
    assert "busbar postgres v10" in done.stdout
    assert "schema made" in done.stdout
    assert "expected BUS-C03" in done.stdout
    clock = done.stdout.split("--as-of ")[1].split()[0]
    with open_store(uri, schema="made") as store:
        assert store.generation.taken == 10
        assert store.rows["plane_chain"] == int(done.stdout.split(" plane_chain")[0].split()[-1].replace(",", "")) > 60
        result = audit(store, as_of=datetime.fromisoformat(clock))
        assert {f.code for f in result.findings() if at_least(f.severity, "medium")} == {"BUS-C03"}
        before = dict(store.rows)
    again = _command(*words, DSN=uri)
    assert again.returncode == 2
    assert "Schema made holds 14 tables" in again.stderr
    with open_store(uri, schema="made") as store:
        assert store.rows == before
    for text in (done.stdout, done.stderr, again.stdout, again.stderr):
        for secret in (SECRET, "s%C3%A9same"):
            assert secret not in text


@pytest.mark.parametrize("generation", [6, 11])
def test_several_faults_in_one_store(postgres: Server, database: str, generation: int) -> None:
    names = ["audit_log_edited", "secret_plain"] if generation == 6 else ["call_neutral_edited", "sessions_dropped"]
    schema = f"several_{generation}"
    uri = postgres.uri(database)
    lines = list(synth.write_postgres(uri, schema, generation=generation, faults=names, **SIZE))
    expected = {code for line in lines if "expected " in line for code in line.split("expected ")[1].split(", ")}
    with open_store(uri, schema=schema) as store:
        result = audit(store, as_of=1_700_000_000 + 7 * 86_400)
        assert {f.code for f in result.findings() if at_least(f.severity, "medium")} == expected
        assert len(expected) == 2


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """`busbar-audit synth` here, which has to end as wrong use; returns all that it said."""

    def call(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["busbar-audit", "synth", *words])
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        assert ended.value.code == 2, said.err
        return said.err + said.out

    return call


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--out", "store.db", "--schema", "x"), "writes into a PostgreSQL database"),
        (("--out", "env:NOT_SET", "--schema", "x"), "env:NOT_SET"),
        (("--out", "URI"), "--schema NAME"),
        (("--schema", "x"), "--out"),
        (("--out", "URI", "--schema", "x", "--generation", "9"), "6, 10 or 11"),
        (("--out", "URI", "--schema", "x", "--bodies", "migrated"), "An upgrade there copies nothing"),
        (("--out", "URI", "--schema", "x", "--odd", "no_such"), "busbar-pg --list"),
        (("--out", "URI", "--schema", "x", "--fault", "no_such"), "busbar-pg --list"),
        (("--out", "URI", "--schema", "x", "--fault", "not_wal"), "about the file"),
        (("--out", "URI", "--schema", "x", "--fault", "mcp_calls_edited"), "only in generations"),
        (("--out", "URI", "--schema", "x", "--fault", "audit_copy_differs"), "after upgrades"),
        (("--out", "URI", "--schema", "x", "--fault", "call_edited", "--generation", "6"), "generation 10, 11"),
        (("--out", "URI", "--schema", "x", "--size", "5", "--fault", "call_edited"), "long enough"),
    ],
    ids=lambda value: " ".join(value[2:]) or " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_refused(
    words: tuple[str, ...], says: str, postgres: Server, database: str, refused: Refused
) -> None:
    before = _schemas(postgres, database)
    said = refused("busbar-pg", *(postgres.uri(database, "maker", SECRET) if word == "URI" else word for word in words))
    assert says in said
    assert SECRET not in said
    assert _schemas(postgres, database) == before


def test_a_file_is_not_asked_of_the_wrong_kind(tmp_path: Path, refused: Refused) -> None:
    for words in (("--out", "postgresql://u:s3same@h/d"), ("--out", str(tmp_path / "x.db"), "--schema", "x")):
        said = refused("busbar", *words)
        assert "synth busbar-pg" in said
        assert "s3same" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_schema_that_holds_anything_is_left_alone(postgres: Server, database: str) -> None:
    postgres.run(database, "CREATE SCHEMA taken", "CREATE VIEW taken.keys AS SELECT 1 AS id", "CREATE SCHEMA hollow")
    with pytest.raises(OutputExists, match="holds 1 tables or views"):
        list(synth.write_postgres(postgres.uri(database), "taken", generation=6, **SIZE))
    lines = list(synth.write_postgres(postgres.uri(database), "hollow", generation=6, **SIZE))
    assert "busbar postgres v6" in lines[0]


def test_a_role_without_rights_and_a_server_that_is_not_there(postgres: Server, database: str, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="permission denied for database") as refused:
        list(synth.write_postgres(postgres.uri(database, "stranger"), "mine", generation=6, **SIZE))
    assert "Nothing was written" in str(refused.value)
    assert "mine" not in _schemas(postgres, database)
    with pytest.raises(SnapshotError, match="No connection") as lost:
        list(synth.write_postgres(f"postgresql://u:s3same@/d?host={tmp_path}", "x", generation=6, **SIZE))
    assert "s3same" not in str(lost.value)
    with pytest.raises(UsageError) as unread:
        list(synth.write_postgres("postgresql://u:s3same@h:notaport/d?x", "x", generation=6, **SIZE))
    assert "s3same" not in str(unread.value)


def test_the_list_is_of_this_engine() -> None:
    listed = "\n".join(synth.listing("busbar-pg"))
    assert all(f"fault  {name} " in listed for name in ON_POSTGRES)
    assert all(f"fault  {name} " not in listed for name in FAULTS.keys() - ON_POSTGRES.keys())
    assert "odd    fresh" in listed
    assert "audit_copy " not in listed


# ---- demo --------------------------------------------------------------------------------------------------------------


def test_a_server_that_does_not_start_is_said(
    sample: demo.Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no shared memory")

    package = SimpleNamespace(get_server=broken)
    monkeypatch.setattr("busbar_audit.synth.server.import_module", lambda _: package)
    lines, code = demo.run(tmp_path, lambda _: None)
    assert code == 3
    assert "NOT SHOWN" in lines[0]
    assert "did not start: RuntimeError" in lines[0]


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> demo.Sample:
    """The demo with its store on PostgreSQL alone, and an audit in place of a report."""
    (sample,) = [each for each in demo.SAMPLES if each.on_postgres]
    monkeypatch.setattr(demo, "SAMPLES", (sample,))
    monkeypatch.setitem(demo._SIZE, "calls", 200)

    def report(target: Any, out: Path, *, as_of: int, progress: Any) -> Any:
        with open_store(target) as store:
            return SimpleNamespace(verdict=audit(store, as_of=as_of).verdict)

    monkeypatch.setattr(runner, "report", report)
    return sample


def test_the_demo_has_a_store_on_postgres(sample: demo.Sample, tmp_path: Path) -> None:
    lines, code = demo.run(tmp_path, lambda _: None)
    assert code == 0
    assert lines[0].split()[:2] == ["postgres", Verdict.FINDINGS]


def test_the_demo_says_what_it_leaves_out(sample: demo.Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "installed", lambda: False)
    lines, code = demo.run(tmp_path, lambda _: None)
    assert code == 0
    assert "left out" in lines[0]
    assert "busbar-audit[demo]" in lines[0]
