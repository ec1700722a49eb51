"""Every rule of the projection (maka sheet 5.3) by the whole row it makes, so that a rule that is broken is seen here.

`make mutants` breaks each of them on purpose; the stores that carry the product's own answers are not needed for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from busbar_audit.transcript.event_shape import event_problems
from busbar_audit.transcript.projection import Event, Projection, Run, project

RUN = Run("the model", {"parentTurnId": "p", "agentName": "not a turn's"})
FREE = {"rememberForTurn": True, "reviewer": "r", "rationale": "why", "riskLevel": "low"}
ASKED = {"requestId": "q", "toolUseId": "u", "toolName": "Bash", "hint": "of the request"}


def _event(name: str, role: str, content: Any = None, **more: Any) -> Event:
    ids = {"id": name, "invocationId": "i", "runId": "r", "sessionId": "s", "turnId": "t"}
    told: Event = {**ids, "ts": 5, "partial": False, "role": role, "author": "agent" if role == "model" else "system"}
    event = told | ({} if content is None else {"content": content}) | more
    # A reader never folds what it could not decode.
    assert event_problems(event) == [], event
    return event


def _fold(*events: Event, outcomes: Mapping[str, Any] | None = None, run: Run | None = RUN) -> Projection:
    return project(events, {} if run is None else {"i": run}, outcomes)


def _text(name: str, key: str = "k", **more: Any) -> Event:
    return _event(name, "model", {"kind": "text", "text": name}, refs={"providerEventId": key}, **more)


def _thinking(name: str, key: str = "k", **more: Any) -> Event:
    return _event(name, "model", {"kind": "thinking", "text": name}, refs={"providerEventId": key}, **more)


def _acts(name: str, used: str | None = None, **actions: Any) -> Event:
    refs = {} if used is None else {"refs": {"toolCallId": used}}
    return _event(name, "system", actions=actions, **refs)


def _call(name: str, used: str, tool: str) -> Event:
    content = {"kind": "function_call", "id": used, "name": tool, "args": {}}
    return _event(name, "model", content, refs={"storedMessageId": "another", "stepId": "k"})


def _result(name: str, used: str, tool: str, **more: Any) -> Event:
    content = {"kind": "function_response", "id": used, "name": tool, "result": {"kind": "text", "text": "x"}, **more}
    return _event(name, "tool", content, author="tool", origin="code_mode", refs={"parentToolCallId": "above"})


def _codes(told: Projection) -> list[tuple[str, str | None]]:
    return [(d.code, d.event_id) for d in told.diagnostics]


def _row(type_: str, key: str, **members: Any) -> dict[str, Any]:
    return {"type": type_, "id": key, "turnId": "t", "ts": 5, **members}


def test_only_what_the_model_says_is_noted_for_the_order_of_contents() -> None:
    prompt = _event("a", "user", {"kind": "text", "text": "a"}, author="user", refs={"providerEventId": "k"})
    assert "contentOrder" not in _fold(prompt, _thinking("b"), _text("c")).rows[1]


@pytest.mark.parametrize(
    ("names", "order"),
    [
        ("ct", ["tools", "text"]),
        ("thc", None),
        ("cht", ["tools", "thinking", "text"]),
        ("cct", ["tools", "text"]),
        ("tt", None),
    ],
)
def test_the_order_of_contents_names_each_kind_once_as_it_came(names: str, order: list[str] | None) -> None:
    made = {"c": lambda n: _call(n, n, "n"), "t": _text, "h": _thinking}
    rows = _fold(*(made[name](f"{name}{k}") for k, name in enumerate(names))).rows
    assert [row.get("contentOrder") for row in rows if row["type"] == "assistant"][-1] == order


def test_an_answer_has_the_model_of_its_opening_and_needs_one() -> None:
    answer = _event("a", "model", {"kind": "text", "text": "x", "providerOptions": {"o": 1}})
    (row,) = _fold(answer).rows
    assert row == _row("assistant", "a", text="x", providerOptions={"o": 1}, modelId="the model")
    told = _fold(answer, run=None)
    assert (told.rows, _codes(told)) == ([], [("incomplete_event", "a")])


def test_thinking_joins_the_newest_answer_of_its_message_and_all_parts_stay() -> None:
    first, second = _fold(_text("a"), _text("b"), _thinking("c"), _thinking("d"), _thinking("e")).rows
    assert "thinking" not in first
    parts = [{"text": "c"}, {"text": "d"}, {"text": "e"}]
    assert second["thinking"] == {"text": "cde", "parts": parts}


def test_a_call_and_its_result_are_named_by_their_use() -> None:
    call, result = _fold(_call("a", "u", "Bash"), _result("b", "u", "Bash", isError=True)).rows
    assert call == _row("tool_call", "u", toolName="Bash", stepId="k", args={})
    told = {"toolUseId": "u", "isError": True, "content": {"kind": "text", "text": "x"}}
    assert result == _row("tool_result", "b", **told, origin="code_mode", parentToolCallId="above")


def test_a_note_keeps_its_data_and_a_receipt_its_own_id() -> None:
    (note,) = _fold(_event("a", "system", {"kind": "system_note", "note": "step_limit", "data": {"b": 1}})).rows
    assert note == _row("system_note", "a", kind="step_limit", data={"b": 1})
    refs = {"storedMessageId": "another"}
    (receipt,) = _fold(_event("a", "system", actions={"coordination": {"actionId": "x"}}, refs=refs)).rows
    assert receipt == _row("workhub_coordination", "a", kind="action_receipt", schemaVersion=1, actionId="x")


def _outcome(**more: Any) -> dict[str, Any]:
    told = {"sessionId": "s", "runId": "r", "turnId": "t", "requestId": "q"}
    asked = {"toolUseId": "u", "prompt": {"toolName": "Bash"}}
    return {"q": told | {"request": asked, "outcome": {"decision": "allow", "committedAt": 9, **FREE}} | more}


def test_an_answer_takes_its_row_from_the_outcome_and_its_hint_from_the_request() -> None:
    answer = _acts("b", "u", permissionAnswerAccepted={"requestId": "q"})
    request = _acts("a", permissionRequest=ASKED)
    (row,) = _fold(request, answer, outcomes=_outcome()).rows
    members = {"toolUseId": "u", "toolName": "Bash", "decision": "allow", **FREE, "hint": "of the request"}
    assert row == _row("permission_decision", "q", **members) | {"ts": 9}
    for apart in (
        _acts("a", permissionRequest=ASKED | {"toolUseId": "v"}),
        _acts("a", permissionRequest=ASKED | {"toolName": "Edit"}),
        {**request, "turnId": "before"},
    ):
        assert _codes(_fold(apart, answer, outcomes=_outcome())) == [("incomplete_event", "b")]
    assert _codes(_fold(answer)) == [("incomplete_event", "b")]


def test_a_decision_takes_its_tool_from_whoever_names_it() -> None:
    decided = {"requestId": "q", "decision": "allow", "hint": "of the decision", **FREE}
    asked = _acts("a", permissionRequest=ASKED)
    (row,) = _fold(asked, _acts("b", permissionDecision=decided)).rows
    members = {"toolUseId": "u", "toolName": "Bash", "decision": "allow", **FREE}
    assert row == _row("permission_decision", "q", **members, hint="of the request")
    plain = _acts("a", permissionRequest={key: ASKED[key] for key in ("requestId", "toolUseId", "toolName")})
    (row,) = _fold(plain, _acts("b", permissionDecision=decided)).rows
    assert row["hint"] == "of the decision"
    by_use = _acts("b", "u", permissionDecision=decided)
    for named in (_call("a", "u", "Bash"), _result("a", "u", "Bash")):
        assert _fold(named, by_use).rows[-1] == _row("permission_decision", "q", **members, hint="of the decision")
    assert _codes(_fold(by_use)) == [("incomplete_event", "b")]
    # What the request named for the use is remembered for a decision of another request.
    assert _fold(asked, _acts("b", "u", permissionDecision=decided | {"requestId": "r2"})).rows[0]["toolName"] == "Bash"
    # The request names a tool, and the use has been given to another one since.
    assert _codes(_fold(asked, _call("c", "u", "Edit"), _acts("b", permissionDecision=decided))) == [
        ("incomplete_event", "b")
    ]
    # A request that says nothing of its use leaves its tool's name as the only one.
    bare = {"requestId": "q", "toolName": "Bash"}
    assert _fold(_acts("a", permissionRequest=bare), by_use).rows[0]["toolName"] == "Bash"


def test_usage_has_its_trace_from_the_references_alone() -> None:
    usage = {"input": 1, "output": 2}
    refs = {"providerRequestTraceId": "trace"}
    (row,) = _fold(_event("a", "system", actions={"tokenUsage": usage}, refs=refs)).rows
    assert row == _row("token_usage", "a", **usage, providerRequestTraceId="trace")
    given = usage | {"providerRequestTraceId": "elsewhere"}
    event = {**_event("a", "system", actions={"tokenUsage": usage}), "actions": {"tokenUsage": given}}
    assert "providerRequestTraceId" not in _fold(event).rows[0]


def test_a_pause_that_hands_over_ends_nothing_and_an_ending_needs_an_outcome() -> None:
    pause = {**_acts("a", endInvocation=True), "actions": {"endInvocation": True, "handoffPause": {}}}
    told = _fold(pause)
    assert (told.rows, _codes(told)) == ([], [])
    assert _codes(_fold(_acts("a", endInvocation=True))) == [("incomplete_event", "a")]


@pytest.mark.parametrize(
    ("delta", "content", "cause"),
    [
        ({"failureClass": "f", "errorClass": "e"}, {}, "f"),
        ({"errorClass": "e", "reason": "r"}, {"reason": "x"}, "e"),
        ({"reason": "r", "code": "c"}, {"reason": "x"}, "r"),
        ({}, {"reason": "x", "code": "y"}, "x"),
        ({}, {"code": "y"}, "y"),
        ({"code": "context_budget_exhausted"}, {}, "context_overflow"),
        ({}, {}, "unknown"),
    ],
)
def test_a_failure_is_named_by_the_first_that_names_it(
    delta: dict[str, Any], content: dict[str, Any], cause: str
) -> None:
    error = {"kind": "error", "message": "m", **content}
    more = {"actions": {"stateDelta": delta}} if delta else {}
    (row,) = _fold(_event("a", "system", error, status="failed", **more)).rows
    assert row == _row("turn_state", "a", status="failed", parentTurnId="p", errorClass=cause, failureMessage="m")


def test_a_stop_is_named_by_its_source() -> None:
    delta = {"stateDelta": {"abortSource": "user", "source": "other"}}
    (row,) = _fold(_event("a", "system", status="cancelled", actions=delta)).rows
    assert row == _row("turn_state", "a", status="aborted", parentTurnId="p", abortedAt=5, abortSource="user")
    (row,) = _fold(_event("a", "system", status="aborted", actions={"stateDelta": {"source": "other"}})).rows
    assert row["abortSource"] == "other"


@pytest.mark.parametrize(
    ("event", "codes"),
    [
        (_event("a", "system", actions={"artifactDelta": {}}), []),
        (_event("a", "system", actions={"stateDelta": {"continuationStart": True}}), []),
        (_event("a", "system", actions={"stateDelta": {"planId": "p", "title": "t"}}, author="agent"), []),
        (_event("a", "system", actions={"stateDelta": {"planId": "p"}}, author="agent"), ["unclaimed_control_fact"]),
        (_event("a", "model", actions={"stateDelta": {"planId": "p", "title": "t"}}), ["unclaimed_control_fact"]),
        (_acts("a", "u", stateDelta={"sandboxBoundaryRequest": {}}), []),
        (_acts("a", stateDelta={"sandboxBoundaryRequest": {}}), ["unclaimed_control_fact"]),
        (_event("a", "system", {"kind": "text", "text": "x"}), ["unsupported_event", "unsupported_event"]),
        (_event("a", "model", {"kind": "text", "text": "x"}, partial=True), ["partial_skipped"]),
    ],
)
def test_what_makes_no_row_is_known_or_said(event: Event, codes: list[str]) -> None:
    told = _fold(event)
    assert (told.rows, [d.code for d in told.diagnostics]) == ([], codes)
