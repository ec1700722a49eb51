"""A store under audit: its private copy, what it was recognised as, and the DuckDB side where its tables are."""

from __future__ import annotations

import html
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import duckdb

from busbar_audit.errors import NotADatabase, UnknownFamily, UsageError
from busbar_audit.rundir import run_directory
from busbar_audit.snapshot.connect import primary_code
from busbar_audit.snapshot.sqlite import Snapshot, take_snapshot
from busbar_audit.stores import busbar
from busbar_audit.stores.busbar import Generation
from busbar_audit.stores.shapes import Difference, Shape, TableShape, differences, read
from busbar_audit.target import Target, parse_target
from busbar_audit.text import printable
from busbar_audit.views import Views
from busbar_audit.warehouse import Loaded, SourceColumn, SourceTable, Warehouse, quoted

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {"INTEGER": "integer", "INT": "integer", "TEXT": "text", "BLOB": "blob", "REAL": "real"}

Progress = Callable[[str], None]


def open_store(
    target: str | os.PathLike[str] | Target, *, family: str | None = None, progress: Progress | None = None
) -> Store:
    """Take a private copy of the store that `target` names and recognise it.

    Parameters
    ----------
    target : a SQLite file, a directory holding one, or ``env:NAME``.
    family : accept only this family.
    progress : called with a line of text at each longer step.

    Returns
    -------
    Store, to be closed (it is a context manager); the copy goes with it.

    Raises
    ------
    TargetNotFound, NotADatabase, UnknownFamily, SnapshotError : see their texts.
    """
    say = progress or (lambda _: None)
    named = target if isinstance(target, Target) else parse_target(target)
    if family not in (None, busbar.NAME):
        raise UsageError(
            f"Family {family!r}.", "This version reads: busbar.", "Leave --family out, or name one of them."
        )
    if named.path is None:
        raise UnknownFamily(
            f"{named.label}: PostgreSQL stores cannot be read by this version.",
            "Expected a SQLite store.",
            "Nothing was checked.",
        )
    with ExitStack() as stack:
        directory = stack.enter_context(run_directory())
        say("taking a private copy")
        snapshot = take_snapshot(named.path, directory)
        say("recognising the store")
        found, stamp, counts = _read(snapshot.path, named.label)
        if not busbar.recognise(found):
            raise UnknownFamily(
                f"{named.label}: {_listing(found.tables)}.",
                "Expected the tables and columns of a busbar store; names alone are not enough.",
                "If this is such a store, its schema is not one known here: nothing was checked.",
            )
        store = Store(named, snapshot, directory, found, stamp, counts)
        store._stack = stack.pop_all()
        return store


def _read(copy: Path, label: str) -> tuple[Shape, int, dict[str, int]]:
    try:
        with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as con:
            found = read(con)
            stamp = con.execute("PRAGMA user_version").fetchone()[0]
            return found, stamp, {name: _rows(con, name) for name in found.tables}
    except sqlite3.DatabaseError as error:
        raise NotADatabase(
            f"{label}: SQLite cannot read the schema of the copy: {error}.",
            "Expected a readable SQLite database.",
            "The file is damaged, encrypted or cut short. Nothing was checked; restore it from a backup.",
        ) from error


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


class Store:
    """An opened store.

    Attributes
    ----------
    target : what the user named. snapshot : the private copy and how it was taken.
    family, engine : ``busbar``, ``sqlite``. generation : stamp, implied by shape, taken.
    found, expected : shapes; expected is None where the generation is not known. differences : of the two.
    rows : table name to number of rows in the copy.
    """

    def __init__(
        self, target: Target, snapshot: Snapshot, directory: Path, found: Shape, stamp: int, rows: dict[str, int]
    ) -> None:
        self.target, self.snapshot, self.directory = target, snapshot, directory
        self.family, self.engine = busbar.NAME, busbar.ENGINE
        self.found, self.rows = found, rows
        self.generation: Generation = busbar.generation(found, stamp)
        taken = self.generation.taken
        self.expected: Shape | None = busbar.expected(taken) if taken is not None else None
        self.differences: tuple[Difference, ...] = differences(self.expected, found) if self.expected else ()
        self._stack = ExitStack()
        self._warehouse: Warehouse | None = None
        self._views: Views | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the private copy and everything made from it."""
        if self._warehouse is not None:
            self._warehouse.close()
            self._warehouse = None
        self._stack.close()

    @property
    def name(self) -> str:
        """What the store is called in reports: family, engine and generation."""
        number = self.generation.taken
        return f"{self.family} {self.engine} " + (f"v{number}" if number is not None else "of unknown generation")

    @property
    def warehouse(self) -> Warehouse:
        """The DuckDB side, opened when first asked for."""
        if self._warehouse is None:
            self._warehouse = Warehouse(self.directory)
        return self._warehouse

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection; load tables first, by an audit or `load`."""
        return self.warehouse.con

    @property
    def views(self) -> Views:
        """The views of schema ``audit`` that this store can have."""
        if self._views is None:
            number = self.generation.taken if self.generation.taken is not None else -1
            # Filled by an audit's fast verifier; without one nothing is cleared and SQL looks at every chain.
            self.warehouse.fill("source.cleared_calls", [("scope", "VARCHAR")], [])
            self._views = Views(self.con, self.family, self.engine, number, self.found.tables)
        return self._views

    def missing_tables(self) -> tuple[str, ...]:
        """Tables the generation has and the store has not."""
        return tuple(sorted(d.table for d in self.differences if d.kind == "table-missing"))

    def state_of(self, table: str) -> str:
        """What a table is to this generation: expected, left over, legacy or unknown."""
        if self.expected is None:
            return "unknown"
        if table in self.expected.tables:
            return "expected"
        if table in self.expected.optional_tables:
            return "left over"
        return "legacy" if table in self.expected.legacy_tables else "unknown"

    def load(self, *tables: str) -> dict[str, Loaded]:
        """Load tables into schema ``raw`` (all known ones if none is named); those already there are kept.

        Raises
        ------
        WarehouseError : a table could not be loaded exactly.
        """
        wanted = tables or tuple(name for name in self.found.tables if self.state_of(name) != "unknown")
        for name in sorted(wanted):
            if name in self.found.tables and name not in self.warehouse.loaded:
                self.warehouse.load(self.snapshot.path, self._source_table(name))
        return self.warehouse.loaded

    def _source_table(self, name: str) -> SourceTable:
        there = self.found.tables[name]
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
        return SourceTable(name, tuple(columns), key if there.without_rowid else ())

    def _known_shape(self, name: str) -> TableShape | None:
        """The table's shape in its generation, or in the newest that had it."""
        numbers = [self.generation.taken] if self.generation.taken is not None else []
        for number in [*numbers, *range(busbar.NEWEST, 4, -1)]:
            shape = busbar.expected(number)
            if table := {**shape.optional_tables, **shape.tables}.get(name):
                return table
        return None

    def tables(self) -> pd.DataFrame:
        """What there is to query: columns schema, name, rows (int or NA), about."""
        import pandas as pd

        lines: list[tuple[str, str, Any, str]] = [
            ("raw", name, self.rows[name], f"the store's table ({self.state_of(name)})") for name in sorted(self.rows)
        ]
        lines += [("audit", name, pd.NA, self.views.about(name)) for name in self.views.names()]
        return pd.DataFrame(lines, columns=["schema", "name", "rows", "about"])

    def view(self, name: str) -> duckdb.DuckDBPyRelation:
        """A view of schema ``audit`` by name, made with all it needs: `store.view("calls").df()`."""
        self.load(*self.views.tables_of(f"audit.{name}"))
        self.views.make(f"audit.{name}", {})
        return self.con.table(f"audit.{name}")

    def __repr__(self) -> str:
        return f"<Store {self.name}: {printable(self.target.label)}, {sum(self.rows.values())} rows>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(printable(name))}</td><td style='text-align:right'>{count:,}</td></tr>"
            for name, count in sorted(self.rows.items())
        )
        return (
            f"<p><b>{html.escape(self.name)}</b> · {html.escape(printable(self.target.label))}<br>copy taken "
            f"{self.snapshot.taken_at:%Y-%m-%d %H:%M:%S} UTC by {html.escape(self.snapshot.method)}, SHA-256 "
            f"<code>{self.snapshot.sha256[:16]}…</code></p><table><tr><th>table</th><th>rows</th></tr>{rows}</table>"
        )
