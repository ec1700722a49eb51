"""Our emulation of what a gateway's SQLite plug-in does to an older store when it opens it (sheet 8.1, 8.2).

It is written from the description of the upgrade and not by it: what it takes says nothing of the real one's time.
As a program: ``python -m busbar_audit.rehearsal.upgrade_emulation TO FILE``.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from busbar_audit.stores import busbar_shapes

# Called before each statement, each row that is copied, and after the end; a rehearsal of kills ends the process there.
Step = Callable[[str], None]
# Names whose presence makes the plug-in drop a file that is stamped below 5.
ANCIENT = ("usage_counters", "virtual_keys", "aws_credentials", "usage_ledger", "keys", "store_meta")
_TERMINAL = {"completed", "failed", "canceled", "rejected"}
_KEYS = {
    "scope_grants": "TEXT CONSTRAINT keys_scope_grants_json CHECK (scope_grants IS NULL OR json_type(scope_grants) = 'object')",
    "idp_subject": "TEXT",
    "binding_mode": "TEXT",
    "minted_by": "TEXT",
}
_RECORD = (
    "INSERT INTO plane_records (kind, identity, seq, id, parent, ts, disposition, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_TOKEN = "INSERT INTO plane_tokens (kind, token, expires_at) VALUES ('approval', ?, ?) ON CONFLICT DO NOTHING"  # noqa: S105
Row = dict[str, Any]


class Refused(Exception):
    """The real upgrade fails here, too; everything is rolled back. The text holds nothing of the store."""


def _event(row: Row) -> tuple[Any, ...]:
    task = row["task_id"]
    return "task_event", task, row["seq"], task, task, row["ts"], "active", _json(row)


def _task(row: Row) -> tuple[Any, ...]:
    task, disposition = row["task_id"], "terminal" if row["state"] in _TERMINAL else "active"
    return "task", task, 0, task, None, row["updated_at"], disposition, _json(row)


def _demotion(row: Row) -> tuple[Any, ...]:
    server = row["server"]
    return "demotion", server, 0, server, None, row["recorded_at"], "active", _json(row)


def _token(row: Row) -> tuple[Any, ...]:
    return row["nonce"], row["expires_at"]


# In the order of the copy.
_COPIES: tuple[tuple[str, str, Callable[[Row], tuple[Any, ...]]], ...] = (
    ("task_events", _RECORD, _event),
    ("tasks", _RECORD, _task),
    ("mcp_demotions", _RECORD, _demotion),
    ("spent_ask_states", _TOKEN, _token),
)


def _nothing(_name: str) -> None:
    pass


def upgrade(path: Path, to: int, step: Step = _nothing) -> None:
    """Bring a file to a generation, in one transaction.

    Parameters
    ----------
    path : a copy; it is written. to : 6 to 12. step : told the name of what comes next.

    Raises
    ------
    Refused : the file is newer, would be wiped, or holds text that the copy cannot read.
    sqlite3.Error : SQLite refused it.
    """
    with closing(sqlite3.connect(path, timeout=5.0, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA foreign_keys = ON")
        con.execute("PRAGMA synchronous = FULL")
        step("BEGIN")
        con.execute("BEGIN IMMEDIATE")
        try:
            _steps(con, to, step)
            step("COMMIT")
            con.execute("COMMIT")
        except BaseException:
            con.execute("ROLLBACK")
            raise
        step("close")


def _steps(con: sqlite3.Connection, to: int, step: Step) -> None:
    (version,) = con.execute("PRAGMA user_version").fetchone()
    if version > to:
        # Plug-ins before 11 would stamp it down; that is no upgrade.
        raise Refused(f"user_version is {version}, newer than {to}")
    names = _names(con)
    if version < 5 and any(name in names for name in ANCIENT):
        raise Refused(f"user_version is {version}: the plug-in would drop every table")

    def run(statement: str) -> None:
        step(" ".join(statement.split()[:3]))
        con.execute(statement)

    if to >= 10 and "usage_metering" in names and "priced_from_ms" not in _columns(con, "usage_metering"):
        _rebuild(con, to, run)
    for statement in busbar_shapes.statements(to):
        if _made(statement) not in _names(con):
            run(statement)
    run("INSERT INTO store_revision (id, revision) VALUES (0, 0) ON CONFLICT DO NOTHING")
    if version < 6:
        for table, only in (("usage_windows", "model = '' AND "), ("usage_metering", "")):
            rows = f"{only}billable_requests = 0 AND requests > 0"
            run(f"UPDATE {table} SET billable_requests = requests WHERE {rows}")  # noqa: S608 - names above
    if to >= 10:
        there = _columns(con, "keys")
        for name, kind in _KEYS.items():
            if name not in there:
                run(f"ALTER TABLE keys ADD COLUMN {name} {kind}")
        for table, statement, made in _COPIES:
            if table in names:
                con.executemany(statement, (made(row) for row in _rows(con, table, step)))
                run(f"DROP TABLE {table}")
    if to >= 12 and "valid_until_ms" not in _columns(con, "money_slices"):
        run("ALTER TABLE money_slices ADD COLUMN valid_until_ms INTEGER NOT NULL DEFAULT -1")
    run(f"PRAGMA user_version = {int(to)}")


def _rebuild(con: sqlite3.Connection, to: int, run: Callable[[str], None]) -> None:
    """A wider primary key needs a new table; the guard names the old one and has to go for the while."""
    (made,) = (s for s in busbar_shapes.statements(to) if _made(s) == "usage_metering")
    listed = ", ".join(_columns(con, "usage_metering"))
    run("DROP TRIGGER IF EXISTS keys_guard_hard_delete")
    run(made.replace("usage_metering", "usage_metering_new", 1))
    run(f"INSERT INTO usage_metering_new ({listed}, priced_from_ms) SELECT {listed}, 0 FROM usage_metering")  # noqa: S608
    run("DROP TABLE usage_metering")
    run("ALTER TABLE usage_metering_new RENAME TO usage_metering")


def _rows(con: sqlite3.Connection, table: str, step: Step) -> Iterator[Row]:
    """The rows of a typed table, negative numbers as 0 (an expiry stays as it is), text held to be UTF-8."""
    cursor = con.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name above
    names = [column[0] for column in cursor.description]
    # Read as bytes: the message of the driver would show the text that it could not read.
    con.text_factory = bytes
    try:
        for number, values in enumerate(cursor, 1):
            step(f"row {number} of {table}")
            yield {name: _value(table, name, value) for name, value in zip(names, values, strict=True)}
    finally:
        con.text_factory = str


def _value(table: str, name: str, value: Any) -> Any:
    if isinstance(value, int):
        return value if name == "expires_at" else max(0, value)
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise Refused(f"column {name} of {table} holds text that is not UTF-8") from None


def _json(row: Row) -> bytes:
    # Not that of the comparison: two spellings of one rule find more than one.
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()


def _names(con: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in con.execute("SELECT name FROM sqlite_master")}


def _columns(con: sqlite3.Connection, table: str) -> list[str]:
    return [str(name) for (name,) in con.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _made(statement: str) -> str:
    """The name of what a CREATE makes."""
    found = re.match(r"CREATE (?:UNIQUE )?(?:TABLE|INDEX|TRIGGER) \"?(\w+)", statement)
    if found is None:
        raise AssertionError(statement)
    return found[1]


def main() -> int:
    """Upgrade the file named on the command line; 1 and one line where that fails."""
    to, path = sys.argv[1:3]
    try:
        upgrade(Path(path), int(to))
    except (Refused, sqlite3.Error) as error:
        print(f"rolled back: {error if isinstance(error, Refused) else type(error).__name__}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
