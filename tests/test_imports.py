"""Imports: the account balances, every planted loss is named with rows and cause, and what conversion will do is foretold."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_maka import Judged, by_session, judged, place, planted

from busbar_audit.findings import Outcome
from busbar_audit.store import open_store
from busbar_audit.synth import maka_faults_imports, maka_faults_pending
from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_planting import edit_row
from busbar_audit.transcript.pagewise import PAGE_ROWS, parts

FAULTS = (*maka_faults_imports.FAULTS, *maka_faults_pending.FAULTS)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy workspace with converted, foreign, native and pending sessions."""
    return write_maka(tmp_path_factory.mktemp("imports") / "runtime.sqlite", sessions=1, imports=3).path


def _totals(path: Path) -> dict[str, tuple[int, ...]]:
    """Rows and fates by session, each line of the account shown to balance against the file itself."""
    with closing(sqlite3.connect(path)) as con:
        held = dict(con.execute("SELECT session_id, count(*) FROM session_messages GROUP BY 1"))
    with open_store(path) as store:
        store.view("import_account")
        con = store.con
        rows = con.execute(
            """SELECT session_id, sum(rows), sum(converted), sum(owned), sum(skipped), sum(lost), sum(pending), sum(unread),
            bool_and(balances) FROM audit.import_account GROUP BY session_id ORDER BY session_id"""
        ).fetchall()
        per_row = con.execute(
            "SELECT count(*), count(DISTINCT (session_id, sequence)) FROM audit.import_rows"
        ).fetchone()
    found = {session: tuple(map(int, told[:7])) for session, *told in rows}
    assert all(told[-1] for told in rows)
    assert {session: told[0] for session, told in found.items()} == held
    assert all(told[0] == sum(told[1:]) for told in found.values())
    assert per_row == (sum(held.values()), sum(held.values()))
    return found


# --- the account ---


def test_a_healthy_workspace_balances_and_loses_nothing(base: Path) -> None:
    assert _totals(base) == {
        "c1": (9, 9, 0, 0, 0, 0, 0),
        **dict.fromkeys(("f1", "f2", "f3"), (21, 20, 0, 1, 0, 0, 0)),
        **dict.fromkeys(("l1", "l2", "l3"), (21, 0, 0, 0, 0, 21, 0)),
        "x1": (9, 9, 0, 0, 0, 0, 0),
    }


@pytest.mark.parametrize("generation", [8, 11, 12])
def test_turns_that_were_written_twice_are_owned(generation: int, tmp_path: Path) -> None:
    told = _totals(write_maka(tmp_path / "runtime.sqlite", generation=generation).path)
    assert set(told) == {"s1", "s2"}
    for rows, converted, owned, skipped, lost, pending, unread in told.values():
        assert owned > 30
        assert (rows, converted, lost, pending, unread) == (owned + skipped, 0, 0, 0, 0)


def test_rules_and_events_are_named(base: Path) -> None:
    with open_store(base) as store:
        store.view("import_rows")
        told = store.con.execute(
            """SELECT sequence, kind, fate, rule, event_id, due, found FROM audit.import_rows
            WHERE session_id = 'f1' AND turn_id = 'f1-t1' ORDER BY sequence"""
        ).fetchall()
    assert [(sequence, fate, due, found) for sequence, _, fate, _, _, due, found in told] == [
        (n, "skipped" if n == 1 else "converted", 3 if n == 2 else 1, 3 if n == 2 else 1 if n != 1 else 0)
        for n in range(10)
    ]
    assert told[1][3].startswith("3.2 ")
    assert all(event_id is not None for *_, event_id, _, _ in told if _ != "running" and event_id != told[1][4])
    assert told[7][1] == "system_note context_compacted"


# --- faults ---


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, maka_faults_imports.MakaFault], Judged]:
    """One file with a session for each fault."""
    path = tmp_path_factory.mktemp("faults") / "runtime.sqlite"
    where = planted(path, 18, FAULTS)
    return path, where, judged(path)


def test_each_fault_is_named_with_its_rows_and_cause_and_nothing_else(
    faulty: tuple[Path, dict[str, maka_faults_imports.MakaFault], Judged],
) -> None:
    _, where, ended = faulty
    assert len(where) >= 70
    assert ended.could_not_run() == {}
    found = by_session(ended.found, where)
    said = {fault.name: sorted({f.code[5:] for f in found[session]}) for session, fault in where.items()}
    assert said == {fault.name: sorted(fault.codes) for fault in where.values()}
    for session, fault in where.items():
        own = [f for f in found[session] if f.code[5:] == fault.codes[0] and f.place == place(fault, session)]
        assert [
            f
            for f in own
            if fault.cause.format(s=session) in f.detail and fault.rows in (None, (f.first_seq, f.last_seq))
        ], (fault.name, own)
    others = {s: {f.code[5:] for f in told} for s, told in found.items() if s not in where}
    assert others.pop("s1") == {"B19"}
    assert set().union(*others.values()) == {"D02"}
    assert all(s.startswith("l") for s in others)


def test_the_account_balances_whatever_was_planted_and_every_lost_row_has_a_finding(
    faulty: tuple[Path, dict[str, maka_faults_imports.MakaFault], Judged],
) -> None:
    path, where, ended = faulty
    told = _totals(path)
    said = by_session(ended.found, where)
    with open_store(path) as store:
        store.view("import_rows")
        lost = store.con.execute(
            "SELECT session_id, code, count(*), min(rule) FROM audit.import_rows WHERE fate = 'lost' GROUP BY ALL"
        ).fetchall()
    assert {session for session, *_ in lost} == {session for session, row in told.items() if row[4]}
    assert [(s, code) for s, code, *_ in lost if code not in {f.code[5:] for f in said[s]}] == []
    losing = {s for s, f in where.items() if {"D03", "D06", "D07", "D12", "D14", "L13"} & {*f.codes}}
    assert {session for session, *_ in lost} == losing


def test_a_line_that_does_not_balance_is_said(base: Path, tmp_path: Path) -> None:
    """No store can do that: a row is taken out of the account behind the audit's back."""
    with open_store(Path(shutil.copy(base, tmp_path / "runtime.sqlite"))) as store:
        store.view("import_account")
        store.con.execute(
            """UPDATE audit.import_account SET converted = converted - 2, balances = false
            WHERE kind = 'user' AND session_id = 'f1'"""
        )
        store.con.execute(
            "UPDATE audit.import_rows SET fate = 'lost', code = NULL WHERE session_id = 'c1' AND sequence = 4"
        )
        (check,) = (c for c in _catalogue() if c.code == "MAKA-D21")
        found = store.con.execute(check.query.sql).fetchall()
    assert [(row[1], row[2], row[4], row[5]) for row in found] == [
        ("c1", 4, 1, "lost by no named finding: 4.4 as its kind of row is"),
        ("f1", None, 2, "user: 4 row(s), accounted 2"),
    ]


def _catalogue() -> Iterator[object]:
    from busbar_audit.checks import catalogue

    yield from (check for check in catalogue() if check.family == "maka")


# --- versions ---


def test_a_session_without_events_is_read_by_its_version(base: Path, tmp_path: Path) -> None:
    """Absent: to be converted; 0: staged; 1: nobody will convert what is left, so it is lost."""
    path = Path(shutil.copy(base, tmp_path / "runtime.sqlite"))
    with closing(sqlite3.connect(path)) as con:
        for session, version in (("l2", 0), ("l3", 1)):
            con.execute(
                """UPDATE session_metadata SET payload_json = json_set(payload_json, '$.transcriptLedgerVersion', ?)
                WHERE session_id = ?""",
                (version, session),
            )
        con.commit()
    told = _totals(path)
    assert (told["l1"], told["l2"], told["l3"]) == (
        (21, 0, 0, 0, 0, 21, 0),
        (21, 0, 0, 0, 0, 21, 0),
        (21, 0, 0, 0, 21, 0, 0),
    )
    found = by_session(judged(path).found, ["l1", "l2", "l3"])
    assert {s: {f.code[5:] for f in found[s]} for s in ("l1", "l2", "l3")} == {
        "l1": {"D02"},
        "l2": {"D01"},
        "l3": {"D03"},
    }
    assert len(found["l3"]) == 4


def test_one_unreadable_row_holds_its_session_back_and_no_other(base: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(base, tmp_path / "runtime.sqlite"))
    with closing(sqlite3.connect(path)) as con:
        edit_row(con, "l1", "l1-u2", lambda row: row.update(extra=1))
        con.commit()
    assert _totals(path)["l1"] == (21, 0, 0, 0, 0, 20, 1)
    with open_store(path) as store:
        store.view("import_risks")
        told = store.con.execute("SELECT session_id, effect, code, first_seq FROM audit.import_risks").fetchall()
    assert told == [("l1", "fails", "L07", 10)]


# --- pages of the converter ---


def _whole(rows: list[tuple[int, str | None, int, bool]]) -> list[int | None]:
    return [part for _, _, part in parts(rows)]


def test_a_turn_is_cut_only_where_another_is_open_at_the_edge() -> None:
    one = [(n, "a", 1, False) for n in range(600)]
    assert set(_whole(one)) == {1}
    edge = [(n, "a" if n in (0, 300) else "b", 1, False) for n in range(301)]
    assert _whole(edge)[300] == 2  # a was not last in its page
    assert set(_whole(edge)[1:300]) == {1}
    assert _whole([(0, None, 1, False), (1, "a", 1, True), (2, "a", 1, False)]) == [None, None, 1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 9)), max_size=60), st.integers(1, 9), st.integers(1, 30)
)
def test_pages_hold_what_fits_and_turns_in_one_piece_are_never_cut(
    told: list[tuple[str, int]], most_rows: int, most_units: int
) -> None:
    rows = [(n, turn, size, False) for n, (turn, size) in enumerate(told)]
    done = list(parts(rows, most_rows, most_units))
    assert [sequence for sequence, *_ in done] == list(range(len(rows)))
    pages: dict[int, list[int]] = {}
    for (_, page, _), (_, _, size, _) in zip(done, rows, strict=True):
        pages.setdefault(page, []).append(size)
    assert all(len(own) <= most_rows and (sum(own) <= most_units or len(own) == 1) for own in pages.values())
    ordered = sorted(rows, key=lambda row: row[1])  # every turn in one piece
    assert {part for _, _, part in parts([(n, *row[1:]) for n, row in enumerate(ordered)], most_rows, most_units)} <= {
        1
    }
    if len(rows) <= min(most_rows, PAGE_ROWS) and sum(size for _, size in told) <= most_units:
        assert {part for *_, part in done} <= {1}


def test_healthy_imports_raise_nothing_and_nothing_is_green_for_nothing(base: Path) -> None:
    """Without an earlier store rows cannot be compared, and that is said."""
    ended = judged(base)
    assert (ended.codes(), ended.could_not_run()) == ({"B19", "D02"}, {})
    check = ended.result.check("MAKA-D20")
    assert (check.outcome, check.reason) == (Outcome.NOT_APPLICABLE, "needs --before")
    assert ended.result.check("MAKA-D21").outcome is Outcome.PASS
    assert ended.result.check("MAKA-D22").examined > 0
