"""What an audit asks of the place its tables come from, whatever the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from busbar_audit.snapshot.integrity import ForeignKeyViolation
from busbar_audit.stores.family import Facts, Family, Generation
from busbar_audit.stores.probes import Probe
from busbar_audit.stores.shapes import Difference, Shape
from busbar_audit.warehouse import Loaded, Warehouse


@dataclass(frozen=True)
class About:
    """A store as it was recognised.

    family : of the store, on its engine.
    found, expected : shapes; expected is None where the generation is not known. differences : of the two.
    rows : table name to number of rows. unreadable : tables this role may not read, with the reason.
    bytes : size of each table on the server, where it is told.
    facts : what the family reads beside tables, for schema ``source``.
    renamed : the family's name of a table to the name it has here, where the two differ.
    """

    family: Family
    generation: Generation
    found: Shape
    expected: Shape | None
    differences: tuple[Difference, ...]
    rows: Mapping[str, int]
    unreadable: Mapping[str, str]
    bytes: Mapping[str, int]
    facts: Mapping[str, Facts] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


class Source(Protocol):
    """A snapshot of one store."""

    about: About
    snapshot: Any

    @property
    def taken_at(self) -> datetime:
        """The moment the snapshot shows, UTC."""

    def load(self, warehouse: Warehouse, table: str) -> Loaded:
        """Load one table into schema ``raw``, exactly, and count it against the snapshot."""

    def finish(self) -> None:
        """Loading is over: let go of what only loading needs."""

    def close(self) -> None:
        """Let go of everything, whatever happened."""

    def health(self) -> tuple[list[str], list[ForeignKeyViolation]]:
        """What the engine itself says of the snapshot: damage, and rows that point nowhere."""

    def cleared_calls(self) -> list[str]:
        """Principals whose call chain a fast verifier found without any fault; the others are looked at in SQL."""

    def probes(self) -> list[Probe]:
        """Trials of the append-only guards, on a private copy only."""

    def facts(self) -> Mapping[str, Any]:
        """Columns journal_mode, main_bytes, wal_bytes of ``source.store``; None where the engine has no such thing."""

    def document(self) -> dict[str, Any]:
        """The part ``snapshot`` of result.json."""
