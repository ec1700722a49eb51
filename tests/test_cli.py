"""The command as it is installed: its exit codes, its last word, what it prints and what it never prints."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_cli import called, last, main_here
from support_reports import HOSTILE, clean_store, damaged_store, hostile_store, newer_store

from busbar_audit import exits
from busbar_audit.commands import runs
from busbar_audit.reporting.schema import validate
from busbar_audit.result import version

COMMAND = Path(sys.executable).with_name("busbar-audit")
AS_OF = ("--as-of", "2023-11-23T00:00:00Z")
# Where the verdict matters and not how much was looked at.
QUICK = (*AS_OF, "--only", "BUS-C01")


def run(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the installed command; `env` adds to the environment."""
    assert COMMAND.exists(), f"{COMMAND} is missing: install the package beside this Python"
    environment = {**os.environ, **more.pop("env", {})}
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment, **more
    )


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each: clean, with findings and hostile names, damaged, empty, newer than known."""
    folder = tmp_path_factory.mktemp("cli-stores")
    clean_store(folder / "clean.db", calls=60)
    hostile_store(folder / "findings.db")
    damaged_store(folder / "damaged.db")
    clean_store(folder / "empty.db", odd=("empty",))
    newer_store(folder / "newer.db")
    return folder


# --- the four codes and the last word ---


@pytest.mark.parametrize(
    ("name", "code", "word", "says"),
    [
        ("clean", 0, "clean", "every selected check that applies ran"),
        ("findings", 1, "findings", "CRITICAL  BUS-C01"),
        ("damaged", 1, "findings", "the file is damaged"),
        ("empty", 3, "inconclusive", "no chained record"),
        ("newer", 3, "inconclusive", "generation 14 is not known"),
    ],
)
def test_the_code_and_the_last_word_go_together(stores: Path, name: str, code: int, word: str, says: str) -> None:
    done = run("audit", stores / f"{name}.db", *AS_OF)
    assert (done.returncode, last(done.stdout)) == (code, word), done.stderr
    assert says in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "code", "word"), [("clean", 0, "clean"), ("findings", 1, "findings")])
def test_with_json_stdout_is_the_result_alone(stores: Path, name: str, code: int, word: str) -> None:
    done = called("audit", stores / f"{name}.db", "--json", *AS_OF)
    document = json.loads(done.stdout)
    assert (done.returncode, last(done.stderr)) == (code, word)
    assert (document["verdict"], document["exit_code"]) == (word, code)
    validate("run", document)
    for store in document["stores"]:
        assert all(a["rows"] == a["examined"] + sum(a["not_examined"].values()) for a in store["account"])


def test_with_json_a_failure_leaves_stdout_empty(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    done = run("audit", tmp_path / "x.db", "--json")
    assert (done.returncode, done.stdout, last(done.stderr)) == (3, "", "inconclusive")


USAGE: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("no command", (), ("Usage: busbar-audit",)),
    ("unknown command", ("audits",), ("No such command 'audits'",)),
    ("unknown option", ("audit", "STORE", "--outt", "x"), ("No such option: --outt",)),
    ("no target", ("audit",), ("Missing argument 'TARGET'",)),
    ("unknown code", ("audit", "STORE", "--only", "BUS-C111"), ("No check or area 'BUS-C111'", "Did you mean BUS-C11")),
    ("unknown area", ("audit", "STORE", "--skip", "chain"), ("No check or area 'chain'", "Did you mean chains?")),
    ("nothing like it", ("audit", "STORE", "--only", "zzz"), ("`busbar-audit checks` lists the codes",)),
    ("no zone", ("audit", "STORE", "--as-of", "2026-03-01T00:00:00"), ("Expected a zone",)),
    ("no time", ("audit", "STORE", "--as-of", "yesterday"), ("--as-of yesterday", "Expected ISO 8601")),
    ("severity", ("audit", "STORE", "--fail-on", "awful"), ("'awful'", "critical, high, medium, low, info")),
    ("family", ("audit", "STORE", "--family", "nope"), ("Family 'nope'", "This version reads: a2a")),
    ("report without out", ("report", "STORE"), ("Missing option '--out'",)),
    ("two places", ("audit", "STORE", "--out", "x", "--history", "y"), ("--out and --history together",)),
    ("a history of nothing", ("audit", "STORE", "--history", "y", "--only", "zzz"), ("lists the codes",)),
    ("unknown check", ("checks", "BUS-C99"), ("No check BUS-C99", "lists the codes")),
    ("unknown family", ("checks", "--family", "nope"), ("No check of family nope",)),
    ("synth kind", ("synth", "nope", "--out", "x.db"), ("synth nope", "busbar")),
    ("synth without out", ("synth", "busbar"), ("--out",)),
    ("synth fault", ("synth", "busbar", "--out", "x.db", "--fault", "no_such"), ("no_such", "--list")),
    ("synth generation", ("synth", "busbar", "--out", "x.db", "--generation", "4"), ("generation 4", "5 to 12")),
    ("unset variable", ("audit", "env:BUSBAR_NOT_SET"), ("BUSBAR_NOT_SET", "not set or empty")),
]


@pytest.mark.parametrize(("arguments", "says"), [c[1:] for c in USAGE], ids=[c[0] for c in USAGE])
def test_a_wrong_call_ends_with_2_and_says_what_is_expected(
    stores: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    says: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main_here(*(str(stores / "clean.db") if word == "STORE" else word for word in arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    for part in says:
        assert part in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["audit", "inspect", "report"])
def test_a_missing_target_is_said_and_nothing_is_created(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    more = ["--out", "out"] if command == "report" else []
    assert main_here(command, "nowhere/store.db", *more) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "nowhere/store.db does not exist" in err
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_call_of_the_installed_command_ends_with_2(tmp_path: Path) -> None:
    for arguments in (("audit", "nowhere.db"), ("audit", "--outt"), ()):
        done = run(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []


def test_a_private_directory_that_cannot_be_made_is_inconclusive(stores: Path, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("in the way")
    done = run("audit", stores / "clean.db", env={"BUSBAR_AUDIT_TMPDIR": str(place)})
    assert (done.returncode, done.stdout) == (3, "inconclusive\n")
    assert "No private directory can be made" in done.stderr
    assert "BUSBAR_AUDIT_TMPDIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("error", [ZeroDivisionError("x\x1b[2J"), MemoryError(), AssertionError(), SystemExit(1)])
def test_a_fault_of_the_program_never_reads_as_findings(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Any
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(runs, "run_audit", fails)
    assert main_here("audit", str(stores / "clean.db")) == 3
    out, err = capsys.readouterr()
    assert out == "inconclusive\n"
    assert "a fault of this program, not of the store" in err
    assert "\x1b" not in err


def test_a_signal_that_something_swallowed_is_still_no_verdict(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB answers a signal with errors of its own, and what catches those must not lead to a clean run."""
    whole = runs.run_audit

    def interrupted(*arguments: Any, **more: Any) -> Any:
        exits._stopped.set()
        return whole(*arguments, **more)

    monkeypatch.setattr(runs, "run_audit", interrupted)
    assert main_here("audit", str(stores / "clean.db"), *QUICK) == 3
    out, err = capsys.readouterr()
    assert last(out) == "inconclusive"
    assert "interrupted" in err


# --- selection and threshold ---


def test_the_threshold_and_the_selection_reach_the_verdict(stores: Path) -> None:
    done = called("audit", stores / "findings.db", "--only", "bus-s12", "--only", "calls", "--skip", "BUS-M08", *AS_OF)
    assert done.returncode == 0, done.stdout
    assert "left out on request" in done.stdout
    low = called("audit", stores / "findings.db", "--only", "BUS-M08", "--fail-on", "low", *AS_OF)
    assert low.returncode == 1
    assert "severity low or above" in low.stdout


# --- outputs ---


def test_out_writes_a_folder_that_fits_the_schemas(stores: Path, tmp_path: Path) -> None:
    done = called("audit", stores / "findings.db", "--out", tmp_path / "out", *AS_OF)
    assert done.returncode == 1
    assert last(done.stdout) == "findings"
    result = json.loads((tmp_path / "out/result.json").read_text())
    validate("result", result)
    validate("run", json.loads((tmp_path / "out/run.json").read_text()))
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert {"result.json", "run.json", "findings.parquet", "junit.xml", "metrics.prom"} <= set(manifest["files"])
    again = called("audit", stores / "clean.db", "--out", tmp_path / "out", *AS_OF)
    assert again.returncode == 0
    assert json.loads((tmp_path / "out/result.json").read_text())["verdict"] == "clean"


@pytest.mark.parametrize("command", ["audit", "report"])
def test_out_never_replaces_what_is_not_a_report(stores: Path, tmp_path: Path, command: str) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    done = called(command, stores / "clean.db", "--out", place, *AS_OF)
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert done.stdout == ""
    assert [(p.name, p.read_text()) for p in place.iterdir()] == [("thesis.txt", "years of work")]
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_a_report_end_to_end(stores: Path, tmp_path: Path) -> None:
    done = run("report", stores / "findings.db", "--out", tmp_path / "out", *AS_OF)
    assert done.returncode == 1, done.stderr
    assert last(done.stdout) == "findings"
    assert str(tmp_path / "out/index.html") in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"index.html", "00_store_overview.html", "01_chain_integrity.html", "result.json"} <= names
    assert HOSTILE not in (tmp_path / "out/01_chain_integrity.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# --- ways to be cut off ---


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_with_3_and_leaves_no_copy(tmp_path: Path, number: int) -> None:
    store = clean_store(tmp_path / "s.db", calls=4000, principals=40)
    private = tmp_path / "private"
    private.mkdir()
    started = subprocess.Popen(
        [COMMAND, "audit", store, "--out", tmp_path / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BUSBAR_AUDIT_TMPDIR": str(private)},
    )
    # The copy is there before anything is judged: at this moment nothing can be finished.
    while not any(private.glob("*/snapshot.db")) and started.poll() is None:
        time.sleep(0.002)
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (3, "inconclusive\n"), err
    assert "interrupted; nothing was published" in err
    assert list(private.iterdir()) == []
    assert not (tmp_path / "out").exists()


def _into(shell: str, *arguments: object) -> int:
    words = " ".join(f"'{a}'" for a in (COMMAND, *arguments))
    script = f"set -o pipefail; {shell.replace('CMD', words)}"
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False).returncode


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_reader_that_stops_early_changes_no_verdict(stores: Path, more: tuple[str, ...]) -> None:
    """More than a pipe holds is written (--json of all checks), and less."""
    assert _into("CMD | head -1", "audit", stores / "findings.db", *more, *AS_OF) == 1
    assert _into("CMD | true", "audit", stores / "empty.db", *more, *QUICK) == 3


def test_output_that_cannot_be_written_is_not_clean(stores: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    assert _into("CMD > /dev/full", "audit", stores / "clean.db", *QUICK) == 3
    assert _into("CMD > /dev/full 2>&1", "audit", stores / "clean.db", "--json", *QUICK) == 3
    assert _into("CMD 2> /dev/full", "audit", stores / "nowhere.db") == 2
    assert _into("CMD > /dev/full", "checks") == 3


def test_closed_streams_change_no_verdict(stores: Path) -> None:
    assert _into("CMD >&-", "audit", stores / "findings.db", *QUICK) == 1
    assert _into("CMD >&- 2>&- <&-", "audit", stores / "clean.db", *QUICK) == 0
    assert _into("CMD 2>&- | python3 -m json.tool", "audit", stores / "clean.db", "--json", *QUICK) == 0


def test_a_terminal_without_unicode_gets_its_text(stores: Path) -> None:
    done = run("audit", stores / "clean.db", *AS_OF, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, last(done.stdout)) == (0, "clean")
    assert "\\xb7" in done.stdout


# --- what is never printed ---


def test_names_in_the_store_are_text_on_the_terminal(stores: Path) -> None:
    done = called("audit", stores / "findings.db", *AS_OF)
    shown = done.stdout + done.stderr
    assert "<script>" in shown, "the hostile name is among the findings"
    assert not any(sign in shown for sign in ("\x1b", "\u202e", "\r"))
    assert [line for line in shown.splitlines() if line.startswith("![i]")] == [], (
        "a line break in a name breaks no line"
    )


@pytest.mark.parametrize("command", ["audit", "inspect"])
def test_names_of_files_and_tables_are_text_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    name = "a\x1b[31m\u202e<b>\nclean.db"
    store = clean_store(tmp_path / name, calls=10)
    with closing(sqlite3.connect(store)) as con, con:
        con.execute('CREATE TABLE "t\x1b[2J\nclean" (x)')
    for target in (store, tmp_path / f"no{name}"):
        main_here(command, str(target))
        shown = "".join(capsys.readouterr())
        assert not any(sign in shown for sign in ("\x1b", "\u202e"))
        assert "\\x1b[31m" in shown
        assert "clean.db" not in [line.strip() for line in shown.splitlines()]


def test_a_variable_is_named_and_its_content_is_not_shown(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "s3cr3t-Passw0rd"
    for value, code in (
        (f"postgresql://alice:{secret}@db.example/busbar", 3),
        (f"postgresql://alice:{secret}/@db.example/bus?password={secret}", 3),
        (f"/{secret}/nowhere.db", 2),
        (f"odd://{secret}", 2),
    ):
        monkeypatch.setenv("STORE_URL", value)
        for command in ("audit", "inspect"):
            assert main_here(command, "env:STORE_URL") == code
            shown = "".join(capsys.readouterr())
            assert secret not in shown
            assert "Traceback" not in shown
    good = run("audit", "env:STORE_URL", "--json", *QUICK, env={"STORE_URL": str(stores / "clean.db")})
    assert good.returncode == 0
    assert json.loads(good.stdout)["stores"][0]["store"]["location"] == str(stores / "clean.db")


# --- the other commands ---


def test_inspect_says_what_the_store_is_and_what_cannot_be_audited(stores: Path) -> None:
    done = called("inspect", stores / "clean.db")
    assert done.returncode == 0, done.stderr
    for part in (
        "busbar sqlite v9",
        "user_version 9; the tables are of generation 9 at least",
        "mcp_calls",
        "60 rows",
        "BUS-C12",
        "needs --witness",
        "not for busbar sqlite v9",
    ):
        assert part in done.stdout, part
    newer = called("inspect", stores / "newer.db")
    assert newer.returncode == 0
    assert "user_version 14" in newer.stdout
    assert "its generation is not known" in newer.stdout


def test_inspect_names_differences_of_shape(tmp_path: Path) -> None:
    store = clean_store(tmp_path / "s.db", calls=10)
    with closing(sqlite3.connect(store)) as con, con:
        con.execute("DROP TRIGGER audit_log_no_delete")
        con.execute("CREATE TABLE notes (x)")
    done = called("inspect", store)
    assert "trigger-missing: audit_log.audit_log_no_delete" in done.stdout
    assert "table-unknown: notes" in done.stdout


def test_checks_lists_the_catalogue_and_shows_one() -> None:
    listed = called("checks")
    assert listed.returncode == 0
    assert any(line.startswith("BUS-C02") and "critical" in line for line in listed.stdout.splitlines())
    one = called("checks", "bus-c02")
    assert one.returncode == 0
    for part in ("BUS-C02", "critical (chains)", "proves", "does not prove", "next", "SELECT"):
        assert part in one.stdout


def test_synth_writes_what_it_says(tmp_path: Path) -> None:
    listed = called("synth", "busbar", "--list")
    assert listed.returncode == 0
    assert "odd    empty" in listed.stdout
    assert "fault  audit_log_edited" in listed.stdout
    store = tmp_path / "s.db"
    done = called("synth", "busbar", "--out", store, "--size", 50, "--fault", "audit_log_edited")
    assert done.returncode == 0, done.stderr
    assert "expected BUS-C01" in done.stdout
    clock = done.stdout.split("--as-of ")[1].split()[0]
    assert called("audit", store, "--as-of", clock).returncode == 1
    before = store.read_bytes()
    again = called("synth", "busbar", "--out", store)
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert store.read_bytes() == before


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"busbar-audit {version()}\n")
    assert main_here("--help") == 0
    commands = [line.split()[0] for line in capsys.readouterr().out.split("Commands:")[1].splitlines() if line.strip()]
    assert {"inspect", "checks", "audit", "report", "synth", "demo", "lab"} <= set(commands)
    for command in ("inspect", "checks", "audit", "report", "synth", "demo", "lab"):
        assert main_here(command, "--help") == 0
        assert f"Usage: busbar-audit {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("retention", "x.db", "--as-of", "0001-01-01T00:00:00+14:00"), "the years 1970 to 9999"),
        (("retention", "x.db", "--cutoff", "9999-12-31T23:59:59-14:00"), "the years 1970 to 9999"),
        (("synth", "busbar", "--out", "nowhere/x.db"), "nowhere/x.db cannot be written: unable to open"),
        (("synth", "maka", "--out", "nowhere/x.sqlite"), "nowhere/x.sqlite cannot be written: unable to open"),
    ],
)
def test_wrong_times_and_places_are_told_in_words(
    arguments: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = called(*arguments)
    assert done.returncode in (2, 3)
    assert says in done.stderr
    assert "fault of this program" not in done.stderr


def test_a_working_directory_that_is_gone_is_told(
    stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for option in ("--out", "--history"):
        done = called("audit", stores / "clean.db", *QUICK, option, "reports")
        assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
        assert "reports cannot be written: No such file or directory" in done.stderr
