"""How a converted turn ends: what its turn_state rows say, read twice (maka sheet 4.5).

The declared outcome is the last turn_state by sequence; the row itself is the last by time. They differ where times
go backward, and the first matching rule below decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from busbar_audit.conversion.payloads import Body, Number, mark
from busbar_audit.conversion.rows import LegacyRow

MISSING = "missing_terminal_event"
FAILED = "external_transcript_failed"
SNAPSHOT = "external_session_snapshot"


def ending_body(rows: Sequence[LegacyRow], by_time: Sequence[LegacyRow], opened_at: Number) -> Body:
    """The ending of a turn.

    Parameters
    ----------
    rows : of the turn, by sequence. by_time : the same in the order in which they are converted.
    opened_at : when the run was opened; an ending without a row is no earlier, and it dates the mark.
    """
    declared = next((one.row for one in reversed(rows) if one.row["type"] == "turn_state"), None)
    row = next((one.row for one in reversed(by_time) if one.row["type"] == "turn_state"), None)
    status, delta = _outcome(declared, row)
    body: Body = {
        "role": "system",
        "author": "system",
        "status": status,
        "ts": row["ts"] if row is not None else max(opened_at, *(one.row["ts"] for one in rows)),
        "actions": {"endInvocation": True},
    }
    if row is not None:
        body["refs"] = {"storedMessageId": row["id"]}
    body["actions"]["stateDelta"] = {**delta, "makaRuntimeRecovery": mark(row, opened_at)}
    return body


def _outcome(declared: Mapping[str, Any] | None, row: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    if declared is None or row is None:
        return "failed", _failure(MISSING)
    said, told = declared["status"], row["status"]
    if "completed" in (said, told):
        return "completed", {}
    # What is declared to have failed has a class in any case; what a row says has one if it names it.
    known = (declared.get("errorClass") or FAILED) if said == "failed" else None
    named = row.get("errorClass") or None
    if "failed" in (said, told) and (known or named):
        return "failed", _failure(named or known or MISSING)
    if told == "aborted" or (said == "aborted" and row.get("abortSource")):
        # What is declared to have been stopped has a source in any case.
        source = declared.get("abortSource") if said == "aborted" else None
        return "aborted", {"abortSource": row.get("abortSource") or source or SNAPSHOT}
    return "failed", _failure(named or MISSING)


def _failure(kind: str) -> dict[str, Any]:
    return {"failureClass": kind, "errorClass": kind}
