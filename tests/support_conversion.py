"""Sessions for the converter: made up here, or read from the product's own answers."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from busbar_audit.conversion.converter import Conversion
from busbar_audit.conversion.schema import in_memory
from busbar_audit.transcript import js

EVENT = (
    "event_id", "session_id", "invocation_id", "run_id", "turn_id", "event_seq", "event_kind", "payload_json", "committed_at",
)  # fmt: skip
OPENING = ("invocation_id", "session_id", "run_id", "turn_id", "opened_at", "opening_json", "anchor_event_id")
HEADER: Mapping[str, Any] = {
    "cwd": "/w", "createdAt": 1000, "backend": "ai-sdk", "llmConnectionSlug": "conn", "model": "header-model",
    "permissionMode": "ask",
}  # fmt: skip
_CHUNK = 65_536


def session_store(session: str, header: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> sqlite3.Connection:
    """A store in memory with one session and its legacy rows, chunked where they are large."""
    con = in_memory()
    con.execute(
        "INSERT INTO session_metadata (session_id, payload_json) VALUES (?, ?)",
        (session, js.stringify({"id": session, **header})),
    )
    for sequence, row in enumerate(rows):
        put_row(con, session, sequence, row["id"], row["type"], row["ts"], js.stringify(row))
    return con


def put_row(con: sqlite3.Connection, session: str, sequence: int, *told: Any) -> None:
    """One legacy row: id, type, time, text."""
    message_id, kind, ts, text = told
    data = text.encode()
    if len(data) > _CHUNK:
        parts = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
        con.execute(
            "INSERT INTO session_message_payloads VALUES (?, ?, ?, ?)", (session, sequence, len(data), _sha(data))
        )
        con.executemany(
            "INSERT INTO session_message_chunks VALUES (?, ?, ?, ?, ?)",
            ((session, sequence, at, part, _sha(part)) for at, part in enumerate(parts)),
        )
        text = '{"$maka":"session-message-chunks-v1"}'
    con.execute(
        "INSERT INTO session_messages VALUES (?, ?, ?, ?, ?, ?)", (session, sequence, message_id, kind, ts, text)
    )


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put_event(con: sqlite3.Connection, event: Mapping[str, Any]) -> None:
    """One event as an answer of the product has it, with its place in the session."""
    con.execute("INSERT INTO runtime_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [event[name] for name in EVENT])
    if event.get("ordinal") is not None:
        place = (event["session_id"], event["ordinal"], event["event_id"])
        con.execute("INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)", place)


def loaded(answer: Mapping[str, Any], database: Path | None, before: Sequence[Mapping[str, Any]]) -> sqlite3.Connection:
    """The store as it was before the product converted it; chunks come from the database that it left."""
    session = answer.get("sessionId") or answer["header"]["id"]
    con = in_memory()
    header = (session, json.dumps(answer["header"]))
    con.execute("INSERT INTO session_metadata (session_id, payload_json) VALUES (?, ?)", header)
    for row in answer["sessionMessages"]:
        text = row["record_json"]
        if not isinstance(text, str):
            # A long one is known by its digest there.
            with closing(sqlite3.connect(str(database))) as other:
                place = (session, row["sequence"])
                (text,) = other.execute(
                    "SELECT record_json FROM session_messages WHERE session_id = ? AND sequence = ?", place
                ).fetchone()
        told = (row["message_id"], row["message_type"], row["message_ts"], text)
        con.execute("INSERT INTO session_messages VALUES (?, ?, ?, ?, ?, ?)", (session, row["sequence"], *told))
    if database is not None and database.exists():
        with closing(sqlite3.connect(database)) as other:
            for table, columns in (
                ("session_message_payloads", "session_id, sequence, record_bytes, sha256"),
                ("session_message_chunks", "session_id, sequence, chunk_index, data, sha256"),
            ):
                found = other.execute(f"SELECT {columns} FROM {table} WHERE session_id = ?", (session,)).fetchall()
                con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * (columns.count(',') + 1))})", found)
    for event in before:
        put_event(con, event)
    for opening in answer.get("legacyOpenings") or ():
        con.execute(
            "INSERT INTO runtime_legacy_invocation_openings VALUES (?, ?, ?, ?, ?, ?, ?)",
            [opening.get(name) for name in OPENING],
        )
    return con


def events_of(con: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    """All events of a session in the order of their places."""
    names = ", ".join(f"e.{name}" for name in EVENT)
    rows = con.execute(
        f"SELECT {names}, o.ordinal FROM runtime_events AS e LEFT JOIN runtime_session_event_ordinals AS o USING (event_id) "
        "WHERE e.session_id = ? ORDER BY o.ordinal, e.event_id",
        (session,),
    )
    return [dict(zip((*EVENT, "ordinal"), row, strict=True)) for row in rows]


def told_error(done: Conversion) -> dict[str, Any] | None:
    """What ended an attempt, as the product's answers have it."""
    refused = done.refusal
    if refused is None:
        return None
    code = {} if refused.code is None else {"code": refused.code}
    at = {} if refused.sequence is None else {"sequence": refused.sequence}
    return {"name": refused.name, "message": refused.message, **code, **at}


def told_pages(done: Conversion) -> list[dict[str, Any]]:
    """Pages as the product's answers have them."""
    names = ("afterSequence", "records", "lastSequence", "highWaterSequence")
    return [dict(zip(names, page, strict=True)) for page in done.pages]
