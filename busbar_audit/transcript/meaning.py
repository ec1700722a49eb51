"""What a legacy row says, and what an event says, as digests that are equal where a conversion carried it over.

A row is due as one or more facts: an assistant row as its text and each part of its thinking, any other as one. The
digest covers what conversion keeps (maka sheet 4.4) and neither what it loses by design (4.8) nor what the two writers of
a native turn are known to write differently (15). Nothing of the content can be read from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from busbar_audit.transcript.event_shape import NOTES, TERMINAL
from busbar_audit.transcript.projection import normalised
from busbar_audit.transcript.reader import canonical
from busbar_audit.transcript.row_shape import OLD_PLANS

# What a fact can be: the words of views `import_due` and `import_found`.
USER, ASSISTANT, THINKING, CALL, RESULT = "user", "assistant", "thinking", "tool_call", "tool_result"
DECISION, USAGE, NOTE, END = "permission_decision", "token_usage", "system_note", "turn_state"
_SENT, _CALLED, _SHOWN = ("input", "output"), ("id", "name", "args"), ("displayName", "intent")
_DECIDED = ("decision", "rememberForTurn")
# In front of the digest of a row whose content is another one once it was converted.
LOOSE = "~"


def row_meanings(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a decoded row is due as, in the order of conversion; nothing for rows that are never events."""
    kind = row.get("type")
    if kind == USER:
        return [(USER, _digest(_said(row)))]
    if kind == ASSISTANT:
        thinking = row.get("thinking")
        parts = _parts(thinking) if isinstance(thinking, dict) else []
        return [(ASSISTANT, _digest(row.get("text"))), *((THINKING, _digest(part)) for part in parts)]
    if kind == CALL:
        told = {"id": row.get("id"), "name": row.get("toolName"), "args": row.get("args")}
        return [(CALL, _digest([told, _kept(row, _SHOWN)]))]
    if kind == RESULT:
        return [(RESULT, _result(row.get("toolUseId"), row.get("isError"), row.get("content")))]
    if kind == DECISION:
        return [(DECISION, _digest([row.get("id"), _kept(row, _DECIDED)]))]
    if kind == USAGE:
        return [(USAGE, _digest(_kept(row, _SENT)))]
    if kind == END:
        return [(END, _word(row.get("status")))]
    if kind == NOTE and row.get("kind") in NOTES:
        return [(NOTE, _digest([row.get("kind"), row.get("data")]))]
    return []


def event_meaning(event: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The one fact that an event can be for a row, and its digest; nothing for events that no row is due as."""
    content, actions = _object(event, "content"), _object(event, "actions")
    kind, role = content.get("kind"), event.get("role")
    if actions.get("endInvocation") is True or event.get("status") in TERMINAL:
        return END, _word(event.get("status"))
    if kind == "text":
        return (USER, _digest(_said(content))) if role == "user" else (ASSISTANT, _digest(content.get("text")))
    if kind == THINKING:
        return THINKING, _digest(_kept(content, ("text", "signature", "providerOptions")))
    if kind == "function_call":
        return CALL, _digest([_kept(content, _CALLED), _kept(_object(actions, "stateDelta"), _SHOWN)])
    if kind == "function_response":
        return RESULT, _result(content.get("id"), content.get("isError"), content.get("result"))
    if kind == NOTE:
        return NOTE, _digest([content.get("note"), content.get("data")])
    if "permissionDecision" in actions:
        told = _object(actions, "permissionDecision")
        return DECISION, _digest([told.get("requestId"), _kept(told, _DECIDED)])
    if "tokenUsage" in actions:
        return USAGE, _digest(_kept(_object(actions, "tokenUsage"), _SENT))
    return None, None


def _said(members: Mapping[str, Any]) -> Any:
    return normalised(members) if isinstance(members.get("text"), str) else None


def _parts(thinking: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = thinking.get("parts")
    told = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) and parts else [thinking]
    return [_kept(part, ("text", "signature", "providerOptions")) for part in told]


def _result(used: Any, failed: Any, content: Any) -> str:
    """A result. Those of an earlier plan tool become values of kind json; of an explorer's only the report is kept."""
    kind = content.get("kind") if isinstance(content, dict) else None
    told = {"kind": "json", "value": content} if kind in OLD_PLANS else content
    return (LOOSE if kind == "explore_agent" else "") + _digest([used, failed is True, told])


def _word(status: Any) -> str:
    """The class of an ending: cancelled is aborted."""
    if status == "cancelled":
        return "aborted"
    return status if isinstance(status, str) and (status in TERMINAL or status == "running") else "other"


def _kept(members: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: members[key] for key in keys if key in members}


def _object(members: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = members.get(key)
    return found if isinstance(found, dict) else {}


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()[:32]
