"""What checks ask of each event: names, kinds, ids, lengths and digests, never content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from busbar_audit.payloads.batch import Batch
from busbar_audit.transcript.event_shape import TERMINAL
from busbar_audit.transcript.facts import opening, prompt_digest
from busbar_audit.transcript.ledger import Stored, loaded
from busbar_audit.transcript.projection import CAPPED, failure_class
from busbar_audit.transcript.row_shape import OLD_PLANS, RESULTS
from busbar_audit.transcript.values import Columns, Table, finite, first, member, storable, word

COLUMNS: Columns = (
    ("row", "BIGINT"),
    ("valid", "BOOLEAN"),
    ("problems", "BIGINT"),
    ("problem", "VARCHAR"),
    ("other_ids", "VARCHAR"),
    ("partial", "VARCHAR"),
    ("role", "VARCHAR"),
    ("content_kind", "VARCHAR"),
    ("status", "VARCHAR"),
    ("ends", "BOOLEAN"),
    ("label", "VARCHAR"),
    ("steering", "BOOLEAN"),
    ("handoff", "BOOLEAN"),
    ("compacted", "BOOLEAN"),
    ("stored_id", "VARCHAR"),
    ("provider_event_id", "VARCHAR"),
    ("message_key", "VARCHAR"),
    ("tool_use_id", "VARCHAR"),
    ("tool_name", "VARCHAR"),
    ("known_result", "BOOLEAN"),
    ("answered_request", "VARCHAR"),
    ("decided_request", "VARCHAR"),
    ("usage", "BOOLEAN"),
    ("receipt", "BOOLEAN"),
    ("capped", "BOOLEAN"),
    ("canonical", "BOOLEAN"),
    ("bytes", "BIGINT"),
    ("opened_at", "DOUBLE"),
    ("opening_problem", "VARCHAR"),
    ("source_kind", "VARCHAR"),
    ("parent_run", "BOOLEAN"),
    ("agent", "BOOLEAN"),
    ("prompt_digest", "VARCHAR"),
)
_KINDS = frozenset(
    ("text", "thinking", "function_call", "function_response", "error", "system_note", "invocation_opened", "injection")
)
_ROLES = frozenset(("user", "model", "tool", "system"))
_STATUS = frozenset(("streaming", *TERMINAL))
_RESULTS = frozenset((*RESULTS, *OLD_PLANS))
_TOOLS = frozenset(("function_call", "function_response"))
_NOTHING: Mapping[str, Any] = {}
# Fewer rows than this are not worth a detour by Arrow.
_FEW = 2000


def event_facts(con: Any) -> Table:
    """One row per event, by row number."""
    return COLUMNS, (row for some in loaded(con).events() for row in rows(some))


def rows(events: Sequence[Stored]) -> Iterator[Any]:
    """Facts of some events: rows where they are few, a batch where they are many."""
    told = list(map(_fact, events))
    if len(told) < _FEW:
        yield from told
    else:
        yield Batch([list(column) for column in zip(*told, strict=True)])


def _fact(stored: Stored) -> tuple[Any, ...]:
    event = stored.event
    if event is None:
        nothing = dict.fromkeys((name for name, _ in COLUMNS[4:]), None) | {"bytes": stored.bytes}
        return (stored.row, False, 1, "not a JSON object", *nothing.values())
    get = event.get
    content, actions, refs = get("content"), get("actions"), get("refs")
    if not isinstance(content, dict):
        content = _NOTHING
    if not isinstance(actions, dict):
        actions = _NOTHING
    if not isinstance(refs, dict):
        refs = _NOTHING
    delta = member(actions, "stateDelta") if actions else _NOTHING
    kind, role, partial, status = content.get("kind"), get("role"), get("partial"), get("status")
    kind = word(kind, _KINDS)
    tool, opened = kind in _TOOLS, kind == "invocation_opened"
    result = content.get("result") if kind == "function_response" else None
    return (
        stored.row,
        True,
        len(stored.problems),
        first(stored.problems),
        None if stored.identical else _others(stored, event),
        "false" if partial is False else "true" if partial is True else "other",
        word(role, _ROLES),
        kind,
        word(status, _STATUS),
        actions.get("endInvocation") is True,
        _label(event, content, actions),
        content.get("steering") is True,
        "handoffPause" in actions,
        bool(delta) and member(delta, "contextCompactionOutcome").get("kind") == "compacted",
        storable(refs.get("storedMessageId")),
        storable(refs.get("providerEventId")),
        # The key of `thinking_key`, also of an event that cannot be decoded.
        storable(refs.get("providerEventId") or refs.get("storedMessageId") or stored.event_id)
        if kind in ("text", "thinking")
        else None,
        storable(content.get("id")) if tool else None,
        storable(content.get("name")) if tool else None,
        (isinstance(result, dict) and isinstance(result.get("kind"), str) and result["kind"] in _RESULTS)
        if kind == "function_response"
        else None,
        storable(member(actions, "permissionAnswerAccepted").get("requestId")) if actions else None,
        storable(member(actions, "permissionDecision").get("requestId")) if actions else None,
        "tokenUsage" in actions,
        "coordination" in actions,
        (bool(delta) or kind == "error")
        and failure_class({"actions": {"stateDelta": delta}, "content": content}) == CAPPED,
        stored.canonical,
        stored.bytes,
        finite(get("ts")) if opened else None,
        *(opening(content) if opened else (None, None, None, None)),
        prompt_digest(content) if kind == "text" and role == "user" else None,
    )


def _others(stored: Stored, event: Mapping[str, Any]) -> str | None:
    """Ids in which the payload does not name itself as the columns do."""
    ids = {
        "id": stored.event_id,
        "sessionId": stored.session_id,
        "invocationId": stored.invocation_id,
        "runId": stored.run_id,
        "turnId": stored.turn_id,
    }
    return ", ".join(key for key, value in ids.items() if event.get(key) != value) or None


def _label(event: Mapping[str, Any], content: Mapping[str, Any], actions: Mapping[str, Any]) -> str:
    """The coarse label an event is due, shortened where it is of no known kind."""
    for told in (content.get("kind"), event.get("status")):
        if isinstance(told, str):
            return storable(told[:40]) or ""
    for key, label in (("workspaceFact", "workspace_fact"), ("toolDispatch", "tool_dispatch")):
        if key in actions:
            return label
    return "invocation_end" if actions.get("endInvocation") is True else "runtime_fact"
