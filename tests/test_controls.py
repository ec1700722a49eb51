"""Negative controls: stores that are odd and legal, and the exact codes that an audit of them raises, usually none."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from support_audit import AS_OF, built, copied, sql_extents, streamed_extents

from busbar_audit import checks
from busbar_audit.auditing import audit
from busbar_audit.findings import CheckResult, Outcome, at_least
from busbar_audit.store import Store, open_store
from busbar_audit.synth.bodies import dumps
from busbar_audit.synth.plan import ODD
from busbar_audit.synth.records import insert, load, reseal, save, unguarded

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
DAY = 86_400
START = AS_OF - 7 * DAY
TERMINAL = "('completed', 'failed', 'canceled', 'rejected')"
# Lists that every healthy store has: keys without a limit, people to be asked.
LISTS = frozenset({"K04", "T14"})

Edit = Callable[[sqlite3.Connection], None]


@dataclass(frozen=True)
class Control:
    """A legal store: how it is made, and what may be said of it.

    codes : exactly the codes at medium or above. below : exactly those under it, the lists left out.
    postgres : generation of the same store on PostgreSQL, where it is another one; test_postgres_faults has it there.
    """

    name: str
    generation: int
    edit: Edit | str | tuple[str, ...] = ()
    codes: str = ""
    below: str = ""
    exit_code: int = 0
    needs: Mapping[str, Any] = field(default_factory=dict)
    postgres: int | None = None

    def __str__(self) -> str:
        return f"{self.name}-v{self.generation}"

    @property
    def on_postgres(self) -> int | None:
        """Generation of the same store on PostgreSQL; None where there is none."""
        if self.needs.get("bodies") == "migrated":
            return None
        return self.postgres or {6: 6, 10: 10, 11: 11, 12: 11}.get(self.generation)

    def apply(self, c: sqlite3.Connection) -> None:
        """Do what the gateway, an operator or another engine would do; every guard stays on."""
        if callable(self.edit):
            self.edit(c)
            return
        for command in (self.edit,) if isinstance(self.edit, str) else self.edit:
            before = c.total_changes
            c.execute(command)
            assert c.total_changes > before, f"{self.name}: nothing changed"

    def require(self, store: Store) -> None:
        """An audit of the store says of it what may be said, and no more."""
        result = audit(store, as_of=AS_OF)
        found = [(f.code.removeprefix("BUS-"), f) for f in result.findings()]
        told = [(code, f.subject, f.place, f.detail) for code, f in found if code not in LISTS]
        grave = {code for code, f in found if at_least(f.severity, "medium")}
        assert grave == set(self.codes.split()), told
        assert {code for code, f in found if not at_least(f.severity, "medium")} - LISTS == set(self.below.split()), (
            told
        )
        assert [r.code for r in result.results if r.outcome is Outcome.COULD_NOT_RUN] == []
        assert result.exit_code == self.exit_code


def _ahead(c: sqlite3.Connection) -> None:
    """A crash between the write of the row and the write of its event."""
    (task,) = c.execute("SELECT min(task_id) FROM tasks WHERE state = 'working'").fetchone()
    c.execute("UPDATE tasks SET state = 'completed', updated_at = updated_at + 5 WHERE task_id = ?", (task,))


def _ahead_plane(c: sqlite3.Connection) -> None:
    sql = (
        "UPDATE plane_records SET disposition = 'terminal', ts = ts + 5, "
        "body = CAST(json_set(CAST(body AS TEXT), '$.state', 'failed', '$.updated_at', ts + 5) AS BLOB) WHERE kind = 'task' "
        "AND id = (SELECT min(id) FROM plane_records WHERE kind = 'task' AND CAST(body AS TEXT) LIKE '%\"working\"%')"
    )
    assert c.execute(sql).rowcount == 1


def _newer_state(c: sqlite3.Connection) -> None:
    """A newer engine knows a state more; its row is kept by every purge."""
    (task,) = c.execute("SELECT min(task_id) FROM tasks WHERE state = 'working'").fetchone()
    last = load(c, "task_events", task)[-1]
    more = replace(last, seq=last.seq + 1, ts=last.ts + 1, prev_hash=last.hash).edit(kind="task.paused", state="paused")
    insert(c, replace(more, hash=more.digest()))
    c.execute("UPDATE tasks SET state = 'paused', updated_at = ? WHERE task_id = ?", (more.ts, task))
    c.execute(f"DELETE FROM tasks WHERE updated_at < {AS_OF} AND state IN {TERMINAL}")


def _appended_again(c: sqlite3.Connection) -> None:
    before = c.execute("SELECT count(*) FROM mcp_calls").fetchone()
    c.execute("INSERT OR IGNORE INTO mcp_calls SELECT * FROM mcp_calls ORDER BY ts DESC LIMIT 20")
    assert c.execute("SELECT count(*) FROM mcp_calls").fetchone() == before


def _shuffled(c: sqlite3.Connection) -> None:
    """Rows lie in the file in another order than they were made, as after a copy row by row."""
    c.execute("CREATE TEMP TABLE held AS SELECT * FROM mcp_calls")
    c.execute("DELETE FROM mcp_calls")
    c.execute("INSERT INTO mcp_calls SELECT * FROM held ORDER BY hash")


def _one_second(c: sqlite3.Connection) -> None:
    """Two nodes write at once: many records carry the same second, digests and all."""
    with unguarded(c):
        for (principal,) in c.execute("SELECT DISTINCT principal FROM mcp_calls").fetchall():
            for record in load(c, "mcp_calls", principal):
                save(c, replace(record, ts=record.ts // 21_600 * 21_600))
            reseal(c, "mcp_calls", principal, 1)


def _servers_configured(c: sqlite3.Connection) -> None:
    """Servers were set up and never called."""
    with unguarded(c):
        for record in load(c, "audit_log", "audit_log")[:5]:
            save(c, record.edit(action="mcp.server.register", resource="mcp:github"))
        reseal(c, "audit_log", "audit_log", 1)


def _month(c: sqlite3.Connection) -> None:
    """One window over the whole time, and metering by the day."""
    c.execute("CREATE TEMP TABLE held AS SELECT * FROM usage_windows WHERE bucket_id = 'vk_alice'")
    c.execute("DELETE FROM usage_windows WHERE bucket_id = 'vk_alice'")
    columns = ", ".join(f"sum({n})" for n in ("requests", "billable_requests", *_TOKENS))
    c.execute(
        f"INSERT INTO usage_windows SELECT min(window_start), bucket_id, model, {columns} FROM held GROUP BY 2, 3"
    )
    c.execute("INSERT INTO usage_windows VALUES (?, 'vk_alice', '', 1, 1, 0, 0, 0, 0)", (AS_OF // DAY * DAY + DAY,))
    c.execute(
        "INSERT INTO usage_metering SELECT ?, key_id, provider, model, key_group_at_use, pricing_version, 1, 1, 0, 0, 0, 0 "
        "FROM usage_metering WHERE key_id = 'vk_alice' LIMIT 1",
        (str(AS_OF // DAY * DAY + DAY),),
    )


_TOKENS = ("tokens_input", "tokens_output", "tokens_cache_read", "tokens_cache_write")
_OLD_PLANE = f"SELECT id FROM plane_records WHERE kind = 'task' AND disposition = 'terminal' AND ts < {START + 4 * DAY}"
_FIRST_BUCKETS = "SELECT DISTINCT bucket FROM usage_metering ORDER BY 1 LIMIT 1 OFFSET 2"
_BOB = "WHERE id = 'vk_bob'"

_ODD_ON_POSTGRES = {"purged_head": 10, "audit_gap": 6, "clock_back_small": 11, "pipes": 6, "many_principals": 10,
                    "big_body": 10, "retry": 10, "silent_principal": 11, "empty": 10}  # fmt: skip
_ODD = {
    "purged_head": (9, {}, ""),
    "audit_gap": (9, {}, ""),
    "clock_back_small": (8, {}, ""),
    "unicode": (12, {"bodies": "neutral"}, ""),
    "pipes": (9, {}, ""),
    "many_principals": (7, {}, ""),
    "big_body": (9, {}, ""),
    "retry": (8, {}, "M07"),
    "empty_texts": (10, {}, ""),
    "u64_pin": (10, {"bodies": "neutral"}, ""),
    "u64_money": (12, {}, ""),
    "silent_principal": (8, {}, ""),
    "audit_copy": (11, {"bodies": "migrated"}, "C20"),
    "fresh": (10, {"bodies": "neutral"}, ""),
    "empty": (9, {}, ""),
}


def _odd(name: str) -> Control:
    generation, options, below = _ODD[name]
    codes = " ".join(code.removeprefix("BUS-") for code in ODD[name][1])
    ends = 3 if name == "empty" else 1 if codes else 0
    needs = {**options, "odd": (name,)}
    return Control(f"odd_{name}", generation, (), codes, below, ends, needs, postgres=_ODD_ON_POSTGRES.get(name))


CONTROLS: tuple[Control, ...] = (
    *(_odd(name) for name in ODD),
    Control("empty_new", 12, needs={"odd": ("empty",)}, exit_code=3),
    Control("migrated", 10, below="C20", needs={"bodies": "migrated"}),
    Control("before_billing", 5),
    # retention
    Control("tasks_purged", 8, f"DELETE FROM tasks WHERE state IN {TERMINAL} AND updated_at < {START + 4 * DAY}"),
    Control(
        "plane_tasks_purged",
        11,
        (
            f"DELETE FROM plane_records WHERE kind = 'task_event' AND parent IN ({_OLD_PLANE})",
            f"DELETE FROM plane_records WHERE kind = 'task' AND id IN ({_OLD_PLANE})",
        ),
    ),
    Control("calls_purged", 7, f"DELETE FROM mcp_calls WHERE ts < {START + 2 * DAY}", "C04", exit_code=1),
    Control(
        "plane_calls_purged",
        12,
        f"DELETE FROM plane_records WHERE kind = 'call' AND ts < {START + 2 * DAY}",
        "C04",
        exit_code=1,
    ),
    Control("all_calls_purged", 9, "DELETE FROM mcp_calls"),
    Control("plane_all_calls_purged", 10, "DELETE FROM plane_records WHERE kind = 'call'"),
    Control("windows_purged", 9, f"DELETE FROM usage_windows WHERE window_start < {START + 3 * DAY}", postgres=6),
    Control("metering_purged", 9, f"DELETE FROM usage_metering WHERE bucket = ({_FIRST_BUCKETS})", postgres=6),
    # writing
    Control("appended_again", 9, _appended_again),
    Control("crash_ahead", 8, _ahead, "T03", exit_code=1),
    Control("plane_crash_ahead", 12, _ahead_plane, "T03", exit_code=1),
    Control("newer_state", 9, _newer_state, "T07", exit_code=1),
    Control("rows_shuffled", 7, _shuffled),
    Control("many_in_a_second", 9, _one_second),
    Control("no_tasks", 9, needs={"tasks": 0}, postgres=10),
    Control("no_calls", 8, needs={"calls": 0}, postgres=11),
    Control("no_audits", 9, needs={"audits": 0}, postgres=10),
    Control("servers_never_called", 9, _servers_configured, below="D01", needs={"calls": 0}),
    Control("tools_tried_once", 9, f"DELETE FROM mcp_calls WHERE ts > {START + DAY}"),
    Control("plane_tools_tried_once", 11, f"DELETE FROM plane_records WHERE kind = 'call' AND ts > {START + DAY}"),
    # approvals and demotions
    Control("demotion_cleared", 9, "DELETE FROM mcp_demotions"),
    Control("plane_demotion_cleared", 10, "DELETE FROM plane_records WHERE kind = 'demotion'"),
    Control("approvals_expired", 9, f"UPDATE spent_ask_states SET expires_at = {START + 1000}"),
    Control("tokens_expired", 11, f"UPDATE plane_tokens SET expires_at = {START + 1000}"),
    Control("asked_never_granted", 9, "DELETE FROM spent_ask_states"),
    Control("plane_asked_never_granted", 10, "DELETE FROM plane_tokens"),
    Control("tokens_of_late_engine", 12, "UPDATE plane_tokens SET kind = 'ask'"),
    # keys
    Control(
        "tombstone_with_metering",
        9,
        (
            f"UPDATE keys SET enabled = 0, deleted_at = {AS_OF}, name = '', labels = '{{}}' {_BOB}",
            "UPDATE credentials SET revoked_at = updated_at WHERE key_id = 'vk_alice'",
        ),
        postgres=11,
    ),
    Control("key_expired", 8, f"UPDATE keys SET expires_at = {START} {_BOB}", below="K07", postgres=6),
    Control("key_disabled", 6, f"UPDATE keys SET enabled = 0 {_BOB}"),
    Control(
        "grants_spelled_out", 12, 'UPDATE keys SET scope_grants = \'{ "agent" : ["a\\"b", "c"], "x": [] }\' ' + _BOB
    ),
    Control("grants_of_nothing", 10, "UPDATE keys SET scope_grants = '{}' " + _BOB),
    # usage
    Control("all_refunded", 9, "UPDATE usage_metering SET billable_requests = 0", postgres=11),
    Control("one_window_a_month", 9, _month, postgres=6),
    Control("windows_at_noon", 9, "UPDATE usage_windows SET window_start = window_start + 43200", postgres=6),
    Control("rate_card", 12, "UPDATE usage_metering SET priced_from_ms = 1 WHERE key_id = 'vk_bob'", below="U10"),
    Control("cap_lowered", 11, "UPDATE money_caps SET cap = 1", below="U12"),
    # callbacks
    Control(
        "callback_inside",
        9,
        "UPDATE tasks SET push_callback = 'http://hooks.internal/x' WHERE push_callback <> ''",
        below="T19",
    ),
    Control(
        "plane_callback_inside",
        12,
        "UPDATE plane_records SET body = CAST(json_set(CAST(body AS TEXT), '$.push_callback', 'http://hooks.internal/x') "
        "AS BLOB) WHERE kind = 'task'",
        below="T19",
    ),
)


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


def _plain(control: Control) -> bool:
    """Whether nothing at all may be said of it, so that several of them may be in one store."""
    return not (control.codes or control.below or control.needs or control.exit_code)


def _together() -> list[tuple[Control, ...]]:
    """Controls of which nothing may be said, as many to a store as go together; the others, and with FULL all, one by one."""
    if FULL:
        return [(control,) for control in CONTROLS]
    stores: dict[tuple[int, bool], list[Control]] = {}
    for control in CONTROLS:
        if _plain(control):
            # What empties a table leaves nothing to others: those are by themselves.
            alone = control.name.startswith(("all_", "plane_all_", "tools_", "plane_tools_"))
            stores.setdefault((control.generation, alone), []).append(control)
    apart = [[(each,) for each in found] if alone else [tuple(found)] for (_, alone), found in stores.items()]
    return [*(each for found in apart for each in found), *((c,) for c in CONTROLS if not _plain(c))]


@pytest.mark.parametrize("controls", _together(), ids=lambda controls: "+".join(map(str, controls)))
def test_a_legal_store_is_judged_as_such(controls: tuple[Control, ...], bases: Path, tmp_path: Path) -> None:
    first = controls[0]
    path = copied(built(bases, first.generation, first.needs), tmp_path / "store.db")
    with closing(sqlite3.connect(path)) as con:
        for control in controls:
            control.apply(con)
        con.commit()
    with open_store(path) as store:
        first.require(store)
        assert sql_extents(store) == streamed_extents(store.snapshot.path)


def test_every_control_is_in_a_store() -> None:
    assert sorted(str(control) for controls in _together() for control in controls) == sorted(map(str, CONTROLS))


def test_there_is_a_control_for_every_legal_oddity() -> None:
    assert set(_ODD) == set(ODD)


def test_one_step_ahead_is_medium_and_an_edit_is_high(bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, 8, {}), tmp_path / "store.db")
    with closing(sqlite3.connect(path)) as con:
        _ahead(con)
        con.execute(
            "UPDATE tasks SET state = 'working' WHERE task_id = (SELECT min(task_id) FROM tasks WHERE state = 'failed')"
        )
        con.commit()
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=["BUS-T03"])
        (check,) = result.results
    assert check.counts == {"high": 1, "medium": 1}
    assert [f.detail.startswith("crash-ahead") for f in check.samples if f.severity == "medium"] == [True]


def test_a_callback_is_shown_without_its_secrets(bases: Path, tmp_path: Path) -> None:
    url = "http://ops:hunter2@10.0.0.7:8080/hook/s3cret?token=t0ken#frag"
    path = copied(built(bases, 9, {}), tmp_path / "store.db")
    with closing(sqlite3.connect(path)) as con:
        con.execute("UPDATE tasks SET push_callback = ? WHERE push_callback <> ''", (url,))
        con.execute("UPDATE credentials SET secret = 'v1:plain:0pen-s3same'")
        con.commit()
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, only=["BUS-T19", "BUS-K08"])
        text = dumps([r.as_dict() for r in result.results if r.findings])
        places = {f.place for r in result.results for f in r.samples if r.code == "BUS-T19"}
    assert places == {"http://10.0.0.7"}
    for secret in ("hunter2", "s3cret", "t0ken", "frag", "0pen-s3same"):
        assert secret not in text


_HUGE_TASK = dumps(
    {
        **dict.fromkeys(("task_id", "context_id", "principal", "direction", "agent_id", "push_callback"), "x"),
        "state": "working",
        **dict.fromkeys(("artifact_cursor", "created_at", "updated_at"), -(10**24)),
    }
)


@pytest.mark.parametrize("generation", [5, 9, 12])
@pytest.mark.parametrize(
    ("number", "text"),
    [(-(2**63), ""), (2**63 - 1, '{"a":1e999}'), (-(2**63), "\u202e|' --\x1b[2J://@"), (2**63 - 1, _HUGE_TASK)],
    ids=["lowest", "highest", "controls", "task"],
)
def test_no_value_stops_a_check(generation: int, number: int, text: str, bases: Path, tmp_path: Path) -> None:
    """Every number and text that no constraint holds is another one; the guards are off, as they are for an intruder."""
    path = copied(built(bases, generation, {}), tmp_path / "store.db")
    with closing(sqlite3.connect(path)) as con, unguarded(con):
        tables = con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        for (table,) in tables:
            for _, column, kind, _, _, key in con.execute(f"PRAGMA table_info({table})").fetchall():
                if (key and column not in ("bucket", "window_start")) or column == "kind":
                    continue
                value = {"INTEGER": number, "TEXT": text, "BLOB": text.encode()}[kind]
                # Where the schema itself calls a JSON function, SQLite refuses what is none.
                with suppress(sqlite3.OperationalError):
                    con.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        con.commit()
    with open_store(path) as store:
        result = audit(
            store, as_of=AS_OF, only=["tasks", "approvals", "keys", "usage", "durability", "BUS-C14", "BUS-C15"]
        )
        assert [(r.code, r.reason) for r in result.results if r.outcome is Outcome.COULD_NOT_RUN] == []
        assert result.exit_code == 1


# ---- checks that need what only the operator knows -----------------------------------------------------------------


def _asked(path: Path, code: str, **values: Any) -> CheckResult:
    with open_store(path) as store:
        return asked(store, code, **values)


def asked(store: Store, code: str, **values: Any) -> CheckResult:
    """Run one check with the inputs given beside the store."""
    (check,) = (c for c in checks.catalogue() if c.code == f"BUS-{code}")
    for relation in check.relations():
        store.load(*store.views.tables_of(relation) & set(store.rows))
    (before,) = audit(store, as_of=AS_OF, only=[check.code]).results
    assert before.outcome is Outcome.NOT_APPLICABLE
    assert before.reason.startswith("needs")
    return checks.run(check, store, store.views, {"as_of": AS_OF, **values})


def test_a_cutoff_shows_what_retention_left(bases: Path) -> None:
    path = built(bases, 9, {})
    with closing(sqlite3.connect(path)) as con:
        sql = f"SELECT count(*) FROM tasks WHERE state IN {TERMINAL} AND updated_at < ?"
        (left,) = con.execute(sql, (START + 2 * DAY,)).fetchone()
    found = _asked(path, "T15", cutoff=START + 2 * DAY)
    assert sum(f.records for f in found.samples) == left > 0
    assert found.severity == "low"
    assert _asked(path, "T15", cutoff=START).outcome is Outcome.PASS


@pytest.mark.parametrize("generation", [9, 12])
def test_a_purge_that_did_not_run_and_a_receipt_that_is_not_so(generation: int, bases: Path) -> None:
    path = built(bases, generation, {})
    late, early = START + 2 * DAY, START - DAY
    with open_store(path) as store:
        calls = sum(int(ts) < late for (ts,) in store.view("calls").project("ts").fetchall())
        tasks = sum(
            kind == "terminal" and int(ts) < late
            for kind, ts in store.view("tasks").project("class, updated_at").fetchall()
        )
    assert min(calls, tasks) > 0
    found = _asked(path, "M12", calls_cutoff=late)
    assert ([f.records for f in found.samples], found.severity) == ([calls], "low")
    assert _asked(path, "M12", calls_cutoff=early).outcome is Outcome.PASS
    for given, counts in (
        ({"receipt_calls": late}, [calls]),
        ({"receipt_tasks": late}, [tasks]),
        ({"receipt_calls": late, "receipt_tasks": late}, [calls, tasks]),
        ({"receipt_calls": early, "receipt_tasks": early}, []),
    ):
        found = _asked(path, "C25", receipts=True, **given)
        assert sorted(f.records for f in found.samples) == sorted(counts)
        assert found.outcome is (Outcome.FINDING if counts else Outcome.PASS)


def test_servers_among_the_pools_of_a_key(bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, 9, {}), tmp_path / "store.db")
    given = {"pools": ["fast", "slow"], "servers": ["github", "jira"]}
    assert _asked(path, "K05", **given).outcome is Outcome.PASS
    with closing(sqlite3.connect(path)) as con:
        con.execute('UPDATE keys SET allowed_pools = \'["fast","github","jira_read","other"]\' ' + _BOB)
        con.commit()
    found = _asked(path, "K05", **given)
    assert [(f.place, f.records, f.detail) for f in found.samples] == [
        ("vk_bob", 2, "no pools, but servers or tools: github, jira_read")
    ]
    assert _asked(path, "K05", pools=["fast", "slow", "github", "jira_read"], servers=["github", "jira"]).findings == 0


@pytest.mark.parametrize("generation", [9, 12])
def test_an_old_demotion_of_a_server_that_is_gone(generation: int, bases: Path, tmp_path: Path) -> None:
    path = copied(built(bases, generation, {}), tmp_path / "store.db")
    assert _asked(path, "A05", servers=["github"]).outcome is Outcome.PASS, "a fresh demotion"
    with closing(sqlite3.connect(path)) as con:
        old = AS_OF - 60 * DAY
        con.execute(
            f"UPDATE mcp_demotions SET recorded_at = {old}"
            if generation == 9
            else f"UPDATE plane_records SET ts = {old} WHERE kind = 'demotion'"
        )
        con.commit()
    assert [f.place for f in _asked(path, "A05", servers=["github"]).samples] == ["sandbox"]
    assert _asked(path, "A05", servers=["github", "sandbox"]).outcome is Outcome.PASS
