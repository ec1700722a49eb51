"""A store under audit: its snapshot, what it was recognised as, and the DuckDB side where its tables are."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import duckdb

from busbar_audit.errors import UsageError
from busbar_audit.origin import origin
from busbar_audit.rundir import run_directory
from busbar_audit.sources.base import Source
from busbar_audit.sources.description import describe
from busbar_audit.sources.sqlite import SqliteSource
from busbar_audit.stores import NAMES, generation_name
from busbar_audit.stores.family import Generation
from busbar_audit.stores.shapes import Difference, Shape
from busbar_audit.target import Target, parse_target
from busbar_audit.text import printable
from busbar_audit.views import Views
from busbar_audit.warehouse import Loaded, Warehouse
from busbar_audit.witness import FILE_COLUMNS, LINE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

# Stands for the generation of a store that is newer than known: views that need none of its tables are made for it.
UNKNOWN = 999

Progress = Callable[[str], None]
Named = str | os.PathLike[str] | Target


def find_stores(target: Named, *, family: str | None = None, schema: str | None = None) -> list[Target]:
    """Every store of a target, each as a target of its own: a PostgreSQL database may hold some in each of its schemas.

    Parameters
    ----------
    family : of this family and no other.
    schema : PostgreSQL only: in this one and no other.

    Raises
    ------
    UsageError : a schema for a SQLite target. SnapshotError, NotAStore : the server cannot be asked.
    """
    named = target if isinstance(target, Target) else parse_target(target)
    _known(family)
    if schema is not None:
        named = named.in_schema(schema)
    if named.conninfo is None:
        return [named]
    from busbar_audit.sources.postgres import find_schemas

    found = [
        replace(named.in_schema(place), family=kind)
        for place, kind in find_schemas(named.conninfo, family)
        if named.schema in (None, place)
    ]
    # None found: the store itself says so when it is opened.
    return found or [named]


def _known(family: str | None) -> None:
    if family is not None and family not in NAMES:
        raise UsageError(
            f"Family {family!r}.",
            f"This version reads: {', '.join(NAMES)}.",
            "Leave --family out, or name one of them.",
        )


def open_store(
    target: Named, *, family: str | None = None, schema: str | None = None, progress: Progress | None = None
) -> Store:
    """Take a snapshot of the store that `target` names and recognise it.

    Parameters
    ----------
    target : a SQLite file, a directory holding one, ``postgresql://…``, ``service=NAME`` or ``env:NAME``.
    family : accept only this family.
    schema : PostgreSQL only: where the store is, if the database holds several.
    progress : called with a line of text at each longer step.

    Returns
    -------
    Store, to be closed (it is a context manager); what was copied goes with it.

    Raises
    ------
    UsageError, TargetNotFound, NotADatabase, NotAStore, UnknownFamily, SnapshotError : see their texts.
    """
    say = progress or (lambda _: None)
    named = target if isinstance(target, Target) else parse_target(target)
    if schema is not None:
        named = named.in_schema(schema)
    _known(family)
    family = family or named.family
    with ExitStack() as stack:
        directory = stack.enter_context(run_directory())
        source: Source
        if named.conninfo is not None:
            from busbar_audit.sources.postgres import PostgresSource

            say("beginning the transaction")
            source = found = PostgresSource(named.conninfo, named.label, named.schema, family)
            stack.callback(found.close)
            if named.schema is None:
                named = named.in_schema(found.schema)
        else:
            say("taking a private copy")
            source = SqliteSource(named.sqlite_file(), named.label, directory, family)
        store = Store(named, source, directory)
        store._stack = stack.pop_all()
        return store


class Store:
    """An opened store.

    Attributes
    ----------
    target : what the user named. source : its snapshot and how it is read.
    family, engine : such as ``busbar``; ``sqlite`` or ``postgres``. generation : stamp, implied by shape, taken.
    found, expected : shapes; expected is None where the generation is not known. differences : of the two.
    rows : table name to number of rows in the snapshot, of the tables that may be read.
    """

    def __init__(self, target: Target, source: Source, directory: Path) -> None:
        self.target, self.source, self.directory = target, source, directory
        about = source.about
        self.family, self.engine = about.family.name, about.family.engine
        self.found: Shape = about.found
        self.rows = dict(about.rows)
        self.generation: Generation = about.generation
        self.expected: Shape | None = about.expected
        self.differences: tuple[Difference, ...] = about.differences
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
        return f"{self.family} {self.engine} " + (
            generation_name(self.family, number) if number is not None else "of unknown generation"
        )

    @property
    def location(self) -> str:
        """The place this store is at: the real path, or server, database and schema. Names it for a witness."""
        if self.target.path is not None:
            return str(self.target.path)
        document = self.source.document()
        return "/".join(str(document[key]) for key in ("system_identifier", "database", "schema"))

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
            number = self.generation.taken if self.generation.taken is not None else UNKNOWN
            describe(self.warehouse, self.source, self.rows, self.state_of)
            # Filled by an audit's fast verifier; without one nothing is cleared and SQL looks at every chain.
            self.warehouse.fill("source.cleared_calls", [("scope", "VARCHAR")], [])
            # Filled by an audit with a witness; without one no chain is held against anything.
            self.warehouse.fill("source.witness", LINE_COLUMNS, [])
            self.warehouse.fill("source.witness_file", FILE_COLUMNS, [])
            self._views = Views(
                self.con,
                self.family,
                self.engine,
                number,
                self.rows,
                lambda: self.warehouse.small,
                self.source.about.family.derived,
                self.warehouse.fill,
            )
        return self._views

    @property
    def snapshot(self) -> Any:
        """The snapshot itself: `snapshot.sqlite.Snapshot` or `snapshot.postgres.PostgresSnapshot`."""
        return self.source.snapshot

    def absent(self) -> dict[str, str]:
        """Tables the generation has and this audit has not, each with the reason."""
        gone = {
            d.table: "which the generation has and this store has not"
            for d in self.differences
            if d.kind == "table-missing"
        }
        return gone | {
            name: f"which this role may not read ({why})" for name, why in self.source.about.unreadable.items()
        }

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
        wanted = tables or tuple(name for name in self.rows if self.state_of(name) != "unknown")
        for name in sorted(wanted):
            if name in self.rows and name not in self.warehouse.loaded:
                self.source.load(self.warehouse, name)
        return self.warehouse.loaded

    def tables(self) -> pd.DataFrame:
        """What there is to query: columns schema, name, rows (int or NA), about."""
        import pandas as pd

        lines: list[tuple[str, str, Any, str]] = [
            ("raw", name, self.rows[name], f"the store's table ({self.state_of(name)})") for name in sorted(self.rows)
        ]
        lines += [("audit", name, pd.NA, self.views.about(name)) for name in self.views.names()]
        return pd.DataFrame(lines, columns=["schema", "name", "rows", "about"])

    def view(self, name: str) -> duckdb.DuckDBPyRelation:
        """A view of schema ``audit`` by name, made with all it needs: `store.view("calls").df()`.

        Raises
        ------
        UsageError : it shows what only an audit finds out, and there was none yet.
        """
        self.load(*self.views.tables_of(f"audit.{name}"))
        try:
            self.views.make(f"audit.{name}", {})
        except duckdb.CatalogException as error:
            raise UsageError(
                f"View {name}: {str(error).splitlines()[0]}",
                "Some of schema source is known after an audit only.",
                "Run audit(store) first.",
            ) from error
        return self.con.table(f"audit.{name}")

    def __repr__(self) -> str:
        return f"<Store {self.name}: {printable(self.target.label)}, {sum(self.rows.values())} rows>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(printable(name))}</td><td style='text-align:right'>{count:,}</td></tr>"
            for name, count in sorted(self.rows.items())
        )
        taken = f"{self.source.taken_at:%Y-%m-%d %H:%M:%S} UTC"
        return (
            f"<p><b>{html.escape(self.name)}</b> · {html.escape(printable(self.target.label))}<br>"
            f"{html.escape(origin(self.source.document()))}, {taken}</p>"
            f"<table><tr><th>table</th><th>rows</th></tr>{rows}</table>"
        )
