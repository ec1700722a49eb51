"""Single faults for synthetic busbar stores on either engine, each with the exact finding codes it must raise.

Every fault leaves the rest of the store consistent: guards are dropped and put back word for word, and a forged chain
is sealed again where the fault asks for a self-consistent one.

Limits that no audit of one store can see, so there is no fault for them: a truncated tail of a call or audit chain, a
whole chain that is gone (no witness: BUS-C12), a changed `request_id` (no digest covers it; BUS-M02 only when the body
is no longer canonical), a whole chain forged and sealed again from its first record.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from busbar_audit.errors import NotAStore, UsageError
from busbar_audit.synth import (
    faults_calls,
    faults_chain,
    faults_postgres,
    faults_rows,
    faults_store,
    faults_tasks,
    faults_usage,
)
from busbar_audit.synth.fault import Fault, Planted, codes

__all__ = ["FAULTS", "ON_POSTGRES", "Fault", "Planted", "on_postgres", "plant", "plant_rows"]

_EVERY = tuple(
    fault
    for group in (
        faults_chain.FAULTS,
        faults_calls.FAULTS,
        faults_tasks.FAULTS,
        faults_rows.FAULTS,
        faults_usage.FAULTS,
        faults_store.FAULTS,
        faults_postgres.FAULTS,
    )
    for fault in group
)
FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _EVERY if fault.generations}
ON_POSTGRES: Mapping[str, Fault] = {fault.name: fault for fault in _EVERY if fault.on_postgres_in}


def plant(path: str | Path, name: str) -> Planted:
    """Plant one fault in a synthetic store.

    Parameters
    ----------
    path : a store that `write_busbar` made with at least the options of `FAULTS[name].needs`.
    name : a name of `FAULTS`.

    Returns
    -------
    Planted : the codes to expect and the place.

    Raises
    ------
    UsageError : no such fault, or the store is of another generation or form than the fault needs.
    """
    if name not in FAULTS:
        raise UsageError(f"fault {name}", f"expected one of {', '.join(FAULTS)}", "")
    fault = FAULTS[name]
    with _opened(Path(path)) as connection:
        (generation,) = connection.execute("PRAGMA user_version").fetchone()
        require_generation(fault, generation, fault.generations)
        return _applied(fault, connection)


def plant_rows(path: str | Path, name: str, generation: int) -> Planted:
    """Plant one fault in rows that are about to be copied to PostgreSQL; `copy_rows` does the rest of it there.

    Parameters
    ----------
    path : a store as for `plant`. name : a name of `ON_POSTGRES`. generation : of both stores.

    Returns
    -------
    Planted : what an audit of the store on PostgreSQL must say.

    Raises
    ------
    UsageError : no such fault on that engine, or not in that generation, or the store has not the form it needs.
    """
    fault = on_postgres(name, generation)
    way = fault.on_postgres
    short = codes(*way.short.split())
    if not way.rows:
        return Planted(short, outcome="could_not_run" if short == codes("S05") else "finding")
    with _opened(Path(path)) as connection:
        planted = _applied(fault, connection)
    return replace(planted, codes=short or planted.codes)


def on_postgres(name: str, generation: int) -> Fault:
    """Return a fault that a PostgreSQL store of this generation can have.

    Raises
    ------
    UsageError : there is none of that name, with the reason where SQLite has one.
    """
    if name not in ON_POSTGRES:
        why = f"expected one of {', '.join(ON_POSTGRES)}"
        if name in FAULTS:
            why = FAULTS[name].on_postgres.absent or "only in generations, or after upgrades, that it has not there"
        raise UsageError(f"fault {name} on PostgreSQL: {why}")
    require_generation(ON_POSTGRES[name], generation, ON_POSTGRES[name].on_postgres_in)
    return ON_POSTGRES[name]


def require_generation(fault: Fault, generation: int, known: Collection[int]) -> None:
    """Prove that a fault can be planted in a generation.

    Raises
    ------
    UsageError : it cannot.
    """
    if generation not in known:
        wanted = ", ".join(map(str, known))
        raise UsageError(
            f"fault {fault.name} in a store of generation {generation}",
            f"expected generation {wanted}",
            "use another one",
        )


def _applied(fault: Fault, connection: sqlite3.Connection) -> Planted:
    try:
        return fault.apply(connection)
    except LookupError as error:
        needs = ", ".join(f"{k}={v}" for k, v in fault.needs.items()) or "more records"
        raise UsageError(
            f"fault {fault.name}: {error}", f"expected a store with {needs}", "write such a store"
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise NotAStore(f"{path} is not a file", "expected a synthetic store", "write one first")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        yield connection
