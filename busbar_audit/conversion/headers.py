"""Conversion C0, of the time when runs had headers and no openings (maka sheet 4, 15).

It differs from all later ones: invocations of another name, random ids, a live clock, text of the conversation alone,
steering rows taken along, rows of its own appended to the old ones, and a resume that compares texts of members in the
order in which they were written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.converter import MARK, Conversion
from busbar_audit.conversion.ending import FAILED, MISSING, SNAPSHOT
from busbar_audit.conversion.events import envelope
from busbar_audit.conversion.historic import Before, Clock, Ids, all_rows
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.payloads import Turn, bodies, mark
from busbar_audit.conversion.refusal import Refusal
from busbar_audit.conversion.rows import LegacyRow
from busbar_audit.conversion.turns import LegacyTurn
from busbar_audit.errors import UsageError
from busbar_audit.transcript import js
from busbar_audit.transcript.projection import is_terminal

_STATUS = {"completed": "completed", "failed": "failed", "aborted": "cancelled"}


def convert_headers(
    con: sqlite3.Connection, session: str, *, clock: Clock, ids: Ids, before: Before | None = None
) -> Conversion:
    """Convert a session as C0 did.

    Parameters
    ----------
    con : of a private copy. clock : milliseconds now. ids : a new random id. before : as for `converter.convert`.

    Raises
    ------
    UsageError : the store is younger than that: it has no run headers.
    """
    columns = {name for _, name, *_ in con.execute("PRAGMA table_info(core_agent_runs)")}
    if "record_json" not in columns:
        raise UsageError("Conversion C0 on a store without run headers.", "Expected a runtime schema below 16.")
    attempt = _Attempt(con, session, clock, ids, before or (lambda _done, _what: None))
    try:
        attempt.run()
    except Refusal as stopped:
        attempt.done.refusal = stopped
    return attempt.done


class _Attempt:
    def __init__(self, con: sqlite3.Connection, session: str, clock: Clock, ids: Ids, before: Before) -> None:
        self._con, self._session, self._ledger = con, session, Ledger(con)
        self._header = self._ledger.header(session)
        self._clock, self._ids, self._before, self.done = clock, ids, before, Conversion()

    def run(self) -> None:
        rows = list(all_rows(self._ledger, self._session))
        turns = [turn for turn in _grouped(rows) if turn.has_prompt]
        native = self._native()
        begun = max(0, (self._header.get("createdAt") or 0) - len(turns))
        for at, turn in enumerate(turns):
            if turn.turn_id not in native:
                self._convert(turn, begun + at)
        self._before(self.done, MARK)
        self._ledger.mark(self._session, self._clock())
        self.done.complete = True

    def _native(self) -> set[str]:
        found = self._con.execute(
            "SELECT run_id, record_json FROM core_agent_runs WHERE session_id = ?", [self._session]
        )
        told = [(run, js.parse(text)["turnId"]) for run, text in found]
        return {turn for run, turn in told if run != identity.run_id(self._session, turn)}

    def _convert(self, turn: LegacyTurn, opened: int) -> None:
        run = identity.run_id(self._session, turn.turn_id)
        declared, known = _declared(turn)
        self._begin(run, turn, opened, declared, known)
        stored = list(self._ledger.events(self._session, run))
        now = self._clock()
        for body in self._bodies(turn, now):
            if not any(_alike(body, one) for one in stored):
                self._append(run, turn, body)
        if any(is_terminal(one) for one in self._ledger.events(self._session, run)):
            return
        state = _last_state(turn)
        if state is not None and state["status"] in _STATUS:
            self._append(run, turn, _ending(state, known, now))
        else:
            self._recover(run, turn, opened)

    def _bodies(self, turn: LegacyTurn, now: int) -> Iterator[dict[str, Any]]:
        told = Turn(turn.rows)
        for one in sorted(turn.rows, key=lambda one: one.row["ts"]):
            yield from bodies(one.row, told, now, conversation=True)

    def _append(self, run: str, turn: LegacyTurn, body: Mapping[str, Any]) -> None:
        self._before(self.done, "append")
        event = envelope(self._ids(), self._session, f"invocation-{run}", run, turn.turn_id, body)
        self.done.appends += self._ledger.append(event)
        if self.done.emitted is not None:
            self.done.emitted.append(event.event_id)

    def _begin(self, run: str, turn: LegacyTurn, opened: int, status: str, known: str | None) -> None:
        """The header of the run, as the old rows declare that it ended."""
        header = self._header
        record = {
            "runId": run,
            "invocationId": f"invocation-{run}",
            "sessionId": self._session,
            "turnId": turn.turn_id,
            "status": _STATUS[status],
            "backendKind": header.get("backend"),
            "llmConnectionSlug": header.get("llmConnectionSlug"),
            "modelId": header.get("model"),
            "cwd": header.get("cwd"),
            "permissionMode": header.get("permissionMode"),
            "collaborationMode": header.get("collaborationMode") or "agent",
            "orchestrationMode": header.get("orchestrationMode") or "default",
            "createdAt": opened,
            "updatedAt": opened,
            "completedAt": opened,
        }
        if status == "aborted":
            record["abortSource"] = known
        elif status == "failed":
            record["failureClass"] = known
        self._con.execute(
            "INSERT OR IGNORE INTO core_agent_runs (session_id, run_id, created_at, record_json) VALUES (?, ?, ?, ?)",
            [self._session, run, opened, js.stringify(record)],
        )

    def _recover(self, run: str, turn: LegacyTurn, opened: int) -> None:
        """A turn that does not say how it ended is ended by the recovery of runs, which also writes a row."""
        body = {
            "role": "system",
            "author": "system",
            "status": "failed",
            "ts": opened,
            "content": {
                "kind": "error",
                "message": "terminal run header had no terminal RuntimeEvent",
                "code": MISSING,
                "reason": MISSING,
            },
            "actions": {
                "endInvocation": True,
                "stateDelta": {"recovered": True, "recoveryReason": MISSING, "failureClass": MISSING},
            },
        }
        self._append(run, turn, body)
        (text,) = self._con.execute("SELECT record_json FROM core_agent_runs WHERE run_id = ?", [run]).fetchone()
        record = {**js.parse(text), "status": "failed", "failureClass": MISSING}
        row = {
            "type": "turn_state",
            "id": self._ids(),
            "turnId": turn.turn_id,
            "ts": opened,
            "status": "failed",
            "errorClass": MISSING,
            "partialOutputRetained": any(one.row["type"] in ("assistant", "tool_call") for one in turn.rows),
        }
        self._con.execute("UPDATE core_agent_runs SET record_json = ? WHERE run_id = ?", [js.stringify(record), run])
        self._con.execute(
            "INSERT INTO session_messages (session_id, sequence, message_id, message_type, message_ts, record_json)"
            " SELECT ?, 1 + max(sequence), ?, 'turn_state', ?, ? FROM session_messages WHERE session_id = ?",
            [self._session, row["id"], opened, js.stringify(row), self._session],
        )


def _grouped(rows: Sequence[LegacyRow]) -> list[LegacyTurn]:
    found: dict[str, LegacyTurn] = {}
    for one in rows:
        if one.turn is not None:
            found.setdefault(one.turn, LegacyTurn(one.turn)).rows.append(one)
    return list(found.values())


def _last_state(turn: LegacyTurn) -> Mapping[str, Any] | None:
    return next((one.row for one in reversed(turn.rows) if one.row["type"] == "turn_state"), None)


def _declared(turn: LegacyTurn) -> tuple[str, str | None]:
    """How the reader of that time shows the turn, and the class or source of it."""
    state = _last_state(turn)
    if state is not None:
        if state["status"] == "completed":
            return "completed", None
        if state["status"] == "failed":
            return "failed", state.get("errorClass") or FAILED
        return "aborted", state.get("abortSource") or SNAPSHOT
    kinds = {one.row["type"] for one in turn.rows}
    if any(one.row["type"] == "system_note" and one.row["kind"] == "abort" for one in turn.rows):
        return "aborted", SNAPSHOT
    if any(one.row["type"] == "tool_result" and one.row["isError"] for one in turn.rows) or "assistant" not in kinds:
        return "failed", FAILED
    return "completed", None


def _ending(state: Mapping[str, Any], known: str | None, now: int) -> dict[str, Any]:
    delta: dict[str, Any] = {"makaRuntimeRecovery": mark(state, now)}
    if state["status"] == "failed":
        delta = {**delta, "failureClass": known, "errorClass": known}
    elif state["status"] == "aborted":
        delta = {**delta, "abortSource": known}
    return {
        "role": "system",
        "author": "system",
        "status": state["status"],
        "ts": state["ts"],
        "refs": {"storedMessageId": state["id"]},
        "actions": {"endInvocation": True, "stateDelta": delta},
    }


def _alike(body: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether a stored event is taken for the one at hand: members are compared as texts, so nested ones, which are
    stored sorted, are strangers where they were written in another order."""
    ours, theirs = body["content"], stored.get("content") or {}
    return (
        (stored.get("refs") or {}).get("storedMessageId") == body["refs"]["storedMessageId"]
        and ours.keys() == theirs.keys()
        and all(json.dumps(value) == json.dumps(theirs[key]) for key, value in ours.items())
    )
