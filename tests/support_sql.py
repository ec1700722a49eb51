"""The verifier in SQL over many small stores: one opened store whose private copy is written anew each time.

Opening a store and its DuckDB side costs more than all that a small store holds. What is replaced here is the copy's
content only; loading, views and queries are those of every audit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from support_audit import Row, sql_extents

from busbar_audit.store import Store, open_store
from busbar_audit.stores import busbar_shapes

Placed = tuple[str, Mapping[str, Any]]  # table, row


class Invalid(bytes):
    """Bytes to be stored as text, valid UTF-8 or not."""


class SqlVerifier:
    """One store of a generation, filled again and again."""

    def __init__(self, folder: Path, generation: int) -> None:
        empty = folder / f"empty-v{generation}.db"
        with closing(sqlite3.connect(empty)) as con:
            busbar_shapes.create(con, generation, leftovers=True)
        self._empty = empty.read_bytes()
        self.store: Store = open_store(empty)
        self.path = self.store.snapshot.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def fill(self, rows: Iterable[Placed]) -> Self:
        """Put these rows, and no others, into the copy. A row whose place is taken is left out."""
        self.path.unlink()
        self.path.write_bytes(self._empty)
        with closing(sqlite3.connect(self.path, isolation_level=None)) as con:
            con.execute("PRAGMA synchronous = OFF")
            con.execute("BEGIN")
            for table, row in rows:
                row = {"request_id": "r", **row} if table == "task_events" else row
                marks = ", ".join("CAST(? AS TEXT)" if type(value) is Invalid else "?" for value in row.values())
                con.execute(
                    f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks}) ON CONFLICT DO NOTHING", [*row.values()]
                )
            con.execute("COMMIT")
        self.store.con.execute("DROP SCHEMA audit CASCADE")
        self.store.con.execute("CREATE SCHEMA audit")
        self.store.warehouse.loaded.clear()
        self.store._views = None
        return self

    def extents(self) -> set[Row]:
        """What the verifier in SQL says of the copy."""
        return sql_extents(self.store)

    def faults(self) -> list[tuple[Any, ...]]:
        """Every single fault: population, scope, about, seq."""
        found = self.store.view("chain_faults").select("population", "scope", "about", "seq").fetchall()
        return sorted(found)
