"""The maka family: workspaces in normal use are clean, each fault is found and nothing else, sample stores are explained."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support_maka import Judged, by_session, judged, place, planted, unpacked
from typer.testing import CliRunner

from busbar_audit import warehouse
from busbar_audit.auditing import audit
from busbar_audit.checks import catalogue
from busbar_audit.cli import app
from busbar_audit.errors import UnknownFamily, UsageError
from busbar_audit.findings import Outcome
from busbar_audit.snapshot.integrity import foreign_key_violations
from busbar_audit.store import open_store
from busbar_audit.stores.maka import NOT_YET
from busbar_audit.stores.maka_shapes import GENERATIONS, create
from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_faults import FAULTS
from busbar_audit.synth.maka_planting import edit, edit_row

# Generations in which tables of several checks are new.
SHAPES = (4, 8, 11, 16)
DOCS = Path(__file__).resolve().parent.parent / "docs" / "maka.md"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy workspace of the newest generation."""
    return write_maka(tmp_path_factory.mktemp("maka") / "runtime.sqlite", sessions=2).path


def _copy(base: Path, folder: Path) -> Path:
    return Path(shutil.copy(base, folder / "runtime.sqlite"))


# --- healthy workspaces ---


@pytest.mark.parametrize("generation", [4, 8, 12, 18])
def test_a_workspace_in_normal_use_is_clean(generation: int, tmp_path: Path) -> None:
    """Tools, permissions, steering, failures, stops, notes, batches, a subagent and a running turn raise nothing."""
    store = write_maka(tmp_path / "runtime.sqlite", generation=generation)
    ended = judged(store.path)
    assert ended.codes() == ({"B19"} if generation >= 11 else set())  # the running turn
    home = {"MAKA-T14": "transcript home is JSONL for 2 session(s)"} if generation < 8 else {}
    assert ended.could_not_run() == home
    assert ended.result.exit_code == (3 if home else 0)
    examined = {line.table: line.examined for line in ended.result.account}
    assert examined["runtime_events"] == store.counts["runtime_events"] > 0


def test_every_generation_can_be_written_and_is_taken_for_what_it_is(tmp_path: Path) -> None:
    for generation in GENERATIONS:
        with open_store(write_maka(tmp_path / f"{generation}.sqlite", generation=generation, sessions=1).path) as store:
            assert (store.family, store.generation.taken, store.differences) == ("maka", generation, ())


def test_large_records_are_joined_and_only_noted(tmp_path: Path) -> None:
    store = write_maka(tmp_path / "runtime.sqlite", generation=12, sessions=1, large=True)
    assert store.counts["session_message_chunks"] > 10
    assert judged(store.path).codes() == {"B19", "T03"}


def test_times_with_a_fraction_are_legal(base: Path, tmp_path: Path) -> None:
    path = _copy(base, tmp_path)
    with closing(sqlite3.connect(path)) as con:
        edit(con, "s2-i1-e3", lambda e: e.update(ts=e["ts"] + 0.5))
        edit_row(con, "c1", "c1-t1-a", lambda r: r.update(ts=r["ts"] + 0.5))
        con.execute("UPDATE runtime_events SET committed_at = committed_at + 0.5 WHERE event_id = 's2-i1-e3'")
        con.execute("UPDATE session_messages SET message_ts = message_ts + 0.5 WHERE message_id = 'c1-t1-a'")
        con.commit()
    assert judged(path).codes() == {"B19"}


def test_the_same_arguments_give_the_same_rows(tmp_path: Path) -> None:
    dumps = []
    for name in ("a", "b"):
        with closing(sqlite3.connect(write_maka(tmp_path / name, seed=7).path)) as con:
            dumps.append(list(con.iterdump()))
    assert dumps[0] == dumps[1]


def test_a_workspace_directory_is_a_target_and_the_last_word_is_the_verdict(base: Path, tmp_path: Path) -> None:
    _copy(base, tmp_path)
    done = CliRunner().invoke(app, ["audit", str(tmp_path)])
    assert (done.exit_code, done.stdout.split()[-1]) == (0, "clean")
    done = CliRunner().invoke(app, ["inspect", str(tmp_path)])
    assert done.exit_code == 0
    assert "maka sqlite v18" in done.stdout


def test_no_content_leaves_in_any_output(base: Path, tmp_path: Path) -> None:
    """Texts of users, answers and tools are in no part of a result, whatever is wrong with them."""
    path = _copy(base, tmp_path)
    secret = "correcthorsebattery"
    with closing(sqlite3.connect(path)) as con:
        for event_id in ("s1-i1-e3", "s1-t2-user"):
            edit(con, event_id, lambda e: e["content"].update(text=secret))
        edit(con, "s1-i3-e5", lambda e: e["content"].update(result={"kind": secret, "text": secret}))
        edit(con, "s1-i4-e3", lambda e: e["content"].update(args={secret: secret}))
        edit(con, "s2-i6-e3", lambda e: e["content"].update(message=secret, kind="error", reason=secret))
        edit(con, "s2-i1-e3", lambda e: e.update(status=secret))
        con.execute("UPDATE session_catalog_projection SET last_message_preview = ?", (secret,))
        con.commit()
    with open_store(path) as store:
        result = audit(store)
        found = list(result.findings())
        text = json.dumps(result.as_dict(), default=str) + "".join(f"{f.place} {f.detail}" for f in found)
    assert {"A09", "B31", "R05"} <= {f.code[5:] for f in found}
    # The name of an unknown word is told, shortened; that is what A09 is for.
    assert text.replace(f"unknown value '{secret}'", "").count(secret) == 0


# --- faults ---


@pytest.mark.parametrize(("generation", "large"), [(18, False), (12, False), (18, True)])
def test_each_fault_is_found_and_nothing_else(generation: int, large: bool, tmp_path: Path) -> None:
    faults = [f for f in FAULTS.values() if f.generations[0] <= generation <= f.generations[1] and f.large == large]
    faults = [f for f in faults if f.population in "sc"]  # those of imports are in test_imports.py
    where = planted(tmp_path / "runtime.sqlite", generation, faults, large=large)
    ended = judged(tmp_path / "runtime.sqlite")
    assert ended.could_not_run() == {}
    found = by_session(ended.found, where)
    said = {where[s].name: sorted(f.code[5:] for f in found.get(s, ())) for s in where}
    assert {name: sorted(set(codes)) for name, codes in said.items()} == {
        fault.name: sorted(fault.codes) for fault in where.values()
    }
    for session, fault in where.items():
        own = {f.place for f in found[session] if f.code == f"MAKA-{fault.codes[0]}"}
        assert place(fault, session) in own, fault.name
    legal = {"s1": {"B19", "T03"} if large else {"B19"}}
    assert {s: {f.code[5:] for f in fs} - legal.get(s, set()) for s, fs in found.items() if s not in where} == {
        "s1": set()
    }


def test_a_fault_alone_says_the_same(tmp_path: Path) -> None:
    name = "ordinals-swapped"
    where = planted(tmp_path / "runtime.sqlite", 18, [FAULTS[name]])
    assert judged(tmp_path / "runtime.sqlite").codes() == {*FAULTS[name].codes, "B19"}
    assert len(where) == 1


def test_there_are_enough_faults_and_every_check_has_one() -> None:
    assert len(FAULTS) >= 180
    covered = {code for fault in FAULTS.values() for code in fault.codes}
    # Faults of the whole file, and of sizes, have tests of their own below.
    own = {
        "A01",
        "A02",
        "A03",
        "A04",
        "A11",
        "A12",
        "A13",
        "B03",
        "B10",
        "D15",
        "D20",
        "D21",
        "T01",
        "T02",
        "T03",
        "T04",
        "T14",
        "T15",
        "T16",
        "B19",
    }
    assert {check.code[5:] for check in catalogue() if check.family == "maka"} == covered | own


def _changed(base: Path, folder: Path, *statements: str) -> Judged:
    path = _copy(base, folder)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        for statement in statements:
            con.execute(statement)
    return judged(path)


@pytest.mark.parametrize(
    ("statements", "codes"),
    [
        (["DROP INDEX runtime_events_by_run"], {"A04"}),
        (["PRAGMA user_version = 15"], {"A12"}),
        (["PRAGMA journal_mode = delete"], {"A02"}),
        (["UPDATE session_metadata SET payload_json = '[' WHERE session_id = 's1'"], {"A13"}),
        (
            ["UPDATE session_metadata SET payload_json = json_set(payload_json, '$.id', 's2') WHERE session_id = 's1'"],
            {"A13"},
        ),
        # Half a surrogate pair in a name is legal.
        (['UPDATE session_metadata SET payload_json = replace(payload_json, \'{"\', \'{"name":"\\ud83d","\')'], set()),
        (
            [
                "UPDATE runtime_events SET payload_json = CAST(x'7bff7d' AS TEXT) WHERE event_id = 's2-i1-e3'",
                "UPDATE session_messages SET message_ts = 'soon' WHERE message_id = 'c1-t1-a'",
            ],
            {"A11", "A05", "B35"},
        ),
        (
            ["UPDATE runtime_session_event_ordinals SET session_id = 's2', ordinal = 999 WHERE event_id = 's1-i1-e4'"],
            {"B03", "B05", "B02", "T05"},
        ),
        (
            [
                "DROP INDEX runtime_events_one_opening_per_invocation",
                """INSERT INTO runtime_events SELECT 's2-again', session_id, invocation_id, run_id, turn_id, 6, event_kind,
                replace(payload_json, '"id":"s2-i1-e1"', '"id":"s2-again"'), committed_at
                FROM runtime_events WHERE event_id = 's2-i1-e1'""",
                "INSERT INTO runtime_session_event_ordinals VALUES ('s2', 999, 's2-again')",
            ],
            {"A04", "B05", "B10", "B12", "B16"},
        ),
    ],
)
def test_faults_of_the_whole_file(statements: list[str], codes: set[str], base: Path, tmp_path: Path) -> None:
    ended = _changed(base, tmp_path, *statements)
    assert ended.codes() - {"B19"} == codes, [(f.code, f.place, f.detail) for f in ended.found]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA user_version = 19", "version 19, known up to 18"),
        (
            "UPDATE operational_schema_migrations SET version = 10 WHERE scope = 'core_execution'",
            "version 10, known up to 9",
        ),
    ],
)
def test_a_newer_store_is_not_judged(statement: str, says: str, base: Path, tmp_path: Path) -> None:
    ended = _changed(base, tmp_path, statement)
    assert ended.result.exit_code == 3
    assert says in ended.result.check("MAKA-A01").reason
    assert ended.found == []
    judging = {check.code for check in catalogue() if check.family == "maka"} - {"MAKA-A02", "MAKA-A03"}
    assert ended.could_not_run().keys() == judging


def test_a_damaged_file_holds_everything_else_back(base: Path, tmp_path: Path) -> None:
    path = _copy(base, tmp_path)
    with closing(sqlite3.connect(path)) as con:
        (root,) = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runtime_events_by_run'").fetchone()
        (size,) = con.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size + 12)
        file.write(b"\xff" * 24)
    ended = judged(path)
    assert ended.codes() == {"A03"}
    assert len(ended.could_not_run()) == len(ended.result.results) - 1


def test_an_imported_session_with_tools_is_named(base: Path, tmp_path: Path) -> None:
    path = _copy(base, tmp_path)
    with closing(sqlite3.connect(path)) as con:
        (event_id,) = con.execute(
            "SELECT event_id FROM runtime_events WHERE session_id = 'x1' AND event_seq = 3"
        ).fetchone()
        edit(con, event_id, lambda e: e.update(content={"kind": "thinking", "text": "so"}))
        con.execute("UPDATE runtime_events SET event_kind = 'thinking' WHERE event_id = ?", (event_id,))
        con.commit()
    assert judged(path).codes() == {"B19", "D15", "B27", "B35", "D12"}


def test_turns_beyond_what_a_page_reads(base: Path, tmp_path: Path) -> None:
    path = _copy(base, tmp_path)
    wide = {"kind": "text", "text": "z" * (17 << 20)}
    with closing(sqlite3.connect(path)) as con:
        edit(con, "s2-i1-e3", lambda e: e.update(content=wide))
        con.execute("DELETE FROM runtime_session_event_ordinals WHERE event_id IN ('s1-i1-e4', 's1-i1-e5')")
        text, at = con.execute(
            "SELECT payload_json, committed_at FROM runtime_events WHERE event_id = 's1-i1-e4'"
        ).fetchone()
        con.execute("UPDATE runtime_events SET event_seq = event_seq + 9000 WHERE event_id IN ('s1-i1-e4', 's1-i1-e5')")
        ids = [f"s1-i1-n{n}" for n in range(9001)]
        con.executemany(
            "INSERT INTO runtime_events VALUES (?, 's1', 's1-i1', 's1-r1', 's1-t1', ?, 'runtime_fact', ?, ?)",
            ((e, 4 + n, text.replace('"s1-i1-e4"', f'"{e}"'), at) for n, e in enumerate(ids)),
        )
        con.execute("UPDATE runtime_events SET event_seq = event_seq + 1 WHERE event_id IN ('s1-i1-e4', 's1-i1-e5')")
        con.executemany(
            "INSERT INTO runtime_session_event_ordinals VALUES ('s1', ?, ?)",
            enumerate([*ids, "s1-i1-e4", "s1-i1-e5"], start=1000),
        )
        con.commit()
    ended = judged(path)
    assert ended.codes() == {"B19", "T01", "T02", "T03", "T04", "T05", "B05"}
    assert {(f.place, f.detail.split(":")[0]) for f in ended.found if f.code == "MAKA-T05"} == {
        ("s1", "V17"),
        ("s2", "V17"),
    }


def test_tables_of_the_same_names_are_not_a_workspace(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as con:
        con.execute("CREATE TABLE runtime_events (id INTEGER, payload TEXT)")
        con.execute("CREATE TABLE tool_operations (id INTEGER)")
    with pytest.raises(UnknownFamily):
        open_store(path)


@pytest.mark.parametrize("generation", SHAPES)
def test_every_query_works_on_the_empty_shape(generation: int, tmp_path: Path) -> None:
    """Nothing fails where a table is there but empty; an empty store proves nothing."""
    path = tmp_path / "runtime.sqlite"
    with closing(sqlite3.connect(path)) as con:
        create(con, generation)
        con.execute(f"PRAGMA user_version = {generation}")
        con.execute("PRAGMA journal_mode = wal")
    with open_store(path) as store:
        for name in store.views.names():
            store.view(name)
        result = audit(store)
        assert {r.code for r in result.results if r.outcome is Outcome.COULD_NOT_RUN} == set()
        assert [f.code for f in result.findings()] == []
        assert result.exit_code == 3
        assert "the store holds no ledger event or legacy row: there was no evidence to check" in result.reasons


def test_a_store_is_judged_alike_with_its_views_kept_and_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views of a small store are tables; those of a large one are not."""
    faults = [fault for fault in FAULTS.values() if 18 in fault.generations and not fault.large][::8]
    planted(tmp_path / "runtime.sqlite", 18, faults)
    said = []
    for most in (warehouse.SMALL_BYTES, -1):
        monkeypatch.setattr(warehouse, "SMALL_BYTES", most)
        monkeypatch.setattr(warehouse, "_LITTLE", min(warehouse._LITTLE, max(0, most)))
        ended = judged(tmp_path / "runtime.sqlite")
        said.append([(r.code, r.outcome, r.reason, r.examined, r.findings, r.samples) for r in ended.result.results])
    assert said[0] == said[1]
    assert any(outcome is Outcome.FINDING for _, outcome, *_ in said[0])


def test_the_rows_query_agrees_with_the_projection_and_would_say_so(base: Path) -> None:
    """Two definitions of a transcript: one in SQL over facts of events, one as a fold."""
    (check,) = (check for check in catalogue() if check.code == "MAKA-T15")
    with open_store(base) as store:
        assert audit(store, only=("MAKA-T15",)).check("MAKA-T15").outcome is Outcome.PASS
        rows = store.con.execute("SELECT type, count(*) FROM audit.transcript_rows GROUP BY type").fetchall()
        assert {kind for kind, _ in rows} == {
            *("user", "assistant", "tool_call", "tool_result", "permission_decision", "token_usage", "turn_state"),
            "system_note",
        }
        assert sum(n for _, n in rows) > 100
        for table in ("source.transcript_facts", "audit.transcript_facts"):
            kind = store.con.execute(
                "SELECT table_type FROM information_schema.tables WHERE table_schema || '.' || table_name = ?", [table]
            ).fetchone()
            if kind == ("BASE TABLE",):
                store.con.execute(f"DELETE FROM {table} WHERE fact = 'row' AND event_id = 's1-i1-e3'")
        found = store.con.execute(check.query.sql).fetchall()
    assert [(row[1], row[4], row[5]) for row in found] == [
        ("s1", 1, "only the query has it: 1 row(s), first assistant of event s1-i1-e3")
    ]


def test_the_command_writes_a_workspace_with_faults(tmp_path: Path) -> None:
    out = tmp_path / "made.sqlite"
    command = ["synth", "maka", "--out", str(out), "--size", "100", "--fault", "event-removed", "--fault", "chain-cut"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.stdout
    assert "fault event-removed in session s2: expected MAKA-B01, MAKA-B05" in done.stdout
    assert judged(out).codes() == {"B19", "B01", "B05", "R08"}
    for wrong in (["--fault", "nothing"], ["--fault", "row-cut"], ["--odd", "x"], ["--generation", "3"]):
        done = CliRunner().invoke(app, ["synth", "maka", "--out", str(tmp_path / "x"), *wrong])
        assert isinstance(done.exception, UsageError), wrong
    assert "event-removed" in CliRunner().invoke(app, ["synth", "maka", "--list"]).stdout


def test_a_schema_whose_indexes_call_json_functions_is_read(base: Path, tmp_path: Path) -> None:
    """SQLite refuses such a schema where it is not trusted; the product's own stores have one."""
    path = _copy(base, tmp_path)
    with closing(sqlite3.connect(path)) as con:
        con.execute(
            """CREATE UNIQUE INDEX fresh ON runtime_continuation_claims (target_session_id, target_turn_id)
            WHERE json_extract(start_kind, '$.kind') <> 'handoff'"""
        )
    assert foreign_key_violations(path) == []
    assert judged(path).codes() == {"B19"}


# --- what is not done is named ---


def test_every_check_of_the_sheet_is_there_or_named_as_not_yet() -> None:
    there = {check.code[5:] for check in catalogue() if check.family == "maka"}
    numbers = {"A": 10, "B": 34, "L": 13, "D": 20, "R": 11, "T": 13}
    sheet = {f"{letter}{n:02}" for letter, last in numbers.items() for n in range(1, last + 1)}
    assert there & set(NOT_YET) == set()
    assert sheet <= there | set(NOT_YET)
    assert sheet >= set(NOT_YET)
    text = DOCS.read_text(encoding="utf-8")
    assert [code for code in NOT_YET if not re.search(rf"\bMAKA-{code}\b", text)] == []


# --- stores of the real product ---

# What is known of each archive: findings of severity medium or above, and why they are right, are in docs/maka.md.
KNOWN = {
    "a-normal/checkpointed": set(),
    "b-legacy/checkpointed": {"L13", "D22"},
    "b-chunks/checkpointed": set(),
    "d-commit-05/checkpointed": set(),
    "d-commit-05/recovered": {"R03"},
    "d-commit-31/checkpointed": set(),
    "d-commit-31/recovered": {"B27"},
    "e-b-converted/checkpointed": {"L13"},
    "e-b-kill-event-5-resumed/checkpointed": {"L13", "R01", "D11"},
    "old-v018/checkpointed": set(),
    "old-1-v011/checkpointed": set(),
}


@pytest.mark.real_stores
@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in KNOWN}))
def test_sample_stores_say_what_is_known_of_them(name: str, samples: Path, tmp_path: Path) -> None:
    archive = samples / "maka" / f"{name}.tar.xz"
    for path in unpacked(archive, tmp_path, r"/(checkpointed|recovered)/runtime\.sqlite$"):
        key = f"{name}/{path.parent.name}"
        ended = judged(path)
        assert {f.code[5:] for f in ended.found if f.severity in ("critical", "high", "medium")} == KNOWN[key], key
        assert ended.could_not_run().keys() == ({"MAKA-T14"} if name == "old-1-v011" else set())
