"""Our emulation of the plug-in's upgrade: every path, byte for byte; every fault caught by the invariant that should; kills."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_cli import called, last

from busbar_audit.auditing import audit
from busbar_audit.rehearsal.upgrade import rehearse_upgrade
from busbar_audit.rehearsal.upgrade_compare import compare_chains, compare_file
from busbar_audit.rehearsal.upgrade_copy import digests
from busbar_audit.rehearsal.upgrade_emulation import Refused, upgrade
from busbar_audit.rehearsal.upgrade_foretold import foretell, held_against
from busbar_audit.rehearsal.upgrade_result import Upgrade
from busbar_audit.rehearsal.upgrade_rows import compare_rows
from busbar_audit.result import Result
from busbar_audit.store import Store, open_store
from busbar_audit.stores.busbar_shapes import create
from busbar_audit.stores.busbar_shapes import statements as schema
from busbar_audit.synth import write_busbar

TARGETS = (10, 11, 12)
SIZES = {"seed": 3, "calls": 24, "tasks": 6, "audits": 8, "days": 2}


@pytest.fixture(scope="module")
def befores(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A store of each generation; that of 5 has requests that were never billed, and some that were refunded."""
    folder = tmp_path_factory.mktemp("emulation")
    made = {}
    for generation in range(5, 12):
        made[generation] = folder / f"v{generation}.db"
        write_busbar(
            made[generation], generation=generation, odd=("unicode", "pipes") if generation in (8, 9) else (), **SIZES
        )
    with closing(sqlite3.connect(made[5], isolation_level=None)) as con:
        con.execute(
            "UPDATE usage_windows SET billable_requests = 0 "
            "WHERE window_start = (SELECT min(window_start) FROM usage_windows)"
        )
        con.execute(
            "UPDATE usage_metering SET billable_requests = 0 WHERE bucket = (SELECT min(bucket) FROM usage_metering)"
        )
    return made


class Before:
    """A store that is opened and audited once, and held against many upgraded copies."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def result(self) -> Result:
        return audit(self.store, only=("chains",))

    def judged(self, copy: Path, to: int, *, chains: bool = True) -> Upgrade:
        found = Upgrade(self.store.generation.taken or 0)
        compare_file(found, self.store, copy, to)
        if chains and found.after is not None:
            compare_chains(found, copy, self.result)
        return found


@pytest.fixture(scope="module")
def nine(befores: dict[int, Path]) -> Iterator[Before]:
    with open_store(befores[9]) as store:
        yield Before(store)


@pytest.fixture(scope="module")
def ten(befores: dict[int, Path]) -> Path:
    """What a right upgrade of the ninth leaves."""
    done = befores[9].with_name("done.db")
    shutil.copyfile(befores[9], done)
    upgrade(done, 10)
    return done


@pytest.mark.parametrize("generation", range(5, 12))
def test_every_path_keeps_everything(generation: int, befores: dict[int, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with open_store(befores[generation]) as store:
        before = Before(store)
        for to in (number for number in TARGETS if number > generation):
            shutil.copyfile(befores[generation], copy)
            upgrade(copy, to)
            # The chains of each path of two generations: those of the others go the same way.
            found = before.judged(copy, to, chains=(generation, to) in {(5, 12), (8, 10)})
            assert (found.broken, found.unsure, found.after) == ([], [], to)
            assert found.compared["keys"] > 0
            told = foretell(befores[generation], generation, to)
            assert told.warnings == []
            assert all(line.done == line.predicted for line in held_against(told, befores[generation], copy))
            done = digests(copy)
            upgrade(copy, to)
            assert digests(copy) == done, "a second run changed something"


def test_the_backfill_bills_once_and_only_what_was_never_billed(befores: dict[int, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copyfile(befores[5], copy)
    upgrade(copy, 12)
    told = {line.what: line for line in held_against(foretell(befores[5], 5, 12), befores[5], copy)}
    windows, metering = (told[f"{what} whose requests become billable"] for what in ("windows", "metering rows"))
    assert windows.done == windows.predicted
    assert metering.done == metering.predicted
    assert min(windows.predicted, metering.predicted) > 0
    with closing(sqlite3.connect(copy)) as con:
        con.execute("UPDATE usage_windows SET billable_requests = 0 WHERE model = ''")  # refunded since
        con.commit()
    upgrade(copy, 12)
    with closing(sqlite3.connect(copy)) as con:
        assert con.execute("SELECT sum(billable_requests) FROM usage_windows").fetchone() == (0,)


def test_the_body_of_the_sheet(tmp_path: Path) -> None:
    path = tmp_path / "fixture.db"
    with closing(sqlite3.connect(path)) as con:
        create(con, 9)
        con.execute(
            "INSERT INTO tasks VALUES ('task_done', 'ctx1', 'vk_live', 'inbound', 'completed', 'agent1', 3, "
            "'https://cb.example/x', 1700000000, 1700000200)"
        )
        con.execute("INSERT INTO mcp_demotions VALUES ('srv_bad', 'drift', 1700000060)")
        con.execute("INSERT INTO spent_ask_states VALUES ('nonce_spent', 4000000000)")
        con.commit()
    upgrade(path, 10)
    with closing(sqlite3.connect(path)) as con:
        rows = con.execute(
            "SELECT kind, identity, seq, id, parent, ts, disposition, body FROM plane_records ORDER BY 1"
        ).fetchall()
        tokens = con.execute("SELECT * FROM plane_tokens").fetchall()
    assert [row[:7] for row in rows] == [
        ("demotion", "srv_bad", 0, "srv_bad", None, 1700000060, "active"),
        ("task", "task_done", 0, "task_done", None, 1700000200, "terminal"),
    ]
    assert hashlib.sha256(rows[1][7]).hexdigest() == "694830b24aa7be662ba7298c039c5bd4d9f4e92f7a23eaaf8221e6c82ff0234b"
    assert rows[0][7] == b'{"server":"srv_bad","reason":"drift","recorded_at":1700000060}'
    assert tokens == [("approval", "nonce_spent", 4000000000)]


TASK = "identity = (SELECT min(identity) FROM plane_records WHERE kind = 'task')"
EVENT = "(SELECT min(identity) FROM plane_records WHERE kind = 'task_event')"
CALL = "(SELECT min(principal) FROM mcp_calls)"
# What a wrong upgrade would have done, and the invariants it breaks: these, and no other.
WRONG = [
    ("UPDATE keys SET name = 'x' WHERE rowid = 1", "R3 keys"),
    ("INSERT INTO keys (id, name, generation_hash, created_at, updated_at) VALUES ('k', 'n', 'h', 1, 1)", "R3 keys"),
    ("UPDATE keys SET allowed_pools = '[]' WHERE allowed_pools IS NULL", "R3 keys"),
    ("UPDATE keys SET idp_subject = 'x' WHERE rowid = 1", "R3 keys"),
    ("UPDATE keys SET scope_grants = '{}' WHERE rowid = 1", "R3 keys"),
    ("DELETE FROM keys WHERE id = (SELECT max(id) FROM keys WHERE id NOT IN (SELECT key_id FROM credentials))", "R3 keys"),
    ("DELETE FROM credentials", "R3 credentials"),
    ("UPDATE credentials SET revision = revision + 1", "R3 credentials"),
    ("UPDATE credentials SET key_id = 'nobody' WHERE rowid = 1", "R1 foreign_key_check, R3 credentials"),
    ("DELETE FROM denylist", "R3 denylist"),
    ("INSERT INTO denylist VALUES ('one more', '', 0)", "R3 denylist"),
    ("DROP TABLE denylist", "R3 denylist, R12 denylist"),
    ("INSERT INTO store_meta VALUES ('k', 'v')", "R3 store_meta"),
    ("UPDATE store_revision SET revision = revision - 1", "R3 store_revision"),
    ("UPDATE usage_windows SET requests = requests + 1 WHERE model = ''", "R4 usage_windows"),
    ("UPDATE usage_windows SET billable_requests = 0 WHERE model = ''", "R4 usage_windows"),
    ("DELETE FROM usage_windows WHERE model <> ''", "R4 usage_windows"),
    ("INSERT INTO usage_windows (window_start, bucket_id, model) VALUES (0, 'b', '')", "R4 usage_windows"),
    ("DELETE FROM usage_metering WHERE key_id = (SELECT min(key_id) FROM usage_metering)", "R5 usage_metering"),
    ("UPDATE usage_metering SET tokens_input = 0", "R5 usage_metering"),
    ("UPDATE usage_metering SET priced_from_ms = 5", "R5 usage_metering"),
    ("UPDATE usage_metering SET pricing_version = ''", "R5 usage_metering"),
    ("INSERT INTO usage_window_units VALUES (1, 'b', 'm', 'u', 1)", "R6 usage_window_units"),
    ("INSERT INTO usage_metering_units VALUES ('0', 'k', 'p', 'm', 0, 'u', 1)", "R6 usage_metering_units"),
    ("CREATE TABLE ours (x TEXT) STRICT", "R12 ours"),
    (f"DELETE FROM plane_records WHERE kind = 'task' AND {TASK}", "R8 tasks"),
    (f"UPDATE plane_records SET body = CAST(body || ' ' AS BLOB) WHERE kind = 'task' AND {TASK}", "R8 tasks"),
    (f"UPDATE plane_records SET body = CAST(replace(body, 'a', 'A') AS BLOB) WHERE kind = 'task' AND {TASK}", "R8 tasks"),
    ("UPDATE plane_records SET disposition = 'active' WHERE kind = 'task'", "R8 tasks"),
    (f"UPDATE plane_records SET ts = ts + 1 WHERE kind = 'task' AND {TASK}", "R8 tasks"),
    (f"UPDATE plane_records SET id = 'x' WHERE kind = 'task' AND {TASK}", "R8 tasks"),
    (f"UPDATE plane_records SET identity = 'x' WHERE kind = 'task' AND {TASK}", "R8 tasks, R7 plane_records"),
    ("DELETE FROM plane_records WHERE kind = 'demotion'", "R9 mcp_demotions"),
    ("UPDATE plane_records SET body = x'7b7d' WHERE kind = 'demotion'", "R9 mcp_demotions"),
    ("DELETE FROM plane_tokens", "R9 spent_ask_states"),
    ("UPDATE plane_tokens SET kind = 'ask'", "R9 spent_ask_states, R9 plane_tokens"),
    ("UPDATE plane_tokens SET expires_at = 0", "R9 spent_ask_states"),
    ("INSERT INTO plane_tokens VALUES ('ask', 'one more', 1)", "R9 plane_tokens"),
    ("CREATE TABLE tasks (task_id TEXT)", "R11 tasks"),
    ("CREATE TABLE spent_ask_states (nonce TEXT)", "R11 spent_ask_states"),
    ("DROP INDEX audit_resource_seq_idx", "R12 audit_log"),
    ("DROP INDEX um_key_bucket_idx", "R12 usage_metering"),
    ("DROP TRIGGER keys_guard_hard_delete", "R12 keys"),
    ("DROP TRIGGER mcp_calls_no_update", "R12 mcp_calls"),
    ("DROP INDEX mcp_calls_ts_idx", "R12 mcp_calls"),
    ("CREATE TRIGGER more AFTER INSERT ON keys BEGIN DELETE FROM denylist; END", "R12 keys"),
    ("ALTER TABLE keys ADD COLUMN more TEXT", "R12 keys"),
    ("ALTER TABLE keys DROP COLUMN minted_by", "R12 keys"),
]  # fmt: skip
CHAINED = [
    ("DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)", "R3 audit_log, R15"),
    ("UPDATE audit_log SET principal = 'x' WHERE seq = 1", "R3 audit_log, R15"),
    ("UPDATE mcp_calls SET ts = ts + 1 WHERE seq = 1", "R10 mcp_calls, R15"),
    (f"DELETE FROM mcp_calls WHERE seq = 1 AND principal = {CALL}", "R10 mcp_calls, R15"),
    ("UPDATE mcp_calls SET version = 1", "R10 mcp_calls"),
    ("DROP TABLE mcp_calls", "R10 mcp_calls, R15"),
    (f"DELETE FROM plane_records WHERE kind = 'task_event' AND seq = 1 AND identity = {EVENT}", "R7 task_events, R15"),
    ("UPDATE plane_records SET body = CAST(replace(CAST(body AS TEXT), '\"kind\":\"task.', '\"kind\":\"tusk.') AS BLOB) "
     f"WHERE kind = 'task_event' AND seq = 1 AND identity = {EVENT}", "R7 task_events, R15"),
    (f"UPDATE plane_records SET ts = ts + 1 WHERE kind = 'task_event' AND seq = 1 AND identity = {EVENT}",
     "R7 task_events, R15"),
    ("INSERT INTO plane_records SELECT kind, identity || 'x', seq, id, parent, ts, disposition, body FROM plane_records "
     "WHERE kind = 'demotion'", "R7 plane_records"),
]  # fmt: skip


def _spoilt(done: Path, folder: Path, statement: str) -> Path:
    """The upgraded copy with one thing wrong, its triggers as they were (but for what the statement says of them)."""
    copy = folder / "wrong.db"
    shutil.copyfile(done, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as con:
        guards = con.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        kept = [] if "TRIGGER" in statement else guards
        for name, _, _ in kept:
            con.execute(f"DROP TRIGGER {name}")
        con.execute(statement)
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master")}
        for _, table, made in kept:
            if table in tables:
                con.execute(made)
    return copy


def _seen(found: Upgrade) -> str:
    return ", ".join(sorted({"R15" if b.rule == "R15" else f"{b.rule} {b.subject}" for b in found.broken}))


@pytest.mark.parametrize(("statement", "codes"), WRONG)
def test_each_wrong_upgrade_breaks_its_invariant_alone(
    statement: str, codes: str, nine: Before, ten: Path, tmp_path: Path
) -> None:
    found = nine.judged(_spoilt(ten, tmp_path, statement), 10, chains=False)
    assert (_seen(found), found.unsure) == (", ".join(sorted(codes.split(", "))), [])


@pytest.mark.parametrize(("statement", "codes"), CHAINED)
def test_each_wrong_chain_breaks_its_invariant_alone(
    statement: str, codes: str, nine: Before, ten: Path, tmp_path: Path
) -> None:
    found = nine.judged(_spoilt(ten, tmp_path, statement), 10)
    assert (_seen(found), found.unsure) == (", ".join(sorted(codes.split(", "))), [])


@pytest.mark.parametrize(
    ("stamp", "to", "what"),
    [
        (9, 10, "nothing was upgraded"),
        (6, 10, "was stamped down"),
        (11, 10, "is 11 and not 10"),
        (13, 13, "no generation known"),
    ],
)
def test_a_wrong_stamp_is_told(stamp: int, to: int, what: str, nine: Before, ten: Path, tmp_path: Path) -> None:
    found = nine.judged(_spoilt(ten, tmp_path, f"PRAGMA user_version = {stamp}"), to, chains=False)
    assert [b.what for b in found.broken if b.rule == "R2" and what in b.what], found.broken
    # The rows are those of 10 whatever the stamp says; only the shape is another one then.
    assert {b.rule for b in found.broken} <= {"R2", "R12", "R3", "R5", "R6"}


def test_a_file_that_cannot_be_read_is_never_clean(nine: Before, ten: Path, tmp_path: Path) -> None:
    copy = tmp_path / "torn.db"
    shutil.copyfile(ten, copy)
    with closing(sqlite3.connect(copy)) as con:
        (root,) = con.execute("SELECT rootpage FROM sqlite_master WHERE name = 'plane_records'").fetchone()
        (size,) = con.execute("PRAGMA page_size").fetchone()
    with copy.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    found = nine.judged(copy, 10)
    assert {b.rule for b in found.broken if b.subject in ("integrity_check", "the file")} == {"R1"}
    assert any("R7 to R10 could not be judged" in each for each in found.unsure)
    copy.write_bytes(b"no database at all" * 100)
    assert {b.rule for b in nine.judged(copy, 10).broken} == {"R1"}
    copy.unlink()
    assert [(b.rule, b.what) for b in nine.judged(copy, 10).broken] == [("R1", "is gone")]


NOT_UTF8 = "CAST(x'ff' AS TEXT)"


def _odd(before: Path, path: Path, *statements: str) -> Path:
    shutil.copyfile(before, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        for statement in statements:
            con.execute(statement)
    return path


@pytest.mark.parametrize(
    ("table", "column"),
    [("task_events", "request_id"), ("tasks", "agent_id"), ("mcp_demotions", "reason"), ("spent_ask_states", "nonce")],
)
def test_text_that_is_not_utf8_is_foretold_and_rolled_back(
    table: str, column: str, befores: dict[int, Path], tmp_path: Path
) -> None:
    path = _odd(befores[9], tmp_path / "odd.db", f"UPDATE {table} SET {column} = {NOT_UTF8} WHERE rowid = 1")
    (warning,) = foretell(path, 9, 10).warnings
    assert warning == f"1 row(s) of {table} hold text that is not UTF-8: the upgrade will fail and be rolled back"
    before = digests(path)
    with pytest.raises(Refused, match=f"column {column} of {table} holds text that is not UTF-8"):
        upgrade(path, 10)
    assert digests(path) == before
    assert foretell(path, 9, 9).warnings == []


EVENT_COLUMNS = "ts, kind, context_id, principal, agent_id, state, request_id, prev_hash, hash"


@pytest.mark.parametrize(
    ("statements", "warnings", "broken"),
    [
        # Two events that are one after the clamp.
        (
            [f"INSERT INTO task_events SELECT task_id, {n}, {EVENT_COLUMNS} FROM task_events WHERE seq = 1 AND task_id = "
             "(SELECT min(task_id) FROM task_events)" for n in (-1, -2)],
            ["R14 1 row(s) of task_events have a key", "R7 2 row(s) of task_events hold a number below 0"],
            "R14 task_events",
        ),
        # A number below 0 alone: changed, and nothing is lost.
        (["UPDATE tasks SET created_at = -5 WHERE rowid = 1"], ["R8 1 row(s) of tasks hold a number below 0"], ""),
        (["UPDATE mcp_demotions SET recorded_at = -5"], ["R9 1 row(s) of mcp_demotions hold a number below 0"], ""),
        (["UPDATE spent_ask_states SET expires_at = -5"], [], ""),
    ],
)  # fmt: skip
def test_what_is_lost_or_changed_silently_is_foretold(
    statements: list[str], warnings: list[str], broken: str, befores: dict[int, Path], tmp_path: Path
) -> None:
    path = _odd(befores[9], tmp_path / "odd.db", *statements)
    told = foretell(path, 9, 10)
    assert [w.startswith(due) for w, due in zip(told.warnings, warnings, strict=True)] == [True] * len(warnings)
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    upgrade(copy, 10)
    with open_store(path) as store:
        assert _seen(Before(store).judged(copy, 10, chains=False)) == broken
    assert all(line.done == line.predicted for line in held_against(told, path, copy))


def test_a_record_that_was_there_before_takes_the_place_of_a_row(befores: dict[int, Path], tmp_path: Path) -> None:
    (made,) = (s for s in schema(10) if s.startswith("CREATE TABLE plane_records"))
    path = _odd(
        befores[9],
        tmp_path / "odd.db",
        made,
        "INSERT INTO plane_records SELECT 'task', min(task_id), 0, min(task_id), NULL, 1, 'active', x'7b7d' FROM tasks",
    )
    told = foretell(path, 9, 11)
    assert [w[:26] for w in told.warnings] == ["R14 1 row(s) of tasks have"]
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    upgrade(copy, 11)
    with open_store(path) as store:
        assert _seen(Before(store).judged(copy, 11, chains=False)) == "R14 tasks"


def test_a_lost_stamp_is_refused_and_nothing_is_run(befores: dict[int, Path], tmp_path: Path) -> None:
    path = _odd(befores[6], tmp_path / "lost.db", "PRAGMA user_version = 0")
    with open_store(path) as store:
        found = rehearse_upgrade(store, "false {copy}", to=12)
    assert (found.exit_code, found.ran, found.broken, found.after) == (1, [], [], None)
    assert [w.split(":")[0] for w in found.warnings] == ["BUS-S03 file user_version", "user_version is 0"]
    assert "would be dropped" in found.warnings[1]
    with pytest.raises(Refused, match="would drop every table"):
        upgrade(path, 12)


def test_a_store_stamped_down_is_billed_again(befores: dict[int, Path], tmp_path: Path) -> None:
    path = _odd(
        befores[9],
        tmp_path / "down.db",
        "PRAGMA user_version = 5",
        "UPDATE usage_windows SET billable_requests = 0 WHERE model = ''",
    )
    with open_store(path) as store:
        found = rehearse_upgrade(store, to=12)
    assert any(w.startswith("BUS-S04") for w in found.warnings)
    assert {b.rule for b in found.broken} == {"R4"}
    assert found.upgrader == "our emulation"


def test_fifty_kills_are_rolled_back_and_run_again(befores: dict[int, Path]) -> None:
    done = called("rehearse", befores[9], "--upgrade", "--to", "12", "--kills", "50", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"], last(done.stderr), told["upgrader"]) == (
        0,
        "clean",
        "clean",
        "our emulation",
    )
    assert len(told["kills"]) == 50
    assert {kill["end"] for kill in told["kills"]} == {"same"}
    # One transaction: nothing is ever part way.
    assert {kill["found"] for kill in told["kills"]} == {"rolled back", "done"}
    moments = [kill["moment"] for kill in told["kills"]]
    assert sum("row " in moment for moment in moments) >= 10
    assert sum(moment.endswith("ms") for moment in moments) == 15
    assert any("BEGIN" in moment for moment in moments)
    assert any("COMMIT" in moment for moment in moments)


@pytest.mark.parametrize("to", [10, 12])
def test_another_emulation_leaves_the_same_rows(to: int, samples: Path, tmp_path: Path) -> None:
    """Of the project's own fixture rows, by a program that shares nothing with ours."""

    def unpacked(name: str) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.decompress((samples / "busbar" / f"{name}.gz").read_bytes()))
        return path

    ours, theirs = unpacked("v9_fixture.db"), unpacked(f"v{to}_from_v9_fixture.db")
    upgrade(ours, to)
    assert _rows(ours) == _rows(theirs)
    assert sum(map(len, _rows(ours).values())) >= 20


def _rows(path: Path) -> dict[str, list[str]]:
    """Every row by its columns' names: the order of columns is no matter of the rows."""
    told = {}
    with closing(sqlite3.connect(path)) as con:
        for (name,) in con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall():
            rows = con.execute(f"SELECT * FROM {name}")
            names = [column[0] for column in rows.description]
            told[name] = sorted(repr(sorted(zip(names, row, strict=True), key=str)) for row in rows)
    return told


texts = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1)
rows_of_tasks = st.lists(
    st.tuples(
        texts,
        texts,
        texts,
        texts,
        st.sampled_from(["working", "failed", "canceled", "x"]),
        texts,
        numbers,
        texts,
        numbers,
        numbers,
    ),
    max_size=10,
    unique_by=lambda row: row[0],
)
rows_of_events = st.lists(st.tuples(texts, numbers, numbers, *[texts] * 8), max_size=10, unique_by=lambda row: row[:2])


@given(tasks=rows_of_tasks, events=rows_of_events, nonce=texts, expires=numbers)
@settings(max_examples=8, deadline=None)
def test_any_text_becomes_the_record_that_is_foretold(
    tasks: list[tuple[object, ...]], events: list[tuple[object, ...]], nonce: str, expires: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "a.db", Path(folder) / "b.db"
        with closing(sqlite3.connect(path)) as con:
            create(con, 9)
            con.executemany(f"INSERT INTO tasks VALUES ({', '.join('?' * 10)})", tasks)
            con.executemany(f"INSERT INTO task_events VALUES ({', '.join('?' * 11)})", events)
            con.execute("INSERT INTO spent_ask_states VALUES (?, ?)", (nonce, expires))
            con.commit()
        shutil.copyfile(path, copy)
        upgrade(copy, 10)
        told, found = foretell(path, 9, 10), Upgrade(9)
        compare_rows(found, path, copy, 10)
        assert all(line.done == line.predicted for line in held_against(told, path, copy))
        assert bool(found.broken) == any(warning.startswith("R14") for warning in told.warnings)
        assert {b.rule for b in found.broken} <= {"R14"}
        assert found.unsure == []


@pytest.mark.parametrize(
    ("generation", "to", "options"),
    [
        (
            9,
            12,
            {"odd": ("purged_head", "audit_gap", "retry", "empty_texts", "u64_pin", "clock_back_small"), "audits": 12},
        ),
        (9, 10, {"digest_placeholders": True}),
        (10, 12, {"bodies": "neutral"}),
        (11, 12, {"bodies": "migrated", "odd": ("audit_copy", "u64_money")}),
    ],
)
def test_what_is_odd_before_is_no_fault_of_the_upgrade(
    generation: int, to: int, options: dict[str, object], tmp_path: Path
) -> None:
    path, copy = tmp_path / "odd.db", tmp_path / "copy.db"
    write_busbar(path, generation=generation, **{**SIZES, **options})
    shutil.copyfile(path, copy)
    upgrade(copy, to)
    with open_store(path) as store:
        found = Before(store).judged(copy, to)
    assert (found.broken, found.unsure) == ([], [])


def test_the_audit_copied_by_a_late_release_is_told_apart(nine: Before, ten: Path, tmp_path: Path) -> None:
    copy = _spoilt(
        ten,
        tmp_path,
        "INSERT INTO plane_records SELECT 'audit', 'admin', seq, 'admin', 'admin', ts, 'active', x'7b7d' FROM audit_log",
    )
    found = nine.judged(copy, 10, chains=False)
    assert (found.broken, [each for each in found.not_compared if "audit" in each]) == (
        [],
        [f"{SIZES['audits']} record(s) of kind audit, as a release copies them when it starts"],
    )


def test_what_somebody_added_before_is_told_and_no_fault(befores: dict[int, Path], tmp_path: Path) -> None:
    path = _odd(
        befores[8],
        tmp_path / "added.db",
        "CREATE TABLE mine (x TEXT)",
        "INSERT INTO mine VALUES ('y')",
        "CREATE TRIGGER ours AFTER INSERT ON keys BEGIN DELETE FROM mine; END",
        "DROP TRIGGER audit_log_no_update",
    )
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    upgrade(copy, 10)
    with open_store(path) as store:
        before = Before(store)
        found = before.judged(copy, 10, chains=False)
        assert (found.broken, found.compared["mine"]) == ([], 1)
        assert [each for each in found.not_compared if "before" in each] == [
            "table-unknown mine (it was there before)",
            "trigger-unknown ours (it was there before)",
        ]
        # The guard that was missing is there again: the upgrade makes what is not there.
        with closing(sqlite3.connect(copy)) as con:
            con.execute("DELETE FROM mine")
            con.commit()
        assert _seen(before.judged(copy, 10, chains=False)) == "R3 mine"
