"""A2A stores by command: written with the policy that accepts their helper bodies, and states planted in them by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from busbar_audit.errors import OutputExists, UsageError
from busbar_audit.stores import generation_name
from busbar_audit.stores.a2a_shapes import GENERATIONS
from busbar_audit.synth.a2a import END, write_a2a
from busbar_audit.synth.a2a_states import STATES
from busbar_audit.target import Target
from busbar_audit.text import printable

if TYPE_CHECKING:
    from sqlalchemy import Engine

ODD = {"v3a": "generation 13: the helpers of early v3, whose lock keys are not of one table"}
PYTHON_ODD = {
    "encrypted": "every second configuration is an encrypted token",
    "old-dialect": "every fourth task is written as version 0.3 does",
}
PYTHON_GENERATIONS = (1, 2, 3, 4)


def listing(kind: str) -> Iterator[str]:
    """Lines naming every odd shape and every fault, with the generations it can be planted in."""
    for name, text in (PYTHON_ODD if kind == "a2a-python" else ODD).items():
        yield f"odd    {name:28} {text}"
    if kind == "a2a":
        for state in STATES.values():
            codes = ", ".join(f"A2A-{code}" for code in state.codes)
            yield f"fault  {state.name:28} {state.title}; {codes} (generations {', '.join(map(str, state.generations))})"


def write(
    target: Target,
    schema: str,
    policy: Path,
    *,
    generation: int,
    seed: int,
    size: int,
    odd: Collection[str] = (),
    faults: Collection[str] = (),
) -> Iterator[str]:
    """Write a store of the C++ SDK with so many tasks into a schema, plant faults, and write the policy to audit it with.

    Parameters
    ----------
    policy : a file that must not exist.

    Raises
    ------
    UsageError : an unknown generation, odd shape or fault, or a fault this generation cannot have.
    OutputExists : the file, or a table of these names in the schema, is there.
    """
    assert target.conninfo is not None
    _require("a2a", generation, GENERATIONS, odd, ODD)
    unknown = [name for name in faults if name not in STATES]
    if unknown:
        raise UsageError(f"No fault named {', '.join(unknown)}.", "`busbar-audit synth a2a --list` names them.")
    for name in faults:
        if generation not in STATES[name].generations:
            wanted = ", ".join(map(str, STATES[name].generations))
            raise UsageError(f"Fault {name} is for generations {wanted}, not {generation}.")
    if policy.exists():
        raise OutputExists(f"{printable(str(policy))} exists.", "A new file for the policy.", "Name another one.")
    variant = "a" if "v3a" in odd else "b"
    made = write_a2a(target.conninfo, schema, generation=generation, seed=seed, tasks=size, variant=variant)
    accepted = set(made.accepted)
    if faults:
        with psycopg.connect(target.conninfo) as con:
            for name in faults:
                STATES[name].apply(con, schema)
        accepted |= _bodies(schema)
    policy.write_text(_policy(sorted(accepted)), encoding="utf-8")
    name = generation_name("a2a", generation)
    yield (
        f"{target.in_schema(schema).label}: a2a postgres {name}, {made.tasks:,} tasks, {made.configs:,} configurations"
    )
    yield f"its helper bodies are ours: audit it with --policy {printable(str(policy))} --as-of 2023-11-21T00:00:00Z"
    for fault in faults:
        codes = ", ".join(f"A2A-{code}" for code in STATES[fault].codes)
        yield f"fault {fault}: {STATES[fault].title}; expected {codes}"


def write_python(target: Target, schema: str, *, faults: Collection[str] = (), **options: Any) -> Iterator[str]:
    """Write a store of the Python SDK into a schema, which is made where it is not there.

    Raises
    ------
    UsageError : an unknown revision or odd shape, or any fault. OutputExists : a table of these names is there.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.schema import CreateSchema

    conninfo = target.conninfo
    assert conninfo is not None
    if faults:
        raise UsageError("synth a2a-python --fault", "This version plants no faults in stores of the Python SDK.")
    # The connection is psycopg's own, so that every form of a target works; the URL names the dialect only.
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(conninfo))
    with engine.begin() as con:
        con.execute(CreateSchema(schema, if_not_exists=True))
    yield from _python(engine, target.in_schema(schema).label, schema, **options)


def write_python_file(path: Path, *, faults: Collection[str] = (), **options: Any) -> Iterator[str]:
    """Write a store of the Python SDK into a SQLite file, which must not exist."""
    from sqlalchemy import create_engine

    if path.exists():
        raise OutputExists(f"{printable(str(path))} exists.", "A new file.", "Name another one.")
    yield from _python(create_engine(f"sqlite:///{path}"), printable(str(path)), None, **options)


def _python(
    engine: Engine, label: str, schema: str | None, *, generation: int, seed: int, size: int, odd: Collection[str]
) -> Iterator[str]:
    from busbar_audit.synth.a2a_python import counted, write_a2a_python

    _require("a2a-python", generation, PYTHON_GENERATIONS, odd, PYTHON_ODD)
    try:
        counts = write_a2a_python(engine, generation=generation, seed=seed, tasks=size, odd=odd, schema=schema)
    finally:
        engine.dispose()
    yield f"{label}: a2a-python {generation_name('a2a-python', generation)}, {', '.join(counted(counts))}"
    yield "audit it with --as-of 2023-11-21T00:00:00Z"


def _require(kind: str, generation: int, known: Collection[int], odd: Collection[str], shapes: Collection[str]) -> None:
    if generation not in known:
        raise UsageError(f"{kind} generation {generation}.", f"Expected one of {', '.join(map(str, known))}.")
    if unknown := [name for name in odd if name not in shapes]:
        raise UsageError(f"No odd shape named {', '.join(unknown)}.", f"`busbar-audit synth {kind} --list` names them.")


def _bodies(schema: str) -> set[str]:
    """Every body of ours that a state may have put in: they are legal texts, and their state is told by other checks."""
    from busbar_audit.synth import a2a_helpers

    return {
        digest
        for generation in (13, 14)
        for quoted in (False, True)
        for digest in a2a_helpers.digests(schema, generation, quoted=quoted)
    }


def _policy(accepted: Collection[str]) -> str:
    lines = [
        "# Written beside a synthetic A2A store: the fingerprints of its helper functions, which are none of the vendor's.",
        f"# Its traffic ends at {END} (unix seconds).",
        "[a2a]",
        "helpers = [",
        *(f'    "{digest}",' for digest in accepted),
        "]",
    ]
    return "\n".join(lines) + "\n"
