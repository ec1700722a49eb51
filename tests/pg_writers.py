"""Four writers on one PostgreSQL store, as a process of their own: every transaction keeps every invariant of the store.

python pg_writers.py DSN      until its standard input is closed; then prints the number of transactions committed

One transaction of a writer: a call, an event of its task and the task's row, its usage on both sides, a key and the
store's revision.
"""

from __future__ import annotations

import sys
import threading
import time

import psycopg
from support_audit import AS_OF

from busbar_audit.chains import recipes
from busbar_audit.synth.bodies import CALL_MEMBERS, EVENT_MEMBERS, TASK_MEMBERS, encode

WRITERS = 4
BEGAN = AS_OF - 40_000
PAUSE = 0.05
_STATES = {
    1: ("task.submitted", "submitted"),
    2: ("task.working", "working"),
    3: ("task.interrupted", "input-required"),
}
_APPEND = (
    "INSERT INTO plane_chain (kind, parent, seq, id, ts, disposition, body) VALUES (%s, %s, %s, %s, %s, 'active', %s)"
)


def step(con: psycopg.Connection, name: str, seq: int, heads: tuple[str, str]) -> tuple[str, str]:
    """One transaction; gives the new heads of the two chains."""
    ts, task = BEGAN + seq, f"task-{name}"
    told = ("srv", "srv_do", "dispatched", "", "sha256:d", 1)
    call = recipes.call(heads[0], name, seq, ts, *told)
    resumed = ("task.resumed", "working")
    kind, state = _STATES[seq] if seq <= 3 else (resumed if seq % 2 == 0 else _STATES[3])
    fields = (kind, "ctx", name, "agent", state)
    event = recipes.event_v1(heads[1], task, seq, ts, *fields)
    row = (task, "ctx", name, "inbound", state, "agent", 0, "", BEGAN + 1, ts)
    with con.transaction():
        con.execute(
            _APPEND,
            ("call", name, seq, name, ts, encode(CALL_MEMBERS, (name, seq, ts, *told, f"r{seq}", heads[0], call))),
        )
        body = encode(EVENT_MEMBERS, (task, seq, ts, *fields, f"r{seq}", heads[1], event))
        con.execute(_APPEND, ("task_event", task, seq, task, ts, body))
        con.execute(
            "INSERT INTO plane_records (kind, id, seq, ts, disposition, body) VALUES ('task', %s, 0, %s, 'active', %s) "
            "ON CONFLICT (kind, id) DO UPDATE SET ts = EXCLUDED.ts, body = EXCLUDED.body",
            (task, ts, encode(TASK_MEMBERS, row)),
        )
        con.execute(
            "INSERT INTO usage_windows VALUES (%s, %s, 1, 1) ON CONFLICT (bucket_id, window_start) DO UPDATE SET "
            "requests = usage_windows.requests + 1, billable_requests = usage_windows.billable_requests + 1",
            (name, BEGAN // 86_400 * 86_400),
        )
        con.execute(
            "INSERT INTO usage_ledger (bucket_id, window_start, model, tokens_input) VALUES (%s, %s, 'm', 7) "
            "ON CONFLICT (bucket_id, window_start, model) DO UPDATE SET tokens_input = usage_ledger.tokens_input + 7",
            (name, BEGAN // 86_400 * 86_400),
        )
        # Last, because all writers wait for each other here.
        con.execute("UPDATE store_revision SET revision = revision + 1")
        con.execute(
            "INSERT INTO keys (id, generation_hash, name, allowed_pools, created_at, revision) "
            "SELECT %s, 'h', '', '[]', %s, revision FROM store_revision "
            "ON CONFLICT (id) DO UPDATE SET revision = EXCLUDED.revision",
            (name, BEGAN),
        )
    return call, event


def main(dsn: str) -> None:
    stop, done = threading.Event(), [0] * WRITERS

    def write(number: int) -> None:
        heads = ("", "")
        with psycopg.connect(dsn, autocommit=True) as con:
            con.execute("SET search_path TO busbar")
            while not stop.is_set():
                done[number] += 1
                heads = step(con, f"writer-{number}", done[number], heads)
                time.sleep(PAUSE)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    print(sum(done))


if __name__ == "__main__":
    main(sys.argv[1])
