"""A private PostgreSQL server for tests: its own folder, a Unix socket only, gone at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

    def __init__(self, socket: str) -> None:
        self.socket, self._made = socket, 0

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

    def run(self, database: str, *statements: str) -> None:
        with self.connect(database) as con:
            con.execute("SET search_path TO busbar, public")
            for statement in statements:
                con.execute(statement.encode())


@contextmanager
def running() -> Iterator[Server]:
    """Start a server; as root the package runs it as a user of its own."""
    with private_server() as uri:
        yield Server(str(psycopg.conninfo.conninfo_to_dict(uri)["host"]))


def judged(uri: str, **options: Any) -> Result:
    """Audit a store; it is closed again, so only what is in the result can be asked of it."""
    schema = options.pop("schema", None)
    with open_store(uri, schema=schema) as store:
        result = audit(store, **{"as_of": AS_OF, **options})
        list(result.findings())
        return result
