"""Helpers of the tests that audit whole stores: build once, copy, audit, compare."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from busbar_audit.auditing import audit
from busbar_audit.chains.streaming import verify
from busbar_audit.findings import Finding
from busbar_audit.result import Result
from busbar_audit.store import Store, open_store
from busbar_audit.synth.busbar import write_busbar
from busbar_audit.synth.fault import Planted

# A week after the synthetic traffic begins: nothing of it is in the future, nothing is stale.
AS_OF = 1_700_000_000 + 7 * 86_400

Row = tuple[str, str, str, int, int, int]


def built(folder: Path, generation: int, needs: Mapping[str, Any]) -> Path:
    """A store of these options, written once a folder."""
    name = "-".join([f"v{generation}", *(f"{key}_{value}" for key, value in sorted(needs.items()))])
    path = folder / ("".join(c if c.isalnum() or c in "-_" else "" for c in name) + ".db")
    if not path.exists():
        partial = path.with_suffix(".partial")
        write_busbar(partial, **{"generation": generation, "seed": 1, "calls": 200, "tasks": 12, "audits": 40, **needs})
        for suffix in ("-wal", "-shm"):
            Path(f"{partial}{suffix}").unlink(missing_ok=True)
        partial.rename(path)
    return path


def copied(source: Path, target: Path) -> Path:
    """A copy to plant faults in."""
    shutil.copy(source, target)
    return target


def edit(path: Path, sql: str, *values: object) -> None:
    """Run one statement on a store that nobody else has open."""
    with closing(sqlite3.connect(path)) as con:
        con.execute(sql, values)
        con.commit()


def judged(path: Path, **options: Any) -> Result:
    """Audit a store; the store is closed again, so only what is in the result can be asked of it."""
    with open_store(path) as store:
        result = audit(store, **{"as_of": AS_OF, **options})
        list(result.findings())
        return result


def require_extent(found: Sequence[Finding], planted: Planted) -> None:
    """One finding has the extent, or several of one chain have it together (a changed hash breaks the next link as well)."""
    if not planted.first_seq:
        told = " ".join(f"{f.place} {f.detail}" for f in found)
        assert planted.scope in told, told
        return
    placed = [
        f for f in found if (f.subject, f.place) == (planted.population, planted.scope) and f.first_seq is not None
    ]
    assert placed, [(f.code, f.subject, f.place) for f in found]
    extents = {(f.first_seq, f.last_seq, f.records) for f in placed}
    seqs = [n for f in placed for n in (f.first_seq, f.last_seq) if n is not None]
    together = (min(seqs), max(seqs), sum(n for *_, n in extents))
    assert (planted.first_seq, planted.last_seq, planted.records) in extents | {together}, extents


def sql_extents(store: Store) -> set[Row]:
    """What the verifier in SQL says: population, scope, about, first, last, records."""
    rows = store.view("chain_extents").fetchall()
    return {(str(p), str(s), str(a), int(f), int(la), int(n)) for p, s, a, f, la, n in rows}


def streamed_extents(path: Path) -> set[Row]:
    """What the streaming verifier says of the same file."""
    return {
        (chain.population, chain.scope, e.about, e.first_seq, e.last_seq, e.records)
        for chain in verify(path)
        for e in chain.extents
    }
