"""The exact shape of a row of session_messages (maka sheet section 3), as rules."""

from __future__ import annotations

from typing import Any

from busbar_audit.transcript.decoding import (
    Problem,
    anything,
    check,
    each,
    kinds,
    members,
    name,
    number,
    record,
    text,
    truth,
    word,
)
from busbar_audit.transcript.event_shape import NOTES, TEXT_PARTS, USAGE

RETIRED = ("session_start", "session_resume", "mode_change", "model_change", "error", "abort")
TYPES = (
    "user",
    "assistant",
    "tool_call",
    "tool_result",
    "permission_decision",
    "token_usage",
    "turn_state",
    "system_note",
    "workhub_coordination",
    "workhub_evidence",
    "workhub_evidence_resolution",
)
RESULTS = (
    "text",
    "json",
    "file_diff",
    "file_write",
    "archived_tool_result",
    "terminal",
    "shell_run",
    "image",
    "summary",
    "web_search",
    "web_search_error",
    "subagent",
    "agent_swarm",
    "rive_workflow",
)
# Results of an earlier plan tool: read as if they were the value of a result of kind json.
OLD_PLANS = ("plan_submitted", "plan_progress_updated", "plan_execution_completed", "plan_execution_cancelled")

_TURN = {"type": name, "id": text, "turnId": text, "ts": number}
_PART = record({"text": text}, {"signature": text, "providerOptions": members})
_THINKING = record({"text": text}, {"signature": text, "providerOptions": members, "parts": each(_PART)})
_IDENTITY = {"origin": text, "modelVisibility": text, "parentToolCallId": text, "parentOperationId": text}
# Only read in rows: what is kept of it elsewhere is its report as text.
_RESULT = kinds("kind", dict.fromkeys((*RESULTS, *OLD_PLANS, "explore_agent"), members))
_WORKHUB = record({**_TURN, "kind": name, "schemaVersion": number}, exact=False)

ROW = kinds(
    "type",
    {
        "user": record({**_TURN, "text": text}, {**TEXT_PARTS, "steeringEventId": text, "coordinationActionId": text}),
        "assistant": record(
            {**_TURN, "text": text, "modelId": text},
            {
                "thinking": _THINKING,
                "contentOrder": each(word("thinking", "text", "tools")),
                "providerOptions": members,
                "interrupted": anything,
            },
        ),
        "tool_call": record(
            {**_TURN, "toolName": text, "args": anything},
            {
                "activityKind": text,
                "displayName": text,
                "intent": text,
                "providerOptions": members,
                "providerExecuted": truth,
                "stepId": text,
                **_IDENTITY,
            },
        ),
        "tool_result": record(
            {**_TURN, "toolUseId": text, "isError": truth, "content": _RESULT},
            {"providerExecuted": truth, "providerOutput": anything, "durationMs": number, **_IDENTITY},
        ),
        "permission_decision": record(
            {**_TURN, "toolUseId": text, "toolName": text, "decision": word("allow", "deny")},
            {"rememberForTurn": truth, "reviewer": text, "rationale": text, "riskLevel": text, "hint": anything},
        ),
        "token_usage": record(
            {**_TURN, "input": number, "output": number},
            {**dict.fromkeys(USAGE[2:], anything), "providerRequestTraceId": text},
        ),
        "turn_state": record(
            {**_TURN, "status": word("running", "completed", "aborted", "failed")},
            {
                "partialOutputRetained": truth,
                **dict.fromkeys(
                    (
                        "parentTurnId",
                        "retriedFromTurnId",
                        "regeneratedFromTurnId",
                        "branchOfTurnId",
                        "parentSessionId",
                        "abortSource",
                        "errorClass",
                        "failureMessage",
                    ),
                    text,
                ),
                "abortedAt": number,
                "retry": anything,
            },
        ),
        "system_note": record(
            {"type": name, "id": text, "ts": number, "kind": word(*NOTES, *RETIRED)}, {"turnId": text, "data": anything}
        ),
        "workhub_coordination": _WORKHUB,
        "workhub_evidence": members,
        "workhub_evidence_resolution": members,
    },
)


def row_problems(row: Any) -> list[Problem]:
    """What keeps a row from being decoded; nothing for one that the product reads."""
    return check(ROW, row)
