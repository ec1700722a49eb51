"""An audit as a whole: it repeats, it selects, its account adds up, its verdict cannot be talked into being cleaner."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_audit import AS_OF, built, copied, edit, judged

from busbar_audit import checks
from busbar_audit.auditing import audit
from busbar_audit.checks import catalogue
from busbar_audit.errors import UnknownCheck, UsageError
from busbar_audit.findings import CheckResult, Outcome
from busbar_audit.queries import SEVERITIES
from busbar_audit.result import Result
from busbar_audit.store import open_store
from busbar_audit.stores.busbar_shapes import GENERATIONS
from busbar_audit.verdict import AccountLine, Verdict, gravest, judge
from busbar_audit.witnessing import open_witness

REPOSITORY = Path(__file__).resolve().parent.parent

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audited")


@pytest.fixture(scope="session")
def clean(folder: Path) -> Path:
    return built(folder, 9, {})


@pytest.fixture(scope="session")
def faulty(folder: Path) -> Path:
    """Generation 12 with faults of many kinds at once, among many principals, so that the order of findings matters."""
    path = folder / "faulty.db"
    if not path.exists():
        copied(built(folder, 12, {"bodies": "migrated", "principals": 40, "calls": 600}), path)
        for trigger in ("mcp_calls_no_update", "audit_log_no_update", "plane_records_chain_no_update"):
            edit(path, f"DROP TRIGGER {trigger}")
        edit(path, "UPDATE audit_log SET outcome = 'x' WHERE seq IN (3, 9)")
        edit(path, "UPDATE plane_records SET ts = 0 WHERE kind = 'call' AND seq = 2")
        edit(path, "DELETE FROM mcp_calls WHERE seq = 4")
        edit(path, "UPDATE mcp_calls SET prev_hash = upper(prev_hash) WHERE seq % 3 = 0")
        edit(path, "UPDATE mcp_calls SET body = '{' || body WHERE seq % 5 = 0")
    return path


def lasting(document: dict[str, Any]) -> str:
    """A result without what may differ between two audits of one store."""
    kept = {key: value for key, value in document.items() if key != "run"}
    kept["snapshot"] = {key: value for key, value in kept["snapshot"].items() if key != "taken_at"}
    kept["checks"] = [{key: value for key, value in c.items() if key != "seconds"} for c in kept["checks"]]
    return json.dumps(kept)


def _document(path: Path, **options: Any) -> dict[str, Any]:
    with open_store(path) as store:
        return audit(store, **{"as_of": AS_OF, **options}).as_dict()


# --- it repeats ---


def test_two_audits_give_the_same_bytes(faulty: Path, clean: Path) -> None:
    first = _document(faulty)
    assert len({c["code"] for c in first["checks"] if c["outcome"] == "finding"}) >= 5
    assert first["chains"]["not_intact_total"] > 20
    for _ in range(2):
        assert lasting(_document(faulty)) == lasting(first)
    assert lasting(_document(clean)) == lasting(_document(clean))


def test_two_audits_give_the_same_findings_uncapped(faulty: Path) -> None:
    def found() -> list[object]:
        with open_store(faulty) as store:
            result = audit(store, as_of=AS_OF)
            rows = [finding.as_dict() for finding in result.findings()]
            assert len(rows) == sum(r.findings for r in result.results if r.outcome is Outcome.FINDING)
            assert len({json.dumps(row) for row in rows}) == len(rows)
            return rows

    assert found() == found()


def test_the_fast_way_says_the_same(faulty: Path, clean: Path, folder: Path) -> None:
    late = built(folder, 12, {"bodies": "neutral"})
    damaged = copied(late, folder / "late-faulty.db")
    edit(damaged, "DROP TRIGGER plane_records_chain_no_update")
    edit(damaged, "UPDATE plane_records SET ts = 0 WHERE kind = 'call' AND seq % 2 = 0")
    for path in (faulty, clean, damaged):
        assert lasting(_document(path, fast=True)) == lasting(_document(path, fast=False))


# --- it selects ---


def test_only_and_skip_take_codes_and_areas(clean: Path) -> None:
    every = {c.code for c in catalogue() if c.family == "busbar"}
    chains = {c.code for c in catalogue() if c.area == "chains"}
    with open_store(clean) as store:
        for only, skip, expected in (
            ((), (), every),
            (("chains",), (), chains),
            (("CHAINS", "bus-s01"), (), chains | {"BUS-S01"}),
            ((), ("chains",), every - chains),
            (("chains",), ("BUS-C01",), chains - {"BUS-C01"}),
            (("BUS-C01",), ("chains",), set()),
        ):
            selected, left = checks.select(store, only, skip)
            assert {c.code for c in selected} == expected
            assert {c.code for c in selected} | {c.code for c in left} == every
            assert not {c.code for c in selected} & {c.code for c in left}
        for word in ("BUS-C99", "chain", "", "C01", "*"):
            with pytest.raises(UnknownCheck, match="No check or area"):
                checks.select(store, only=(word,))


@pytest.mark.parametrize("code", [c.code for c in catalogue() if c.area == "chains"])
def test_a_chain_check_alone_needs_no_more_than_its_tables(folder: Path, code: str) -> None:
    """Some read two populations, one or none: what is not loaded is not looked at, and that is no fault."""
    result = judged(built(folder, 12, {"bodies": "migrated"}), only=(code,))
    ended = result.check(code)
    if ended.outcome is Outcome.NOT_APPLICABLE:
        assert result.exit_code == 3
        assert list(result.reasons) == ["nothing was looked at"]
    else:
        assert (result.exit_code, ended.examined > 0) == (0, True), result
    assert all(line.adds_up for line in result.account)


def test_without_chain_checks_nobody_misses_evidence(clean: Path, folder: Path) -> None:
    result = judged(clean, skip=("chains",))
    assert result.exit_code == 0
    assert result.chains == []
    document = result.as_dict()
    assert document["covered"]["chained_records"] == 0
    assert set(document["covered"]["not_selected"]) == {c.code for c in catalogue() if c.area == "chains"}
    empty = judged(built(folder, 9, {"odd": ("empty",)}), only=("store",))
    assert empty.exit_code == 0, empty
    assert judged(built(folder, 9, {"odd": ("empty",)})).exit_code == 3


def test_requested_and_covered_are_both_said(clean: Path) -> None:
    document = _document(clean, only=["chains", "BUS-S01"], skip=["BUS-C10"], fail_on="low")
    requested, covered = document["requested"], document["covered"]
    assert (requested["only"], requested["skip"], requested["fail_on"]) == (["BUS-S01", "chains"], ["BUS-C10"], "low")
    assert requested["as_of"] == "2023-11-21T22:13:20Z"
    assert [c["code"] for c in document["checks"]] == requested["checks"]
    assert covered["checks_selected"] == len(requested["checks"])
    assert covered["checks_run"] == sum(c["outcome"] in ("pass", "finding") for c in document["checks"])
    assert covered["checks_run"] < covered["checks_selected"]
    assert "BUS-C10" in covered["not_selected"]
    with closing(sqlite3.connect(clean)) as con:
        counts = {
            t: con.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("audit_log", "mcp_calls", "task_events")
        }
        last = max(con.execute(f"SELECT max(ts) FROM {table}").fetchone()[0] for table in counts)
    assert covered["chained_records"] == sum(counts.values())
    assert covered["last_ts"] == last
    account = {line["table"]: line for line in document["account"]}
    assert account["usage_windows"]["examined"] == 0
    assert account["usage_windows"]["rows"] == sum(account["usage_windows"]["not_examined"].values()) > 0
    assert account["mcp_calls"] == {"table": "mcp_calls", "rows": 200, "examined": 200, "not_examined": {}}


def test_the_clock_has_a_zone(clean: Path) -> None:
    from datetime import UTC, datetime, timedelta, timezone

    with open_store(clean) as store:
        moment = datetime(2023, 11, 22, tzinfo=timezone(timedelta(hours=2)))
        assert audit(store, as_of=moment, only=("BUS-C11",)).requested["as_of"] == "2023-11-21T22:00:00Z"
        taken = audit(store, only=("BUS-C11",)).requested["as_of"]
        assert taken == store.snapshot.taken_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with pytest.raises(UsageError, match="with its zone"):
            audit(store, as_of=datetime(2023, 11, 22))
        with pytest.raises(UsageError, match="fail-on"):
            audit(store, fail_on="Medium")


# --- its account adds up ---


def _forms() -> Iterator[tuple[int, str]]:
    for number in GENERATIONS:
        for bodies in ("typed", "neutral", "migrated") if number >= 10 else ("typed",):
            yield number, bodies


@pytest.mark.parametrize(("number", "bodies"), _forms())
def test_a_healthy_store_is_clean_and_every_row_is_accounted_for(folder: Path, number: int, bodies: str) -> None:
    path = built(folder, number, {"bodies": bodies, "calls": 80, "tasks": 8, "audits": 20})
    result = judged(path)
    assert (result.exit_code, result.verdict) == (0, Verdict.CLEAN), result
    with closing(sqlite3.connect(path)) as con:
        names = [
            n
            for (n,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        ]
        counted = {name: con.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}
    assert {line.table: line.rows for line in result.account} == counted
    for line in result.account:
        assert line.adds_up
        assert 0 not in line.not_examined.values()
    populations = {chain.population for chain in result.chains}
    assert {"audit_log"} <= populations
    evidence = {line.table for line in result.account if line.table in ("audit_log", "mcp_calls", "plane_records")}
    for line in result.account:
        if line.table in evidence:
            assert line.examined == line.rows


# --- its verdict ---


def _ended(outcome: Outcome, *, examined: int = 5, reason: str = "", **counts: int) -> CheckResult:
    severity = next((s for s in SEVERITIES if counts.get(s)), "high")
    return CheckResult(
        "BUS-X01", "t", severity, outcome, reason, examined, sum(counts.values()), (), counts, 0.0, "", "", "", ""
    )


PASSED = _ended(Outcome.PASS)
SOUND = AccountLine("t", 5, 4, {"rejected": 1})
# From the one that calms least to the one that calms most.
CLEANER = (Verdict.FINDINGS, Verdict.INCONCLUSIVE, Verdict.CLEAN)


@pytest.mark.parametrize(
    ("results", "account", "evidence", "verdict", "says"),
    [
        ([PASSED], [SOUND], 5, "clean", "found nothing of severity medium or above"),
        ([PASSED], [SOUND], None, "clean", "found nothing"),
        ([PASSED, _ended(Outcome.FINDING, medium=2)], [SOUND], 5, "findings", "2 finding(s) of severity medium"),
        ([PASSED, _ended(Outcome.FINDING, low=2)], [SOUND], 5, "clean", "found nothing of severity medium"),
        ([PASSED, _ended(Outcome.COULD_NOT_RUN, examined=0)], [SOUND], 5, "inconclusive", "1 check(s) could not run"),
        ([PASSED, _ended(Outcome.NOT_APPLICABLE, examined=0)], [SOUND], 5, "clean", "found nothing"),
        ([PASSED, _ended(Outcome.FINDING, low=1, reason="not checked: x")], [SOUND], 5, "inconclusive", "in part only"),
        ([_ended(Outcome.FINDING, high=1), _ended(Outcome.COULD_NOT_RUN)], [SOUND], 5, "findings", "could not run"),
        ([], [SOUND], None, "inconclusive", "no check was selected"),
        ([_ended(Outcome.NOTHING_TO_CHECK, examined=0)], [SOUND], None, "inconclusive", "nothing was looked at"),
        ([_ended(Outcome.NOT_APPLICABLE, examined=0)], [SOUND], None, "inconclusive", "nothing was looked at"),
        ([PASSED], [SOUND], 0, "inconclusive", "no chained record"),
        ([PASSED], [AccountLine("t", 5, 4, {})], 5, "inconclusive", "the account does not add up for t"),
        ([PASSED], [AccountLine("t", 5, 6, {"x": -1}), AccountLine("u", 0, -1, {"x": 1})], 5, "inconclusive", "for u"),
    ],
)
def test_the_verdict(
    results: list[CheckResult], account: list[AccountLine], evidence: int | None, verdict: str, says: str
) -> None:
    judged_as, reasons = judge(results, account, "medium", evidence)
    assert judged_as == verdict
    assert any(says in reason for reason in reasons), reasons


@pytest.mark.parametrize("threshold", SEVERITIES)
def test_a_finding_counts_from_the_threshold_on(threshold: str) -> None:
    for severity in SEVERITIES:
        verdict, _ = judge([PASSED, _ended(Outcome.FINDING, **{severity: 1})], [SOUND], threshold, 5)
        grave = SEVERITIES.index(severity) <= SEVERITIES.index(threshold)
        assert verdict is (Verdict.FINDINGS if grave else Verdict.CLEAN)


_RESULTS = st.builds(
    lambda outcome, examined, severity: (
        _ended(outcome, examined=examined + 1, **{severity: 1})
        if outcome is Outcome.FINDING
        else _ended(outcome, examined=examined if outcome is Outcome.PASS else 0)
    ),
    st.sampled_from(list(Outcome)),
    st.integers(0, 3),
    st.sampled_from(SEVERITIES),
)
_ACCOUNT = st.lists(st.builds(AccountLine, st.just("t"), st.integers(0, 2), st.integers(0, 2), st.just({})), max_size=2)


@given(
    st.lists(_RESULTS, max_size=4),
    _ACCOUNT,
    st.sampled_from(SEVERITIES),
    st.sampled_from([None, 0, 7]),
    st.sampled_from(SEVERITIES),
)
def test_trouble_never_makes_a_verdict_cleaner(
    results: list[CheckResult], account: list[AccountLine], threshold: str, evidence: int | None, severity: str
) -> None:
    """One finding more, one check more that could not run, a higher demand: never a calmer word."""
    before = CLEANER.index(judge(results, account, threshold, evidence)[0])
    finding, failed = _ended(Outcome.FINDING, **{severity: 1}), _ended(Outcome.COULD_NOT_RUN, examined=0)
    if any(r.examined for r in results):  # a finding also is something that was looked at
        assert CLEANER.index(judge([*results, finding], account, threshold, evidence)[0]) <= before
    assert judge([*results, finding], account, "info", evidence)[0] is Verdict.FINDINGS
    assert CLEANER.index(judge([*results, failed], account, threshold, evidence)[0]) <= min(before, 1)
    wrong = AccountLine("u", 1, 0, {})
    assert CLEANER.index(judge(results, [*account, wrong], threshold, evidence)[0]) <= min(before, 1)
    for stricter in SEVERITIES[SEVERITIES.index(threshold) :]:
        assert CLEANER.index(judge(results, account, stricter, evidence)[0]) <= before


def test_one_verdict_over_several_stores() -> None:
    assert gravest([]) is Verdict.INCONCLUSIVE
    assert gravest([Verdict.CLEAN, Verdict.CLEAN]) is Verdict.CLEAN
    assert gravest([Verdict.CLEAN, Verdict.INCONCLUSIVE]) is Verdict.INCONCLUSIVE
    assert gravest([Verdict.INCONCLUSIVE, Verdict.FINDINGS, Verdict.CLEAN]) is Verdict.FINDINGS
    assert [v.exit_code for v in (Verdict.CLEAN, Verdict.FINDINGS, Verdict.INCONCLUSIVE)] == [0, 1, 3]


def test_a_result_can_be_asked(clean: Path) -> None:
    with open_store(clean) as store:
        result: Result = audit(store, as_of=AS_OF)
        assert result.check("bus-s01").outcome is Outcome.PASS
        with pytest.raises(UnknownCheck):
            result.check("BUS-X99")
        frame = result.frame()
        assert len(frame) == len(result.results)
        assert list(frame.columns)[:4] == ["code", "severity", "outcome", "findings"]
        assert repr(result).startswith("<Result clean: busbar sqlite v9, ")
        assert "<b>clean</b>" in result._repr_html_()
        assert {r.code for r in result.not_checked()} >= {"BUS-C12", "BUS-C16"}


# --- the store it reads ---

WRITER = """
import sqlite3, sys, time
from busbar_audit.chains import recipes
from busbar_audit.synth.bodies import MCP_MEMBERS, dumps
path, ts = sys.argv[1], int(sys.argv[2])
con = sqlite3.connect(path, isolation_level=None, timeout=30)
assert con.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
con.execute("PRAGMA synchronous = OFF")
names = [p for (p,) in con.execute("SELECT DISTINCT principal FROM mcp_calls ORDER BY 1")]
number = 0
while True:
    principal = names[number % len(names)]
    number += 1
    con.execute("BEGIN IMMEDIATE")
    seq, prev, body = con.execute(
        "SELECT seq, hash, body FROM mcp_calls WHERE principal = ? ORDER BY seq DESC LIMIT 1", (principal,)
    ).fetchone()
    values = {"outcome": "dispatched", "pin_generation": 9, "reason": "", "request_id": f"w-{number}",
              "server": "search", "tool": "search_web", "tool_digest": "ab" * 32}
    digest = recipes.call(prev, principal, seq + 1, ts, values["server"], values["tool"], values["outcome"],
                          values["reason"], values["tool_digest"], values["pin_generation"])
    con.execute("INSERT INTO mcp_calls (principal, seq, ts, prev_hash, hash, body) VALUES (?,?,?,?,?,?)",
                (principal, seq + 1, ts, prev, digest, dumps({m: values[m] for m in MCP_MEMBERS})))
    con.execute("COMMIT")
    if number == 20:
        print("writing", flush=True)
    if number % 7 == 0:
        time.sleep(0.01)
"""
HOLDER = """
import sqlite3, sys
con = sqlite3.connect(sys.argv[1])
assert con.execute("SELECT count(*) FROM mcp_calls").fetchone()[0]
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def beside(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another process that works on the store until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), process.communicate()[1]
        yield process
        assert process.poll() is None, process.communicate()[1]
    finally:
        process.kill()
        process.communicate()


def test_a_store_under_constant_writing_is_clean_every_time(folder: Path, tmp_path: Path) -> None:
    path = copied(built(folder, 9, {"calls": 60}), tmp_path / "busy.db")
    counts: list[int] = []
    with beside(WRITER, path, AS_OF):
        for number in range(20 if FULL else 8):
            # A witness, too, is moved on by appends and by nothing else: what was proven is found again in what grew since.
            with open_store(path) as store, closing(open_witness(tmp_path / "witness", store)) as kept:
                result = audit(store, as_of=AS_OF, witness=kept)
                told = [f.as_dict() for r in result.results for f in r.samples]
                assert result.verdict is Verdict.CLEAN, (result, told)
                assert store.snapshot.method == "backup"
                counts.append(sum(chain.records for chain in result.chains))
                verdicts = {chain.verdict for chain in result.chains}
                assert verdicts == {"intact-anchored" if number else "intact-unanchored"}
                assert result.advance is not None
                assert result.advance()
                assert sum(line.records for line in kept.content.lines.values()) == counts[-1]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0], "nothing was written meanwhile"


@pytest.mark.parametrize("held", [False, True], ids=["open nowhere", "open elsewhere"])
def test_a_quiet_store_keeps_its_bytes(clean: Path, tmp_path: Path, held: bool) -> None:
    """A log that was never checkpointed is read with the store, and neither file is touched."""
    live = copied(clean, tmp_path / "live.db")
    path = tmp_path / "quiet" / "s.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(live)) as con:
        assert con.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        con.execute("CREATE TABLE passing (x)")
        con.execute("DROP TABLE passing")
        for suffix in ("", "-wal"):
            shutil.copy(f"{live}{suffix}", f"{path}{suffix}")

    def state() -> dict[str, str]:
        return {
            p.name: hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(path.parent.iterdir())
            if "-shm" not in p.name
        }

    before = state()
    assert sorted(before) == ["s.db", "s.db-wal"]
    if held:
        with beside(HOLDER, path):
            result = judged(path)
            assert result.store.snapshot.method == "backup"
            assert state() == before
    else:
        result = judged(path)
        assert state() == before
        assert sorted(p.name for p in path.parent.iterdir()) == ["s.db", "s.db-wal"], "nothing was left beside it"
    assert result.exit_code == 0, result
    assert (result.as_dict()["snapshot"]["source"]["wal_bytes"] or 0) > 0


# --- stores written by the real products ---


@pytest.mark.real_stores
@pytest.mark.parametrize(
    ("name", "generation", "chains"),
    [
        ("v6_fixture", 6, 1),
        ("v8_fixture", 8, 3),
        ("v8_realistic", 8, 504),
        ("v9_fixture", 9, 3),
        ("v10_from_v9_fixture", 10, 3),
        ("v12_from_v9_fixture", 12, 3),
    ],
)
def test_real_stores_get_their_verdict(samples: Path, tmp_path: Path, name: str, generation: int, chains: int) -> None:
    packed = samples / "busbar" / f"{name}.db.gz"
    if not packed.exists():
        pytest.skip(f"no {packed}")
    path = tmp_path / "s.db"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    result = judged(path, only=("store", "chains", "calls"), as_of=None)
    assert result.store.generation.taken == generation
    assert (result.exit_code, result.codes()) == (0, frozenset()), result
    assert len(result.chains) == chains
    assert {chain.verdict for chain in result.chains} == {"intact-unanchored"}
    assert all(line.adds_up for line in judged(path, as_of=None).account)
