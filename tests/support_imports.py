"""Helpers of the import tests: answers of the real converter, put into stores of our own, before it ran and after."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support_maka import unpacked

from busbar_audit.stores import maka_shapes
from busbar_audit.synth.maka import transcript_run
from busbar_audit.transcript import js


@dataclass(frozen=True)
class Answer:
    """What the real converter did with one session: its rows and header, events before and after, and its error."""

    case: str
    session: str
    header: Mapping[str, Any]
    rows: list[Mapping[str, Any]]
    before: list[Mapping[str, Any]]
    after: list[Mapping[str, Any]]
    error: Mapping[str, Any] | None


def answers(archives: Path, folder: Path) -> Iterator[Answer]:
    """Cases with one session, its rows and one conversion; those with chunked records are left out."""
    for name, wanted in (("c4-conversion", r"golden/c\d"), ("c4-states-and-pages", r"golden/[de]\d")):
        for path in unpacked(archives / f"{name}.tar.xz", folder, wanted):
            told = json.loads(path.read_text(encoding="utf-8"))
            rows, run = told.get("sessionMessages"), told.get("conversion") or told.get("first")
            if rows and isinstance(run, dict) and not any(row.get("record_bytes") for row in rows):
                yield Answer(
                    told["case"],
                    told["header"]["id"],
                    told["header"],
                    rows,
                    told.get("eventsBefore") or [],
                    told["events"],
                    run["error"],
                )


def put(path: Path, cases: list[Answer], *, after: bool) -> Path:
    """A workspace with a session for each case, named as the case is."""
    with closing(sqlite3.connect(path)) as con:
        maka_shapes.create(con, 18)
        con.execute("PRAGMA user_version = 18")
        con.execute("PRAGMA journal_mode = wal")
        for case in cases:
            _session(con, case, after)
        con.commit()
    return path


def _session(con: sqlite3.Connection, case: Answer, after: bool) -> None:
    header = dict(case.header) | {"id": case.case}
    header.pop("transcriptLedgerVersion", None)
    if after and case.error is None:
        header["transcriptLedgerVersion"] = 1
    _put(
        con,
        "session_metadata",
        session_id=case.case,
        payload_json=json.dumps(header),
        created_at=header["createdAt"],
        is_archived=0,
        has_unread=0,
        committed_at=header["createdAt"],
    )
    for row in case.rows:
        columns = {key: row[key] for key in ("sequence", "message_id", "message_type", "message_ts", "record_json")}
        _put(con, "session_messages", session_id=case.case, **columns)
    turns = {json.loads(e["payload_json"])["turnId"] for e in case.after}
    runs = {transcript_run(case.session, turn): transcript_run(case.case, turn) for turn in turns}
    for event in case.after if after else case.before:
        told = {key: _renamed(event[key], runs) for key in ("event_id", "event_kind", "payload_json")}
        payload = json.loads(told["payload_json"]) | {"sessionId": case.case}
        # Ids of native events are unique in their case only.
        if not told["event_id"].startswith("transcript-"):
            told["event_id"] = payload["id"] = f"{case.case}/{told['event_id']}"
            payload["invocationId"] = f"{case.case}/{payload['invocationId']}"
        told["payload_json"] = js.stringify(payload, ordered=True)
        _put(
            con,
            "runtime_events",
            **told,
            session_id=case.case,
            invocation_id=payload["invocationId"],
            run_id=payload["runId"],
            turn_id=payload["turnId"],
            event_seq=event["event_seq"],
            committed_at=event["committed_at"],
        )
        place = {"session_id": case.case, "ordinal": event["ordinal"], "event_id": told["event_id"]}
        if event["ordinal"] is not None:
            _put(con, "runtime_session_event_ordinals", **place)


def _renamed(text: str, runs: Mapping[str, str]) -> str:
    for old, new in runs.items():
        text = text.replace(old, new)
    return text


def _put(con: sqlite3.Connection, table: str, **values: Any) -> None:
    marks = ", ".join("?" * len(values))
    con.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", [*values.values()])
