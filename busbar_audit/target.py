"""What the user named: a SQLite file, a directory holding one, a PostgreSQL database, or a variable with one of these.

Nothing is opened by SQLite here and nothing is ever created; the first bytes of a file decide.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from busbar_audit.errors import AuditError, NotADatabase, NotAStore, TargetNotFound, UsageError
from busbar_audit.text import printable

MAGIC = b"SQLite format 3\x00"
KNOWN_NAMES = ("runtime.sqlite", "busbar-governance.db")
_FORMS = "A target is a SQLite file, a directory holding one, postgresql://…, service=NAME or env:NAME."
_COMPANIONS = ("-wal", "-shm", "-journal")
_POSTGRES = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_MYSQL = re.compile(r"(?:mysql|mariadb)(?:\+\w+)?://", re.IGNORECASE)
_SERVICE = re.compile(r"service=([^\s=]+)")
_WORDS = re.compile(r"(?:^|\s)(?:host|hostaddr|dbname|user|password|passfile)\s*=", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True)
class Target:
    """One store the user named.

    Attributes
    ----------
    kind : 'sqlite' or 'postgres'.
    path : real path of the main file; None for PostgreSQL.
    label : safe to print and to store: no password, no control characters.
    given : what the user wrote, safe to print as well.
    conninfo : PostgreSQL only: the connection words as given, password included; never shown.
    schema : PostgreSQL only: where the store is; None for the only one that holds a store.
    family : of the store, where one place holds stores of several; None for the only one.
    """

    kind: Literal["sqlite", "postgres"]
    path: Path | None
    label: str
    given: str = ""
    conninfo: str | None = field(default=None, repr=False, compare=False)
    schema: str | None = None
    family: str | None = None

    def in_schema(self, schema: str) -> Target:
        """Return the same database with one schema named.

        Raises
        ------
        UsageError
            The target is a SQLite file.
        """
        if self.kind != "postgres":
            raise UsageError(f"--schema {printable(schema)} with {self.label}.", "A schema is for PostgreSQL only.")
        label = self.label if self.schema is None else self.label.removesuffix(f", schema {printable(self.schema)}")
        return replace(self, label=f"{label}, schema {printable(schema)}", schema=schema)

    def sqlite_file(self) -> Path:
        """Return the path of the SQLite file.

        Raises
        ------
        NotAStore
            The target is a PostgreSQL database.
        """
        if self.path is None:
            raise NotAStore(
                f"{self.label} is a PostgreSQL database.",
                "A SQLite file is expected here.",
                "Nothing was checked. Name a SQLite store.",
            )
        return self.path


@dataclass(frozen=True)
class SqliteHeader:
    """What the first 100 bytes of a SQLite file say.

    Attributes
    ----------
    page_size : bytes per page (0 if the field holds no legal value).
    page_count : pages the header vouches for; None where its two counters disagree (SQLite then ignores the field).
    journal_mode : 'wal' or 'rollback'.
    """

    page_size: int
    page_count: int | None
    journal_mode: Literal["wal", "rollback"]


def parse_target(text: str | os.PathLike[str]) -> Target:
    """Recognise what the user named.

    Parameters
    ----------
    text : a path, ``postgresql://…``, ``service=NAME`` or ``env:NAME``; a path object is always a path.

    Returns
    -------
    Target
        For SQLite with the real path of a readable file whose first bytes are SQLite's.

    Raises
    ------
    UsageError
        The words are off: an unset variable, several stores in one directory, an unknown scheme.
    TargetNotFound
        Nothing exists at that path.
    NotAStore
        A directory without a store, a WAL or journal without its main file, something that is no plain file.
    NotADatabase
        Not SQLite, encrypted, empty, or cut short.
    """
    if isinstance(text, os.PathLike):
        path = os.fspath(text)
        return _sqlite(path, printable(path), printable(path))
    if text.startswith("env:"):
        return _from_environment(text.removeprefix("env:"))
    return _named(text, None)


def read_header(path: Path) -> SqliteHeader | None:
    """Read the header of a SQLite file; None if the first bytes are not SQLite's or fewer than 100.

    Opens and closes the file: on POSIX this drops locks held on it by *this* process, so it must not happen
    while this process has a SQLite connection to the same file.
    """
    with path.open("rb", buffering=0) as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(MAGIC):
        return None
    page_size = int.from_bytes(head[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    if page_size < 512 or page_size & (page_size - 1):
        page_size = 0
    count = int.from_bytes(head[28:32], "big")
    vouched = count > 0 and head[24:28] == head[92:96]
    return SqliteHeader(page_size, count if vouched else None, "wal" if 2 in (head[18], head[19]) else "rollback")


def beside(path: Path, suffix: str) -> Path:
    """Return the file SQLite keeps beside `path`: suffix '-wal', '-shm' or '-journal'."""
    return path.with_name(path.name + suffix)


def size_of(path: Path) -> int | None:
    """Size of a file in bytes; None if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _from_environment(name: str) -> Target:
    value = os.environ.get(name) if name and "=" not in name and "\0" not in name else None
    if not value:
        raise UsageError(
            f"env:{printable(name)} names an environment variable that is not set or empty.",
            "It must hold a path, postgresql://… or service=NAME.",
            f"Set it, or write ./env:{printable(name)} for a file of that name.",
        )
    if value.startswith("env:"):
        raise UsageError(f"env:{printable(name)} holds another env: target.", "One step only.", "Name it directly.")
    return _named(value, f"env:{printable(name)}")


def _named(text: str, variable: str | None) -> Target:
    """Recognise `text`; if a variable held it, messages show the variable's name: the value may hold a password."""
    if _POSTGRES.match(text):
        label = _masked(text)
        return Target("postgres", None, label, variable or label, text)
    if _MYSQL.match(text):
        raise NotAStore(
            f"{printable(variable or 'The target')} names a MySQL or MariaDB database.",
            "This version reads SQLite and PostgreSQL; A2A stores on MySQL are refused, not passed over.",
            "Nothing was checked.",
        )
    if service := _SERVICE.fullmatch(text):
        label = f"service={printable(service[1])}"
        return Target("postgres", None, label, variable or label, text)
    if not text or "\0" in text:
        raise UsageError("The target is empty or has a NUL character in it.", _FORMS)
    if _WORDS.search(text) and not Path(text).exists():
        raise UsageError(
            "The target has words of a PostgreSQL connection (not shown: one of them may be a password).",
            _FORMS,
            "Write them as postgresql://…, or put them into a service file.",
        )
    if _SCHEME.match(text) and not Path(text).exists():
        scheme = variable or text.split("://", 1)[0] + "://…"
        raise UsageError(f"{printable(scheme)} has a form that is not known.", _FORMS, "Write a plain path for a file.")
    return _sqlite(text, variable or printable(text), None if variable else printable(text))


def _masked(url: str) -> str:
    """Label of a PostgreSQL URL: user, host, port and database; never password or options."""
    hidden = "postgresql://…"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return hidden
    # An unescaped '/', '?' or '#' in a password ends the host part early and the password's tail lands behind it.
    if "@" in parts.path + parts.query + parts.fragment or parts.netloc.count("@") > 1:
        return hidden
    user = f"{parts.username}@" if parts.username else ""
    host = (parts.hostname or "") + (f":{port}" if port else "")
    return printable(f"postgresql://{user}{host}{parts.path}")


def _sqlite(text: str, given: str, shown: str | None) -> Target:
    """Find the main file for a path; `shown` None: the path came from a variable and is shown only once it exists."""
    if not text or "\0" in text:
        raise UsageError("The target is empty or has a NUL character in it.", _FORMS)
    named = Path(text)
    try:
        path = named.resolve(strict=True)
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(named, given) from None
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "symbolic links in a circle"
        raise NotAStore(f"{given} cannot be reached: {reason}.", "A readable file.", "Check the path.") from None
    try:
        if stat.S_ISDIR(state.st_mode):
            named = _in_directory(named, shown or printable(text))
            path = named.resolve(strict=True)
            state = path.stat()
        label = printable(path if shown is None else named)
        if not stat.S_ISREG(state.st_mode):
            raise NotAStore(f"{label} is neither a file nor a directory.", _FORMS)
        _require_database(path, label)
    except OSError as error:
        raise NotAStore(
            f"{given} cannot be read: {error.strerror}.",
            "A store this user may read.",
            "Run the audit as a user who may read the file and its directory.",
        ) from None
    return Target("sqlite", path, label, given)


def _missing(named: Path, given: str) -> AuditError:
    if left := [name for name in (named.name + "-wal", named.name + "-journal") if named.with_name(name).exists()]:
        return NotAStore(
            f"{given} is missing, but {' and '.join(map(printable, left))} is there.",
            "The main file: a write-ahead log or journal alone is no store.",
            "Restore the main file beside it; keep the log, it may hold the newest records.",
        )
    return TargetNotFound(f"{given} does not exist.", _FORMS, "Nothing was created.")


def _in_directory(directory: Path, shown: str) -> Path:
    """Find the one store in a directory: by a known name, else the only file that begins as SQLite's do."""
    known = [directory / name for name in KNOWN_NAMES if (directory / name).is_file()]
    entries = sorted(directory.iterdir())
    found = known or [entry for entry in entries if entry.is_file() and _has_magic(entry)]
    if len(found) == 1:
        return found[0]
    if found:
        names = "\n".join(f"  {printable(entry.name)}" for entry in found)
        raise UsageError(f"{shown} holds {len(found)} stores:\n{names}", "Exactly one.", "Name the file itself.")
    orphans = [
        entry.name
        for entry in entries
        for suffix in ("-wal", "-journal")
        if entry.name.endswith(suffix) and not (directory / entry.name.removesuffix(suffix)).exists()
    ]
    if orphans:
        raise NotAStore(
            f"{shown} holds {', '.join(map(printable, orphans))}, but the main file is missing.",
            "A main file beside it: a write-ahead log or journal alone is no store.",
            "Restore the main file; keep the log, it may hold the newest records.",
        )
    raise NotAStore(
        f"{shown} is a directory without a store.",
        f"{' or '.join(KNOWN_NAMES)}, or one SQLite file.",
        "Name the file itself.",
    )


def _has_magic(path: Path) -> bool:
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _require_database(path: Path, label: str) -> None:
    """Refuse what SQLite certainly cannot read; all doubt is left to the snapshot and its integrity check."""
    header = read_header(path)
    size = path.stat().st_size
    if header is None:
        for suffix in _COMPANIONS:
            if path.name.endswith(suffix):
                main = path.name.removesuffix(suffix)
                there = path.with_name(main).exists()
                raise NotAStore(
                    f"{label} is the {suffix} file that SQLite keeps beside a database.",
                    "The main file." if there else f"The main file {printable(main)}, which is missing.",
                    f"Name {printable(main)} instead." if there else "Restore the main file beside it.",
                )
        raise _no_database(path, label, size)
    if any(size_of(beside(path, suffix)) for suffix in ("-wal", "-journal")):
        return  # a recovery may still mend the main file
    if header.page_size == 0:
        raise NotADatabase(
            f"{label}: the header names an impossible page size.", "A power of two, 512 to 65536.", _RESTORE
        )
    if size % header.page_size:
        time.sleep(0.05)  # a writer may be in the middle of growing the file
        size = path.stat().st_size
    if size % header.page_size and not any(size_of(beside(path, suffix)) for suffix in ("-wal", "-journal")):
        raise NotADatabase(
            f"{label} is cut short: {size:,} bytes.",
            f"Whole pages of {header.page_size:,} bytes.",
            _RESTORE,
        )


_RESTORE = "Restore it from a backup; nothing was checked."


def _no_database(path: Path, label: str, size: int) -> NotADatabase:
    with path.open("rb", buffering=0) as file:
        head = file.read(len(MAGIC))
    wanted = 'A SQLite file: at least one page, beginning with "SQLite format 3".'
    if size == 0:
        return NotADatabase(f"{label} is empty: 0 bytes.", wanted, _RESTORE)
    if head == MAGIC[: len(head)]:
        return NotADatabase(
            f"{label} is cut short: {size:,} bytes, less than the header of 100 bytes.", wanted, _RESTORE
        )
    return NotADatabase(
        f"{label} is not a SQLite database: it begins with {head.hex(' ')}.",
        wanted,
        "If the store is encrypted, name a decrypted copy; else check the path.",
    )
