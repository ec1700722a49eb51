"""The exact shape of a RuntimeEvent (maka sheet section 2), as rules."""

from __future__ import annotations

from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import (
    Problem,
    anything,
    check,
    each,
    either,
    kinds,
    members,
    name,
    number,
    record,
    some,
    text,
    truth,
    word,
)

TERMINAL = ("completed", "failed", "aborted", "cancelled")
NOTES = (
    "context_compacted",
    "context_compaction_failed_open",
    "context_provider_dropping",
    "context_window_suggestion",
    "context_window_overrun",
    "context_reported_window_exceeded",
    "context_overflow_after_compaction",
    "step_limit",
)
USAGE = (
    "input",
    "output",
    "cacheHitInput",
    "cacheMissInput",
    "cacheMissInputSource",
    "cacheWriteInput",
    "reasoning",
    "total",
    "rawFinishReason",
    "runtimeSteps",
    "cacheRead",
    "cacheCreation",
    "costUsd",
    "systemPromptHash",
    "contextRemaining",
    "prefixHash",
    "prefixChangeReason",
    "requestShapeHash",
    "requestShapeChangeReason",
    "promptSegments",
    "contextBudget",
    "lastRequestAnchor",
)
REFERENCES = 32

_INLINE = record({"kind": text, "value": text, "start": number}, {"label": text}, exact=False)
TEXT_PARTS = {
    "displayText": text,
    "origin": members,
    "attachments": each(members),
    "directoryReferences": each(members),
    "quotes": each(members),
    "inlineReferences": each(_INLINE, REFERENCES),
}

_SOURCE = {
    "sourceInvocationId": name,
    "sourceRunId": name,
    "sourceTurnId": name,
    "sourceRuntimeEventHighWater": number,
}
_ROUTE = {"provenance": name, "backendKind": word("ai-sdk", "fake"), "llmConnectionSlug": text, "modelId": text}
_LINEAGE = (
    "parentRunId",
    "resumedFromRunId",
    "retriedFromRunId",
    "parentTurnId",
    "parentSessionId",
    "retriedFromTurnId",
    "regeneratedFromTurnId",
    "branchOfTurnId",
    "agentId",
    "agentName",
)

_PLAIN_ROOT = record({"kind": name})
OPENING = record(
    {
        "kind": word("invocation_opened"),
        "protocol": word("invocation_opened_v1"),
        "route": kinds(
            "provenance",
            {
                "runtime": record({**_ROUTE, "llmConnectionId": text}, {"providerStateIdentity": anything}),
                "unknown": record(_ROUTE),
            },
        ),
        "configuration": record(
            {
                "cwd": text,
                "permissionMode": name,
                "collaborationMode": name,
                "orchestrationMode": name,
                "orchestrationSource": name,
                "toolMode": name,
            },
            {"agentSwarmAuthorization": anything, "workspaceIdentity": anything},
        ),
        "root": kinds(
            "kind",
            {
                "user": _PLAIN_ROOT,
                "context_compact": _PLAIN_ROOT,
                "scheduled_task": record({"kind": name, "scheduledTaskId": text}),
                "goal": record({"kind": name, "goalId": text}),
                "agent_graph_supervisor_wake": record({"kind": name, "wakeId": text, "attemptId": text}),
                "legacy_automation": record({"kind": name, "legacyAutomationId": text}),
            },
        ),
        "source": kinds(
            "kind",
            {
                "fresh": record({"kind": name}),
                "continuation": record({"kind": name, **_SOURCE}, {"claimId": text, "boundaryDigest": text}),
                "handoff": record(
                    {"kind": name, "rootRunId": name, **_SOURCE, "claimId": text, "boundaryDigest": text}
                ),
            },
        ),
    },
    {"lineage": some(dict.fromkeys(_LINEAGE, text))},
)

CONTENT = kinds(
    "kind",
    {
        "text": record(
            {"kind": name, "text": text},
            {**TEXT_PARTS, "steering": word(True), "providerOptions": members, "interrupted": anything},
        ),
        "thinking": record({"kind": name, "text": text}, {"signature": text, "providerOptions": members}),
        "function_call": record(
            {"kind": name, "id": text, "name": text, "args": anything},
            {"providerOptions": members, "providerExecuted": truth},
        ),
        "function_response": record(
            {"kind": name, "id": text, "name": text, "result": anything},
            {"isError": truth, "providerExecuted": truth, "providerOutput": anything, "modelProjection": members},
        ),
        "error": record(
            {"kind": name, "message": text},
            {"code": text, "reason": text, "details": either(members, each(text)), "retry": anything},
        ),
        "system_note": record({"kind": name, "note": word(*NOTES)}, {"data": anything}),
        "invocation_opened": OPENING,
        "injection": members,
    },
)

_REQUEST = record({"requestId": name})
ACTIONS = record(
    {},
    {
        "handoffPause": members,
        "coordination": members,
        "stateDelta": members,
        "artifactDelta": anything,
        "permissionRequest": members,
        "permissionDecision": record(
            {"requestId": name, "decision": word("allow", "deny")},
            {
                "rememberForTurn": truth,
                "reviewer": text,
                "rationale": text,
                "riskLevel": text,
                "toolName": text,
                "hint": anything,
            },
        ),
        "permissionAnswerAccepted": _REQUEST,
        "permissionClosureAccepted": record({"requestId": name, "reason": word("timed_out")}),
        "userQuestionRequest": members,
        "userQuestionAnswerAccepted": members,
        "formRequest": members,
        "formAnswerAccepted": members,
        "transferToAgent": anything,
        "endInvocation": truth,
        "tokenUsage": record({"input": number, "output": number}, dict.fromkeys(USAGE[2:], anything)),
        "toolDispatch": record(
            {
                "protocol": word("t1_after_preflight_v1"),
                "operationId": name,
                "providerToolCallId": name,
                "toolName": name,
                "canonicalArgsHash": name,
                "recoveryMode": name,
            },
            {"managedMutation": anything, "resultProjectionVersion": anything},
        ),
        "toolRecovery": members,
        "runtimeProtocol": members,
        "continuationStart": members,
        "workspaceFact": members,
        "managedMutationTerminal": members,
    },
)

_REFS = (
    "storedMessageId",
    "traceEventId",
    "toolCallId",
    "providerEventId",
    "sourceMessageDigest",
    "providerRequestTraceId",
    "artifactId",
    "operationId",
    "parentToolCallId",
    "parentOperationId",
    "stepId",
    "sourceInvocationId",
    "sourceRunId",
    "sourceTurnId",
)
EVENT = record(
    {
        "id": name,
        "invocationId": name,
        "runId": name,
        "sessionId": name,
        "turnId": name,
        "ts": number,
        "partial": truth,
        "role": word("user", "model", "tool", "system"),
        "author": word("user", "host", "agent", "tool", "system"),
    },
    {
        "branch": text,
        "origin": word("provider", "code_mode"),
        "modelVisibility": word("visible", "hidden"),
        "status": word("streaming", *TERMINAL),
        "content": CONTENT,
        "actions": ACTIONS,
        "refs": record({}, {**dict.fromkeys(_REFS, text), "sourceRuntimeEventHighWater": number}),
    },
)


def event_problems(event: Any) -> list[Problem]:
    """What keeps an event from being decoded; nothing for one that the product reads.

    Parameters
    ----------
    event : as `js.parse` returned it.
    """
    out = check(EVENT, event)
    if out:
        return out
    content, actions = event.get("content"), event.get("actions") or {}
    if content and content["kind"] == "text":
        out += reference_problems(content)
    if "permissionClosureAccepted" in actions and len(actions) > 1:
        out.append(Problem("actions.permissionClosureAccepted", "not the only action"))
    return out


def reference_problems(content: dict[str, Any]) -> list[Problem]:
    """Inline references that do not stand where they say, counted in UTF-16 units, or not in ascending order."""
    found, shown, before = content.get("inlineReferences") or [], content.get("displayText", content["text"]), -1
    for reference in found:
        start, value = reference["start"], reference["value"]
        if start != int(start) or start <= before or start < 0:
            return [Problem("content.inlineReferences", "not in ascending order")]
        if js.part(shown, int(start), int(start) + js.length(value)) != value:
            return [Problem("content.inlineReferences", "a value is not what stands at its place")]
        before = start
    return []
