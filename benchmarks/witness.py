"""`make bench-witness`: a witness of one million chains, read and compared with a store, against reading its lines plainly."""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from busbar_audit import queries
from busbar_audit import witness_file as files
from busbar_audit.store import Store, open_store
from busbar_audit.stores import busbar_shapes
from busbar_audit.witness_file import Content, Line
from busbar_audit.witnessing import fill_witness, open_witness


def content(chains: int) -> Content:
    lines = {}
    for number in range(chains):
        digest = hashlib.sha256(b"%d" % number).hexdigest()
        line = Line("call", f"vk_{digest[:16]}", 1, "", 100 + number % 50, digest, 100, 1_700_000_000 + number, False)
        lines[line.key] = line
    return Content("/srv/busbar-governance.db", (), 1_700_000_000, (), dict(sorted(lines.items())))


def timed(name: str, work: Callable[[], Any], floor: float = 0.0) -> tuple[Any, float]:
    """Run once; wall and processor seconds, and the ratio to the floor."""
    wall, used = time.perf_counter(), time.process_time()
    made = work()
    wall, used = time.perf_counter() - wall, time.process_time() - used
    ratio = f"   {used / floor:5.2f} times the floor" if floor else ""
    print(f"{name:38} {wall:7.2f} s  {used:7.2f} s of a processor{ratio}", flush=True)
    return made, used


def main(chains: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "x.witness"
        made = content(chains)
        timed("written", lambda: files.write(file, made))
        size = file.stat().st_size
        print(f"{chains:,} chains, {size / 1e6:.0f} MB, {size / chains:.0f} bytes a chain")
        text = file.read_bytes().split(b"\n")[2:-2]
        _, floor = timed("floor: json.loads of each line", lambda: [json.loads(line) for line in text])
        read, _ = timed("read, its SHA-256 checked", lambda: files.read(file), floor)
        assert read == made
        store = Path(place) / "store.db"
        wrote(store, chains)
        with open_store(store) as opened, closing(open_witness(Path(place) / "w", opened)) as kept:
            opened.view("chains")
            kept.content, kept.status = held(opened), "read"
            timed("put beside the store", lambda: fill_witness(opened.warehouse, kept, 0, 1_700_000_000), floor)
            timed("compared with the store", lambda: opened.views.make("audit.witnessed", {}), floor)
            rows = opened.con.execute(queries.figure("proven_chains").sql).fetchall()
            assert len(rows) == chains
            lines = list(kept.content.lines.values())
            proven = {(population, scope): now for population, scope, now, _ in rows}
            timed("advanced and written", lambda: kept.advance(lines, proven, (), 1_700_000_000), floor)


def wrote(path: Path, chains: int) -> None:
    """A store of that many chains of one record each; a comparison reads no digest but that of the end."""
    with closing(sqlite3.connect(path)) as con:
        busbar_shapes.create(con, 9)
        con.executemany(
            "INSERT INTO mcp_calls (principal, seq, ts, prev_hash, hash, body) VALUES (?, 1, ?, '', ?, '{}')",
            ((f"vk_{number:08}", 1_700_000_000 + number, f"{number:064x}") for number in range(chains)),
        )
        con.commit()


def held(store: Store) -> Content:
    """A witness of every chain of a store."""
    rows = store.con.execute(queries.figure("chain_ends").sql).fetchall()
    lines = {(p, s): Line(p, s, f, "", last, digest, n, ts, False) for p, s, n, f, last, digest, _, ts in rows}
    return Content(store.location, (), 1_700_000_000, (), lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chains", type=int, default=1_000_000)
    main(options.parse_args().chains)
