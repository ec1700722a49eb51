"""`make bench-maka`: both transcript readers, the rows query and their comparison over a large workspace.

The floor: one `json.loads` of each payload, read from the same file in the same process order.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks import measure
from busbar_audit.synth.maka import write_maka

READERS = ("MAKA-T05", "MAKA-T15")


def floor(path: str) -> None:
    """Every payload read and parsed, and nothing else."""
    started = time.process_time()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as con:
        read = sum(1 for (text,) in con.execute("SELECT payload_json FROM runtime_events") if json.loads(text))
    print(f"{read:,} payloads parsed in {time.process_time() - started:.2f} s of a processor")


def main(sessions: int, turns: int, times: int, keep: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder) / "runtime.sqlite"
        if not path.exists():
            begun = time.perf_counter()
            made = write_maka(path, sessions=sessions, turns=turns, converted=1)
            print(f"written in {time.perf_counter() - begun:.0f} s")
            del made
        with closing(sqlite3.connect(path)) as con:
            events, size, held = con.execute(
                "SELECT count(*), sum(length(payload_json)), count(DISTINCT session_id) FROM runtime_events"
            ).fetchone()
        print(
            f"{events:,} events of {held:,} sessions, {size / 1e6:.0f} MB of payloads, {path.stat().st_size / 1e6:.0f} MB"
        )
        plain = measure.best(times, sys.executable, "-m", "benchmarks.maka", "--floor", str(path))
        print(f"{'floor: json.loads of each payload':38} {plain.seconds:7.2f} s  1.00   {plain.mebibytes:5.0f} MiB")
        chosen = [word for code in READERS for word in ("--only", code)]
        for name, more in (("readers, rows query, comparison", chosen), ("audit, whole", [])):
            command = (sys.executable, "-m", "busbar_audit.cli", "audit", str(path), *more)
            told = measure.best(times, *command)
            ratio = told.seconds / plain.seconds
            print(f"{name:38} {told.seconds:7.2f} s {ratio:5.2f}   {told.mebibytes:5.0f} MiB", flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=2000)
    options.add_argument("--turns", type=int, default=82)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--keep", type=Path, help="write the workspace here, or use the one that is there")
    options.add_argument("--floor", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.floor:
        floor(asked.floor)
    else:
        main(asked.sessions, asked.turns, asked.times, asked.keep)
