"""Stored rows as chain records: what the row says of its place, and the digest recomputed from its own fields.

Readers hand over each column already sorted by storage class: text as its bytes, integers as int, and None for a value
of any other class. So one rule holds everywhere: None and invalid UTF-8 are values that cannot be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from busbar_audit.chains import recipes
from busbar_audit.chains.recipes import U64_MAX


class Record(NamedTuple):
    """One placed row of a chain.

    Attributes
    ----------
    population, scope, seq : its place; `seq` is the column of the row.
    ts : seconds, signed as in the column of a typed table, u64 from the body of a plane record; None when it cannot be
        known.
    prev_hash, hash : as stored, None when they cannot be known.
    recomputed : the digest of its own fields, None when the record is undecodable.
    """

    population: str
    scope: str
    seq: int
    ts: int | None
    prev_hash: str | None
    hash: str | None
    recomputed: str | None


class Undecodable(ValueError):
    """The body is not what its population writes."""


# ---- strict JSON -----------------------------------------------------------------------------------------------------

# A backslash that is left after every whole escape is taken out belongs to half of a surrogate pair.
_ESCAPE = re.compile(
    r"\\(?:[^u]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


class _Twice(dict[str, Any]):
    """An object that names a member twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Twice(members)


def _integer(token: str) -> int | float:
    # A float marks whatever no u64 can hold, "-0" among it, and spares int() a token of a million digits.
    return int(token) if len(token) <= 20 and token[0] != "-" else float(token)


def _constant(token: str) -> float:
    raise Undecodable(f"{token} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)


def strict_object(data: bytes) -> dict[str, Any]:
    """Read a JSON object as RFC 8259 has it, with each member named once at the top.

    Integers below zero or above 20 digits come back as float, as no field of a chain may hold them.

    Raises
    ------
    Undecodable
        Invalid UTF-8, not JSON (NaN, trailing comma, text after the end), half a surrogate pair, a member named twice
        at the top, no object, or nested deeper than the reader can follow.
    """
    try:
        text = data.decode()
        value = _DECODER.decode(text)
    except Undecodable:
        raise
    except (ValueError, RecursionError) as error:
        raise Undecodable("not JSON") from error
    if type(value) is not dict:
        raise Undecodable("not an object, or a member named twice")
    if "\\u" in text and "\\" in _ESCAPE.sub("", text):
        raise Undecodable("half a surrogate pair")
    return value


def _pick(body: dict[str, Any], texts: Iterable[str], integers: Iterable[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in texts:
        if type(body.get(name)) is not str:
            raise Undecodable(f"{name} is not a string")
        fields[name] = body[name]
    for name in integers:
        value = body.get(name)
        if type(value) is not int or value > U64_MAX:
            raise Undecodable(f"{name} is not an unsigned 64-bit integer")
        fields[name] = value
    return fields


# ---- typed tables ----------------------------------------------------------------------------------------------------

_CALL_TEXTS: Final = ("server", "tool", "outcome", "reason", "tool_digest")


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def mcp_call(
    principal: bytes | None,
    seq: int | None,
    ts: int | None,
    prev_hash: bytes | None,
    hash: bytes | None,  # the column's own name
    body: bytes | None,
) -> Record | None:
    """Decode a row of mcp_calls; None when it has no place (principal or seq unusable)."""
    scope, prev, stored = _text(principal), _text(prev_hash), _text(hash)
    if scope is None or seq is None:
        return None
    recomputed = None
    if ts is not None and prev is not None and stored is not None and body is not None:
        try:
            fields = _pick(strict_object(body), _CALL_TEXTS, ("pin_generation",))
            recomputed = recipes.call(prev, scope, seq, ts, **fields)
        except Undecodable:
            pass
    return Record("mcp_calls", scope, seq, ts, prev, stored, recomputed)


def audit_entry(seq: int | None, ts: int | None, *texts: bytes | None) -> Record | None:
    """Decode a row of audit_log (texts: action, resource, outcome, principal, prev_hash, hash); None without a seq."""
    if seq is None:
        return None
    *fields, prev, stored = map(_text, texts)
    return _joined_row("audit_log", "audit_log", seq, ts, prev, stored, fields, recipes.admin_audit)


def task_event(task_id: bytes | None, seq: int | None, ts: int | None, *texts: bytes | None) -> Record | None:
    """Decode a row of task_events (texts: kind, context_id, principal, agent_id, state, prev_hash, hash)."""
    scope = _text(task_id)
    if scope is None or seq is None:
        return None

    def recipe(prev_hash: str, *rest: Any) -> str:
        return recipes.event_v1(prev_hash, scope, *rest)

    *fields, prev, stored = map(_text, texts)
    return _joined_row("task_events", scope, seq, ts, prev, stored, fields, recipe)


def _joined_row(
    population: str,
    scope: str,
    seq: int,
    ts: int | None,
    prev: str | None,
    stored: str | None,
    fields: list[str | None],
    recipe: Callable[..., str],
) -> Record:
    if ts is None or prev is None or stored is None or None in fields:
        return Record(population, scope, seq, ts, prev, stored, None)
    return Record(population, scope, seq, ts, prev, stored, recipe(prev, seq, ts, *fields))


# ---- plane_records ---------------------------------------------------------------------------------------------------

_PLANE_TEXTS: Final = {
    "call": ("principal", *_CALL_TEXTS, "prev_hash"),
    "audit": ("action", "resource", "outcome", "principal", "prev_hash"),
    "task_event": ("task_id", "kind", "context_id", "principal", "agent_id", "state", "prev_hash"),
}
_PLANE_INTEGERS: Final = {
    "call": ("seq", "ts", "pin_generation"),
    "audit": ("seq", "ts"),
    "task_event": ("seq", "ts"),
}


def plane_record(kind: str, parent: bytes | None, seq: int | None, body: bytes | None) -> Record | None:
    """Decode an appended row of plane_records, typed or neutral by its members; None when it has no place.

    Seq, time and hashes that are digested and linked come from the body, the place in the chain from the row.
    """
    scope = _text(parent)
    if scope is None or seq is None:
        return None
    try:
        if body is None:
            raise Undecodable("no body")
        members = strict_object(body)
        if "content" in members and kind != "task_event":
            ts, prev, stored, recomputed = _neutral(kind, scope, members)
        else:
            ts, prev, stored, recomputed = _typed(kind, members)
    except Undecodable:
        return Record(kind, scope, seq, None, None, None, None)
    return Record(kind, scope, seq, ts, prev, stored, recomputed)


def _typed(kind: str, members: dict[str, Any]) -> tuple[int, str, str, str]:
    fields = _pick(members, (*_PLANE_TEXTS[kind], "hash"), _PLANE_INTEGERS[kind])
    stored = fields.pop("hash")
    recipe: Callable[..., str]
    if kind == "call":
        recipe = recipes.call
    elif kind == "audit":
        recipe = recipes.admin_audit
    else:
        # The late engine reads an unknown version as 1 (sheet 4.4); 2.0 and "2" are unknown ones.
        version = members.get("digest_version")
        recipe = recipes.event_v2 if type(version) is int and version == 2 else recipes.event_v1
    return fields["ts"], fields["prev_hash"], stored, recipe(**fields)


def _neutral(kind: str, parent: str, members: dict[str, Any]) -> tuple[int, str, str, str]:
    fields = _pick(members, ("prev_hash", "hash"), ("seq",))
    prev, seq = fields["prev_hash"], fields["seq"]
    numbers = members["content"]
    if type(numbers) is not list or not all(type(n) is int and n <= 255 for n in numbers):
        raise Undecodable("content is not an array of bytes")
    content = bytes(numbers)
    if kind == "call":
        call = recipes.parse_neutral_call(content)
        if call is None:
            raise Undecodable("content is not the seven frames of a call")
        return call.ts, prev, fields["hash"], recipes.neutral_call_digest(prev, parent, seq, content)
    audit = recipes.parse_neutral_audit(content)
    if audit is None:
        raise Undecodable("content is none of the three audit variants")
    return audit[1].ts, prev, fields["hash"], recipes.neutral_audit_digest(prev, seq, content)
