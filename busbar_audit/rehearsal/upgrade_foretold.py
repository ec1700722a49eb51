"""What the upgrade of a gateway's SQLite store will do, told of the store before it is run (sheet 8.1, 8.2).

Counted by SQL alone, beside the row by row comparison: predicted and done are told in two ways.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from busbar_audit.rehearsal.upgrade_emulation import ANCIENT
from busbar_audit.rehearsal.upgrade_result import Foretold
from busbar_audit.warehouse import quoted

_ENDED = "('completed', 'failed', 'canceled', 'rejected')"
# Rows of a typed table that become records: one for each key, where no record has it yet.
_KINDS = {
    "task_events": ("R7", "task events that become records", "task_event", "task_id, max(seq, 0)"),
    "tasks": ("R8", "tasks that become records", "task", "task_id, 0"),
    "mcp_demotions": ("R9", "demotions that become records", "demotion", "server, 0"),
}
_NUMBERS = {
    "task_events": ("seq", "ts"),
    "tasks": ("artifact_cursor", "created_at", "updated_at"),
    "mcp_demotions": ("recorded_at",),
}
_TEXTS = {
    "task_events": (
        "task_id", "kind", "context_id", "principal", "agent_id", "state", "request_id", "prev_hash", "hash",
    ),
    "tasks": ("task_id", "context_id", "principal", "direction", "state", "agent_id", "push_callback"),
    "mcp_demotions": ("server", "reason"),
    "spent_ask_states": ("nonce",),
}  # fmt: skip


@dataclass
class Prediction:
    """What is told of an upgrade. warnings : what will fail, be lost or be changed silently. wiped : nothing would be left."""

    lines: list[Foretold] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    wiped: bool = False


def foretell(path: Path, stamp: int, to: int) -> Prediction:
    """Tell what an upgrade from a stamp to a generation will do.

    Raises
    ------
    sqlite3.Error : the copy cannot be read.
    """
    told = Prediction()
    with closing(_reading(path)) as con:
        names = _names(con, "main")
        if stamp < 5 and any(name in names for name in ANCIENT):
            rows = sum(_one(con, f"SELECT count(*) FROM {quoted(name)}") for name in names - {"store_revision"})  # noqa: S608
            told.wiped = rows > 0
            if rows:
                told.warnings.append(f"user_version is {stamp}: every table would be dropped, {rows:,} row(s) wiped")
            return told
        told.lines = [Foretold(*line) for line in _lines(con, names, stamp, to)]
        if to >= 10:
            told.warnings = list(_hazards(con, names))
    return told


def held_against(told: Prediction, before: Path, after: Path) -> list[Foretold]:
    """The lines of a prediction with what was done.

    Raises
    ------
    sqlite3.Error : a copy cannot be read.
    """
    with closing(_reading(after)) as con:
        con.execute("ATTACH DATABASE ? AS was", (f"{before.absolute().as_uri()}?mode=ro",))
        names, had = _names(con, "main"), _names(con, "was")
        return [replace(line, done=_done(con, line.what, names, had)) for line in told.lines]


def _lines(con: sqlite3.Connection, names: set[str], stamp: int, to: int) -> Iterator[tuple[str, str, int]]:
    if stamp < 6:
        yield (
            "R4",
            "windows whose requests become billable",
            _one(con, "SELECT count(*) FROM usage_windows WHERE model = '' AND billable_requests = 0 AND requests > 0"),
        )
        yield (
            "R5",
            "metering rows whose requests become billable",
            _one(con, "SELECT count(*) FROM usage_metering WHERE billable_requests = 0 AND requests > 0"),
        )
    if to < 10:
        return
    if not _one(con, "SELECT count(*) FROM pragma_table_info('usage_metering') WHERE name = 'priced_from_ms'"):
        yield "R5", "metering rows that are rebuilt", _one(con, "SELECT count(*) FROM usage_metering")
    for table, (rule, what, kind, key) in _KINDS.items():
        if table in names:
            yield rule, what, _becoming(con, names, table, kind, key)
    if "tasks" in names:
        yield "R8", "of these tasks ended", _one(con, f"SELECT count(*) FROM tasks WHERE state IN {_ENDED}")  # noqa: S608
    if "spent_ask_states" in names:
        taken = "AND nonce NOT IN (SELECT token FROM plane_tokens WHERE kind = 'approval')"
        yield (
            "R9",
            "spent approvals that become tokens",
            _one(
                con,
                f"SELECT count(*) FROM spent_ask_states WHERE 1 {taken if 'plane_tokens' in names else ''}",  # noqa: S608
            ),
        )
    if "mcp_calls" in names:
        yield (
            "R10",
            "calls that stay and that the new gateway does not read",
            _one(con, "SELECT count(*) FROM mcp_calls"),
        )


def _becoming(con: sqlite3.Connection, names: set[str], table: str, kind: str, key: str) -> int:
    rows = f"SELECT DISTINCT {key} FROM {table}"  # noqa: S608 - names above
    if "plane_records" in names:
        rows += f" EXCEPT SELECT identity, seq FROM plane_records WHERE kind = '{kind}'"  # noqa: S608
    return _one(con, f"SELECT count(*) FROM ({rows})")  # noqa: S608


def _hazards(con: sqlite3.Connection, names: set[str]) -> Iterator[str]:
    for table, (rule, _, kind, key) in _KINDS.items():
        if table not in names:
            continue
        lost = _one(con, f"SELECT count(*) FROM {table}") - _becoming(con, names, table, kind, key)  # noqa: S608
        if lost:
            yield f"R14 {lost:,} row(s) of {table} have a key that another record has: lost without a word ({rule})"
        negative = " OR ".join(f"{name} < 0" for name in _NUMBERS[table])
        if changed := _one(con, f"SELECT count(*) FROM {table} WHERE {negative}"):  # noqa: S608
            yield f"{rule} {changed:,} row(s) of {table} hold a number below 0, which becomes 0 without a word"
    con.text_factory = bytes
    for table, columns in _TEXTS.items():
        if table in names and (rows := _unreadable(con, table, columns)):
            yield f"{rows:,} row(s) of {table} hold text that is not UTF-8: the upgrade will fail and be rolled back"
    con.text_factory = str


def _unreadable(con: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> int:
    rows = 0
    for values in con.execute(f"SELECT {', '.join(columns)} FROM {table}"):  # noqa: S608 - names above
        try:
            b"".join(values).decode()
        except UnicodeDecodeError:
            rows += 1
    return rows


def _done(con: sqlite3.Connection, what: str, names: set[str], had: set[str]) -> int | None:
    same = {
        "windows whose requests become billable": ("usage_windows", "window_start, bucket_id, model"),
        "metering rows whose requests become billable": ("usage_metering", "bucket, key_id, provider, model"),
    }
    if what in same:
        table, key = same[what]
        changed = "a.billable_requests = a.requests AND b.billable_requests = 0 AND b.requests > 0"
        return _one(con, f"SELECT count(*) FROM was.{table} b JOIN main.{table} a USING ({key}) WHERE {changed}")  # noqa: S608
    if what == "metering rows that are rebuilt":
        return _one(con, "SELECT count(*) FROM usage_metering WHERE priced_from_ms = 0")
    if what.startswith("calls that stay"):
        return _one(con, "SELECT count(*) FROM mcp_calls") if "mcp_calls" in names else 0
    if what == "spent approvals that become tokens":
        return _new(con, "plane_tokens", "kind = 'approval'", had) if "plane_tokens" in names else 0
    if "plane_records" not in names:
        return 0
    if what == "of these tasks ended":
        return _new(con, "plane_records", "kind = 'task' AND disposition = 'terminal'", had)
    kind = next(kind for _, told, kind, _ in _KINDS.values() if told == what)
    return _new(con, "plane_records", f"kind = '{kind}'", had)


def _new(con: sqlite3.Connection, table: str, rows: str, had: set[str]) -> int:
    now = _one(con, f"SELECT count(*) FROM main.{table} WHERE {rows}")  # noqa: S608 - names above
    return now - (_one(con, f"SELECT count(*) FROM was.{table} WHERE {rows}") if table in had else 0)  # noqa: S608


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _names(con: sqlite3.Connection, schema: str) -> set[str]:
    listed = f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"  # noqa: S608
    return {str(name) for (name,) in con.execute(listed)}


def _one(con: sqlite3.Connection, query: str) -> int:
    (count,) = con.execute(query).fetchone()
    return int(count)
