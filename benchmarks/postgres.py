"""`make bench-postgres`: a full audit of one million calls on PostgreSQL, against COPY of the same tables as floor.

The server is a private one from PyPI (extra `test`), on a Unix socket, gone at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import psycopg
from psycopg import sql

from benchmarks import measure
from busbar_audit.synth.busbar_pg import write_busbar_pg
from busbar_audit.synth.server import private_server

PYTHON = sys.executable
SCHEMA = "busbar"


def copied(uri: str) -> tuple[float, dict[str, int]]:
    """Seconds to COPY every table to a reader that throws it away, and the bytes of each."""
    sizes: dict[str, int] = {}
    with psycopg.connect(uri) as con:
        tables = con.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", (SCHEMA,)).fetchall()
        started = time.perf_counter()
        for (table,) in tables:
            query = sql.SQL("COPY {} TO STDOUT (FORMAT binary)").format(sql.Identifier(SCHEMA, table))
            with con.cursor() as cursor, cursor.copy(query) as copy:
                sizes[table] = sum(len(part) for part in copy)
        return time.perf_counter() - started, sizes


def load(target: str) -> None:
    """Open the store and load every table."""
    from busbar_audit import open_store

    with open_store(target) as store:
        store.load()
        store.source.finish()


def opened(target: str) -> None:
    """Open the store: recognise it and count its rows."""
    from busbar_audit import open_store

    open_store(target).close()


def main(calls: int, tasks: int, days: int, times: int) -> None:
    with private_server() as private:
        uri = private.uri
        started = time.perf_counter()
        made, _ = write_busbar_pg(
            uri, SCHEMA, generation=10, calls=calls, tasks=tasks, days=days, principals=200, audits=1000
        )
        with psycopg.connect(uri, autocommit=True) as con:
            con.execute("VACUUM ANALYZE")
        print(f"written in {time.perf_counter() - started:.1f} s")
        for name, rows in sorted(made.counts.items()):
            if rows > 10_000:
                print(f"  {name:34} {rows:>10,} rows")
        os.environ["BENCH_DSN"] = uri
        floor, sizes = min((copied(uri) for _ in range(times)), key=lambda pair: pair[0])
        print(f"{'floor: COPY of every table':34} {floor:7.2f} s  1.00    {sum(sizes.values()) / 1e6:.0f} MB")
        for name in ("opened", "load"):
            step(name, floor, times, "-m", "benchmarks.postgres", "--step", name)
        audit = ("-m", "busbar_audit.cli", "audit", "env:BENCH_DSN", "--as-of", _iso(made.end))
        step("audit, whole", floor, times, *audit)


def step(name: str, floor: float, times: int, *command: str) -> None:
    """Run a step and print it; the seconds of processors are those of the audit's side, the server has its own."""
    used = sum(os.times()[2:4])
    part = measure.best(times, PYTHON, *command)
    used = (sum(os.times()[2:4]) - used) / times
    print(
        f"{name:34} {part.seconds:7.2f} s  {part.seconds / floor:.2f}    {part.mebibytes:6.0f} MiB"
        f"   {used:.1f} s of processors, exit {part.code}"
    )


def _iso(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=1_000_000)
    options.add_argument("--tasks", type=int, default=100_000)
    options.add_argument("--days", type=int, default=365)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--step", choices=("opened", "load"), help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.step:
        globals()[asked.step]("env:BENCH_DSN")
    else:
        main(asked.calls, asked.tasks, asked.days, asked.times)
