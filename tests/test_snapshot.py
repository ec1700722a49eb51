"""Copies of stores in every state a store can be found in, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support_users import open_to_all, run_as_plain_user

from busbar_audit.errors import NotADatabase, NotAStore, NotEnoughSpace, SnapshotError, StoreLocked, TargetNotFound
from busbar_audit.snapshot import setcopy
from busbar_audit.snapshot.connect import connect
from busbar_audit.snapshot.sqlite import Snapshot, foreign_key_violations, integrity_check, take_snapshot
from busbar_audit.target import beside

ROWS = 300


def make(path: Path, mode: str = "delete", rows: int = ROWS) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"PRAGMA journal_mode={mode}")
        con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
        con.executemany("INSERT INTO t (a) VALUES (?)", [("x" * 900,)] * rows)
        con.commit()
    return path


def in_child(store: Path, code: str, *, killed: bool = True) -> None:
    """Run `code` on a connection `con` in another process, which then dies as in a crash."""
    head = "import os, signal, sqlite3, sys\ncon = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    tail = "\nos.kill(os.getpid(), signal.SIGKILL)" if killed else "\ncon.close()"
    done = subprocess.run(
        [sys.executable, "-c", head + code + tail, os.fspath(store)], capture_output=True, check=False
    )
    assert done.returncode == (-signal.SIGKILL if killed else 0), done.stderr.decode()


def make_wal(path: Path) -> Path:
    """ROWS rows in the main file, three more only in the log, as after a crash."""
    make(path, "wal")
    in_child(path, "con.executemany('INSERT INTO t (a) VALUES (?)', [('log',)] * 3)")
    assert beside(path, "-wal").stat().st_size > 0
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (ROWS,)
    return path


def make_hot(path: Path) -> Path:
    """A transaction spilled to the main file, its journal hot."""
    make(path)
    in_child(
        path,
        "con.execute('PRAGMA cache_size=5'); con.execute('PRAGMA cache_spill=1'); con.execute('BEGIN')\n"
        "con.execute(\"UPDATE t SET a = 'torn' || a\")\n"
        "con.execute('DELETE FROM t WHERE id % 2 = 0')",
    )
    assert beside(path, "-journal").read_bytes()[:8] == b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    assert b"torn" in path.read_bytes()
    return path


def contents(path: Path) -> dict[str, tuple[str, int]]:
    """Digest and time of change of every file beside the store, without the shared memory."""
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in path.parent.iterdir()
        if file.is_file() and not file.name.endswith("-shm")
    }


def rows(path: Path, query: str = "SELECT count(*), max(a) FROM t") -> list[tuple[object, ...]]:
    with closing(connect(path, "ro")) as con:
        return con.execute(query).fetchall()


def proven(snapshot: Snapshot) -> Snapshot:
    """What holds for every snapshot: one plain, private, sound file, described truly."""
    assert sorted(snapshot.path.parent.glob("snapshot*-*l")) == []
    assert not any(beside(snapshot.path, suffix).exists() for suffix in ("-wal", "-shm", "-journal"))
    assert snapshot.path.stat().st_mode & 0o777 == 0o600
    assert snapshot.size == snapshot.path.stat().st_size
    assert integrity_check(snapshot.path) == []
    assert foreign_key_violations(snapshot.path) == []
    with closing(connect(snapshot.path, "ro")) as con:
        assert con.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert snapshot.sha256 == hashlib.sha256(snapshot.path.read_bytes()).hexdigest()
    assert snapshot.taken_at.tzinfo is UTC
    return snapshot


@pytest.fixture
def private(tmp_path: Path) -> Path:
    directory = tmp_path / "private"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def store(tmp_path: Path) -> Path:
    directory = tmp_path / "store"
    directory.mkdir()
    return directory / "a.db"


# The source in every state ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["delete", "truncate", "persist", "wal"])
def test_quiet_store_is_left_as_it_was_and_gives_the_same_copy_twice(store: Path, private: Path, mode: str) -> None:
    make(store, mode)
    before, names = contents(store), sorted(store.parent.iterdir())
    started = datetime.now(UTC)
    first, second = (proven(take_snapshot(store, private)) for _ in range(2))
    assert started <= first.taken_at <= second.taken_at <= datetime.now(UTC)
    assert first.sha256 == second.sha256
    assert first.path != second.path
    assert rows(first.path) == [(ROWS, "x" * 900)]
    assert first.method == ("file set" if mode == "wal" else "backup")
    state = first.source_state
    assert (state.journal_mode, state.main_bytes) == ("wal" if mode == "wal" else "rollback", store.stat().st_size)
    assert (state.main_mtime_ns, state.identity) == (store.stat().st_mtime_ns, str(store.resolve()))
    assert (state.wal_bytes, state.shm_changed) == (None, False)
    assert contents(store) == before
    assert sorted(store.parent.iterdir()) == names


def test_rows_only_in_the_log_are_in_the_copy_and_the_log_stays(store: Path, private: Path) -> None:
    make_wal(store)
    before = contents(store)
    first, second = (proven(take_snapshot(store, private)) for _ in range(2))
    assert first.method == "backup"
    assert first.sha256 == second.sha256
    assert rows(first.path) == [(ROWS + 3, "x" * 900)]
    assert first.source_state.wal_bytes == beside(store, "-wal").stat().st_size > 0
    assert contents(store) == before


def test_log_without_shared_memory_is_copied_without_a_trace(store: Path, private: Path) -> None:
    make_wal(store)
    beside(store, "-shm").unlink()
    before, names = contents(store), sorted(store.parent.iterdir())
    first, second = (proven(take_snapshot(store, private)) for _ in range(2))
    assert first.method == "file set"
    assert first.sha256 == second.sha256
    assert rows(first.path) == [(ROWS + 3, "x" * 900)]
    assert not first.source_state.shm_changed
    assert contents(store) == before
    assert sorted(store.parent.iterdir()) == names


def test_both_methods_copy_the_same_rows(store: Path, private: Path) -> None:
    make_wal(store)
    backup = take_snapshot(store, private)
    beside(store, "-shm").unlink()
    file_set = take_snapshot(store, private)
    assert {backup.method, file_set.method} == {"backup", "file set"}
    everything = "SELECT id, a FROM t ORDER BY id"
    assert rows(backup.path, everything) == rows(file_set.path, everything)


def test_shared_memory_made_by_reading_is_reported(store: Path, private: Path) -> None:
    make_wal(store)
    beside(store, "-shm").write_bytes(b"")
    assert proven(take_snapshot(store, private)).source_state.shm_changed


def test_our_closing_does_not_checkpoint_while_we_are_the_last_reader(store: Path, private: Path) -> None:
    """A log far beyond the size at which SQLite checkpoints by itself, and no other process alive."""
    make(store, "wal")
    in_child(
        store,
        "con.execute('PRAGMA wal_autocheckpoint=0')\n"
        "for _ in range(30): con.executemany('INSERT INTO t (a) VALUES (?)', [('l' * 4000,)] * 100)",
    )
    before = contents(store)
    assert beside(store, "-wal").stat().st_size > 2000 * 4096
    assert rows(proven(take_snapshot(store, private)).path) == [(ROWS + 3000, "x" * 900)]
    assert contents(store) == before


def test_hot_journal_is_rolled_back_in_the_copy_only(store: Path, private: Path) -> None:
    make_hot(store)
    before = contents(store)
    first, second = (proven(take_snapshot(store, private)) for _ in range(2))
    assert first.method == "file set"
    assert first.sha256 == second.sha256
    assert rows(first.path) == [(ROWS, "x" * 900)]
    assert first.source_state.journal_bytes == beside(store, "-journal").stat().st_size > 0
    assert contents(store) == before


def test_open_transaction_of_a_living_writer_is_not_in_the_copy(store: Path, private: Path) -> None:
    make(store)
    with holding(store, "con.execute('BEGIN IMMEDIATE'); con.execute('DELETE FROM t')"):
        snapshot = proven(take_snapshot(store, private))
    assert snapshot.method == "backup"
    assert rows(snapshot.path) == [(ROWS, "x" * 900)]


WRITER = """
import sqlite3, sys
con = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
con.execute("PRAGMA synchronous=OFF")
print("ready", flush=True)
number = 0
while True:
    number += 1
    amount = number % 97 + 1
    con.execute("BEGIN IMMEDIATE")
    con.execute("UPDATE account SET amount = amount - ? WHERE name = 'left'", (amount,))
    con.execute("UPDATE account SET amount = amount + ? WHERE name = 'right'", (amount,))
    con.execute("INSERT INTO entry (amount, body) VALUES (?, ?)", (amount, "x" * (number % 5000)))
    con.execute("UPDATE account SET entries = entries + 1")
    con.execute("COMMIT")
"""
INVARIANT = """
SELECT (SELECT sum(amount) FROM account) = 0
   AND (SELECT amount FROM account WHERE name = 'right') = (SELECT coalesce(sum(amount), 0) FROM entry)
   AND (SELECT min(entries) FROM account) = (SELECT count(*) FROM entry)
   AND (SELECT max(entries) FROM account) = (SELECT count(*) FROM entry),
   (SELECT count(*) FROM entry)
"""


def make_accounts(path: Path, mode: str) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"PRAGMA journal_mode={mode}")
        con.executescript("""
            CREATE TABLE account (name TEXT PRIMARY KEY, amount INTEGER, entries INTEGER);
            CREATE TABLE entry (id INTEGER PRIMARY KEY, amount INTEGER, body TEXT);
            INSERT INTO account VALUES ('left', 0, 0), ('right', 0, 0);
        """)
    return path


@contextmanager
def running(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has said 'ready'; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
        assert process.poll() is None, "the other process died"
    finally:
        process.kill()
        process.communicate()


@contextmanager
def holding(store: Path, code: str) -> Iterator[None]:
    """Another process in the state that `code` brings its connection `con` to."""
    head = "import sqlite3, sys\ncon = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    with running(head + code + "\nprint('ready', flush=True)\nsys.stdin.read()", os.fspath(store)):
        yield


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_ten_copies_under_a_writer_that_commits_all_the_time(store: Path, private: Path, mode: str) -> None:
    make_accounts(store, mode)
    counts: list[int] = []
    with running(WRITER, str(store)) as writer:
        # Ten, and more only where the machine is so busy that the writer got nowhere in between.
        while len(counts) < 10 or counts[-1] == counts[0]:
            assert writer.poll() is None
            snapshot = proven(take_snapshot(store, private))
            assert snapshot.method == "backup"
            [(holds, count)] = rows(snapshot.path, INVARIANT)
            assert holds == 1
            assert isinstance(count, int)
            counts.append(count)
            snapshot.path.unlink()
    assert counts == sorted(counts)


def test_writer_neither_tears_nor_restarts_a_copy(store: Path, private: Path) -> None:
    """Commits between the steps of one copy: each step sees the moment at which the copy began."""
    make(store, "wal", rows=40_000)
    code = "con.execute('SELECT count(*) FROM t').fetchone()"
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        in_child(store, "con.execute(\"UPDATE t SET a = 'later'\")", killed=False) if len(seen) == 1 else None

    with holding(store, code):
        snapshot = proven(take_snapshot(store, private, progress=progress))
        assert rows(snapshot.path) == [(40_000, "x" * 900)]
        assert rows(proven(take_snapshot(store, private)).path) == [(40_000, "later")]
    done = [count for count, _ in seen]
    assert len(done) > 2
    assert done == sorted(done)
    assert seen[-1][0] == seen[-1][1]


# Users and modes ----------------------------------------------------------------------------------------------------

AS_USER = """
import json
from pathlib import Path
from busbar_audit.snapshot.sqlite import take_snapshot, integrity_check
snapshot = take_snapshot(Path(sys.argv[1]), Path(sys.argv[2]))
with sqlite3.connect(snapshot.path) as con:
    [count] = con.execute("SELECT count(*) FROM t").fetchone()
print(json.dumps([snapshot.method, count, integrity_check(snapshot.path), os.geteuid()]))
"""


def as_plain_user(store: Path, private: Path) -> tuple[str, int, list[str]]:
    open_to_all(store)
    private.chmod(0o777)
    method, count, messages, user = json.loads(run_as_plain_user(AS_USER, store, private))
    assert user != 0
    return method, count, messages


@contextmanager
def read_only(directory: Path) -> Iterator[None]:
    for file in directory.iterdir():
        file.chmod(0o444)
    directory.chmod(0o555)
    try:
        yield
    finally:
        directory.chmod(0o755)


@pytest.mark.plain_user
@pytest.mark.parametrize("shm", [True, False])
@pytest.mark.parametrize("make_store", [make_wal, make_hot, make, lambda path: make(path, "wal")])
def test_read_only_directory_as_a_plain_user(
    store: Path, private: Path, make_store: Callable[[Path], Path], shm: bool
) -> None:
    make_store(store)
    if not shm:
        beside(store, "-shm").unlink(missing_ok=True)
    before, names = contents(store), sorted(store.parent.iterdir())
    with read_only(store.parent):
        method, count, messages = as_plain_user(store, private)
    assert count == (ROWS + 3 if make_store is make_wal else ROWS)
    assert messages == []
    assert method in ("backup", "file set")
    assert contents(store) == before
    assert sorted(store.parent.iterdir()) == names


@pytest.mark.parametrize("make_store", [make_wal, make_hot])
def test_read_only_directory_as_whoever_runs_this(
    store: Path, private: Path, make_store: Callable[[Path], Path]
) -> None:
    make_store(store)
    beside(store, "-shm").unlink(missing_ok=True)
    before, names = contents(store), sorted(store.parent.iterdir())
    with read_only(store.parent):
        snapshot = proven(take_snapshot(store, private))
    assert snapshot.method == "file set"
    assert rows(snapshot.path) == [(ROWS + 3 if make_store is make_wal else ROWS, "x" * 900)]
    assert contents(store) == before
    assert sorted(store.parent.iterdir()) == names


@pytest.mark.plain_user
def test_plain_user_beside_a_living_writer_of_another(store: Path, private: Path) -> None:
    make_wal(store)
    with holding(store, "con.execute(\"INSERT INTO t (a) VALUES ('new')\")"):
        for file in store.parent.iterdir():
            file.chmod(0o644)
        store.parent.chmod(0o755)
        method, count, messages = as_plain_user(store, private)
    assert (method, count, messages) == ("backup", ROWS + 4, [])


@pytest.mark.plain_user
def test_store_this_user_may_not_read(store: Path, private: Path) -> None:
    make(store)
    store.chmod(0o000)
    open_to_all(store)
    private.chmod(0o777)
    code = """
from pathlib import Path
from busbar_audit.errors import NotAStore
from busbar_audit.snapshot.sqlite import take_snapshot
try: take_snapshot(Path(sys.argv[1]), Path(sys.argv[2]))
except NotAStore as error: print(error)
"""
    assert "Run the audit as a user who may read" in run_as_plain_user(code, store, private)


# Refusals -----------------------------------------------------------------------------------------------------------


def refused(kind: type[Exception], store: Path, private: Path, **options: float) -> str:
    with pytest.raises(kind) as caught:
        take_snapshot(store, private, **options)  # type: ignore[arg-type]
    assert type(caught.value) is kind
    assert list(private.iterdir()) == []
    return str(caught.value)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_locked_by_another_process(store: Path, private: Path, mode: str) -> None:
    make(store, mode)
    code = "con.execute('PRAGMA locking_mode=EXCLUSIVE'); con.execute('BEGIN EXCLUSIVE'); con.execute('DELETE FROM t')"
    if mode == "wal":
        # This leaves a log and no shared memory, so the set is copied and the lock is not in the way.
        with holding(store, code):
            assert rows(proven(take_snapshot(store, private, busy_timeout=0.2)).path) == [(ROWS, "x" * 900)]
        return
    with holding(store, code):
        before = contents(store)
        text = refused(StoreLocked, store, private, busy_timeout=0.2)
        assert contents(store) == before
    assert "0.2 seconds" in text


def test_lock_that_is_let_go_is_waited_for(store: Path, private: Path) -> None:
    make(store)
    head = "import sqlite3, sys, time\ncon = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    code = (
        "con.execute('BEGIN EXCLUSIVE'); print('ready', flush=True); time.sleep(0.5); con.rollback()\nsys.stdin.read()"
    )
    with running(head + code, str(store)):
        assert proven(take_snapshot(store, private)).method == "backup"


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_file_shorter_than_its_header_says(store: Path, private: Path, mode: str) -> None:
    make(store, mode)
    full = store.stat().st_size
    os.truncate(store, full - 10 * 4096)
    text = refused(NotADatabase, store, private)
    assert "cut short" in text
    assert f"{full:,} bytes" in text
    assert f"{full - 10 * 4096:,} bytes" in text


def test_file_shorter_than_its_log_makes_it_is_no_damage(store: Path, private: Path) -> None:
    """The newest pages, and the header that counts them, are still in the log."""
    make(store, "wal", rows=1)
    in_child(
        store,
        "con.execute('PRAGMA wal_autocheckpoint=0')\n"
        "con.executemany('INSERT INTO t (a) VALUES (?)', [('x' * 900,)] * 500)",
    )
    assert store.stat().st_size < 5 * 4096
    assert rows(proven(take_snapshot(store, private)).path) == [(501, "x" * 900)]


def test_encrypted_behind_a_plain_header(store: Path, private: Path) -> None:
    make(store)
    content = store.read_bytes()
    noise = hashlib.shake_256(b"key").digest(len(content) - 18)
    store.write_bytes(content[:18] + noise)
    assert "encrypted" in refused(NotADatabase, store, private)


def test_encrypted_empty_and_missing(store: Path, private: Path) -> None:
    store.write_bytes(hashlib.shake_256(b"key").digest(8192))
    refused(NotADatabase, store, private)
    store.write_bytes(b"")
    refused(NotADatabase, store, private)
    store.unlink()
    refused(TargetNotFound, store, private)
    assert not store.exists()
    beside(store, "-wal").write_bytes(bytes(4096))
    refused(NotAStore, store, private)


Usage = namedtuple("Usage", "total used free")


def test_not_enough_space(store: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wal(store)
    need = store.stat().st_size + 2 * beside(store, "-wal").stat().st_size + 16 * 1024 * 1024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - need + 1, need - 1))
    text = refused(NotEnoughSpace, store, private)
    assert f"{need - 1:,} bytes" in text
    assert f"{need:,} bytes" in text
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - need, need))
    assert proven(take_snapshot(store, private)).size > 0
    for file in private.iterdir():
        file.unlink()
    refused(NotEnoughSpace, store, private, further_factor=1.0)


@pytest.mark.parametrize("times", [True, False])
def test_files_that_never_hold_still(store: Path, private: Path, monkeypatch: pytest.MonkeyPatch, times: bool) -> None:
    make_hot(store)
    real = setcopy._stream

    def writing(source: Path, copy: Path, report: Callable[[int], None]) -> None:
        real(source, copy, report)
        with store.open("r+b") as file:
            file.seek(5 * 4096 + 3000)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([(byte[0] + 1) % 256]))

    if not times:
        marks = setcopy._marks(store)
        monkeypatch.setattr(setcopy, "_marks", lambda _: marks)  # as with a coarse clock: only the digest can tell
    monkeypatch.setattr(setcopy, "_stream", writing)
    monkeypatch.setattr(setcopy.time, "sleep", lambda _: None)
    assert "changed in each of 5 attempts" in refused(SnapshotError, store, private)


def test_files_that_hold_still_at_last(store: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_hot(store)
    real, calls = setcopy._stream, []

    def touching(source: Path, copy: Path, report: Callable[[int], None]) -> None:
        real(source, copy, report)
        calls.append(source)
        if len(calls) <= 3:
            os.utime(store)

    monkeypatch.setattr(setcopy, "_stream", touching)
    assert rows(proven(take_snapshot(store, private)).path) == [(ROWS, "x" * 900)]
    assert len(calls) > 4


def test_store_opened_while_its_files_are_copied(store: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WAL store at rest is copied as files; if it wakes up just then, the backup API takes over."""
    make(store, "wal")
    real, calls = setcopy._stream, []

    def waking(source: Path, copy: Path, report: Callable[[int], None]) -> None:
        real(source, copy, report)
        if not calls:
            in_child(store, "con.execute(\"UPDATE t SET a = 'later'\")")
        calls.append(source)

    monkeypatch.setattr(setcopy, "_stream", waking)
    snapshot = proven(take_snapshot(store, private))
    assert snapshot.method == "backup"
    assert len(calls) == 1
    assert rows(snapshot.path) == [(ROWS, "later")]


def test_interrupted_copy_leaves_nothing(store: Path, private: Path) -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    for mode in ("delete", "wal"):
        make(store, mode)
        with pytest.raises(KeyboardInterrupt):
            take_snapshot(store, private, progress=interrupt)
        assert list(private.iterdir()) == []
        store.unlink()


# Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["a b.db", "w?mode=rw.db", "a#b", "100%25", "{x}", "l\ni", "żółw😀", "'q\"", "\x1b[2J", os.fsdecode(b"\xff.db")],
)
@pytest.mark.parametrize("make_store", [make, make_wal, make_hot])
def test_odd_names(tmp_path: Path, name: str, make_store: Callable[[Path], Path]) -> None:
    for part in (tmp_path / name, tmp_path / f"private {name}"):
        part.mkdir()
    store = make_store(tmp_path / name / name)
    before = contents(store)
    snapshot = proven(take_snapshot(store, tmp_path / f"private {name}"))
    assert rows(snapshot.path)[0][0] == (ROWS + 3 if make_store is make_wal else ROWS)
    assert contents(store) == before


def test_link_to_a_store_finds_the_log_of_the_real_file(store: Path, private: Path, tmp_path: Path) -> None:
    make_wal(store)
    (tmp_path / "link.db").symlink_to(store)
    snapshot = proven(take_snapshot(tmp_path / "link.db", private))
    assert rows(snapshot.path)[0][0] == ROWS + 3
    assert snapshot.source == store.resolve()


# What SQLite says of a copy -----------------------------------------------------------------------------------------


def test_damaged_page_is_a_message(store: Path, private: Path) -> None:
    make(store)
    with store.open("r+b") as file:
        file.seek(20 * 4096)
        file.write(b"\xee" * 4096)
    snapshot = take_snapshot(store, private)
    assert integrity_check(snapshot.path) != []
    assert len(integrity_check(snapshot.path, limit=1)) == 1


def test_damaged_schema_is_a_message(store: Path, private: Path) -> None:
    for mode in ("delete", "wal"):
        make(store, mode)
        store.write_bytes(store.read_bytes().replace(b"CREATE TABLE t", b"CREATE TABEL t"))
        snapshot = take_snapshot(store, private)
        assert any("malformed" in message for message in integrity_check(snapshot.path))
        assert "malformed" in foreign_key_violations(snapshot.path)[0].parent
        store.unlink()


def test_no_database_at_all_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"text" * 1000)
    assert integrity_check(tmp_path / "a.db") == ["file is not a database"]
    assert foreign_key_violations(tmp_path / "a.db")[0].foreign_key == -1


def test_foreign_keys(store: Path, private: Path) -> None:
    with closing(sqlite3.connect(store)) as con:
        con.executescript("""
            CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE "ch""ild" (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent (id));
            CREATE TABLE bad (id INTEGER PRIMARY KEY, name TEXT REFERENCES parent (name));
            INSERT INTO parent VALUES (1, 'x');
            INSERT INTO "ch""ild" VALUES (7, 1), (9, 3), (8, 2);
            INSERT INTO bad VALUES (1, 'x');
        """)
    found = foreign_key_violations(take_snapshot(store, private).path)
    assert found[1:] == [('ch"ild', 8, "parent", 0), ('ch"ild', 9, "parent", 0)]
    assert (found[0].table, found[0].foreign_key) == ("bad", -1)
    assert "mismatch" in found[0].parent
