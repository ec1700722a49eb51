"""The private directory of a run: private, removed at the end, and after a kill at the next start."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support_users import PLAIN_USER, REPOSITORY, open_to_all, run_as_plain_user

from busbar_audit.errors import SnapshotError
from busbar_audit.rundir import VARIABLE, remove_abandoned, run_directory

CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from busbar_audit.rundir import run_directory
with run_directory() as path:
    (path / "copy.db").write_text("evidence")
    (path / "deep").mkdir()
    (path / "deep" / "file").write_text("x")
    (path / "deep").chmod(0o500)
    print(path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "private"
    directory.mkdir()
    monkeypatch.setenv(VARIABLE, str(directory))
    return directory


def child() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(REPOSITORY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def finish(process: subprocess.Popen[str], number: int | None = None) -> None:
    if number is not None:
        process.send_signal(number)
    process.communicate()


def test_private_and_removed_at_the_end(parent: Path) -> None:
    before = os.umask(0)
    try:
        with run_directory() as path:
            assert path.parent == parent.resolve()
            assert path.stat().st_mode & 0o777 == 0o700
            assert (path / "owner.lock").stat().st_mode & 0o777 == 0o600
            (path / "deep").mkdir()
            (path / "deep" / "file").write_text("x")
            (path / "link").symlink_to(parent)
    finally:
        os.umask(before)
    assert list(parent.iterdir()) == []


def test_removed_after_an_error(parent: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"), run_directory():
        raise RuntimeError("inside")
    assert list(parent.iterdir()) == []


def test_killed_run_is_removed_at_the_next_start_and_a_living_one_is_not(parent: Path) -> None:
    killed, abandoned = child()
    living, used = child()
    try:
        with run_directory():
            assert abandoned.exists()
        finish(killed, signal.SIGKILL)
        assert abandoned.exists()
        with run_directory() as path:
            assert not abandoned.exists()
            assert sorted(parent.iterdir()) == sorted([path, used])
            assert (used / "copy.db").read_text() == "evidence"
    finally:
        finish(living)
    assert living.returncode == 0
    assert list(parent.iterdir()) == []


def test_two_runs_in_one_process(parent: Path) -> None:
    with run_directory() as first, run_directory() as second:
        assert first.is_dir()
        assert second.is_dir()


def test_what_is_not_ours_stays(parent: Path) -> None:
    name = "busbar-audit-" + "0" * 15
    outside = parent.parent / "outside"
    outside.mkdir()
    (outside / "owner.lock").touch()
    (outside / "file").touch()
    (parent / f"{name}1").symlink_to(outside)
    (parent / f"{name}2").mkdir()
    (parent / f"{name}2" / "report.html").touch()  # no lock, not empty
    (parent / f"{name}3").touch()
    (parent / f"{name}4").mkdir()
    (parent / f"{name}4" / "owner.lock").symlink_to(outside / "file")
    (parent / f"{name}5").mkdir()
    os.mkfifo(parent / f"{name}5" / "owner.lock")
    (parent / "busbar-audit-report").mkdir()
    (parent / "busbar-audit-report" / "owner.lock").touch()
    before = sorted(parent.rglob("*"))
    assert remove_abandoned(parent) == 0
    assert sorted(parent.rglob("*")) == before
    assert sorted(file.name for file in outside.iterdir()) == ["file", "owner.lock"]


def test_links_inside_an_abandoned_directory_are_not_followed(parent: Path) -> None:
    outside = parent.parent / "outside"
    outside.mkdir()
    (outside / "file").touch()
    directory = parent / ("busbar-audit-" + "a" * 16)
    directory.mkdir()
    (directory / "owner.lock").touch()
    (directory / "link").symlink_to(outside)
    (directory / "deep").mkdir()
    (directory / "deep" / "link").symlink_to(outside)
    assert remove_abandoned(parent) == 1
    assert list(parent.iterdir()) == []
    assert (outside / "file").exists()


def test_killed_before_the_lock_was_made(parent: Path) -> None:
    (parent / ("busbar-audit-" + "b" * 16)).mkdir()
    assert remove_abandoned(parent) == 1


def test_directory_taken_away_while_it_is_made_is_made_again(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two moments at which another run's clearing up can come between, forced."""
    import busbar_audit.rundir as module

    real_open, real_flock = os.open, module.fcntl.flock
    moments = iter(["before open", "before lock", "none"])
    moment = next(moments)

    def opening(path: object, flags: int, *rest: object) -> int:
        nonlocal moment
        if flags & os.O_CREAT and moment == "before open":
            moment = next(moments)
            assert remove_abandoned(parent) == 1
        return real_open(path, flags, *rest)  # type: ignore[arg-type]

    def locking(lock: int, operation: int) -> None:
        nonlocal moment
        if operation == module.fcntl.LOCK_EX and moment == "before lock":
            moment = next(moments)
            assert remove_abandoned(parent) == 1
        real_flock(lock, operation)

    monkeypatch.setattr(module.os, "open", opening)
    monkeypatch.setattr(module.fcntl, "flock", locking)
    with run_directory() as path:
        assert moment == "none"
        assert list(parent.iterdir()) == [path]
        assert remove_abandoned(parent) == 0
    assert list(parent.iterdir()) == []


def _many(rounds: int) -> None:
    for _ in range(rounds):
        with run_directory() as path:
            (path / "file").write_text("x")
            assert (path / "file").read_text() == "x"


def test_many_runs_at_once_never_take_each_others_directory(parent: Path) -> None:
    workers = [multiprocessing.get_context("spawn").Process(target=_many, args=(60,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert list(parent.iterdir()) == []


@pytest.mark.plain_user
def test_another_users_directory_stays(parent: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs two users, so it must start as root")
    open_to_all(parent / "x")
    parent.chmod(0o777)
    directory = parent / ("busbar-audit-" + "c" * 16)
    directory.mkdir()
    (directory / "owner.lock").touch()
    directory.chmod(0o777)
    (directory / "owner.lock").chmod(0o666)
    run_as_plain_user("from busbar_audit.rundir import run_directory\nwith run_directory() as path: print(path)")
    assert directory.exists()
    os.chown(directory, PLAIN_USER, PLAIN_USER)
    assert remove_abandoned(parent) == 0
    assert directory.exists()


@pytest.mark.plain_user
def test_place_that_cannot_be_written(parent: Path) -> None:
    open_to_all(parent / "x")
    parent.chmod(0o555)
    code = """
from busbar_audit.rundir import run_directory
from busbar_audit.errors import SnapshotError
try:
    with run_directory(): print("made")
except SnapshotError as error: print(error)
"""
    assert "Set BUSBAR_AUDIT_TMPDIR" in run_as_plain_user(code)
    parent.chmod(0o755)


def test_place_that_does_not_exist(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(parent / "none"))
    with pytest.raises(SnapshotError, match="No private directory"), run_directory():
        pass
    assert list(parent.iterdir()) == []
