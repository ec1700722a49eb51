"""Bodies of records as busbar writes them: compact JSON, member order fixed, and the neutral journal form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

EVENT_MEMBERS = (
    "task_id",
    "seq",
    "ts",
    "kind",
    "context_id",
    "principal",
    "agent_id",
    "state",
    "request_id",
    "prev_hash",
    "hash",
)
TASK_MEMBERS = (
    "task_id",
    "context_id",
    "principal",
    "direction",
    "state",
    "agent_id",
    "artifact_cursor",
    "push_callback",
    "created_at",
    "updated_at",
)
CALL_MEMBERS = (
    "principal",
    "seq",
    "ts",
    "server",
    "tool",
    "outcome",
    "reason",
    "tool_digest",
    "pin_generation",
    "request_id",
    "prev_hash",
    "hash",
)
AUDIT_MEMBERS = ("seq", "ts", "action", "resource", "outcome", "principal", "prev_hash", "hash")
MCP_MEMBERS = ("outcome", "pin_generation", "reason", "request_id", "server", "tool", "tool_digest")


def dumps(value: object) -> str:
    """Return compact JSON, unescaped outside ASCII, members in the order given (fact sheet 8.2)."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def encode(members: Sequence[str], values: Sequence[object], **more: object) -> bytes:
    """Return the body of a typed record as the bytes the store keeps."""
    return dumps({**dict(zip(members, values, strict=True)), **more}).encode()


def neutral(seq: int, prev_hash: str, digest: str, content: bytes) -> bytes:
    """Return a neutral journal body (fact sheet 4.5)."""
    return dumps({"seq": seq, "prev_hash": prev_hash, "hash": digest, "content": list(content)}).encode()


def members(body: bytes | str) -> dict[str, object]:
    """Read a body back as a mapping, member order kept."""
    value = json.loads(body)
    if not isinstance(value, Mapping):
        raise TypeError("a body is a JSON object")
    return dict(value)
