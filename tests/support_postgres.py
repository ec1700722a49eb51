"""A private PostgreSQL server for tests: its own folder, a Unix socket only, gone at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql
from support_audit import AS_OF

from busbar_audit.auditing import audit
from busbar_audit.result import Result
from busbar_audit.store import open_store
from busbar_audit.synth.server import private_server


class Server:
    """A running server and the databases made on it."""

    def __init__(self, socket: str, programs: Path, user: str | None = None) -> None:
        self.socket, self.programs, self.user, self._made = socket, programs, user, 0

    def uri(self, database: str, role: str = "postgres", password: str = "") -> str:
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{role}{secret}@/{database}?host={quote(self.socket, safe='')}"

    def connect(self, database: str, **words: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.uri(database), autocommit=True, **words)

    def copy_of(self, template: str) -> str:
        """A new database like `template`, to plant faults in."""
        self._made += 1
        name = f"copy_{self._made}"
        with self.connect("postgres") as con:
            con.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
            )
        return name

    def new(self, name: str) -> str:
        with self.connect("postgres") as con:
            con.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return name

    def has(self, database: str) -> bool:
        with self.connect("postgres") as con:
            return bool(con.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchall())

    def run(self, database: str, *statements: str) -> None:
        with self.connect(database) as con:
            con.execute("SET search_path TO busbar, public")
            for statement in statements:
                con.execute(statement.encode())


def system_programs() -> Path | None:
    """Folder of the programs of a server that the system has on its PATH."""
    found = shutil.which("postgres")
    programs = Path(found).resolve().parent if found else None
    return programs if programs is not None and (programs / "initdb").exists() else None


@contextmanager
def running() -> Iterator[Server]:
    """Start a server: that of the package, or with BUSBAR_AUDIT_SERVER=system the one on PATH."""
    if os.environ.get("BUSBAR_AUDIT_SERVER") == "system":
        with running_system() as up:
            yield up
        return
    with private_server() as private:
        words = psycopg.conninfo.conninfo_to_dict(private.uri)
        yield Server(str(words["host"]), private.programs, private.user)


@contextmanager
def running_system() -> Iterator[Server]:
    """Start the server whose programs are on PATH, as a user of its own where this one is root."""
    programs = system_programs()
    assert programs is not None, "no PostgreSQL server on PATH"
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp" if os.access("/tmp", os.W_OK) else None))
    if user is not None:
        shutil.chown(folder, user)

    def call(program: str, *words: str) -> None:
        subprocess.run(
            [str(programs / program), *words], user=user, cwd=folder, check=True, timeout=90,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    data = str(folder / "data")
    settings = " ".join(f"-c {s}=off" for s in ("fsync", "full_page_writes", "synchronous_commit"))
    try:
        call("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        call("pg_ctl", "-D", data, "-l", str(folder / "log"), "-w", "-o", f"-h '' -k {folder} {settings}", "start")
        try:
            yield Server(str(folder), programs, user)
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def standby(primary: Server, *settings: str) -> Iterator[Server]:
    """A second server that follows the first one and serves reads."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp" if os.access("/tmp", os.W_OK) else None))
    if primary.user is not None:
        shutil.chown(folder, primary.user)
    data = folder / "data"

    def call(program: str, *words: str) -> None:
        subprocess.run(
            [str(primary.programs / program), *words], user=primary.user, cwd=folder, check=True, timeout=90,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    call("pg_basebackup", "-h", primary.socket, "-U", "postgres", "-D", str(data), "-c", "fast", "-X", "stream", "-R")
    given = " ".join(f"-c {setting}" for setting in settings)
    call("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-w", "-o", f"-h '' -k {folder} {given}", "start")
    try:
        yield Server(str(folder), primary.programs, primary.user)
    finally:
        call("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def caught_up(primary: Server, replica: Server) -> None:
    """Wait until the replica has replayed all that the primary has written by now."""
    with primary.connect("postgres") as con:
        row = con.execute("SELECT pg_current_wal_lsn()::text").fetchone()
    with replica.connect("postgres") as con:
        for _ in range(200):
            if con.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() == (True,):
                return
            time.sleep(0.05)
    raise AssertionError("the replica did not follow within ten seconds")


def judged(uri: str, **options: Any) -> Result:
    """Audit a store; it is closed again, so only what is in the result can be asked of it."""
    schema = options.pop("schema", None)
    with open_store(uri, schema=schema) as store:
        result = audit(store, **{"as_of": AS_OF, **options})
        list(result.findings())
        return result
