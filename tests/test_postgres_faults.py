"""The mutilation table on PostgreSQL: the faults of the catalogue, planted there one by one, and legal odd shapes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql
from support_audit import AS_OF, built, copied, require_extent, sql_extents, streamed_extents
from support_postgres import Server
from test_controls import CONTROLS, DAY, LISTS, START, Control, asked

from busbar_audit.auditing import audit
from busbar_audit.checks import Check, catalogue
from busbar_audit.findings import Outcome
from busbar_audit.store import Store, open_store
from busbar_audit.stores.busbar_pg_shapes import GENERATIONS
from busbar_audit.synth import records
from busbar_audit.synth.busbar_pg import copy_rows
from busbar_audit.synth.faults import FAULTS, ON_POSTGRES, plant_rows
from busbar_audit.witnessing import open_witness

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
DATABASE = "faults"

# At least one fault a check, chains one by one; faults of small tables that leave each other alone share a store. With
# BUSBAR_AUDIT_FULL every fault that PostgreSQL can have, one by one, in every generation it can have it.
USUAL = (
    "audit_log_deleted", "audit_log_false_genesis", "audit_log_restarted", "audit_log_upper_hash",
    "audit_log_hash_copied", "audit_log_time_back", "audit_log_bar", "audit_log_outcome_unknown", "audit_copy_cut",
    "audit_copy_rewritten", "audit_neutral_deleted",
    "call_seq_zero", "call_forked", "call_sidecar_ts", "call_zero_ts", "call_unreadable", "call_outcome_unknown",
    "call_no_tool_digest", "call_foreign_tool", "call_pin_back", "call_request_twice", "call_stranger", "call_case_twin",
    "call_after_delete", "call_demoted_serving", "call_use_unrecorded", "call_stopped", "call_neutral_replaced",
    "task_event_head_deleted", "task_event_future", "task_event_unreadable", "task_event_kind_unknown",
    "task_event_kind_edited", "task_event_nameless", "task_event_after_end", "task_event_stuck", "task_event_waiting",
    "task_event_version_3", "task_event_v2_rehashed",
    "task_row_callback", "task_row_cursor_huge", "task_row_cursor_text", "task_row_other_id", "task_row_state",
    "task_kept_active", "task_row_deleted", "task_no_events", "plane_kept_nothing",
    "token_long key_tombstone_signs metering_other", "tokens_mixed deny_undated overbilled_metering",
    "tokens_expired key_deleted_early metering_unit_orphan", "grants_of_pools unit_negative rate_card",
    "key_wildcard metering_unit_reserved bucket_not_a_day", "key_expired secret_plain never_refunded",
    "slice_orphan metering_orphan revision_behind", "tokens_without_requests credential_orphan",
    "no_unique_credential work_stranded column_type", "stamp_down", "stamp_new", "metering_stopped",
)  # fmt: skip
# Checks that look at nothing without what only the operator knows; what they find with it is tested at the end.
# Those of the restart proof are planted by programs that lose rows, in test_restart_proof.
RESTART = frozenset({"BUS-D05", "BUS-D06", "BUS-D07", "BUS-D08"})
GIVEN = frozenset({"BUS-A05", "BUS-C25", "BUS-K05", "BUS-M12", "BUS-T15"})
WITNESSED = frozenset({"BUS-C12", "BUS-C23", "BUS-C24", "BUS-S16", "BUS-S17", "BUS-S18", "BUS-T16"})


Names = tuple[str, ...]


def _generations(names: Names) -> list[int]:
    return [n for n in GENERATIONS if all(n in ON_POSTGRES[name].on_postgres_in for name in names)]


def _needs(names: Names) -> dict[str, Any]:
    return {key: value for name in names for key, value in ON_POSTGRES[name].needs.items()}


def _cases() -> list[Any]:
    if FULL:
        cases = [((name,), generation) for name in ON_POSTGRES for generation in _generations((name,))]
    else:
        groups = [tuple(group.split()) for group in USUAL]
        # Every other generation in turn.
        cases = [(names, (known := _generations(names))[at % len(known)]) for at, names in enumerate(groups)]
    # Side by side those of one store, so that one worker has it.
    cases.sort(key=lambda case: (case[1], repr(_needs(case[0])), case[0]))
    return [pytest.param(names, generation, id=f"{'+'.join(names)}-v{generation}") for names, generation in cases]


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


@pytest.fixture(scope="session")
def server(postgres: Server) -> Server:
    postgres.new(DATABASE)
    return postgres


@contextmanager
def _stored(server: Server, rows: Path, generation: int, faults: tuple[str, ...] = (), *more: str) -> Iterator[Store]:
    """The store of a file in a schema that goes again. more : statements to run on it before it is opened."""
    schema = "busbar"
    uri = server.uri(DATABASE)
    copy_rows(rows, uri, schema, generation, faults)
    with server.connect(DATABASE) as con:
        con.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))
        for statement in more:
            con.execute(statement.encode())
        try:
            with open_store(uri, schema=schema) as store:
                yield store
        finally:
            con.execute("SET client_min_messages TO warning")
            con.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


@dataclass(frozen=True)
class Clean:
    """What an audit says of a store without faults.

    seen : findings of legal states. passed : checks that looked and were content. idle : checks that need inputs.
    """

    seen: frozenset[tuple[str, str, str]]
    passed: frozenset[str]
    idle: frozenset[str]


@cache
def _clean(server: Server, rows: Path, generation: int) -> Clean:
    with _stored(server, rows, generation) as store:
        result = audit(store, as_of=AS_OF)
        assert result.exit_code == 0, result
        assert store.differences == ()
        assert sql_extents(store) == streamed_extents(rows) == set()
        return Clean(
            frozenset((f.code, f.subject, f.place) for f in result.findings()),
            frozenset(r.code for r in result.results if r.outcome is Outcome.PASS),
            frozenset(r.code for r in result.results if r.reason.startswith("needs")),
        )


@pytest.mark.parametrize(("names", "generation"), _cases())
def test_a_planted_fault_is_found_and_nothing_else(
    names: Names, generation: int, bases: Path, server: Server, tmp_path: Path
) -> None:
    base = built(bases, generation, _needs(names))
    before = _clean(server, base, generation).seen
    damaged = copied(base, tmp_path / "store.db")
    planted = [plant_rows(damaged, name, generation) for name in names]
    codes = frozenset[str]().union(*(one.codes for one in planted))
    assert len(codes) == sum(len(one.codes) for one in planted), "faults that share a store share no code"
    with _stored(server, damaged, generation, names) as store:
        result = audit(store, as_of=AS_OF)
        assert all(line.adds_up for line in result.account)
        found = [f for f in result.findings() if (f.code, f.subject, f.place) not in before]
        could_not_run = {r.code for r in result.results if r.outcome is Outcome.COULD_NOT_RUN}
        if planted[0].outcome == "could_not_run":
            assert result.exit_code == 3
            assert codes <= could_not_run
            assert not found
            return
        assert {f.code for f in found} == codes, [(f.code, f.subject, f.place, f.detail) for f in found]
        assert could_not_run == set()
        for one in planted:
            require_extent(found, one)
        assert sql_extents(store) == streamed_extents(damaged)


def _here() -> list[Check]:
    every = [check for check in catalogue() if check.family == "busbar"]
    return [check for check in every if any(scope.engine == "postgres" for scope in check.query.applies)]


def test_every_check_that_applies_has_a_fault_and_a_control(bases: Path, server: Server, tmp_path: Path) -> None:
    here = {check.code for check in _here()}
    planted = set[str]()
    for name in " ".join(USUAL).split():
        generation = _generations((name,))[-1]
        damaged = copied(built(bases, generation, dict(ON_POSTGRES[name].needs)), tmp_path / f"{name}.db")
        planted |= plant_rows(damaged, name, generation).codes
    assert here - planted == WITNESSED | GIVEN | RESTART
    assert planted <= here, "a fault of a check that is not for this engine"
    # The control: a clean store on which the check looked and was content. Lists speak on healthy stores as well.
    clean = [_clean(server, built(bases, n, {}), n) for n in GENERATIONS]
    passed = frozenset[str]().union(*(one.passed for one in clean))
    lists = {f"BUS-{code}" for code in LISTS}
    assert here - passed - lists == WITNESSED | GIVEN | RESTART
    assert frozenset[str]().union(*(one.idle for one in clean)) == WITNESSED | GIVEN | RESTART


def test_a_fault_that_is_not_there_says_why() -> None:
    for name, fault in FAULTS.items():
        if name in ON_POSTGRES:
            assert not fault.on_postgres.absent
            continue
        typed_only = set(fault.generations).isdisjoint(GENERATIONS)
        assert fault.on_postgres.absent or typed_only or fault.needs.get("bodies") == "migrated", name


# ---- legal odd shapes --------------------------------------------------------------------------------------------------


# What is of this engine alone in the views: two usage tables, booleans, chains and records apart, one table of money slots.
CONTROLS_USUAL = {
    "odd_pipes", "odd_fresh", "odd_unicode", "odd_purged_head", "odd_u64_money", "odd_empty", "plane_tasks_purged",
    "plane_crash_ahead", "windows_purged", "metering_purged", "all_refunded", "one_window_a_month",
    "tombstone_with_metering", "cap_lowered",
}  # fmt: skip


def _controls() -> list[Any]:
    there = [c for c in CONTROLS if c.on_postgres]
    assert {c.name for c in there} >= CONTROLS_USUAL
    chosen = there if FULL else [c for c in there if c.name in CONTROLS_USUAL]
    return [pytest.param(c, c.on_postgres, id=f"{c.name}-v{c.on_postgres}") for c in chosen]


@pytest.mark.parametrize(("control", "generation"), _controls())
def test_a_legal_store_is_judged_as_such(
    control: Control, generation: int, bases: Path, server: Server, tmp_path: Path
) -> None:
    path = copied(built(bases, generation, control.needs), tmp_path / "store.db")
    with closing(sqlite3.connect(path)) as con:
        control.apply(con)
        con.commit()
    with _stored(server, path, generation) as store:
        control.require(store)
        assert sql_extents(store) == streamed_extents(path)


_TASKS = "CREATE TABLE tasks (task_id text, state text)"
# What is usual on this engine, by generation: each statement's reason beside it.
SHAPES = {
    6: (
        "CREATE VIEW v_keys AS SELECT id FROM keys",  # a view beside
        "ALTER TABLE audit_log SET (fillfactor = 70)",  # how full pages are is the administrator's
        "ANALYZE audit_log",
        "UPDATE keys SET name = name",  # rows rewritten in another place
    ),
    10: (
        "CREATE TABLE tasks (task_id text, state text)",  # a typed table left empty
        "CREATE TABLE notes (id int)",  # a table of others
        "INSERT INTO notes VALUES (1)",
        "CREATE INDEX moved ON plane_chain (md5(body::text))",  # rows moved
        "CLUSTER plane_chain USING moved",
        "DROP INDEX moved",
        "CREATE INDEX own ON plane_chain (ts)",  # an index more, for the administrator's own queries
        "INSERT INTO plane_tokens SELECT 'approval', 'old' || i, 1700000000 + i FROM generate_series(1, 50) i",
    ),
    11: (
        "INSERT INTO busbar_schema VALUES (6), (10)",  # an upgrade adds a row and keeps the old ones
        "UPDATE money_slices SET remaining = 0",  # a closed slice stays
        "INSERT INTO money_slots VALUES ('spent by nobody', 5, 1, 0)",  # a cap without use
    ),
}


@pytest.mark.parametrize("generation", SHAPES)
def test_what_is_usual_on_this_engine_is_silent(generation: int, bases: Path, server: Server) -> None:
    base = built(bases, generation, {})
    before = _clean(server, base, generation).seen
    with _stored(server, base, generation, (), *SHAPES[generation]) as store:
        result = audit(store, as_of=AS_OF)
        assert [f for f in result.findings() if (f.code, f.subject, f.place) not in before] == []
        assert (result.exit_code, sql_extents(store)) == (0, set())


# ---- checks that need what only the operator knows -----------------------------------------------------------------------


def test_inputs_of_the_operator(bases: Path, server: Server, tmp_path: Path) -> None:
    rows = copied(built(bases, 10, {}), tmp_path / "v10.db")
    with closing(sqlite3.connect(rows)) as con:
        con.execute(f"UPDATE plane_records SET ts = {AS_OF - 60 * DAY} WHERE kind = 'demotion'")
        finished = f"kind = 'task' AND disposition = 'terminal' AND ts < {START + 2 * DAY}"
        (left,) = con.execute(f"SELECT count(*) FROM plane_records WHERE {finished}").fetchone()
        young = f"kind = 'call' AND ts < {START + 2 * DAY}"
        (calls,) = con.execute(f"SELECT count(*) FROM plane_records WHERE {young}").fetchone()
        con.commit()
    assert min(left, calls) > 0
    for code, given, silent, expected in (
        ("A05", {"servers": ["github"]}, {"servers": ["github", "sandbox"]}, {"sandbox"}),
        ("T15", {"cutoff": START + 2 * DAY}, {"cutoff": START}, left),
        ("M12", {"calls_cutoff": START + 2 * DAY}, {"calls_cutoff": START}, calls),
        (
            "C25",
            {"receipts": True, "receipt_tasks": START + 2 * DAY},
            {"receipts": True, "receipt_calls": START, "receipt_tasks": START},
            left,
        ),
    ):
        with _stored(server, rows, 10) as store:
            found = asked(store, code, **given)
            if isinstance(expected, int):
                assert sum(f.records for f in found.samples) == expected
            else:
                assert {f.place for f in found.samples} == expected
        with _stored(server, rows, 10) as store:
            assert asked(store, code, **silent).outcome is Outcome.PASS


def test_servers_among_the_pools_of_a_key(bases: Path, server: Server, tmp_path: Path) -> None:
    rows = copied(built(bases, 6, {}), tmp_path / "v6.db")
    given = {"pools": ["fast", "slow"], "servers": ["github", "jira"]}
    with _stored(server, rows, 6) as store:
        assert asked(store, "K05", **given).outcome is Outcome.PASS
    with closing(sqlite3.connect(rows)) as con:
        con.execute('UPDATE keys SET allowed_pools = \'["fast","github","jira_read","other"]\' WHERE id = \'vk_bob\'')
        con.commit()
    with _stored(server, rows, 6) as store:
        assert [(f.place, f.records) for f in asked(store, "K05", **given).samples] == [("vk_bob", 2)]


# ---- the witness ---------------------------------------------------------------------------------------------------------


def _last(con: sqlite3.Connection, scope: str) -> int:
    return records.load(con, "call", scope)[-1].seq


def _rewritten(con: sqlite3.Connection) -> None:
    records.save(con, records.load(con, "call", "vk_alice")[0].edit(server="elsewhere"))
    records.reseal(con, "call", "vk_alice", 1)


def _task_gone(con: sqlite3.Connection) -> None:
    live = "SELECT min(id) FROM plane_records WHERE kind = 'task' AND disposition = 'active'"
    con.execute(f"DELETE FROM plane_records WHERE kind IN ('task', 'task_event') AND coalesce(parent, id) = ({live})")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (lambda _con: None, set()),
        (
            lambda con: records.delete(con, "call", "vk_alice", _last(con, "vk_alice"), 1 << 62),
            {("BUS-C12", "critical")},
        ),
        (_rewritten, {("BUS-C12", "critical")}),
        (lambda con: records.delete(con, "call", "vk_alice", 1, 1 << 62), {("BUS-C23", "high")}),
        (_task_gone, {("BUS-T16", "medium")}),
        (lambda con: con.execute("UPDATE keys SET created_at = created_at - 5"), set()),
    ],
    ids=["nothing", "an end cut off", "written anew", "a chain gone", "live work gone", "other keys, same chains"],
)
def test_a_witness_of_a_store_on_a_server(
    how: Callable[[sqlite3.Connection], None],
    expected: set[tuple[str, str]],
    bases: Path,
    server: Server,
    tmp_path: Path,
) -> None:
    rows = copied(built(bases, 10, {}), tmp_path / "v10.db")
    only = ("chains", *WITNESSED)
    with _stored(server, rows, 10) as store, closing(open_witness(tmp_path / "w", store)) as kept:
        first = audit(store, as_of=AS_OF, witness=kept, only=only)
        assert first.advance is not None
        assert first.advance()
    with closing(sqlite3.connect(rows)) as con:
        with records.unguarded(con):
            how(con)
        con.commit()
    with _stored(server, rows, 10) as store, closing(open_witness(tmp_path / "w", store)) as kept:
        assert kept.status == "read"
        result = audit(store, as_of=AS_OF, witness=kept, only=only)
        assert {(f.code, f.severity) for f in result.findings() if f.code in WITNESSED} == expected
