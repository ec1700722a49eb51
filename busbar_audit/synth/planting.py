"""Two ways to write a fault down: as SQL statements, or as a function on the open store; guards are put back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from typing import Any

from busbar_audit.synth.fault import Fault, OnPostgres, Planted, codes
from busbar_audit.synth.records import unguarded

ROWS = OnPostgres()


def by_sql(
    name: str,
    title: str,
    generations: Collection[int],
    short: str,
    *commands: str,
    table: str = "",
    on_postgres: OnPostgres = ROWS,
    **needs: Any,
) -> Fault:
    """Return a fault that is a few SQL statements, guards put back afterwards."""

    def apply(c: sqlite3.Connection) -> Planted:
        before = c.total_changes
        with unguarded(c):
            for command in commands:
                c.execute(command)
        if c.total_changes == before:
            raise LookupError("the store has no row this fault can change")
        return Planted(codes(*short.split()), table)

    return Fault(name, title, generations, apply, needs, on_postgres)


def by_function(
    name: str,
    title: str,
    generations: Collection[int],
    apply: Callable[[sqlite3.Connection], Planted],
    needs: Mapping[str, Any] | None = None,
    on_postgres: OnPostgres = ROWS,
) -> Fault:
    """Return a fault that is a function on the open store, guards put back afterwards."""

    def guarded(c: sqlite3.Connection) -> Planted:
        with unguarded(c):
            return apply(c)

    return Fault(name, title, generations, guarded, needs or {}, on_postgres)
