"""Generated sessions of old rows: whatever is legal in one turn, in any order of time, for the conversion tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
CREATED = 1_700_000_000_000


def header(session: str = "s", **more: Any) -> Row:
    """The header of a session that is not converted yet."""
    return {
        "id": session,
        "cwd": "/w",
        "createdAt": CREATED,
        "backend": "ai-sdk",
        "llmConnectionSlug": "conn",
        "model": "header-model",
        "permissionMode": "ask",
        "schemaVersion": 1,
        **more,
    }


def user(turn: str, ts: int, **more: Any) -> Row:
    """A prompt."""
    return {"type": "user", "id": f"u-{turn}-{ts}", "turnId": turn, "ts": ts, "text": "a question", **more}


def assistant(turn: str, ts: int, **more: Any) -> Row:
    """An answer."""
    row = {"type": "assistant", "id": f"a-{turn}-{ts}", "turnId": turn, "ts": ts, "text": "an answer", "modelId": "m"}
    return {**row, **more}


def call(turn: str, ts: int, name: str) -> Row:
    """A call of a tool."""
    return {
        "type": "tool_call",
        "id": name,
        "turnId": turn,
        "ts": ts,
        "toolName": "Read",
        "args": {"path": "f", "2": 1},
    }


def result(turn: str, ts: int, name: str, *, row: str | None = None) -> Row:
    """The result of a call."""
    told: Row = {"type": "tool_result", "id": row or f"r-{name}", "turnId": turn, "ts": ts, "toolUseId": name}
    return {**told, "isError": False, "content": {"kind": "text", "text": "done"}, "durationMs": 5}


def state(turn: str, ts: int, status: str = "completed", **more: Any) -> Row:
    """What says how a turn is."""
    return {"type": "turn_state", "id": f"s-{turn}-{ts}", "turnId": turn, "ts": ts, "status": status, **more}


def minimal() -> list[Row]:
    """The session of one turn with each kind of row once."""
    usage = {"type": "token_usage", "id": "m-usage", "turnId": "turn-1", "ts": 140, "input": 10, "output": 20}
    return [
        {"type": "user", "id": "m-user", "turnId": "turn-1", "ts": 100, "text": "Hello"},
        {
            "type": "assistant",
            "id": "m-assistant",
            "turnId": "turn-1",
            "ts": 110,
            "text": "Hi there",
            "thinking": {"text": "think", "signature": "sig"},
            "modelId": "row-model",
        },
        {
            "type": "tool_call",
            "id": "tool-1",
            "turnId": "turn-1",
            "ts": 120,
            "toolName": "Read",
            "args": {"path": "a.txt"},
        },
        {**result("turn-1", 130, "tool-1", row="m-result"), "content": {"kind": "text", "text": "content"}},
        usage,
        {"type": "turn_state", "id": "m-state", "turnId": "turn-1", "ts": 150, "status": "completed"},
    ]


def native(turns: int, notes: int = 1) -> list[Row]:
    """Turns as builds before the ledger wrote them: prompt, running, answer, end, retired notes."""
    rows: list[Row] = []
    for n in range(turns):
        turn, ts = f"t{n}", 1_000 * n
        note: Row = {"type": "system_note", "turnId": turn, "ts": ts + 4, "kind": "session_resume"}
        rows += [user(turn, ts), state(turn, ts + 1, "running"), assistant(turn, ts + 2), state(turn, ts + 3)]
        rows += [{**note, "id": f"n{n}-{k}"} for k in range(notes)]
    return rows


def generated(seed: int) -> list[Row]:
    """One to five turns after another; the order of time within a turn is another one than that of the rows."""
    pick = random.Random(seed)
    rows: list[Row] = []
    for n in range(pick.randint(1, 5)):
        rows += _turn(pick, f"t{n}", 10_000 * n + 100)
    return rows


def _turn(pick: random.Random, turn: str, at: int) -> list[Row]:
    rows: Sequence[Row] = [user(turn, at, **pick.choice([{}, {"quotes": [{"text": "q", "label": "l"}]}]))]
    parts = {"parts": [{"text": "one"}, {"text": "two", "signature": "s"}], "text": "one"}
    for n in range(pick.randint(0, 4)):
        ts = at + 10 * n + pick.randint(-5, 15)
        kind = pick.choice(("answer", "thinking", "tool", "usage", "note", "empty", "decision", "retired"))
        name = f"{turn}-{n}"
        if kind == "answer":
            rows = [*rows, assistant(turn, ts)]
        elif kind == "thinking":
            rows = [*rows, assistant(turn, ts, thinking=pick.choice([parts, {"text": "t"}]))]
        elif kind == "tool":
            rows = [*rows, call(turn, ts, f"c-{name}"), result(turn, ts + pick.randint(0, 3), f"c-{name}")]
        elif kind == "usage":
            rows = [*rows, {"type": "token_usage", "id": name, "turnId": turn, "ts": ts, "input": 1, "output": 2.5}]
        elif kind == "note":
            note = {"type": "system_note", "id": name, "turnId": turn, "ts": ts, "kind": "step_limit", "data": {"b": 1}}
            rows = [*rows, note]
        elif kind == "empty":
            rows = [*rows, assistant(turn, ts, text="", id=f"a-{name}")]
        elif kind == "decision":
            told: Row = {"type": "permission_decision", "id": name, "turnId": turn, "ts": ts, "toolUseId": "x"}
            rows = [*rows, {**told, "toolName": "Read", "decision": "deny"}]
        else:
            rows = [*rows, {"type": "system_note", "id": name, "ts": ts, "kind": "mode_change"}]
    ends = ({"status": "completed"}, {"status": "failed"}, {"status": "aborted", "abortSource": "stop"}, None)
    end = pick.choice((*ends, {"status": "running"}))
    return [*rows, state(turn, at + 90, **end)] if end else list(rows)
