"""A small gateway for the restart proof: writes records, is restarted, purges. Told how to be faulty by its second word.

python gateway.py STORE honest|forgetful|wal-loser|greedy write|restart|purge
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

from busbar_audit.chains import recipes
from busbar_audit.stores import busbar_shapes

NOW = 1_700_700_000


def opened(path: Path) -> sqlite3.Connection:
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA wal_autocheckpoint = 0")
    if not con.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        busbar_shapes.create(con, 9)
    return con


def head(con: sqlite3.Connection, sql: str, *values: object) -> tuple[int, str]:
    row = con.execute(sql, values).fetchone()
    return (row[0] + 1, row[1]) if row else (1, "")


def call(con: sqlite3.Connection, principal: str) -> None:
    seq, before = head(con, "SELECT seq, hash FROM mcp_calls WHERE principal = ? ORDER BY seq DESC LIMIT 1", principal)
    told = {"server": "srv", "tool": "srv_do", "outcome": "dispatched", "reason": "", "tool_digest": "sha256:d"}
    digest = recipes.call(before, principal, seq, NOW + seq, *told.values(), 1)
    body = json.dumps({**told, "pin_generation": 1, "request_id": f"r{seq}"}, sort_keys=True, separators=(",", ":"))
    con.execute(
        "INSERT INTO mcp_calls (principal, seq, ts, prev_hash, hash, body) VALUES (?, ?, ?, ?, ?, ?)",
        (principal, seq, NOW + seq, before, digest, body),
    )


def entry(con: sqlite3.Connection) -> None:
    seq, before = head(con, "SELECT seq, hash FROM audit_log ORDER BY seq DESC LIMIT 1")
    fields = ("hook.register", "hook:x", "applied", "admin")
    digest = recipes.admin_audit(before, seq, NOW + seq, *fields)
    con.execute("INSERT INTO audit_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (seq, NOW + seq, *fields, before, digest))


def task(con: sqlite3.Connection, name: str, states: tuple[str, ...]) -> None:
    before = ""
    kinds = {"submitted": "task.submitted", "working": "task.working", "completed": "task.terminal"}
    con.execute(
        "INSERT INTO tasks VALUES (?, 'ctx', 'vk_alice', 'inbound', ?, 'agent', 0, '', ?, ?)",
        (name, states[-1], NOW, NOW + len(states) - 1),
    )
    for seq, state in enumerate(states, start=1):
        fields = (kinds.get(state, "task.interrupted"), "ctx", "vk_alice", "agent", state)
        digest = recipes.event_v1(before, name, seq, NOW + seq - 1, *fields)
        con.execute(
            "INSERT INTO task_events (task_id, seq, ts, kind, context_id, principal, agent_id, state, request_id, "
            "prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?)",
            (name, seq, NOW + seq - 1, *fields, before, digest),
        )
        before = digest


def main(path: Path, kind: str, verb: str) -> None:
    if verb == "write":
        # The forgetful one was started in another directory, and its path is a relative one.
        where = Path(tempfile.mkdtemp()) / path.name if kind == "forgetful" else path
        con = opened(where)
        for _ in range(3):
            call(con, "vk_alice")
            entry(con)
        task(con, f"task-done-{os.getpid()}", ("submitted", "working", "completed"))
        task(con, f"task-live-{os.getpid()}", ("submitted", "working"))
        # It dies without closing, so that the records are in the WAL only, as those of a running gateway are.
        os._exit(0)
    if verb == "restart":
        if kind == "wal-loser":
            Path(f"{path}-wal").unlink()
            Path(f"{path}-shm").unlink()
        opened(path).close()
    if verb == "purge":
        con = opened(path)
        rule = "1" if kind == "greedy" else "state IN ('completed', 'failed', 'canceled', 'rejected')"
        con.execute(f"DELETE FROM tasks WHERE updated_at < {NOW + 1000} AND {rule}")
        con.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
