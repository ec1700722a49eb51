"""Schema ``source`` of the warehouse: what is known of a store once it is opened, apart from its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from busbar_audit.sources.base import Source
from busbar_audit.warehouse import Warehouse

_TEXT = "VARCHAR"


def describe(warehouse: Warehouse, source: Source, rows: Mapping[str, int], state_of: Callable[[str], str]) -> None:
    """Fill ``source.store``, ``source.tables``, ``source.differences`` and what the family reads beside tables.

    Parameters
    ----------
    rows : table name to number of rows. state_of : what a table is to the generation.
    """
    about, facts = source.about, source.facts()
    warehouse.fill(
        "source.store",
        [
            ("engine", _TEXT),
            ("stamp", "BIGINT"),
            ("implied", "BIGINT"),
            ("newest", "BIGINT"),
            ("known", _TEXT),
            ("journal_mode", _TEXT),
            ("main_bytes", "BIGINT"),
            ("wal_bytes", "BIGINT"),
        ],
        [
            (
                about.family.engine,
                about.generation.stamp,
                about.generation.implied,
                about.family.newest,
                about.family.known,
                facts["journal_mode"],
                facts["main_bytes"],
                facts["wal_bytes"],
            )
        ],
    )
    warehouse.fill(
        "source.tables",
        [("name", _TEXT), ("rows", "BIGINT"), ("state", _TEXT), ("bytes", "BIGINT")],
        [(name, rows.get(name), state_of(name), about.bytes.get(name)) for name in sorted({*rows, *about.unreadable})],
    )
    warehouse.fill(
        "source.differences",
        [("kind", _TEXT), ("table_name", _TEXT), ("name", _TEXT), ("detail", _TEXT)],
        [(d.kind, d.table, d.name, d.detail) for d in about.differences],
    )
    for name, told in about.facts.items():
        warehouse.fill(f"source.{name}", told.columns, told.rows)
