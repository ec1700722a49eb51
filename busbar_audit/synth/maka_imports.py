"""Sessions for import accounts: converted in full (f1, f2 …), and not converted yet (l1, l2 …), with the same rows.

Rows of each: turn t1 has every kind that is converted (sequences 0 to 9), t2 failed (10 to 12), t3 was stopped (13 to 15),
t4 used a tool (16 to 20). A converted turn has the ids, clocks and order of the merged converter (maka sheet 4.2 to 4.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from busbar_audit.synth.maka import transcript_run

Row = dict[str, Any]
TURNS = (1, 2, 3, 4)


class Writer(Protocol):
    """What is asked of the writer of a workspace."""

    def begin(self, session: str, **header: Any) -> int:
        """Make a session; returns when."""

    def row(self, session: str, type_: str, key: str, turn: str | None, **members: Any) -> None:
        """Append a legacy row."""

    def open(self, at: tuple[str, str, str, str], key: str = "", **more: Any) -> None:
        """Begin an invocation."""

    def event(self, at: tuple[str, str, str, str], role: str, author: str, key: str = "", **members: Any) -> str:
        """Append an event."""


def write_imports(writer: Writer, sessions: int) -> None:
    """Write so many converted sessions and as many that are not converted."""
    for n in range(1, sessions + 1):
        _session(writer, f"f{n}", converted=True)
        _session(writer, f"l{n}", converted=False)


def _session(writer: Writer, session: str, *, converted: bool) -> None:
    created = writer.begin(session, **({} if converted else {"transcriptLedgerVersion": None}))
    rows = session_rows(session, created)
    for row in rows:
        writer.row(session, row["type"], row["id"], row["turnId"], **_members(row))
    if converted:
        for k in TURNS:
            turn = f"{session}-t{k}"
            own = [row for row in rows if row["turnId"] == turn]
            _convert(writer, session, turn, own, max(0, created - 1 - (len(rows) - 1 - rows.index(own[0]))))


def _members(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in ("type", "id", "turnId")}


def session_rows(session: str, created: int) -> list[Row]:
    """The rows of a session, in order of sequence."""
    rows: list[Row] = []

    def put(type_: str, turn: int, key: str, **members: Any) -> None:
        told = {"type": type_, "id": f"{session}-{key}", "turnId": f"{session}-t{turn}", "ts": created + 10 * len(rows)}
        rows.append(told | members)

    def said(turn: int, key: str, **members: Any) -> None:
        put("assistant", turn, key, text=f"step {key}", modelId="model-0", **members)

    def used(turn: int, key: str) -> None:
        put("tool_call", turn, key, toolName="Read", args={"path": f"{key}.txt"}, displayName="Read")

    def told(turn: int, key: str, of: str) -> None:
        content = {"kind": "text", "text": f"list {of}"}
        put("tool_result", turn, key, toolUseId=f"{session}-{of}", isError=False, content=content, durationMs=4)

    parts = [{"text": "note one"}, {"text": "note two", "signature": "s"}]
    put("user", 1, "u1", text="plan file")
    put("turn_state", 1, "r1", status="running")
    said(1, "a1", thinking={"text": "note onenote two", "parts": parts})
    used(1, "use1")
    decided = {"toolUseId": f"{session}-use1", "toolName": "Read", "decision": "allow"}
    put("permission_decision", 1, "d1", **decided)
    told(1, "o1", "use1")
    put("token_usage", 1, "k1", input=10, output=20, total=30)
    put("system_note", 1, "n1", kind="context_compacted", data={"before": 9})
    said(1, "b1")
    put("turn_state", 1, "end1", status="completed")
    for turn, state in (
        (2, {"status": "failed", "errorClass": "auth"}),
        (3, {"status": "aborted", "abortSource": "stop"}),
    ):
        put("user", turn, f"u{turn}", text=f"test {turn}")
        said(turn, f"a{turn}")
        put("turn_state", turn, f"end{turn}", **state)
    put("user", 4, "u4", text="check 4")
    used(4, "use4")
    told(4, "o4", "use4")
    said(4, "a4")
    put("turn_state", 4, "end4", status="completed")
    return rows


def converted_events(rows: Sequence[Row], opened: int) -> Iterator[Row]:
    """What the rows of a turn become, in order, without ids."""
    for row in rows:
        mark = {
            "kind": "runtime_event_backfill",
            "source": "legacy_stored_message",
            "reason": "missing_runtime_event_ledger",
            "sourceMessageId": row["id"],
            "sourceMessageType": row["type"],
            "confidence": "lossless",
            "generatedAt": opened,
            "version": 1,
        }
        marked = {"actions": {"stateDelta": {"makaRuntimeRecovery": mark}}}
        base = {"ts": row["ts"], "refs": {"storedMessageId": row["id"]}}
        kind = row["type"]
        if kind == "user":
            yield base | marked | {"role": "user", "author": "user", "content": {"kind": "text", "text": row["text"]}}
        elif kind == "assistant":
            agent = base | marked | {"role": "model", "author": "agent"}
            yield agent | {"content": {"kind": "text", "text": row["text"]}}
            for part in row.get("thinking", {}).get("parts", ()):
                yield agent | {"content": {"kind": "thinking", **part}}
        elif kind == "tool_call":
            content: Row = {"kind": "function_call", "id": row["id"], "name": row["toolName"], "args": row["args"]}
            refs = {"storedMessageId": row["id"], "toolCallId": row["id"]}
            actions: Row = {"stateDelta": {"displayName": row["displayName"]}}
            yield base | {"role": "model", "author": "agent", "content": content, "refs": refs, "actions": actions}
        elif kind == "tool_result":
            content = {"kind": "function_response", "id": row["toolUseId"], "name": "Read", "isError": False}
            refs = {"storedMessageId": row["id"], "toolCallId": row["toolUseId"]}
            told = {"content": content | {"result": row["content"]}, "refs": refs}
            yield base | told | {"role": "tool", "author": "tool", "actions": {"stateDelta": {"durationMs": 4}}}
        elif kind == "permission_decision":
            decided = {"requestId": row["id"], "decision": row["decision"], "toolName": row["toolName"]}
            refs = {"storedMessageId": row["id"], "toolCallId": row["toolUseId"]}
            actions = {**marked["actions"], "permissionDecision": decided}
            yield base | {"role": "system", "author": "system", "refs": refs, "actions": actions}
        elif kind == "token_usage":
            usage = {key: row[key] for key in ("input", "output", "total")}
            yield base | {"role": "system", "author": "system", "actions": {**marked["actions"], "tokenUsage": usage}}
        elif kind == "system_note":
            content = {"kind": "system_note", "note": row["kind"], "data": row["data"]}
            hidden = {"role": "system", "author": "system", "modelVisibility": "hidden", "content": content}
            yield base | marked | hidden
        elif kind == "turn_state" and row["status"] != "running":
            delta = {"makaRuntimeRecovery": mark}
            if row["status"] == "failed":
                delta |= {"failureClass": row["errorClass"], "errorClass": row["errorClass"]}
            if row["status"] == "aborted":
                delta |= {"abortSource": row["abortSource"]}
            actions = {"endInvocation": True, "stateDelta": delta}
            yield base | {"role": "system", "author": "system", "status": row["status"], "actions": actions}


def _convert(writer: Writer, session: str, turn: str, rows: Sequence[Row], opened: int) -> None:
    run = transcript_run(session, turn)
    at = (session, turn, run, run)
    writer.open(at, f"{run}-opened", ts=opened)
    for n, event in enumerate(converted_events(rows, opened), start=1):
        role, author = event.pop("role"), event.pop("author")
        writer.event(at, role, author, f"{run}-e{n}", **event)
