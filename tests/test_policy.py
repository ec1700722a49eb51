"""Policies: what they declare reaches the checks, what they accept is counted and listed, what is unknown is refused."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest
from support_audit import AS_OF, built, copied
from support_cli import called

from busbar_audit.auditing import audit
from busbar_audit.errors import PolicyError, UnknownCheck
from busbar_audit.findings import Outcome
from busbar_audit.policy import Policy, read_policy
from busbar_audit.reporting.schema import validate
from busbar_audit.result import Result
from busbar_audit.store import open_store
from busbar_audit.synth.faults import FAULTS

NEEDS_LISTS = ("BUS-K05", "BUS-A05", "BUS-T15", "BUS-M12", "BUS-C25")

MORE = 'calls = "1h"\n[[receipt]]\nwhen = 2023-11-20\nof = "calls"\ncutoff = 2023-11-17\ncount = 5\n'


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("base"), 9, {})


def declared(folder: Path, text: str) -> Policy:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


class Audited:
    """A result that outlives its store."""

    def __init__(self, path: Path, policy: Policy | None, only: Collection[str] = ()) -> None:
        with open_store(path) as store:
            self.result: Result = audit(store, as_of=AS_OF, policy=policy, only=only)
            self.document = self.result.as_dict()
        validate("result", self.document)
        self.results, self.exit_code = self.result.results, self.result.exit_code


audited = Audited


def outcomes(result: Audited) -> dict[str, Outcome]:
    return {r.code: r.outcome for r in result.results}


def test_without_a_policy_what_needs_one_does_not_apply(base: Path) -> None:
    result = audited(base, None)
    said = {r.code: (r.outcome, r.reason) for r in result.results}
    for code, need in zip(NEEDS_LISTS, ("pools", "servers", "cutoff", "calls_cutoff", "receipts"), strict=True):
        assert said[code] == (Outcome.NOT_APPLICABLE, f"needs {need}")
    assert result.document["requested"]["policy"] is None


def test_lists_and_cutoffs_reach_the_checks(base: Path, tmp_path: Path) -> None:
    policy = declared(tmp_path, '[gateway]\npools = ["fast"]\nservers = ["crm"]\n[retention]\ntasks = "1h"\n' + MORE)
    store = copied(base, tmp_path / "store.db")
    with closing(sqlite3.connect(store)) as con:
        con.execute('UPDATE keys SET allowed_pools = \'["fast", "crm_read"]\' WHERE rowid = 1')
        con.commit()
    result = audited(store, policy)
    assert {code: outcomes(result)[code] for code in NEEDS_LISTS} == {
        "BUS-K05": Outcome.FINDING,
        "BUS-A05": Outcome.PASS,
        "BUS-T15": Outcome.FINDING,
        "BUS-M12": Outcome.FINDING,
        "BUS-C25": Outcome.FINDING,
    }
    (grant,) = (r for r in result.results if r.code == "BUS-K05")
    assert [f.detail for f in grant.samples] == ["no pools, but servers or tools: crm_read"]


def test_pools_without_servers_do_not_make_a_check_of_both_run(base: Path, tmp_path: Path) -> None:
    result = audited(base, declared(tmp_path, "[gateway]\npools = []\n"))
    (grant,) = (r for r in result.results if r.code == "BUS-K05")
    assert (grant.outcome, grant.reason) == (Outcome.NOT_APPLICABLE, "needs servers (policy)")


@pytest.mark.parametrize("cutoff", ["1970-01-01", "1970-01-02T00:00:00+01:00", '"999999d"'])
def test_a_cutoff_before_everything_finds_nothing(base: Path, tmp_path: Path, cutoff: str) -> None:
    result = audited(base, declared(tmp_path, f"[retention]\ntasks = {cutoff}\n"), only=["BUS-T15"])
    assert outcomes(result) == {"BUS-T15": Outcome.PASS}


@pytest.fixture
def damaged(base: Path, tmp_path: Path) -> tuple[Path, str, str, str]:
    """A store with one edited call; and the code, subject and place of the finding."""
    path = copied(base, tmp_path / "damaged.db")
    with closing(sqlite3.connect(path)) as con:
        planted = FAULTS["mcp_calls_edited"].apply(con)
        con.commit()
    (code,) = planted.codes
    return path, code, planted.population, planted.scope


def accept(code: str, place: str, more: str = "") -> str:
    return f'[[accept]]\ncode = "{code}"\nplace = {json.dumps(place)}\nreason = "seen, case 7"\n{more}\n'


def test_an_accepted_finding_is_counted_and_listed(damaged: tuple[Path, str, str, str], tmp_path: Path) -> None:
    path, code, subject, place = damaged
    before = audited(path, None)
    assert before.exit_code == 1
    result = audited(path, declared(tmp_path, accept(code, place)))
    assert (result.exit_code, outcomes(result)[code]) == (0, Outcome.PASS)
    document = result.document
    assert document["accepted"] == [
        {"code": code, "subject": None, "place": place, "reason": "seen, case 7", "findings": 1}
    ]
    (check,) = (c for c in document["checks"] if c["code"] == code)
    assert (check["findings"], check["accepted"], check["reason"]) == (0, 1, "")
    others = {c: o for c, o in outcomes(before).items() if c != code}
    assert others == {c: o for c, o in outcomes(result).items() if c != code}
    assert len(document["requested"]["policy"]) == 64
    assert subject == "mcp_calls"


@pytest.mark.parametrize(
    "more", ["until = 2023-11-14", 'subject = "task_events"'], ids=["it has ended", "it is of another population"]
)
def test_what_is_not_accepted_stays(damaged: tuple[Path, str, str, str], tmp_path: Path, more: str) -> None:
    path, code, _, place = damaged
    result = audited(path, declared(tmp_path, accept(code, place, more)))
    assert (result.exit_code, outcomes(result)[code]) == (1, Outcome.FINDING)


def test_another_place_stays(damaged: tuple[Path, str, str, str], tmp_path: Path) -> None:
    path, code, _, place = damaged
    result = audited(path, declared(tmp_path, accept(code, place + "'; DROP TABLE findings.x; --")))
    assert (result.exit_code, outcomes(result)[code]) == (1, Outcome.FINDING)
    assert result.document["accepted"][0]["findings"] == 0


def test_a_code_that_is_no_check_is_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownCheck, match="BUS-C99"):
        audited(base, declared(tmp_path, accept("BUS-C99", "x")))


def test_an_empty_store_is_what_was_declared(tmp_path: Path) -> None:
    path = built(tmp_path, 9, {"calls": 0, "tasks": 0, "audits": 0})
    assert audited(path, None).exit_code == 3
    assert audited(path, declared(tmp_path, "expect_empty = true\n")).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expect_emty = true", "unknown key expect_emty"),
        ("[gateway]\npool = []", "unknown key pool in [gateway]"),
        ("[retention]\nevents = '3d'", "unknown key events in [retention]"),
        ("[[accept]]\ncode = 'BUS-C01'\nplace = 'x'\nreason = 'y'\nwhen = 3", "unknown key when in [accept]"),
        ("expect_empty = 'yes'", "expect_empty is not as expected"),
        ("gateway = 3", "gateway is not as expected"),
        ("accept = 3", "accept is not as expected"),
        ("[gateway]\npools = 'fast'", "gateway.pools is not as expected"),
        ("[gateway]\npools = [3]", "gateway.pools is not as expected"),
        ("[retention]\ntasks = 90", "retention.tasks is not as expected"),
        ("[retention]\ntasks = '90 days'", "retention.tasks is not as expected"),
        ("[retention]\ntasks = 2026-01-01T00:00:00", "retention.tasks is not as expected"),
        ("[[accept]]\ncode = 'BUS-C01'\nplace = 'x'", "accept.reason is not as expected"),
        ("[[accept]]\ncode = 'BUS-C01'\nplace = 'x'\nreason = ' '", "accept.reason is not as expected"),
        ("[[accept]]\ncode = 'BUS-C01'\nplace = 'x'\nreason = 'y'\nuntil = 'soon'", "accept.until is not as expected"),
        (
            "[[receipt]]\nof = 'windows'\nwhen = 2026-01-02\ncutoff = 2026-01-01\ncount = 1",
            "receipt.of is not as expected",
        ),
        ("[[receipt]]\nof = 'calls'\nwhen = 2026-01-02\ncount = 1", "receipt.cutoff is not as expected"),
        (
            "[[receipt]]\nof = 'calls'\nwhen = 2026-01-02\ncutoff = 2026-01-03\ncount = 1",
            "receipt.cutoff is not as expected",
        ),
        (
            "[[receipt]]\nof = 'calls'\nwhen = 2026-01-02\ncutoff = 2026-01-01\ncount = true",
            "receipt.count is not as expected",
        ),
        ("[[receipt]]\nof = 'calls'\nwhere = 1", "unknown key where in [receipt]"),
        ("expect_empty = ", "Invalid value"),
        ("x = '\udcff'", "decode"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(PolicyError) as refused:
        read_policy(path)
    assert said in str(refused.value)


def test_the_command_takes_a_policy_and_refuses_a_wrong_one(
    damaged: tuple[Path, str, str, str], tmp_path: Path
) -> None:
    path, code, _, place = damaged
    policy = tmp_path / "policy.toml"
    policy.write_text(accept(code, place), encoding="utf-8")
    command = ("audit", path, "--as-of", "2023-11-21T22:13:20Z", "--policy")
    done = called(*command, policy)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "clean")
    assert f"accepted  1 of {code} at {place}: seen, case 7" in done.stdout
    for wrong in (tmp_path / "missing.toml", path):
        done = called(*command, wrong)
        assert done.returncode == 2
        assert "Expected a TOML file" in done.stderr


def test_the_example_of_the_docs_is_a_policy(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "policy.md").read_text(encoding="utf-8")
    policy = declared(tmp_path, page.partition("```toml\n")[2].partition("```")[0])
    assert policy.values(1_000_000_000)["cutoff"] == 1_000_000_000 - 90 * 86_400
    assert [(a.code, a.place, a.until) for a in policy.accepted] == [("BUS-T14", "task-7", 1_798_675_200)]
