"""The append-only triggers, tried on a private copy."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support_audit import AS_OF, built, copied, edit

from busbar_audit.auditing import audit
from busbar_audit.store import open_store
from busbar_audit.stores.busbar import GUARDS
from busbar_audit.stores.probes import NO_ROW, probe


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("probes")


@pytest.mark.parametrize("generation", [6, 9, 12])
def test_every_protected_row_refuses_and_the_copy_stays_as_it_was(
    generation: int, stores: Path, tmp_path: Path
) -> None:
    path = copied(built(stores, generation, {}), tmp_path / "store.db")
    edit(path, "PRAGMA journal_mode = DELETE")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with closing(sqlite3.connect(path)) as con:
        tables = frozenset(row[0] for row in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    found = probe(path, GUARDS, tables)
    assert {p.outcome for p in found} <= {"refused", NO_ROW}
    assert len(found) == 3 * sum(guard.table in tables for guard in GUARDS)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [p.name for p in tmp_path.iterdir()] == ["store.db"]


def test_a_table_without_rows_is_tried_with_an_inserted_one(stores: Path, tmp_path: Path) -> None:
    path = copied(built(stores, 9, {"odd": ("empty",)}), tmp_path / "store.db")
    found = probe(path, GUARDS, frozenset({"audit_log"}))
    assert {(p.record, p.outcome) for p in found} == {("first", NO_ROW), ("last", NO_ROW), ("inserted", "refused")}


def test_a_trigger_that_never_ends_is_stopped_and_named(stores: Path, tmp_path: Path) -> None:
    path = copied(built(stores, 9, {}), tmp_path / "store.db")
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    edit(path, f"CREATE TRIGGER endless BEFORE UPDATE ON audit_log BEGIN SELECT ({endless}); END")
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=["BUS-S07"])
        found = {(f.place, f.severity) for f in result.findings()}
    assert ("endless", "high") in found
    assert found <= {("endless", "high"), ("audit_log_no_update", "medium")}


def test_a_weakened_guard_is_named_once_for_its_text(stores: Path, tmp_path: Path) -> None:
    path = copied(built(stores, 9, {}), tmp_path / "store.db")
    edit(path, "DROP TRIGGER mcp_calls_no_update")
    edit(
        path,
        "CREATE TRIGGER mcp_calls_no_update BEFORE UPDATE ON mcp_calls WHEN OLD.seq > 3 "
        "BEGIN SELECT RAISE(ABORT, 'a call record is never changed'); END",
    )
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=["BUS-S07"])
        assert [(f.place, f.severity) for f in result.findings()] == [("mcp_calls_no_update", "critical")]


def test_an_update_of_one_column_only_is_no_guard(stores: Path, tmp_path: Path) -> None:
    path = copied(built(stores, 9, {}), tmp_path / "store.db")
    edit(path, "DROP TRIGGER audit_log_no_update")
    edit(
        path,
        "CREATE TRIGGER audit_log_no_update BEFORE UPDATE OF hash ON audit_log "
        "BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END",
    )
    assert {p.outcome for p in probe(path, GUARDS[:1], frozenset({"audit_log"}))} == {"allowed"}
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=["BUS-S07"])
        assert result.codes() == {"BUS-S07"}
        assert hashlib.sha256(store.snapshot.path.read_bytes()).hexdigest() == store.snapshot.sha256
