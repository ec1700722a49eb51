"""Each fault is what it says, seen by a small verifier of its own; the audit engine is not used here."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from faults_busbar import ALL_CASES, CASES, SIZES, Case

from busbar_audit.errors import NotAStore, UsageError
from busbar_audit.stores.busbar_shapes import expected
from busbar_audit.stores.shapes import differences, read
from busbar_audit.synth.busbar import write_busbar
from busbar_audit.synth.fault import Planted
from busbar_audit.synth.faults import plant
from busbar_audit.synth.records import load, reseal, save, unguarded

CHAIN = {f"BUS-C{n:02d}" for n in (1, 2, 3, 4, 5, 6, 8, 10, 21)}
TEXT_FAULTS = (
    "unreadable",
    "byte_256",
    "content_cut",
    "bad_utf8",
    "member_twice",
    "pin_as_text",
    "pin_nan",
    "lone_surrogate",
    "not_json",
)
Maker = Callable[[Case], Path]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    folder = tmp_path_factory.mktemp("bases")
    made: dict[str, Path] = {}

    def make(case: Case) -> Path:
        key = repr(sorted(case.options.items()))
        if key not in made:
            made[key] = folder / f"{len(made)}.db"
            write_busbar(made[key], **case.options)
        return made[key]

    return make


def chain_codes(connection: sqlite3.Connection, population: str, scope: str) -> dict[str, list[int]]:
    """Judge one chain by the rules of the sheet: code -> seqs concerned."""
    found: dict[str, list[int]] = {}
    chain = load(connection, population, scope)
    by_seq: dict[int, list[Any]] = {}
    for record in chain:
        by_seq.setdefault(record.seq, []).append(record)
    last = None
    for at, record in enumerate(chain):
        seq, prev = record.seq, record.prev_hash
        if record.digest() != record.hash:
            found.setdefault("BUS-C01", []).append(seq)
        before = {r.hash for r in by_seq.get(seq - 1, [])}
        if before and prev not in before and not (prev == "" and seq > 1):
            found.setdefault("BUS-C02", []).append(seq)
        if last is not None and seq > last + 1:
            found.setdefault("BUS-C03", []).extend(range(last + 1, seq))
        if last is None and seq > 1:
            found["BUS-C04"] = list(range(1, seq))
        if seq == 1 and prev:
            found.setdefault("BUS-C05", []).append(seq)
        if seq > 1 and not prev:
            found.setdefault("BUS-C06", []).append(seq)
        for value in (record.hash, *([prev] if prev else [])):
            if len(value) != 64 or set(value) - set("0123456789abcdef"):
                found.setdefault("BUS-C08", []).append(seq)
        if at and record.ts < chain[at - 1].ts - 300:
            found.setdefault("BUS-C10", []).append(seq)
        if last == seq:
            found.setdefault("BUS-C21", []).append(seq)
        last = seq
    return found


def scopes(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    tables = {t for (t,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found = [("audit_log", "audit_log")]
    for table, column in (("mcp_calls", "principal"), ("task_events", "task_id")):
        if table in tables:
            found += [(table, s) for (s,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}")]
    if "plane_records" in tables:
        found += connection.execute("SELECT DISTINCT kind, parent FROM plane_records WHERE parent NOT NULL").fetchall()
    return found


def readable(case: Case) -> bool:
    name = case.fault
    return not (
        name.endswith(("unreadable", "bad_utf8", "byte_256", "content_cut")) or any(t in name for t in TEXT_FAULTS)
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_is_what_it_says_and_nothing_else(case: Case, base: Maker, tmp_path: Path) -> None:
    path = Path(shutil.copy(base(case), tmp_path / "s.db"))
    planted = plant(path, case.fault)
    assert planted.codes
    with closing(sqlite3.connect(path)) as connection:
        _require_shape(connection, case, planted)
        if readable(case):
            _require_chains(connection, planted)


def _require_chains(connection: sqlite3.Connection, planted: Planted) -> None:
    """A small verifier sees exactly the chain faults."""
    seen = {(p, s): chain_codes(connection, p, s) for p, s in scopes(connection)}
    seen = {place: found for place, found in seen.items() if found}
    wanted = planted.codes & CHAIN
    if not wanted:
        assert seen == {}
        return
    ((place, found),) = seen.items()
    assert place == (planted.population, planted.scope)
    assert found.keys() == wanted
    seqs = sorted({n for numbers in found.values() for n in numbers})
    if "BUS-C07" in planted.codes:
        seqs.insert(0, 0)
    assert (seqs[0], seqs[-1], len(seqs)) == (planted.first_seq, planted.last_seq, planted.records)


def _require_shape(connection: sqlite3.Connection, case: Case, planted: Planted) -> None:
    """File and shape are left alone, unless the fault is one of them."""
    of_shape = {
        "table": "BUS-S06",
        "trigger": "BUS-S07",
        "index": "BUS-S08",
    }
    healthy = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert healthy == ("BUS-S01" not in planted.codes)
    assert (connection.execute("PRAGMA foreign_key_check").fetchall() != []) == ("BUS-S02" in planted.codes)
    kinds = {of_shape[d.kind.split("-")[0]] for d in differences(expected(case.generation), read(connection))}
    assert kinds == planted.codes & set(of_shape.values())
    stamped = connection.execute("PRAGMA user_version").fetchone() == (case.generation,)
    assert stamped == (not planted.codes & {"BUS-S03", "BUS-S04", "BUS-S05"})
    mode = connection.execute("PRAGMA journal_mode").fetchone()
    assert (mode == ("wal",)) == ("BUS-S11" not in planted.codes)


def test_the_healthy_bases_have_no_chain_fault(base: Maker) -> None:
    for path in {base(case) for case in CASES}:
        with closing(sqlite3.connect(path)) as connection:
            for population, scope in scopes(connection):
                assert chain_codes(connection, population, scope) == {}


@pytest.mark.full
@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_every_fault_can_be_planted_in_every_generation(case: Case, base: Maker, tmp_path: Path) -> None:
    path = Path(shutil.copy(base(case), tmp_path / "s.db"))
    before = path.read_bytes()
    assert plant(path, case.fault).codes
    assert path.read_bytes() != before


def test_the_faults_cover_every_code_that_one_store_can_show(base: Maker, tmp_path: Path) -> None:
    raised: set[str] = set()
    for case in CASES:
        path = Path(shutil.copy(base(case), tmp_path / "s.db"))
        raised |= plant(path, case.fault).codes
    areas = {
        "S": {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14},
        "C": {*range(1, 12), *range(13, 23)} - {12},
        "M": set(range(1, 12)),
        "T": {*range(1, 21)} - {15, 16},
        "A": {1, 2, 3, 4},
        "K": {*range(1, 10)} - {5},
        "U": set(range(1, 13)),
        "D": {1, 2, 3, 4, 9},
    }
    assert raised == {f"BUS-{area}{n:02d}" for area, numbers in areas.items() for n in numbers}


def test_a_resealed_chain_is_consistent_again(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=9, **SIZES)
    with closing(sqlite3.connect(store.path)) as connection:
        scope = connection.execute("SELECT principal FROM mcp_calls GROUP BY 1 ORDER BY count(*) DESC").fetchone()[0]
        record = load(connection, "mcp_calls", scope)[5]
        with unguarded(connection):
            save(connection, record.edit(tool_digest="sha256:00"))
            assert chain_codes(connection, "mcp_calls", scope) == {"BUS-C01": [6]}
            reseal(connection, "mcp_calls", scope, 6)
        assert chain_codes(connection, "mcp_calls", scope) == {}
        assert load(connection, "mcp_calls", scope)[-1].hash != store.heads["mcp_calls", scope].last_hash
        assert differences(expected(9), read(connection)) == ()


@pytest.mark.parametrize("bodies", ["typed", "neutral"])
def test_a_record_read_and_saved_is_byte_equal(tmp_path: Path, bodies: Any) -> None:
    store = write_busbar(tmp_path / "s.db", generation=10, bodies=bodies, odd=["pipes", "unicode"], **SIZES)
    sql = "SELECT * FROM plane_records ORDER BY kind, identity, seq"
    with closing(sqlite3.connect(store.path)) as connection:
        before = connection.execute(sql).fetchall()
        with unguarded(connection):
            for population, scope in scopes(connection):
                for record in load(connection, population, scope):
                    save(connection, record)
        assert connection.execute(sql).fetchall() == before


def test_text_faults_break_the_reading_of_one_body(base: Maker, tmp_path: Path) -> None:
    case = Case("mcp_calls_pin_as_text", 9)
    path = Path(shutil.copy(base(case), tmp_path / "s.db"))
    planted = plant(path, case.fault)
    with closing(sqlite3.connect(path)) as connection:
        (body,) = connection.execute(
            "SELECT body FROM mcp_calls WHERE principal = ? AND seq = ?", (planted.scope, planted.first_seq)
        ).fetchone()
    assert isinstance(json.loads(body)["pin_generation"], str)


def test_wrong_use_is_told(tmp_path: Path) -> None:
    store = write_busbar(tmp_path / "s.db", generation=9, calls=10, tasks=1, audits=3)
    with pytest.raises(UsageError, match="fault nonsense"):
        plant(store.path, "nonsense")
    with pytest.raises(UsageError, match="generation 9"):
        plant(store.path, "call_edited")
    with pytest.raises(UsageError, match="long enough"):
        plant(store.path, "mcp_calls_edited")
    with pytest.raises(NotAStore):
        plant(tmp_path / "none.db", "mcp_calls_edited")
    assert not (tmp_path / "none.db").exists()
