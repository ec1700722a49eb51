"""`make bench-small`: one audit of a small store in this process, as each of some thousand tests does it.

The floor: a hundred DuckDB queries of one row, for an audit asks some two hundred.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb

from busbar_audit import audit, open_store
from busbar_audit.synth import write_busbar
from busbar_audit.synth.maka import write_maka

AS_OF = 1_700_000_000 + 7 * 86_400
TIMES = 9


def floor() -> None:
    with duckdb.connect() as con:
        for number in range(100):
            con.execute(f"SELECT {number} AS n").fetchall()


def once(path: Path, as_of: int | None) -> None:
    with open_store(path) as store:
        audit(store, as_of=as_of)


def median(work: Callable[[], None]) -> tuple[float, float]:
    """Wall and processor seconds, the first run left out: it imports and parses."""
    work()
    wall, used = [], []
    for _ in range(TIMES):
        started, before = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - started)
        used.append(time.process_time() - before)
    return statistics.median(wall), statistics.median(used)


def told(name: str, work: Callable[[], None]) -> None:
    wall, used = median(work)
    print(f"{name:34} {wall:7.3f} s  {used:7.3f} s of a processor", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"median of {TIMES}; a small store is to take at most 0.5 s")
        told("floor: 100 queries of one row", floor)
        for generation in range(5, 13):
            busbar = Path(folder) / f"v{generation}.db"
            write_busbar(busbar, generation=generation, seed=1, calls=200, tasks=12, audits=40)
            told(f"busbar v{generation}, 200 calls", partial(once, busbar, AS_OF))
        for generation in (10, 16, 18):
            maka = Path(folder) / f"maka-{generation}.sqlite"
            write_maka(maka, generation=generation, seed=1)
            told(f"maka schema {generation}, 2 sessions", partial(once, maka, None))
