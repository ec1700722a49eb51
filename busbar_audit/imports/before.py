"""An earlier store held against the one under audit: its legacy rows, or where its typed rows went."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from busbar_audit.errors import UsageError
from busbar_audit.imports import planes
from busbar_audit.store import Store, open_store
from busbar_audit.target import Target
from busbar_audit.warehouse import Warehouse

ROWS = (("session_id", "VARCHAR"), ("sequence", "BIGINT"), ("digest", "VARCHAR"))
Named = str | os.PathLike[str] | Target


def fill_before(store: Store, before: Named | None) -> None:
    """Fill ``source.before_rows`` (maka: legacy rows of the earlier store) and ``source.copy_rows`` (busbar: lines of
    `plane_lines`); empty ones where there is no earlier store.

    Raises
    ------
    UsageError : the earlier store is of another family, or none that can be compared with this one.
    """
    _fill(store.warehouse)
    if before is None:
        return
    with open_store(before) as earlier:
        if earlier.family != store.family:
            raise UsageError(
                f"--before is a store of {earlier.family}, the one under audit of {store.family}.",
                "Expected two copies of one store.",
            )
        if store.family == "maka" and "session_messages" in earlier.rows and "session_messages" in store.rows:
            earlier.view("legacy_rows")
            found = earlier.con.execute("SELECT session_id, sequence, digest FROM audit.legacy_rows").fetchall()
            _fill(store.warehouse, rows=found)
        elif store.family == "busbar" and (earlier.engine, store.engine) == ("sqlite", "sqlite"):
            lines = planes.plane_lines(earlier.snapshot.path, store.snapshot.path)
            _fill(store.warehouse, copies=lines)
        else:
            raise UsageError(
                f"--before is {earlier.name}, and nothing of it can be compared with {store.name}.",
                "Expected SQLite stores of a gateway, or workspaces with session_messages.",
            )


def _fill(warehouse: Warehouse, rows: Sequence[Any] = (), copies: Iterable[planes.Line] = ()) -> None:
    warehouse.fill("source.before_rows", ROWS, rows)
    warehouse.fill("source.copy_rows", planes.COLUMNS, copies)
