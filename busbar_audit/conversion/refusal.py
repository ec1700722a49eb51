"""What stops a conversion, named and worded as the product does, so that its own logs can be compared."""

from __future__ import annotations


class Refusal(Exception):
    """The product throws; what was appended before stays.

    name : class of the product's error. code : its code, if it has one. sequence : the row that cannot be read.
    event_id : the event that is not appended. row : the sequence of the row that it was to be made from, where it is known.
    """

    def __init__(
        self, name: str, message: str, *, code: str | None = None, sequence: int | None = None, event_id: str = ""
    ) -> None:
        super().__init__(message)
        self.name, self.message, self.code, self.sequence, self.event_id = name, message, code, sequence, event_id
        self.row = sequence


def incompatible(session: str, sequence: int) -> Refusal:
    """A row that no build at hand can read: nothing of its page is converted."""
    return Refusal(
        "StoredSessionMessageIncompatibleError",
        f"Stored Session message {sequence} for {session} is incompatible",
        code="stored_session_message_incompatible",
        sequence=sequence,
    )


def tool_rejected(reason: str, event: str) -> Refusal:
    """A tool event that the ledger does not take: `reason` is orphan_response, duplicate_call, duplicate_response …"""
    return Refusal(
        "ToolLedgerRejectionError",
        f"Tool ledger transition rejected: {reason} at {event}",
        code=reason,
        event_id=event,
    )


def identity_conflict(event: str) -> Refusal:
    """An event of this id is stored with other content."""
    return Refusal("Error", f"RuntimeEvent identity conflict for {event}", event_id=event)


def run_conflict(run: str, event: str) -> Refusal:
    """The run is stored with another invocation or turn."""
    return Refusal("Error", f"RuntimeEvent run identity conflict for {run}", event_id=event)


def invocation_conflict(invocation: str, event: str) -> Refusal:
    """The invocation is stored with another session, run or turn."""
    return Refusal("Error", f"RuntimeEvent invocation identity conflict for {invocation}", event_id=event)


def sealed(run: str, event: str) -> Refusal:
    """The run has its ending, and takes nothing new."""
    return Refusal("RunSealedError", f"Run {run} is sealed by its terminal fact", code="run_sealed", event_id=event)


def opened_twice(event: str) -> Refusal:
    """The invocation has an opening under another id."""
    return Refusal("SqliteError", "UNIQUE constraint failed: runtime_events.invocation_id", event_id=event)


def invalid_event(event: str) -> Refusal:
    """What a row gives is no event that the product reads."""
    return Refusal("Error", "Invalid RuntimeEvent schema", event_id=event)
