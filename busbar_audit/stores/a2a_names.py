"""Tables of the A2A SDKs that let their users name them: found by their columns, whatever they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from busbar_audit.errors import UnknownFamily
from busbar_audit.stores.family import Ask, Facts, Tables
from busbar_audit.stores.shapes import Shape
from busbar_audit.text import printable

# The name that the SDK gives a table by itself, to the columns by which it is one and those that it must not have.
Kinds = Mapping[str, tuple[frozenset[str], frozenset[str]]]

_BESIDE = """
SELECT c.relname, array_agg(a.attname::text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') GROUP BY c.relname ORDER BY c.relname
"""
_COLUMNS = (("kind", "VARCHAR"), ("name", "VARCHAR"), ("taken", "BOOLEAN"))


def alike(tables: Tables, kinds: Kinds) -> dict[str, list[str]]:
    """Names of all tables that are of each kind, the SDK's own name first."""
    found = {}
    for own, (needed, excluded) in kinds.items():
        fits = [name for name, columns in sorted(tables.items()) if needed <= columns and not excluded & columns]
        found[own] = sorted(fits, key=lambda name: (name != own, name))
    return found


def renamed(product: str, kinds: Kinds) -> Callable[[Tables], Mapping[str, str]]:
    """What tables of other names stand for, for `Family.renamed`.

    Raises
    ------
    UnknownFamily : several tables could be the same one and none has the SDK's own name, when it is called.
    """

    def told(tables: Tables) -> Mapping[str, str]:
        chosen = {}
        for own, names in alike(tables, kinds).items():
            if names and names[0] != own:
                if len(names) > 1:
                    raise UnknownFamily(
                        f"{len(names)} tables have the columns of the {product}'s {own}: {', '.join(map(printable, names))}.",
                        f"One, or one named {own}.",
                        "Nothing was checked. Give each store a schema of its own.",
                    )
                chosen[own] = names[0]
        return chosen

    return told


def facts(kinds: Kinds) -> Callable[[Ask, Shape, str], Mapping[str, Facts]]:
    """Relation ``source.namesakes``: tables of each kind, and which of them is the one that is audited."""

    def told(ask: Ask, found: Shape, schema: str) -> Mapping[str, Facts]:
        if schema:
            tables = {name: set(columns) for name, columns in ask(_BESIDE, schema)}
        else:
            tables = {name: {column.name for column in table.columns} for name, table in found.tables.items()}
        rows = [(own, name, at == 0) for own, names in alike(tables, kinds).items() for at, name in enumerate(names)]
        return {"namesakes": Facts(_COLUMNS, rows)}

    return told
