"""The rows of a gateway's PostgreSQL store before an upgrade, kept as digests, and the store after it held against them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from psycopg import sql

from busbar_audit.rehearsal.pg_copy import Con
from busbar_audit.rehearsal.upgrade_pg_emulation import stamped
from busbar_audit.rehearsal.upgrade_result import Foretold, Upgrade
from busbar_audit.stores import busbar_pg, pg_catalog
from busbar_audit.stores.busbar_pg_shapes import STRANDED
from busbar_audit.stores.shapes import Shape
from busbar_audit.text import printable

RULES = {"usage_windows": "R4", "usage_ledger": "R4", "usage_metering": "R5", **dict.fromkeys(STRANDED, "R16")}
NOT_COMPARED = (
    "owners, privileges, comments, sequences and settings of the tables",
    "tables of other names in the schema",
)
_VERSIONS = "busbar_schema"
_UNBILLED = "billable_requests = 0 AND requests > 0"
_DUE = "CASE WHEN billable_requests = 0 AND requests > 0 THEN requests ELSE billable_requests END"


@dataclass
class Before:
    """A store before its upgrade: version, shape, and a digest of each row in a file of our own.

    billed : the upgrade bills requests that were never billed; the digests of usage_windows are then those that are due.
    """

    version: int
    shape: Shape
    book: sqlite3.Connection
    counts: dict[str, int] = field(default_factory=dict)
    foretold: list[Foretold] = field(default_factory=list)

    @classmethod
    def read(cls, con: Con, schema: str, place: Path, to: int) -> Self:
        """Read every table of the store."""
        book = sqlite3.connect(place, isolation_level=None)
        book.execute("PRAGMA synchronous = OFF")
        book.execute("CREATE TABLE digests (side TEXT, name TEXT, digest BLOB)")
        found = cls(stamped(con, schema), shape(con, schema), book)
        for table in sorted(found.shape.tables.keys() - {_VERSIONS}):
            found.counts[table] = found._fill(con, schema, table, "before", due=found.version < 6)
        found.foretold = [*_foretold(con, schema, found, to)]
        return found

    def unlike(self, con: Con, schema: str, table: str, side: str) -> tuple[int, int]:
        """Rows of a table that are no more there as they were, or as is due, and rows that are new."""
        self._fill(con, schema, table, side)
        rows = "SELECT digest, count(*) FROM digests WHERE side = ? AND name = ? GROUP BY digest"
        query = f"SELECT count(*) FROM ({rows} EXCEPT {rows})"  # noqa: S608 - text above
        sides = (("before", table), (side, table))
        gone, new = (self.book.execute(query, (*one, *other)).fetchone()[0] for one, other in (sides, sides[::-1]))
        self.book.execute("DELETE FROM digests WHERE side = ? AND name = ?", (side, table))
        return int(gone), int(new)

    def columns(self, table: str) -> list[str]:
        """Columns of a table as it was."""
        return [column.name for column in self.shape.tables[table].columns]

    def _fill(self, con: Con, schema: str, table: str, side: str, *, due: bool = False) -> int:
        values = [
            sql.SQL(_DUE) if due and (table, name) == ("usage_windows", "billable_requests") else sql.Identifier(name)
            for name in self.columns(table)
        ]
        query = sql.SQL(
            "COPY (SELECT encode(sha256(convert_to(ROW({})::text, 'UTF8')), 'hex') FROM {}) TO STDOUT"
        ).format(sql.SQL(", ").join(values), sql.Identifier(schema, table))
        with con.cursor() as cursor, cursor.copy(query) as rows:
            self.book.execute("BEGIN")
            self.book.executemany(
                "INSERT INTO digests VALUES (?, ?, ?)",
                ((side, table, bytes.fromhex(str(row[0]))) for row in rows.rows()),
            )
            self.book.execute("COMMIT")
        counted = "SELECT count(*) FROM digests WHERE side = ? AND name = ?"
        return int(self.book.execute(counted, (side, table)).fetchone()[0])


def shape(con: Con, schema: str) -> Shape:
    """The shape of the store's tables."""
    return pg_catalog.read(
        lambda query, *values: con.execute(query.encode(), values).fetchall(), schema, busbar_pg.TABLES
    )


def digests(con: Con, schema: str) -> dict[str, str]:
    """A digest of each table, whatever the order of its rows, and of the shape."""
    there = shape(con, schema)
    told = {"the shape": repr([sorted(each.items()) for each in (there.tables, there.indexes, there.triggers)])}
    for table in there.tables:
        ((count, total),) = con.execute(
            sql.SQL(
                "SELECT count(*), coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0)::text FROM {} AS t"
            ).format(sql.Identifier(schema, table))
        ).fetchall()
        told[table] = f"{count}/{total}"
    return told


def compare_pg(found: Upgrade, con: Con, schema: str, before: Before, to: int | None) -> None:
    """Note in `found` what does not hold of an upgraded database, its chains apart."""
    version = stamped(con, schema)
    found.after = version
    if version <= before.version:
        how = "was stamped down" if version < before.version else "is what it was: nothing was upgraded"
        found.breaks("R2", _VERSIONS, f"{how} ({version})")
    elif to is not None and version != to:
        found.breaks("R2", _VERSIONS, f"is {version} and not {to}")
    elif version not in busbar_pg.GENERATIONS:
        found.breaks("R2", _VERSIONS, f"{version} is no generation known here; its shape is not compared")
    there = shape(con, schema)
    if version in busbar_pg.GENERATIONS:
        for each in busbar_pg.differences(busbar_pg.expected(version), there):
            found.breaks("R12", each.table or each.name, f"{each.kind}: {each.name} {each.detail}")
    for table, count in before.counts.items():
        _table(found, con, schema, before, there, table, count)
    for table in sorted(there.tables.keys() - before.shape.tables.keys()):
        if rows := _count(con, schema, table):
            found.breaks("R6", table, f"is new, and has {rows:,} row(s) of its own")
        else:
            found.not_compared.append(f"{table} (new, empty)")
    found.not_compared += NOT_COMPARED
    found.foretold = [_done(con, schema, there, line) for line in before.foretold]
    for line in found.foretold:
        if line.done is not None and line.done != line.predicted:
            found.breaks(line.rule, line.what, f"{line.predicted:,} foretold, {line.done:,} done")


def _table(found: Upgrade, con: Con, schema: str, before: Before, there: Shape, table: str, count: int) -> None:
    rule = RULES.get(table, "R3")
    if table not in there.tables:
        found.breaks(rule, table, "is gone, with its rows")
        return
    old, new = before.columns(table), [column.name for column in there.tables[table].columns]
    if lacking := [name for name in old if name not in new]:
        found.breaks(rule, table, f"lost its column(s) {', '.join(lacking)}")
        return
    gone, added = before.unlike(con, schema, table, "after")
    found.compared[table] = count
    if gone or added:
        found.breaks(rule, table, f"{gone:,} row(s) are not there as is due, {added:,} are others; {count:,} before")
    for name in (name for name in new if name not in old):
        nothing = 0 if name == "priced_from_ms" else None
        query = sql.SQL("SELECT count(*) FROM {} WHERE {} IS DISTINCT FROM {}").format(
            sql.Identifier(schema, table), sql.Identifier(name), sql.Literal(nothing)
        )
        ((filled,),) = con.execute(query).fetchall()
        if filled:
            found.breaks(rule, table, f"new column {printable(name)} is not {nothing} in {filled:,} row(s)")


def _foretold(con: Con, schema: str, before: Before, to: int) -> Sequence[Foretold]:
    told = []
    if before.version < 6:
        told.append(Foretold("R4", _BILLED, _count(con, schema, "usage_windows", _UNBILLED)))
        told.append(Foretold("R5", _LEFT, _count(con, schema, "usage_metering", _UNBILLED)))
    if to >= 10 > before.version:
        told += [
            Foretold("R16", f"{_STAY} {table}", rows) for table, rows in before.counts.items() if table in STRANDED
        ]
    return told


_BILLED = "windows whose requests become billable"
_LEFT = "metering rows whose requests stay unbilled on this engine"
_STAY = "rows that stay and that the new gateway does not read, of"


def _done(con: Con, schema: str, there: Shape, line: Foretold) -> Foretold:
    if line.what == _BILLED:
        # What was due was held against row by row; here only that none is left.
        left = _count(con, schema, "usage_windows", _UNBILLED)
        return Foretold(line.rule, line.what, line.predicted, line.predicted - left)
    if line.what == _LEFT:
        return Foretold(line.rule, line.what, line.predicted, _count(con, schema, "usage_metering", _UNBILLED))
    table = line.what.rsplit(" ", 1)[1]
    done = _count(con, schema, table) if table in there.tables else 0
    return Foretold(line.rule, line.what, line.predicted, done)


def _count(con: Con, schema: str, table: str, rows: str = "true") -> int:
    query = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(sql.Identifier(schema, table), sql.SQL(rows))
    ((count,),) = con.execute(query).fetchall()
    return int(count)
