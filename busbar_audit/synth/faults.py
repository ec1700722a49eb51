"""Single faults for synthetic busbar stores, each with the exact finding codes it must raise.

Every fault leaves the rest of the store consistent: guards are dropped and put back word for word, and a forged chain
is sealed again where the fault asks for a self-consistent one.

Limits that no audit of one store can see, so there is no fault for them: a truncated tail of a call or audit chain, a
whole chain that is gone (no witness: BUS-C12), a changed `request_id` (no digest covers it; BUS-M02 only when the body
is no longer canonical), a whole chain forged and sealed again from its first record.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from busbar_audit.errors import NotAStore, UsageError
from busbar_audit.synth import faults_calls, faults_chain, faults_rows, faults_store, faults_tasks
from busbar_audit.synth.fault import Fault, Planted

__all__ = ["FAULTS", "Fault", "Planted", "plant"]

FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for group in (
        faults_chain.FAULTS,
        faults_calls.FAULTS,
        faults_tasks.FAULTS,
        faults_rows.FAULTS,
        faults_store.FAULTS,
    )
    for fault in group
}


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
        if generation not in fault.generations:
            wanted = ", ".join(map(str, fault.generations))
            raise UsageError(
                f"fault {name} in a store of generation {generation}",
                f"expected generation {wanted}",
                "use another one",
            )
        try:
            return fault.apply(connection)
        except LookupError as error:
            needs = ", ".join(f"{k}={v}" for k, v in fault.needs.items()) or "more records"
            raise UsageError(
                f"fault {name}: {error}", f"expected a store with {needs}", "write such a store"
            ) from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise NotAStore(f"{path} is not a file", "expected a synthetic store", "write one first")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        yield connection
