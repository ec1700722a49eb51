"""What a result was made from, in words: the part ``snapshot`` of result.json for terminals, pages and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def origin(snapshot: Mapping[str, Any]) -> str:
    """One line: how the snapshot was taken and what identifies it."""
    if "sha256" in snapshot:
        wal = snapshot["source"]["wal_bytes"]
        return (
            f"by {snapshot['method']}, {snapshot['bytes']:,} bytes"
            + (f", WAL of {wal:,} bytes included" if wal else "")
            + f", SHA-256 {snapshot['sha256'][:16]}…"
        )
    place = f" of a replica (replayed to {snapshot['lsn']})" if snapshot["replica"] else f", LSN {snapshot['lsn']}"
    return f"by {snapshot['method']}, snapshot {snapshot['snapshot']}{place}, PostgreSQL {snapshot['server_version']}"


def identity(snapshot: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values that tell this snapshot from any other."""
    if "sha256" in snapshot:
        return [("sha256", str(snapshot["sha256"]))]
    names = ("snapshot", "lsn", "server_version", "system_identifier", "database", "schema")
    return [(name, str(snapshot[name])) for name in names if snapshot[name] is not None]
