"""What the user named, and what is said when it is not a store."""

from __future__ import annotations

import os
import secrets
import sqlite3
from pathlib import Path

import pytest

from busbar_audit.errors import AuditError, NotADatabase, NotAStore, TargetNotFound, UsageError
from busbar_audit.target import parse_target, read_header
from busbar_audit.text import printable


def make(path: Path, mode: str = "delete") -> Path:
    con = sqlite3.connect(path)
    con.execute(f"PRAGMA journal_mode={mode}")
    con.execute("CREATE TABLE t (a)")
    con.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 100)
    con.commit()
    con.close()
    return path


def refused(kind: type[AuditError], target: str | os.PathLike[str]) -> str:
    with pytest.raises(kind) as caught:
        parse_target(target)
    assert type(caught.value) is kind
    text = str(caught.value)
    assert printable(text, keep="\n") == text
    return text


def test_file_is_named_by_its_real_path(tmp_path: Path) -> None:
    store = make(tmp_path / "a.db")
    link = tmp_path / "link"
    link.symlink_to(store)
    target = parse_target(str(link))
    assert (target.kind, target.path, target.label) == ("sqlite", store.resolve(), str(link))
    assert target.sqlite_file() == store.resolve()
    assert parse_target(link) == target


@pytest.mark.parametrize("name", ["runtime.sqlite", "busbar-governance.db", "anything at all"])
def test_directory_with_one_store(tmp_path: Path, name: str) -> None:
    store = make(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no database")
    target = parse_target(tmp_path)
    assert target.path == store.resolve()
    assert target.label == str(store)


def test_known_name_wins_over_other_databases(tmp_path: Path) -> None:
    make(tmp_path / "cache.db")
    store = make(tmp_path / "runtime.sqlite")
    assert parse_target(tmp_path).path == store.resolve()


@pytest.mark.parametrize("names", [("runtime.sqlite", "busbar-governance.db"), ("a.db", "b\x1b[2J.db")])
def test_several_stores_are_listed(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        make(tmp_path / name)
    text = refused(UsageError, tmp_path)
    assert all(printable(name) in text for name in names)


def test_missing_path_creates_nothing(tmp_path: Path) -> None:
    text = refused(TargetNotFound, str(tmp_path / "none" / "a.db"))
    assert "does not exist" in text
    refused(TargetNotFound, tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []


def test_directory_without_store(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("text")
    assert "directory without a store" in refused(NotAStore, tmp_path)


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_log_without_main_file(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.db{suffix}").write_bytes(b"\x37\x7f\x06\x82" + bytes(4000))
    for target in (tmp_path / "a.db", tmp_path, tmp_path / f"a.db{suffix}"):
        assert "missing" in refused(NotAStore, target)
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_companion_named_instead_of_main_file(tmp_path: Path, suffix: str) -> None:
    make(tmp_path / "a.db")
    (tmp_path / f"a.db{suffix}").write_bytes(bytes(4096))
    assert "Name a.db instead" in refused(NotAStore, tmp_path / f"a.db{suffix}")


def test_database_whose_own_name_ends_in_wal(tmp_path: Path) -> None:
    assert parse_target(make(tmp_path / "x-wal")).path is not None


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    assert "0 bytes" in refused(NotADatabase, tmp_path / "a.db")


@pytest.mark.parametrize("content", [secrets.token_bytes(8192), b"just a text file\n" * 50, b"<"])
def test_not_sqlite_or_encrypted(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.db").write_bytes(content)
    text = refused(NotADatabase, tmp_path / "a.db")
    assert content[:1].hex() in text
    assert "encrypted" in text


@pytest.mark.parametrize(("size", "word"), [(50, "100 bytes"), (99, "100 bytes"), (3000, "4,096"), (10000, "4,096")])
def test_cut_short(tmp_path: Path, size: int, word: str) -> None:
    store = make(tmp_path / "a.db")
    store.write_bytes(store.read_bytes()[:size])
    text = refused(NotADatabase, store)
    assert "cut short" in text
    assert word in text
    assert f"{size:,}" in text


def test_odd_size_beside_a_log_is_left_to_recovery(tmp_path: Path) -> None:
    store = make(tmp_path / "a.db")
    store.write_bytes(store.read_bytes() + b"tail")
    (tmp_path / "a.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    assert parse_target(store).path is not None


def test_impossible_page_size(tmp_path: Path) -> None:
    store = make(tmp_path / "a.db")
    content = bytearray(store.read_bytes())
    content[16:18] = b"\x03\x03"
    store.write_bytes(content)
    assert "page size" in refused(NotADatabase, store)


def test_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "neither a file" in refused(NotAStore, tmp_path / "pipe")


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    refused(NotAStore, tmp_path / "a")


ODD_NAMES = [
    "with space.db",
    "what?.db",
    "a#b.db",
    "100%25.db",
    "{x}.db",
    "two\nlines.db",
    "żółw😀.db",
    "'q\".db",
    "a;b&c=d.db",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names(tmp_path: Path, name: str) -> None:
    target = parse_target(str(make(tmp_path / name)))
    assert target.path == (tmp_path / name).resolve()
    assert "\n" not in target.label


def test_terminal_escapes_and_bytes_do_not_reach_messages(tmp_path: Path) -> None:
    for name in ("a\x1b]0;x\x07.db", "a\u202egpj.db", os.fsdecode(b"a\xff.db"), "a\x9b31m"):
        text = refused(TargetNotFound, str(tmp_path / name))
        text.encode()


def test_header(tmp_path: Path) -> None:
    header = read_header(make(tmp_path / "a.db", "wal"))
    assert header is not None
    assert (header.journal_mode, header.page_size) == ("wal", 4096)
    assert header.page_count == (tmp_path / "a.db").stat().st_size // 4096
    rollback = read_header(make(tmp_path / "b.db"))
    assert rollback is not None
    assert rollback.journal_mode == "rollback"


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (f"postgresql://u:{SECRET}@h:5432/db", "postgresql://u@h:5432/db"),
        (f"postgres://u:{SECRET}@h/db?sslmode=require&sslpassword={SECRET}", "postgresql://u@h/db"),
        (f"postgresql+psycopg://u:{SECRET}@[::1]/db", "postgresql://u@::1/db"),
        (f"postgresql:///db?password={SECRET}", "postgresql:///db"),
        (f"postgresql://u:{SECRET}/x@h/db", "postgresql://…"),
        (f"postgresql://u:12/{SECRET}@h/db", "postgresql://…"),
        (f"postgresql://u:a@{SECRET}@h/db", "postgresql://…"),
        (f"postgresql://u:a#{SECRET}@h/db", "postgresql://…"),
        ("service=prod", "service=prod"),
    ],
)
def test_postgres_is_recognised_and_its_password_never_shown(
    text: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE", text)
    for target in (parse_target(text), parse_target("env:STORE")):
        assert (target.kind, target.path, target.label, target.conninfo) == ("postgres", None, label, text)
        with pytest.raises(NotAStore, match="A SQLite file is expected") as caught:
            target.sqlite_file()
        assert caught.value.exit_code == 3
        assert SECRET not in repr(target) + str(target) + str(caught.value)


def test_environment_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(tmp_path / "a.db")
    monkeypatch.setenv("STORE", str(store))
    target = parse_target("env:STORE")
    assert (target.path, target.given, target.label) == (store.resolve(), "env:STORE", str(store.resolve()))
    for value in ("", "env:STORE"):
        monkeypatch.setenv("STORE", value)
        refused(UsageError, "env:STORE")
    for value, error in (
        (f"host=h password={SECRET}", UsageError),
        (f"oracle://u:{SECRET}@h", UsageError),
        (f"mysql://u:{SECRET}@h", NotAStore),
    ):
        monkeypatch.setenv("STORE", value)
        with pytest.raises(error) as caught:
            parse_target("env:STORE")
        assert SECRET not in str(caught.value)
    monkeypatch.delenv("STORE")
    assert "not set" in refused(UsageError, "env:STORE")


@pytest.mark.parametrize("text", ["", "a\0b", f"oracle://u:{SECRET}@h/db", "sqlite:///a.db"])
def test_unknown_words(text: str) -> None:
    assert SECRET not in refused(UsageError, text)


def test_file_named_like_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "service=x")
    monkeypatch.chdir(tmp_path)
    assert parse_target("service=x").kind == "postgres"
    assert parse_target("./service=x").kind == "sqlite"
    assert parse_target(Path("service=x")).kind == "sqlite"


def test_printable() -> None:
    assert printable("plain żółw") == "plain żółw"
    assert printable("a\x1b\x9b\u202e\n\udcff\u2028") == "a\\x1b\\x9b\\u202e\\n\\udcff\\u2028"
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"
