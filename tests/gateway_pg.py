"""A small gateway on PostgreSQL (generation 10): writes records, is restarted with its server, purges. Told how to be faulty.

python gateway_pg.py honest|forgetful|unlogged|greedy write|restart|purge

Where its store is it learns from BUSBAR_AUDIT_TARGET and BUSBAR_AUDIT_SCHEMA, as the commands of a restart proof do.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

import psycopg
from psycopg import sql

from busbar_audit.chains import recipes
from busbar_audit.synth.bodies import AUDIT_MEMBERS, CALL_MEMBERS, EVENT_MEMBERS, TASK_MEMBERS, encode, members

NOW = 1_700_700_000


class Gateway:
    """One connection; every verb is one transaction, as the product's are."""

    def __init__(self, con: psycopg.Connection, schema: str) -> None:
        self.con = con
        con.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))

    def head(self, kind: str, parent: str) -> tuple[int, str]:
        row = self.con.execute(
            "SELECT seq, body FROM plane_chain WHERE kind = %s AND parent = %s ORDER BY seq DESC LIMIT 1",
            (kind, parent),
        ).fetchone()
        return (row[0] + 1, str(members(row[1])["hash"])) if row else (1, "")

    def append(self, kind: str, parent: str, seq: int, ts: int, body: bytes) -> None:
        self.con.execute(
            "INSERT INTO plane_chain (kind, parent, seq, id, ts, disposition, body) VALUES (%s, %s, %s, %s, %s, 'active', %s)",
            (kind, parent, seq, parent, ts, body),
        )

    def call(self, principal: str) -> None:
        seq, before = self.head("call", principal)
        told = ("srv", "srv_do", "dispatched", "", "sha256:d", 1)
        digest = recipes.call(before, principal, seq, NOW + seq, *told)
        body = encode(CALL_MEMBERS, (principal, seq, NOW + seq, *told, f"r{seq}", before, digest))
        self.append("call", principal, seq, NOW + seq, body)

    def entry(self) -> None:
        seq, before = self.head("audit", "admin")
        fields = ("hook.register", "hook:x", "applied", "admin")
        digest = recipes.admin_audit(before, seq, NOW + seq, *fields)
        self.append("audit", "admin", seq, NOW + seq, encode(AUDIT_MEMBERS, (seq, NOW + seq, *fields, before, digest)))

    def task(self, name: str, states: tuple[str, ...]) -> None:
        kinds = {"submitted": "task.submitted", "working": "task.working", "completed": "task.terminal"}
        for seq, state in enumerate(states, start=1):
            _, before = self.head("task_event", name)
            fields = (kinds[state], "ctx", "vk_alice", "agent", state)
            digest = recipes.event_v1(before, name, seq, NOW + seq - 1, *fields)
            body = encode(EVENT_MEMBERS, (name, seq, NOW + seq - 1, *fields, "", before, digest))
            self.append("task_event", name, seq, NOW + seq - 1, body)
        row = (name, "ctx", "vk_alice", "inbound", states[-1], "agent", 0, "", NOW, NOW + len(states) - 1)
        self.con.execute(
            "INSERT INTO plane_records (kind, id, seq, ts, disposition, body) VALUES ('task', %s, 0, %s, %s, %s)",
            (name, row[-1], "terminal" if states[-1] == "completed" else "active", encode(TASK_MEMBERS, row)),
        )

    def write(self) -> None:
        for _ in range(3):
            self.call("vk_alice")
            self.entry()
        self.task(f"task-done-{os.getpid()}", ("submitted", "working", "completed"))
        self.task(f"task-live-{os.getpid()}", ("submitted", "working"))

    def purge(self, greedy: bool) -> None:
        rule = "kind = 'task'" if greedy else "kind = 'task' AND disposition = 'terminal'"
        gone = f"SELECT id FROM plane_records WHERE {rule} AND ts < {NOW + 1000}"
        self.con.execute(f"DELETE FROM plane_chain WHERE kind = 'task_event' AND parent IN ({gone})".encode())
        self.con.execute(f"DELETE FROM plane_records WHERE {rule} AND ts < {NOW + 1000}".encode())


def crash(dsn: str) -> None:
    """Kill one process of the server, as the kernel does when memory ends: the server starts anew from its log."""
    with suppress(psycopg.OperationalError), psycopg.connect(dsn) as con:
        os.kill(con.info.backend_pid, signal.SIGKILL)
        con.execute("SELECT 1")
    for _ in range(200):
        with suppress(psycopg.OperationalError), psycopg.connect(dsn) as con:
            con.execute("SELECT 1")
            return
        time.sleep(0.05)
    raise SystemExit("the server did not come back")


def main(kind: str, verb: str) -> None:
    dsn, schema = os.environ["BUSBAR_AUDIT_TARGET"], os.environ["BUSBAR_AUDIT_SCHEMA"]
    if verb == "restart":
        crash(dsn)
        return
    with psycopg.connect(dsn) as con:
        gateway = Gateway(con, schema)
        if verb == "write":
            gateway.write()
            if kind == "forgetful":
                # Every write was answered well, and none was committed.
                con.rollback()
        else:
            gateway.purge(kind == "greedy")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
