"""Bad input of every kind: a clear error or a finding, the right exit code, and no row lost from the account."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support_audit import AS_OF, built, copied, sql_extents, streamed_extents
from support_audit import judged as judged_by_all
from support_reports import HOSTILE

from busbar_audit import open_store, warehouse
from busbar_audit.auditing import audit
from busbar_audit.console import document_lines
from busbar_audit.errors import (
    AuditError,
    NotADatabase,
    NotAStore,
    NotEnoughSpace,
    ReportError,
    SnapshotError,
    StoreLocked,
    TargetNotFound,
    UnknownFamily,
    UsageError,
    WarehouseError,
)
from busbar_audit.findings import Outcome
from busbar_audit.reporting.runner import write_report
from busbar_audit.result import Result
from busbar_audit.snapshot.sqlite import take_snapshot
from busbar_audit.warehouse import SourceColumn, SourceTable, Warehouse

REPOSITORY = Path(__file__).resolve().parent.parent
# Off for the time of an edit: they are what keeps a store from being damaged so.
CALLS, AUDIT, PLANES = "mcp_calls_no_update", "audit_log_no_update", "plane_records_chain_no_update"
# The areas that say what is wrong with a store itself; the others take time and are tested by themselves.
AREAS = ("store", "chains", "calls")


def judged(path: Path, **options: Any) -> Result:
    return judged_by_all(path, **{"only": AREAS, **options})


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad-input")


@pytest.fixture(scope="session")
def base(folder: Path) -> Path:
    """Generation 9 in one plain file."""
    return built(folder, 9, {"journal": "delete"})


@pytest.fixture(scope="session")
def late(folder: Path) -> Path:
    """Generation 12 with typed plane records."""
    return built(folder, 12, {"journal": "delete"})


def damage(path: Path, *statements: str, off: Sequence[str] = (), values: Sequence[object] = ()) -> None:
    """Run statements with some guards taken off and put back, so that only the damage shows."""
    with closing(sqlite3.connect(path)) as con, con:
        guards = [con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0] for name in off]
        for name in off:
            con.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            con.execute(statement, values if "?" in statement else ())
        for sql in guards:
            con.execute(sql)


def no_longer_strict(path: Path, table: str) -> None:
    """Take STRICT from a table, as an edit of the schema does; any column then holds anything."""
    with closing(sqlite3.connect(path)) as con, con:
        (sql,) = con.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        con.execute("PRAGMA writable_schema = ON")
        con.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (re.sub(r",?\s*STRICT\s*$", "", sql), table))


def grave(result: Result) -> set[str]:
    """Codes at medium or above: what makes the verdict."""
    found = [r for r in result.results if r.outcome is Outcome.FINDING]
    return {r.code for r in found if any(n and s in ("critical", "high", "medium") for s, n in r.counts.items())}


def could_not_run(result: Result) -> dict[str, str]:
    return {r.code: r.reason for r in result.results if r.outcome is Outcome.COULD_NOT_RUN}


def nothing_lost(result: Result, path: Path) -> dict[str, dict[str, int]]:
    """Every table of the file is in the account with all its rows; returns what was not examined of each."""
    with closing(sqlite3.connect(path)) as con:
        names = [
            n
            for (n,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        ]
        rows = {
            name: con.execute('SELECT count(*) FROM "{}"'.format(name.replace('"', '""'))).fetchone()[0]
            for name in names
        }
    assert {line.table: line.rows for line in result.account} == rows
    assert all(line.adds_up for line in result.account)
    return {line.table: dict(line.not_examined) for line in result.account}


def shown(result: Result) -> str:
    return "\n".join(document_lines(result.as_dict()))


# --- no store can be read ---


def _error(path: Path, kind: type[AuditError], code: int, *says: str) -> None:
    before = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else None
    with pytest.raises(kind) as caught:
        open_store(str(path))
    assert type(caught.value) is kind
    assert caught.value.exit_code == code
    for part in says:
        assert part in str(caught.value), str(caught.value)
    assert len(str(caught.value).splitlines()) == 3, "what was read, what was expected, what to do"
    if before is not None:
        assert sorted(p.name for p in path.parent.iterdir()) == before, "nothing is created or removed"


def test_a_missing_path(tmp_path: Path) -> None:
    _error(tmp_path / "no.db", TargetNotFound, 2, "no.db does not exist", "Nothing was created")
    _error(tmp_path / "no" / "no.db", TargetNotFound, 2, "does not exist")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_without_a_store(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "notes.txt").write_text("no store")
    _error(tmp_path / "d", NotAStore, 3, "a directory without a store", "busbar-governance.db")


def test_a_directory_with_two_stores(tmp_path: Path, base: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("a.db", "b.db"):
        copied(base, tmp_path / "d" / name)
    with pytest.raises(UsageError, match="holds 2 stores"):
        open_store(tmp_path / "d")


def test_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("-- a dump is no database\n" * 400)
    _error(path, NotADatabase, 3, "is not a SQLite database", "it begins with 2d 2d 20 61")
    path.write_bytes(b"")
    _error(path, NotADatabase, 3, "is empty: 0 bytes")
    path.write_bytes(b"SQLite format 3\x00" + bytes(20))
    _error(path, NotADatabase, 3, "is cut short: 36 bytes")


def test_an_encrypted_store(tmp_path: Path, base: Path) -> None:
    """Whole file, or everything behind a header left in the clear."""
    path = copied(base, tmp_path / "x.db")
    noise = random.Random(1).randbytes(path.stat().st_size)
    path.write_bytes(noise)
    _error(path, NotADatabase, 3, "is not a SQLite database", "If the store is encrypted, name a decrypted copy")
    path.write_bytes(base.read_bytes()[:100] + noise[100:])
    _error(path, NotADatabase, 3, "cannot read the schema", "damaged, encrypted or cut short", "Nothing was checked")


@pytest.mark.parametrize("size", [4096, 30 * 4096, 30 * 4096 + 7])
def test_a_store_cut_short(tmp_path: Path, base: Path, size: int) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(base.read_bytes()[:size])
    _error(path, NotADatabase, 3, f"is cut short: {size:,} bytes", "nothing was checked")


def test_a_log_without_its_main_file(tmp_path: Path) -> None:
    (tmp_path / "x.db-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(4096))
    _error(tmp_path / "x.db", NotAStore, 3, "x.db is missing, but x.db-wal is there", "Restore the main file")
    _error(tmp_path, NotAStore, 3, "holds x.db-wal, but the main file is missing")
    _error(tmp_path / "x.db-wal", NotAStore, 3, "is the -wal file", "x.db, which is missing")


def test_a_store_locked_by_another_process(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("busbar_audit.sources.sqlite.take_snapshot", partial(take_snapshot, busy_timeout=0.1))
    path = copied(base, tmp_path / "x.db")
    code = (
        "import sqlite3, sys; con = sqlite3.connect(sys.argv[1]); con.execute('BEGIN EXCLUSIVE'); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLocked, match="locked by another process") as caught:
            open_store(path)
        assert caught.value.exit_code == 3
        holder.communicate()
    assert judged(path).exit_code == 0


def test_an_unknown_family(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute('CREATE TABLE "evil\x1b[2J" (x)')
        # The name alone makes no busbar store.
        con.execute("CREATE TABLE audit_log (id INTEGER PRIMARY KEY, message TEXT)")
    _error(path, UnknownFamily, 3, "with the tables audit_log, evil\\x1b[2J", "names alone are not enough")
    with closing(sqlite3.connect(path)) as con, con:
        con.execute('DROP TABLE "evil\x1b[2J"')
        con.execute("DROP TABLE audit_log")
    _error(path, UnknownFamily, 3, "a SQLite database without a table")


def test_no_room_for_the_copy(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("busbar_audit.snapshot.disk.shutil.disk_usage", lambda _: usage._replace(free=4096))
    with pytest.raises(NotEnoughSpace, match=r"4,096 bytes are free") as caught:
        open_store(base)
    assert caught.value.exit_code == 3
    assert "BUSBAR_AUDIT_TMPDIR" in str(caught.value)


def test_no_place_for_the_copy(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUSBAR_AUDIT_TMPDIR", str(tmp_path / "not-there"))
    with pytest.raises(SnapshotError, match="No private directory can be made"):
        open_store(base)
    assert list(tmp_path.iterdir()) == []


# --- stamp and shape ---


@pytest.mark.parametrize("stamp", [0, 4, -1])
def test_a_stamp_below_5_with_data(tmp_path: Path, base: Path, stamp: int) -> None:
    path = copied(base, tmp_path / "x.db")
    damage(path, f"PRAGMA user_version = {stamp}")
    result = judged(path)
    assert (result.exit_code, grave(result)) == (1, {"BUS-S03", "BUS-S04"})
    assert f"user_version is {stamp}" in shown(result)
    assert could_not_run(result) == {}
    assert sum(chain.records for chain in result.chains) == sum(
        line.examined for line in result.account if line.table in ("audit_log", "mcp_calls", "task_events")
    )
    nothing_lost(result, path)


def test_a_stamp_lower_than_the_shape(tmp_path: Path, base: Path) -> None:
    path = copied(base, tmp_path / "x.db")
    damage(path, "PRAGMA user_version = 7")
    result = judged(path)
    assert (result.exit_code, grave(result)) == (1, {"BUS-S04"})
    assert result.store.generation.taken == 9
    nothing_lost(result, path)


@pytest.mark.parametrize("stamp", [13, 2**31 - 1])
def test_a_generation_newer_than_known(tmp_path: Path, base: Path, stamp: int) -> None:
    """Nothing is guessed: neither clean nor findings, and nothing is said of evidence that was not looked at."""
    path = copied(base, tmp_path / "x.db")
    damage(path, f"PRAGMA user_version = {stamp}", "DELETE FROM audit_log WHERE seq = 5", off=("audit_log_no_delete",))
    result = judged(path)
    assert (result.exit_code, result.codes()) == (3, frozenset())
    silent = could_not_run(result)
    file_only = {"BUS-S01", "BUS-S02", "BUS-S03"}
    assert set(silent) == {r.code for r in result.results} - file_only
    assert silent["BUS-C01"] == f"generation {stamp} is not known, generations 5 to 12 are"
    assert silent["BUS-S05"] == f"user_version is {stamp}, known are 5 to 12"
    assert result.chains == []
    assert not any("chained record" in reason for reason in result.reasons)
    lost = nothing_lost(result, path)
    assert lost["mcp_calls"] == {"generation unknown": 200}


def test_a_migration_that_stopped_half_way(tmp_path: Path, base: Path) -> None:
    path = copied(base, tmp_path / "x.db")
    damage(path, "PRAGMA user_version = 12")
    result = judged(path)
    assert result.exit_code == 1
    assert {"BUS-S06", "BUS-S09"} <= grave(result)
    assert "plane_records" in could_not_run(result)["BUS-C01"]
    assert "table-missing" in shown(result)
    nothing_lost(result, path)


@pytest.mark.parametrize(
    ("table", "silent"),
    [
        ("audit_log", {"BUS-C01", "BUS-C02", "BUS-C03", "BUS-C13"}),
        ("mcp_calls", {"BUS-C01", "BUS-M01", "BUS-M07"}),
        ("task_events", {"BUS-C01", "BUS-C03"}),
        ("mcp_demotions", {"BUS-M10"}),
    ],
)
@pytest.mark.parametrize("fail_on", ["medium", "critical"])
def test_a_dropped_table_is_never_clean(tmp_path: Path, base: Path, table: str, silent: set[str], fail_on: str) -> None:
    path = copied(base, tmp_path / "x.db")
    damage(path, f"DROP TABLE {table}")
    result = judged(path, fail_on=fail_on)
    assert result.exit_code == (1 if fail_on == "medium" else 3)
    assert "BUS-S06" in result.codes()
    assert silent <= could_not_run(result).keys()
    assert all(table in reason for code, reason in could_not_run(result).items() if code in silent)
    nothing_lost(result, path)
    # Nor is it where only the checks over it are asked for.
    for code in sorted(silent)[:2]:
        assert judged(path, only=(code,)).exit_code != 0


@pytest.mark.parametrize("trigger", ["audit_log_no_update", "audit_log_no_delete", CALLS])
def test_a_dropped_trigger(tmp_path: Path, base: Path, trigger: str) -> None:
    path = copied(base, tmp_path / "x.db")
    damage(path, f"DROP TRIGGER {trigger}")
    result = judged(path)
    assert (result.exit_code, grave(result)) == (1, {"BUS-S07"})
    assert [s.place for s in result.check("BUS-S07").samples] == [trigger]
    nothing_lost(result, path)


def test_an_unknown_table_is_listed_as_not_examined(tmp_path: Path, base: Path) -> None:
    path = copied(base, tmp_path / "x.db")
    name = '<b>\x1b[31m"x\n'
    quoted = '"' + name.replace('"', '""') + '"'
    damage(path, f"CREATE TABLE {quoted} (x)", f"INSERT INTO {quoted} VALUES (1), (2)")
    result = judged(path)
    assert (result.exit_code, grave(result)) == (1, {"BUS-S06"})
    assert nothing_lost(result, path)[name] == {"table unknown": 2}
    assert '<b>\\x1b[31m"x\\n: 2 not examined (table unknown)' in shown(result)


@pytest.mark.parametrize(
    ("statements", "silent", "runs"),
    [
        (("ALTER TABLE mcp_calls DROP COLUMN version",), "BUS-M06", "BUS-C01"),
        ((f"DROP TRIGGER {CALLS}", "ALTER TABLE mcp_calls DROP COLUMN body"), "BUS-C01", "BUS-S12"),
        (("ALTER TABLE task_events DROP COLUMN ts",), "BUS-C02", "BUS-S12"),
    ],
)
def test_a_missing_column(tmp_path: Path, base: Path, statements: tuple[str, ...], silent: str, runs: str) -> None:
    """What needs it says so by itself; what does not need it still runs."""
    path = copied(base, tmp_path / "x.db")
    damage(path, *statements)
    result = judged(path)
    assert result.exit_code == 1
    assert "BUS-S06" in grave(result)
    column = statements[-1].split()[-1]
    assert f'"{column}"' in could_not_run(result)[silent]
    assert result.check(runs).outcome is Outcome.PASS
    nothing_lost(result, path)


def test_column_names_that_are_ours(tmp_path: Path, base: Path) -> None:
    """A column may be called as the bookkeeping of the load is; nothing of it is mixed up."""
    path = copied(base, tmp_path / "x.db")
    names = ("_row", "_rejected", "_fits", "body__is", "rowid", 'a"b;--')
    for name in names:
        damage(path, 'ALTER TABLE mcp_calls ADD COLUMN "{}" TEXT'.format(name.replace('"', '""')))
    result = judged(path)
    assert (result.exit_code, grave(result)) == (1, {"BUS-S06"})
    assert {s.place for s in result.check("BUS-S06").samples} == set(names)
    assert could_not_run(result) == {}
    nothing_lost(result, path)


def test_a_few_rows_and_many_are_loaded_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists bound to a statement and batches of Arrow: the same values, and the same ones rejected."""
    odd = [None, 1, -(2**63), 1.5, float("inf"), "text", "a\x00b", b"", b"\xff\xfe", "\U0001f600", ""]
    path = tmp_path / "odd.db"
    with closing(sqlite3.connect(path)) as con:
        con.execute("CREATE TABLE t (a, b, c, d, e, f)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", ([value] * 6 for value in odd))
        con.executemany("INSERT INTO t VALUES (?, ?, 1, 1.5, ?, ?)", [(text, text, b"x", "é") for text in ("x", None)])
        for wrong in ("80", "eda080", "c080", "f4908080", "e28c", "ff"):
            text = f"CAST(x'{wrong}' AS TEXT)"
            con.execute(f"INSERT INTO t VALUES ({text}, 'x', 1, 1.0, x'00', {text})")
        con.commit()
    kinds = ["text", "text", "integer", "real", "blob", "text"]
    columns = tuple(SourceColumn(n, kind, n not in "bf") for n, kind in zip("abcdef", kinds, strict=True))
    seen = []
    for few in (2000, 0):
        monkeypatch.setattr(warehouse, "_FEW", few)
        (tmp_path / str(few)).mkdir()
        house = Warehouse(tmp_path / str(few))
        loaded = house.load(path, SourceTable("t", columns))
        rows = house.con.execute("SELECT * FROM raw.t ORDER BY _row").fetchall()
        seen.append((loaded.rows, loaded.rejected, rows, house.con.execute("FROM raw.rejects ORDER BY ALL").fetchall()))
        house.close()
    assert seen[0] == seen[1]
    assert seen[0][:2] == (len(odd) + 8, len(odd) + 7)


def test_a_table_that_cannot_be_loaded_blinds_only_its_own_checks(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Warehouse._copy

    def fails(self: Warehouse, snapshot: Path, table: Any, *extent: int) -> None:
        copy(self, snapshot, table, *extent)
        if table.name == "mcp_calls":
            raise WarehouseError("Table mcp_calls of the copy cannot be loaded: no reason.")

    monkeypatch.setattr(Warehouse, "_copy", fails)
    path = copied(base, tmp_path / "x.db")
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=AREAS)
        assert store.con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'mcp_calls'").fetchone() == (
            0,
        )
    assert (result.exit_code, grave(result)) == (3, set())
    silent = could_not_run(result)
    assert {"BUS-C01", "BUS-M01", "BUS-S14"} <= silent.keys()
    assert set(silent.values()) == {"Table mcp_calls of the copy cannot be loaded: no reason."}
    assert result.check("BUS-S12").outcome is Outcome.PASS
    assert nothing_lost(result, path)["mcp_calls"] == {"could not be loaded": 200}


# --- values ---

VALUES: list[tuple[str, Callable[[Path], None], set[str], int]] = []


def value(name: str, codes: set[str], rejected: int = 0) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    def add(plant: Callable[[Path], None]) -> Callable[[Path], None]:
        VALUES.append((name, plant, codes, rejected))
        return plant

    return add


def _calls(*sets: str) -> Callable[[Path], None]:
    return lambda path: damage(path, *(f"UPDATE mcp_calls SET {s}" for s in sets), off=(CALLS,))


def _body(expression: str) -> Callable[[Path], None]:
    return _calls(f"body = {expression} WHERE rowid = 5")


value("invalid UTF-8 in a body", {"BUS-M01", "BUS-S14"}, 1)(_body("CAST(x'7bff7d' AS TEXT)"))
# Its row is the last one of the table, so the guard could not be tried on that.
value("invalid UTF-8 in a principal", {"BUS-C03", "BUS-S14"}, 1)(
    _calls("principal = CAST(x'766bff' AS TEXT) WHERE rowid = 5")
)
value("invalid UTF-8 in a hash", {"BUS-S14"}, 1)(_calls("prev_hash = CAST(x'ff' AS TEXT) WHERE rowid = 5"))
value("NUL at the end of a body", {"BUS-M01"})(_body("body || char(0)"))
value("a body that is no JSON", {"BUS-M01"})(_body("'not json'"))
value("an empty body", {"BUS-M01"})(_body("''"))
value("a body that is a list", {"BUS-M01"})(_body("'[]'"))
value("a body that is deep", {"BUS-M01"})(_body("replace(hex(zeroblob(100000)), '00', '[')"))
value("a member twice", {"BUS-M01"})(_body("""'{"server":"x",' || substr(body, 2)"""))
value("a number above u64", {"BUS-M01"})(_body("json_set(body, '$.pin_generation', '18446744073709551616')"))
value("NaN for a number", {"BUS-M01"})(_body("""'{"pin_generation":NaN,' || substr(body, 2)"""))
value("a negative sequence", {"BUS-C01", "BUS-C03", "BUS-C07", "BUS-C10"})(_calls("seq = -3 WHERE rowid = 5"))
value("the lowest time", {"BUS-C01", "BUS-C07", "BUS-C10"})(_calls("ts = -9223372036854775808 WHERE rowid = 5"))
value("the highest sequence", {"BUS-C01", "BUS-C03", "BUS-C10"})(_calls("seq = 9223372036854775807 WHERE rowid = 5"))


@value("NUL in an audited name", {"BUS-C01"})
def _(path: Path) -> None:
    damage(path, "UPDATE audit_log SET principal = 'a' || char(0) || 'b' WHERE seq = 5", off=(AUDIT,))


@value("invalid UTF-8 in an audited name", {"BUS-C22", "BUS-S14"}, 1)
def _(path: Path) -> None:
    damage(path, "UPDATE audit_log SET action = CAST(x'766bff' AS TEXT) WHERE seq = 5", off=(AUDIT,))


@value("text where a time belongs", {"BUS-S06", "BUS-S14"}, 1)
def _(path: Path) -> None:
    no_longer_strict(path, "mcp_calls")
    damage(path, "UPDATE mcp_calls SET ts = 'soon' WHERE rowid = 5", off=(CALLS,))


@value("a blob where text belongs", {"BUS-M01", "BUS-S06", "BUS-S14"}, 1)
def _(path: Path) -> None:
    no_longer_strict(path, "mcp_calls")
    damage(path, "UPDATE mcp_calls SET body = CAST(body AS BLOB) WHERE rowid = 5", off=(CALLS,))


@value("a real where an integer belongs", {"BUS-C22", "BUS-S06", "BUS-S14"}, 1)
def _(path: Path) -> None:
    no_longer_strict(path, "audit_log")
    damage(path, "UPDATE audit_log SET ts = 1.5 WHERE seq = 5", off=(AUDIT,))


@pytest.mark.parametrize(("plant", "codes", "rejected"), [v[1:] for v in VALUES], ids=[v[0] for v in VALUES])
def test_a_bad_value_is_a_finding_of_its_own(
    tmp_path: Path, base: Path, plant: Callable[[Path], None], codes: set[str], rejected: int
) -> None:
    path = copied(base, tmp_path / "x.db")
    plant(path)
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=AREAS)
        found = list(result.findings())
        rejects = store.con.execute("SELECT count(*) FROM raw.rejects").fetchone()
    assert result.exit_code == 1
    seen = grave(result)
    assert seen == codes, [(f.code, f.place, f.detail) for f in found]
    assert could_not_run(result) == {}
    assert rejects == (rejected,)
    lost = nothing_lost(result, path)
    assert sum(reasons.get("rejected", 0) for reasons in lost.values()) == rejected
    assert "\x1b" not in shown(result)


@pytest.mark.parametrize(
    ("expression", "codes"),
    [
        ("x'ff'", {"BUS-M01"}),
        ("CAST('{}' AS BLOB)", {"BUS-M01"}),
        ("CAST(replace(CAST(body AS TEXT), '\"seq\":5', '\"seq\":-5') AS BLOB)", {"BUS-M01"}),
        (
            "CAST(replace(CAST(body AS TEXT), '\"seq\":5', '\"seq\":18446744073709551615') AS BLOB)",
            {"BUS-C01", "BUS-C16"},
        ),
    ],
)
def test_a_bad_body_of_a_plane_record(tmp_path: Path, late: Path, expression: str, codes: set[str]) -> None:
    path = copied(late, tmp_path / "x.db")
    row = "kind = 'call' AND parent = 'vk_alice' AND seq = 5"
    damage(path, f"UPDATE plane_records SET body = {expression} WHERE {row}", off=(PLANES,))
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=AREAS)
        assert grave(result) == codes
        assert sql_extents(store) == streamed_extents(store.snapshot.path)
    assert result.exit_code == 1
    nothing_lost(result, path)


def test_a_u64_stays_exact(tmp_path: Path, folder: Path) -> None:
    path = built(folder, 9, {"odd": ("u64_pin",)})
    with open_store(path) as store:
        assert audit(store, as_of=AS_OF, only=AREAS).exit_code == 0
        ((top,),) = store.view("calls").aggregate("max(pin_generation)").fetchall()
    assert 2**63 < top < 2**64


def test_a_body_of_50_mb_needs_no_more_memory_than_a_few_of_it(tmp_path: Path, folder: Path) -> None:
    """Measured in a process of its own, against the same audit of the store without it."""
    small = built(folder, 9, {"calls": 60})
    large = copied(small, tmp_path / "x.db")
    damage(
        large,
        "UPDATE mcp_calls SET body = json_set(body, '$.request_id', replace(hex(zeroblob(26214400)), '0', 'x')) "
        "WHERE rowid = 5",
        off=(CALLS,),
    )
    assert large.stat().st_size > 50 << 20
    code = (
        "import resource, sys\n"
        "from busbar_audit import audit, open_store\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    result = audit(store, as_of=int(sys.argv[2]))\n"
        "    print(result.exit_code, ','.join(sorted(result.codes())),\n"
        "          all(line.adds_up for line in result.account), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )

    def measured(path: Path) -> tuple[str, str, str, int]:
        done = subprocess.run(
            [sys.executable, "-c", code, path, str(AS_OF)], capture_output=True, text=True, check=False, cwd=REPOSITORY
        )
        assert done.returncode == 0, done.stderr
        exit_code, codes, sound, memory = done.stdout.split()
        return exit_code, codes, sound, int(memory) * (1 if sys.platform == "darwin" else 1024)

    without, with_it = measured(small), measured(large)
    assert (without[0], without[2]) == ("0", "True")
    assert (with_it[0], with_it[2]) == ("0", "True"), "the request id is no part of the digest and may be of any length"
    assert with_it[3] - without[3] < 1 << 30, (without, with_it)


def test_hostile_names_are_data(tmp_path: Path, base: Path) -> None:
    """In a principal, an action, a task: found as what they are, shown as text, and the others unharmed."""
    path = copied(base, tmp_path / "x.db")
    with closing(sqlite3.connect(path)) as con:
        (first,) = con.execute(
            "SELECT principal FROM mcp_calls GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
        ).fetchone()
        (records,) = con.execute("SELECT count(*) FROM mcp_calls WHERE principal = ?", (first,)).fetchone()
    damage(path, "UPDATE mcp_calls SET principal = ? WHERE principal = 'vk_alice'", off=(CALLS,), values=(HOSTILE,))
    result = judged(path)
    assert result.exit_code == 1
    wrong = result.check("BUS-C01").samples
    assert [(s.place, s.records) for s in wrong] == [(HOSTILE, records)]
    assert {c.scope for c in result.chains if c.verdict == "broken"} == {HOSTILE}
    text = shown(result)
    assert not any(sign in text for sign in ("\x1b", "\u202e", "\r"))
    assert "<script>" in text
    html = result._repr_html_() + result.store._repr_html_()
    assert "<script>" not in html
    nothing_lost(result, path)


@pytest.mark.parametrize("odd", ["pipes", "unicode", "empty_texts"])
def test_odd_names_of_a_healthy_store_are_no_fault(folder: Path, odd: str) -> None:
    result = judged(built(folder, 9, {"odd": (odd,)}))
    assert grave(result) <= {"BUS-C13"}
    assert {chain.verdict for chain in result.chains} == {"intact-unanchored"}


def test_ten_thousand_principals(folder: Path) -> None:
    path = built(folder, 9, {"calls": 30_000, "principals": 15_000, "tasks": 0, "audits": 1})
    result = judged(path, only=("store", "chains"))
    assert result.exit_code == 0, result
    calls = [chain for chain in result.chains if chain.population == "mcp_calls"]
    with closing(sqlite3.connect(path)) as con:
        chains, records = con.execute("SELECT count(DISTINCT principal), count(*) FROM mcp_calls").fetchone()
    assert (len(calls), sum(chain.records for chain in calls)) == (chains, records)
    assert chains >= 10_000
    document = result.as_dict()
    assert document["chains"]["totals"]["mcp_calls"] == {
        "chains": chains,
        "records": records,
        "intact-unanchored": chains,
    }
    nothing_lost(result, path)


def test_an_empty_store(folder: Path) -> None:
    path = built(folder, 9, {"odd": ("empty",)})
    result = judged(path)
    assert result.exit_code == 3
    assert list(result.reasons) == ["the store holds no chained record: there was no evidence to check"]
    assert could_not_run(result) == {}
    assert result.check("BUS-C01").outcome is Outcome.NOTHING_TO_CHECK
    nothing_lost(result, path)


def test_a_damaged_file_holds_back_every_other_check(tmp_path: Path, base: Path) -> None:
    path = copied(base, tmp_path / "x.db")
    content = bytearray(path.read_bytes())
    middle = len(content) // 4096 // 2 * 4096
    content[middle : middle + 3 * 4096] = b"\xa5" * 3 * 4096
    path.write_bytes(bytes(content))
    result = judged(path)
    assert (result.exit_code, result.codes()) == (1, {"BUS-S01"})
    assert set(could_not_run(result)) == {r.code for r in result.results} - {"BUS-S01"}
    assert set(could_not_run(result).values()) == {"the file is damaged (BUS-S01)"}
    assert result.chains == []
    assert all(line.adds_up for line in result.account)
    assert all(line.examined == 0 for line in result.account)
    # Asked for anything else alone, it gives no answer.
    assert judged(path, only=("calls",)).exit_code == 3


# --- where the outputs go ---


def _outputs(path: Path, out: Path) -> None:
    with open_store(path) as store:
        write_report([audit(store, as_of=AS_OF, only=("BUS-S01",))], out)


def test_an_output_place_that_is_taken(tmp_path: Path, base: Path) -> None:
    for place in ("file", "folder", "link"):
        (tmp_path / place).mkdir()
    (tmp_path / "file/out").write_text("mine")
    (tmp_path / "folder/out").mkdir()
    (tmp_path / "folder/out/mine.txt").write_text("mine")
    (tmp_path / "link/real").mkdir()
    (tmp_path / "link/real/mine.txt").write_text("mine")
    (tmp_path / "link/out").symlink_to(tmp_path / "link/real")
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    for place in ("file", "folder", "link"):
        with pytest.raises(AuditError, match="is there already") as caught:
            _outputs(base, tmp_path / place / "out")
        assert caught.value.exit_code == 2
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before


def test_an_empty_folder_may_be_taken(tmp_path: Path, base: Path) -> None:
    (tmp_path / "out").mkdir()
    _outputs(base, tmp_path / "out")
    assert (tmp_path / "out/result.json").exists()


@pytest.mark.parametrize("place", ["/proc/busbar/out", "/dev/null/out"])
def test_an_output_place_that_cannot_be_written(base: Path, place: str) -> None:
    if not Path(place).parts[1] or not Path("/", Path(place).parts[1]).exists():
        pytest.skip(f"no {place} here")
    with pytest.raises(ReportError, match="cannot be written") as caught:
        _outputs(base, Path(place))
    assert caught.value.exit_code == 3


def test_a_virtual_table_is_named_and_none_of_its_code_is_run(tmp_path: Path, base: Path) -> None:
    store = copied(base, tmp_path / "x.db")
    damage(store, "CREATE VIRTUAL TABLE notes USING fts5(t)", "INSERT INTO notes VALUES ('x')")
    with closing(sqlite3.connect(store, isolation_level=None)) as con:
        con.execute("PRAGMA writable_schema = ON")
        con.execute(
            "INSERT INTO sqlite_master VALUES ('table', 'odd', 'odd', 0, 'CREATE VIRTUAL TABLE odd USING nobody_has_this(a)')"
        )
    with open_store(store) as opened:
        result = audit(opened, as_of=AS_OF)
        unknown = {f.place for f in result.findings() if f.code == "BUS-S06"}
        account = {line.table: line for line in result.account}
    assert unknown == {"odd", "notes", *(f"notes_{part}" for part in ("data", "idx", "content", "docsize", "config"))}
    assert all(line.adds_up for line in account.values())
    assert (account["notes"].rows, account["notes_content"].not_examined) == (0, {"table unknown": 1})


def test_a_guard_is_tried_on_a_row_whose_key_is_no_text(tmp_path: Path, base: Path) -> None:
    store = copied(base, tmp_path / "x.db")
    damage(
        store, "UPDATE mcp_calls SET principal = CAST(x'ff00fe' AS TEXT) WHERE rowid = 1", off=("mcp_calls_no_update",)
    )
    with open_store(store) as opened:
        tried = [p for p in opened.source.probes() if p.trigger == "mcp_calls_no_update"]
    assert [(p.record, p.outcome) for p in tried] == [(r, "refused") for r in ("first", "last", "inserted")]


def test_what_differs_in_a_column_is_said_in_words(tmp_path: Path, base: Path) -> None:
    store = copied(base, tmp_path / "x.db")
    damage(store, "ALTER TABLE denylist RENAME TO old", "CREATE TABLE denylist (id BLOB)", "DROP TABLE old")
    with open_store(store) as opened:
        details = [d.detail for d in opened.differences if d.kind == "table-differs"]
    assert details
    assert not [detail for detail in details if "Shape(" in detail]
