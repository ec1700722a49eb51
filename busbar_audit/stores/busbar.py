"""The busbar family on SQLite: how it is recognised, its generations, what guards it, what has to be loaded."""

from __future__ import annotations

from busbar_audit.stores import busbar_shapes
from busbar_audit.stores.family import Ask, Family, Generation, Tables
from busbar_audit.stores.probes import Guard
from busbar_audit.stores.shapes import Shape, differences

NAME = "busbar"
ENGINE = "sqlite"
NEWEST = 12
KNOWN = "5 to 12"

# Two of these tables with these columns make a busbar store; names alone would not, others use them too.
_SIGNATURES = {
    "keys": {"id", "generation_hash", "allowed_pools", "labels", "enabled"},
    "credentials": {"id", "key_id", "kind", "slot", "public_id", "secret_form"},
    "audit_log": {"seq", "ts", "action", "resource", "outcome", "principal", "prev_hash", "hash"},
    "usage_windows": {"window_start", "bucket_id", "model", "billable_requests"},
    "mcp_calls": {"principal", "seq", "ts", "prev_hash", "hash", "body"},
    "plane_records": {"kind", "identity", "seq", "parent", "disposition", "body"},
}
# Tables of the time before generation 5, of which only the names are known.
_ANCIENT = frozenset({"usage_counters", "virtual_keys", "aws_credentials", "usage_ledger"})
_IMPLIED = (
    ("money_epoch", 12),
    ("store_ops", 11),
    ("plane_records", 10),
    ("mcp_demotions", 9),
    ("tasks", 8),
    ("mcp_calls", 7),
)

_AUDIT_ROW = (
    ("seq", 9_223_372_036_854_775_806),
    ("ts", 0),
    ("action", "probe"),
    ("resource", "probe"),
    ("outcome", "applied"),
    ("principal", "probe"),
    ("prev_hash", ""),
    ("hash", ""),
)
_CALL_ROW = (
    ("principal", "busbar-audit probe"),
    ("seq", 9_223_372_036_854_775_806),
    ("ts", 0),
    ("prev_hash", ""),
    ("hash", ""),
    ("body", "{}"),
)
_PLANE_ROW = (
    ("kind", "call"),
    ("identity", "busbar-audit probe"),
    ("seq", 9_223_372_036_854_775_806),
    ("id", "busbar-audit probe"),
    ("parent", "busbar-audit probe"),
    ("ts", 0),
    ("disposition", "active"),
    ("body", b"{}"),
)
GUARDS = (
    Guard("audit_log_no_update", "audit_log", "update", "1", ("seq",), "ts", _AUDIT_ROW),
    Guard("audit_log_no_delete", "audit_log", "delete", "1", ("seq",), "ts", _AUDIT_ROW),
    Guard("mcp_calls_no_update", "mcp_calls", "update", "1", ("principal", "seq"), "ts", _CALL_ROW),
    Guard(
        "plane_records_chain_no_update",
        "plane_records",
        "update",
        "parent IS NOT NULL",
        ("kind", "identity", "seq"),
        "ts",
        _PLANE_ROW,
    ),
)


def recognise(tables: Tables) -> bool:
    """Whether tables with these columns are those of a busbar store."""
    matches = sum(columns <= tables.get(name, set()) for name, columns in _SIGNATURES.items())
    return matches >= 2 or len(_ANCIENT & tables.keys()) >= 2


def stamp(ask: Ask, _found: Shape, _schema: str) -> int:
    """PRAGMA user_version."""
    return int(ask("PRAGMA user_version")[0][0])


def generation(found: Shape, stamp: int | None) -> Generation:
    """Tell the generation from the stamp and from the shape."""
    stamp = stamp or 0
    names = found.tables.keys()
    columns = {column.name for column in found.tables["keys"].columns} if "keys" in names else set()
    implied = 5 if "generation_hash" in columns or "audit_log" in names else 0
    implied = next((number for table, number in _IMPLIED if table in names), implied)
    if stamp > NEWEST or implied == 0:
        return Generation(stamp, implied, None)
    return Generation(stamp, implied, max(implied, stamp if stamp >= 5 else 6))


def expected(number: int) -> Shape:
    """The shape of a generation."""
    return busbar_shapes.expected(number)


FAMILY = Family(
    NAME,
    ENGINE,
    5,
    NEWEST,
    KNOWN,
    "user_version",
    recognise,
    stamp,
    generation,
    expected,
    differences,
    damaged="BUS-S01",
    always=("BUS-S01", "BUS-S02", "BUS-S03", "BUS-S05"),
    guards=GUARDS,
)
