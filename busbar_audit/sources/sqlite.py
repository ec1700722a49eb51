"""A store in a SQLite file, by way of its finished private copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from busbar_audit.chains.fast import verify_calls
from busbar_audit.errors import NotADatabase, UnknownFamily
from busbar_audit.snapshot.connect import primary_code
from busbar_audit.snapshot.integrity import ForeignKeyViolation, foreign_key_violations, integrity_check
from busbar_audit.snapshot.sqlite import Snapshot, take_snapshot
from busbar_audit.sources.base import About
from busbar_audit.stores import a2a_js, a2a_python, busbar, maka
from busbar_audit.stores.probes import Probe, probe
from busbar_audit.stores.shapes import Shape, TableShape, read
from busbar_audit.text import printable
from busbar_audit.warehouse import Loaded, SourceColumn, SourceTable, Warehouse, quoted

FAMILIES = (busbar.FAMILY, maka.FAMILY, a2a_js.SQLITE, a2a_python.SQLITE)
_NAMES = " or ".join(family.name for family in FAMILIES)
_KINDS = {"INTEGER": "integer", "INT": "integer", "TEXT": "text", "BLOB": "blob", "REAL": "real"}


class SqliteSource:
    """A finished copy of a SQLite store.

    Raises
    ------
    NotADatabase, UnknownFamily, SnapshotError : see their texts.
    """

    def __init__(self, path: Path, label: str, directory: Path, family: str | None = None) -> None:
        self.snapshot: Snapshot = take_snapshot(path, directory)
        self.about = _about(self.snapshot.path, label, family)

    @property
    def taken_at(self) -> datetime:
        """The moment the copy shows."""
        return self.snapshot.taken_at

    def load(self, warehouse: Warehouse, table: str) -> Loaded:
        """Load one table of the copy."""
        return warehouse.load(self.snapshot.path, self._source_table(table))

    def finish(self) -> None:
        """Nothing: the copy stays as long as the store is open."""

    def close(self) -> None:
        """Nothing: the copy goes with its directory."""

    def health(self) -> tuple[list[str], list[ForeignKeyViolation]]:
        """SQLite's own checks."""
        messages = integrity_check(self.snapshot.path)
        return messages, [] if messages else foreign_key_violations(self.snapshot.path)

    def cleared_calls(self) -> list[str]:
        """Principals whose chain in mcp_calls the fast verifier found without any fault."""
        if "mcp_calls" not in self.about.rows:
            return []
        try:
            return [chain.scope for chain in verify_calls(self.snapshot.path) if not chain.extents]
        except sqlite3.DatabaseError:
            # The copy is damaged, or the table is not what it should be: SQL says which, and nothing is cleared.
            return []

    def probes(self) -> list[Probe]:
        """Trials of the triggers."""
        return list(probe(self.snapshot.path, self.about.family.guards, frozenset(self.about.rows)))

    def facts(self) -> Mapping[str, Any]:
        """Journal mode and sizes of the file."""
        state = self.snapshot.source_state
        return {"journal_mode": state.journal_mode, "main_bytes": state.main_bytes, "wal_bytes": state.wal_bytes}

    def document(self) -> dict[str, Any]:
        """The part ``snapshot`` of result.json."""
        snapshot, state = self.snapshot, self.snapshot.source_state
        return {
            "method": snapshot.method,
            "taken_at": snapshot.taken_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "sha256": snapshot.sha256,
            "bytes": snapshot.size,
            "source": {
                "main_bytes": state.main_bytes,
                "wal_bytes": state.wal_bytes,
                "journal_mode": state.journal_mode,
                "shm_changed": state.shm_changed,
            },
        }

    def _source_table(self, name: str) -> SourceTable:
        there = self.about.found.tables[name]
        known = self._known_shape(name)
        wanted = {column.name: column for column in known.columns} if known else {}
        columns = []
        for column in there.columns:
            # A column that no check knows is named by BUS-S06 and stays out: its name may be one of ours.
            if known and column.name not in wanted and not column.pk_position:
                continue
            shape = wanted.get(column.name, column)
            kind = _KINDS.get(shape.type.upper(), "text")
            columns.append(SourceColumn(column.name, kind, not (shape.notnull or shape.pk_position)))
        key = tuple(column.name for column in sorted(there.columns, key=lambda c: c.pk_position) if column.pk_position)
        place = self.about.renamed.get(name, "")
        return SourceTable(name, tuple(columns), key if there.without_rowid else (), place)

    def _known_shape(self, name: str) -> TableShape | None:
        """The table's shape in its generation, or in the newest that had it."""
        family, taken = self.about.family, self.about.generation.taken
        for number in [*([taken] if taken is not None else []), *range(family.newest, family.oldest - 1, -1)]:
            shape = family.expected(number)
            if table := {**shape.optional_tables, **shape.tables}.get(name):
                return table
        return None


def _about(copy: Path, label: str, wanted: str | None) -> About:
    try:
        with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as con:
            found = read(con)
            there = {name: {column.name for column in table.columns} for name, table in found.tables.items()}
            families = [each for each in FAMILIES if each.recognise(each.own(there))]
            family = next((each for each in families if wanted in (None, each.name)), None)
            if family is None:
                raise UnknownFamily(
                    f"{label}: {_listing(found.tables)}.",
                    f"Expected the tables and columns of a {wanted or _NAMES} store; names alone are not enough.",
                    "If this is such a store, its schema is not one known here: nothing was checked.",
                )

            renamed = family.renamed(there)
            found = _renamed(found, renamed)

            def ask(query: Any, *values: Any) -> list[tuple[Any, ...]]:
                return con.execute(query, values).fetchall()

            generation = family.generation(found, family.stamp(ask, found, ""))
            expected = family.expected(generation.taken) if generation.taken is not None else None
            return About(
                family,
                generation,
                found,
                expected,
                family.differences(expected, found) if expected else (),
                {
                    name: 0 if table.virtual else _rows(con, renamed.get(name, name))
                    for name, table in found.tables.items()
                },
                {},
                {},
                family.facts(ask, found, ""),
                renamed,
            )
    except sqlite3.DatabaseError as error:
        raise NotADatabase(
            f"{label}: SQLite cannot read the schema of the copy: {error}.",
            "Expected a readable SQLite database.",
            "The file is damaged, encrypted or cut short. Nothing was checked; restore it from a backup.",
        ) from error


def _renamed(found: Shape, renamed: Mapping[str, str]) -> Shape:
    """The shape with its tables under the family's names; one that has such a name and is another goes without."""
    if not renamed:
        return found
    here = {there: name for name, there in renamed.items()}
    tables = {
        here.get(name, name): replace(table, name=here.get(name, name))
        for name, table in found.tables.items()
        if name in here or name not in renamed
    }
    return replace(found, tables=tables)


def _rows(con: sqlite3.Connection, table: str) -> int:
    """Rows of a table; of a damaged one those before the damage, so that its integrity can still be told."""
    try:
        count: int = con.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()[0]  # noqa: S608 - quoted name
        return count
    except sqlite3.DatabaseError as error:
        if primary_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
    count = 0
    with suppress(sqlite3.DatabaseError):
        for _ in con.execute(f"SELECT 1 FROM {quoted(table)}"):  # noqa: S608
            count += 1
    return count


def _listing(tables: Iterable[str]) -> str:
    names = sorted(printable(name) for name in tables)
    if not names:
        return "a SQLite database without a table"
    return f"a SQLite database with the tables {', '.join(names[:8])}{' …' if len(names) > 8 else ''}"
