"""Runs side by side: what is new, gone and standing, the page over them, and one run at a time."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support_cli import called, last
from support_reports import HOSTILE, Page, clean_store

from busbar_audit.auditing import audit
from busbar_audit.errors import OutputExists, ReportError
from busbar_audit.reporting import history, pastruns
from busbar_audit.reporting.history import next_run, write_page
from busbar_audit.reporting.publish import claimed
from busbar_audit.reporting.runner import write_report
from busbar_audit.store import open_store

ROOT = Path(__file__).resolve().parent.parent
ODD_NAME = "a<b onclick=x>'\"&\u202e.db"
GAPS, LINKS = "BUS-C03", "BUS-C02"


def run_of(store: Path, directory: Path, only: str = LINKS, times: int = 1) -> tuple[Path, list[str]]:
    """Runs as `audit --history` makes them, in this process, of one audit: the last folder, the identities of the findings."""
    with open_store(store) as opened:
        result = audit(opened, only=(only,))
        for _ in range(times):
            with next_run(directory, str(store)) as out:
                write_report([replace(result, run_id=uuid.uuid4().hex)], out)
        return out, sorted(finding.identity for finding in result.findings())


def change(store: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(store)) as con, con:
        guards = con.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            con.execute(f'DROP TRIGGER "{name}"')
        for sql, values in statements:
            con.execute(sql, values)
        for _, sql in guards:
            con.execute(sql)


def principals(store: Path) -> list[str]:
    with closing(sqlite3.connect(store)) as con:
        return [p for (p,) in con.execute("SELECT principal FROM mcp_calls GROUP BY 1 ORDER BY count(*) DESC, 1")]


def only_store(past: pastruns.Past) -> list[pastruns.StoreRun]:
    ((_, runs),) = past.stores.items()
    return list(runs)


def changes(run: pastruns.StoreRun) -> tuple[int, int, int, int]:
    return run.new, run.gone, run.standing, run.unseen


BREAK = "UPDATE mcp_calls SET prev_hash = ? WHERE principal = ? AND seq = 4"


@pytest.fixture(scope="module")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """Thirty runs of one store that is broken at one place, then at another as well, then mended at the first."""
    folder = tmp_path_factory.mktemp("history")
    store, directory = clean_store(folder / ODD_NAME, calls=60), folder / "runs"
    first, second, _ = principals(store)
    with closing(sqlite3.connect(store)) as con:
        (right,) = con.execute("SELECT prev_hash FROM mcp_calls WHERE principal = ? AND seq = 4", (first,)).fetchone()
    phases: list[tuple[int, list[tuple[str, tuple[Any, ...]]]]] = [
        (5, []),
        (4, [(BREAK, ("ab" * 32, first))]),
        (3, []),
        (
            9,
            [
                ("UPDATE mcp_calls SET principal = ? WHERE principal = ?", (HOSTILE, second)),
                (BREAK, ("cd" * 32, HOSTILE)),
            ],
        ),
        (8, []),
        (1, [(BREAK, (right, first))]),
    ]
    found: list[list[str]] = []
    with pytest.MonkeyPatch.context() as patch:
        # Thirty results of one shape are held against their schema elsewhere; here that would be half of the time.
        patch.setattr("busbar_audit.reporting.outputs.validate", lambda name, document: None)
        for times, statements in phases:
            change(store, *statements)
            found += [run_of(store, directory, times=times)[1]] * times
    return directory, found


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return clean_store(tmp_path / "store.db", calls=30)


# --- thirty runs ---


def test_findings_keep_their_identity_over_thirty_runs(thirty: tuple[Path, list[list[str]]]) -> None:
    directory, found = thirty
    assert [len(set(each)) for each in found] == [0] * 5 + [1] * 7 + [2] * 17 + [1]
    assert found[5] == found[11]
    assert found[12] == found[28]
    assert set(found[28]) == set(found[5]) | set(found[29])
    runs = only_store(pastruns.read(directory, 100))
    expected = [(0, 0, 0, 0)] * 5 + [(1, 0, 0, 0)] + [(0, 0, 1, 0)] * 6 + [(1, 0, 1, 0)] + [(0, 0, 2, 0)] * 16
    assert [changes(run) for run in runs] == [*expected, (0, 1, 1, 0)]
    assert [run.first for run in runs] == [True] + [False] * 29
    assert [run.verdict for run in runs] == ["clean"] * 5 + ["findings"] * 25


def test_the_page_of_thirty_runs(thirty: tuple[Path, list[list[str]]]) -> None:
    directory, _ = thirty
    written = (directory / "index.html").read_text()
    page = Page(written)
    assert len(written) < 1_000_000
    assert page.loads() == []
    assert "script" not in page.names()
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not re.search("[\u202e\x1b]", written)
    links = [
        attributes["href"] for tag, attributes in page.tags if tag == "a" and not attributes["href"].startswith("#")
    ]
    assert links[1:] == [f"{name}/index.html" for name in reversed(pastruns.names(directory))]
    assert all((directory / link).is_file() for link in links)
    assert "0 new, 1 gone, 1 standing" in page.text
    assert page.text.count("findings known: 30 runs, largest 2, newest 1") == 2
    assert {path.name for path in directory.iterdir()} == {"index.html", *pastruns.names(directory)}


def test_only_so_many_runs_are_read_and_the_rest_is_counted(thirty: tuple[Path, list[list[str]]]) -> None:
    past = pastruns.read(thirty[0], 7)
    assert (past.older, past.runs, len(only_store(past))) == (23, 7, 7)


# --- what does not prove that a finding is gone ---


def test_what_was_not_looked_at_is_not_gone(clean: Path, tmp_path: Path) -> None:
    change(clean, (BREAK, ("ab" * 32, principals(clean)[0])))
    for only in (LINKS, GAPS, LINKS):
        run_of(clean, tmp_path / "runs", only)
    runs = only_store(pastruns.read(tmp_path / "runs", 100))
    assert [changes(run) for run in runs] == [(1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)]
    assert "findings known: 3 runs, largest 1, newest 1" in Page((tmp_path / "runs/index.html").read_text()).text


def test_two_stores_are_not_held_against_each_other(clean: Path, tmp_path: Path) -> None:
    other = clean_store(tmp_path / "other.db", calls=30)
    change(other, (BREAK, ("ab" * 32, principals(other)[0])))
    first, _ = run_of(clean, tmp_path / "runs")
    second, _ = run_of(other, tmp_path / "runs")
    assert [history.latest(tmp_path / "runs", str(each)) for each in (clean, other, tmp_path)] == [first, second, None]
    past = pastruns.read(tmp_path / "runs", 100)
    assert [(len(runs), runs[0].first, changes(runs[0])) for runs in past.stores.values()] == [
        (1, True, (0, 0, 0, 0)),
        (1, True, (1, 0, 0, 0)),
    ]
    page = Page((tmp_path / "runs/index.html").read_text()).text
    assert "Stores, each with its newest run" in page


# --- what is no run ---


def test_broken_and_foreign_folders_are_named_and_not_taken_for_runs(clean: Path, tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    run_of(clean, directory, times=2)
    kept = [directory / name for name in pastruns.names(directory)]
    for name, spoil in {
        "20200101T000000Z-00000000": lambda p: (p / "run.json").write_text("{}"),
        "20200101T000000Z-00000001": lambda p: (p / "findings.parquet").unlink(),
        "20200101T000000Z-00000002": lambda p: (p / "notes.txt").write_text("mine"),
        "20200101T000000Z-00000003": lambda p: (p / "manifest.json").write_text('{"schema": 1}'),
        "20200101T000000Z-00000004": shutil.rmtree,
    }.items():
        shutil.copytree(kept[0], directory / name)
        spoil(directory / name)
    (directory / "20200101T000000Z-00000004").mkdir()
    (directory / "20200101T000000Z-00000005").symlink_to(kept[0])
    (directory / "<b>thesis\u202e").mkdir()
    write_page(directory)
    past = pastruns.read(directory, 100)
    assert [run.run for run in only_store(past)] == [path.name for path in kept]
    assert sorted(name for name, _ in past.foreign) == sorted(
        {path.name for path in directory.iterdir()} - {"index.html"} - {path.name for path in kept}
    )
    written = (directory / "index.html").read_text()
    assert all(f"20200101T000000Z-0000000{i}" in written for i in range(6))
    assert "&lt;b&gt;thesis\\u202e" in written


def test_what_is_not_ours_is_not_replaced(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("<h1>mine</h1>")
    with pytest.raises(OutputExists, match="not the page of a history"):
        run_of(clean, tmp_path / "site")
    with pytest.raises(OutputExists, match="not a directory"):
        run_of(clean, clean)
    assert [(p.name, p.read_text()) for p in (tmp_path / "site").iterdir()] == [("index.html", "<h1>mine</h1>")]


# --- never green by accident, the previous report intact ---


def test_a_clock_that_jumps_changes_no_order(clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        times: Iterator[datetime] = iter(datetime(year, 1, 1, tzinfo=UTC) for year in (2090, 2020, 2026))

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return next(cls.times)

    monkeypatch.setattr(history, "datetime", Clock)
    run_of(clean, tmp_path / "runs", times=3)
    names = pastruns.names(tmp_path / "runs")
    assert [name.partition("-")[0] for name in names] == ["20900101T000000Z", "20900101T000001Z", "20900101T000002Z"]


def test_a_run_that_began_before_the_one_before_it_is_marked(clean: Path, tmp_path: Path) -> None:
    with open_store(clean) as opened:
        result = audit(opened, only=(LINKS,))
        for year in (2026, 2090, 2026):
            with next_run(tmp_path / "runs", "x") as out:
                write_report([replace(result, started=datetime(year, 1, 1, tzinfo=UTC))], out)
    assert [run.backwards for run in only_store(pastruns.read(tmp_path / "runs", 100))] == [False, False, True]
    assert "the clock was set back" in (tmp_path / "runs/index.html").read_text()


def test_a_second_run_at_the_same_time_ends_with_3(clean: Path, tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    run_of(clean, runs)
    write_out = ("audit", clean, "--out", out, "--only", LINKS)
    assert called(*write_out).returncode == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with next_run(runs, str(clean)), claimed(out):
        for done in (
            called("audit", clean, "--history", runs, "--only", LINKS),
            called("report", clean, "--history", runs, "--only", LINKS, "--notebook", "00"),
            called(*write_out),
            called("report", clean, "--out", out, "--notebook", "00"),
        ):
            assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
            assert "Another run is under way" in done.stderr
            assert "what was published before is still there" in done.stderr
        with next_run(runs, "another store"):
            pass
    pages = {runs / "index.html"}
    assert {p: p.read_bytes() for p in before if p not in pages} == {p: c for p, c in before.items() if p not in pages}
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(before), "no lock is left"
    assert called(*write_out).returncode == 0


def test_a_killed_run_leaves_the_history_and_the_next_goes_on(clean: Path, tmp_path: Path) -> None:
    code = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from busbar_audit.reporting.history import next_run
from busbar_audit.reporting.publish import published
with next_run(Path(sys.argv[2]), sys.argv[3]) as out, published(out) as directory:
    (directory / "run.json").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    runs = tmp_path / "runs"
    kept, _ = run_of(clean, runs)
    page = (runs / "index.html").read_bytes()
    done = subprocess.run([sys.executable, "-c", code, str(ROOT), str(runs), str(clean)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (runs / "index.html").read_bytes() == page
    assert pastruns.names(runs) == [kept.name]
    assert pastruns.read(runs, 100).foreign == []
    after, _ = run_of(clean, runs)
    assert pastruns.names(runs) == [kept.name, after.name]
    assert [p.name for p in runs.iterdir() if p.name.startswith("busbar-audit-")] == []


def test_a_failed_run_is_no_line_and_a_full_disk_keeps_the_page(
    clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    assert called("audit", clean, "--history", runs, "--only", LINKS).returncode == 0
    page = (runs / "index.html").read_bytes()
    names = pastruns.names(runs)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("busbar_audit.reporting.outputs.write_json", full)
        done = called("audit", clean, "--history", runs, "--only", LINKS)
    assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
    assert (pastruns.names(runs), (runs / "index.html").read_bytes()) == (names, page)
    with monkeypatch.context() as patch:
        patch.setattr(history.os, "fsync", full)
        with pytest.raises(ReportError, match="No space left"):
            write_page(runs)
    assert (runs / "index.html").read_bytes() == page
    assert sorted(p.name for p in runs.iterdir()) == [*names, "index.html"]


def test_a_report_keeps_its_run_beside_the_one_before(
    clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("busbar_audit.reporting.notebooks.find", lambda chosen: [])
    runs = tmp_path / "runs"
    done = called("audit", clean, "--history", runs, "--only", LINKS, "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"], last(done.stderr)) == (0, "clean", "clean")
    done = called("report", clean, "--history", runs, "--only", LINKS)
    assert (done.returncode, last(done.stdout)) == (0, "clean")
    names = pastruns.names(runs)
    assert len(names) == 2
    assert f"{runs / names[-1]}" in done.stdout
    assert called("verify", runs / names[0]).returncode == 0


def test_a_command_that_is_killed_leaves_the_earlier_report(clean: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("audit", clean, "--out", out, "--only", LINKS)
    assert called(*words).returncode == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    # Every check, so that it is far from its end when it is seen to have begun.
    command = [sys.executable, "-m", "busbar_audit", *map(str, words[:4])]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (tmp_path / ".out.lock").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.kill()
    said, _ = process.communicate()
    assert (process.returncode, said) == (-signal.SIGKILL, b"")
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert (tmp_path / ".out.lock").exists(), "killed while it held the place"
    assert called(*words).returncode == 0, "the lock of a dead run stops nobody"
    assert not (tmp_path / ".out.lock").exists()


@pytest.mark.parametrize("library", ["duckdb", "typer"])
def test_a_library_that_is_missing_is_no_finding(library: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; from busbar_audit.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", "store.db"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "inconclusive\n")
    assert f"not complete: {library}" in done.stderr


def test_a_library_that_is_missing_later_leaves_the_earlier_report(
    clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("audit", clean, "--out", tmp_path / "out", "--only", LINKS)
    assert called(*words).returncode == 0
    before = (tmp_path / "out/result.json").read_bytes()
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    done = called(*words)
    assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
    assert "not complete" in done.stderr
    assert (tmp_path / "out/result.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
