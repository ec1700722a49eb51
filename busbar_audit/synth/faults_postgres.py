"""Faults that only a store on PostgreSQL can have: its version rows, its constraints, tables an upgrade left behind."""

from __future__ import annotations

import sqlite3

from busbar_audit.synth.fault import Fault, Planted, by_statements

_ALL, _NEW = (6, 10, 11), (10, 11)


def _nowhere(c: sqlite3.Connection) -> Planted:
    raise LookupError("only a store on PostgreSQL can have it")


def _fault(name: str, title: str, generations: tuple[int, ...], short: str, *statements: str) -> Fault:
    way = by_statements(*statements, short=short, generations=generations)
    return Fault(name, title, (), _nowhere, on_postgres=way)


FAULTS: tuple[Fault, ...] = (
    _fault("version_gone", "no row says the version", _ALL, "S15", "DELETE FROM busbar_schema"),
    _fault(
        "work_stranded",
        "tasks of a development version were left behind by the upgrade",
        _NEW,
        "S10",
        "CREATE TABLE tasks (task_id text)",
        "INSERT INTO tasks VALUES ('t1')",
    ),
    _fault("column_gone", "a column is missing", _ALL, "S06", "ALTER TABLE denylist DROP COLUMN reason"),
    _fault(
        "column_type", "a column has another type", _ALL, "S06", "ALTER TABLE keys ALTER COLUMN labels TYPE varchar"
    ),
    _fault(
        "no_primary_key",
        "a primary key is gone",
        _NEW,
        "S06",
        "ALTER TABLE plane_tokens DROP CONSTRAINT plane_tokens_pkey",
    ),
    _fault("sessions_dropped", "a table is missing", (11,), "S06", "DROP TABLE store_sessions"),
)
