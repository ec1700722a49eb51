"""`make rehearse-long`: a session of 20,000 rows cut at 20 points; and what the conversion of 1,000 to 20,000 rows costs.

The real converter's figures stand beside ours: as many rows, on a machine of its own, each append synced to the disk.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import measure
from busbar_audit.conversion.converter import convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.schema import in_memory
from busbar_audit.rehearsal.conversion import rehearse_session
from busbar_audit.transcript import js

# Rows, and seconds and MiB of the real converter for as many.
REAL = ((1_000, 1.9, 100), (5_000, 8.7, 109), (20_000, 42.0, 142))
HEADER = {"id": "s", "cwd": "/w", "createdAt": 10**12, "backend": "ai-sdk", "llmConnectionSlug": "c"}
HEADER |= {"model": "m", "permissionMode": "ask"}


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Turns of five rows: prompt, call, result, answer, ending."""
    for n in range(count // 5):
        at, turn = 10**12 + n * 10, f"t{n}"
        yield {"type": "user", "id": f"u{n}", "turnId": turn, "ts": at, "text": "q" * 60}
        yield {
            "type": "tool_call",
            "id": f"c{n}",
            "turnId": turn,
            "ts": at + 1,
            "toolName": "Read",
            "args": {"path": "f"},
        }
        content = {"kind": "text", "text": "r" * 80}
        result = {"toolUseId": f"c{n}", "isError": False, "content": content}
        yield {"type": "tool_result", "id": f"r{n}", "turnId": turn, "ts": at + 2, **result}
        yield {"type": "assistant", "id": f"a{n}", "turnId": turn, "ts": at + 3, "text": "a" * 120, "modelId": "m"}
        yield {"type": "turn_state", "id": f"s{n}", "turnId": turn, "ts": at + 4, "status": "completed"}


def written(path: Path, count: int) -> None:
    """A store with one session of so many rows."""
    with closing(in_memory()) as memory, closing(sqlite3.connect(path)) as file:
        memory.execute(
            "INSERT INTO session_metadata (session_id, payload_json) VALUES ('s', ?)", (js.stringify(HEADER),)
        )
        memory.executemany(
            "INSERT INTO session_messages VALUES ('s', ?, ?, ?, ?, ?)",
            ((n, row["id"], row["type"], row["ts"], js.stringify(row)) for n, row in enumerate(rows(count))),
        )
        memory.backup(file)


def converted(path: str) -> None:
    """Convert the session of a file, and say what it took."""
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA synchronous = OFF")
        begun = time.process_time()
        done = convert(Ledger(con), "s", names=False)
        if done.refusal is not None:
            print(done.refusal.message)
            sys.exit(2)
        print(f"{done.appends} {time.process_time() - begun} {done.largest}")


def main(points: int, most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count, seconds, mebibytes in (*REAL, (200_000, 0.0, 0)):
            if count > most:
                break
            path = Path(folder) / f"{count}.sqlite"
            written(path, count)
            command = (sys.executable, "-m", "benchmarks.conversion", "--convert", str(path))
            told = measure.run(*command)
            real = f"real: {seconds:.1f} s, {mebibytes} MiB" if seconds else ""
            ours = f"{told.seconds:7.2f} s with the start of a process, {told.mebibytes:4.0f} MiB"
            print(f"{count:>8,} rows {ours}   {real}", flush=True)
        path = Path(folder) / "long.sqlite"
        written(path, min(most, 20_000))
        begun = time.perf_counter()
        found = rehearse_session(path, "s", points=points)
        held = "every property holds" if not found.at_risk else f"does not hold: {found.failures[:3]}"
        spent = time.perf_counter() - begun
        print(f"{found.rows:,} rows, {found.appends:,} events, cut at {found.points} points in {spent:.1f} s: {held}")
        if found.at_risk:
            sys.exit(1)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--points", type=int, default=20)
    options.add_argument("--most", type=int, default=20_000)
    options.add_argument("--convert", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.convert:
        converted(asked.convert)
    else:
        main(asked.points, asked.most)
