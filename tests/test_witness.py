"""The witness: what it proves, what it must not call tampering, and that nothing advances it falsely or loses it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_audit import AS_OF, built, copied
from support_cli import called

from busbar_audit import witness_file as files
from busbar_audit.auditing import audit
from busbar_audit.errors import UsageError, WitnessError
from busbar_audit.findings import Outcome
from busbar_audit.policy import Acceptance, Policy
from busbar_audit.reporting import panels
from busbar_audit.reporting.schema import validate
from busbar_audit.store import open_store
from busbar_audit.synth import records
from busbar_audit.synth.maka import write_maka
from busbar_audit.witness_file import Adoption, Content, Line
from busbar_audit.witnessing import adopt, open_witness

WITNESSED = ("BUS-C12", "BUS-C23", "BUS-C24", "BUS-S16", "BUS-S17", "BUS-S18", "BUS-T16")
SOME = ("chains", *WITNESSED)
CALLS = {9: "mcp_calls", 12: "call"}
EVENTS = {9: "task_events", 12: "task_event"}
Found = set[tuple[str, str, str, str, int | None, int | None]]


class Run:
    """One audit with a witness, advanced as the command does it."""

    def __init__(self, store: Path, folder: Path, **options: Any) -> None:
        with open_store(store) as opened, closing(open_witness(folder, opened)) as kept:
            # Without the checks that no witness changes it takes a third of the time.
            self.result = audit(opened, as_of=AS_OF, witness=kept, **{"only": SOME, **options})
            self.document = self.result.as_dict()
            self.chains = {(c.population, c.scope): c for c in self.result.chains}
            self.found: Found = {
                (f.code, f.severity, f.subject, f.place, f.first_seq, f.last_seq) for f in self.result.findings()
            }
            self.file = kept.file
            self.advanced = self.result.advance() if self.result.advance is not None else False
            self.lines = dict(files.read(kept.file).lines) if self.advanced else dict(kept.content.lines)
        validate("result", self.document)
        self.outcomes = {r.code: r.outcome for r in self.result.results}

    @property
    def about_the_witness(self) -> Found:
        return {each for each in self.found if each[0] in WITNESSED}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))


@pytest.fixture(params=[9, 12] if FULL else [12], ids=["v9", "v12"] if FULL else ["v12"])
def generation(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def store(bases: Path, tmp_path: Path, generation: int) -> Path:
    """A store at a place of its own; it may be changed."""
    return copied(built(bases, generation, {}), tmp_path / "store.db")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "witnesses"


def change(path: Path, how: Callable[[sqlite3.Connection], Any]) -> Any:
    with closing(sqlite3.connect(path)) as con:
        with records.unguarded(con):
            answer = how(con)
        con.commit()
    return answer


def longest(store: Path, folder: Path, population: str) -> tuple[str, Line]:
    """Witness a store, and name its longest chain of a population."""
    lines = Run(store, folder).lines
    line = max((line for line in lines.values() if line.population == population), key=lambda line: line.records)
    return line.scope, line


def test_a_store_that_stays_as_it_is_becomes_anchored(store: Path, folder: Path) -> None:
    first, second = Run(store, folder, only=()), Run(store, folder, only=())
    assert (first.result.exit_code, second.result.exit_code) == (0, 0)
    assert (first.about_the_witness, second.about_the_witness) == (set(), set())
    assert {c.verdict for c in first.chains.values()} == {"intact-unanchored"}
    assert {c.verdict for c in second.chains.values()} == {"intact-anchored"}
    assert (first.document["witness"]["status"], second.document["witness"]["status"]) == ("new", "read")
    assert second.document["witness"]["chains"] == len(second.chains) == len(second.lines)
    assert {second.outcomes[code] for code in WITNESSED} <= {Outcome.PASS, Outcome.NOTHING_TO_CHECK}


def test_a_store_that_grew_is_proven_and_witnessed_further(
    bases: Path, tmp_path: Path, folder: Path, generation: int
) -> None:
    full, path = built(bases, generation, {}), tmp_path / "store.db"
    earlier = copied(full, tmp_path / "earlier.db")
    scopes = change(earlier, lambda con: _cut(con, CALLS[generation], keep=3))
    shutil.copy(earlier, path)
    before = Run(path, folder)
    shutil.copy(full, path)
    after = Run(path, folder)
    assert (before.result.exit_code, after.result.exit_code, after.about_the_witness) == (0, 0, set())
    assert {before.lines[CALLS[generation], scope].last_seq for scope in scopes} == {3}
    assert all(after.lines[CALLS[generation], scope].last_seq > 3 for scope in scopes)


def _cut(con: sqlite3.Connection, population: str, keep: int) -> list[str]:
    """Cut every longer chain of a population down to its first records."""
    scopes = []
    for (scope,) in con.execute(
        "SELECT DISTINCT principal FROM mcp_calls"
        if population == "mcp_calls"
        else "SELECT DISTINCT parent FROM plane_records WHERE kind = 'call'"
    ).fetchall():
        chain = records.load(con, population, scope)
        if len(chain) > keep:
            records.delete(con, population, scope, keep + 1, chain[-1].seq)
            scopes.append(scope)
    return scopes


@pytest.mark.parametrize("population", ["calls", "audit_log"])
def test_an_end_cut_off_is_found_and_the_line_stays(
    store: Path, folder: Path, generation: int, population: str
) -> None:
    population = CALLS[generation] if population == "calls" else population
    scope, line = longest(store, folder, population)
    change(store, lambda con: records.delete(con, population, scope, line.last_seq - 1, line.last_seq))
    after = Run(store, folder)
    assert after.result.exit_code == 1
    cut = ("BUS-C12", "critical", population, scope, line.last_seq - 1, line.last_seq)
    assert after.about_the_witness == {cut}
    chain = after.chains[population, scope]
    assert (chain.verdict, chain.about) == ("broken", ["tail-behind-witness"])
    assert after.lines[population, scope] == line
    assert Run(store, folder).about_the_witness == {cut}, "a second look finds it as well"


def test_history_written_anew_is_found_by_the_witness_alone(store: Path, folder: Path, generation: int) -> None:
    population = CALLS[generation]
    scope, line = longest(store, folder, population)

    def rewrite(con: sqlite3.Connection) -> None:
        record = records.load(con, population, scope)[0]
        records.save(con, record.edit(server="elsewhere"))
        records.reseal(con, population, scope, 1)

    change(store, rewrite)
    with open_store(store) as opened:
        alone = audit(opened, as_of=AS_OF, only=["chains"])
        assert "BUS-C01" not in alone.codes()
        assert "BUS-C02" not in alone.codes()
        assert {c.verdict for c in alone.chains} == {"intact-unanchored"}
        first_screen = panels.verdict(alone.as_dict()).html
        assert "no witness: " in first_screen
        assert "a chain written anew with every digest, leave no trace" in first_screen
    after = Run(store, folder)
    assert after.about_the_witness == {("BUS-C12", "critical", population, scope, line.last_seq, line.last_seq)}
    assert after.lines[population, scope] == line


def test_a_purge_up_to_the_witnessed_record_is_proven_by_its_link(
    bases: Path, tmp_path: Path, folder: Path, generation: int
) -> None:
    population, full = CALLS[generation], built(bases, generation, {})
    path = copied(full, tmp_path / "store.db")
    scopes = change(path, lambda con: _cut(con, population, keep=3))
    Run(path, folder)
    shutil.copy(full, path)
    change(path, lambda con: [records.delete(con, population, scope, 1, 3) for scope in scopes])
    after = Run(path, folder)
    assert (after.result.exit_code, after.about_the_witness) == (0, set())
    assert {after.chains[population, scope].verdict for scope in scopes} == {"intact-anchored"}
    assert {
        (c.first_seq, after.lines[c.population, c.scope].first_seq) for c in after.chains.values() if c.scope in scopes
    } == {(4, 1)}
    assert {each[:2] for each in after.found if each[0] == "BUS-C04"} == {("BUS-C04", "info")}


def test_a_purge_beyond_the_witnessed_record_is_said_and_is_no_alarm(
    bases: Path, tmp_path: Path, folder: Path, generation: int
) -> None:
    population, full = CALLS[generation], built(bases, generation, {})
    path = copied(full, tmp_path / "store.db")
    scopes = change(path, lambda con: _cut(con, population, keep=3))
    Run(path, folder)
    shutil.copy(full, path)
    change(path, lambda con: [records.delete(con, population, scope, 1, 5) for scope in scopes])
    after = Run(path, folder)
    passed = {("BUS-C24", "low", population, scope, 4, 5) for scope in scopes if (population, scope) in after.chains}
    assert passed
    assert {each for each in after.about_the_witness if each[0] == "BUS-C24"} == passed
    assert {each[:2] for each in after.found if each[1] not in ("low", "info")} == {("BUS-C04", "medium")}
    assert all(after.lines[population, scope].last_seq == 3 for scope in scopes), "nothing proves what came after"


def test_a_hole_at_the_witnessed_record_is_found(bases: Path, tmp_path: Path, folder: Path, generation: int) -> None:
    population, full = CALLS[generation], built(bases, generation, {})
    path = copied(full, tmp_path / "store.db")
    scope = change(path, lambda con: _cut(con, population, keep=3))[0]
    Run(path, folder)
    shutil.copy(full, path)
    change(path, lambda con: records.delete(con, population, scope, 3, 3))
    after = Run(path, folder)
    assert after.about_the_witness == {("BUS-C12", "critical", population, scope, 3, 3)}
    assert {f[0] for f in after.found if f[1] in ("critical", "high")} == {"BUS-C12", "BUS-C03"}


def test_a_chain_that_somebody_chose_is_told_from_a_purge(store: Path, folder: Path, generation: int) -> None:
    population = CALLS[generation]
    scope, line = longest(store, folder, population)
    change(store, lambda con: records.delete(con, population, scope, 1, line.last_seq))
    assert Run(store, folder).about_the_witness == {("BUS-C23", "high", population, scope, 1, line.last_seq)}


def test_a_purge_that_takes_whole_chains_is_legal(store: Path, folder: Path, generation: int) -> None:
    population = CALLS[generation]
    lines = [line for line in Run(store, folder).lines.values() if line.population == population]
    until = min(line.last_ts for line in lines if line.last_ts is not None) + 1

    def purge(con: sqlite3.Connection) -> None:
        if population == "mcp_calls":
            con.execute("DELETE FROM mcp_calls WHERE ts < ?", (until,))
        else:
            con.execute("DELETE FROM plane_records WHERE kind = 'call' AND ts < ?", (until,))

    change(store, purge)
    after = Run(store, folder)
    gone = [line for line in lines if line.last_ts is not None and line.last_ts < until]
    assert gone
    assert {each[:4] for each in after.about_the_witness if each[0] == "BUS-C23"} == {
        ("BUS-C23", "info", population, "")
    }
    assert {each[0] for each in after.about_the_witness} <= {"BUS-C23", "BUS-C24"}
    assert {each[:2] for each in after.found if each[1] != "info"} <= {("BUS-C24", "low"), ("BUS-S11", "low")}
    assert set(after.lines) >= {line.key for line in gone}, "a line that is not proven stays"


def test_the_admin_audit_is_never_purged(store: Path, folder: Path) -> None:
    scope, line = longest(store, folder, "audit_log")
    change(store, lambda con: con.execute("DELETE FROM audit_log"))
    after = Run(store, folder)
    assert ("BUS-C23", "critical", "audit_log", scope, 1, line.last_seq) in after.about_the_witness


@pytest.mark.parametrize(("ended", "code"), [(True, "BUS-C23"), (False, "BUS-T16")])
def test_a_task_that_is_gone(store: Path, folder: Path, generation: int, ended: bool, code: str) -> None:
    population = EVENTS[generation]
    lines = Run(store, folder).lines
    task = next(line.scope for line in lines.values() if line.population == population and line.finished is ended)

    def purge(con: sqlite3.Connection) -> None:
        if generation == 9:
            con.execute("DELETE FROM task_events WHERE task_id = ?", (task,))
            con.execute("DELETE FROM tasks WHERE task_id = ?", (task,))
        else:
            con.execute("DELETE FROM plane_records WHERE kind IN ('task', 'task_event') AND ? IN (parent, id)", (task,))

    change(store, purge)
    after = Run(store, folder)
    where = ("info", population, "") if ended else ("medium", population, task)
    assert {each[:4] for each in after.about_the_witness} == {(code, *where)}
    assert after.result.exit_code == (0 if ended else 1)


@pytest.mark.parametrize("other", [{"seed": 77}, {"calls": 0, "tasks": 0, "audits": 0, "odd": ("empty",)}])
def test_another_store_at_the_same_place_is_told(
    store: Path, folder: Path, bases: Path, generation: int, other: dict[str, Any]
) -> None:
    before = Run(store, folder).lines
    shutil.copy(built(bases, generation, other), store)
    change(store, lambda con: con.execute("UPDATE keys SET created_at = created_at - 5"))
    after = Run(store, folder)
    assert {each[:2] for each in after.about_the_witness} == {("BUS-S16", "high")}
    assert after.result.exit_code == 1
    assert (after.advanced, files.read(after.file).lines) == (False, before)


def test_the_same_store_at_another_place_is_told(store: Path, folder: Path, tmp_path: Path) -> None:
    Run(store, folder)
    moved = copied(store, tmp_path / "moved.db")
    after = Run(moved, folder)
    assert after.about_the_witness == {("BUS-S17", "medium", "store", "", None, None)}
    assert not after.file.exists()
    with open_store(moved) as opened, closing(open_witness(folder, opened)) as kept:
        assert adopt(kept, audit(opened, as_of=AS_OF), "moved to the new host") == len(after.chains)
    again = Run(moved, folder)
    assert again.about_the_witness == set()
    assert [each["reason"] for each in again.document["witness"]["adoptions"]] == ["moved to the new host"]


EDITS: dict[str, Callable[[bytes], bytes]] = {
    "a number": lambda old: old.replace(b'"", ', b'"", 1', 1),
    "cut short": lambda old: old[: len(old) // 2],
    "empty": lambda _: b"",
    "another format": lambda old: old.replace(b"witness 1", b"witness 2"),
    "other bytes": lambda _: bytes(range(256)),
    "a seal reckoned anew over values of other kinds": lambda _: _sealed(
        b'busbar-audit witness 1\n{"location": "x", "marks": [], "updated": 1, "adoptions": []}\n'
        b'["a", 1, 2, 3, 4, 5, 6, 7, 8]\n'
    ),
    "a seal reckoned anew over no JSON": lambda _: _sealed(b"busbar-audit witness 1\n{\n"),
}


def _sealed(text: bytes) -> bytes:
    import hashlib

    return text + b"sha256 " + hashlib.sha256(text).hexdigest().encode() + b"\n"


@pytest.mark.parametrize("how", EDITS)
def test_a_witness_that_was_touched_is_a_finding_and_is_kept(
    bases: Path, tmp_path: Path, folder: Path, how: str
) -> None:
    path = copied(built(bases, 9, {}), tmp_path / "store.db")
    file = Run(path, folder).file
    touched = EDITS[how](file.read_bytes())
    file.write_bytes(touched)
    after = Run(path, folder)
    assert {each[:2] for each in after.about_the_witness} == {("BUS-S18", "high")}
    assert (after.advanced, file.read_bytes()) == (False, touched)


def test_a_clock_that_went_back_is_said_and_is_no_alarm(bases: Path, tmp_path: Path, folder: Path) -> None:
    path = copied(built(bases, 9, {}), tmp_path / "store.db")
    file = Run(path, folder).file
    content = files.read(file)
    files.write(file, Content(content.location, content.marks, content.updated + 86_400, (), content.lines))
    after = Run(path, folder)
    assert {each[:3] for each in after.about_the_witness} == {("BUS-S18", "low", "witness")}
    assert after.result.exit_code == 0
    assert files.read(file).updated == content.updated + 86_400, "never set back"


def test_a_run_in_which_something_could_not_be_checked_leaves_the_witness(
    bases: Path, tmp_path: Path, folder: Path
) -> None:
    path = copied(built(bases, 9, {}), tmp_path / "store.db")
    file = Run(path, folder).file
    before = file.read_bytes()
    with closing(sqlite3.connect(path)) as con:
        con.execute("DROP TABLE mcp_calls")
        con.commit()
    after = Run(path, folder)
    assert Outcome.COULD_NOT_RUN in after.outcomes.values()
    assert (after.advanced, file.read_bytes()) == (False, before)


@pytest.mark.parametrize("only", [["store"], ["BUS-C12"], ["tasks"]])
def test_a_run_that_looked_at_less_never_witnesses_more(
    bases: Path, tmp_path: Path, folder: Path, only: list[str]
) -> None:
    path = copied(built(bases, 9, {}), tmp_path / "store.db")
    after = Run(path, folder, only=only)
    witnessed = set(files.read(after.file).lines) if after.file.exists() else set()
    assert witnessed <= set(after.chains)


@pytest.mark.parametrize("how", ["left out", "accepted"])
def test_another_store_is_not_witnessed_though_the_check_says_nothing(
    store: Path, folder: Path, bases: Path, generation: int, how: str
) -> None:
    before = Run(store, folder).lines
    shutil.copy(built(bases, generation, {"seed": 77}), store)
    change(store, lambda con: con.execute("UPDATE keys SET created_at = created_at - 5"))
    let_be = Policy(accepted=(Acceptance("BUS-S16", None, "", "seen"),))
    after = Run(store, folder, **({"skip": ["BUS-S16"], "only": ()} if how == "left out" else {"policy": let_be}))
    assert after.outcomes.get("BUS-S16") is (None if how == "left out" else Outcome.PASS)
    assert (after.advanced, files.read(after.file).lines) == (False, before)


def test_a_place_is_not_witnessed_anew_where_keys_were_not_looked_at(store: Path, folder: Path, tmp_path: Path) -> None:
    Run(store, folder)
    after = Run(copied(store, tmp_path / "moved.db"), folder, only=["BUS-C01", "BUS-C02"])
    assert (after.advanced, after.file.exists()) == (False, False)


def test_a_store_without_chains_has_no_witness(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "runtime.sqlite"
    write_maka(path)
    with open_store(path) as opened, pytest.raises(UsageError, match="A witness is of hash chains"):
        open_witness(folder, opened)
    assert not folder.exists()


def test_one_run_at_a_time(store: Path, folder: Path) -> None:
    with (
        open_store(store) as opened,
        closing(open_witness(folder, opened)),
        pytest.raises(WitnessError, match="in use by another run"),
    ):
        open_witness(folder, opened)
    with open_store(store) as opened, closing(open_witness(folder, opened)) as kept:
        assert kept.status == "new"


def test_adopting_after_a_restore(store: Path, folder: Path, generation: int) -> None:
    population = CALLS[generation]
    scope, line = longest(store, folder, population)
    change(store, lambda con: records.delete(con, population, scope, line.last_seq, line.last_seq))
    adopting = ("witness", "adopt", store, "--witness", folder, "--reason")
    assert called(*adopting, " ").returncode == 3
    assert Run(store, folder).result.exit_code == 1
    done = called(*adopting, "restored from Monday")
    assert done.returncode == 0
    assert "intact chain(s) adopted: restored from Monday" in done.stdout
    after = Run(store, folder)
    assert (after.result.exit_code, after.about_the_witness) == (0, set())
    shown = called("witness", "show", folder, after.file.name)
    assert shown.returncode == 0
    assert "restored from Monday" in shown.stdout
    assert f"{population} {scope}: " in shown.stdout


def test_what_was_proven_keeps_its_beginning_when_the_store_is_adopted(
    store: Path, folder: Path, generation: int
) -> None:
    """A purge took a head that was witnessed, another chain was restored: the proof of the first is not lost."""
    population = CALLS[generation]
    scope, line = longest(store, folder, population)
    other = next(e for e in Run(store, folder).lines.values() if e.population == population and e.scope != scope)
    change(store, lambda con: records.delete(con, population, scope, 1, 3))
    change(store, lambda con: records.delete(con, population, other.scope, other.last_seq, other.last_seq))
    assert called("witness", "adopt", store, "--witness", folder, "--reason", "restored").returncode == 0
    after = Run(store, folder)
    assert after.about_the_witness == set()
    heads = {(each[1], each[3]) for each in after.found if each[0] == "BUS-C04"}
    assert heads == {("info", scope)}
    kept = after.lines[population, scope]
    assert (kept.first_seq, kept.first_prev_hash) == (line.first_seq, line.first_prev_hash)


def test_adopting_keeps_the_line_of_a_chain_that_is_broken(store: Path, folder: Path, generation: int) -> None:
    population = CALLS[generation]
    scope, line = longest(store, folder, population)

    def edited(con: sqlite3.Connection) -> None:
        second = records.load(con, population, scope)[1]
        records.save(con, second.edit(tool_digest="sha256:00"))

    change(store, edited)
    assert called("witness", "adopt", store, "--witness", folder, "--reason", "restored").returncode == 0
    assert files.read(next(folder.glob("*.witness"))).lines[population, scope] == line


def test_the_command_misses_a_witness_that_its_last_report_names(bases: Path, tmp_path: Path, folder: Path) -> None:
    path, out = copied(built(bases, 9, {}), tmp_path / "store.db"), tmp_path / "out"
    command = ("audit", path, "--as-of", "2023-11-21T22:13:20Z", "--witness", folder, "--out", out)
    assert called(*command).returncode == 0
    (file,) = folder.glob("*.witness")
    assert json.loads((out / "result.json").read_text())["witness"]["file"] == file.name
    file.unlink()
    done = called(*command)
    assert (done.returncode, file.exists()) == (1, False)
    assert "an earlier report names it, and it is not there" in done.stdout


# ---- the file itself -------------------------------------------------------------------------------------------------

integers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=20)
chains = st.builds(
    Line,
    *(
        texts,
        texts,
        integers,
        st.none() | texts,
        integers,
        st.none() | texts,
        integers,
        st.none() | integers,
        st.booleans(),
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(chains, max_size=6, unique_by=lambda line: line.key),
    location=texts,
    marks=st.lists(texts),
    at=integers,
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, lines, location, marks, at):
    file = tmp_path_factory.getbasetemp() / "x.witness"
    content = Content(location, tuple(marks), at, (Adoption("now", "a\nreason"),), {line.key: line for line in lines})
    files.write(file, content)
    assert files.read(file) == content
    assert not list(file.parent.glob("*.part"))


def test_a_command_killed_at_any_write_leaves_the_old_witness_or_the_new(
    bases: Path, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, path = built(bases, 9, {}), tmp_path / "store.db"
    shutil.copy(full, path)
    change(path, lambda con: _cut(con, "mcp_calls", keep=3))
    file = Run(path, folder).file
    old = file.read_bytes()
    shutil.copy(full, path)

    class Killed(BaseException):
        pass

    steps: list[str] = []
    at = -1

    def step(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **more: Any) -> Any:
            steps.append(name)
            if len(steps) - 1 == at:
                raise Killed
            return real(*given, **more)

        return counted

    monkeypatch.setattr(files.os, "fsync", step("fsync", os.fsync))
    monkeypatch.setattr(Path, "replace", step("replace", Path.replace))
    monkeypatch.setattr(files, "_text", step("text", files._text))
    with open_store(path) as opened:
        with closing(open_witness(folder, opened)) as kept:
            lines, marks = audit(opened, as_of=AS_OF, witness=kept, only=SOME).witnessable()
        proven = {line.key: line.population for line in lines}
        for at in range(5):
            steps.clear()
            with closing(open_witness(folder, opened)) as kept:
                try:
                    kept.advance(lines, proven, marks, 1)
                except Killed:
                    assert at < 4
                assert len(steps) > 0
            now = files.read(file)
            replaced = steps.count("replace") and not (steps[-1] == "replace" and at == len(steps) - 1)
            assert (file.read_bytes() != old) == bool(replaced)
            assert now.lines
            if replaced:
                file.write_bytes(old)
    assert not list(folder.glob("*.part"))


# Kills itself with the signal that nothing survives, at the nth call that writes; says whether it came to the end.
KILLED = """
import os, signal, sys
from pathlib import Path
from busbar_audit import witness_file as files
from busbar_audit.witness import Witness
from busbar_audit.witness_file import Line

folder, at = Path(sys.argv[1]), -1
def lines(last):
    return [Line("call", f"vk-{n}", 1, "", last, f"{last:064x}", last, 1, False) for n in range(12)]
def advanced(last):
    kept = Witness(folder, "here")
    proven = {key: key[0] for key in kept.content.lines}
    kept.advance(lines(last), proven, (), last)
    kept.close()

calls = 0
def counted(real):
    def step(*given, **more):
        global calls
        calls += 1
        if calls - 1 == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **more)
    return step

class Out:
    def __init__(self, out): self.out = out
    def write(self, data):
        # Half of it is on the disk when the end comes.
        def put(data):
            self.out.write(data)
        self.out.write(data[: len(data) // 2]); self.out.flush()
        return counted(put)(data[len(data) // 2 :])
    def flush(self): counted(self.out.flush)()
    def fileno(self): return self.out.fileno()
    def __enter__(self): return self
    def __exit__(self, *said): self.out.close()

advanced(5)
file = folder / files.file_name("here")
old = file.read_bytes()
advanced(9)
new = file.read_bytes()
real_open, real_replace, real_fsync = Path.open, Path.replace, os.fsync
def opened(path, mode="r", *rest, **more):
    out = real_open(path, mode, *rest, **more)
    return Out(out) if path.name.endswith(".part") else out
Path.open, Path.replace = opened, counted(real_replace)
files.os.fsync = counted(real_fsync)
for at in range(1000):
    file.write_bytes(old)
    pid = os.fork()
    if not pid:
        advanced(9)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    found = file.read_bytes()
    kept = Witness(folder, "here")
    kept.close()
    whole = "old" if found == old else "new" if found == new else "neither"
    print(kept.status, whole, len(list(folder.glob("*.part"))), status)
    if status == 0:
        break
"""


def test_a_process_killed_at_each_write_leaves_the_old_witness_or_the_new_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    told = [line.split() for line in done.stdout.splitlines()]
    killed, ended = told[:-1], told[-1]
    # Two lines of a head, one a chain, the seal, what is flushed and made to last, and the rename.
    assert len(killed) >= 2 + 12 + 1 + 4
    assert ended == ["read", "new", "0", "0"]
    assert {(status, parts, code) for status, _, parts, code in killed} == {("read", "0", "9")}
    states = [whole for _, whole, _, _ in killed]
    assert states == sorted(states, key=["old", "new"].index), "old until the rename, new from then on"
    assert states.count("new") == 1
