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
