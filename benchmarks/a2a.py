"""`make bench-a2a`: a full audit of 300,000 tasks and about 600,000 push configurations, against COPY of both tables as floor.

Beside it, what the payloads cost by themselves: decoded in one process, by the fast reader and by the careful one.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

from benchmarks import measure
from benchmarks.postgres import PYTHON, copied, step
from busbar_audit.payloads import a2a, a2a_columns
from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS
from busbar_audit.synth.a2a import write_a2a
from busbar_audit.synth.server import private_server

SCHEMA = "busbar"  # the one that `copied` reads
_BATCH = 5_000


def decoded(rows: Sequence[bytes], one: Callable[[bytes], Any], many: Callable[[Any], Any], times: int) -> str:
    """Payloads a second of one processor: all at once, and one by one; of several runs the fastest."""
    batches = [pa.array(rows[at : at + _BATCH], pa.binary()) for at in range(0, len(rows), _BATCH)]

    def per_second(read: Callable[[Any], Any], given: Sequence[Any]) -> float:
        took = []
        for _ in range(times):
            begun = time.process_time()
            for each in given:
                read(each)
            took.append(time.process_time() - begun)
        return len(rows) / min(took)

    return f"{per_second(many, batches):>9,.0f} /s   one by one {per_second(one, rows):>9,.0f} /s"


def main(tasks: int, times: int) -> None:
    with private_server() as private, tempfile.TemporaryDirectory() as folder:
        uri = private.uri
        begun = time.perf_counter()
        made = write_a2a(uri, SCHEMA, generation=14, tasks=tasks, most_configs=4)
        print(f"written in {time.perf_counter() - begun:.1f} s: {made.tasks:,} tasks, {made.configs:,} configurations")
        with psycopg.connect(uri, autocommit=True) as con:
            con.execute("VACUUM ANALYZE")
            for what, table, column, one, many in (
                ("tasks", TASKS, "task_proto", a2a.read_task, a2a_columns.read_tasks),
                ("configurations", CONFIGS, "config_proto", a2a.read_config, a2a_columns.read_configs),
            ):
                query = f"SELECT {column} FROM {SCHEMA}.{table} LIMIT 100000"
                rows = [row[0] for row in con.execute(query.encode()).fetchall()]
                random.Random(1).shuffle(rows)
                size = sum(map(len, rows)) / len(rows)
                print(f"decoding {what:15} {decoded(rows, one, many, times)}   {size:.0f} bytes each")
        policy = Path(folder) / "policy.toml"
        policy.write_text(f"[a2a]\nhelpers = {list(made.accepted)}\n")
        os.environ["BENCH_DSN"] = uri
        floor, sizes = min((copied(uri) for _ in range(times)), key=lambda pair: pair[0])
        print(f"{'floor: COPY of both tables':34} {floor:7.2f} s  1.00    {sum(sizes.values()) / 1e6:.0f} MB")
        step("opened", floor, times, "-m", "benchmarks.postgres", "--step", "opened")
        load = ("-m", "benchmarks.postgres", "--step", "load")
        audit = ("-m", "busbar_audit.cli", "audit", "env:BENCH_DSN", "--as-of", "2023-11-21T00:00:00Z")
        # In turn, so that what else the machine does falls on both.
        runs = [
            (measure.run(PYTHON, *load), measure.run(PYTHON, *audit, "--policy", str(policy))) for _ in range(times)
        ]
        loaded, whole = (min(each, key=lambda figures: figures.seconds) for each in zip(*runs, strict=True))
        for name, part in (("load", loaded), ("audit, whole", whole)):
            print(
                f"{name:34} {part.seconds:7.2f} s  {part.seconds / floor:.2f}    {part.mebibytes:6.0f} MiB"
                f"   {part.processors:.1f} s of processors, exit {part.code}"
            )
        print(f"beyond COPY {whole.seconds - floor:.2f} s, beyond the load {whole.seconds - loaded.seconds:.2f} s")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tasks", type=int, default=300_000)
    options.add_argument("--times", type=int, default=3)
    asked = options.parse_args()
    main(asked.tasks, asked.times)
