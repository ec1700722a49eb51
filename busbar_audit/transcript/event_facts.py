"""What checks ask of each event: names, kinds, ids, lengths and digests, never content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from busbar_audit.payloads.batch import Batch
from busbar_audit.transcript.event_shape import TERMINAL
from busbar_audit.transcript.facts import opening, prompt_digest
from busbar_audit.transcript.ledger import Ledger, Stored, loaded
from busbar_audit.transcript.meaning import event_meaning
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
    ("meant", "VARCHAR"),
    ("meaning", "VARCHAR"),
    ("generated_at", "DOUBLE"),
    ("recovered", "BOOLEAN"),
    ("missing_end", "BOOLEAN"),
)
MISSING_END = "missing_terminal_event"
_KINDS = frozenset(
    ("text", "thinking", "function_call", "function_response", "error", "system_note", "invocation_opened", "injection")
)
_ROLES = frozenset(("user", "model", "tool", "system"))
_STATUS = frozenset(("streaming", *TERMINAL))
_RESULTS = frozenset((*RESULTS, *OLD_PLANS))
# What is true of nearly every event, column by column; the others have a value of their own in each.
_USUAL: Mapping[str, Any] = {
    "valid": True,
    "problems": 0,
    "partial": "false",
    **dict.fromkeys(
        ("ends", "steering", "handoff", "compacted", "usage", "receipt", "capped", "recovered", "missing_end"), False
    ),
    "canonical": True,
}
_DENSE = ("row", "role", "content_kind", "label", "bytes", "meant", "meaning")
# Rows are given on so many at a time; fewer are not worth a detour by Arrow.
_MANY = 8192


def event_facts(con: Any) -> Table:
    """One row per event, by row number."""
    return COLUMNS, _all(loaded(con))


def _all(ledger: Ledger) -> Iterator[Any]:
    facts = EventFacts()
    yield from facts.add(ledger.events())
    yield from facts.rest()


class EventFacts:
    """Facts of events, kept by column until there are many of them."""

    def __init__(self) -> None:
        self._start()

    def add(self, events: Iterable[Stored]) -> Iterator[Batch]:
        """Take some events in; gives a batch whenever there are many."""
        for stored in events:
            self._fact(stored)
            if len(self._rows) >= _MANY:
                yield Batch(self._columns())

    def rest(self) -> Iterator[tuple[Any, ...]]:
        """The rows that no batch was made of."""
        return zip(*self._columns(), strict=True)

    def _start(self) -> None:
        self._rows: list[int] = []
        self._sizes: list[int] = []
        self._roles: list[str | None] = []
        self._kinds: list[str | None] = []
        self._labels: list[str | None] = []
        self._meant: list[str | None] = []
        self._meanings: list[str | None] = []
        # By column: values at places, where they are not the usual ones.
        self._unusual: dict[str, dict[int, Any]] = {name: {} for name, _ in COLUMNS if name not in _DENSE}

    def _columns(self) -> list[list[Any]]:
        told: tuple[list[Any], ...]
        told = (self._rows, self._roles, self._kinds, self._labels, self._sizes, self._meant, self._meanings)
        dense: dict[str, list[Any]] = dict(zip(_DENSE, told, strict=True))
        columns = []
        for name, _ in COLUMNS:
            column: list[Any] | None = dense.get(name)
            if column is None:
                column = [_USUAL.get(name)] * len(self._rows)
                for place, value in self._unusual[name].items():
                    column[place] = value
            columns.append(column)
        self._start()
        return columns

    def _fact(self, stored: Stored) -> None:
        at, event, unusual = len(self._rows), stored.event, self._unusual
        self._rows.append(stored.row)
        self._sizes.append(stored.bytes)
        if event is None:
            for name in unusual:
                unusual[name][at] = None
            unusual["valid"][at], unusual["problems"][at], unusual["problem"][at] = False, 1, "not a JSON object"
            for column in (self._roles, self._kinds, self._labels, self._meant, self._meanings):
                column.append(None)
            return
        meant, meaning = (None, None) if stored.problems else event_meaning(event)
        self._meant.append(meant)
        self._meanings.append(meaning)
        if stored.problems:
            unusual["problems"][at], unusual["problem"][at] = len(stored.problems), first(stored.problems)
        if not stored.identical:
            unusual["other_ids"][at] = _others(stored, event)
        if not stored.canonical:
            unusual["canonical"][at] = False
        get = event.get
        role, status, partial = get("role"), get("status"), get("partial")
        self._roles.append(word(role, _ROLES))
        if partial is not False:
            unusual["partial"][at] = "true" if partial is True else "other"
        if status is not None:
            unusual["status"][at] = word(status, _STATUS)
        content, actions, refs = member(event, "content"), member(event, "actions"), member(event, "refs")
        kind = word(content.get("kind"), _KINDS)
        self._kinds.append(kind)
        self._labels.append(_label(event, content, actions))
        if refs:
            for name, key in (("stored_id", "storedMessageId"), ("provider_event_id", "providerEventId")):
                if key in refs:
                    unusual[name][at] = storable(refs[key])
        delta = self._actions(at, actions) if actions else actions
        if content:
            self._content(at, stored, kind, role, content, refs)
        if (delta or kind == "error") and failure_class(
            {"actions": {"stateDelta": delta}, "content": content}
        ) == CAPPED:
            unusual["capped"][at] = True

    def _actions(self, at: int, actions: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take in what an event does; gives its change of state."""
        unusual = self._unusual
        if actions.get("endInvocation") is True:
            unusual["ends"][at] = True
        for name, key in (("handoff", "handoffPause"), ("usage", "tokenUsage"), ("receipt", "coordination")):
            if key in actions:
                unusual[name][at] = True
        for name, key in (("answered_request", "permissionAnswerAccepted"), ("decided_request", "permissionDecision")):
            if key in actions:
                unusual[name][at] = storable(member(actions, key).get("requestId"))
        delta = member(actions, "stateDelta")
        if delta and member(delta, "contextCompactionOutcome").get("kind") == "compacted":
            unusual["compacted"][at] = True
        if delta:
            unusual["generated_at"][at] = finite(member(delta, "makaRuntimeRecovery").get("generatedAt"))
            if delta.get("recovered") is True:
                unusual["recovered"][at] = True
            if delta.get("failureClass") == MISSING_END:
                unusual["missing_end"][at] = True
        return delta

    def _content(
        self,
        at: int,
        stored: Stored,
        kind: str | None,
        role: Any,
        content: Mapping[str, Any],
        refs: Mapping[str, Any],
    ) -> None:
        unusual = self._unusual
        if content.get("steering") is True:
            unusual["steering"][at] = True
        if kind == "text" or kind == "thinking":
            # The key of `thinking_key`, also of an event that cannot be decoded.
            key = refs.get("providerEventId") or refs.get("storedMessageId") or stored.event_id
            unusual["message_key"][at] = storable(key)
            if kind == "text" and role == "user":
                unusual["prompt_digest"][at] = prompt_digest(content)
        elif kind == "function_call" or kind == "function_response":
            unusual["tool_use_id"][at] = storable(content.get("id"))
            unusual["tool_name"][at] = storable(content.get("name"))
            if kind == "function_response":
                result = content.get("result")
                told = result.get("kind") if isinstance(result, dict) else None
                unusual["known_result"][at] = isinstance(told, str) and told in _RESULTS
        elif kind == "invocation_opened":
            unusual["opened_at"][at] = finite((stored.event or {}).get("ts"))
            told = opening(content, known=not stored.problems)
            for name, value in zip(("opening_problem", "source_kind", "parent_run", "agent"), told, strict=True):
                unusual[name][at] = value


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
