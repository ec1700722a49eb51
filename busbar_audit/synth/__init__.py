"""Synthetic stores: healthy traffic of any size, legal oddities, and faults by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from busbar_audit.errors import UsageError
from busbar_audit.synth.busbar import SynthStore, write_busbar
from busbar_audit.synth.faults import FAULTS, plant
from busbar_audit.synth.maka import EVENTS_A_SESSION, SynthMaka, write_maka
from busbar_audit.synth.maka_faults import FAULTS as MAKA_FAULTS
from busbar_audit.synth.plan import ODD

__all__ = [
    "FAULTS",
    "MAKA_FAULTS",
    "ODD",
    "SynthMaka",
    "SynthStore",
    "listing",
    "maka_listing",
    "plant",
    "write",
    "write_busbar",
    "write_maka",
    "write_workspace",
]


def listing() -> Iterator[str]:
    """Lines naming every odd shape and every fault, with the generations it can be planted in."""
    for name, (text, *_) in ODD.items():
        yield f"odd    {name:28} {text}"
    for fault in FAULTS.values():
        yield f"fault  {fault.name:28} {fault.title} (generations {min(fault.generations)}-{max(fault.generations)})"


def write(
    out: Path,
    *,
    generation: int,
    seed: int,
    size: int,
    bodies: str = "typed",
    odd: Collection[str] = (),
    faults: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """Write a store and plant faults in it; yields lines that say what was written.

    Raises
    ------
    UsageError : an unknown odd shape or fault, or a fault that this generation cannot have.
    """
    unknown = [name for name in (*odd, *faults) if name not in ODD and name not in FAULTS]
    if unknown:
        raise UsageError(
            f"No odd shape or fault named {', '.join(unknown)}.", "`busbar-audit synth busbar --list` names them."
        )
    needs: dict[str, Any] = {}
    for name in faults:
        fault = FAULTS[name]
        if generation not in fault.generations:
            raise UsageError(f"Fault {name} is for generations {sorted(fault.generations)}, not {generation}.")
        needs |= fault.needs
    options: dict[str, Any] = {"bodies": bodies, **needs, "odd": (*odd, *needs.get("odd", ()))}
    if progress is not None:
        progress("writing the store")
    store = write_busbar(out, generation=generation, seed=seed, calls=size, **options)
    yield f"{out}: busbar sqlite v{generation}, " + ", ".join(f"{n:,} {what}" for what, n in store.counts.items() if n)
    yield f"traffic ends at {store.end}; audit it with --as-of {_iso(store.end)}"
    for name in faults:
        planted = plant(out, name)
        yield f"fault {name}: {FAULTS[name].title}; expected {', '.join(sorted(planted.codes)) or 'nothing'}"


def maka_listing() -> Iterator[str]:
    """Lines naming every fault of a maka workspace, with the generations it can be planted in."""
    for fault in MAKA_FAULTS.values():
        codes = ", ".join(f"MAKA-{code}" for code in fault.codes)
        yield f"fault  {fault.name:28} {codes} (generations {min(fault.generations)}-{max(fault.generations)})"


def write_workspace(out: Path, *, generation: int, seed: int, size: int, faults: Collection[str] = ()) -> Iterator[str]:
    """Write a maka workspace of about so many events and plant faults in it, each in a session of its own.

    Raises
    ------
    UsageError : an unknown fault, or one that this generation cannot have.
    """
    unknown = [name for name in faults if name not in MAKA_FAULTS]
    if unknown:
        raise UsageError(f"No fault named {', '.join(unknown)}.", "`busbar-audit synth maka --list` names them.")
    planted = [MAKA_FAULTS[name] for name in faults]
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
        large=any(fault.large for fault in planted),
    )
    yield f"{out}: maka sqlite v{generation}, " + ", ".join(f"{n:,} {what}" for what, n in store.counts.items() if n)
    with closing(sqlite3.connect(out)) as con:
        for at, fault in enumerate(planted, start=2):
            session = f"{fault.population}{at}"
            fault.apply(con, session)
            yield f"fault {fault.name} in session {session}: expected {', '.join(f'MAKA-{c}' for c in fault.codes)}"
        con.commit()


def _iso(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
