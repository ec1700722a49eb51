"""RuntimeEvents to transcript rows: a pure left fold over events (maka sheet section 5.3).

The fold keeps what later events refer to: the name of each tool call, permission requests, thinking whose text has not
come yet, and in which order the contents of a message appeared. Folded over a whole session this state crosses
invocations; folded over one invocation, as pages are, it does not. Most legal differences of the two come from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from busbar_audit.transcript.event_shape import TERMINAL, TEXT_PARTS, USAGE
from busbar_audit.transcript.row_shape import OLD_PLANS, RESULTS

Event = Mapping[str, Any]
Row = dict[str, Any]
# B: before the cut, beside the rows that were still written. P: after it.
Rules = Literal["B", "P"]

HARD = frozenset({"unsupported_event", "incomplete_event", "tool_use_id_mismatch"})
LINEAGE = ("parentTurnId", "retriedFromTurnId", "regeneratedFromTurnId", "branchOfTurnId", "parentSessionId")
# The failure class of a run that used up its steps; it gets a note of its own.
CAPPED = "tool_step_cap_reached"
_ORDER = ("thinking", "text", "tools")
_ACTIVITIES = frozenset({"command", "edit", "read", "search"})
_IDENTITY = ("parentToolCallId", "parentOperationId")
# What the fold keeps things by.
_MESSAGE, _TOOL, _REQUEST, _TURN = range(4)
_NONE: Mapping[str, Any] = {}
_CLAIMED = (
    "userQuestionRequest",
    "userQuestionAnswerAccepted",
    "formRequest",
    "formAnswerAccepted",
    "permissionClosureAccepted",
    "toolDispatch",
    "toolRecovery",
    "workspaceFact",
    "managedMutationTerminal",
    "artifactDelta",
    "transferToAgent",
    "handoffPause",
    "runtimeProtocol",
    "continuationStart",
)


@dataclass(frozen=True)
class Diagnostic:
    """What the fold says of an event it could not make a row of; `hard` ones make the whole transcript unreadable."""

    code: str
    event_id: str | None
    run_id: str
    turn_id: str
    message: str

    @property
    def hard(self) -> bool:
        """Whether a reader refuses the transcript for it."""
        return self.code in HARD


@dataclass(frozen=True)
class Run:
    """What the fold has to know of an invocation from its opening: the model, and the lineage of its turn."""

    model: str
    lineage: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Projection:
    """What a fold gives.

    rows : of the transcript. sources : for each row the id of the event being read when it was pushed.
    diagnostics : of events that made no row. owners : for each row the invocation of that event.
    crossed : invocations whose rows may depend on events of another one; folded alone the others give the same rows.
    """

    rows: list[Row] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    crossed: set[str] = field(default_factory=set)

    @property
    def refused(self) -> bool:
        """Whether a reader throws instead of showing these rows."""
        return any(d.hard for d in self.diagnostics)


def stable_id(event: Event) -> str:
    """The id of the row that an event makes: of the stored message, else of the provider's event, else its own."""
    refs = event.get("refs") or {}
    found: str = refs.get("storedMessageId") or refs.get("providerEventId") or event["id"]
    return found


def thinking_key(event: Event) -> str:
    """The id of the message a thinking belongs to; it prefers the provider's event, other than `stable_id`."""
    refs = event.get("refs") or {}
    found: str = refs.get("providerEventId") or refs.get("storedMessageId") or event["id"]
    return found


def is_terminal(event: Event) -> bool:
    """Whether an event ends its invocation."""
    status, actions = event.get("status"), event.get("actions")
    return (status is not None and status in TERMINAL) or (
        isinstance(actions, dict) and actions.get("endInvocation") is True
    )


def failure_class(event: Event) -> str | None:
    """Why a failed terminal says it failed."""
    delta = (event.get("actions") or {}).get("stateDelta") or {}
    content = event.get("content") or {}
    error = content if content.get("kind") == "error" else {}
    named = [delta.get(key) for key in ("failureClass", "errorClass", "reason", "code")]
    for found in (*named, error.get("reason"), error.get("code")):
        if isinstance(found, str) and found:
            return "context_overflow" if found == "context_budget_exhausted" else found
    return None


def abort_source(event: Event) -> str | None:
    """What an aborted terminal says stopped it."""
    delta = (event.get("actions") or {}).get("stateDelta") or {}
    found = [delta.get(key) for key in ("abortSource", "source")]
    return next((one for one in found if isinstance(one, str) and one), None)


def project(
    events: Iterable[Event],
    runs: Mapping[str, Run],
    outcomes: Mapping[str, Mapping[str, Any]] | None = None,
    rules: Rules = "P",
) -> Projection:
    """Fold decoded events, in their order, into transcript rows.

    Parameters
    ----------
    events : as `js.parse` gives them; each one has to be of exact shape (`event_problems`).
    runs : by invocation id, what its opening says.
    outcomes : canonical permission outcomes by request id, with members sessionId, runId, turnId, requestId, request
        {toolUseId, prompt {toolName}} and outcome {committedAt, decision, …}.
    rules : of which build; B adds partialOutputRetained to turn states and leaves their failure texts out.

    Returns
    -------
    Projection : also when it is refused, with all that could be made.
    """
    fold = _Fold(runs, outcomes or {}, rules)
    for event in events:
        fold.add(event)
    return fold.end()


class _Fold:
    def __init__(self, runs: Mapping[str, Run], outcomes: Mapping[str, Mapping[str, Any]], rules: Rules) -> None:
        self.runs, self.outcomes, self.rules = runs, outcomes, rules
        self.out = Projection()
        self.order: dict[str, list[str]] = {}
        self.tools: dict[str, str] = {}
        self.requests: dict[str, tuple[Event, Mapping[str, Any]]] = {}
        self.parked: dict[str, list[Event]] = {}
        # The newest assistant row by turn and id, which a thinking that comes later joins.
        self.answers: dict[tuple[str, str], Row] = {}
        self.retained: set[str] = set()
        # Which invocation first used a message, a tool use, a request or a turn, by which alone the fold keeps anything.
        self.users: tuple[dict[Any, str], ...] = ({}, {}, {}, {})

    def add(self, event: Event) -> None:
        get = event.get
        content, actions = get("content"), get("actions") or _NONE
        if content and event["role"] == "model":
            self._note_order(event, content)
        if event["partial"]:
            self._say(event, "partial_skipped", "a live text is passed over")
            return
        claimed = self._content(event, content) if content else False
        if actions:
            claimed = self._actions(event, actions) or claimed
        if (get("status") in TERMINAL or actions.get("endInvocation") is True) and "handoffPause" not in actions:
            self._terminal(event, actions)
            claimed = True
        if not claimed and not self._is_control(event, actions):
            if content:
                self._say(
                    event,
                    "unsupported_event",
                    "content that makes no row",
                )
            else:
                self._say(event, "unclaimed_control_fact", "a fact that is not known")

    def end(self) -> Projection:
        for waiting in self.parked.values():
            for event in waiting:
                self._say(
                    event,
                    "unsupported_event",
                    "thinking without the text of its message",
                )
        return self.out

    # --- what is kept ---

    def _use(self, what: int, key: Any, event: Event) -> None:
        """Note which invocation looks at or changes what is kept under a key."""
        own = event["invocationId"]
        first = self.users[what].setdefault(key, own)
        if first != own:
            self.out.crossed.update((first, own))

    def _note_order(self, event: Event, content: Mapping[str, Any]) -> None:
        kind = content["kind"]
        if kind == "text" or kind == "thinking":
            key = thinking_key(event)
        elif kind == "function_call" and (event.get("refs") or _NONE).get("stepId"):
            key, kind = event["refs"]["stepId"], "tools"
        else:
            return
        self._use(_MESSAGE, key, event)
        seen = self.order.get(key)
        if seen is None:
            self.order[key] = [kind]
        elif kind not in seen:
            seen.append(kind)

    def _say(self, event: Event, code: str, message: str) -> None:
        self.out.diagnostics.append(Diagnostic(code, event["id"], event["runId"], event["turnId"], message))

    def _push(self, event: Event, row: Row) -> None:
        out = self.out
        out.rows.append(row)
        out.sources.append(event["id"])
        out.owners.append(event["invocationId"])

    def _row(self, event: Event, kind: str, key: str | None = None, ts: float | None = None) -> Row:
        return {
            "type": kind,
            "id": stable_id(event) if key is None else key,
            "turnId": event["turnId"],
            "ts": event["ts"] if ts is None else ts,
        }

    # --- contents ---

    def _content(self, event: Event, content: Mapping[str, Any]) -> bool:
        """Make the rows of the event's content; whether it is one that has a place in a transcript."""
        kind = content["kind"]
        if kind == "text":
            if event["role"] == "user":
                self._user(event, content)
            elif event["role"] == "model":
                self._assistant(event, content)
            else:
                self._say(event, "unsupported_event", f"text of role {event['role']} makes no row")
                return False
        elif kind == "thinking":
            self._thinking(event)
        elif kind == "function_call":
            self._call(event, content)
        elif kind == "function_response":
            self._response(event, content)
        elif kind == "system_note":
            row = self._row(event, "system_note") | {"kind": content["note"]}
            self._push(event, row | _present(content, ("data",)))
        elif kind == "error" and not is_terminal(event):
            self._say(event, "unsupported_event", "an error inside a run that goes on")
            return False
        return True

    def _user(self, event: Event, content: Mapping[str, Any]) -> None:
        row = self._row(event, "user") | normalised(content)
        if "origin" in content:
            row["origin"] = _first(content["origin"], "kind")
        if content.get("steering"):
            row["steeringEventId"] = event["id"]
        self._push(event, row)

    def _assistant(self, event: Event, content: Mapping[str, Any]) -> None:
        run = self.runs.get(event["invocationId"])
        if run is None:
            self._say(event, "incomplete_event", "an answer without an opening that names its model")
            return
        row = self._row(event, "assistant")
        row["text"] = content["text"]
        if "providerOptions" in content:
            row["providerOptions"] = content["providerOptions"]
        seen = self.order.get(thinking_key(event), [])
        if len(seen) > 1 and seen != [kind for kind in _ORDER if kind in seen]:
            row["contentOrder"] = list(seen)
        row["modelId"] = run.model
        self._use(_MESSAGE, row["id"], event)
        for waiting in self.parked.pop(row["id"], ()):
            _attach(row, waiting)
        self.answers[event["turnId"], row["id"]] = row
        if content["text"] and self.rules == "B":
            self._use(_TURN, event["turnId"], event)
            self.retained.add(event["turnId"])
        self._push(event, row)

    def _thinking(self, event: Event) -> None:
        key = thinking_key(event)
        self._use(_MESSAGE, key, event)
        row = self.answers.get((event["turnId"], key))
        if row is None:
            self.parked.setdefault(key, []).append(event)
        else:
            _attach(row, event)

    def _tool_use(self, event: Event, content: Mapping[str, Any]) -> str | None:
        found: str | None = content["id"] or (event.get("refs") or {}).get("toolCallId")
        if not found:
            self._say(event, "incomplete_event", "tool content names no tool use")
            return None
        if found != content["id"]:
            self._say(event, "tool_use_id_mismatch", "tool content and its reference name two tool uses")
            return None
        return found

    def _call(self, event: Event, content: Mapping[str, Any]) -> None:
        used = self._tool_use(event, content)
        if used is None:
            return
        self._use(_TOOL, used, event)
        self.tools[used] = content["name"]
        delta = (event.get("actions") or _NONE).get("stateDelta")
        row = self._row(event, "tool_call", used)
        row["toolName"] = content["name"]
        if delta:
            if delta.get("activityKind") in _ACTIVITIES:
                row["activityKind"] = delta["activityKind"]
            row |= {key: delta[key] for key in ("displayName", "intent") if isinstance(delta.get(key), str)}
        row |= _present(event.get("refs") or _NONE, ("stepId",))
        row |= _identity(event)
        row["args"] = content["args"]
        row |= _present(content, ("providerOptions", "providerExecuted"))
        self._push(event, row)

    def _response(self, event: Event, content: Mapping[str, Any]) -> None:
        used = self._tool_use(event, content)
        if used is None:
            return
        result = content["result"]
        kind = result.get("kind") if isinstance(result, dict) else None
        if kind in OLD_PLANS:
            result = {"kind": "json", "value": result}
        elif kind not in RESULTS:
            self._say(event, "incomplete_event", "tool result is of no known kind")
            return
        if content["name"]:
            self._use(_TOOL, used, event)
            self.tools[used] = content["name"]
        row = self._row(event, "tool_result") | {
            "toolUseId": used,
            "isError": content.get("isError") is True,
            "content": result,
        }
        if content.get("providerExecuted"):
            row |= _present(content, ("providerExecuted", "providerOutput"))
        duration = ((event.get("actions") or {}).get("stateDelta") or {}).get("durationMs")
        if isinstance(duration, int | float) and not isinstance(duration, bool):
            row["durationMs"] = duration
        self._push(event, row | _identity(event))

    # --- actions ---

    def _actions(self, event: Event, actions: Mapping[str, Any]) -> bool:
        claimed = False
        if "coordination" in actions:
            row = self._row(event, "workhub_coordination", event["id"])
            self._push(event, row | {"kind": "action_receipt", "schemaVersion": 1, **actions["coordination"]})
            claimed = True
        if (request := actions.get("permissionRequest")) is not None:
            self._asked(event, request)
            claimed = True
        if "permissionAnswerAccepted" in actions:
            self._answer(event, actions["permissionAnswerAccepted"]["requestId"])
            claimed = True
        if "permissionDecision" in actions:
            self._decision(event, actions["permissionDecision"])
            claimed = True
        if "tokenUsage" in actions:
            row = self._row(event, "token_usage") | _present(actions["tokenUsage"], USAGE)
            self._push(event, row | _present(event.get("refs") or {}, ("providerRequestTraceId",)))
            claimed = True
        return claimed

    def _asked(self, event: Event, request: Mapping[str, Any]) -> None:
        request_id, used, tool = (request.get(key) for key in ("requestId", "toolUseId", "toolName"))
        # What is asked for later is always a text.
        if isinstance(request_id, str):
            self._use(_REQUEST, request_id, event)
            self.requests[request_id] = (event, request)
        if isinstance(tool, str) and isinstance(used, str):
            self._use(_TOOL, used, event)
            self.tools[used] = tool

    def _answer(self, event: Event, request_id: str) -> None:
        outcome, used = self.outcomes.get(request_id), (event.get("refs") or {}).get("toolCallId")
        if outcome is None or used is None:
            self._say(event, "incomplete_event", "a permission answer without its outcome")
            return
        self._use(_REQUEST, request_id, event)
        asked_at, asked = self.requests.get(request_id, (None, None))
        asked_for, tool = outcome["request"]["toolUseId"], outcome["request"]["prompt"]["toolName"]
        own = (event["sessionId"], event["runId"], event["turnId"], request_id, used)
        agreed = own == (*(outcome[key] for key in ("sessionId", "runId", "turnId", "requestId")), asked_for)
        if agreed and asked is not None and asked_at is not None:
            there = (asked_at["sessionId"], asked_at["runId"], asked_at["turnId"])
            agreed = there == own[:3] and (asked.get("toolUseId"), asked.get("toolName")) == (used, tool)
        if not agreed:
            self._say(
                event,
                "incomplete_event",
                "a permission answer whose outcome is of another request",
            )
            return
        told = outcome["outcome"]
        row = self._row(event, "permission_decision", request_id, told["committedAt"])
        row |= {"toolUseId": used, "toolName": tool, "decision": told["decision"]}
        row |= _present(told, ("rememberForTurn", "reviewer", "rationale", "riskLevel"))
        self._push(event, row | _present(asked or {}, ("hint",)))

    def _decision(self, event: Event, decision: Mapping[str, Any]) -> None:
        self._use(_REQUEST, decision["requestId"], event)
        _, asked = self.requests.get(decision["requestId"], (None, None))
        asked = asked or {}
        used = (event.get("refs") or {}).get("toolCallId") or asked.get("toolUseId")
        if not used:
            self._say(event, "incomplete_event", "permission decision names no tool use")
            return
        if asked.get("toolUseId", used) != used:
            self._say(event, "tool_use_id_mismatch", "permission decision and its request name two tool uses")
            return
        named = [decision.get("toolName"), asked.get("toolName")]
        if isinstance(used, str):
            self._use(_TOOL, used, event)
            named.append(self.tools.get(used))
        told = [one for one in named if one]
        if not told or any(one != told[0] for one in told):
            self._say(event, "incomplete_event", "a permission decision without a tool name that all agree on")
            return
        row = self._row(event, "permission_decision", decision["requestId"])
        row |= {"toolUseId": used, "toolName": told[0], "decision": decision["decision"]}
        row |= _present(decision, ("rememberForTurn", "reviewer", "rationale", "riskLevel"))
        self._push(event, row | (_present(asked, ("hint",)) or _present(decision, ("hint",))))

    def _terminal(self, event: Event, actions: Mapping[str, Any]) -> None:
        run, status = self.runs.get(event["invocationId"]), event.get("status")
        if run is None or status not in TERMINAL:
            self._say(event, "incomplete_event", "an ending without an outcome")
            return
        content, key = event.get("content") or {}, stable_id(event)
        row = self._row(event, "turn_state", key)
        row["status"] = "aborted" if status in ("aborted", "cancelled") else status
        row |= {name: run.lineage[name] for name in LINEAGE if run.lineage.get(name)}
        cause = failure_class(event)
        if row["status"] == "aborted":
            row["abortedAt"] = event["ts"]
            source = abort_source(event)
            if source is not None:
                row["abortSource"] = source
        elif status == "failed":
            row["errorClass"] = cause or "unknown"
            if content.get("kind") == "error" and self.rules == "P":
                row["failureMessage"] = content["message"]
                row |= _present(content, ("retry",))
        if self.rules == "B":
            self._use(_TURN, event["turnId"], event)
            row["partialOutputRetained"] = event["turnId"] in self.retained
        self._push(event, row)
        if status == "failed" and cause == CAPPED:
            note = self._row(event, "system_note", f"{event['id']}:step-limit-notice")
            self._push(event, note | {"kind": "step_limit"})

    def _is_control(self, event: Event, actions: Mapping[str, Any]) -> bool:
        """Whether it is a fact that is known to have no row."""
        delta = actions.get("stateDelta") or {}
        if any(key in actions for key in _CLAIMED) or delta.get("continuationStart") is True:
            return True
        if event["role"] != "system":
            return False
        refs = event.get("refs") or {}
        if event["author"] == "agent":
            return isinstance(delta.get("planId"), str) and isinstance(delta.get("title"), str)
        return bool(refs.get("toolCallId")) and (
            (event["author"] == "system" and isinstance(delta.get("sandboxBoundaryRequest"), dict))
            or (event["author"] == "user" and isinstance(delta.get("sandboxBoundaryDecision"), dict))
        )


def normalised(content: Mapping[str, Any]) -> Row:
    """A user's text as it is stored: without a display text that is the same, and without empty lists but one."""
    row: Row = {"text": content["text"]}
    for key in ("directoryReferences", "displayText", "attachments", "quotes", "inlineReferences"):
        value = content.get(key)
        if value is None or key not in TEXT_PARTS or (key == "displayText" and value == content["text"]):
            continue
        # An empty list of inline references says that they were looked for.
        if value != [] or key == "inlineReferences":
            row[key] = [_first(quote, "text", "label") for quote in value] if key == "quotes" else value
    return row


def _first(members: Mapping[str, Any], *keys: str) -> Row:
    """The members with these in front, where the product builds the object anew."""
    return _present(members, keys) | dict(members)


def _identity(event: Event) -> Row:
    told = _present(event, ("origin", "modelVisibility"))
    return told | _present(event.get("refs") or _NONE, _IDENTITY)


def _present(members: Mapping[str, Any], keys: Iterable[str]) -> Row:
    return {key: members[key] for key in keys if key in members}


def _attach(row: Row, event: Event) -> None:
    """Add a thinking to the row of its message."""
    new = _present(event["content"], ("text", "signature", "providerOptions"))
    old = row.get("thinking")
    if old is None:
        row["thinking"] = new
    else:
        row["thinking"] = {"text": old["text"] + new["text"], "parts": [*old.get("parts", [old]), new]}
