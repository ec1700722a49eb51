"""Maka workspaces by command: written, and faults planted in them by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from busbar_audit.errors import UsageError
from busbar_audit.synth.maka import EVENTS_A_SESSION, write_maka
from busbar_audit.synth.maka_faults import FAULTS
from busbar_audit.text import printable


def listing() -> Iterator[str]:
    """Lines naming every fault, with the generations it can be planted in."""
    for fault in FAULTS.values():
        codes = ", ".join(f"MAKA-{code}" for code in fault.codes)
        yield f"fault  {fault.name:28} {codes} (generations {min(fault.generations)}-{max(fault.generations)})"


def write(out: Path, *, generation: int, seed: int, size: int, faults: Collection[str] = ()) -> Iterator[str]:
    """Write a workspace of about so many events and plant faults in it, each in a session of its own.

    Raises
    ------
    UsageError : an unknown fault, or one that this generation cannot have.
    """
    unknown = [name for name in faults if name not in FAULTS]
    if unknown:
        raise UsageError(f"No fault named {', '.join(unknown)}.", "`busbar-audit synth maka --list` names them.")
    planted = [FAULTS[name] for name in faults]
    for fault in planted:
        if not min(fault.generations) <= generation <= max(fault.generations):
            wanted = f"{min(fault.generations)} to {max(fault.generations)}"
            raise UsageError(f"Fault {fault.name} is for generations {wanted}, not {generation}.")
    store = write_maka(
        out,
        generation=generation,
        seed=seed,
        sessions=max(size // EVENTS_A_SESSION, len(planted) + 1),
        converted=len(planted) + 1,
        imports=len(planted) + 1 if any(fault.population in "fl" for fault in planted) else 0,
        large=any(fault.large for fault in planted),
    )
    told = ", ".join(f"{n:,} {what}" for what, n in store.counts.items() if n)
    yield f"{printable(str(out))}: maka sqlite v{generation}, {told}"
    with closing(sqlite3.connect(out)) as con:
        for at, fault in enumerate(planted, start=2):
            session = f"{fault.population}{at}"
            fault.apply(con, session)
            yield f"fault {fault.name} in session {session}: expected {', '.join(f'MAKA-{c}' for c in fault.codes)}"
        con.commit()
