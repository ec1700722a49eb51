"""Rows to events: what each row of a turn becomes, without its id (maka sheet 4.3, 4.4).

Events are pure functions of header and rows: nothing here reads a clock, and nothing depends on what is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from busbar_audit.conversion.rows import LegacyRow
from busbar_audit.transcript.event_shape import NOTES, USAGE
from busbar_audit.transcript.projection import normalised

Body = dict[str, Any]
Number = int | float
_PRESENTED = ("activityKind", "displayName", "intent")


def opening_body(header: Mapping[str, Any], opened_at: Number) -> Body:
    """The opening of a converted run: what the header says now stands for all turns."""
    return {
        "role": "system",
        "author": "system",
        "modelVisibility": "hidden",
        "ts": opened_at,
        "content": {
            "kind": "invocation_opened",
            "protocol": "invocation_opened_v1",
            "route": {
                "provenance": "unknown",
                "backendKind": header.get("backend"),
                "llmConnectionSlug": header.get("llmConnectionSlug"),
                "modelId": header.get("model"),
            },
            "configuration": {
                "cwd": header.get("cwd"),
                "permissionMode": header.get("permissionMode"),
                **modes(header),
            },
            "root": {"kind": "user"},
            "source": {"kind": "fresh"},
        },
    }


def modes(header: Mapping[str, Any]) -> dict[str, Any]:
    """How a session works, as an opening that is derived from its header says it."""
    return {
        "collaborationMode": header.get("collaborationMode") or "agent",
        "orchestrationMode": header.get("orchestrationMode") or "default",
        "orchestrationSource": "session",
        "toolMode": "direct",
    }


def mark(row: Mapping[str, Any] | None, generated_at: Number) -> Body:
    """What says of an event that it was made from a row; an ending may have none."""
    named = {} if row is None else {"sourceMessageId": row["id"], "sourceMessageType": row["type"]}
    return {
        "kind": "runtime_event_backfill",
        "source": "legacy_stored_message",
        "reason": "missing_runtime_event_ledger",
        **named,
        "confidence": "lossless",
        "generatedAt": generated_at,
        "version": 1,
    }


class Turn:
    """What an event needs to know of the other rows of its turn: calls and results of tools."""

    def __init__(self, rows: Sequence[LegacyRow]) -> None:
        self.calls: dict[str, Mapping[str, Any]] = {}
        self.answered: set[str] = set()
        for one in rows:
            row = one.row
            if row["type"] == "tool_call":
                self.calls[row["id"]] = row
            elif row["type"] == "tool_result" and row.get("providerOutput") is not None:
                self.answered.add(row["toolUseId"])


def bodies(row: Mapping[str, Any], turn: Turn, generated_at: Number, *, conversation: bool) -> Iterator[Body]:
    """The events of a row, in order; none for rows that others own (sheet 3.2) and for turn_state.

    Parameters
    ----------
    conversation : text of user and assistant alone, as for sessions of another program.
    """
    kind = row["type"]
    if conversation and kind not in ("user", "assistant"):
        return
    if kind == "user":
        yield _user(row, generated_at)
    elif kind == "assistant":
        if not conversation or row["text"]:
            yield _marked(row, generated_at, "model", "agent", **_said(row))
        if not conversation:
            for part in _thinking(row):
                yield _marked(row, generated_at, "model", "agent", content={"kind": "thinking", **part})
    elif kind == "tool_call":
        yield _call(row, turn)
    elif kind == "tool_result":
        yield _result(row, turn)
    elif kind == "permission_decision":
        told = _present(row, ("decision", "rememberForTurn", "reviewer", "rationale", "riskLevel", "toolName", "hint"))
        decision = {"permissionDecision": {"requestId": row["id"], **told}}
        refs = {"toolCallId": row["toolUseId"]}
        yield _marked(row, generated_at, "system", "system", actions=decision, refs=refs)
    elif kind == "token_usage":
        refs = _present(row, ("providerRequestTraceId",))
        used = {"tokenUsage": _present(row, USAGE)}
        yield _marked(row, generated_at, "system", "system", actions=used, refs=refs)
    elif kind == "system_note" and row["kind"] in NOTES:
        note = {"kind": "system_note", "note": row["kind"], **_present(row, ("data",))}
        yield _marked(row, generated_at, "system", "system", content=note, modelVisibility="hidden")


def _marked(
    row: Mapping[str, Any],
    generated_at: Number,
    role: str,
    author: str,
    *,
    actions: Mapping[str, Any] | None = None,
    refs: Mapping[str, Any] | None = None,
    **members: Any,
) -> Body:
    return {
        "role": role,
        "author": author,
        "ts": row["ts"],
        "actions": {**(actions or {}), "stateDelta": {"makaRuntimeRecovery": mark(row, generated_at)}},
        "refs": {"storedMessageId": row["id"], **(refs or {})},
        **members,
    }


def _user(row: Mapping[str, Any], generated_at: Number) -> Body:
    content = {"kind": "text", **normalised(row), **_present(row, ("origin",))}
    return _marked(row, generated_at, "user", "host" if "origin" in row else "user", content=content)


def _said(row: Mapping[str, Any]) -> Body:
    content = {"kind": "text", "text": row["text"]}
    if "interrupted" in row:
        return {"content": {**content, "interrupted": row["interrupted"]}, "modelVisibility": "hidden"}
    return {"content": content}


def _thinking(row: Mapping[str, Any]) -> list[Body]:
    told = row.get("thinking")
    if told is None:
        return []
    return [_present(part, ("text", "signature", "providerOptions")) for part in told.get("parts") or [told]]


def _call(row: Mapping[str, Any], turn: Turn) -> Body:
    hidden = row.get("providerExecuted") is True and row["id"] not in turn.answered
    content = {"kind": "function_call", "id": row["id"], "name": row["toolName"], "args": row["args"]}
    body: Body = {
        "role": "model",
        "author": "agent",
        "ts": row["ts"],
        **_present(row, ("origin", "modelVisibility")),
        "content": content | _present(row, ("providerOptions", "providerExecuted")),
        "refs": {
            "storedMessageId": row["id"],
            "toolCallId": row["id"],
            **_present(row, ("parentToolCallId", "parentOperationId", "stepId")),
        },
    }
    return _acted(body, _present(row, _PRESENTED), hidden)


def _result(row: Mapping[str, Any], turn: Turn) -> Body:
    call = turn.calls.get(row["toolUseId"])
    before = call is not None and call["ts"] <= row["ts"]
    hidden = not before or (row.get("providerExecuted") is True and row.get("providerOutput") is None)
    own = call or {}
    content = {
        "kind": "function_response",
        "id": row["toolUseId"],
        "name": own.get("toolName", ""),
        "result": row["content"],
        "isError": row["isError"],
    }
    body: Body = {
        "role": "tool",
        "author": "tool",
        "ts": row["ts"],
        **_present(own, ("origin", "modelVisibility")),
        "content": content | _present(row, ("providerExecuted", "providerOutput")),
        "refs": {
            "storedMessageId": row["id"],
            "toolCallId": row["toolUseId"],
            **_present(own, ("parentToolCallId", "parentOperationId")),
        },
    }
    return _acted(body, _present(row, ("durationMs",)), hidden)


def _acted(body: Body, delta: Body, hidden: bool) -> Body:
    if delta:
        body["actions"] = {"stateDelta": delta}
    if hidden:
        body["modelVisibility"] = "hidden"
    return body


def _present(members: Mapping[str, Any], keys: Sequence[str]) -> Body:
    return {key: members[key] for key in keys if key in members}
