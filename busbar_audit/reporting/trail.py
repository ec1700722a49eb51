"""Everything in a store that names a principal, task, session or key, in the order of time."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import duckdb

from busbar_audit.reporting.beside import names_rows
from busbar_audit.reporting.markup import utc
from busbar_audit.text import printable
from busbar_audit.warehouse import quoted

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("time", "table", "row", "seq", "what", "named in")
_TIMES = (
    "ts",
    "committed_at",
    "message_ts",
    "recorded_at",
    "created_at",
    "opened_at",
    "admitted_at",
    "last_updated",
    "updated_at",
)
_SEQUENCES = ("seq", "event_seq", "ordinal", "sequence", "created_sequence")
_WHAT = (
    "event_kind",
    "message_type",
    "kind",
    "state",
    "current_state",
    "status_state",
    "action",
    "outcome",
    "direction",
)
# Seconds until the year 5138 are below this, milliseconds since 1973 above it.
_MILLIS = 100_000_000_000


def trail(con: duckdb.DuckDBPyConnection, place: str, limit: int = 1000) -> pd.DataFrame:
    """Rows of every loaded table that hold `place` as an identifier.

    Parameters
    ----------
    place : the id of a principal, task, session, run, key … exactly as stored. limit : rows of each table.

    Returns
    -------
    A DataFrame of columns `COLUMNS`, oldest first: time (UTC, text, empty where the row has none), table, row (``_row`` of the
    table in schema ``raw``), seq, what (kind, state or outcome), and the columns that hold the id.
    A table with more rows than `limit` is said in a warning.
    """
    import pandas as pd

    found: list[tuple[float, tuple[Any, ...]]] = []
    cut = []
    for (name,) in con.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'raw' AND table_name <> 'rejects' ORDER BY ALL"
    ).fetchall():
        rows = _of_table(con, name, place, limit)
        if len(rows) > limit:
            cut.append(name)
        found += rows[:limit]
    if cut:
        warnings.warn(
            f"More than {limit:,} rows of {', '.join(map(printable, cut))}; only the first are here.", stacklevel=3
        )
    found.sort(key=lambda each: (each[0], *map(str, each[1])))
    return pd.DataFrame([row for _, row in found], columns=list(COLUMNS)).astype({"seq": "Int64"})


def _of_table(
    con: duckdb.DuckDBPyConnection, table: str, place: str, limit: int
) -> list[tuple[float, tuple[Any, ...]]]:
    columns = dict(
        con.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'raw' AND table_name = $1",
            [table],
        ).fetchall()
    )
    naming = [name for name, kind in columns.items() if kind == "VARCHAR" and names_rows(name)]
    if not naming or "_row" not in columns:
        return []

    def first(names: tuple[str, ...]) -> str:
        return next((quoted(name) for name in names if name in columns), "NULL")

    held = ", ".join(f"CASE WHEN {quoted(name)} = $place THEN '{name.replace(chr(39), '')}' END" for name in naming)
    # Names of columns and tables are those of the copy, in quotes; the value is bound.
    sql = f"""
        SELECT _row, CAST({first(_TIMES)} AS VARCHAR), {first(_SEQUENCES)}, CAST({first(_WHAT)} AS VARCHAR),
            list_filter([{held}], lambda x: x IS NOT NULL) AS held
        FROM raw.{quoted(table)} WHERE list_contains([{", ".join(map(quoted, naming))}], $place)
        ORDER BY 2, 3, 1 LIMIT $limit
    """  # noqa: S608
    rows = con.execute(sql, {"place": place, "limit": limit + 1}).fetchall()
    return [
        (_seconds(time), (_shown(time), table, row, seq, printable(what or "")[:80], ", ".join(held)))
        for row, time, seq, what, held in rows
    ]


def _seconds(time: str | None) -> float:
    """A time for sorting: unix seconds, whatever the column holds; rows without one come first."""
    from datetime import UTC, datetime

    if time is None:
        return float("-inf")
    try:
        number = int(time)
        return number / 1000 if abs(number) > _MILLIS else float(number)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return float("-inf")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _shown(time: str | None) -> str:
    seconds = _seconds(time)
    return "" if seconds == float("-inf") else utc(int(seconds))
