"""The busbar family on SQLite: how it is recognised, its generations, what guards it, what has to be loaded."""

from __future__ import annotations

from dataclasses import dataclass

from busbar_audit.stores import busbar_shapes
from busbar_audit.stores.probes import Guard
from busbar_audit.stores.shapes import Shape

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


@dataclass(frozen=True)
class Generation:
    """What the stamp says, what the shape says, and what the store is taken for.

    stamp : PRAGMA user_version.
    implied : the lowest generation that has all the tables found (0: older than 5).
    taken : the generation whose rules are applied; None where the stamp is newer than known, or nothing is known.
    """

    stamp: int
    implied: int
    taken: int | None


def recognise(found: Shape) -> bool:
    """Whether the tables and columns are those of a busbar store."""
    there = {name: {column.name for column in table.columns} for name, table in found.tables.items()}
    matches = sum(columns <= there.get(name, set()) for name, columns in _SIGNATURES.items())
    return matches >= 2 or len(_ANCIENT & there.keys()) >= 2


def generation(found: Shape, stamp: int) -> Generation:
    """Tell the generation from the stamp and from the shape."""
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
