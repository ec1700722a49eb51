"""A consistent view of a PostgreSQL database: one REPEATABLE READ READ ONLY transaction, and nothing beside it.

Catalog and data are read in that one transaction, so they belong to one moment; it ends when loading ends. The server
itself refuses to write in it. Everything is set with SET LOCAL semantics inside the transaction and nothing is prepared,
so that a pooler in transaction mode serves as well as the server itself.

What the snapshot does not cover is told apart: TRUNCATE and rewrites are not held back by it (`require_unmoved`), and a
role under row-level security would see a part of the rows (`row_security = off` makes that an error).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, LiteralString

import psycopg
from psycopg import errors as pg

from busbar_audit.errors import NotAStore, SnapshotError
from busbar_audit.snapshot.conninfo import Words
from busbar_audit.snapshot.pg_errors import LATER, explained
from busbar_audit.text import printable

OLDEST_SERVER = 120000
CURSOR = "busbar_audit"
METHOD = "repeatable read transaction"
STATEMENT_TIMEOUT = 1800.0
LOCK_TIMEOUT = 10.0


@dataclass(frozen=True)
class PostgresSnapshot:
    """One open transaction and what it was taken from.

    Attributes
    ----------
    taken_at : UTC, the server's clock at the begin of the transaction.
    snapshot : the exported snapshot's id. lsn : position in the write-ahead log (replayed to, on a replica).
    server_version : as the server says it. system_identifier : of the cluster; None where this role may not read it.
    database, role : names as the server has them. replica : whether the server is in recovery.
    words, settings : of the connection and of the transaction. connection : with the transaction open until `end`.
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
    words: Words = field(repr=False, compare=False)
    settings: Mapping[str, str] = field(repr=False, compare=False)
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
            raise explained(error, doing, self.words.masked(error)) from None

    def fetched(
        self, query: psycopg.sql.Composed, rows: int, doing: str, *, binary: bool = True
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Run one query in the transaction and pass its rows on in lists of at most `rows`.

        Raises
        ------
        SnapshotError, StoreLocked : the server ended it; what it says, without secrets.
        """
        with (
            self.told(doing),
            # A cursor on the server: a batch at a time is here, and each fetch has the statement's time limit.
            self.connection.cursor(CURSOR, binary=binary) as cursor,
        ):
            cursor.execute(query)
            while got := cursor.fetchmany(rows):
                yield got

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
                LATER,
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
    words = Words.of(conninfo)
    connection = connect(words)
    try:
        with _opening(words):
            return _begin(connection, words, statement_timeout, lock_timeout)
    except BaseException:
        with suppress(psycopg.Error):
            connection.close()
        raise


@contextmanager
def _opening(words: Words) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        said = words.masked(error)
        if "pooling mode" in said:
            raise SnapshotError(
                f"A connection pooler stands in between and allows no transaction: {said}.",
                "The server itself, or a pooler in transaction or session mode.",
                "Nothing was checked. Name the server's own port.",
            ) from None
        raise explained(error, "the begin of the transaction", said) from None


def connect(words: Words) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect.

    Raises
    ------
    SnapshotError : no connection; the text shows nothing of the words that must not be shown.
    """
    try:
        # Nothing is prepared: a pooler in transaction mode loses prepared statements.
        return psycopg.connect(**words.given, prepare_threshold=None)
    except psycopg.Error as error:
        said = words.masked(error)
        if "unsupported startup parameter" in said:
            raise SnapshotError(
                f"A connection pooler refuses what a connection begins with: {said}.",
                "A pooler that takes application_name, client_encoding and what the target names (options, for example).",
                "Nothing was checked. Leave it out of the target, have the pooler ignore it, or name the server's own port.",
            ) from None
        raise SnapshotError(
            f"No connection to the PostgreSQL server: {said}.",
            "A server that lets this role in.",
            "Nothing was checked. Check host, port, database, role and password (~/.pgpass, service file).",
        ) from None


def _begin(
    connection: psycopg.Connection[tuple[Any, ...]], words: Words, statement_timeout: float, lock_timeout: float
) -> PostgresSnapshot:
    # Before the first statement, which an old server may not know; a pooler may tell no version here.
    if version := connection.info.server_version:
        _require_recent(version, connection.info.parameter_status("server_version") or str(version))
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
        "pg_export_snapshot(), pg_is_in_recovery(), current_setting('server_version'), "
        "current_setting('server_version_num')::int, current_setting('server_encoding'), "
        "current_database(), current_user"
    ).fetchone()
    if row is None:
        raise SnapshotError("The server gave no row for its own settings.", "One row.", LATER)
    isolation, read_only, begun, snapshot, replica, said, number, encoding, database, role = row
    _require_one(isolation, read_only, same=True)
    _require_recent(number, said)
    if encoding != "UTF8":
        raise NotAStore(
            f"The database is encoded in {printable(encoding)}.",
            "UTF8: digests are over UTF-8 bytes, and any other encoding would be translated on the way.",
            "Nothing was checked.",
        )
    lsn, still = connection.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END::text, "
        "transaction_timestamp()"
    ).fetchone() or ("", None)
    _require_one(isolation, read_only, same=still == begun)
    return PostgresSnapshot(
        connection,
        begun.astimezone(UTC),
        str(snapshot),
        str(lsn or ""),
        str(said),
        _system_identifier(connection),
        str(database),
        str(role),
        bool(replica),
        words,
        settings,
    )


def _system_identifier(connection: psycopg.Connection[tuple[Any, ...]]) -> str | None:
    try:
        with connection.transaction():
            row = connection.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
            return str(row[0]) if row else None
    except pg.InsufficientPrivilege:
        return None


def _require_recent(number: int, said: str) -> None:
    if number < OLDEST_SERVER:
        raise NotAStore(
            f"The server is PostgreSQL {printable(said)}.",
            f"PostgreSQL {OLDEST_SERVER // 10000} or later.",
            "Nothing was checked. Restore the database on a later server and audit it there.",
        )


def _require_one(isolation: str, read_only: str, same: bool) -> None:
    if isolation != "repeatable read" or read_only != "on" or not same:
        raise SnapshotError(
            f"The statements did not stay in one transaction (isolation {printable(isolation)}, read only "
            f"{printable(read_only)}); a connection pooler may stand in between.",
            "One REPEATABLE READ READ ONLY transaction from the first to the last statement.",
            "Nothing was checked. Name the server's own port, or a pooler in transaction mode.",
        )
