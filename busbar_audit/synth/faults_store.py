"""Faults of the file and its schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import replace

from busbar_audit.stores.busbar_shapes import TRIGGERS, statements
from busbar_audit.synth.fault import Fault, OnPostgres, Planted, absent, by_statements, codes

_ALL = tuple(range(5, 13))
_NEW = (10, 11, 12)
_OF_FILE = absent("about the file, its stamp or its journal, which PostgreSQL has not")
_OF_TRIGGER = absent("the tables have no triggers there")
_OF_OPTION = absent("tables have no such option there")
_NOTE = "ALTER TABLE denylist ADD COLUMN note TEXT"
_OF_META = absent("there is no store_meta there")


def _sql(
    name: str, title: str, generations: Collection[int], short: str, *commands: str, on_postgres: OnPostgres
) -> Fault:
    def apply(c: sqlite3.Connection) -> Planted:
        for command in commands:
            c.execute(command).fetchall()
        return Planted(codes(*short.split()))

    way = on_postgres if on_postgres.rows or on_postgres.short else replace(on_postgres, short=short)
    return Fault(name, title, generations, apply, on_postgres=way)


def _spans(table: str, first: int, last: int) -> tuple[int, ...]:
    # A left-over mcp_calls has its guard too, but only an upgraded store has it; the fault stays with 7 to 9.
    return tuple(range(first, min(last, 9) + 1)) if table == "mcp_calls" else tuple(range(first, last + 1))


def _no_trigger(name: str, table: str, first: int, last: int) -> Fault:
    return _sql(
        f"no_{name}",
        f"trigger {name} is gone",
        _spans(table, first, last),
        "S07",
        f"DROP TRIGGER {name}",
        on_postgres=_OF_TRIGGER,
    )


def _rebuilt(
    name: str,
    title: str,
    *,
    reason: str = "TEXT NOT NULL DEFAULT ''",
    options: str = "STRICT, WITHOUT ROWID",
    on_postgres: OnPostgres = _OF_OPTION,
) -> Fault:
    """Return a fault that rebuilds the denylist with another definition, rows kept."""
    return _sql(
        name,
        title,
        _ALL,
        "S06",
        "ALTER TABLE denylist RENAME TO old",
        f"CREATE TABLE denylist (sub TEXT NOT NULL PRIMARY KEY, reason {reason}, "
        f"created_at INTEGER NOT NULL DEFAULT 0) {options}",
        "INSERT INTO denylist (sub, reason, created_at) SELECT sub, reason, created_at FROM old",
        "DROP TABLE old",
        on_postgres=on_postgres,
    )


def _weak(name: str, title: str, body: str) -> Fault:
    return _sql(
        name,
        title,
        _ALL,
        "S07",
        "DROP TRIGGER audit_log_no_update",
        f"CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log {body}",
        on_postgres=_OF_TRIGGER,
    )


def _legacy(c: sqlite3.Connection) -> Planted:
    for sql in statements(9):
        if sql.lstrip().startswith(("CREATE TABLE tasks", "CREATE TABLE mcp_demotions", "CREATE INDEX tasks_")):
            c.execute(sql)
    return Planted(codes("S09"))


def _check_broken(c: sqlite3.Connection) -> Planted:
    c.execute("PRAGMA ignore_check_constraints = ON")
    c.execute("UPDATE keys SET enabled = 2 WHERE id = 'vk_alice'")
    return Planted(codes("S01"))


def _newer(c: sqlite3.Connection) -> Planted:
    c.execute("PRAGMA user_version = 13")
    return Planted(codes("S05"), outcome="could_not_run")


FAULTS: tuple[Fault, ...] = (
    Fault("check_broken", "a row breaks a CHECK", _ALL, _check_broken, on_postgres=_OF_FILE),
    _sql(
        "credential_orphan",
        "a credential without a key",
        _ALL,
        "S02",
        "INSERT INTO credentials (id, key_id, kind, slot, public_id, secret, secret_form, created_at, updated_at) "
        "VALUES ('cred_x', 'vk_gone', 'sigv4', 0, 'AKIAX', 'v1:aesgcm:00', 'recoverable', 1, 1)",
        on_postgres=OnPostgres(before=("ALTER TABLE credentials DROP CONSTRAINT credentials_key_id_fkey",)),
    ),
    _sql("stamp_lost", "the version stamp is 0", (5, 6), "S03", "PRAGMA user_version = 0", on_postgres=_OF_FILE),
    _sql(
        "stamp_lost_late",
        "the version stamp is 0",
        tuple(range(7, 13)),
        "S03 S04",
        "PRAGMA user_version = 0",
        on_postgres=_OF_FILE,
    ),
    _sql(
        "stamp_down",
        "an old plug-in stamped the store down",
        tuple(range(7, 13)),
        "S04",
        "PRAGMA user_version = 6",
        on_postgres=by_statements("UPDATE busbar_schema SET version = 6", short="S15", generations=(10, 11)),
    ),
    Fault(
        "stamp_new",
        "a stamp from the future",
        (12,),
        _newer,
        on_postgres=by_statements("INSERT INTO busbar_schema VALUES (12)", short="S05", generations=(11,)),
    ),
    _sql(
        "column_added",
        "a column too many",
        _ALL,
        "S06",
        _NOTE,
        on_postgres=by_statements(_NOTE),
    ),
    _sql("meta_dropped", "a table is missing", _ALL, "S06", "DROP TABLE store_meta", on_postgres=_OF_META),
    _rebuilt("not_strict", "a table is not STRICT", options="WITHOUT ROWID"),
    _rebuilt("with_rowid", "a table has row ids", options="STRICT"),
    _rebuilt(
        "other_default",
        "a column has another default",
        reason="TEXT NOT NULL DEFAULT '?'",
        on_postgres=by_statements("ALTER TABLE denylist ALTER reason SET DEFAULT '?'"),
    ),
    _rebuilt(
        "nullable",
        "a column may be NULL",
        reason="TEXT DEFAULT ''",
        on_postgres=by_statements("ALTER TABLE denylist ALTER reason DROP NOT NULL"),
    ),
    *(_no_trigger(name, table, first, last) for name, table, _, first, last in TRIGGERS),
    _weak("guard_when_0", "a guard that never fires", "WHEN 0 BEGIN SELECT RAISE(ABORT, 'x'); END"),
    _weak("guard_ignores", "a guard that swallows the update", "BEGIN SELECT RAISE(IGNORE); END"),
    _weak("guard_empty", "a guard that does nothing", "BEGIN SELECT 1; END"),
    _sql(
        "no_unique_credential",
        "a unique index is gone",
        _ALL,
        "S08",
        "DROP INDEX cred_slot_uq",
        on_postgres=by_statements("ALTER TABLE credentials DROP CONSTRAINT credentials_slot_uniq"),
    ),
    _sql(
        "no_resource_index",
        "an index is gone",
        _ALL,
        "S08",
        "DROP INDEX audit_resource_seq_idx",
        on_postgres=by_statements("DROP INDEX idx_keys_revision"),
    ),
    _sql(
        "not_unique_credential",
        "a unique index is not unique",
        _ALL,
        "S08",
        "DROP INDEX cred_public_id_uq",
        "CREATE INDEX cred_public_id_uq ON credentials(kind, public_id)",
        on_postgres=by_statements(
            "ALTER TABLE credentials DROP CONSTRAINT credentials_public_id_uniq",
            "CREATE INDEX credentials_public_id_uniq ON credentials(kind, public_id)",
        ),
    ),
    _sql(
        "no_calls_index",
        "the time index of calls is gone",
        (7, 8, 9),
        "S08",
        "DROP INDEX mcp_calls_ts_idx",
        on_postgres=by_statements("DROP INDEX plane_chain_kind_ts_idx", generations=(10, 11)),
    ),
    Fault(
        "legacy_back",
        "an old plug-in made its tables again after the upgrade",
        _NEW,
        _legacy,
        on_postgres=absent("their definitions there are not known; work left in them is BUS-S10"),
    ),
    _sql("not_wal", "the journal mode is not WAL", _ALL, "S11", "PRAGMA journal_mode = DELETE", on_postgres=_OF_FILE),
    _sql(
        "revision_behind",
        "the revision counter is behind its rows",
        _ALL,
        "S12",
        "UPDATE store_revision SET revision = 1",
        on_postgres=OnPostgres(),
    ),
    _sql(
        "revision_gone",
        "the revision row is gone",
        _ALL,
        "S12",
        "DELETE FROM store_revision",
        on_postgres=OnPostgres(),
    ),
    _sql(
        "meta_written",
        "somebody wrote into store_meta",
        _ALL,
        "S13",
        "INSERT INTO store_meta VALUES ('owner', 'me')",
        on_postgres=_OF_META,
    ),
)
