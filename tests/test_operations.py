"""The write path weighed, and what an operator acts on: verdicts store by store, exact rows, hostile names as text."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support_audit import AS_OF, built, copied
from support_postgres import Server, running
from support_reports import HOSTILE, Page, damaged_store, newer_store

from busbar_audit import checks
from busbar_audit.auditing import audit
from busbar_audit.findings import CheckResult, Outcome
from busbar_audit.reporting import figures
from busbar_audit.reporting.markup import utc
from busbar_audit.reporting.session import Session
from busbar_audit.store import Store, open_store
from busbar_audit.synth.busbar_pg import write_busbar_pg
from busbar_audit.synth.faults import FAULTS
from busbar_audit.synth.records import insert, load, reseal, save, unguarded

DAY = 86_400
START = AS_OF - 7 * DAY
TERMINAL = "('completed', 'failed', 'canceled', 'rejected')"
PARTS = ("calls", "tasks", "task events", "approvals", "admin audit", "usage", "metering")
OLD = ("admin audit", "usage", "metering")
DURABILITY = ("BUS-D01", "BUS-D02", "BUS-D09")

Edit = Callable[[sqlite3.Connection], None]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


def _edited(path: Path, edit: Edit | str | tuple[str, ...] = ()) -> Path:
    with closing(sqlite3.connect(path)) as con:
        with unguarded(con):
            if callable(edit):
                edit(con)
            else:
                for statement in (edit,) if isinstance(edit, str) else edit:
                    con.execute(statement)
        con.commit()
    return path


_STORES: dict[tuple[str, ...], Store] = {}


def _opened(path: Path) -> Store:
    """A store with this content; one that is open already gets it, since opening costs more than the rest.

    As in support_sql: what is replaced is the content of the private copy, and what was made from it.
    """
    with closing(sqlite3.connect(path)) as con:
        (stamp,) = con.execute("PRAGMA user_version").fetchone()
        names = con.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1").fetchall()
    shape = (str(stamp), *(name for (name,) in names))
    if shape not in _STORES:
        _STORES[shape] = open_store(path)
    store = _STORES[shape]
    store.snapshot.path.unlink()
    store.snapshot.path.write_bytes(path.read_bytes())
    store.con.execute("DROP SCHEMA audit CASCADE")
    store.con.execute("CREATE SCHEMA audit")
    store.warehouse.loaded.clear()
    store._views = None
    return store


def _ran(store: Store, check: checks.Check, as_of: int) -> CheckResult:
    for relation in check.relations():
        store.load(*store.views.tables_of(relation) & set(store.rows))
    return checks.run(check, store, store.views, {"as_of": as_of})


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    for store in _STORES.values():
        store.close()
    _STORES.clear()


class Weighed:
    """The write path of one store: what each population is, and what the checks of durability find."""

    def __init__(self, target: Any, as_of: int = AS_OF) -> None:
        if isinstance(target, Path):
            store = _opened(target)
            self._read(store, [_ran(store, check, as_of) for check in checks.catalogue() if check.code in DURABILITY])
        else:
            with open_store(target) as store:
                self._read(store, audit(store, as_of=as_of, only=DURABILITY).results)

    def _read(self, store: Store, results: Sequence[CheckResult]) -> None:
        assert not [(r.code, r.reason) for r in results if r.outcome is Outcome.COULD_NOT_RUN]
        self.found = {r.code.removeprefix("BUS-"): r.severity for r in results if r.findings}
        rows = store.con.execute("SELECT population, verdict, stopped_at, ground FROM audit.write_path ORDER BY place")
        found = rows.fetchall()
        self.verdicts = {name: verdict for name, verdict, _, _ in found}
        self.grounds = {name: ground for name, _, _, ground in found}
        self.stopped = {name: int(at) for name, _, at, _ in found if at is not None}
        self.store = self.verdicts.pop("store")

    def all_but(self, verdict: str) -> dict[str, str]:
        return {name: said for name, said in self.verdicts.items() if said != verdict}


# ---- healthy and legal ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generation", "needs", "parts"),
    [
        (5, {}, OLD),
        (8, {}, ("calls", "tasks", "task events", *OLD)),
        (9, {}, PARTS),
        (10, {"bodies": "migrated"}, PARTS),
        (12, {}, PARTS),
    ],
)
def test_a_healthy_store_is_alive_in_every_part(
    generation: int, needs: dict[str, Any], parts: tuple[str, ...], bases: Path
) -> None:
    weighed = Weighed(built(bases, generation, needs))
    assert weighed.verdicts == dict.fromkeys(parts, "alive")
    assert (weighed.store, weighed.stopped, weighed.found) == ("alive", {}, {})


@pytest.mark.parametrize("generation", [9, 12])
def test_of_an_empty_store_nothing_can_be_told(generation: int, bases: Path) -> None:
    weighed = Weighed(built(bases, generation, {"odd": ("empty",)}))
    assert set(weighed.verdicts.values()) == {"cannot tell"}
    assert set(weighed.grounds.values()) == {"nothing", "parts"}
    assert (weighed.store, weighed.found) == ("cannot tell", {})


_NO_PLANE = "DELETE FROM plane_records WHERE kind IN ('call', 'task', 'task_event')"


def _tools_and_metering_end(con: sqlite3.Connection) -> None:
    """All traffic ends after three days; administrators go on."""
    con.execute(f"DELETE FROM mcp_calls WHERE ts > {START + 3 * DAY}")
    con.execute(f"DELETE FROM usage_windows WHERE window_start > {START + 3 * DAY}")
    con.execute(f"DELETE FROM usage_metering WHERE CAST(bucket AS INTEGER) > {START + 3 * DAY}")


def _only_old_questions(con: sqlite3.Connection) -> None:
    """A purge took every finished task; what is left waits for people since the first days."""
    con.execute(f"DELETE FROM tasks WHERE state <> 'input-required' OR updated_at > {START + 3 * DAY}")
    con.execute("DELETE FROM task_events WHERE task_id NOT IN (SELECT task_id FROM tasks)")


def _monthly(con: sqlite3.Connection) -> None:
    """From the fourth day on usage is counted in one window that is longer than the rest of the time."""
    con.execute(f"DELETE FROM usage_windows WHERE window_start > {START + 3 * DAY}")


LEGAL: dict[str, tuple[int, dict[str, Any], Any, dict[str, str], str]] = {
    # name: generation, needs, edit, grounds of the parts that are not alive, the store as a whole
    "upgraded from 6, no traffic yet": (9, {"calls": 0, "tasks": 0}, "DELETE FROM spent_ask_states",
        dict.fromkeys(PARTS[:4], "nothing"), "cannot tell"),
    "upgraded from 9, no call yet": (10, {"bodies": "migrated"}, "DELETE FROM plane_records WHERE kind = 'call'", {}, "alive"),
    "no agents": (12, {"tasks": 0}, (), {"tasks": "nothing", "task events": "nothing"}, "alive"),
    "heads purged": (8, {"odd": ("purged_head",)}, (), {}, "alive"),
    "all calls purged": (9, {}, "DELETE FROM mcp_calls", {"calls": "nothing"}, "alive"),
    "finished tasks purged": (9, {"tasks": 90}, _only_old_questions, {"tasks": "purged", "task events": "purged"}, "alive"),
    "tools tried once": (9, {}, f"DELETE FROM mcp_calls WHERE ts > {START + DAY}", {"calls": "quiet"}, "alive"),
    "seldom and irregular": (9, {"days": 28}, f"DELETE FROM mcp_calls WHERE ts / {DAY} NOT IN "
        f"({START // DAY + 1}, {START // DAY + 8}, {START // DAY + 15})", {"calls": "quiet"}, "alive"),
    "the traffic ended": (9, {}, _tools_and_metering_end,
        {"calls": "traffic ended", "usage": "quiet", "metering": "quiet"}, "alive"),
    "longer windows": (8, {}, _monthly, {"usage": "quiet"}, "alive"),
    "approvals of long ago": (9, {}, f"UPDATE spent_ask_states SET expires_at = {START}", {"approvals": "idle"}, "alive"),
    "approvals without end": (9, {}, "UPDATE spent_ask_states SET expires_at = 4000000000", {"approvals": "undated"}, "alive"),
    "administrators had nothing to do": (9, {}, f"DELETE FROM audit_log WHERE ts > {START + 2 * DAY}",
        {"admin audit": "hinted"}, "alive"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_legal_is_never_stopped(name: str, bases: Path, tmp_path: Path) -> None:
    generation, needs, edit, grounds, whole = LEGAL[name]
    as_of = START + needs.get("days", 7) * DAY
    weighed = Weighed(_edited(copied(built(bases, generation, needs), tmp_path / "s.db"), edit), as_of)
    assert weighed.all_but("alive") == dict.fromkeys(grounds, "cannot tell")
    assert {part: weighed.grounds[part] for part in grounds} == grounds
    assert (weighed.store, weighed.stopped, weighed.found) == (whole, {}, {})


def test_an_old_copy_cannot_tell_and_what_had_stopped_before_stays_so(bases: Path, tmp_path: Path) -> None:
    late = AS_OF + 100 * DAY
    healthy = Weighed(built(bases, 9, {}), late)
    assert {
        part: ground for part, ground in healthy.grounds.items() if part not in ("store", "approvals")
    } == dict.fromkeys((part for part in PARTS if part != "approvals"), "stale")
    assert (healthy.store, healthy.found) == ("cannot tell", {})
    stopped = _edited(
        copied(built(bases, 9, {}), tmp_path / "s.db"), f"DELETE FROM mcp_calls WHERE ts > {START + 3 * DAY}"
    )
    assert Weighed(stopped, late).all_but("cannot tell") == {"calls": "stopped"}


# ---- stopped, and never kept ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "generation"), [("mcp_calls_stopped", 9), ("call_stopped", 12)])
def test_calls_that_stopped(fault: str, generation: int, bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, generation, {}), tmp_path / "s.db")
    with closing(sqlite3.connect(path)) as con:
        FAULTS[fault].apply(con)
        con.commit()
        table, also = ("mcp_calls", "") if generation == 9 else ("plane_records", "WHERE kind = 'call'")
        (last,) = con.execute(f"SELECT max(ts) FROM {table} {also}").fetchone()
    weighed = Weighed(path)
    assert weighed.all_but("alive") == {"calls": "stopped"}
    assert (weighed.store, weighed.stopped) == ("stopped", {"calls": last, "store": last})
    assert weighed.found == {"D02": "high"}


def test_a_time_in_the_future_hides_no_stop(bases: Path, tmp_path: Path) -> None:
    def edit(con: sqlite3.Connection) -> None:
        con.execute(f"DELETE FROM mcp_calls WHERE ts > {START + 3 * DAY}")
        con.execute("UPDATE mcp_calls SET ts = 4000000000 WHERE ts = (SELECT max(ts) FROM mcp_calls)")

    assert Weighed(_edited(copied(built(bases, 9, {}), tmp_path / "s.db"), edit)).all_but("alive") == {
        "calls": "stopped"
    }


def test_a_store_that_kept_nothing_while_the_audit_goes_on(bases: Path, tmp_path: Path) -> None:
    emptied = tuple(f"DELETE FROM {table}" for table in ("mcp_calls", "tasks", "task_events", "spent_ask_states"))
    path = _edited(copied(built(bases, 9, {}), tmp_path / "s.db"), emptied)
    weighed = Weighed(path)
    assert weighed.all_but("alive") == {
        "calls": "cannot tell",
        "tasks": "never kept anything",
        "task events": "never kept anything",
        "approvals": "cannot tell",
    }
    assert (weighed.store, weighed.stopped, weighed.found) == ("never kept anything", {}, {"D01": "critical"})


def test_empty_tables_may_also_be_an_old_purge(bases: Path, tmp_path: Path) -> None:
    """The audit tells of agents in the first days only; every task since was finished and purged."""

    def edit(con: sqlite3.Connection) -> None:
        for record in load(con, "audit_log", "audit_log"):
            if record.fields["action"] == "agent.call" and record.ts > START + 3 * DAY:
                save(con, record.edit(action="hook.register"))
        reseal(con, "audit_log", "audit_log", 1)
        con.execute("DELETE FROM tasks")
        con.execute("DELETE FROM task_events")

    weighed = Weighed(_edited(copied(built(bases, 9, {}), tmp_path / "s.db"), edit))
    assert {part: weighed.grounds[part] for part in weighed.all_but("alive")} == dict.fromkeys(
        ("tasks", "task events"), "told long ago"
    )
    assert weighed.found == {"D01": "low"}


@pytest.mark.parametrize(
    ("fault", "part"),
    [("metering_stopped", "metering"), ("task_events_left_out", "task events"), ("tasks_left_out", "tasks")],
)
def test_a_part_that_stopped_beside_its_counterpart(fault: str, part: str, bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, 9, dict(FAULTS[fault].needs)), tmp_path / "s.db")
    with closing(sqlite3.connect(path)) as con:
        FAULTS[fault].apply(con)
        con.commit()
    weighed = Weighed(path)
    assert weighed.all_but("alive") == {part: "stopped"}
    assert weighed.found == {"D09": "high"}


def test_events_that_were_never_kept(bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, 8, {}), tmp_path / "s.db")
    assert Weighed(_edited(path, "DELETE FROM task_events")).all_but("alive") == {"task events": "never kept anything"}


def test_keys_changed_and_the_audit_is_silent_is_a_hint_only(bases: Path, tmp_path: Path) -> None:
    def edit(con: sqlite3.Connection) -> None:
        con.execute(f"DELETE FROM audit_log WHERE ts > {START + 2 * DAY}")
        con.execute(f"UPDATE keys SET created_at = {START + 5 * DAY} WHERE deleted_at IS NULL")

    weighed = Weighed(_edited(copied(built(bases, 5, {}), tmp_path / "s.db"), edit))
    assert weighed.all_but("alive") == {"admin audit": "cannot tell"}
    assert (weighed.grounds["admin audit"], weighed.found) == ("hinted", {})


def _approved(population: str, rounds: int, *, unasked: bool = False) -> Edit:
    """Calls that wait for an approval and go through 20 s later, again and again, one more left waiting.

    unasked : one of them goes through without being asked for.
    """

    def edit(con: sqlite3.Connection) -> None:
        (scope, *_), = con.execute(
            "SELECT principal FROM mcp_calls GROUP BY 1 ORDER BY count(*) DESC LIMIT 1" if population == "mcp_calls" else
            "SELECT parent FROM plane_records WHERE kind = 'call' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
        ).fetchall()  # fmt: skip
        chain = load(con, population, scope)
        plain = next(r for r in chain if r.fields["outcome"] == "dispatched" and not r.fields["reason"])
        last, ts = chain[-1], max(chain[-1].ts, AS_OF - 3 * 3600)
        for number in range(2 * rounds + 1):
            asks = number % 2 == 0 and not (unasked and number == 2)
            words = (
                {"outcome": "refused", "reason": "caller_ask_pending"}
                if asks
                else {"outcome": "dispatched", "reason": ""}
            )
            record = replace(plain, seq=last.seq + 1, ts=ts + number * 1000 - 980 * (number % 2), prev_hash=last.hash)
            record = record.edit(request_id=f"req-{number}", **words)
            last = replace(record, hash=record.digest())
            insert(con, last)

    return edit


@pytest.mark.parametrize(
    ("generation", "population", "before", "verdict", "ground"),
    [
        (12, "call", "DELETE FROM plane_tokens", "never kept anything", "outlived"),
        (9, "mcp_calls", "DELETE FROM spent_ask_states", "never kept anything", "outlived"),
        (10, "call", f"UPDATE plane_tokens SET expires_at = {START + DAY}", "stopped", "outlived"),
        # Without a demotion nothing shows that the table was there already when these calls were made.
        (9, "mcp_calls", "DELETE FROM spent_ask_states; DELETE FROM mcp_demotions", "cannot tell", "hinted"),
    ],
    ids=["never", "never-typed", "stopped", "upgraded since"],
)  # fmt: skip
def test_approvals_evidently_used(
    generation: int, population: str, before: str, verdict: str, ground: str, bases: Path, tmp_path: Path
) -> None:
    def edit(con: sqlite3.Connection) -> None:
        for statement in before.split("; "):
            con.execute(statement)
        _approved(population, 4)(con)

    weighed = Weighed(_edited(copied(built(bases, generation, {}), tmp_path / "s.db"), edit), AS_OF + DAY)
    assert weighed.all_but("alive") == {"approvals": verdict}
    assert weighed.grounds["approvals"] == ground
    assert weighed.store == ("alive" if verdict == "cannot tell" else verdict)


def test_calls_that_go_unasked_now_and_then_prove_no_approval(bases: Path, tmp_path: Path) -> None:
    """Whether a call is asked for may depend on what it is about, which no record tells."""

    def edit(con: sqlite3.Connection) -> None:
        con.execute("DELETE FROM plane_tokens")
        _approved("call", 4, unasked=True)(con)

    weighed = Weighed(_edited(copied(built(bases, 12, {}), tmp_path / "s.db"), edit), AS_OF + DAY)
    assert (weighed.all_but("alive"), weighed.grounds["approvals"]) == ({"approvals": "cannot tell"}, "hinted")


def test_one_approval_without_a_record_is_not_enough(bases: Path, tmp_path: Path) -> None:
    def edit(con: sqlite3.Connection) -> None:
        con.execute("DELETE FROM plane_tokens")
        _approved("call", 1)(con)

    weighed = Weighed(_edited(copied(built(bases, 12, {}), tmp_path / "s.db"), edit), AS_OF + DAY)
    assert weighed.all_but("alive") == {"approvals": "cannot tell"}


def test_traces_of_an_upgrade_and_of_two_generations(bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, 10, {"bodies": "migrated"}), tmp_path / "s.db")
    last = "SELECT principal, max(seq) FROM mcp_calls WHERE principal = 'vk_alice'"
    _edited(path, ("INSERT INTO plane_tokens SELECT 'ask', 'x' || token, expires_at FROM plane_tokens LIMIT 1",
        f"UPDATE mcp_calls SET ts = {AS_OF} WHERE (principal, seq) IN ({last})"))  # fmt: skip
    with open_store(path) as store:
        audit(store, as_of=AS_OF, only=["BUS-D09"])
        rows = store.con.execute("SELECT population, trace, records FROM audit.write_traces").fetchall()
    traces = {(part, trace): records for part, trace, records in rows}
    assert traces["calls", "begins again"] == 5
    assert traces["calls", "two logs side by side"] == 1
    assert traces["approvals", "two gateway generations"] == 4


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        for name, generation in (("v6", 6), ("v11", 11)):
            up.new(name)
            write_busbar_pg(up.uri(name), "busbar", generation=generation, seed=1, calls=200, tasks=12, audits=40)
        yield up


def test_healthy_and_stopped_on_postgres(server: Server) -> None:
    assert Weighed(server.uri("v6")).verdicts == dict.fromkeys(OLD, "alive")
    healthy = Weighed(server.uri("v11"))
    assert (healthy.store, healthy.verdicts) == ("alive", dict.fromkeys(PARTS, "alive"))
    stopped = server.copy_of("v11")
    server.run(stopped, f"DELETE FROM plane_chain WHERE kind = 'call' AND ts > {START + 3 * DAY}",
        f"DELETE FROM usage_metering WHERE bucket > {START + 3 * DAY}")  # fmt: skip
    weighed = Weighed(server.uri(stopped))
    # Calls end where metering ends: the traffic may have. Windows go on, so metering itself has stopped.
    assert (weighed.all_but("alive"), weighed.found) == (
        {"calls": "cannot tell", "metering": "stopped"},
        {"D09": "high"},
    )
    stopped = server.copy_of("v11")
    server.run(stopped, f"DELETE FROM plane_chain WHERE kind = 'call' AND ts > {START + 3 * DAY}")
    weighed = Weighed(server.uri(stopped))
    assert (weighed.store, weighed.all_but("alive")) == ("stopped", {"calls": "stopped"})
    assert weighed.found == {"D02": "high"}


def test_an_upgrade_that_left_the_typed_tables_behind(server: Server) -> None:
    upgraded = server.copy_of("v11")
    emptied = [
        f"DELETE FROM {table} WHERE kind IN ('task', 'task_event')" for table in ("plane_chain", "plane_records")
    ]
    server.run(upgraded, *emptied, "CREATE TABLE tasks (task_id text)", "CREATE TABLE task_events (task_id text)",
        "INSERT INTO tasks VALUES ('t1')", "INSERT INTO task_events VALUES ('t1')")  # fmt: skip
    weighed = Weighed(server.uri(upgraded))
    assert weighed.all_but("alive") == dict.fromkeys(("tasks", "task events"), "cannot tell")
    assert weighed.grounds["tasks"] == "told before the upgrade"


# ---- what the notebook shows ----------------------------------------------------------------------------------------

SECTIONS = ("write_path", "tasks", "approvals", "demotions", "keys", "usage")
# The areas the sections are about: the chains take longer than all of them.
SHOWN = ("tasks", "approvals", "keys", "usage", "durability", "BUS-M09", "BUS-M10", "BUS-S01")


@contextmanager
def _session(path: Path, **options: Any) -> Iterator[Session]:
    with open_store(path) as store:
        result = audit(store, **{"as_of": AS_OF, "only": SHOWN, **options})
        yield Session(result.as_dict(), store.con, result=result)


def _blocks(session: Session) -> dict[str, Any]:
    return {name: getattr(session, name)() for name in SECTIONS}


def _busy(con: sqlite3.Connection) -> None:
    """A store in which an operator has something to do everywhere."""
    con.execute("UPDATE mcp_demotions SET server = 'github', recorded_at = ?", (START + 6 * DAY,))
    con.execute("INSERT INTO denylist VALUES ('vk_bob', 'x', ?)", (START + 5 * DAY,))
    con.execute("UPDATE keys SET allowed_pools = NULL WHERE id IN ('vk_alice', 'vk_bob')")
    con.execute("UPDATE keys SET expires_at = ? WHERE id = 'vk_ci'", (START,))
    con.execute("UPDATE tasks SET state = 'working', updated_at = ? WHERE state = 'completed'", (START + 2 * DAY,))
    con.execute("DELETE FROM task_events WHERE task_id IN (SELECT task_id FROM tasks WHERE updated_at = ?) AND ts > ?",
        (START + 2 * DAY, START + 3 * DAY))  # fmt: skip


@pytest.fixture(scope="module")
def busy(bases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _edited(copied(built(bases, 9, {"tasks": 60}), tmp_path_factory.mktemp("busy") / "s.db"), _busy)


def test_the_rows_are_those_of_the_store(busy: Path) -> None:
    with closing(sqlite3.connect(busy)) as con:
        ask = con.execute
        waiting = ask(
            "SELECT task_id FROM tasks WHERE state = 'input-required' ORDER BY updated_at, task_id"
        ).fetchall()
        states = dict(ask("SELECT state, count(*) FROM tasks GROUP BY 1").fetchall())
        (served,) = ask("SELECT count(*) FROM mcp_calls WHERE ts > ? AND json_extract(body, '$.server') = 'github' "
            "AND json_extract(body, '$.outcome') = 'dispatched'", (START + 6 * DAY,)).fetchone()  # fmt: skip
        (after,) = ask("SELECT count(*) FROM mcp_calls WHERE ts > ? AND principal = 'vk_bob' "
            "AND json_extract(body, '$.outcome') = 'dispatched'", (START + 5 * DAY + 300,)).fetchone()  # fmt: skip
        (asked,) = ask(
            "SELECT count(*) FROM mcp_calls WHERE json_extract(body, '$.reason') = 'caller_ask_pending'"
        ).fetchone()
        (day, requests) = ask("SELECT max(window_start), sum(requests) FROM usage_windows WHERE window_start = "
            "(SELECT max(window_start) FROM usage_windows)").fetchone()  # fmt: skip
    assert min(len(waiting), served, after, asked) > 0
    with _session(busy) as session:
        shown = session.rows(session.figure("tasks_waiting"), {"limit": 100})
        assert [row["task_id"] for row in shown] == [task for (task,) in waiting]
        by_state = session.rows(session.figure("tasks_by_state"), {"as_of": AS_OF})
        assert {row["state"]: row["tasks"] for row in by_state} == states
        for row in by_state:
            assert row["hour"] + row["day"] + row["week"] + row["older"] == row["tasks"]
        stuck = session.rows(session.figure("tasks_stuck"), {"as_of": AS_OF, "limit": 100})
        assert [(r["server"], r["calls"]) for r in session.rows(session.figure("demoted_serving"))] == [
            ("github", served)
        ]
        revoked = session.rows(session.figure("after_revocation"))
        assert [(r["principal"], r["how"], r["calls"]) for r in revoked] == [("vk_bob", "denied", after)]
        wildcard = session.rows(session.figure("keys_wildcard"), {"as_of": AS_OF})
        assert {row["id"] for row in wildcard} == {"vk_alice", "vk_bob", "vk_erin"}
        keys = {r["state"]: r["keys"] for r in session.rows(session.figure("keys_by_state"), {"as_of": AS_OF})}
        assert keys == {"live": 4, "expired, still enabled": 1, "deleted": 1}
        asks = session.rows(session.figure("approvals_asked"), {"as_of": AS_OF})
        assert asks[0]["all_asked"] == asked == sum(asks[0][n] for n in ("all_granted", "all_waiting", "all_lapsed"))
        windows = session.rows(session.figure("usage_windows"))
        assert (windows[0]["window_start"], windows[0]["requests"], windows[0]["total"]) == (day, requests, 8)
        # The lists agree with the checks over the same rows.
        counts = {check["code"]: check["findings"] for check in session.document["checks"]}
        assert counts["BUS-T14"] == len(waiting)
        assert counts["BUS-T13"] == len(stuck)
        assert counts["BUS-K04"] == 3
        assert counts["BUS-M09"] == len(revoked)


def test_a_section_says_what_it_means_what_to_do_and_what_it_leaves_out(busy: Path) -> None:
    with _session(busy) as session:
        blocks = _blocks(session)
        total = session.rows(session.figure("tasks_waiting"), {"limit": 1})[0]["total"]
        capped = session.tasks(limit=2)
    assert total > 2
    assert f"Tasks that wait for a person: {total}" in capped.plain
    assert f"{total - 2} more" in Page(capped.html).text
    for name, block in blocks.items():
        page = Page(block.html)
        assert page.loads() == [], name
        assert page.names() & {"table"}, name
        for words in ("Means", "Next", "queries/figures/"):
            assert words in page.text, (name, words)
        tags = [tag for tag, _ in page.tags]
        assert tags.count("table") == tags.count("caption")
    assert "stuck" not in blocks["keys"].plain
    for words in ("Tasks that wait for a person", "Work of which nothing was heard", "an answer"):
        assert words in blocks["tasks"].plain
    assert "still serving: 1" in blocks["demotions"].plain
    assert "Callers that went on after they were revoked: 1" in blocks["keys"].plain


def test_what_this_run_did_not_look_at_is_no_empty_table(bases: Path) -> None:
    with _session(built(bases, 9, {}), only=["BUS-C01"]) as session:
        blocks = _blocks(session)
    for name, block in blocks.items():
        assert "not part of this run" in block.plain, name
        assert "table" not in Page(block.html).names(), name


def test_a_part_of_a_section_can_be_missing(bases: Path) -> None:
    with _session(built(bases, 9, {}), only=["BUS-T14", "BUS-K04"]) as session:
        tasks, keys = session.tasks(), session.keys()
    assert "Tasks that wait for a person: 2" in tasks.plain or "Tasks that wait for a person: 1" in tasks.plain
    assert "Stuck work: not part of this run" in tasks.plain
    for what in ("Credentials", "Live wildcard keys", "Calls after revocation"):
        assert f"{what}: not part of this run" in keys.plain


def test_a_generation_without_such_tables_says_so_in_one_line(bases: Path) -> None:
    with _session(built(bases, 5, {})) as session:
        blocks = _blocks(session)
    for name in ("tasks", "approvals", "demotions"):
        assert blocks[name].plain.endswith("cannot be told, because busbar sqlite v5 has no rows to tell them from.")
        assert "table" not in Page(blocks[name].html).names()
    assert "busbar sqlite v5 has no tables for calls, tasks, task events, approvals" in blocks["write_path"].plain
    assert "Calls after revocation: cannot be told" in blocks["keys"].plain
    assert "Usage of the last windows" in blocks["usage"].plain


def test_an_empty_store_says_that_nothing_is_stored(bases: Path) -> None:
    with _session(built(bases, 12, {"odd": ("empty",)})) as session:
        blocks = _blocks(session)
    assert "The write path: cannot tell" in blocks["write_path"].plain
    said = {
        "tasks": "No task is stored.",
        "approvals": "No use of an approval is on record.",
        "demotions": "No demotion stands.",
        "keys": "No key is stored.",
        "usage": "No usage window is stored.",
    }
    for name, words in said.items():
        assert words in blocks[name].plain


def test_a_store_that_cannot_be_read_is_not_shown(tmp_path: Path) -> None:
    for make, words in ((damaged_store, "the file is damaged"), (newer_store, "is not known")):
        with _session(make(tmp_path / f"{make.__name__}.db")) as session:
            for name, block in _blocks(session).items():
                assert "this run cannot say" in block.plain, name
                assert words in block.plain, name
                assert "table" not in Page(block.html).names()


def test_hostile_names_are_text_and_no_secret_is_shown(busy: Path, tmp_path: Path) -> None:
    def edit(con: sqlite3.Connection) -> None:
        con.execute(
            "UPDATE tasks SET principal = ?, agent_id = ?, push_callback = 'https://x/s3cret'", (HOSTILE, HOSTILE)
        )
        con.execute("UPDATE OR IGNORE tasks SET task_id = ? WHERE task_id = (SELECT min(task_id) FROM tasks "
            "WHERE state = 'input-required')", (HOSTILE + "x" * 400,))  # fmt: skip
        con.execute("UPDATE mcp_demotions SET reason = ?", (HOSTILE,))
        con.execute("UPDATE keys SET key_group = ?, name = 'n4me'", (HOSTILE,))
        con.execute("UPDATE credentials SET secret = 'v1:plain:0pen-s3same', public_id = 'AKIA' || id")
        con.execute("UPDATE mcp_calls SET principal = ? WHERE principal = 'vk_bob'", (HOSTILE,))
        con.execute("UPDATE denylist SET sub = ? WHERE sub = 'vk_bob'", (HOSTILE,))
        con.execute("UPDATE usage_metering SET key_id = ? WHERE key_id = 'vk_bob'", (HOSTILE,))

    path = _edited(copied(busy, tmp_path / "s.db"), edit)
    with _session(path) as session:
        blocks = _blocks(session)
    for name in ("tasks", "demotions", "keys", "usage"):
        page = Page(blocks[name].html)
        assert page.loads() == []
        assert not {"script", "img"} & page.names()
        assert "<script>alert(1)</script>" in page.text, name
        assert "\u202e" not in blocks[name].html + blocks[name].plain
        assert "\x1b" not in blocks[name].html + blocks[name].plain
        assert "x" * 100 not in blocks[name].html + blocks[name].plain, "names are cut"
    everything = "".join(block.html + block.plain for block in blocks.values())
    for secret in ("0pen-s3same", "s3cret", "AKIA", 'tool_digest":', "nonce_", "n4me"):
        assert secret not in everything


def test_the_verdict_is_in_the_section_with_its_time(busy: Path, tmp_path: Path) -> None:
    path = _edited(copied(busy, tmp_path / "s.db"), f"DELETE FROM mcp_calls WHERE ts > {START + 3 * DAY}")
    with closing(sqlite3.connect(path)) as con:
        (last,) = con.execute("SELECT max(ts) FROM mcp_calls").fetchone()
    with _session(path) as session:
        block = session.write_path()
    assert f"The write path: stopped at {utc(last)}" in block.plain
    page = Page(block.html)
    assert f"stopped at {utc(last)}" in page.text
    assert page.names() >= {"svg", "table", "figure"}
    for part in PARTS:
        assert part in page.text


def test_the_axis_is_drawn_alike_each_time_and_takes_any_lane() -> None:
    lanes = [
        figures.Lane("calls", [0, DAY], DAY + 5, "stopped"),
        figures.Lane("tasks", [], None, "never kept anything"),
        figures.Lane("usage", [], None, "cannot tell"),
        figures.Lane("keys", [], -400 * DAY, ""),
        figures.Lane("task events", [2 * DAY], 2 * DAY + 7, "alive"),
    ]
    drawn = figures.last_writes(lanes, 0, DAY, 2 * DAY + 7, 2 * DAY + 9)
    assert drawn == figures.last_writes(lanes, 0, DAY, 2 * DAY + 7, 2 * DAY + 9)
    for words in ("never kept anything", "no dated record", "before: 1968", "audit"):
        assert words in drawn
    assert figures.last_writes([figures.Lane("calls", [], None, "")], 0, DAY, None, 5)
