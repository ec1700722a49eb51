"""Records of a chain with their digests recomputed by the reference recipes, and what they show together.

The recipes are those of the streaming verifier: they share nothing with the SQL that made the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import duckdb

from busbar_audit.chains import records
from busbar_audit.chains.records import Record

Stored = Mapping[str, Any]
# population: relation, its columns in the order of the decoder, and the decoder
_SOURCES: Mapping[str, tuple[str, tuple[str, ...], Callable[..., Record | None]]] = {
    "mcp_calls": ("raw.mcp_calls", ("principal", "seq", "ts", "prev_hash", "hash", "body"), records.mcp_call),
    "audit_log": (
        "raw.audit_log",
        ("seq", "ts", "action", "resource", "outcome", "principal", "prev_hash", "hash"),
        records.audit_entry,
    ),
    "task_events": (
        "raw.task_events",
        ("task_id", "seq", "ts", "kind", "context_id", "principal", "agent_id", "state", "prev_hash", "hash"),
        records.task_event,
    ),
}
_PLANES = ("audit", "call", "task_event")
_PLANE_COLUMNS = ("parent", "seq", "body")


def recomputed(con: duckdb.DuckDBPyConnection, population: str, row: int) -> tuple[str | None, dict[str, Any]]:
    """The digest of a stored record by its own fields, and these fields as they are stored (text, int, None).

    Returns
    -------
    None for the digest where the record cannot be decoded.
    """
    columns: tuple[str, ...] = _PLANE_COLUMNS
    if population in _PLANES:
        found = con.execute(
            f"SELECT {', '.join(columns)} FROM audit.plane_rows WHERE _row = $row AND kind = $kind",  # noqa: S608 - names are ours
            {"row": row, "kind": population},
        ).fetchone()
    else:
        relation, columns, _ = _SOURCES[population]
        found = con.execute(f"SELECT {', '.join(columns)} FROM {relation} WHERE _row = $row", {"row": row}).fetchone()  # noqa: S608
    stored = {name: _text(value) for name, value in zip(columns, found or [None] * len(columns), strict=True)}
    return digest(population, stored), stored


def digest(population: str, stored: Stored) -> str | None:
    """The digest of a record by its stored fields; None where it cannot be decoded."""
    if population in _PLANES:
        record = records.plane_record(population, *(_bytes(stored[name]) for name in _PLANE_COLUMNS))
    else:
        _, columns, decode = _SOURCES[population]
        record = decode(*(_bytes(stored[name]) for name in columns))
    return None if record is None else record.recomputed


def knows(population: str) -> bool:
    """Whether a population's digests can be recomputed here."""
    return population in _SOURCES or population in _PLANES


def shows(chain: Sequence[Stored]) -> list[list[str]]:
    """What each of some records of one chain shows beside the others.

    Parameters
    ----------
    chain : records of one chain with seq, prev_hash, hash, recomputed, by seq.

    Returns
    -------
    For each: ``content`` (its digest is not that of its fields), ``undecodable``, ``link`` (the record before is here, and
    its hash is not what this one names), ``not shown`` (the record before is not here), ``begins`` (it names none).
    """
    hashes: dict[int, set[Any]] = {}
    for record in chain:
        hashes.setdefault(int(record["seq"]), set()).add(record["hash"])
    told = []
    for record in chain:
        said = []
        if record["recomputed"] is None:
            said.append("undecodable")
        elif record["recomputed"] != record["hash"]:
            said.append("content")
        before = hashes.get(int(record["seq"]) - 1)
        if record["prev_hash"] == "":
            said.append("begins")
        elif before is None:
            said.append("not shown")
        elif record["prev_hash"] not in before:
            said.append("link")
        told.append(said)
    return told


def by_chain(chained: Iterable[Stored]) -> dict[tuple[str, str], list[Stored]]:
    """Records by population and scope, each chain by seq and row."""
    found: dict[tuple[str, str], list[Stored]] = {}
    for record in chained:
        found.setdefault((record["population"], record["scope"]), []).append(record)
    return {key: sorted(rows, key=lambda r: (int(r["seq"]), int(r["row"]))) for key, rows in found.items()}


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _bytes(value: Any) -> Any:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
