"""The busbar family on PostgreSQL: how it is recognised, its generations, what is compared of its shape."""

from __future__ import annotations

from dataclasses import replace

from psycopg import sql

from busbar_audit.stores import busbar_pg_shapes as shapes
from busbar_audit.stores.family import Ask, Family, Generation, Tables
from busbar_audit.stores.shapes import Difference, Shape, TableShape
from busbar_audit.stores.shapes import differences as compared

NAME = "busbar"
ENGINE = "postgres"
GENERATIONS = shapes.GENERATIONS
NEWEST = max(GENERATIONS)
KNOWN = "6, 10 and 11"
VERSIONS = "busbar_schema"

# Two of these tables with these columns make a busbar store.
_SIGNATURES = {
    "keys": {"id", "generation_hash", "allowed_pools", "labels", "enabled"},
    "credentials": {"id", "key_id", "kind", "slot", "public_id", "secret_form"},
    "audit_log": {"seq", "ts", "action", "resource", "outcome", "principal", "prev_hash", "hash"},
    "usage_windows": {"window_start", "bucket_id", "billable_requests"},
    "usage_ledger": {"window_start", "bucket_id", "model", "tokens_input"},
    "plane_chain": {"kind", "parent", "seq", "disposition", "body"},
    "plane_records": {"kind", "id", "seq", "parent", "disposition", "body"},
}
_IMPLIED = (
    ("store_journal", 11),
    ("store_ops", 11),
    ("plane_chain", 10),
    ("plane_records", 10),
    ("mcp_demotions", 9),
    ("tasks", 8),
    ("mcp_calls", 7),
)
# Of these the sheet tells names and types only.
_NAMES_ONLY = frozenset(
    {"store_ops", "store_journal", "store_sessions", "store_records", "money_slots", "money_slices"}
)
TABLES = frozenset(shapes.expected(NEWEST).tables) | shapes.STRANDED


def recognise(tables: Tables) -> bool:
    """Whether tables with these columns are those of a busbar store."""
    return sum(columns <= tables.get(name, set()) for name, columns in _SIGNATURES.items()) >= 2


def stamp(ask: Ask, found: Shape, schema: str) -> int | None:
    """MAX(busbar_schema.version); None where there is no such table, or its column is no number."""
    table = found.tables.get(VERSIONS)
    types = {column.name: column.type for column in table.columns} if table else {}
    if types.get("version") not in ("bigint", "integer", "smallint"):
        return None
    query = sql.SQL("SELECT max(version)::bigint FROM {}").format(sql.Identifier(schema, VERSIONS))
    ((highest,),) = ask(query)
    return highest if highest is None else int(highest)


def generation(found: Shape, stamp: int | None) -> Generation:
    """Tell the generation from MAX(busbar_schema.version), None where there is none, and from the shape.

    ``taken`` is None for a stamp newer than known, and for the development generations 7 to 9, whose definitions nobody has.
    """
    names = found.tables.keys()
    implied = next((number for table, number in _IMPLIED if table in names), 6)
    said = stamp or 0
    taken = max(implied, said)
    if said == 5 and implied == 6:
        # The fifth has the tables of the sixth; only its requests were not billed yet.
        implied = said
    return Generation(said, implied, taken if taken in GENERATIONS else None)


def expected(number: int) -> Shape:
    """The shape of a generation."""
    return shapes.expected(number)


def differences(wanted: Shape, found: Shape) -> tuple[Difference, ...]:
    """Compare a store's shape with the expected one.

    The order of columns is no difference: an upgrade appends what a new store has in its place. Tables of other
    names in the schema are no difference either: a schema may be shared.
    """
    tables = {name: _ordered(table) for name, table in found.tables.items()}
    due = {name: _as_told(_ordered(table), tables.get(name)) for name, table in wanted.tables.items()}
    return compared(replace(wanted, tables=due), replace(found, tables=tables))


def _ordered(table: TableShape) -> TableShape:
    return replace(table, columns=tuple(sorted(table.columns, key=lambda column: column.name)))


def _as_told(table: TableShape, found: TableShape | None) -> TableShape:
    if table.name not in _NAMES_ONLY or found is None:
        return table
    there = {column.name: column for column in found.columns}
    columns = tuple(
        replace(column, notnull=there[column.name].notnull, default=there[column.name].default)
        if column.name in there
        else column
        for column in table.columns
    )
    return replace(table, columns=columns)


FAMILY = Family(
    NAME,
    ENGINE,
    6,
    NEWEST,
    KNOWN,
    "busbar_schema",
    recognise,
    stamp,
    generation,
    expected,
    differences,
    damaged="BUS-S01",
    always=("BUS-S01", "BUS-S02", "BUS-S03", "BUS-S05"),
    tables=TABLES,
)
