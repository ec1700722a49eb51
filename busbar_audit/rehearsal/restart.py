"""The restart proof: does the store keep what it accepted, across a real restart, and does a purge take no more than it may?

The store is copied before and after each of the operator's commands; every copy becomes rows of (phase, subject, scope,
place, state, digest), and the checks BUS-D05 to BUS-D08 compare the phases.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from busbar_audit.auditing import RestartRow, audit
from busbar_audit.errors import ReportError, UsageError
from busbar_audit.rehearsal.commands import Ran, run
from busbar_audit.result import Result
from busbar_audit.store import Store, open_store
from busbar_audit.text import printable
from busbar_audit.warehouse import quoted, read_only

# Tables whose rows are compared: the columns that place a row, and the column of its state.
_TABLES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "audit_log": (("seq",), None),
    "mcp_calls": (("principal", "seq"), None),
    "task_events": (("task_id", "seq"), None),
    "tasks": (("task_id",), "state"),
    "mcp_demotions": (("server",), None),
    "denylist": (("sub",), None),
    "keys": (("id",), None),
    "credentials": (("id",), None),
    "plane_records": (("kind", "identity", "seq"), None),
}

# The verdict is about the proof alone: what else is to be said of the store, an audit says.
PROOF = ("BUS-S01", "BUS-D05", "BUS-D06", "BUS-D07", "BUS-D08")


@dataclass(frozen=True)
class Commands:
    """The operator's commands: write some records, restart the gateway, optionally read and purge."""

    write: str
    restart: str
    read: str | None = None
    purge: str | None = None
    timeout: float = 120.0
    shell: bool = False


@dataclass(frozen=True)
class Proof:
    """The audited end state, and how the commands ended."""

    result: Result
    ran: tuple[tuple[str, Ran], ...]


def restart_proof(
    target: str, commands: Commands, *, keep: Callable[[Proof], None], progress: Callable[[str], None] | None = None
) -> Proof:
    """Copy, write, copy, restart, copy, purge, copy; then judge what the copies show.

    Parameters
    ----------
    target : the store as its own gateway uses it.
    keep : called with the proof while the store is still open, to write a report.
    progress : called with a line of text at each step.

    Raises
    ------
    ReportError : a command failed or was stopped, so nothing is proven.
    """
    say = progress or (lambda _: None)
    rows: list[RestartRow] = []
    ran: list[tuple[str, Ran]] = []
    steps = [("write", "written", commands.write), ("restart", "restarted", commands.restart)]
    steps += [("read", "", commands.read)] if commands.read else []
    steps += [("purge", "purged", commands.purge)] if commands.purge else []

    with open_store(target, progress=progress) as store:
        rows.extend(_rows("before", store))
    for at, (name, phase, command) in enumerate(steps):
        say(f"running the {name} command")
        ended = run(command, timeout=commands.timeout, target=target, shell=commands.shell)
        ran.append((name, ended))
        if not ended.succeeded:
            raise ReportError(
                f"The {name} command did not succeed: {ended}.\n{ended.output[-2000:].strip()}",
                "Every command has to end with exit code 0 before anything is proven.",
                "Nothing is said about the store. Mend the command, or raise --timeout.",
            )
        if not phase:
            continue
        with open_store(target, progress=progress) as store:
            rows.extend(_rows(phase, store))
            if all(not later for _, later, _ in steps[at + 1 :]):
                proof = Proof(audit(store, only=PROOF, restart=rows, progress=progress), tuple(ran))
                keep(proof)
    return proof


def _rows(phase: str, store: Store) -> Iterator[RestartRow]:
    if store.engine != "sqlite":
        raise UsageError(
            f"A restart proof of {printable(store.target.label)}.",
            "This version proves SQLite stores only.",
            "Audit the store instead; no command was run.",
        )
    with closing(read_only(store.snapshot.path)) as con:
        for table, (key, state) in _TABLES.items():
            if table in store.found.tables:
                yield from _table_rows(con, phase, table, key, state)


def _table_rows(
    con: sqlite3.Connection, phase: str, table: str, key: tuple[str, ...], state: str | None
) -> Iterator[RestartRow]:
    cursor = con.execute(f"SELECT * FROM {quoted(table)}")  # noqa: S608 - quoted name
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        place = tuple(_text(row.get(column)) for column in key)
        subject, condition = table, _text(row.get(state)) if state else None
        if table == "plane_records":
            kind, place = place[0], place[1:]
            subject = f"plane_records {kind}"
            condition = _body_state(row.get("body")) if kind == "task" else None
        digest = hashlib.sha256(repr([(name, row[name]) for name in names]).encode()).hexdigest()
        yield phase, subject, place[0], " / ".join(place), condition, digest


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _body_state(body: Any) -> str | None:
    try:
        return str(json.loads(body)["state"])
    except (TypeError, ValueError, KeyError):
        return None
