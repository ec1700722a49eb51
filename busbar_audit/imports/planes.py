"""The plane copy of a gateway's SQLite store (v7, v8, v9 to v10 and later) as an account: where every typed row went.

Busbar sheet 8.2 and R7 to R10: each typed row becomes one plane record with a body that can be foretold byte for byte;
spent approvals become tokens; mcp_calls stays where it is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLUMNS = (
    ("part", "VARCHAR"),
    ("kind", "VARCHAR"),
    ("identity", "VARCHAR"),
    ("seq", "BIGINT"),
    ("fate", "VARCHAR"),
    ("rule", "VARCHAR"),
    ("rows", "BIGINT"),
)
PART = "plane copy"
ENDED = ("completed", "failed", "canceled", "rejected")
# part, kind, identity, seq, fate, rule, rows; those that went as foretold are one line a kind, with their number.
Line = tuple[str, str, str | None, int | None, str, str, int]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Kind:
    """One typed table and what its rows become: key and expected columns of a plane record."""

    table: str
    kind: str
    rule: str
    key: Callable[[Row], tuple[str, int]]
    beside: Callable[[Row], tuple[Any, ...]]  # id, parent, ts, disposition


def _clamped(row: Row) -> dict[str, Any]:
    """The row with negative integers as 0, as the copy writes them."""
    return {name: max(0, value) if isinstance(value, int) else value for name, value in row.items()}


_KINDS = (
    _Kind(
        "task_events",
        "task_event",
        "R7",
        lambda r: (r["task_id"], r["seq"]),
        lambda r: (r["task_id"], r["task_id"], r["ts"], "active"),
    ),
    _Kind(
        "tasks",
        "task",
        "R8",
        lambda r: (r["task_id"], 0),
        lambda r: (r["task_id"], None, r["updated_at"], "terminal" if r["state"] in ENDED else "active"),
    ),
    _Kind(
        "mcp_demotions",
        "demotion",
        "R9",
        lambda r: (r["server"], 0),
        lambda r: (r["server"], None, r["recorded_at"], "active"),
    ),
)


def plane_lines(before: Path, after: Path) -> Iterator[Line]:
    """Where the typed rows of an earlier SQLite copy went in a later one.

    Parameters
    ----------
    before, after : finished copies, read and not written.

    Yields
    ------
    One line for each row that was lost or is another one, and one line a kind and fate for all others, with their number.
    """
    with closing(sqlite3.connect("file::memory:", uri=True)) as con:
        for name, path in (("before", before), ("after", after)):
            con.execute(f"ATTACH DATABASE ? AS {name}", (f"{path.absolute().as_uri()}?mode=ro",))
        con.text_factory = bytes
        had = {table.decode() for (table,) in con.execute("SELECT name FROM before.sqlite_master WHERE type = 'table'")}
        has = {table.decode() for (table,) in con.execute("SELECT name FROM after.sqlite_master WHERE type = 'table'")}
        for kind in _KINDS:
            if kind.table in had:
                yield from _counted(kind.table, _records(con, kind, "plane_records" in has, "plane_records" in had))
        if "spent_ask_states" in had:
            yield from _counted("spent_ask_states", _tokens(con, "plane_tokens" in has))
        if "mcp_calls" in had:
            yield from _counted("mcp_calls", _calls(con, "mcp_calls" in has))


def _counted(kind: str, told: Iterator[tuple[str, int | None, str, str]]) -> Iterator[Line]:
    """Rows that are as foretold are counted, the others told one by one."""
    fine: dict[tuple[str, str], int] = {}
    for identity, seq, fate, rule in told:
        if fate in ("converted", "owned"):
            fine[fate, rule] = fine.get((fate, rule), 0) + 1
        else:
            yield PART, kind, identity, seq, fate, rule, 1
    for (fate, rule), count in fine.items():
        yield PART, kind, None, None, fate, rule, count


def _rows(con: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    done = con.execute(f"SELECT * FROM before.{table}")  # noqa: S608 - names above
    names = [column[0] for column in done.description]
    for values in done:
        yield dict(zip(names, map(_read, values), strict=True))


def _read(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _records(
    con: sqlite3.Connection, kind: _Kind, there: bool, earlier: bool
) -> Iterator[tuple[str, int | None, str, str]]:
    clamped: set[str] = set()  # tasks with an event of number 0: another one of them would be equal to it
    for raw in _rows(con, kind.table):
        row = _clamped(raw)
        identity, seq = kind.key(row)
        if kind.table == "task_events" and seq == 0:
            if identity in clamped:
                yield _shown(identity), raw["seq"], "lost", f"8.2 equal to another row after the clamp ({kind.rule})"
                continue
            clamped.add(identity)
        place = (kind.kind, _bytes(identity).decode("utf-8", "replace"), seq)
        found = _one(con, "after", place) if there else None
        if found is None:
            why = (
                "though others of its task are there"
                if there and _others(con, kind, place)
                else "or it was purged since"
            )
            yield _shown(identity), seq, "lost", f"8.2 no record has its key, {why} ({kind.rule})"
        elif (*kind.beside(row), _body(row)) == found:
            yield identity, seq, "converted", f"8.2 {kind.rule}"
        elif earlier and _one(con, "before", place) == found:
            yield _shown(identity), seq, "lost", f"8.2 a record with its key was there before ({kind.rule})"
        else:
            yield _shown(identity), seq, "differs", f"8.2 the record is another one, or was changed since ({kind.rule})"


def _others(con: sqlite3.Connection, kind: _Kind, place: tuple[str, str, int]) -> bool:
    """Whether the task has other records: a purge takes a task and its events together."""
    return kind.table != "mcp_demotions" and any(
        con.execute(
            "SELECT 1 FROM after.plane_records WHERE kind = ? AND identity = ? LIMIT 1", (of, place[1])
        ).fetchone()
        for of in ("task", "task_event")
    )


def _one(con: sqlite3.Connection, store: str, place: tuple[str, str, int]) -> tuple[Any, ...] | None:
    found = con.execute(
        f"""SELECT id, parent, ts, disposition, CAST(body AS BLOB) FROM {store}.plane_records
        WHERE kind = ? AND identity = ? AND seq = ?""",  # noqa: S608 - two names of ours
        place,
    ).fetchone()
    return None if found is None else (*map(_read, found[:4]), found[4])


def _body(row: Row) -> bytes:
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape")


def _tokens(con: sqlite3.Connection, there: bool) -> Iterator[tuple[str, int | None, str, str]]:
    for row in _rows(con, "spent_ask_states"):
        found = (
            con.execute(
                "SELECT expires_at FROM after.plane_tokens WHERE kind = 'approval' AND token = ?", (row["nonce"],)
            ).fetchone()
            if there
            else None
        )
        # A nonce is a secret of a kind: it is told by nothing.
        if found is None:
            yield "", None, "lost", "8.2 no approval token has its nonce (R9)"
        elif found[0] != row["expires_at"]:
            yield "", None, "differs", "8.2 the token expires at another time (R9)"
        else:
            yield "", None, "converted", "8.2 R9"


def _calls(con: sqlite3.Connection, there: bool) -> Iterator[tuple[str, int | None, str, str]]:
    for row in _rows(con, "mcp_calls"):
        found = (
            con.execute(
                "SELECT * FROM after.mcp_calls WHERE principal = ? AND seq = ?", (row["principal"], row["seq"])
            ).fetchone()
            if there
            else None
        )
        if found is None:
            yield _shown(row["principal"]), row["seq"], "lost", f"8.2 not in mcp_calls, {_why(con, row, there)} (R10)"
        elif [*map(_read, found)][: len(row)] != [*row.values()]:
            yield _shown(row["principal"]), row["seq"], "differs", "8.2 the row is another one (R10)"
        else:
            yield "", None, "owned", "8.2 stays in mcp_calls (R10)"


def _why(con: sqlite3.Connection, row: Row, there: bool) -> str:
    """A purge takes the oldest calls of a principal."""
    if not there:
        return "the table is gone"
    place = (row["principal"], row["seq"])
    earlier = con.execute("SELECT 1 FROM after.mcp_calls WHERE principal = ? AND seq < ? LIMIT 1", place).fetchone()
    return "though earlier ones are" if earlier else "or purged since"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _shown(text: str) -> str:
    """A name that DuckDB can hold."""
    return _bytes(text).decode("utf-8", "backslashreplace")
