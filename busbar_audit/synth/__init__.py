"""Synthetic stores: healthy traffic of any size, legal oddities, and faults by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from busbar_audit.errors import NotAStore, TargetNotFound, UsageError
from busbar_audit.synth import a2a_command, workspace
from busbar_audit.synth.busbar import SynthStore, write_busbar
from busbar_audit.synth.fault import Fault, Planted
from busbar_audit.synth.faults import FAULTS, ON_POSTGRES, on_postgres, plant, require_generation
from busbar_audit.synth.plan import ODD
from busbar_audit.target import Target, parse_target
from busbar_audit.text import printable

__all__ = [
    "FAULTS",
    "KINDS",
    "ODD",
    "ON_POSTGRES",
    "SynthStore",
    "listing",
    "plant",
    "workspace",
    "write",
    "write_a2a_kind",
    "write_busbar",
    "write_postgres",
]

# Kinds of stores, each with the generation that is written where none is named.
KINDS = {"busbar": 9, "busbar-pg": 10, "maka": 18, "a2a": 14, "a2a-python": 4}
A2A = ("a2a", "a2a-python")
# An upgrade on PostgreSQL copies nothing, so there is no store there that has been through one.
_OF_UPGRADES = frozenset({"audit_copy"})
_TARGETS = "postgresql://…, service=NAME, or env:NAME with one of these."


def listing(kind: str) -> Iterator[str]:
    """Lines naming every odd shape and every fault of a kind of store, with the generations it can be planted in."""
    if kind == "maka":
        yield from workspace.listing()
        return
    if kind in A2A:
        yield from a2a_command.listing(kind)
        return
    there = kind == "busbar-pg"
    for name, (text, *_) in ODD.items():
        if not (there and name in _OF_UPGRADES):
            yield f"odd    {name:28} {text}"
    for fault in (ON_POSTGRES if there else FAULTS).values():
        known = fault.on_postgres_in if there else fault.generations
        yield f"fault  {fault.name:28} {fault.title} (generations {min(known)}-{max(known)})"


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
    """Write a store into a SQLite file and plant faults in it; yields lines that say what was written.

    Raises
    ------
    UsageError : an unknown odd shape or fault, or a fault that this generation cannot have.
    """
    _require_known("busbar", FAULTS, odd, faults)
    for name in faults:
        require_generation(FAULTS[name], generation, FAULTS[name].generations)
    options = _options([FAULTS[name] for name in faults], bodies, odd)
    if progress is not None:
        progress("writing the store")
    store = write_busbar(out, generation=generation, seed=seed, calls=size, **options)
    yield from _told(f"{printable(str(out))}: busbar sqlite v{generation}", store)
    for name in faults:
        yield _told_fault(name, plant(out, name), FAULTS)


def write_postgres(
    out: str,
    schema: str,
    *,
    generation: int,
    seed: int,
    size: int,
    bodies: str = "typed",
    odd: Collection[str] = (),
    faults: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """Write a store with its faults into a schema of a PostgreSQL database; yields lines that say what was written.

    Parameters
    ----------
    out : ``postgresql://…``, ``service=NAME`` or ``env:NAME``; its password is in no line and no error.
    schema : made where it is not there; it must hold no tables.

    Raises
    ------
    UsageError : no such target, an unknown odd shape or fault, or a fault that this engine or generation cannot have.
    OutputExists : the schema holds tables. AuditError : the server refused it; nothing was written.
    """
    from busbar_audit.synth.busbar_pg import write_busbar_pg

    target = _database(out)
    assert target.conninfo is not None
    _require_known("busbar-pg", {**FAULTS, **ON_POSTGRES}, odd, faults)
    options = _options([on_postgres(name, generation) for name in faults], bodies, odd)
    if progress is not None:
        progress("writing the store")
    store, planted = write_busbar_pg(
        target.conninfo, schema, generation=generation, faults=faults, seed=seed, calls=size, **options
    )
    yield from _told(f"{target.in_schema(schema).label}: busbar postgres v{generation}", store)
    for name, told in zip(faults, planted, strict=True):
        yield _told_fault(name, told, ON_POSTGRES)


def write_a2a_kind(
    kind: str, out: str, schema: str | None, policy: Path | None, *, progress: Callable[[str], None], **options: Any
) -> Iterator[str]:
    """Write a store of an A2A SDK, given by its kind; yields lines that say what was written.

    Parameters
    ----------
    out : a PostgreSQL database as for `write_postgres`; for a2a-python also a SQLite file, which must not exist.
    policy : a2a only: where the policy goes that accepts the helper bodies; by default SCHEMA-policy.toml in this folder.

    Raises
    ------
    UsageError, OutputExists : see `a2a_command`.
    """
    progress("writing the store")
    if kind == "a2a-python" and not ("://" in out or out.startswith(("service=", "env:"))):
        if schema is not None or options["faults"]:
            raise UsageError("synth a2a-python writes a healthy SQLite file.", "No --schema and no --fault.")
        yield from a2a_command.write_python_file(Path(out), **options)
        return
    target = _database(out, kind)
    if schema is None:
        raise UsageError(f"synth {kind} needs --schema NAME.", "A schema that holds no tables, or a new one.")
    if kind == "a2a":
        yield from a2a_command.write(target, schema, policy or Path(f"{schema}-policy.toml"), **options)
    else:
        yield from a2a_command.write_python(target, schema, **options)


def _database(out: str, kind: str = "busbar-pg") -> Target:
    try:
        target = parse_target(out)
    except (TargetNotFound, NotAStore):
        target = None
    if target is None or target.kind != "postgres":
        raise UsageError(f"synth {kind} writes into a PostgreSQL database, --out names none.", _TARGETS)
    return target


def _require_known(kind: str, known: Mapping[str, Fault], odd: Collection[str], faults: Collection[str]) -> None:
    unknown = [name for name in odd if name not in ODD] + [name for name in faults if name not in known]
    if unknown:
        raise UsageError(
            f"No odd shape or fault named {', '.join(unknown)}.", f"`busbar-audit synth {kind} --list` names them."
        )


def _options(faults: Collection[Fault], bodies: str, odd: Collection[str]) -> dict[str, Any]:
    """Options of the store that has everything these faults need."""
    options: dict[str, Any] = {"bodies": bodies}
    shapes = [*odd]
    for fault in faults:
        options |= fault.needs
        shapes += [name for name in fault.needs.get("odd", ()) if name not in shapes]
    return {**options, "odd": tuple(shapes)}


def _told(what: str, store: SynthStore) -> Iterator[str]:
    yield f"{what}, " + ", ".join(f"{n:,} {table}" for table, n in store.counts.items() if n)
    yield f"traffic ends at {store.end}; audit it with --as-of {_iso(store.end)}"


def _told_fault(name: str, planted: Planted, known: Mapping[str, Fault]) -> str:
    return f"fault {name}: {known[name].title}; expected {', '.join(sorted(planted.codes)) or 'nothing'}"


def _iso(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
