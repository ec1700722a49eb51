"""`busbar-audit retention`: what it says, its exit codes, and the purge of a private copy that confirms it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support_audit import AS_OF
from support_cli import called, last
from support_postgres import Server

from busbar_audit.errors import UsageError
from busbar_audit.policy import Policy
from busbar_audit.retention import plan as planning
from busbar_audit.retention.verbs import Verb
from busbar_audit.store import open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.busbar_pg import write_busbar_pg

CLOCK = ("--as-of", "2023-11-21T22:13:20Z")
CUTOFF = ("--cutoff", "2023-11-18T00:00:00Z")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_busbar(
        tmp_path_factory.mktemp("retention") / "s.db", generation=12, calls=120, tasks=12, audits=30
    ).path


def test_the_plan_is_confirmed_on_a_copy_and_the_store_stays_as_it_was(store: Path, tmp_path: Path) -> None:
    before = hashlib.sha256(store.read_bytes()).hexdigest()
    done = called("retention", store, *CUTOFF, *CLOCK, "--confirm", "--json", "--out", tmp_path / "plan.json")
    told = json.loads(done.stdout)
    assert json.loads((tmp_path / "plan.json").read_text()) == told
    assert (done.returncode, last(done.stderr), told["verdict"]) == (1, "findings", "findings")
    assert hashlib.sha256(store.read_bytes()).hexdigest() == before
    assert [path.name for path in store.parent.iterdir()] == [store.name]
    by_verb = {each["verb"]: each for each in told["predictions"]}
    with closing(sqlite3.connect(store)) as con:
        (calls,) = con.execute("SELECT count(*) FROM plane_records WHERE kind = 'call' AND ts < 1700265600").fetchone()
    assert calls > 0
    assert by_verb["purge_plane_records_before(call)"]["rows"] == {"plane_records": calls}
    assert told["trials"].keys() == by_verb.keys()
    for verb, trial in told["trials"].items():
        assert trial["apart"] == 0
        assert trial["rows"] == sum(by_verb[verb]["rows"].values())


def test_a_purge_without_anything_at_risk_is_clean(store: Path) -> None:
    verb = "purge_plane_records_before(call)"
    done = called("retention", store, *CUTOFF, *CLOCK, "--confirm", "--only", verb)
    assert (done.returncode, last(done.stdout)) == (0, "clean")
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("purge_")] == [verb]
    assert "the same rows" in done.stdout
    assert "chains that lose their head" in done.stdout
    assert "later than the clock" not in done.stdout


def test_a_cutoff_that_nothing_goes_by_or_beyond_the_clock_is_told(store: Path) -> None:
    with open_store(store) as opened:
        found = planning.plan(opened, as_of=AS_OF, cutoff=AS_OF + 1, only=["purge_plane_records_before(call)"])
        assert any("later than the clock" in note for note in found.predictions[0].notes)
        with pytest.raises(UsageError, match="goes by the clock, not by a cutoff"):
            planning.plan(opened, as_of=AS_OF, cutoff=AS_OF, only=["sweep_store_ops"])


def test_work_at_risk_is_named(store: Path) -> None:
    done = called("retention", store, *CUTOFF, *CLOCK, "--only", "purge_plane_records_before(task_event)")
    assert (done.returncode, last(done.stdout)) == (1, "findings")
    assert "has not ended" in done.stdout
    assert "1 place(s) to look at before a purge" in done.stdout


def test_nothing_looked_at_is_never_clean(store: Path, tmp_path: Path) -> None:
    done = called("retention", store)
    assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
    assert "no verb with a cutoff was looked at" in done.stdout
    policy = tmp_path / "policy.toml"
    policy.write_text('[retention]\ncalls = "3d"\n')
    done = called("retention", store, *CLOCK, "--policy", policy)
    assert (done.returncode, last(done.stdout)) == (0, "clean")
    assert "not said  purge_metering_before" in done.stdout
    empty = tmp_path / "empty.db"
    with closing(sqlite3.connect(empty)) as con:
        con.execute("PRAGMA user_version = 12")
    assert called("retention", empty, *CUTOFF).returncode == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--cutoff", "yesterday"), "--cutoff yesterday"),
        (("--cutoff", "2023-11-18"), "Expected a zone"),
        ((*CUTOFF, "--only", "purge_everything"), "No verb purge_everything."),
        (("--as-of", "2023"), "--as-of 2023"),
    ],
)
def test_wrong_words_are_told(words: tuple[str, ...], says: str, store: Path) -> None:
    done = called("retention", store, *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_prediction_that_a_purge_does_not_bear_out_is_a_finding(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement that is run and the one that predicts share no text; here the one that is run takes one row less."""
    with open_store(store) as opened:
        honest = planning.plan(opened, as_of=AS_OF, cutoff=1_700_265_600, only=("purge_windows_before",), confirm=True)
        assert (honest.exit_code, honest.reason) == (0, "")

        copied = planning.SqliteCopy.purge

        def purge(self: planning.SqliteCopy, verb: Verb, values: dict[str, int]) -> object:
            return copied(self, verb, {**values, "cutoff": values["cutoff"] - 86_400})

        monkeypatch.setattr(planning.SqliteCopy, "purge", purge)
        made = planning.plan(opened, as_of=AS_OF, cutoff=1_700_265_600, only=("purge_windows_before",), confirm=True)
    apart = made.trials["purge_windows_before"].apart
    assert apart
    assert {who for _, who, _ in apart} == {"predicted"}
    assert made.exit_code == 1
    assert "took other rows than predicted: purge_windows_before" in made.reason


def test_a_postgresql_store_is_confirmed_on_a_copy_that_is_named_and_never_on_itself(postgres: Server) -> None:
    for database in ("retention_live", "retention_copy"):
        with postgres.connect("postgres") as con:
            con.execute(f"CREATE DATABASE {database}".encode())
        write_busbar_pg(postgres.uri(database), "busbar", generation=10, calls=40)
    live, copy = postgres.uri("retention_live"), postgres.uri("retention_copy")
    with open_store(live, schema="busbar") as opened:
        with pytest.raises(UsageError, match="needs --copy TARGET"):
            planning.plan(opened, as_of=AS_OF, cutoff=AS_OF - 86_400, confirm=True)
        with pytest.raises(UsageError, match="the database that the store itself is in"):
            planning.plan(opened, as_of=AS_OF, cutoff=AS_OF - 86_400, confirm=True, database=live)
    with open_store(live, schema="busbar") as opened:
        made = planning.plan(opened, as_of=AS_OF, cutoff=AS_OF - 86_400, policy=Policy(), confirm=True, database=copy)
    assert sum(trial.rows for trial in made.trials.values()) > 0
    assert all(trial.apart == [] for trial in made.trials.values())
    with postgres.connect("retention_copy") as con:
        con.execute("DELETE FROM busbar.usage_windows")
    with open_store(live, schema="busbar") as opened:
        made = planning.plan(opened, as_of=AS_OF, cutoff=AS_OF - 86_400, confirm=True, database=copy)
    assert "purge_windows_before" in made.reason
    assert made.exit_code == 1
