"""A file of SQL run on a copy: time and locks of each statement, cut between statements, stopped by a reader."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from busbar_audit.rehearsal.a2a_state import Con
from busbar_audit.rehearsal.pg_copy import ended
from busbar_audit.rehearsal.script import first_word
from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS

Connect = Callable[[], Con]
# From the weakest on, so that the strongest is the last.
_MODES = (
    "AccessShareLock", "RowShareLock", "RowExclusiveLock", "ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock",
    "ExclusiveLock", "AccessExclusiveLock",
)  # fmt: skip
_LOCKS = """
SELECT c.relname, l.mode FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE l.pid = %s AND l.granted AND n.nspname = %s AND c.relname = ANY (%s)
"""


@dataclass(frozen=True)
class Step:
    """number : from 1. word : first word of the statement. locks : strongest on each of the tables after it."""

    number: int
    word: str
    seconds: float
    locks: dict[str, str]


@dataclass
class Applied:
    """How a file went.

    steps : statements that succeeded. failed : number of the one that did not, 0 if none. sqlstate : why.
    exclusive : seconds for which nobody could read one of the tables. blocked : longest wait of a reader beside it.
    log_bytes : written to the server's log meanwhile. open_transaction : the file left its transaction open.
    """

    steps: list[Step] = field(default_factory=list)
    failed: int = 0
    sqlstate: str = ""
    seconds: float = 0.0
    exclusive: float = 0.0
    blocked: float = 0.0
    log_bytes: int = 0
    open_transaction: bool = False


def apply(
    connect: Connect,
    schema: str,
    statements: Sequence[str],
    *,
    timeout: float,
    lock_timeout: float,
    reader: bool = True,
) -> Applied:
    """Run all statements on one connection as they stand, and whatever is open at the end is rolled back."""
    done = Applied()
    with connect() as beside, _reading(connect, schema, reader) as waits:
        start = beside.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        con = connect()
        started = time.perf_counter()
        held: float | None = None
        with _bounded(con, timeout, lock_timeout) as stopped:
            for number, statement in enumerate(statements, 1):
                begun = time.perf_counter()
                try:
                    con.execute(statement.encode())
                except psycopg.Error as error:
                    done.failed, done.sqlstate = number, "timeout" if stopped.is_set() else error.sqlstate or "lost"
                    break
                now = time.perf_counter()
                locks = _locks(beside, con.info.backend_pid, schema)
                done.steps.append(Step(number, first_word(statement), now - begun, locks))
                exclusive = _MODES[-1] in locks.values()
                held = (begun if held is None else held) if exclusive else held
                if held is not None and not exclusive:
                    done.exclusive, held = done.exclusive + now - held, None
            with suppress(psycopg.Error):
                status = con.info.transaction_status
                done.open_transaction = not done.failed and status is not psycopg.pq.TransactionStatus.IDLE
        con.close()
        done.seconds = time.perf_counter() - started
        if held is not None:
            done.exclusive += time.perf_counter() - held
        row = beside.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)::bigint", start).fetchone()
        done.log_bytes = int(row[0]) if row else 0
    done.blocked = max(waits, default=0.0)
    return done


def cut(
    connect: Connect, statements: Sequence[str], most: int, *, timeout: float, lock_timeout: float
) -> Iterator[int]:
    """Run the file up to each point and kill its session there; yields the point, with nothing of the session left.

    Points are between statements, evenly chosen where there are more than `most`.
    """
    points = range(1, len(statements))
    chosen = points if len(points) <= most else [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]
    for point in dict.fromkeys(chosen):
        with connect() as beside:
            con = connect()
            pid = con.info.backend_pid
            with _bounded(con, timeout, lock_timeout), suppress(psycopg.Error):
                for statement in statements[:point]:
                    con.execute(statement.encode())
            ended(beside, pid)
            with suppress(psycopg.Error):
                con.close()
        yield point


def stopped_by_reader(
    connect: Connect, schema: str, statements: Sequence[str], *, timeout: float, lock_timeout: float
) -> Applied:
    """Run the file while an idle transaction has read both tables; a lock timeout should stop it, with nothing installed."""
    with connect() as reader, reader.transaction(force_rollback=True):
        for table in (TASKS, CONFIGS):
            reader.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(sql.Identifier(schema, table)))
        return apply(connect, schema, statements, timeout=timeout, lock_timeout=lock_timeout, reader=False)


def _locks(beside: Con, pid: int, schema: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for table, mode in beside.execute(_LOCKS, (pid, schema, [TASKS, CONFIGS])).fetchall():
        if mode in _MODES and (table not in found or _MODES.index(mode) > _MODES.index(found[table])):
            found[table] = mode
    return found


@contextmanager
def _bounded(con: Con, timeout: float, lock_timeout: float) -> Iterator[threading.Event]:
    """Bound a session from within and, since the file may set its own timeouts, from without."""
    for name, seconds in (("statement_timeout", timeout), ("lock_timeout", lock_timeout)):
        con.execute("SELECT pg_catalog.set_config(%s, %s, false)", (name, str(max(1, int(seconds * 1000)))))
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        with suppress(psycopg.Error):
            con.cancel_safe(timeout=5.0)
        # It may be between statements, or catch what cancels one.
        time.sleep(0.2)
        with suppress(psycopg.Error, OSError):
            con.close()

    timer = threading.Timer(timeout, stop)
    timer.daemon = True
    timer.start()
    try:
        yield stopped
    finally:
        timer.cancel()


@contextmanager
def _reading(connect: Connect, schema: str, wanted: bool) -> Iterator[list[float]]:
    """Read the configurations again and again meanwhile; how long each read took, in seconds."""
    waits: list[float] = []
    over = threading.Event()
    query = sql.SQL("SELECT FROM {} LIMIT 1").format(sql.Identifier(schema, CONFIGS))

    def read() -> None:
        with suppress(psycopg.Error), connect() as con:
            while not over.is_set():
                started = time.perf_counter()
                con.execute(query)
                waits.append(time.perf_counter() - started)
                over.wait(0.005)

    thread = threading.Thread(target=read, daemon=True)
    if wanted:
        thread.start()
    try:
        yield waits
    finally:
        over.set()
        if wanted:
            thread.join(30.0)


def as_dict(done: Applied) -> dict[str, Any]:
    """For JSON; times in seconds."""
    return {
        "statements": len(done.steps), "failed_at": done.failed, "sqlstate": done.sqlstate, "seconds": round(done.seconds, 4),
        "exclusive_seconds": round(done.exclusive, 4), "longest_blocked_reader": round(done.blocked, 4),
        "log_bytes": done.log_bytes, "open_transaction": done.open_transaction,
        "steps": [{"number": s.number, "word": s.word, "seconds": round(s.seconds, 5), "locks": s.locks} for s in done.steps],
    }  # fmt: skip
