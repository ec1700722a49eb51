"""The records beside a finding: those it names and their neighbours, without content unless that is asked for.

A finding of a chain has its neighbours in the chain. Any other names rows of a table by an identifier; its neighbours are those
before and after it in the same session, task or principal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from busbar_audit import queries
from busbar_audit.findings import Finding
from busbar_audit.queries import SEVERITIES
from busbar_audit.warehouse import quoted

LIMIT = 60
_CHAIN = ("audit.chain_records", "audit.chain_faults")
_HIT = "this"
# Columns whose text says what a row is. Any other text may be content, and is told by its length and digest alone.
_NAMED = (
    "action bucket column_name created_at current_state direction disposition event_kind event_type hash id kind "
    "last_updated message_type model outcome owner parent prev_hash principal protocol_version provider "
    "request_kind row_key scope server sha256 slot stamp start_kind state status_state stream_key sub table_name "
    "tool tool_name updated_at version_num"
)
_NAMES = frozenset(_NAMED.split())
_GROUPS = ("session_id", "task_id", "parent", "principal")
_SEQUENCES = ("seq", "event_seq", "ordinal", "sequence", "created_sequence", "segment_seq")


@dataclass(frozen=True)
class Beside:
    """Records around a finding.

    relation : where they are. rows : in their order, each with ``_of``, true for those that the finding names.
    about : what can be said of the answer, such as why there is none.
    """

    relation: str
    rows: Sequence[dict[str, Any]]
    about: str

    @property
    def columns(self) -> list[str]:
        """Names of the columns, ``_of`` left out."""
        return [name for name in self.rows[0] if name != "_of"] if self.rows else []


def beside(con: duckdb.DuckDBPyConnection, finding: Finding, each_side: int, *, content: bool = False) -> Beside:
    """Look up the records that a finding names, and `each_side` on either side of them; at most `LIMIT` rows.

    Parameters
    ----------
    con : the connection of an audit, or of a prepared run.
    content : show texts that are not names too; else each is its length and the start of its SHA-256.
    """
    if finding.severity not in SEVERITIES or each_side < 0:
        raise ValueError("not a finding, or fewer than no neighbours")
    if finding.first_seq is not None and all(_exists(con, *name.split(".")) for name in _CHAIN):
        rows = _in_chain(con, finding, each_side)
        if rows:
            return Beside("audit.chain_records", rows, "the chain, by sequence number")
    # A kind of plane record is no table of its own.
    planes = con.execute(
        "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema = 'raw' AND starts_with(table_name, 'plane_') ORDER BY 1"
    ).fetchall()
    places = (
        [(finding.subject, None)]
        if _exists(con, "raw", finding.subject)
        else [(name, finding.subject) for (name,) in planes]
    )
    for table, kind in places:
        found = _in_table(con, table, kind, finding, each_side, content)
        if found.rows:
            return found
    return Beside(
        "",
        (),
        f"no row of {finding.subject} is named {finding.place}: the finding is of the table or the store as a whole",
    )


def _exists(con: duckdb.DuckDBPyConnection, schema: str, name: str) -> bool:
    found = con.execute(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2", [schema, name]
    ).fetchone()
    return bool(found and found[0])


def _in_chain(con: duckdb.DuckDBPyConnection, finding: Finding, each_side: int) -> list[dict[str, Any]]:
    query = queries.figure("around")
    first = finding.first_seq
    last = finding.last_seq if finding.last_seq is not None else first
    found: dict[tuple[Any, Any], dict[str, Any]] = {}
    for seq in dict.fromkeys((first, last)):
        values = {"population": finding.subject, "scope": finding.place, "seq": seq, "side": each_side}
        done = con.execute(query.sql, query.bind(values))
        names = [column[0] for column in done.description or []]
        for row in done.fetchall():
            told = dict(zip(names, row, strict=True))
            told["_of"] = first is not None and last is not None and first <= told["seq"] <= last
            found[(told["seq"], told["row"])] = told
    return [found[key] for key in sorted(found)]


def _in_table(
    con: duckdb.DuckDBPyConnection, table: str, kind: str | None, finding: Finding, each_side: int, content: bool
) -> Beside:
    columns = con.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'raw' AND table_name = $1 "
        "ORDER BY ordinal_position",
        [table],
    ).fetchall()
    names = [name for name, _ in columns]
    naming = [name for name, type_ in columns if type_ == "VARCHAR" and names_rows(name)]
    if not naming or "_row" not in names:
        return Beside("", (), "")
    sequence = next((name for name in _SEQUENCES if name in names), None)
    group = next((name for name in _GROUPS if name in names), None)
    parts = [part for part in (finding.place, *finding.place.split(" / ")) if part]
    shown = [_shown(name, type_, content or names_rows(name)) for name, type_ in columns if name != "_rejected"]
    # Names of columns and tables are those of the copy, in quotes; every value is bound.
    sql = f"""
        WITH told AS (
            SELECT _row, {quoted(group) if group else "NULL"} AS _group, {quoted(sequence) if sequence else "_row"} AS _seq,
                (list_contains(_names, $whole) OR list_has_all(_names, $parts)) AS _named
            FROM (SELECT *, [{", ".join(quoted(name) for name in naming)}] AS _names FROM raw.{quoted(table)}
                WHERE $kind IS NULL OR {"kind = $kind" if "kind" in names else "false"})
        ), placed AS (
            SELECT *, _named AND ($first IS NULL OR _seq BETWEEN $first AND $last) AS _exact,
                row_number() OVER (PARTITION BY _group ORDER BY _seq, _row) AS _n FROM told
        ), hits AS (
            SELECT _group, _n, _row FROM placed
            WHERE CASE WHEN (SELECT bool_or(_exact) FROM placed) THEN _exact ELSE _named END ORDER BY _group, _n LIMIT $limit
        ), near AS (
            SELECT DISTINCT p._row, p._group, p._n, p._row IN (SELECT _row FROM hits) AS _of
            FROM placed AS p JOIN hits AS h ON p._group IS NOT DISTINCT FROM h._group AND abs(p._n - h._n) <= $side
        )
        SELECT n._of, {", ".join(f"r.{name}" if not expression else f"{expression} AS {name}" for name, expression in shown)}
        FROM near AS n JOIN raw.{quoted(table)} AS r ON r._row = n._row ORDER BY n._group, n._n, n._row LIMIT $limit
    """  # noqa: S608
    done = con.execute(
        sql,
        {
            "whole": finding.place,
            "parts": parts[1:] if len(parts) > 2 else [finding.place],
            "kind": kind,
            "first": finding.first_seq,
            "last": finding.last_seq if finding.last_seq is not None else finding.first_seq,
            "side": each_side,
            "limit": LIMIT,
        },
    )
    titles = [column[0] for column in done.description or []]
    rows = [dict(zip(titles, row, strict=True)) for row in done.fetchall()]
    order = f"by {sequence}" if sequence else "in the order they are stored"
    within = f", within its {group}" if group else ""
    return Beside(
        f"raw.{table}",
        rows,
        f"rows of {table} {order}{within}" + (f"; the first {LIMIT}" if len(rows) == LIMIT else ""),
    )


def names_rows(name: str) -> bool:
    """Whether the text of a column of this name says which row it is, and is no content."""
    return name in _NAMES or name.endswith("_id")


def _shown(name: str, kind: str, whole: bool) -> tuple[str, str]:
    """A column as it is shown: its quoted name, and the expression that hides its content, or nothing."""
    if whole or kind not in ("VARCHAR", "BLOB"):
        return quoted(name), ""
    place = f"r.{quoted(name)}"
    data = place if kind == "BLOB" else f"encode({place})"
    return quoted(name), (
        f"CASE WHEN {place} IS NOT NULL THEN octet_length({data}) || ' bytes, sha256 ' || left(sha256({data}), 16) END"
    )
