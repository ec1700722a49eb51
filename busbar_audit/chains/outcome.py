"""What a verifier says about one chain."""

from __future__ import annotations

from dataclasses import dataclass

TYPED_TABLES = ("audit_log", "mcp_calls", "task_events")
PLANE_KINDS = ("audit", "call", "task_event")

ABOUT = (
    "content",
    "fork",
    "form",
    "gap-inner",
    "genesis",
    "head-missing",
    "link",
    "order",
    "restart",
    "undecodable",
)


@dataclass(frozen=True)
class ChainExtent:
    """One kind of fault in one chain.

    Attributes
    ----------
    about : the kind of fault, one of `ABOUT`.
    first_seq, last_seq : the lowest and the highest sequence number concerned.
    records : how many records are concerned; for gaps and missing heads, how many are absent.
    """

    about: str
    first_seq: int
    last_seq: int
    records: int


@dataclass(frozen=True)
class ChainOutcome:
    """One chain: its place, its range, its faults.

    Attributes
    ----------
    population : ``audit_log``, ``mcp_calls``, ``task_events``, or a plane kind ``audit``, ``call``, ``task_event``.
    scope : ``audit_log`` for the one admin chain, else the principal, the task id or the parent.
    records : number of rows, undecodable ones included.
    first_seq, last_seq : lowest and highest sequence number; 0 when no row could be placed.
    first_prev_hash, last_hash : hashes at both ends, None when the row there does not tell.
    extents : the faults, sorted by kind; empty for a chain without fault.
    """

    population: str
    scope: str
    records: int
    first_seq: int
    last_seq: int
    first_prev_hash: str | None
    last_hash: str | None
    extents: tuple[ChainExtent, ...]


class Extents:
    """Collects the faults of one chain by kind."""

    def __init__(self) -> None:
        self._found: dict[str, list[int | None]] = {}
        self._records: dict[str, int] = {}

    def add(self, about: str, first_seq: int | None, last_seq: int | None, records: int = 1) -> None:
        """Count a fault and widen its range; a record without a usable seq (None) widens nothing."""
        self._records[about] = self._records.get(about, 0) + records
        found = self._found.setdefault(about, [None, None])
        if first_seq is not None and (found[0] is None or first_seq < found[0]):
            found[0] = first_seq
        if last_seq is not None and (found[1] is None or last_seq > found[1]):
            found[1] = last_seq

    def merge(self, other: Extents) -> None:
        """Add all that `other` collected."""
        for about, records in other._records.items():
            first_seq, last_seq = other._found[about]
            self.add(about, first_seq, last_seq, records)

    def __bool__(self) -> bool:
        return bool(self._records)

    def sorted(self) -> tuple[ChainExtent, ...]:
        """Return the extents by kind; 0 stands for a range that no record could tell."""
        return tuple(
            ChainExtent(about, self._found[about][0] or 0, self._found[about][1] or 0, self._records[about])
            for about in sorted(self._records)
        )
