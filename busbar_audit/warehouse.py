"""The DuckDB side of an audit: a file in the private run directory with the store's tables, exact.

Schemas: ``raw`` (the store's tables and ``raw.rejects``), ``source`` (its catalog), ``expected`` (the shape of its
generation), ``audit`` (views), ``findings`` (what the checks returned). A table that was not loaded does not exist.

Every ``raw`` table has ``_row`` (rowid, or the position in the order of reading where there is none) and ``_rejected`` (some
value of the row could not be read as what the column holds; it is NULL here and has a line in ``raw.rejects``).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from busbar_audit.errors import WarehouseError
from busbar_audit.payloads.batch import Batch

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 64 << 20
# Of so little, each view may be kept as a table.
SMALL_BYTES = 8 << 20
# Of so little, a statement takes longer to plan than to run. Only those passes of DuckDB's planner stay that move, merge or
# simplify terms, so that a statement means the same to a small and a large store; the others speed up much data alone.
_LITTLE = 1 << 20
_PASSES = frozenset(
    {"filter_pushdown", "filter_pullup", "cte_filter_pusher", "reorder_filter", "expression_rewriter", "deliminator"}
    | {"projection_pullup", "projection_placement", "unused_columns", "cte_inlining", "unnest_rewriter"}
    | {"common_subexpressions", "statistics_propagation"}
)
# A value this wide is rare. Reading JSON of it takes some forty times its size for a moment, counted against the limit.
_WIDE, _WIDE_FACTOR, _MOST = 4 << 20, 50, 4 << 30
# Up to so many rows go in as lists bound to one statement; more take a detour by Arrow, whose import alone costs more.
_FEW = 2000
# Rows that Python makes are put in so many at a time, so that a large store needs no more memory than a small one.
_AT_ONCE = 20_000
_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "blob": "BLOB", "real": "DOUBLE"}
_ROWIDS = ("rowid", "_rowid_", "oid")


def _dispensable(con: duckdb.DuckDBPyConnection) -> str:
    """The planner's passes that a small store does not need, separated by commas."""
    known = con.execute("SELECT name FROM duckdb_optimizers() ORDER BY name").fetchall()
    return ",".join(name for (name,) in known if name not in _PASSES)


def quoted(name: str) -> str:
    """An identifier in double quotes, the same in SQLite and DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def read_only(path: Path) -> sqlite3.Connection:
    """A read-only connection to a private, finished copy; text arrives as bytes."""
    con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    con.text_factory = bytes
    return con


@dataclass(frozen=True)
class SourceColumn:
    """A column to load: its name, what it has to hold (text, integer, blob, real), and whether NULL is allowed.

    boolean : the source has true and false where the warehouse has 1 and 0.
    """

    name: str
    kind: str
    nullable: bool
    boolean: bool = False


@dataclass(frozen=True)
class SourceTable:
    """A table to load. ``key`` names the primary key where the table has no rowid; there : its name in the copy, if another."""

    name: str
    columns: tuple[SourceColumn, ...]
    key: tuple[str, ...] = ()
    there: str = ""

    @property
    def place(self) -> str:
        """Its name in the copy, quoted."""
        return quoted(self.there or self.name)


@dataclass(frozen=True)
class Loaded:
    """What was loaded of a table: rows, rejected rows, seconds."""

    table: str
    rows: int
    rejected: int
    seconds: float


class Warehouse:
    """A DuckDB file with bounded memory (in bytes) in a private directory."""

    def __init__(self, directory: Path, *, memory: int = 450_000_000, threads: int = 2) -> None:
        self.path = directory / "warehouse.duckdb"
        self.con = duckdb.connect(
            config={
                "memory_limit": f"{memory}B",
                # Of a small store a second thread is only waited for; `_grown` lets more in.
                "threads": 1,
                "temp_directory": str(directory / "spill"),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        # The file lives for one run: a log to recover it by would only be written, and compression costs half the time.
        path = str(self.path).replace("'", "''")
        self.con.execute(f"ATTACH '{path}' AS warehouse (RECOVERY_MODE no_wal_writes)")
        self.con.execute("USE warehouse")
        self.con.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.con.execute("SET force_compression = 'uncompressed'")
        self.con.execute(f"SET disabled_optimizers = '{_dispensable(self.con)}'")
        for schema in ("raw", "source", "expected", "audit", "findings"):
            self.con.execute(f"CREATE SCHEMA {schema}")
        self.con.execute(
            "CREATE TABLE raw.rejects (table_name VARCHAR, row_key VARCHAR, column_name VARCHAR, reason VARCHAR)"
        )
        self.loaded: dict[str, Loaded] = {}
        self._bytes, self._threads = 0, threads
        self._memory = self._limit = memory

    @property
    def small(self) -> bool:
        """Whether all that has been loaded is little enough to keep several times over."""
        return self._bytes <= SMALL_BYTES

    def save(self) -> None:
        """Write all to the file, for others to open after `close`; without it the file is not complete."""
        self.con.execute("CHECKPOINT warehouse")

    def close(self) -> None:
        """Close the DuckDB file."""
        self.con.close()

    def fill(self, relation: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any] | Batch]) -> None:
        """Create ``relation`` with the columns (name, DuckDB type) and put the rows in; some may come as a `Batch`."""
        declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
        self.con.execute(f"CREATE OR REPLACE TABLE {relation} ({declared})")
        names, arriving = [name for name, _ in columns], iter(rows)
        going = True
        while going:
            kept: list[tuple[Any, ...]] = []
            going = self._put_batches(relation, names, arriving, kept)
            if kept:
                self._put(relation, columns, kept)

    def _put_batches(
        self, relation: str, names: Sequence[str], rows: Iterator[Sequence[Any] | Batch], kept: list[tuple[Any, ...]]
    ) -> bool:
        """Put batches in and keep the other rows, until these are too many to be kept or, False, there is no more."""
        ended = False

        def batches() -> Iterator[pa.RecordBatch]:
            nonlocal ended
            for row in rows:
                if isinstance(row, Batch):
                    yield _arrow(names, row.columns)
                    continue
                kept.append(tuple(row))
                if len(kept) >= _AT_ONCE:
                    return
            ended = True

        self._put_stream(relation, batches())
        return not ended

    def _put_stream(self, relation: str, batches: Iterator[pa.RecordBatch]) -> None:
        first = next(batches, None)
        if first is not None:
            # Imported here: it costs a tenth of a second that a store of few rows need not pay.
            from busbar_audit import stream

            stream.put(self.con, f"INSERT INTO {relation} SELECT * FROM arriving", chain([first], batches))  # noqa: S608 - names are ours

    def _put_columns(self, relation: str, names: Sequence[str], columns: Iterable[Sequence[Any]]) -> None:
        self._put_stream(relation, iter([_arrow(names, columns)]))

    def _put(self, relation: str, columns: Sequence[tuple[str, str]], data: Sequence[Sequence[Any]]) -> None:
        values = [list(column) for column in zip(*data, strict=True)]
        if len(data) > _FEW:
            self._put_columns(relation, [name for name, _ in columns], values)
        else:
            self.con.execute(f"INSERT INTO {relation} {_side_by_side(columns)}", values)

    def load(self, snapshot: Path, table: SourceTable) -> Loaded:
        """Load one table of a finished SQLite copy into ``raw``, exactly, and count it against the copy.

        Text and blobs come as bytes and are decoded here, so that one invalid byte costs one value, not the table; storage
        classes are compared in SQLite. Values that do not fit are listed in ``raw.rejects``.

        Raises
        ------
        WarehouseError : the table could not be read, or the counts differ.
        """
        try:
            self.loaded[table.name] = self._load(snapshot, table)
        except BaseException:
            # A table that is not loaded does not exist; half of one would be worse.
            self.con.execute(f"DROP TABLE IF EXISTS raw.{quoted(table.name)}")
            raise
        return self.loaded[table.name]

    def _load(self, snapshot: Path, table: SourceTable) -> Loaded:
        started = time.perf_counter()
        with closing(read_only(snapshot)) as con:
            try:
                count, widest = con.execute(_extent_sql(table)).fetchone()
            except sqlite3.DatabaseError as error:
                raise WarehouseError(f"Table {table.name} of the copy cannot be read: {error}.") from error
        try:
            self.con.execute(_create_sql(table))
        except duckdb.CatalogException as error:
            raise WarehouseError(f"Table {table.name} cannot be loaded: {error}.") from error
        self._make_room(widest or 0)
        self._grown(count * (widest or 0))
        if count:
            self._copy(snapshot, table, count, max(1, widest or 1))
        target = f"raw.{quoted(table.name)}"
        loaded, rejected = self.con.execute(
            f"SELECT count(*), count(*) FILTER (_rejected) FROM {target}"  # noqa: S608 - quoted name
        ).fetchone() or (0, 0)
        if loaded != count:
            raise WarehouseError(
                f"Table {table.name}: {loaded} rows loaded, {count} counted in the same copy.",
                "Both have to be equal before anything is judged.",
                "Run the audit again; if it stays, the copy is damaged in a way integrity_check did not show.",
            )
        if rejected:
            self._explain(snapshot, table)
        return Loaded(table.name, loaded, rejected, time.perf_counter() - started)

    def _grown(self, more: int) -> None:
        before, self._bytes = self._bytes, self._bytes + more
        if before <= _LITTLE < self._bytes:
            self.con.execute("RESET disabled_optimizers")
        if before <= SMALL_BYTES < self._bytes:
            self.con.execute(f"SET threads = {self._threads}")

    def _make_room(self, widest: int) -> None:
        """Raise the limit for a store with a very wide row, so that one row does not keep the others from being checked."""
        needed = min(self._memory + _WIDE_FACTOR * widest, _MOST)
        if widest > _WIDE and needed > self._limit:
            self.con.execute(f"SET memory_limit = '{needed}B'")
            self._limit = needed

    def load_batches(self, table: SourceTable, count: int, batches: Iterable[pa.RecordBatch]) -> Loaded:
        """Load a table whose values arrive in their types, as a server that enforces them gives them.

        Parameters
        ----------
        count : rows counted in the same snapshot.
        batches : columns ``_row`` and those of the table, in this order.

        Raises
        ------
        WarehouseError : a batch cannot be stored, or the counts differ.
        """
        started = time.perf_counter()
        self.con.execute(_create_sql(table))
        sql = f"INSERT INTO raw.{quoted(table.name)} SELECT _row, false, * EXCLUDE (_row) FROM arriving"  # noqa: S608
        size = 0

        def weighed() -> Iterator[pa.RecordBatch]:
            nonlocal size
            for batch in batches:
                size += batch.nbytes
                yield batch

        from busbar_audit import stream

        try:
            loaded = stream.put(self.con, sql, weighed())
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise WarehouseError(f"Table {table.name} cannot be stored: {error}.") from error
        self._grown(size)
        if loaded != count:
            raise WarehouseError(
                f"Table {table.name}: {loaded} rows loaded, {count} counted in the same snapshot.",
                "Both have to be equal before anything is judged.",
                "Run the audit again; if it stays, an index of the table may be damaged (amcheck).",
            )
        self.loaded[table.name] = Loaded(table.name, loaded, 0, time.perf_counter() - started)
        return self.loaded[table.name]

    def _copy(self, snapshot: Path, table: SourceTable, count: int, widest: int) -> None:
        if count > _FEW or count * widest > SMALL_BYTES:
            self._copy_stream(snapshot, table, max(1, min(65536, BATCH_BYTES // widest)))
        else:
            self._copy_lists(snapshot, table)

    def _copy_lists(self, snapshot: Path, table: SourceTable) -> None:
        told = ", ".join(f"typeof({quoted(c.name)}), {quoted(c.name)}" for c in table.columns)
        rows: list[list[Any]] = []
        with closing(read_only(snapshot)) as con:
            try:
                for number, *pairs in con.execute(f"SELECT {_row_sql(table)}, {told} FROM {table.place}"):  # noqa: S608
                    rejected, values = False, []
                    for column, kind, value in zip(table.columns, pairs[::2], pairs[1::2], strict=True):
                        wrong = bool(_reason(column, kind.decode(), value))
                        rejected = rejected or wrong
                        plain = value.decode() if column.kind == "text" and value is not None and not wrong else value
                        values.append(None if wrong else plain)
                    rows.append([number, rejected, *values])
            except sqlite3.DatabaseError as error:
                raise WarehouseError(f"Table {table.name} of the copy cannot be loaded: {error}.") from error
        columns = [("_row", "BIGINT"), ("_rejected", "BOOLEAN"), *((c.name, _TYPES[c.kind]) for c in table.columns)]
        try:
            self._put(f"raw.{quoted(table.name)}", columns, rows)
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise WarehouseError(f"Table {table.name} of the copy cannot be loaded: {error}.") from error

    def _copy_stream(self, snapshot: Path, table: SourceTable, batch_rows: int) -> None:
        # Imported here: it costs 0.5 s, pandas included, that a small store need not pay.
        import adbc_driver_sqlite.dbapi as adbc
        import pyarrow as pa

        with (
            adbc.connect(f"{snapshot.absolute().as_uri()}?mode=ro") as source,
            source.cursor(adbc_stmt_kwargs={"adbc.sqlite.query.batch_rows": str(batch_rows)}) as cursor,
        ):
            try:
                cursor.execute(_select_sql(table))
                reader = cursor.fetch_record_batch()
                self.con.register("arriving", reader)
                self.con.execute(_insert_sql(table))
            except duckdb.InterruptException:
                raise
            except (adbc.Error, duckdb.Error, pa.ArrowException) as error:
                raise WarehouseError(f"Table {table.name} of the copy cannot be loaded: {error}.") from error
            finally:
                self.con.unregister("arriving")

    def _explain(self, snapshot: Path, table: SourceTable) -> None:
        """Write one line per value that did not fit."""
        rejects = []
        with closing(read_only(snapshot)) as con:
            classes = ", ".join(f"typeof({quoted(c.name)}), {quoted(c.name)}" for c in table.columns)
            rows = self.con.execute(
                f"SELECT _row FROM raw.{quoted(table.name)} WHERE _rejected ORDER BY _row"  # noqa: S608
            ).fetchall()
            wanted = {row[0] for row in rows}
            sql = f"SELECT {_row_sql(table)}, {classes} FROM {table.place}"  # noqa: S608
            for row in con.execute(sql):
                if row[0] not in wanted:
                    continue
                values = list(zip(row[1::2], row[2::2], strict=True))
                for column, (kind, value) in zip(table.columns, values, strict=True):
                    reason = _reason(column, kind.decode(), value)
                    if reason:
                        rejects.append((table.name, _row_key(table, row[0], values), column.name, reason))
        self.con.executemany("INSERT INTO raw.rejects VALUES (?, ?, ?, ?)", rejects)


def _arrow(names: Sequence[str], columns: Iterable[Sequence[Any]]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.record_batch({name: pa.array(column) for name, column in zip(names, columns, strict=True)})


def _row_sql(table: SourceTable) -> str:
    if table.key:
        # No rowid: the scan of such a table is in primary key order, and so is this number.
        return "row_number() OVER ()"
    taken = {column.name.lower() for column in table.columns}
    return next(name for name in _ROWIDS if name not in taken)


def _extent_sql(table: SourceTable) -> str:
    wide = [f"coalesce(length(CAST({quoted(c.name)} AS BLOB)), 0)" for c in table.columns if c.kind in ("text", "blob")]
    return f"SELECT count(*), max({' + '.join(['64', *wide])}) FROM {table.place}"  # noqa: S608


def _any_null(column: SourceColumn) -> bool:
    """Whether a NULL needs no mark of its own: it is allowed, and arrives as NULL."""
    return column.nullable and column.kind == "integer"


def _select_sql(table: SourceTable) -> str:
    # One number tells the classes of all values of a row: a column each for that would double what is carried over.
    bits = [f"(typeof({quoted(c.name)}) = '{c.kind}')" for c in table.columns]
    bits += [f"({quoted(c.name)} IS NULL)" for c in table.columns if c.nullable]
    told = " + ".join(f"({bit} << {n})" for n, bit in enumerate(bits))
    # Nearly every row is all right, and is told so by one comparison a column.
    right = [f"typeof({quoted(c.name)}) = '{c.kind}'" for c in table.columns]
    right = [
        f"({r} OR {quoted(c.name)} IS NULL)" if _any_null(c) else r for c, r in zip(table.columns, right, strict=True)
    ]
    parts = [f"{_row_sql(table)} AS _row", f"CASE WHEN {' AND '.join(right)} THEN -1 ELSE {told} END AS _is"]
    for column in table.columns:
        name = quoted(column.name)
        if column.kind == "integer":
            parts.append(f"CASE WHEN typeof({name}) = 'integer' THEN {name} END AS {name}")
        elif column.kind == "real":
            # A NULL in the first batch would make the column an integer one.
            parts.append(f"CASE WHEN typeof({name}) = 'real' THEN {name} ELSE 0.0 END AS {name}")
        else:
            parts.append(f"coalesce(CAST({name} AS BLOB), x'') AS {name}")
    return f"SELECT {', '.join(parts)} FROM {table.place}"  # noqa: S608


def _side_by_side(columns: Sequence[tuple[str, str]]) -> str:
    """A SELECT of one list a column, bound by position: its rows are those of the lists side by side."""
    return "SELECT " + ", ".join(f"unnest(CAST(? AS {kind}[])) AS {quoted(name)}" for name, kind in columns)


def _insert_sql(table: SourceTable) -> str:
    inner, lost, null = [], [], len(table.columns)
    for n, column in enumerate(table.columns):
        name, right = quoted(column.name), f"(_is & {1 << n}) <> 0"
        if column.nullable:
            lost.append(f"(_is & {1 << n | 1 << null}) = 0")
            null += 1
        else:
            lost.append(f"(_is & {1 << n}) = 0")
        if column.kind == "integer":
            inner.append(f"CAST({name} AS BIGINT) AS {name}")
            continue
        value = f"TRY(decode({name}))" if column.kind == "text" else name
        inner.append(f"CASE WHEN {right} THEN {value} END AS {name}")
        if column.kind == "text":
            lost.append(f"({right} AND {name} IS NULL)")
    names = ", ".join(quoted(column.name) for column in table.columns)
    return (
        f"INSERT INTO raw.{quoted(table.name)} SELECT _row, {' OR '.join(lost)}, {names} "  # noqa: S608
        f"FROM (SELECT _row, _is, {', '.join(inner)} FROM arriving)"
    )


def _create_sql(table: SourceTable) -> str:
    columns = ", ".join(f"{quoted(c.name)} {_TYPES[c.kind]}" for c in table.columns)
    return f"CREATE OR REPLACE TABLE raw.{quoted(table.name)} (_row BIGINT, _rejected BOOLEAN, {columns})"


def _reason(column: SourceColumn, kind: str, value: object) -> str:
    if kind == "null" and column.nullable:
        return ""
    if kind != column.kind:
        return f"storage class {kind}, expected {column.kind}"
    if kind == "text" and isinstance(value, bytes):
        try:
            value.decode("utf-8")
        except UnicodeDecodeError as error:
            return f"not valid UTF-8 at byte {error.start} of {len(value)}"
    return ""


def _row_key(table: SourceTable, row: int, values: list[tuple[bytes, object]]) -> str:
    if not table.key:
        return str(row)
    by_name = {column.name: value for column, (_, value) in zip(table.columns, values, strict=True)}
    return " / ".join(
        part.decode("utf-8", "backslashreplace") if isinstance(part, bytes) else str(part)
        for part in (by_name[name] for name in table.key)
    )
