"""The mutilation table: each base store is clean, one fault is planted, and exactly its findings appear."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support_audit import AS_OF, built, copied, require_extent, sql_extents, streamed_extents

from busbar_audit import warehouse
from busbar_audit.auditing import audit
from busbar_audit.checks import catalogue
from busbar_audit.findings import Outcome
from busbar_audit.store import open_store
from busbar_audit.synth.fault import Fault
from busbar_audit.synth.faults import FAULTS

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))

# A fault of a check that this version does not have yet is skipped, and says so.
KNOWN = frozenset(check.code for check in catalogue())

Seen = frozenset[tuple[str, str, str]]


# The same fault is planted in each population; these name them.
POPULATIONS = (
    *("audit_log", "mcp_calls", "task_events", "tasks", "call_neutral", "audit_neutral", "task_event_v2"),
    *("task_event", "task_row", "call", "audit", "task"),
)


def _kind(name: str) -> str:
    return next((name.removeprefix(each + "_") for each in POPULATIONS if name.startswith(each + "_")), name)


def _cases() -> list[Any]:
    """One population of every kind of fault, another one for each kind, on one of its generations, turn by turn.

    With BUSBAR_AUDIT_FULL all of them.
    """
    kinds: dict[str, list[Fault]] = {}
    for fault in FAULTS.values():
        if fault.generations:
            kinds.setdefault(_kind(fault.name), []).append(fault)
    chosen = set()
    for number, faults in enumerate(kinds.values()):
        chosen.add(faults[number % len(faults)].name)
    cases = []
    for at, fault in enumerate(FAULTS.values()):
        generations = sorted(fault.generations)
        for generation in generations if FULL else [generations[at % len(generations)]] if fault.name in chosen else []:
            cases.append((generation, repr(dict(fault.needs)), fault.name))
    # Side by side those that are planted in the same store: one worker then writes and audits it, not all of them.
    return [pytest.param(name, number, id=f"{name}-v{number}") for number, _, name in sorted(cases)]


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


@cache
def _baseline(path: Path) -> Seen:
    """Findings of the store before the fault: only low and info ones, those of legal shapes."""
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF)
        assert result.exit_code == 0, result
        assert sql_extents(store) == streamed_extents(store.snapshot.path) == set()
        return frozenset((f.code, f.subject, f.place) for f in result.findings())


def _needs(needs: Mapping[str, Any]) -> dict[str, Any]:
    return dict(needs)


@pytest.mark.parametrize(("name", "generation"), _cases())
def test_a_planted_fault_is_found_and_nothing_else(name: str, generation: int, bases: Path, tmp_path: Path) -> None:
    fault = FAULTS[name]
    base = built(bases, generation, _needs(fault.needs))
    before = _baseline(base)
    damaged = copied(base, tmp_path / "store.db")
    with closing(sqlite3.connect(damaged)) as con:
        planted = fault.apply(con)
        con.commit()

    with open_store(damaged) as store:
        result = audit(store, as_of=AS_OF)
        assert all(line.adds_up for line in result.account)
        found = [f for f in result.findings() if (f.code, f.subject, f.place) not in before]
        could_not_run = {r.code for r in result.results if r.outcome is Outcome.COULD_NOT_RUN}
        if planted.codes == {"BUS-S05"}:
            assert result.exit_code == 3
            assert "BUS-S05" in could_not_run
            assert not found
            return
        if not planted.codes & KNOWN:
            assert not found
            pytest.skip(f"no check yet: {', '.join(sorted(planted.codes))}")
        assert {f.code for f in found} == planted.codes & KNOWN, [(f.code, f.subject, f.place, f.detail) for f in found]
        if "BUS-S01" in planted.codes:
            assert could_not_run == {r.code for r in result.results} - {"BUS-S01"}
            return
        require_extent(found, planted)
        assert sql_extents(store) == streamed_extents(store.snapshot.path)


def test_the_table_is_large_enough_and_covers_every_check() -> None:
    assert len(FAULTS) >= 150
    planted = frozenset[str]().union(*(_codes_of(name) for name in FAULTS))
    # Checks that are for PostgreSQL have their faults in test_postgres_faults.
    here = [c for c in catalogue() if any(scope.engine == "sqlite" for scope in c.query.applies)]
    missing = {c.code for c in here if c.family == "busbar" and not c.needs} - planted
    assert missing == set()


def _codes_of(name: str) -> frozenset[str]:
    """The codes a fault promises, told by planting it in a small store in memory."""
    fault = FAULTS[name]
    base = _small(max(fault.generations), tuple(sorted(fault.needs.items())))
    with closing(sqlite3.connect(":memory:")) as con, closing(sqlite3.connect(base)) as source:
        source.backup(con)
        return fault.apply(con).codes


@cache
def _small(generation: int, needs: tuple[tuple[str, Any], ...]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="small-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return built(folder, generation, {**dict(needs), "calls": 60, "tasks": 12})


@pytest.mark.parametrize(
    ("name", "generation"),
    [case.values for case in _cases()[:: 1 if FULL else 30]],
)
def test_a_store_is_judged_alike_with_its_views_kept_and_planned_anew(
    name: str, generation: int, bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views of a small store are tables; those of a large one are not."""
    fault = FAULTS[name]
    damaged = copied(built(bases, generation, _needs(fault.needs)), tmp_path / "store.db")
    with closing(sqlite3.connect(damaged)) as con:
        fault.apply(con)
        con.commit()
    said = []
    for most, kind in ((warehouse.SMALL_BYTES, "BASE TABLE"), (-1, "VIEW")):
        monkeypatch.setattr(warehouse, "SMALL_BYTES", most)
        monkeypatch.setattr(warehouse, "_LITTLE", min(warehouse._LITTLE, max(0, most)))
        with open_store(damaged) as store:
            result = audit(store, as_of=AS_OF)
            said.append([(r.code, r.outcome, r.reason, r.examined, r.findings, r.samples) for r in result.results])
            kinds = store.con.execute(
                "SELECT DISTINCT table_type FROM information_schema.tables WHERE table_schema = 'audit'"
            )
            assert not result.chains or (kind,) in kinds.fetchall()
    assert said[0] == said[1]
