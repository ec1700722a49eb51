"""Synthetic stores: healthy traffic of any size, legal oddities, and faults by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from busbar_audit.errors import UsageError
from busbar_audit.synth.busbar import SynthStore, write_busbar
from busbar_audit.synth.faults import FAULTS, plant
from busbar_audit.synth.plan import ODD

__all__ = ["FAULTS", "ODD", "SynthStore", "listing", "plant", "write", "write_busbar"]


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


def _iso(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
