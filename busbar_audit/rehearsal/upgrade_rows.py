"""Every row of an upgraded SQLite store held against before: the same, or what the sheet says it becomes (R3 to R14)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from busbar_audit.imports.planes import plane_lines
from busbar_audit.rehearsal.upgrade_result import Upgrade
from busbar_audit.text import printable
from busbar_audit.warehouse import quoted

# Tables whose rows an upgrade to 10 or later makes into records of another one (sheet 8.2).
TYPED = ("task_events", "tasks", "mcp_demotions", "spent_ask_states")
PLANES = ("plane_records", "plane_tokens")
RULES = {"usage_windows": "R4", "usage_metering": "R5", "mcp_calls": "R10"}
PLANE_RULES = {"task_events": "R7", "tasks": "R8", "mcp_demotions": "R9", "spent_ask_states": "R9", "mcp_calls": "R10"}
_BILLED = {"usage_windows": "model = '' AND ", "usage_metering": ""}


@contextmanager
def judging(found: Upgrade, rule: str, subject: str) -> Iterator[None]:
    """What SQLite cannot read is an invariant that could not be judged, and never one that holds."""
    try:
        yield
    except sqlite3.Error as error:
        found.unsure.append(f"{rule} could not be judged of {printable(subject)}: {printable(str(error))}"[:300])


def compare_rows(found: Upgrade, old: Path, new: Path, version: int) -> None:
    """Note in `found` every table whose rows are not what they should be after the upgrade to `version`."""
    with closing(sqlite3.connect("file::memory:", uri=True)) as con, judging(found, "R3 to R14", "the copy"):
        con.text_factory = bytes
        for name, path in (("before", old), ("after", new)):
            con.execute(f"ATTACH DATABASE ? AS {name}", (f"{path.absolute().as_uri()}?mode=ro",))
        had, has = _tables(con, "before"), _tables(con, "after")
        # The copy asks for the tables, not for the stamp: a file that was stamped down crosses again.
        crossing = version >= 10 and any(table in had for table in TYPED)
        for table in sorted(had):
            if crossing and table in TYPED:
                if table in has:
                    found.breaks("R11", table, "is still there")
                continue
            if table not in has:
                found.breaks(RULES.get(table, "R3"), table, "is gone, with its rows")
                continue
            with judging(found, RULES.get(table, "R3"), table):
                _table(found, con, table, had[table], has[table], grows=crossing and table in PLANES)
        for table in sorted(has.keys() - had.keys()):
            with judging(found, "R6", table):
                _new(found, con, table, crossing)
        if crossing:
            with judging(found, "R7 to R10", "the plane copy"):
                _planes(found, con, old, new, had, has)


def _tables(con: sqlite3.Connection, schema: str) -> dict[str, list[str]]:
    told = f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"  # noqa: S608
    names = [name.decode("utf-8", "replace") for (name,) in con.execute(told).fetchall()]
    columns = "SELECT name FROM pragma_table_info(?, ?)"
    return {
        name: [column.decode("utf-8", "replace") for (column,) in con.execute(columns, (name, schema))]
        for name in names
    }


def _new(found: Upgrade, con: sqlite3.Connection, table: str, crossing: bool) -> None:
    if table == "store_revision" or (crossing and table in PLANES):
        return
    if count := _count(con, f"after.{quoted(table)}"):
        found.breaks("R6", table, f"is new, and has {count:,} row(s) of its own")
    else:
        found.not_compared.append(f"{printable(table)} (new, empty)")


def _table(found: Upgrade, con: sqlite3.Connection, table: str, old: list[str], new: list[str], grows: bool) -> None:
    rule = RULES.get(table, "R3")
    if lacking := [name for name in old if name not in new]:
        found.breaks(rule, table, f"lost its column(s) {', '.join(lacking)}")
        return
    billed = found.before < 6 and table in _BILLED
    names = [name for name in old if not (billed and name == "billable_requests")]
    listed = ", ".join(map(quoted, names))
    sides = []
    for one, other in (("before", "after"), ("after", "before")):
        rows = (f"SELECT {listed} FROM {side}.{quoted(table)}" for side in (one, other))  # noqa: S608 - quoted names
        sides.append(con.execute(f"SELECT count(*) FROM ({' EXCEPT '.join(rows)})").fetchone()[0])  # noqa: S608
    counts = [_count(con, f"{side}.{quoted(table)}") for side in ("before", "after")]
    found.compared[table] = counts[0]
    if sides[0] or (not grows and (sides[1] or counts[0] != counts[1])):
        what = f"{sides[0]:,} row(s) are not there as they were, {sides[1]:,} are new; {counts[0]:,} before, {counts[1]:,} now"
        found.breaks(rule, table, what)
    if billed and sides == [0, 0]:
        _billing(found, con, table, names, rule)
    for name in (name for name in new if name not in old):
        _added(found, con, table, name, rule)


def _added(found: Upgrade, con: sqlite3.Connection, table: str, name: str, rule: str) -> None:
    """A new column says nothing yet: no value, or the one that stands for none."""
    nothing = {("usage_metering", "priced_from_ms"): 0, ("money_slices", "valid_until_ms"): -1}.get((table, name))
    sql = f"SELECT count(*) FROM after.{quoted(table)} WHERE {quoted(name)} IS NOT ?"  # noqa: S608 - quoted names
    (filled,) = con.execute(sql, (nothing,)).fetchone()
    if filled:
        found.breaks(rule, table, f"new column {name} is not {nothing} in {filled:,} row(s)")


def _billing(found: Upgrade, con: sqlite3.Connection, table: str, names: list[str], rule: str) -> None:
    """From before 6: the billable requests of a row go from 0 to all requests where it counts any, and stay otherwise."""
    same = " AND ".join(f"b.{quoted(name)} IS a.{quoted(name)}" for name in names)
    first = _BILLED[table].replace("model", "b.model")
    due = f"CASE WHEN {first}b.billable_requests = 0 AND b.requests > 0 THEN b.requests ELSE b.billable_requests END"
    sql = f"SELECT count(*) FROM before.{table} b JOIN after.{table} a ON {same} WHERE a.billable_requests IS NOT {due}"  # noqa: S608
    (wrong,) = con.execute(sql).fetchone()
    if wrong:
        found.breaks(rule, table, f"billable_requests is not what the backfill makes of it in {wrong:,} row(s)")


def _planes(
    found: Upgrade, con: sqlite3.Connection, old: Path, new: Path, had: Mapping[str, Any], has: Mapping[str, Any]
) -> None:
    """The plane copy: every typed row is the record that is foretold of it, and nothing else is there."""
    made = tokens = 0
    for _, table, identity, seq, fate, rule, rows in plane_lines(old, new):
        if fate in ("lost", "differs") and table != "mcp_calls":  # its rows were all held against before
            rule_of = "R14" if "was there before" in rule or "equal to another" in rule else PLANE_RULES[table]
            found.breaks(rule_of, table, f"{fate}: {identity} {'' if seq is None else seq} ({rule})")
        if fate != "lost":
            tokens += rows if table == "spent_ask_states" else 0
            made += rows if table in ("task_events", "tasks", "mcp_demotions") else 0
        if table != "mcp_calls":
            found.compared[table] = found.compared.get(table, 0) + rows
    if "plane_records" in has:
        audits = 0
        if "plane_records" not in had:
            # A late release copies the admin audit when it starts (sheet 8.4): these records are told apart, not foretold here.
            audits = _count(con, "after.plane_records WHERE kind = 'audit'")
            if audits:
                found.not_compared.append(
                    f"{audits:,} record(s) of kind audit, as a release copies them when it starts"
                )
        _surplus(found, con, "plane_records", "R7", made + audits, had)
    if "plane_tokens" in has:
        _surplus(found, con, "plane_tokens", "R9", tokens, had)


def _surplus(found: Upgrade, con: sqlite3.Connection, table: str, rule: str, made: int, had: Mapping[str, Any]) -> None:
    there = _count(con, f"after.{table}")
    before = _count(con, f"before.{table}") if table in had else 0
    if there > before + made:
        found.breaks(rule, table, f"{there - before - made:,} record(s) that no typed row foretells")


def _count(con: sqlite3.Connection, what: str) -> int:
    (count,) = con.execute(f"SELECT count(*) FROM {what}").fetchone()  # noqa: S608 - quoted names
    return int(count)
