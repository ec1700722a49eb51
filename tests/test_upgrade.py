"""`rehearse --upgrade`: a right upgrade is clean, and each wrong one is caught by the invariant that should."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support_cli import called, last

from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.upgrade import Upgrade, rehearse_upgrade
from busbar_audit.store import open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.maka import write_maka

# What an upgrade does, by its name: given the copy and a store as the upgrade should leave it.
UPGRADER = """
import pathlib, shutil, sqlite3, sys, time
kind, copy, after = sys.argv[1:4]
done = sqlite3.connect(copy).execute("PRAGMA user_version").fetchone()[0] >= 10
if kind == "hangs":
    time.sleep(60)
if kind == "full":
    pathlib.Path(copy + ".new").write_bytes(b"x" * 10_000_000)
if kind == "fails":
    sys.exit(7)
if kind == "never commits":
    con = sqlite3.connect(copy, isolation_level=None)
    con.execute("BEGIN IMMEDIATE")
    con.execute("PRAGMA user_version = 10")
    con.execute("DROP TABLE tasks")
    sys.stdout.flush()
    import os
    os._exit(0)
if kind == "stamps down":
    sqlite3.connect(copy).execute("PRAGMA user_version = 6")
    sys.exit()
if not done:
    part = copy + ".part"
    shutil.copy(after, part)
    pathlib.Path(part).replace(copy)
con = sqlite3.connect(copy, isolation_level=None)
for name, in con.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall() if len(sys.argv) > 4 else []:
    con.execute(f"DROP TRIGGER {name}")
for statement in sys.argv[4:]:
    con.execute(statement)
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A v9 store, what a right upgrade to v10 leaves of it, and the upgrader."""
    folder = tmp_path_factory.mktemp("upgrade")
    before, after, script = folder / "before.db", folder / "after.db", folder / "upgrader.py"
    write_busbar(before, generation=9, seed=3, calls=120)
    write_busbar(after, generation=10, seed=3, calls=120, bodies="migrated")
    with closing(sqlite3.connect(before, isolation_level=None)) as con:
        # Both as they are at the moment of the upgrade: no call that came later, and no record of later traffic.
        con.execute("ATTACH ? AS after", (str(after),))
        (guard,) = con.execute("SELECT sql FROM sqlite_master WHERE name = 'mcp_calls_no_update'").fetchone()
        con.execute("DROP TRIGGER mcp_calls_no_update")
        con.execute("DELETE FROM mcp_calls WHERE (principal, seq) NOT IN (SELECT principal, seq FROM after.mcp_calls)")
        con.execute(guard)
        con.execute(
            "DELETE FROM after.plane_records WHERE NOT (kind = 'task' AND identity IN (SELECT task_id FROM tasks) "
            "OR kind = 'demotion' AND identity IN (SELECT server FROM mcp_demotions) OR kind = 'task_event' "
            "AND EXISTS (SELECT 1 FROM task_events AS e WHERE e.task_id = identity AND e.seq = plane_records.seq))"
        )
    script.write_text(UPGRADER)
    return before, after, script


def _rehearsed(
    pair: tuple[Path, Path, Path], kind: str, *statements: str, timeout: float = 30, kills: int = 0
) -> Upgrade:
    before, after, script = pair
    words = shlex.join([sys.executable, str(script), kind, "{copy}", str(after), *statements]).replace(
        "'{copy}'", "{copy}"
    )
    with open_store(before) as store:
        return rehearse_upgrade(store, words, timeout=timeout, kills=kills)


def test_a_right_upgrade_is_clean_and_the_store_untouched(pair: tuple[Path, Path, Path]) -> None:
    digest = hashlib.sha256(pair[0].read_bytes()).hexdigest()
    found = _rehearsed(pair, "right", kills=2)
    assert (found.broken, found.warnings, found.exit_code) == ([], [], 0)
    assert (found.before, found.after, found.kills, len(found.ran)) == (9, 10, 2, 2)
    assert found.measures is not None
    assert found.measures.wall > 0
    assert min(found.compared[name] for name in ("tasks", "task_events", "keys", "audit_log", "mcp_calls")) > 0
    assert "usage_window_units (new, empty)" in found.not_compared
    assert hashlib.sha256(pair[0].read_bytes()).hexdigest() == digest
    assert sorted(path.name for path in pair[0].parent.iterdir()) == ["after.db", "before.db", "upgrader.py"]


@pytest.mark.parametrize(
    ("statement", "rules"),
    [
        ("DELETE FROM plane_records WHERE kind = 'task' "
         "AND identity = (SELECT min(p.identity) FROM plane_records AS p WHERE p.kind = 'task')", {"R8"}),
        ("DELETE FROM plane_records WHERE kind = 'task_event' AND seq = (SELECT max(seq) FROM plane_records)",
         {"R7", "R15"}),
        ("UPDATE plane_records SET body = CAST(replace(CAST(body AS TEXT), '\"kind\":\"task.', '\"kind\":\"tusk.') AS BLOB) "
         "WHERE kind = 'task_event' AND seq = 1", {"R7", "R15"}),
        ("UPDATE plane_records SET disposition = 'active' WHERE kind = 'task'", {"R8"}),
        ("DELETE FROM plane_records WHERE kind = 'demotion'", {"R9"}),
        ("DELETE FROM plane_tokens", {"R9"}),
        ("INSERT INTO plane_records SELECT kind, identity || 'x', seq, id, parent, ts, disposition, body FROM plane_records "
         "WHERE kind = 'demotion' LIMIT 1", {"R7"}),
        ("UPDATE mcp_calls SET ts = ts + 1 WHERE seq = 1", {"R10", "R15"}),
        ("DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)", {"R3", "R15"}),
        ("UPDATE keys SET name = 'x' WHERE rowid = 1", {"R3"}),
        ("DELETE FROM credentials", {"R3"}),
        ("UPDATE usage_windows SET requests = requests + 1 WHERE model = ''", {"R4"}),
        ("DELETE FROM usage_metering WHERE key_id = 'vk_alice'", {"R5"}),
        ("UPDATE usage_metering SET priced_from_ms = 5", {"R5"}),
        ("CREATE TABLE tasks (task_id TEXT)", {"R11"}),
        ("DROP TABLE denylist", {"R3"}),
        ("INSERT INTO usage_window_units SELECT 1, 'b', 'm', 'u', 1", {"R6"}),
        ("DROP INDEX audit_resource_seq_idx", {"R12"}),
    ],
)  # fmt: skip
def test_each_wrong_upgrade_breaks_its_invariant(
    statement: str, rules: set[str], pair: tuple[Path, Path, Path], request: pytest.FixtureRequest
) -> None:
    found = _rehearsed(pair, "right", statement)
    # Triggers are dropped so that a wrong statement can be run at all: that is R12 and not what is looked for.
    seen = {broken.rule for broken in found.broken if not (broken.rule == "R12" and "trigger" in broken.what)}
    assert rules <= seen | {"R12"}, (seen, found.broken)
    assert seen <= rules | {"R12", "R13"}, (
        seen - rules,
        [each for each in found.broken if each.rule not in ("R12", "R13")],
    )


@pytest.mark.parametrize(
    ("kind", "rule", "words"),
    [
        ("hangs", "command", "stopped at its timeout"),
        ("fails", "command", "exit code 7"),
        ("never commits", "R2", "it was not committed"),
        ("stamps down", "R2", "was stamped down"),
        ("full", "command", "was left beside the store"),
    ],
)
def test_a_command_that_does_not_upgrade_is_named(
    kind: str, rule: str, words: str, pair: tuple[Path, Path, Path]
) -> None:
    found = _rehearsed(pair, kind, timeout=2 if kind == "hangs" else 30)
    assert found.exit_code == 1
    assert any(each.rule == rule and words in each.what for each in found.broken), found.broken


def test_a_store_without_evidence_is_never_clean(tmp_path: Path) -> None:
    write_busbar(tmp_path / "empty.db", generation=9, odd=("empty",))
    with open_store(tmp_path / "empty.db") as store:
        found = rehearse_upgrade(store, "true {copy}")
        assert any("no chained record" in each for each in found.unsure)
        found.broken.clear()
        found.warnings.clear()
        assert found.exit_code == 3
        assert found.as_dict()["verdict"] == "inconclusive"


def test_an_upgrade_of_something_else_is_refused(pair: tuple[Path, Path, Path], tmp_path: Path) -> None:
    with open_store(pair[0]) as store, pytest.raises(UsageError, match="names no copy"):
        rehearse_upgrade(store, "true")
    write_maka(tmp_path / "runtime.sqlite", sessions=1)
    with (
        open_store(tmp_path / "runtime.sqlite") as store,
        pytest.raises(UsageError, match="SQLite store of a known generation"),
    ):
        rehearse_upgrade(store, "true {copy}")


def test_the_command_tells_what_was_held_against_what(pair: tuple[Path, Path, Path]) -> None:
    before, after, script = pair
    words = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))} right {{copy}} {shlex.quote(str(after))}"
    done = called("rehearse", before, "--upgrade", "--command", words, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"], last(done.stderr)) == (0, "clean", "clean")
    done = called("rehearse", before, "--upgrade", "--command", "true {copy}")
    assert (done.returncode, last(done.stdout)) == (1, "findings")
    assert "nothing was upgraded" in done.stdout
    assert called("rehearse", before, "--upgrade").returncode == 2
    shutil.rmtree(before.parent / "none", ignore_errors=True)
