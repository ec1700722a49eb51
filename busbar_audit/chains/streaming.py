"""The streaming verifier: one pass over the snapshot itself in key order, a chain at a time.

It shares nothing with the verifier in SQL, neither code nor load, so that the two can judge each other. Memory holds
one batch of rows, the extents of the current chain, and the hashes at its current and previous seq.

A row without a place (its seq is no integer, or its scope is no valid UTF-8 text) is only counted, as ``undecodable``,
in the outcome of the scope it names; bytes that are no text are named with replacement characters. Such an outcome
stands beside the one of a healthy scope that happens to have the same name.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from busbar_audit.chains import records
from busbar_audit.chains.outcome import ChainOutcome, Extents
from busbar_audit.chains.records import Record

ORDER_TOLERANCE = 300
_BATCH_BYTES = 16 << 20  # a batch ends early when bodies are huge
is_digest = re.compile(r"[0-9a-f]{64}").fullmatch


class _Source(NamedTuple):
    """How one table is read: columns with their storage classes, and what decodes a row."""

    table: str
    scope: str | None
    columns: tuple[tuple[str, str], ...]
    decode: Callable[..., Record | None]


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, "integer" if name in ("seq", "ts") else "text") for name in text.split())


_AUDIT = _Source(
    "audit_log",
    None,
    _columns("seq ts action resource outcome principal prev_hash hash"),
    records.audit_entry,
)
_CALLS = _Source("mcp_calls", "principal", _columns("principal seq ts prev_hash hash body"), records.mcp_call)
_EVENTS = _Source(
    "task_events",
    "task_id",
    _columns("task_id seq ts kind context_id principal agent_id state prev_hash hash"),
    records.task_event,
)
_PLANE_COLUMNS = (*_columns("parent seq"), ("body", "blob"))


def connect(snapshot: Path) -> sqlite3.Connection:
    """Open a finished snapshot for reading, without a file appearing beside it.

    A copy of a WAL store still says WAL in its header, and SQLite then creates ``-shm`` and ``-wal`` files. The
    snapshot is private and complete: where no ``-wal`` with content stands beside it, it is opened as the immutable
    file it is.
    """
    uri = snapshot.resolve().as_uri() + "?mode=ro"
    wal = snapshot.with_name(snapshot.name + "-wal")
    with snapshot.open("rb") as file:
        in_wal_mode = file.read(20)[18:20] == b"\2\2"
    if in_wal_mode and not (wal.exists() and wal.stat().st_size):
        uri += "&immutable=1"
    con = sqlite3.connect(uri, uri=True, isolation_level=None)
    con.execute("PRAGMA query_only = ON")
    return con


def verify(snapshot: Path, *, order_tolerance: int = ORDER_TOLERANCE, batch: int = 1000) -> Iterator[ChainOutcome]:
    """Verify every chain of a SQLite snapshot.

    Parameters
    ----------
    snapshot : the finished private copy; nothing is written to it or beside it.
    order_tolerance : seconds by which a time may go back (sheet 12.2, C10).
    batch : rows taken from SQLite at a time; the outcomes do not depend on it.

    Yields
    ------
    ChainOutcome
        Populations in the order audit_log, mcp_calls, task_events, then the plane kinds audit, call, task_event; scopes
        in byte order. A table that does not exist yields nothing.

    Notes
    -----
    Rules of sheet 4.7, 4.8 and 12.2, C01 to C06, C08 and C10. Records of one seq stay in storage order.
    """
    with closing(connect(snapshot)) as con:
        con.text_factory = bytes
        for source in (_AUDIT, _CALLS, _EVENTS):
            yield from _verify_table(con, source, order_tolerance, batch)
        for kind in ("audit", "call", "task_event"):
            yield from _verify_table(con, _plane(kind), order_tolerance, batch, kind)


def verify_calls(
    con: sqlite3.Connection, *, order_tolerance: int = ORDER_TOLERANCE, principal: str | None = None, batch: int = 1000
) -> Iterator[ChainOutcome]:
    """Verify the chains of mcp_calls, or the one of `principal`, over a connection with `text_factory` bytes."""
    yield from _verify_table(con, _CALLS, order_tolerance, batch, principal=principal)


def _plane(kind: str) -> _Source:
    def decode(parent: bytes | None, seq: int | None, body: bytes | None) -> Record | None:
        return records.plane_record(kind, parent, seq, body)

    return _Source("plane_records", "parent", _PLANE_COLUMNS, decode)


# ---- reading ---------------------------------------------------------------------------------------------------------


def table_shape(con: sqlite3.Connection, table: str) -> tuple[dict[str, int], bool] | None:
    """Columns of a table with their place in the primary key (0 = none), and whether it has rowids; None if absent."""
    found = con.execute("SELECT wr FROM pragma_table_list(?) WHERE schema = 'main' AND type = 'table'", (table,))
    row = found.fetchone()
    if row is None:
        return None
    info = con.execute("SELECT CAST(name AS TEXT), pk FROM pragma_table_info(?)", (table,))
    names = {(name if isinstance(name, str) else name.decode(errors="replace")): pk for name, pk in info}
    return names, not row[0]


def _select(source: _Source, columns: dict[str, int], has_rowid: bool, where: list[str]) -> str:
    # A column that a damaged table lacks is read as NULL: never of the right class, so never usable.
    parts = [
        f"CASE WHEN typeof({name}) = '{cls}' THEN {name} END" if name in columns else "NULL"
        for name, cls in source.columns
    ]
    scope = source.scope if source.scope in columns else "NULL"
    parts += [
        f"typeof({scope}) = 'text'",
        f"CASE typeof({scope}) WHEN 'text' THEN {scope} ELSE CAST({scope} AS BLOB) END",
    ]
    keys = [f"{name} COLLATE BINARY" for name in (source.scope, "seq") if name in columns]
    keys += ["rowid"] if has_rowid else sorted((name for name in columns if columns[name]), key=columns.__getitem__)
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {', '.join(parts)} FROM {source.table}{condition} ORDER BY {', '.join(keys)}"  # noqa: S608


def _batches(cursor: sqlite3.Cursor, batch: int) -> Iterator[list[tuple[Any, ...]]]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in cursor:
        rows.append(row)
        size += sum(len(value) for value in row if type(value) is bytes)
        if len(rows) >= batch or size >= _BATCH_BYTES:
            yield rows
            rows, size = [], 0
    yield rows


def _verify_table(
    con: sqlite3.Connection,
    source: _Source,
    tolerance: int,
    batch: int,
    kind: str | None = None,
    principal: str | None = None,
) -> Iterator[ChainOutcome]:
    shape = table_shape(con, source.table)
    if shape is None:
        return
    columns, has_rowid = shape
    where, values = [], []
    if kind is not None:
        if not {"kind", "parent"} <= columns.keys():
            return
        where, values = ["kind = ?", "parent IS NOT NULL"], [kind]
    if principal is not None:
        where, values = ["principal = ? COLLATE BINARY"], [principal]
    cursor = con.execute(_select(source, columns, has_rowid, where), values)
    population = kind or source.table
    chain: _Chain | None = None
    at: tuple[int, bytes] | None = None
    for rows in _batches(cursor, batch):
        for *fields, is_text, scope in rows:
            if chain is None or at != (is_text, scope):
                if chain is not None:
                    yield chain.outcome()
                name = source.table if source.scope is None else (scope or b"").decode(errors="replace")
                chain, at = _Chain(population, name, tolerance), (is_text, scope)
            record = source.decode(*fields)
            if record is None:
                chain.count_unplaced(fields[[name for name, _ in source.columns].index("seq")])
            else:
                chain.add(record)
    if chain is not None:
        yield chain.outcome()


# ---- judging ---------------------------------------------------------------------------------------------------------


def record_faults(record: Record) -> list[str]:
    """Faults that one record shows without its neighbours."""
    found = []
    seq, prev, stored = record.seq, record.prev_hash, record.hash
    if record.recomputed is None:
        found.append("undecodable")
    elif record.recomputed != stored:
        found.append("content")
    if prev and seq == 1:
        found.append("genesis")
    if prev == "" and seq > 1:
        found.append("restart")
    if (stored is not None and not is_digest(stored)) or (prev and not is_digest(prev)):
        found.append("form")
    return found


class _Chain:
    """The state of one chain while its records come by in order."""

    def __init__(self, population: str, scope: str, tolerance: int) -> None:
        self.population, self.scope, self.tolerance = population, scope, tolerance
        self.extents = Extents()
        self.records = 0
        self.first: Record | None = None
        self.last: Record | None = None
        self.here: set[str] = set()  # hashes at the current seq
        self.before: set[str] = set()  # hashes at the seq right before it, empty after a gap
        self.ts: int | None = None

    def count_unplaced(self, seq: int | None) -> None:
        self.records += 1
        self.extents.add("undecodable", seq, seq)

    def add(self, record: Record) -> None:
        self.records += 1
        seq, prev, add = record.seq, record.prev_hash, self.extents.add
        if self.first is None or self.last is None:
            self.first = record
            if seq > 1:
                add("head-missing", 1, seq - 1, seq - 1)
        elif seq == self.last.seq:
            add("fork", seq, seq)
        else:
            expected = self.last.seq + 1
            self.before = self.here if seq == expected else set()
            self.here = set()
            if seq != expected:
                add("gap-inner", expected, seq - 1, seq - expected)
        # An empty prev_hash after the first record is a restart and not also a broken link.
        if self.before and prev is not None and prev not in self.before and (prev or seq <= 1):
            add("link", seq, seq)
        for about in record_faults(record):
            add(about, seq, seq)
        if record.hash is not None:
            self.here.add(record.hash)
        if record.ts is not None:
            if self.ts is not None and record.ts < self.ts - self.tolerance:
                add("order", seq, seq)
            self.ts = record.ts
        self.last = record

    def outcome(self) -> ChainOutcome:
        first, last = self.first, self.last
        return ChainOutcome(
            self.population,
            self.scope,
            self.records,
            first.seq if first else 0,
            last.seq if last else 0,
            first.prev_hash if first else None,
            last.hash if last else None,
            self.extents.sorted(),
        )
