"""Thirty daily runs over a living store: traffic, purges by the policy's ages, one incident; its run alone has findings."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import gateway
import pytest

from busbar_audit.auditing import audit
from busbar_audit.chains import recipes
from busbar_audit.policy import Policy, read_policy
from busbar_audit.queries import SEVERITIES
from busbar_audit.store import open_store
from busbar_audit.stores import busbar_shapes
from busbar_audit.synth import records
from busbar_audit.witnessing import open_witness

DAYS, INCIDENT, DAY = 30, 19, 86_400
# A run costs half a second. The store lives through every day in any case; without the variable, every fourth day is audited.
FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
AUDITED = [day for day in range(DAYS) if FULL or day % 4 == 0 or abs(day - INCIDENT) < 2]
FIRST = 1_700_000_000
PRINCIPALS = ("vk_alice", "vk_bob")
POLICY = '[retention]\ntasks = "7d"\ncalls = "5d"\n'


def traffic(con: sqlite3.Connection, day: int) -> None:
    """A day's records; every third day a task is left unfinished, and ends the day after."""
    for principal in PRINCIPALS:
        # One of them is silent on most days.
        if principal == "vk_alice" or day % 3 == 0:
            gateway.call(con, principal)
            gateway.call(con, principal)
    gateway.entry(con)
    gateway.task(con, f"task-{day}", ("submitted", "working", "completed"))
    if day % 3 == 0:
        gateway.task(con, f"task-live-{day}", ("submitted", "working"))
    if day % 3 == 1:
        ended(con, f"task-live-{day - 1}")


def ended(con: sqlite3.Connection, task: str) -> None:
    seq, before = gateway.head(con, "SELECT seq, hash FROM task_events WHERE task_id = ? ORDER BY seq DESC", task)
    fields = ("task.terminal", "ctx", "vk_alice", "agent", "completed")
    digest = recipes.event_v1(before, task, seq, gateway.NOW, *fields)
    con.execute(
        "INSERT INTO task_events (task_id, seq, ts, kind, context_id, principal, agent_id, state, request_id, "
        "prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?)",
        (task, seq, gateway.NOW, *fields, before, digest),
    )
    con.execute("UPDATE tasks SET state = 'completed', updated_at = ? WHERE task_id = ?", (gateway.NOW, task))


def purge(con: sqlite3.Connection, policy: Policy) -> int:
    """What the gateway's purge by age takes; the number of rows of both tables."""
    cutoffs = policy.cutoffs_at(gateway.NOW)
    calls = con.execute("DELETE FROM mcp_calls WHERE ts < ?", (cutoffs["calls"],)).rowcount
    # Its events go with a task, by a trigger of the store.
    tasks = con.execute(
        "DELETE FROM tasks WHERE updated_at < ? AND state IN ('completed', 'failed', 'canceled', 'rejected')",
        (cutoffs["tasks"],),
    ).rowcount
    return calls + tasks


def rewritten(con: sqlite3.Connection) -> None:
    """The whole admin log written anew with another outcome, every digest reckoned again: the store is sound in itself."""
    before = ""
    for seq, ts in con.execute("SELECT seq, ts FROM audit_log ORDER BY seq").fetchall():
        fields = ("hook.register", "hook:x", "rejected", "admin")
        digest = recipes.admin_audit(before, seq, ts, *fields)
        con.execute("DELETE FROM audit_log WHERE seq = ?", (seq,))
        con.execute("INSERT INTO audit_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (seq, ts, *fields, before, digest))
        before = digest


def test_the_run_of_the_incident_and_only_it_has_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = tmp_path / "store.db", tmp_path / "witnesses"
    (tmp_path / "policy.toml").write_text(POLICY)
    policy = read_policy(tmp_path / "policy.toml")
    found, purged = {}, {}
    for day in range(DAYS):
        monkeypatch.setattr(gateway, "NOW", FIRST + day * DAY)
        with closing(sqlite3.connect(store, isolation_level=None)) as con:
            if not day:
                busbar_shapes.create(con, 9)
            con.execute("BEGIN")
            traffic(con, day)
            if day >= 7 and day % 2 == 0:
                purged[day] = purge(con, policy)
            con.execute("COMMIT")
            if day == INCIDENT:
                backup = store.read_bytes()
                con.execute("BEGIN")
                with records.unguarded(con):
                    rewritten(con)
                con.execute("COMMIT")
        if day not in AUDITED:
            continue
        clock = gateway.NOW + 3600
        with open_store(store) as opened, closing(open_witness(folder, opened)) as witness:
            result = audit(opened, as_of=clock, policy=policy, witness=witness)
            said = {(f.code, f.severity, f.subject) for f in result.findings()}
            found[day] = (
                str(result.verdict),
                {each for each in said if SEVERITIES.index(each[1]) <= SEVERITIES.index("medium")},
            )
            result.advance()
            # What it proves of other chains moves on; the line of the rewritten one stays as it was.
            if day == INCIDENT:
                store.write_bytes(backup)
    assert list(found) == AUDITED
    assert {day for day, (verdict, _) in found.items() if verdict == "findings"} == {INCIDENT}
    assert {verdict for verdict, _ in found.values()} == {"clean", "findings"}
    assert found[INCIDENT][1] == {("BUS-C12", "critical", "audit_log")}
    # Every purge had something to take: of days on which nothing can go wrong, nothing would be shown.
    assert all(purged.values())
    assert len(purged) > 8
