"""`busbar-audit retention --since REPORT`: what came and went, and whether a purge explains it. Faults beside what is legal."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gateway
import pytest
from support_cli import called, last

from busbar_audit.errors import ReportError
from busbar_audit.policy import Policy, Receipt
from busbar_audit.retention.comparison import Comparison, compare, compare_stores
from busbar_audit.store import open_store
from busbar_audit.stores import busbar_shapes
from busbar_audit.synth import records, write_busbar

DAY = 86_400
START = 1_700_000_000
REPORTED = "2023-11-25T00:00:00Z"
NOW = START + 20 * DAY
CUTOFF = START + 5 * DAY
CALLS = {"calls": CUTOFF, "tasks": CUTOFF}


def fill(path: Path) -> None:
    """Three principals, one of them silent since the second day; ten days of one call and one task each."""
    with closing(sqlite3.connect(path, isolation_level=None)) as con, pytest.MonkeyPatch.context() as patch:
        busbar_shapes.create(con, 9)
        con.execute("BEGIN")
        for day in range(10):
            patch.setattr(gateway, "NOW", START + day * DAY)
            for principal in ("vk_a", "vk_b") if day > 1 else ("vk_a", "vk_b", "vk_silent"):
                gateway.call(con, principal)
            gateway.entry(con)
            gateway.task(con, f"task-{day}", ("submitted", "working", "completed"))
        con.execute("COMMIT")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store and its report."""
    folder = tmp_path_factory.mktemp("since")
    fill(folder / "store.db")
    done = called("audit", folder / "store.db", "--as-of", REPORTED, "--out", folder / "report")
    assert (folder / "report" / "chains.parquet").exists(), done.stderr
    return folder / "store.db", folder / "report"


@pytest.fixture
def store(base: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copy(base[0], tmp_path / "store.db"))


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as con:
        with records.unguarded(con):
            for sql in statements:
                con.execute(sql)
        con.commit()


def compared(path: Path, report: Path, policy: Policy | None = None) -> Comparison:
    with open_store(path) as opened:
        return compare(opened, report, as_of=NOW, policy=policy)


def told(made: Comparison) -> set[tuple[str, str, str, int, str]]:
    return {(each.population, each.scope, each.what, each.records, each.why) for each in made.gone}


PURGE = f"DELETE FROM mcp_calls WHERE ts < {CUTOFF}"
WENT = {("mcp_calls", "vk_a", "head purged", 5), ("mcp_calls", "vk_b", "head purged", 5)}
SILENT = ("mcp_calls", "vk_silent", "vanished", 2)


def test_nothing_went_of_the_same_store(base: tuple[Path, Path]) -> None:
    made = compared(*base)
    assert (made.exit_code, made.gone, made.came, made.unsure) == (0, (), {}, "")
    assert made.compared == 3 + 1 + 10


@pytest.mark.parametrize(("cutoffs", "why"), [({}, "plausible"), (CALLS, "declared")])
def test_a_purge_by_age_is_explained(base: tuple[Path, Path], store: Path, cutoffs: dict[str, int], why: str) -> None:
    old = f"(SELECT task_id FROM tasks WHERE updated_at < {START + 3 * DAY})"
    changed(
        store, PURGE, f"DELETE FROM task_events WHERE task_id IN {old}", f"DELETE FROM tasks WHERE task_id IN {old}"
    )
    made = compared(store, base[1], Policy(cutoffs=cutoffs))
    tasks = {("task_events", f"task-{day}", "vanished", 3) for day in range(3)}
    assert told(made) == {(*each, why) for each in WENT | {SILENT} | tasks}
    assert made.exit_code == 0


def test_what_came_is_counted_and_a_chain_begun_anew_after_a_purge_is_explained(
    base: tuple[Path, Path], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(store, PURGE)
    monkeypatch.setattr(gateway, "NOW", START + 15 * DAY)
    with closing(sqlite3.connect(store)) as con:
        for principal in ("vk_silent", "vk_a", "vk_new", "vk_new"):
            gateway.call(con, principal)
        gateway.entry(con)
        con.commit()
    made = compared(store, base[1], Policy(cutoffs=CALLS))
    assert made.came == {"audit_log": 1, "mcp_calls": 4}
    assert told(made) == {(*each, "declared") for each in WENT | {("mcp_calls", "vk_silent", "begun anew", 2)}}
    assert made.exit_code == 0


UNEXPLAINED: list[tuple[str, dict[str, int], tuple[str, str, str, int]]] = [
    ("DELETE FROM audit_log WHERE seq > 7", {}, ("audit_log", "audit_log", "tail cut", 3)),
    ("DELETE FROM audit_log WHERE seq < 4", CALLS, ("audit_log", "audit_log", "head purged", 3)),
    ("DELETE FROM audit_log", CALLS, ("audit_log", "audit_log", "vanished", 10)),
    ("DELETE FROM mcp_calls WHERE principal = 'vk_a' AND seq > 8", {}, ("mcp_calls", "vk_a", "tail cut", 2)),
    ("DELETE FROM mcp_calls WHERE principal = 'vk_a' AND seq = 4", CALLS, ("mcp_calls", "vk_a", "gap inside", 1)),
    ("DELETE FROM mcp_calls WHERE principal = 'vk_a'", CALLS, ("mcp_calls", "vk_a", "vanished", 10)),
    ("DELETE FROM task_events WHERE task_id = 'task-9'", CALLS, ("task_events", "task-9", "vanished", 3)),
    ("DELETE FROM task_events WHERE task_id = 'task-9' AND seq = 3", CALLS, ("task_events", "task-9", "tail cut", 1)),
    ("UPDATE mcp_calls SET hash = 'f' WHERE principal = 'vk_b' AND seq = 10", {}, ("mcp_calls", "vk_b", "rewritten", 0)),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "cutoffs", "gone"), UNEXPLAINED, ids=[" ".join(map(str, u[2])) for u in UNEXPLAINED])
def test_what_no_purge_takes_is_unexplained(
    base: tuple[Path, Path], store: Path, sql: str, cutoffs: dict[str, int], gone: tuple[Any, ...]
) -> None:
    changed(store, sql)
    made = compared(store, base[1], Policy(cutoffs=cutoffs))
    assert told(made) == {(*gone, "unexplained")}
    assert made.exit_code == 1


@pytest.mark.parametrize(
    ("receipts", "faults"),
    [
        ([Receipt(NOW - DAY, "calls", CUTOFF, 12)], 0),
        ([Receipt(NOW - 9 * DAY, "calls", START + DAY, 3), Receipt(NOW - 8 * DAY, "calls", CUTOFF, 9)], 0),
        ([Receipt(NOW - DAY, "calls", CUTOFF, 11)], 1),
        ([Receipt(NOW - DAY, "calls", CUTOFF, 13)], 1),
        # It may have taken records that came after the report.
        ([Receipt(NOW - DAY, "calls", NOW - 2 * DAY, 13)], 0),
        # Before the report, so not of what went since.
        ([Receipt(START + 6 * DAY, "calls", CUTOFF, 3)], 0),
        ([Receipt(NOW - DAY, "tasks", CUTOFF, 0)], 0),
        ([Receipt(NOW - DAY, "tasks", CUTOFF, 1)], 1),
    ],
)
def test_receipts_add_up_or_do_not(base: tuple[Path, Path], store: Path, receipts: list[Receipt], faults: int) -> None:
    changed(store, PURGE)
    made = compared(store, base[1], Policy(receipts=tuple(receipts)))
    assert (len(made.faults), made.exit_code) == (faults, faults)
    assert {each.records for each in made.gone} == {5, 2}


def test_what_went_beyond_the_cutoff_of_a_receipt_is_unexplained(base: tuple[Path, Path], store: Path) -> None:
    changed(store, "DELETE FROM mcp_calls WHERE principal = 'vk_silent'")
    receipt = Receipt(NOW - DAY, "calls", START + DAY, 2)
    made = compared(store, base[1], Policy(cutoffs=CALLS, receipts=(receipt,)))
    assert told(made) == {(*SILENT, "unexplained")}


def _other(path: Path) -> None:
    changed(
        path, "UPDATE mcp_calls SET hash = 'x'", "UPDATE audit_log SET hash = 'x'", "UPDATE task_events SET hash = 'x'"
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda d: d["store"].update(family="maka"), "another family"),
        (lambda d: d["store"].update(generation=10), "upgraded since"),
        (lambda d: d["requested"].update(as_of="2030-01-01T00:00:00Z"), "later time"),
    ],
)
def test_what_cannot_be_compared_is_inconclusive(
    base: tuple[Path, Path], tmp_path: Path, spoil: Callable[[dict[str, Any]], None], said: str
) -> None:
    report = Path(shutil.copytree(base[1], tmp_path / "report"))
    document = json.loads((report / "result.json").read_text())
    spoil(document)
    text = json.dumps(document)
    (report / "result.json").write_text(text)
    manifest = json.loads((report / "manifest.json").read_text())
    manifest["files"]["result.json"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (report / "manifest.json").write_text(json.dumps(manifest))
    made = compared(base[0], report)
    assert (made.exit_code, made.gone) == (3, ())
    assert said in made.unsure


# ---- two stores ----------------------------------------------------------------------------------------------------------


def of_two(path: Path, before: Path, policy: Policy | None = None) -> Comparison:
    with open_store(path) as opened, open_store(before) as earlier:
        return compare_stores(opened, earlier, as_of=NOW, policy=policy)


def test_two_stores_tell_what_came_and_what_went(base: tuple[Path, Path], store: Path) -> None:
    assert of_two(store, base[0]).as_dict()["gone"] == []
    changed(store, PURGE)
    made = of_two(store, base[0], Policy(cutoffs=CALLS))
    assert told(made) == {(*each, "declared") for each in WENT | {SILENT}}
    assert (made.exit_code, made.since, made.came) == (0, START + 9 * DAY + 10, {})
    # The other way round these came, and nothing is gone.
    back = of_two(base[0], store)
    assert (back.gone, back.came) == ((), {"mcp_calls": 12})


def test_two_stores_tell_what_no_purge_takes(base: tuple[Path, Path], store: Path) -> None:
    # A chain each, so that one look judges all of them.
    several = [UNEXPLAINED[n] for n in (0, 4, 7, 8)]
    changed(store, *(sql for sql, *_ in several))
    made = of_two(store, base[0], Policy(cutoffs=CALLS))
    assert (told(made), made.exit_code) == ({(*gone, "unexplained") for *_, gone in several}, 1)


def test_of_two_stores_a_head_that_went_beyond_the_cutoff_is_known(base: tuple[Path, Path], store: Path) -> None:
    # The first six of ten went, the sixth a record of the cutoff's own time: a report cannot tell, two stores can.
    changed(store, "DELETE FROM mcp_calls WHERE principal = 'vk_a' AND seq <= 6")
    changed(store, "DELETE FROM mcp_calls WHERE principal <> 'vk_a' AND ts < " + str(CUTOFF))
    assert ("mcp_calls", "vk_a", "head purged", 6, "unexplained") in told(of_two(store, base[0], Policy(cutoffs=CALLS)))


def test_a_chain_begun_anew_while_older_ones_of_others_are_there_is_unexplained(
    base: tuple[Path, Path], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(store, "DELETE FROM mcp_calls WHERE principal = 'vk_silent'")
    monkeypatch.setattr(gateway, "NOW", START + 15 * DAY)
    with closing(sqlite3.connect(store)) as con:
        gateway.call(con, "vk_silent")
        con.commit()
    for made in (of_two(store, base[0]), compared(store, base[1])):
        assert told(made) == {("mcp_calls", "vk_silent", "tail cut", 1, "unexplained")}


def test_two_stores_that_cannot_be_compared(base: tuple[Path, Path], tmp_path: Path) -> None:
    other = write_busbar(tmp_path / "other.db", generation=9, calls=20, tasks=2, audits=3, seed=5).path
    newer = write_busbar(tmp_path / "v12.db", generation=12, calls=20, tasks=2, audits=3).path
    assert "another store" in of_two(base[0], other).unsure
    assert "engine or generation" in of_two(base[0], newer).unsure
    with closing(sqlite3.connect(tmp_path / "empty.db")) as con:
        busbar_shapes.create(con, 9)
    assert "no chain" in of_two(base[0], tmp_path / "empty.db").unsure


def test_the_command_holds_an_earlier_copy_against_a_store(base: tuple[Path, Path], store: Path) -> None:
    changed(store, "DELETE FROM audit_log WHERE seq > 7")
    done = called("retention", store, "--before", base[0], "--as-of", "2023-12-04T22:13:20Z")
    assert (done.returncode, last(done.stdout)) == (1, "findings")
    assert "audit_log: tail cut, 1 chain(s), 3 record(s): unexplained" in done.stdout
    assert called("retention", store, "--before", base[0], "--since", base[1]).returncode == 2
    assert called("retention", store, "--before", base[0], "--confirm").returncode == 2
    assert called("retention", store, "--before", store.parent / "none.db").returncode != 0


def test_another_store_is_inconclusive_and_a_replaced_one_is_not(base: tuple[Path, Path], store: Path) -> None:
    _other(store)
    assert compared(store, base[1]).unsure.startswith("the report is of another store")
    kept = base[0].read_bytes()
    try:
        shutil.copy(store, base[0])
        made = compared(*base)
    finally:
        base[0].write_bytes(kept)
    assert made.exit_code == 1
    assert {(each.what, each.why) for each in made.gone} == {("rewritten", "unexplained")}


def test_a_report_that_was_changed_or_is_none_is_refused(base: tuple[Path, Path], tmp_path: Path) -> None:
    report = Path(shutil.copytree(base[1], tmp_path / "report"))
    (report / "chains.parquet").write_bytes(b"PAR1")
    for folder in (report, tmp_path / "none", tmp_path):
        with pytest.raises(ReportError):
            compared(base[0], folder)


def test_the_command(base: tuple[Path, Path], store: Path, tmp_path: Path) -> None:
    changed(store, PURGE)
    policy = tmp_path / "policy.toml"
    clock = ("--since", base[1], "--as-of", "2023-12-04T22:13:20Z")
    receipt = "[[receipt]]\nwhen = 2023-12-01\nof = 'calls'\ncutoff = 2023-11-19T22:13:20Z\ncount = {}\n"
    for count, code, word in ((12, 0, "clean"), (11, 1, "findings")):
        policy.write_text(receipt.format(count))
        done = called("retention", store, *clock, "--policy", policy)
        assert (done.returncode, last(done.stdout)) == (code, word)
        assert "mcp_calls: head purged, 2 chain(s), 10 record(s): declared" in done.stdout
        assert ("receipt   calls: 12 went" in done.stdout) == bool(code)
    done = called("retention", store, *clock, "--json")
    assert json.loads(done.stdout)["verdict"] == last(done.stderr) == "clean"
    assert called("retention", store, *clock, "--confirm").returncode == 2


def test_a_store_of_planes_is_compared_too(tmp_path: Path) -> None:
    path = write_busbar(tmp_path / "s.db", generation=12, calls=60, tasks=6, audits=10).path
    called("audit", path, "--as-of", REPORTED, "--out", tmp_path / "report")
    assert compared(path, tmp_path / "report").gone == ()
    with closing(sqlite3.connect(path)) as con:
        (newest,) = con.execute("SELECT max(ts) FROM plane_records WHERE kind = 'call'").fetchone()
        chains = con.execute(
            "SELECT parent, count(*) FROM plane_records WHERE kind = 'call' GROUP BY parent ORDER BY parent"
        ).fetchall()
    changed(path, "DELETE FROM plane_records WHERE kind = 'call'")
    for cutoff, why in ((newest + 1, "declared"), (START - DAY, "unexplained")):
        made = compared(path, tmp_path / "report", Policy(cutoffs={"calls": cutoff}))
        assert told(made) == {("call", scope, "vanished", count, why) for scope, count in chains}
