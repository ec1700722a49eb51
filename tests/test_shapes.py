"""The expected schema of every SQLite generation of busbar, and what counts as a difference from it."""

from __future__ import annotations

import gzip
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from busbar_audit.errors import UsageError
from busbar_audit.stores import busbar_shapes as busbar
from busbar_audit.stores.shapes import differences, read, trigger_tokens

SAMPLES = Path(os.environ.get("BUSBAR_AUDIT_SAMPLES", Path(__file__).parents[1].parent / "shared" / "stores"))
REAL = [
    ("v6_fixture", 6),
    ("v8_fixture", 8),
    ("v8_realistic", 8),
    ("v9_fixture", 9),
    ("v10_from_v9_fixture", 10),
    ("v12_from_v9_fixture", 12),
]


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


def found(connection: sqlite3.Connection, generation: int) -> list[tuple[str, str]]:
    return [(d.kind, d.name) for d in differences(busbar.expected(generation), read(connection))]


@pytest.mark.parametrize("generation", busbar.GENERATIONS)
@pytest.mark.parametrize("leftovers", [False, True])
def test_a_created_store_has_the_expected_shape(store: sqlite3.Connection, generation: int, leftovers: bool) -> None:
    busbar.create(store, generation, leftovers=leftovers)
    assert found(store, generation) == []
    assert store.execute("PRAGMA user_version").fetchone() == (generation,)
    assert store.execute("SELECT id, revision FROM store_revision").fetchall() == [(0, 0)]
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.real_stores
@pytest.mark.parametrize(("name", "generation"), REAL)
def test_real_stores_have_the_expected_shape(name: str, generation: int, tmp_path: Path) -> None:
    packed = SAMPLES / "busbar" / f"{name}.db.gz"
    if not packed.exists():
        pytest.skip(f"sample store {name} is not there; set BUSBAR_AUDIT_SAMPLES")
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    connection = sqlite3.connect(path)
    try:
        assert differences(busbar.expected(generation), read(connection)) == ()
        assert connection.execute("PRAGMA user_version").fetchone() == (generation,)
    finally:
        connection.close()


def test_generations_differ_where_the_sheet_says() -> None:
    names = {g: set(busbar.expected(g).tables) for g in busbar.GENERATIONS}
    assert names[5] == names[6]
    assert names[7] - names[6] == {"mcp_calls"}
    assert names[8] - names[7] == {"tasks", "task_events"}
    assert names[9] - names[8] == {"mcp_demotions", "spent_ask_states"}
    assert names[9] - names[10] == {"mcp_calls", *busbar.LEGACY_TABLES}
    assert names[10] - names[9] == {"plane_records", "plane_tokens", "usage_window_units", "usage_metering_units"}
    assert len(names[11] - names[10]) == 7
    assert names[12] - names[11] == {"money_epoch"}
    assert busbar.expected(10).optional_tables.keys() == {"mcp_calls"}
    keys = [c.name for c in busbar.expected(10).tables["keys"].columns]
    assert keys[-4:] == ["scope_grants", "idp_subject", "binding_mode", "minted_by"]
    metering = busbar.expected(10).tables["usage_metering"].columns
    assert [c.name for c in sorted(metering, key=lambda c: c.pk_position) if c.pk_position][-1] == "priced_from_ms"
    assert metering[-1].name == "priced_from_ms"


def test_triggers_are_described_by_what_they_do() -> None:
    triggers = busbar.expected(9).triggers
    guards = {name for name, t in triggers.items() if t.guard}
    assert guards == {"keys_guard_hard_delete", "audit_log_no_update", "audit_log_no_delete", "mcp_calls_no_update"}
    assert {name for name, t in triggers.items() if t.effect == "cascade"} == {
        "keys_cascade_credentials",
        "tasks_cascade_events",
    }
    assert {name for name, t in triggers.items() if t.when} == {"keys_guard_hard_delete"}
    assert busbar.expected(12).triggers["plane_records_chain_no_update"].when


@pytest.mark.parametrize(
    "sql",
    [
        'create trigger if not exists "audit_log_no_update" before update on [audit_log] for each row '
        "begin select raise(abort, 'other words'); end",
        "CREATE TRIGGER audit_log_no_update /* x */ BEFORE UPDATE ON audit_log -- y\n"
        "BEGIN SELECT RAISE ( ABORT , 'it''s fixed' ) ; END",
    ],
)
def test_spelling_of_a_trigger_is_no_difference(store: sqlite3.Connection, sql: str) -> None:
    busbar.create(store, 9)
    store.execute("DROP TRIGGER audit_log_no_update")
    store.execute(sql)
    assert found(store, 9) == []


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("BEFORE UPDATE ON audit_log WHEN 0 BEGIN SELECT RAISE(ABORT, 'x'); END", "condition"),
        ("BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(IGNORE); END", "no longer aborts"),
        ("BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'x') WHERE 0; END", "no longer aborts"),
        ("BEFORE UPDATE ON audit_log BEGIN SELECT 1; END", "no longer aborts"),
        ("BEFORE UPDATE OF ts ON audit_log BEGIN SELECT RAISE(ABORT, 'x'); END", "fires"),
        ("AFTER UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'x'); END", "fires"),
        ("BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'x'); END", "fires"),
        ("BEFORE UPDATE ON keys BEGIN SELECT RAISE(ABORT, 'x'); END", "fires"),
    ],
)
def test_a_weakened_guard_is_seen(store: sqlite3.Connection, sql: str, word: str) -> None:
    busbar.create(store, 9)
    store.execute("DROP TRIGGER audit_log_no_update")
    store.execute(f"CREATE TRIGGER audit_log_no_update {sql}")
    (only,) = differences(busbar.expected(9), read(store))
    assert (only.kind, only.name) == ("trigger-differs", "audit_log_no_update")
    assert word in only.detail


def test_a_conditional_guard_with_another_condition_is_seen(store: sqlite3.Connection) -> None:
    busbar.create(store, 10)
    store.execute("DROP TRIGGER plane_records_chain_no_update")
    store.execute(
        "CREATE TRIGGER plane_records_chain_no_update BEFORE UPDATE ON plane_records "
        "WHEN OLD.parent IS NOT NULL AND 0 BEGIN SELECT RAISE(ABORT, 'x'); END"
    )
    assert found(store, 10) == [("trigger-differs", "plane_records_chain_no_update")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("DROP TRIGGER audit_log_no_delete", [("trigger-missing", "audit_log_no_delete")]),
        ("DROP INDEX cred_slot_uq", [("index-missing", "cred_slot_uq")]),
        (
            "DROP INDEX keys_group_live_idx; CREATE INDEX keys_group_live_idx ON keys(key_group)",
            [("index-differs", "keys_group_live_idx")],
        ),
        (
            "DROP INDEX cred_slot_uq; CREATE INDEX cred_slot_uq ON credentials(key_id, kind, slot)",
            [("index-differs", "cred_slot_uq")],
        ),
        ("ALTER TABLE denylist ADD COLUMN note TEXT", [("table-differs", "note")]),
        ("ALTER TABLE mcp_calls DROP COLUMN version", [("table-differs", "version")]),
        ("DROP TABLE store_meta", [("table-missing", "store_meta")]),
        ("CREATE TABLE scratch (a)", [("table-unknown", "scratch")]),
        (
            "DROP TABLE denylist; CREATE TABLE denylist (sub TEXT NOT NULL PRIMARY KEY, "
            "reason TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL DEFAULT 0)",
            [("table-differs", "denylist"), ("table-differs", "denylist")],
        ),
        (
            "DROP TABLE denylist; CREATE TABLE denylist (sub TEXT NOT NULL PRIMARY KEY, created_at INTEGER NOT NULL "
            "DEFAULT 0, reason TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID",
            [("table-differs", "denylist")],
        ),
        (
            "CREATE TRIGGER sneaky AFTER INSERT ON audit_log BEGIN DELETE FROM denylist; END",
            [("trigger-unknown", "sneaky")],
        ),
    ],
)
def test_each_change_of_the_schema_is_one_difference(
    store: sqlite3.Connection, change: str, expected: list[tuple[str, str]]
) -> None:
    busbar.create(store, 9)
    store.executescript(change)
    assert found(store, 9) == expected


def test_legacy_tables_after_the_upgrade_are_no_difference_of_shape(store: sqlite3.Connection) -> None:
    busbar.create(store, 10)
    for sql in busbar.statements(9):
        if any(f" {name}" in sql.split("(")[0] for name in busbar.LEGACY_TABLES):
            store.execute(sql)
    shape = read(store)
    assert shape.tables.keys() >= busbar.LEGACY_TABLES
    assert differences(busbar.expected(10), shape) == ()


def test_a_left_over_table_must_keep_its_guard(store: sqlite3.Connection) -> None:
    busbar.create(store, 12, leftovers=True)
    store.execute("DROP TRIGGER mcp_calls_no_update")
    assert found(store, 12) == [("trigger-missing", "mcp_calls_no_update")]


def test_an_unknown_generation_is_a_usage_error() -> None:
    for generation in (0, 4, 13):
        with pytest.raises(UsageError, match="generation"):
            busbar.expected(generation)


def test_tokens_keep_what_has_an_effect() -> None:
    assert trigger_tokens("A 'x' \"B\" -- c\n 1") == ("a", "''", "b", "1")
    assert trigger_tokens("WHEN 0") != trigger_tokens("WHEN 1")
