"""A consistent view of a PostgreSQL database: one REPEATABLE READ READ ONLY transaction, and nothing beside it.

Catalog and data are read in that one transaction, so they belong to one moment; it ends when loading ends. The server
itself refuses to write in it. Everything is set with SET LOCAL semantics inside the transaction and nothing is prepared,
so that a pooler in transaction mode serves as well as the server itself.

What the snapshot does not cover is told apart: TRUNCATE and rewrites are not held back by it (`require_unmoved`), and a
role under row-level security would see a part of the rows (`row_security = off` makes that an error).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, LiteralString
from urllib.parse import unquote

import psycopg
from psycopg import conninfo as conninfos
from psycopg import errors as pg

from busbar_audit.errors import NotAStore, SnapshotError, StoreLocked, UsageError
from busbar_audit.text import printable

OLDEST_SERVER = 120000
APPLICATION = "busbar-audit"
METHOD = "repeatable read transaction"
STATEMENT_TIMEOUT = 1800.0
LOCK_TIMEOUT = 10.0
CONNECT_TIMEOUT = 10

_DRIVER = re.compile(r"^postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_LATER = "Nothing was checked. Try again later."


@dataclass(frozen=True)
class PostgresSnapshot:
    """One open transaction and what it was taken from.

    Attributes
    ----------
    taken_at : UTC, the server's clock at the begin of the transaction.
    snapshot : the exported snapshot's id. lsn : position in the write-ahead log (replayed to, on a replica).
    server_version : as the server says it. system_identifier : of the cluster; None where this role may not read it.
    database, role : names as the server has them. replica : whether the server is in recovery.
    connection : with the transaction open until `end`.
    """

    connection: psycopg.Connection[tuple[Any, ...]] = field(repr=False, compare=False)
    taken_at: datetime
    snapshot: str
    lsn: str
    server_version: str
    system_identifier: str | None
    database: str
    role: str
    replica: bool
    secrets: tuple[str, ...] = field(repr=False, default=(), compare=False)
    method: str = METHOD

    def rows(self, sql: LiteralString | psycopg.sql.Composed, *values: object) -> list[tuple[Any, ...]]:
        """Run one query in the transaction; `values` are its parameters in their order, or one mapping of them by name.

        Raises
        ------
        SnapshotError, StoreLocked : the server ended it; what it says, without secrets.
        """
        with self.told("a query"):
            named = values[0] if len(values) == 1 and isinstance(values[0], Mapping) else None
            return self.connection.execute(sql, named or values or None).fetchall()

    @contextmanager
    def told(self, doing: str) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        try:
            yield
        except psycopg.Error as error:
            raise explained(error, doing, self.secrets) from None

    def require_unmoved(self, schema: str, table: str) -> None:
        """Prove that a table just read was not truncated or rewritten since the transaction began.

        A snapshot does not hold back TRUNCATE: the table would be read as empty without a word. The catalog row comes
        from the snapshot and the file number from the server as it is now; the lock taken by reading keeps it so.

        Raises
        ------
        SnapshotError : it was.
        """
        moved = self.rows(
            "SELECT c.relfilenode, pg_relation_filenode(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = %s AND c.relname = %s AND c.relkind = 'r' "
            "AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid)",
            schema,
            table,
        )
        if moved:
            raise SnapshotError(
                f"Table {printable(schema)}.{printable(table)} was truncated or rewritten while it was read.",
                "A table that stays in its place for as long as the audit loads it.",
                _LATER,
            )

    def end(self) -> None:
        """Prove that it was one transaction from first to last, then end it and close the connection.

        Raises
        ------
        SnapshotError : the connection was lost, or a pooler gave the statements to different transactions.
        """
        if self.connection.closed:
            return
        try:
            ((isolation, read_only, application),) = self.rows(
                "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'), "
                "to_char(transaction_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
            )
            _require_one(isolation, read_only, application == f"{self.taken_at:%Y-%m-%d %H:%M:%S.%f}")
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the connection, whatever its state."""
        with suppress(psycopg.Error):
            self.connection.close()


def open_postgres(
    conninfo: str, *, statement_timeout: float = STATEMENT_TIMEOUT, lock_timeout: float = LOCK_TIMEOUT
) -> PostgresSnapshot:
    """Begin the one transaction in which a database is read.

    Parameters
    ----------
    conninfo : ``postgresql://…``, ``service=NAME`` or other words of libpq; secrets in it are never shown.
    statement_timeout, lock_timeout : seconds that one statement may take, and wait for a lock.

    Raises
    ------
    UsageError : the words cannot be read.
    NotAStore : the server is older than 12, or its encoding is not UTF-8.
    SnapshotError : no connection, or no such transaction can be had (a pooler in statement mode, for example).
    """
    secrets, words = _words(conninfo)
    connection = _connect(words, secrets)
    try:
        with _opening(secrets):
            return _begin(connection, statement_timeout, lock_timeout, secrets)
    except BaseException:
        with suppress(psycopg.Error):
            connection.close()
        raise


def explained(error: psycopg.Error, doing: str, secrets: tuple[str, ...] = ()) -> SnapshotError:
    """What a driver's error means for an audit, without secrets."""
    said = _masked(error, secrets)
    if isinstance(error, pg.LockNotAvailable):
        return StoreLocked(
            f"A lock held by another session kept the server from {doing}: {said}.", "A table that can be read.", _LATER
        )
    if isinstance(error, pg.QueryCanceled):
        return SnapshotError(
            f"The server ended {doing}: {said}.",
            "A statement that ends within statement_timeout.",
            "Nothing was checked. Audit at a quieter time, or a replica.",
        )
    if isinstance(error, pg.SerializationFailure):
        return SnapshotError(
            f"The replica could not keep the snapshot during {doing}: {said}.",
            "A snapshot that lives as long as loading does.",
            "Nothing was checked. Raise max_standby_streaming_delay or set hot_standby_feedback, or audit the primary.",
        )
    if isinstance(error, pg.InsufficientPrivilege):
        return SnapshotError(
            f"This role may not do {doing}: {said}.",
            "USAGE on the schema and SELECT on its tables, without row-level security.",
            "Nothing was checked. See docs/postgres-role.sql.",
        )
    if isinstance(error, psycopg.OperationalError) and error.sqlstate in (None, "57P01", "57P02", "57P03", "25P03"):
        return SnapshotError(
            f"The connection was lost during {doing}: {said}.", "One connection from begin to end.", _LATER
        )
    return SnapshotError(f"The server refused {doing}: {said}.", "A database that can be read.", _LATER)


@contextmanager
def _opening(secrets: tuple[str, ...]) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        said = _masked(error, secrets)
        if "pooling mode" in said or "unsupported startup parameter" in said:
            raise SnapshotError(
                f"A connection pooler stands in between and allows no transaction: {said}.",
                "The server itself, or a pooler in transaction or session mode.",
                "Nothing was checked. Name the server's own port.",
            ) from None
        raise explained(error, "the begin of the transaction", secrets) from None


def _words(text: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The connection words, and those of them that must never be shown."""
    plain = _DRIVER.sub("postgresql://", text.strip())
    try:
        words = conninfos.conninfo_to_dict(plain)
    except psycopg.Error:
        # The driver quotes the text it cannot read, and with it the password.
        raise UsageError(
            "The words of the PostgreSQL target cannot be read (not shown: they may hold a password).",
            "postgresql://USER@HOST:PORT/DATABASE, or service=NAME.",
            "Percent-encode special characters, or keep the password in ~/.pgpass or a service file.",
        ) from None
    hidden = {str(words[name]) for name in ("password", "sslpassword", "passfile", "sslkey") if words.get(name)}
    written = re.match(r"postgresql://[^/?#]*?:([^@/]*)@", plain)
    if written and written[1]:
        hidden |= {written[1], unquote(written[1])}
    return tuple(sorted(hidden, key=len, reverse=True)), dict(words)


def _connect(words: dict[str, Any], secrets: tuple[str, ...]) -> psycopg.Connection[tuple[Any, ...]]:
    given = {
        "connect_timeout": CONNECT_TIMEOUT,
        **words,
        "application_name": APPLICATION,
        "client_encoding": "UTF8",
    }
    try:
        # Nothing is prepared: a pooler in transaction mode loses prepared statements.
        connection = psycopg.connect(**given, prepare_threshold=None)
    except psycopg.Error as error:
        said = _masked(error, secrets)
        pooled = "unsupported startup parameter" in said
        raise SnapshotError(
            f"No connection to the PostgreSQL server: {said}.",
            "A server that lets this role in." if not pooled else "A pooler that takes application_name.",
            "Nothing was checked. Check host, port, database, role and password (~/.pgpass, service file).",
        ) from None
    return connection


def _begin(
    connection: psycopg.Connection[tuple[Any, ...]],
    statement_timeout: float,
    lock_timeout: float,
    secrets: tuple[str, ...],
) -> PostgresSnapshot:
    version = connection.info.server_version
    if version and version < OLDEST_SERVER:
        raise NotAStore(
            f"The server is PostgreSQL {printable(connection.info.parameter_status('server_version') or version)}.",
            f"PostgreSQL {OLDEST_SERVER // 10000} or later.",
            "Nothing was checked. Restore the database on a later server and audit it there.",
        )
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    settings = {
        "search_path": "pg_catalog",
        "statement_timeout": str(int(statement_timeout * 1000)),
        "lock_timeout": str(int(lock_timeout * 1000)),
        "idle_in_transaction_session_timeout": str(int(statement_timeout * 1000)),
        "row_security": "off",
        "TimeZone": "UTC",
        "extra_float_digits": "1",
    }
    for name, value in settings.items():
        connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
    row = connection.execute(
        "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'), transaction_timestamp(), "
        "pg_export_snapshot(), pg_is_in_recovery(), current_setting('server_version'), current_setting('server_encoding'), "
        "current_database(), current_user"
    ).fetchone()
    if row is None:
        raise SnapshotError("The server gave no row for its own settings.", "One row.", _LATER)
    isolation, read_only, begun, snapshot, replica, said, encoding, database, role = row
    _require_one(isolation, read_only, same=True)
    if encoding != "UTF8":
        raise NotAStore(
            f"The database is encoded in {printable(encoding)}.",
            "UTF8: digests are over UTF-8 bytes, and any other encoding would be translated on the way.",
            "Nothing was checked.",
        )
    lsn = connection.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text"
    ).fetchone()
    return PostgresSnapshot(
        connection,
        begun.astimezone(UTC),
        str(snapshot),
        str(lsn[0]) if lsn and lsn[0] else "",
        str(said),
        _system_identifier(connection),
        str(database),
        str(role),
        bool(replica),
        secrets,
    )


def _system_identifier(connection: psycopg.Connection[tuple[Any, ...]]) -> str | None:
    try:
        with connection.transaction():
            row = connection.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
            return str(row[0]) if row else None
    except pg.InsufficientPrivilege:
        return None


def _require_one(isolation: str, read_only: str, same: bool) -> None:
    if isolation != "repeatable read" or read_only != "on" or not same:
        raise SnapshotError(
            f"The statements did not stay in one transaction (isolation {printable(isolation)}, read only "
            f"{printable(read_only)}); a connection pooler may stand in between.",
            "One REPEATABLE READ READ ONLY transaction from the first to the last statement.",
            "Nothing was checked. Name the server's own port, or a pooler in transaction mode.",
        )


def _masked(error: psycopg.Error, secrets: tuple[str, ...]) -> str:
    """The error's first line, printable, with every secret of the connection words taken out."""
    said = str(error).strip() or type(error).__name__
    for secret in secrets:
        said = said.replace(secret, "***")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return printable(lines[0] if lines else "no message").rstrip(".")
