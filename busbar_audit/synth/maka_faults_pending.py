"""Rows that the conversion to come will refuse, cut off or convert unlike the rest, each in a session l2, l3 …

What rows these sessions have is in `busbar_audit.synth.maka_imports`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from busbar_audit.synth.maka import transcript_run
from busbar_audit.synth.maka_imports import converted_events
from busbar_audit.synth.maka_planting import NEWER, MakaFault, by_sql, edit_row, on_row, to
from busbar_audit.synth.maka_rewriting import Changes, add_row, label, random_id
from busbar_audit.transcript import js

Plant = Callable[[sqlite3.Connection, str], object]


def _time(key: str, ms: int) -> Plant:
    def apply(con: sqlite3.Connection, s: str) -> None:
        edit_row(con, s, f"{s}-{key}", lambda row: row.update(ts=row["ts"] + ms))
        con.execute("UPDATE session_messages SET message_ts = message_ts + ? WHERE message_id = ?", (ms, f"{s}-{key}"))

    return apply


def _tool(kind: str, key: str) -> Plant:
    """A second call or result of t4, before its ending."""

    def apply(con: sqlite3.Connection, s: str) -> None:
        (text,) = con.execute(
            "SELECT record_json FROM session_messages WHERE message_id = ?", (f"{s}-{key}",)
        ).fetchone()
        record = json.loads(text)
        add_row(con, s, record | ({"id": f"{s}-again"} if kind == "tool_result" else {}))

    return apply


def _half(con: sqlite3.Connection, s: str) -> None:
    """Half of turn t2, as C0 leaves it when it is killed."""
    _begun(con, s, 2, lambda events: events[:1], c0=True)


def _mixed(con: sqlite3.Connection, s: str) -> None:
    """Turn t1 as C0 has converted it, the others not yet."""
    _begun(con, s, 1, lambda events: [events[0], events[1], events[9], events[10]], c0=True)


def _begun(con: sqlite3.Connection, s: str, k: int, change: Changes, *, c0: bool) -> None:
    stored = con.execute("SELECT record_json FROM session_messages WHERE session_id = ? ORDER BY sequence", (s,))
    rows = [json.loads(text) for (text,) in stored]
    turn = f"{s}-t{k}"
    run = transcript_run(s, turn)
    invocation = f"invocation-{run}" if c0 else run
    model = transcript_run("f1", "f1-t1")
    (opening,) = con.execute(
        "SELECT payload_json FROM runtime_events WHERE event_id = ?", (f"{model}-opened",)
    ).fetchone()
    opened = rows[0]["ts"] - 5000
    events = [json.loads(opening) | {"ts": opened}]
    events += change(list(converted_events([row for row in rows if row.get("turnId") == turn], opened)))
    for n, event in enumerate(events):
        ids = {"invocationId": invocation, "runId": run, "sessionId": s, "turnId": turn, "partial": False}
        told = event | ids | {"id": random_id(run, n, event) if c0 else f"{run}-e{n}" if n else f"{run}-opened"}
        con.execute(
            "INSERT INTO runtime_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (told["id"], s, invocation, run, turn, n + 1, label(told), js.stringify(told, ordered=True), told["ts"]),
        )
        con.execute("INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)", (s, n + 1, told["id"]))


def _beyond(late: str) -> Plant:
    """Move an ending of t4 beyond a page: 260 rows of a turn of its own come between."""

    def apply(con: sqlite3.Connection, s: str) -> None:
        (text,) = con.execute(
            "SELECT record_json FROM session_messages WHERE message_id = ?", (f"{s}-end4",)
        ).fetchone()
        for n in range(260):
            kind = {"type": "assistant", "modelId": "m"} if n else {"type": "user"}
            add_row(
                con, s, kind | {"id": f"{s}-more{n}", "turnId": f"{s}-t5", "ts": json.loads(text)["ts"], "text": "x"}
            )
        record: dict[str, Any] = {"id": f"{s}-late", "turnId": f"{s}-t4", "ts": json.loads(text)["ts"], "text": "late"}
        add_row(con, s, record | ({"type": "user"} if late == "user" else {"type": "assistant", "modelId": "m"}))

    return apply


def _answered(con: sqlite3.Connection, s: str) -> None:
    """Make the user's message of t3 another answer."""
    edit_row(con, s, f"{s}-u3", to(type="assistant", modelId="m"))
    con.execute("UPDATE session_messages SET message_type = 'assistant' WHERE message_id = ?", (f"{s}-u3",))


def _faults() -> Iterator[MakaFault]:
    told: tuple[tuple[str, tuple[str, ...], Plant, tuple[int, int] | None, str], ...] = (
        (
            "risk-orphan-result",
            ("D22", "L01"),
            by_sql("DELETE FROM session_messages WHERE message_id = :s || '-use4'"),
            (18, 18),
            "orphan_response",
        ),
        (
            "risk-result-other-turn",
            ("D22", "L10"),
            on_row("{s}-o4", lambda row: row.update(turnId=row["turnId"].replace("t4", "t3"))),
            (18, 18),
            "orphan_response",
        ),
        ("risk-call-later", ("D22", "L09"), _time("use4", 15), (18, 18), "orphan_response"),
        ("risk-call-twice", ("D22", "L09"), _tool("tool_call", "use4"), (21, 21), "duplicate_call"),
        ("risk-result-twice", ("D22", "L09"), _tool("tool_result", "o4"), (21, 21), "duplicate_response"),
        ("risk-half-turn", ("D22", "B19", "D09"), _half, (10, 12), "half a turn of an earlier converter"),
        ("risk-mixed", ("D22", "D09"), _mixed, (3, 7), "turns of two converters"),
        ("risk-page-edge", ("D22", "L10"), _beyond("answer"), (281, 281), "crosses the edge"),
        ("risk-page-edge-user", ("D22", "L10"), _beyond("user"), (281, 281), "the first attempt fails, too"),
        ("risk-unreadable", ("L07",), on_row("{s}-a3", to(extra=1)), (14, 14), "unknown member"),
        (
            "risk-no-user",
            ("L11",),
            _answered,
            (13, 15),
            "{s}-t3",
        ),
    )
    for name, codes, apply, rows, cause in told:
        yield MakaFault(name, (*codes, "D02"), "{s}", apply, NEWER, "l", rows=rows, cause=cause)


FAULTS = tuple(_faults())
