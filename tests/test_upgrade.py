"""`rehearse --upgrade --command`: a right upgrade is clean, and each wrong one is caught by the invariant that should."""

from __future__ import annotations

import hashlib
import json
import shlex
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support_cli import called, last

from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.upgrade import rehearse_upgrade
from busbar_audit.rehearsal.upgrade_result import Upgrade, lines
from busbar_audit.store import Store, open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.maka import write_maka

SCRIPT = Path(__file__).with_name("upgraders.py")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A v9 store, and what a right upgrade to v10 leaves of it, as the writer of synthetic stores has it."""
    folder = tmp_path_factory.mktemp("upgrade")
    before, after = folder / "before.db", folder / "after.db"
    write_busbar(before, generation=9, seed=3, calls=60, tasks=6, days=3)
    write_busbar(after, generation=10, seed=3, calls=60, tasks=6, days=3, bodies="migrated")
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
    return before, after


@pytest.fixture(scope="module")
def store(pair: tuple[Path, Path]) -> Iterator[Store]:
    with open_store(pair[0]) as opened:
        yield opened


def _words(pair: tuple[Path, Path], kind: str, *statements: str) -> str:
    words = [sys.executable, "-S", str(SCRIPT), kind, "{copy}", str(pair[1]), *statements]
    return shlex.join(words).replace("'{copy}'", "{copy}")


def _rehearsed(
    store: Store,
    pair: tuple[Path, Path],
    kind: str,
    *statements: str,
    timeout: float = 30,
    kills: int = 0,
    to: int = 10,
) -> Upgrade:
    return rehearse_upgrade(store, _words(pair, kind, *statements), to=to, timeout=timeout, kills=kills)


def _codes(found: Upgrade) -> set[tuple[str, str]]:
    return {(each.rule, each.subject) for each in found.broken}


def test_a_right_upgrade_is_clean_and_the_store_untouched(store: Store, pair: tuple[Path, Path]) -> None:
    digest = hashlib.sha256(pair[0].read_bytes()).hexdigest()
    found = _rehearsed(store, pair, "slow", kills=2)
    assert (found.broken, found.warnings, found.unsure, found.exit_code) == ([], [], [], 0)
    assert (found.before, found.after, found.upgrader) == (9, 10, "the operator's command")
    assert (len(found.ran), len(found.kills)) == (2, 2)
    assert {each.end for each in found.kills} == {"same"}
    assert {each.found for each in found.kills} <= {"rolled back", "done"}
    assert found.measures is not None
    assert found.measures.wall > 0.3
    assert min(found.compared[name] for name in ("tasks", "task_events", "keys", "audit_log", "mcp_calls")) > 0
    assert "usage_window_units (new, empty)" in found.not_compared
    assert [(f.what, f.predicted) for f in found.foretold if f.predicted != f.done] == []
    assert {"R5", "R7", "R8", "R9", "R10"} == {f.rule for f in found.foretold if f.predicted}
    assert hashlib.sha256(pair[0].read_bytes()).hexdigest() == digest
    assert sorted(path.name for path in pair[0].parent.iterdir()) == ["after.db", "before.db"]


STATEMENTS = {
    "loses a row": (
        # Once: the second run finds one less.
        "DELETE FROM plane_records WHERE kind = 'task' AND (SELECT count(*) FROM plane_records WHERE kind = 'task') = 6 "
        "AND identity = (SELECT min(identity) FROM plane_records WHERE kind = 'task' AND disposition = 'active')",
    ),
    "changes a body": ("UPDATE plane_records SET body = x'7b7d' WHERE kind = 'demotion'",),
}


@pytest.mark.parametrize(
    ("kind", "codes", "words"),
    [
        ("hangs", {("command", "the upgrade"), ("R2", "user_version")}, "stopped at its timeout"),
        ("fails", {("command", "the upgrade"), ("R2", "user_version")}, "exit code 7"),
        ("full", {("command", "the upgrade"), ("R2", "user_version")}, "exit code 1"),
        ("never commits", {("R2", "user_version")}, "it was not committed"),
        ("stamps down", {("R2", "user_version")}, "was stamped down"),
        ("leaves a file", {("command", "store.db.bak")}, "was left beside the store"),
        ("loses a row", {("R8", "tasks"), ("R8", "tasks that become records")}, "lost: "),
        ("changes a body", {("R9", "mcp_demotions")}, "differs: sandbox"),
        ("again", {("R3", "store_revision"), ("R13", "a second run")}, "changed store_revision"),
    ],
)
def test_each_wrong_command_is_named(
    kind: str, codes: set[tuple[str, str]], words: str, store: Store, pair: tuple[Path, Path]
) -> None:
    found = _rehearsed(store, pair, kind, *STATEMENTS.get(kind, ()), timeout=1 if kind == "hangs" else 30)
    typed = {("R11", name) for name in ("mcp_demotions", "spent_ask_states", "task_events", "tasks")}
    # A store that was not upgraded has its typed tables still: that is no more than R2 said.
    assert _codes(found) - typed == codes, found.broken
    assert found.exit_code == 1
    assert any(words in each.what for each in found.broken), found.broken
    if kind == "full":
        assert "full" in found.ran[0].output or "I/O" in found.ran[0].output


def test_a_process_that_stays_is_named_and_stopped(store: Store, pair: tuple[Path, Path]) -> None:
    found = _rehearsed(store, pair, "stays")
    assert (found.broken, found.exit_code, found.verdict) == ([], 3, "inconclusive")
    assert found.unsure == ["the command left 1 process(es) running, which were killed: sleep"]
    assert found.ran[0].left == found.ran[1].left == ("sleep",)


def test_an_upgrade_that_only_a_kill_breaks(store: Store, pair: tuple[Path, Path]) -> None:
    assert _rehearsed(store, pair, "torn").broken == []
    found = _rehearsed(store, pair, "torn", kills=3)
    assert {each.rule for each in found.broken} == {"kill"}
    assert "part way" in {each.found for each in found.kills}
    assert any("found part way; the next run: ends otherwise in" in each.what for each in found.broken)


def test_kills_that_hit_nothing_are_not_counted(
    store: Store, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("busbar_audit.rehearsal.commands.killed", lambda *_, **__: False)
    found = _rehearsed(store, pair, "right", kills=2)
    assert (found.broken, found.kills, found.missed, found.exit_code) == ([], [], 6, 3)
    assert found.unsure == ["2 kill(s) were asked for and 0 hit: 6 came after the command had ended"]
    assert any("6 came too late" in line for line in lines(found))


def test_a_generation_that_is_no_later_one_is_refused(store: Store, pair: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="A generation above its own"):
        _rehearsed(store, pair, "right", to=9)


def test_a_store_without_evidence_is_never_clean(tmp_path: Path) -> None:
    write_busbar(tmp_path / "empty.db", generation=9, odd=("empty",))
    with open_store(tmp_path / "empty.db") as store:
        found = rehearse_upgrade(store, to=10)
    assert (found.broken, found.warnings, found.exit_code) == ([], [], 3)
    assert found.unsure == ["the store before has no chained record: there was nothing to hold the upgrade against"]
    assert found.as_dict()["verdict"] == "inconclusive"


def test_an_upgrade_of_something_else_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no copy"):
        rehearse_upgrade(store, "true")
    write_maka(tmp_path / "runtime.sqlite", sessions=1)
    with (
        open_store(tmp_path / "runtime.sqlite") as other,
        pytest.raises(UsageError, match="SQLite store of a known generation"),
    ):
        rehearse_upgrade(other, "true {copy}")


def test_the_command_tells_what_was_held_against_what(pair: tuple[Path, Path]) -> None:
    done = called("rehearse", pair[0], "--upgrade", "--command", _words(pair, "right"), "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"], last(done.stderr)) == (0, "clean", "clean")
    assert called("rehearse", pair[0], "--upgrade").returncode == 2
