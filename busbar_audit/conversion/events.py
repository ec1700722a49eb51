"""Events as the ledger takes them: ids, place, label and canonical text (maka sheet 1.3, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from busbar_audit.conversion.payloads import Number
from busbar_audit.transcript.event_shape import event_problems
from busbar_audit.transcript.projection import is_terminal
from busbar_audit.transcript.reader import canonical


@dataclass(frozen=True)
class Event:
    """One event about to be appended.

    sequence : of the row it was made from; None for an opening, and for an ending without a row.
    """

    event_id: str
    session_id: str
    invocation_id: str
    run_id: str
    turn_id: str
    payload: Mapping[str, Any]
    sequence: int | None = None

    @cached_property
    def text(self) -> str:
        """The payload in canonical form."""
        return canonical(self.payload).decode("utf-8", "surrogatepass")

    @cached_property
    def readable(self) -> bool:
        """Whether the ledger's reader takes it."""
        return not event_problems(self.payload)

    @property
    def committed_at(self) -> Number:
        """The event's own time."""
        at: Number = self.payload["ts"]
        return at

    @property
    def kind(self) -> str:
        """The coarse label of the row in the ledger."""
        return label(self.payload)

    @property
    def stored_id(self) -> str | None:
        """The row that the event says it was made from."""
        found: str | None = (self.payload.get("refs") or {}).get("storedMessageId")
        return found

    @property
    def ends(self) -> bool:
        """Whether it ends its invocation."""
        return is_terminal(self.payload)


def label(payload: Mapping[str, Any]) -> str:
    """The coarse label of an event."""
    content, actions = payload.get("content") or {}, payload.get("actions") or {}
    if content.get("kind") or payload.get("status"):
        return str(content.get("kind") or payload["status"])
    for key, told in (("workspaceFact", "workspace_fact"), ("toolDispatch", "tool_dispatch")):
        if key in actions:
            return told
    return "invocation_end" if actions.get("endInvocation") is True else "runtime_fact"


def envelope(event_id: str, session: str, invocation: str, run: str, turn: str, body: Mapping[str, Any]) -> Event:
    """An event from what a row gave."""
    payload = {
        "id": event_id,
        "sessionId": session,
        "invocationId": invocation,
        "runId": run,
        "turnId": turn,
        "partial": False,
        **body,
    }
    return Event(event_id, session, invocation, run, turn, payload)
