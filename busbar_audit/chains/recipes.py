"""The digest recipes of every chain population, in pure Python (sheet sections 4.2 to 4.5).

Every recipe takes the fields of one record and answers the SHA-256 as 64 lowercase hex digits. The same functions
write synthetic stores, so nothing here knows where a record came from.

Two families of integers exist. Framed recipes digest eight bytes, so a negative number stands for the u64 with the same
bits. Joined recipes digest decimal text, so the caller decides on the sign by what it passes.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Literal, NamedTuple

AuditVariant = Literal["legacy", "core", "kernel"]

U64_MAX = 2**64 - 1
EVENT_V2_DOMAIN = b"busbar.a2a.taskchain.v2\0"
AUDIT_CORE_DOMAIN = b"busbar.audit.adminchain.v2"


class CallContent(NamedTuple):
    """What a neutral call body covers beside its place in the chain."""

    ts: int
    server: str
    tool: str
    outcome: str
    reason: str
    tool_digest: str
    pin_generation: int


class AuditContent(NamedTuple):
    """What a neutral audit body covers beside its place in the chain."""

    ts: int
    action: str
    resource: str
    outcome: str
    principal: str


def frame(data: bytes) -> bytes:
    """Eight bytes of big-endian length, then the bytes."""
    return len(data).to_bytes(8, "big") + data


def frame_text(text: str) -> bytes:
    """Frame the UTF-8 bytes of a text; the empty text is eight zero bytes."""
    return frame(text.encode())


def frame_int(value: int) -> bytes:
    """Frame an integer as the eight big-endian bytes of its u64 (two's complement for a negative one)."""
    return b"\0\0\0\0\0\0\0\x08" + (value & U64_MAX).to_bytes(8, "big")


def _hex(preimage: bytes) -> str:
    return sha256(preimage).hexdigest()


def _joined(*parts: str | int) -> bytes:
    return "|".join(map(str, parts)).encode()


# ---- admin audit: audit_log and the typed body of kind `audit` -------------------------------------------------------


def admin_audit_preimage(
    prev_hash: str, seq: int, ts: int, action: str, resource: str, outcome: str, principal: str
) -> bytes:
    """Bytes digested for an admin audit record: seven parts joined by a vertical bar (sheet 4.2)."""
    return _joined(prev_hash, seq, ts, action, resource, outcome, principal)


def admin_audit(prev_hash: str, seq: int, ts: int, action: str, resource: str, outcome: str, principal: str) -> str:
    """Digest of an admin audit record. The join is not injective: a bar inside a field can be moved (sheet 4.2)."""
    return _hex(admin_audit_preimage(prev_hash, seq, ts, action, resource, outcome, principal))


# ---- calls: mcp_calls and the typed body of kind `call` --------------------------------------------------------------


def call_preimage(
    prev_hash: str,
    principal: str,
    seq: int,
    ts: int,
    server: str,
    tool: str,
    outcome: str,
    reason: str,
    tool_digest: str,
    pin_generation: int,
) -> bytes:
    """Bytes digested for a call record: ten big-endian frames (sheet 4.3)."""
    content = neutral_call_content(ts, server, tool, outcome, reason, tool_digest, pin_generation)
    return neutral_call_preimage(prev_hash, principal, seq, content)


def call(
    prev_hash: str,
    principal: str,
    seq: int,
    ts: int,
    server: str,
    tool: str,
    outcome: str,
    reason: str,
    tool_digest: str,
    pin_generation: int,
) -> str:
    """Digest of a call record. The request id is not covered (sheet 4.3)."""
    return _hex(
        call_preimage(prev_hash, principal, seq, ts, server, tool, outcome, reason, tool_digest, pin_generation)
    )


# ---- task events -----------------------------------------------------------------------------------------------------


def event_v1_preimage(
    prev_hash: str,
    task_id: str,
    seq: int,
    ts: int,
    kind: str,
    context_id: str,
    principal: str,
    agent_id: str,
    state: str,
) -> bytes:
    """Bytes digested for a task event, version 1: nine parts joined by a vertical bar (sheet 4.4)."""
    return _joined(prev_hash, task_id, seq, ts, kind, context_id, principal, agent_id, state)


def event_v1(
    prev_hash: str,
    task_id: str,
    seq: int,
    ts: int,
    kind: str,
    context_id: str,
    principal: str,
    agent_id: str,
    state: str,
) -> str:
    """Digest of a task event, version 1."""
    return _hex(event_v1_preimage(prev_hash, task_id, seq, ts, kind, context_id, principal, agent_id, state))


def _little(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(8, "little") + data


def event_v2_preimage(
    prev_hash: str,
    task_id: str,
    seq: int,
    ts: int,
    kind: str,
    context_id: str,
    principal: str,
    agent_id: str,
    state: str,
) -> bytes:
    """Bytes digested for a task event, version 2: domain, LITTLE-endian text frames, raw integers (sheet 4.4)."""
    head = EVENT_V2_DOMAIN + _little(prev_hash) + _little(task_id)
    numbers = (seq & U64_MAX).to_bytes(8, "little") + (ts & U64_MAX).to_bytes(8, "little")
    return head + numbers + b"".join(map(_little, (kind, context_id, principal, agent_id, state)))


def event_v2(
    prev_hash: str,
    task_id: str,
    seq: int,
    ts: int,
    kind: str,
    context_id: str,
    principal: str,
    agent_id: str,
    state: str,
) -> str:
    """Digest of a task event, version 2."""
    return _hex(event_v2_preimage(prev_hash, task_id, seq, ts, kind, context_id, principal, agent_id, state))


# ---- neutral journal bodies ------------------------------------------------------------------------------------------


def neutral_call_content(
    ts: int, server: str, tool: str, outcome: str, reason: str, tool_digest: str, pin_generation: int
) -> bytes:
    """Content bytes of a neutral call body: the last seven frames of the call recipe (sheet 4.5)."""
    texts = b"".join(map(frame_text, (server, tool, outcome, reason, tool_digest)))
    return frame_int(ts) + texts + frame_int(pin_generation)


def neutral_call_preimage(prev_hash: str, principal: str, seq: int, content: bytes) -> bytes:
    """Bytes digested for a neutral call body; the principal is the parent of the row."""
    return frame_text(prev_hash) + frame_text(principal) + frame_int(seq) + content


def neutral_call_digest(prev_hash: str, principal: str, seq: int, content: bytes) -> str:
    """Digest of a neutral call body, equal to that of the typed record with the same fields."""
    return _hex(neutral_call_preimage(prev_hash, principal, seq, content))


def neutral_audit_content(
    variant: AuditVariant, ts: int, action: str, resource: str, outcome: str, principal: str
) -> bytes:
    """Content bytes of a neutral audit body in one of the three variants (sheet 4.5).

    Parameters
    ----------
    variant : ``legacy`` for rows copied out of audit_log, ``core`` with the domain text, ``kernel`` with a zero byte.
    """
    if variant == "legacy":
        return b"|" + _joined(ts, action, resource, outcome, principal)
    head = frame(AUDIT_CORE_DOMAIN) if variant == "core" else b"\0"
    return head + frame_int(ts) + b"".join(map(frame_text, (action, resource, outcome, principal)))


def neutral_audit_preimage(prev_hash: str, seq: int, content: bytes) -> bytes:
    """Bytes digested for a neutral audit body."""
    return _joined(prev_hash, seq) + content


def neutral_audit_digest(prev_hash: str, seq: int, content: bytes) -> str:
    """Digest of a neutral audit body; for the legacy variant equal to that of the audit_log row."""
    return _hex(neutral_audit_preimage(prev_hash, seq, content))


def _frames(data: bytes, start: int, count: int) -> list[bytes] | None:
    """Exactly `count` frames that fill `data` from `start` to its end, or None."""
    fields, at, end = [], start, len(data)
    for _ in range(count):
        if at + 8 > end:
            return None
        size = int.from_bytes(data[at : at + 8], "big")
        at += 8 + size
        if at > end:
            return None
        fields.append(data[at - size : at])
    return fields if at == end else None


def parse_neutral_call(content: bytes) -> CallContent | None:
    """Fields of a neutral call body, or None when the content is not exactly its seven frames."""
    fields = _frames(content, 0, 7)
    if fields is None or len(fields[0]) != 8 or len(fields[6]) != 8:
        return None
    try:
        server, tool, outcome, reason, tool_digest = (field.decode() for field in fields[1:6])
    except UnicodeDecodeError:
        return None
    ts, pin = int.from_bytes(fields[0], "big"), int.from_bytes(fields[6], "big")
    return CallContent(ts, server, tool, outcome, reason, tool_digest, pin)


def parse_neutral_audit(content: bytes) -> tuple[AuditVariant, AuditContent] | None:
    """Variant and fields of a neutral audit body, or None when it is none of the three variants.

    A legacy content with more bars than the join wrote can be split in several ways, all with the same digest. The
    split given here lets the resource have them, as resources are the only free text with a separator of its own.
    """
    if content[:1] == b"|":
        return _parse_legacy(content)
    variant: AuditVariant = "kernel"
    start = 1
    domain = frame(AUDIT_CORE_DOMAIN)
    if content.startswith(domain):
        variant, start = "core", len(domain)
    elif content[:1] != b"\0":
        return None
    fields = _frames(content, start, 5)
    if fields is None or len(fields[0]) != 8:
        return None
    try:
        action, resource, outcome, principal = (field.decode() for field in fields[1:])
    except UnicodeDecodeError:
        return None
    return variant, AuditContent(int.from_bytes(fields[0], "big"), action, resource, outcome, principal)


def _parse_legacy(content: bytes) -> tuple[AuditVariant, AuditContent] | None:
    try:
        parts = content.decode().split("|")
    except UnicodeDecodeError:
        return None
    digits = re.fullmatch(r"0*([0-9]{1,20})", parts[1]) if len(parts) >= 6 else None
    if digits is None or int(digits[1]) > U64_MAX:
        return None
    resource = "|".join(parts[3:-2])
    return "legacy", AuditContent(int(digits[1]), parts[2], resource, parts[-2], parts[-1])
