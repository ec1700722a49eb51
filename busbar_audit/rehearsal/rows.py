"""The rows of a store in one phase of a restart proof, whatever the engine: where each stands, its state, its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from busbar_audit.auditing import RestartRow
from busbar_audit.errors import SnapshotError, UsageError
from busbar_audit.sources.postgres import PostgresSource
from busbar_audit.store import Store
from busbar_audit.text import printable
from busbar_audit.warehouse import quoted, read_only

# Tables whose rows are compared: the columns that place a row, and the column of its state.
_TABLES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "audit_log": (("seq",), None),
    "mcp_calls": (("principal", "seq"), None),
    "task_events": (("task_id", "seq"), None),
    "tasks": (("task_id",), "state"),
    "mcp_demotions": (("server",), None),
    "denylist": (("sub",), None),
    "keys": (("id",), None),
    "credentials": (("id",), None),
}
# Tables that hold records of several kinds. Their rows are named by their kind, the same on both engines.
_PLANES = {
    "sqlite": {"plane_records": ("identity", "seq")},
    "postgres": {"plane_records": ("id", "seq"), "plane_chain": ("parent", "seq")},
}


def require_provable(store: Store) -> None:
    """Refuse a store whose rows cannot all be told, before any command is run.

    Raises
    ------
    UsageError : it is of a generation that is not known.
    SnapshotError : a table may not be read.
    """
    if store.generation.taken is None:
        raise UsageError(
            f"A restart proof of {store.name}.",
            f"The generations {store.source.about.family.known} are known.",
            "No command was run.",
        )
    for table in (*_TABLES, *_PLANES[store.engine]):
        if reason := store.source.about.unreadable.get(table):
            raise SnapshotError(
                f"Table {table} cannot be compared: {printable(reason)}.",
                "A role that reads every table of the store.",
                "No command was run.",
            )


def phase_rows(phase: str, store: Store) -> Iterator[RestartRow]:
    """Every row that the proof compares, as the snapshot has it.

    Yields
    ------
    (phase, subject, scope, place, state, digest); state is None for what has no states, the digest is over all columns.
    """
    for table, (key, state) in _TABLES.items():
        if table in store.found.tables:
            for row in _rows(store, table):
                place = tuple(_text(row.get(column)) for column in key)
                condition = _text(row.get(state)) if state else None
                yield phase, table, place[0], " / ".join(place), condition, _digest(row)
    for table, key in _PLANES[store.engine].items():
        if table in store.found.tables:
            for row in _rows(store, table):
                kind, place = _text(row.get("kind")), tuple(_text(row.get(column)) for column in key)
                condition = _body_state(row.get("body")) if kind == "task" else None
                yield phase, f"kind {kind}", place[0], " / ".join(place), condition, _digest(row)


def _rows(store: Store, table: str) -> Iterator[Mapping[str, Any]]:
    if isinstance(store.source, PostgresSource):
        yield from store.source.texts(table)
        return
    with closing(read_only(store.snapshot.path)) as con:
        cursor = con.execute(f"SELECT * FROM {quoted(table)}")  # noqa: S608 - quoted name
        names = [column[0] for column in cursor.description]
        for values in cursor:
            yield dict(zip(names, values, strict=True))


def _digest(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(repr(list(row.items())).encode()).hexdigest()


def _text(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _body_state(body: Any) -> str | None:
    try:
        return str(json.loads(body)["state"])
    except (TypeError, ValueError, KeyError):
        return None
