"""Trying the append-only triggers: the second proof beside reading their text.

Works on the private copy only, each try inside a transaction that is always rolled back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

# A trigger of a hostile store may loop for ever; this many virtual machine steps are far more than an honest one needs.
_STEPS = 5_000_000
NO_ROW = "not tried: no such row"


@dataclass(frozen=True)
class Guard:
    """A table whose rows must refuse an action.

    trigger : the trigger that has to refuse.
    table, action : 'update' or 'delete' on it.
    where : SQL condition naming the rows under protection.
    key : the columns that order and identify a row.
    touch : a column to set to its own value.
    sample : values of a row that can be inserted to be tried, column by column.
    """

    trigger: str
    table: str
    action: str
    where: str
    key: tuple[str, ...]
    touch: str
    sample: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Probe:
    """What one try gave: refused, allowed, or not tried (why)."""

    trigger: str
    table: str
    action: str
    record: str
    outcome: str


def probe(copy: Path, guards: Sequence[Guard], tables: frozenset[str]) -> list[Probe]:
    """Try every guard whose table exists on its first, its last and one inserted row.

    Parameters
    ----------
    copy : a private copy of the store; its content is the same afterwards.
    guards : what to try.
    tables : tables of the copy.

    Returns
    -------
    list of Probe, three a guard.
    """
    results: list[Probe] = []
    with closing(sqlite3.connect(copy, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = MEMORY")
        con.execute("PRAGMA cache_spill = OFF")
        for guard in guards:
            if guard.table in tables:
                results.extend(_try(con, guard, record) for record in ("first", "last", "inserted"))
    return results


def _try(con: sqlite3.Connection, guard: Guard, record: str) -> Probe:
    # A transaction for each try: an interrupted statement ends the one it is in, and nothing may be committed after it.
    con.execute("BEGIN")
    con.set_progress_handler(lambda: 1, _STEPS)
    try:
        outcome = _act(con, guard, *(_inserted(con, guard) if record == "inserted" else _end(guard, record)))
    except sqlite3.Error as error:
        outcome = f"not tried: {type(error).__name__}"
    finally:
        con.set_progress_handler(None, 0)
        if con.in_transaction:
            con.execute("ROLLBACK")
    return Probe(guard.trigger, guard.table, guard.action, record, outcome)


def _end(guard: Guard, record: str) -> tuple[str, tuple[object, ...]]:
    """Condition for the first or last row. Its key stays in SQLite: a text that is no UTF-8 would not come back the same."""
    key = ", ".join(guard.key)
    order = ", ".join(f"{column} DESC" if record == "last" else column for column in guard.key)
    end = f"SELECT {key} FROM {guard.table} WHERE {guard.where} ORDER BY {order} LIMIT 1"  # noqa: S608 - our own names
    return f"({key}) IN ({end})", ()


def _inserted(con: sqlite3.Connection, guard: Guard) -> tuple[str, tuple[object, ...]]:
    values = dict(guard.sample)
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    con.execute(
        f"INSERT INTO {guard.table} ({names}) VALUES ({marks})",  # noqa: S608 - our own names, values bound
        tuple(values.values()),
    )
    return " AND ".join(f"{column} IS ?" for column in guard.key), tuple(values[column] for column in guard.key)


def _act(con: sqlite3.Connection, guard: Guard, match: str, values: tuple[object, ...]) -> str:
    # Names are our own, values are bound.
    update = f"UPDATE {guard.table} SET {guard.touch} = {guard.touch} WHERE {match}"  # noqa: S608
    delete = f"DELETE FROM {guard.table} WHERE {match}"  # noqa: S608
    try:
        done = con.execute(update if guard.action == "update" else delete, values)
    except sqlite3.IntegrityError:
        return "refused"
    return "allowed" if done.rowcount else NO_ROW
