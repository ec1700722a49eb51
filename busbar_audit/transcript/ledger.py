"""Reading the ledger of one session from a finished copy: events, ordinals, openings of both shelves, partial texts.

Generations (maka sheet sections 1.3 to 1.7): ordinals from runtime schema 11 on, openings as events and on a shelf of
their own from 16 on, before that the headers of runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import Problem
from busbar_audit.transcript.event_shape import event_problems
from busbar_audit.transcript.projection import LINEAGE, Run

AUTHORITY = "maka_workspace_authority"
OPENED = "invocation_opened"


@dataclass(frozen=True)
class Stored:
    """One row of the ledger: its columns, what was read from its payload, and its place in the session.

    bytes : of the payload. event : None where the payload is no JSON object. problems : what keeps it from being decoded.
    """

    event_id: str
    session_id: str
    invocation_id: str
    run_id: str
    turn_id: str
    seq: int
    committed_at: int
    ordinal: int | None
    bytes: int
    event: dict[str, Any] | None
    problems: tuple[Problem, ...]

    @property
    def identical(self) -> bool:
        """Whether the payload names itself as the columns do."""
        event = self.event or {}
        return (
            event.get("id"),
            event.get("sessionId"),
            event.get("invocationId"),
            event.get("runId"),
            event.get("turnId"),
        ) == (self.event_id, self.session_id, self.invocation_id, self.run_id, self.turn_id)


@dataclass(frozen=True)
class Opening:
    """How an invocation began. shelf : event, legacy (moved there by the migration to 16) or header (before it)."""

    invocation_id: str
    session_id: str
    run_id: str
    turn_id: str
    opened_at: float
    shelf: str
    event_id: str | None
    model: str = ""
    source: str = "fresh"
    lineage: Mapping[str, str] = field(default_factory=dict)

    @property
    def inline(self) -> bool:
        """Whether the invocation is part of the session's own transcript, and not of a subagent's."""
        return "parentRunId" not in self.lineage or (self.source != "fresh" and "agentId" not in self.lineage)

    @property
    def run(self) -> Run:
        """What the projection needs of it."""
        return Run(self.model, self.lineage)


def decode(payload: str | bytes | None) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    """Read the payload of an event; what it holds, and what keeps the product from reading it."""
    try:
        text = payload.decode() if isinstance(payload, bytes) else payload
        event = js.parse(text or "")
    except (UnicodeDecodeError, js.NotJson):
        return None, (Problem("", "not JSON"),)
    problems = tuple(event_problems(event))
    return (event if isinstance(event, dict) else None), problems


def opening_of(content: Any) -> dict[str, Any]:
    """Model, source and lineage of an opening, as far as they are texts in their places."""
    route, source, lineage = (_member(content, key) for key in ("route", "source", "lineage"))
    return {
        "model": _text(route.get("modelId")),
        "source": _text(source.get("kind")) or "fresh",
        "lineage": {key: value for key, value in lineage.items() if isinstance(value, str)},
    }


def _member(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


class Ledger:
    """The ledger in a finished copy.

    Parameters
    ----------
    con : read-only, with text as text. version : runtime schema.
    """

    def __init__(self, con: sqlite3.Connection, version: int) -> None:
        self.con, self.version = con, version
        names = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self.tables = frozenset(name.decode() if isinstance(name, bytes) else name for (name,) in names)

    def sessions(self) -> list[str]:
        """Sessions that have events, the workspace's own stream left out."""
        found = self.con.execute("SELECT DISTINCT session_id FROM runtime_events ORDER BY 1").fetchall()
        return [session for (session,) in found if session != AUTHORITY]

    def events(self, session: str) -> Iterator[Stored]:
        """Events of a session in ledger order: by invocation, then by their number in it."""
        ordinal = (
            "(SELECT o.ordinal FROM runtime_session_event_ordinals o WHERE o.event_id = e.event_id)"
            if "runtime_session_event_ordinals" in self.tables
            else "NULL"
        )
        rows = self.con.execute(
            f"""SELECT event_id, session_id, invocation_id, run_id, turn_id, event_seq, committed_at, {ordinal},
                length(CAST(payload_json AS BLOB)), payload_json
            FROM runtime_events e WHERE session_id = ? ORDER BY invocation_id, event_seq""",  # noqa: S608
            (session,),
        )
        for *columns, payload in rows:
            event, problems = decode(payload)
            yield Stored(*columns, event=event, problems=problems)

    def openings(self, session: str, events: list[Stored]) -> list[Opening]:
        """Openings of a session by time and invocation: its events first, then the shelf, or the headers of runs."""
        found = {}
        for stored in events:
            content = (stored.event or {}).get("content")
            if isinstance(content, dict) and content.get("kind") == OPENED and stored.event is not None:
                found[stored.invocation_id] = Opening(
                    stored.invocation_id,
                    session,
                    stored.run_id,
                    stored.turn_id,
                    stored.event.get("ts", stored.committed_at),
                    "event",
                    stored.event_id,
                    **opening_of(content),
                )
        for opening in self._shelf(session):
            found.setdefault(opening.invocation_id, opening)
        for opening in self._headers(session):
            found.setdefault(opening.invocation_id, opening)
        return sorted(found.values(), key=lambda o: (o.opened_at, o.invocation_id))

    def _shelf(self, session: str) -> Iterator[Opening]:
        if "runtime_legacy_invocation_openings" not in self.tables:
            return
        rows = self.con.execute(
            """SELECT invocation_id, session_id, run_id, turn_id, opened_at, anchor_event_id, opening_json
            FROM runtime_legacy_invocation_openings WHERE session_id = ?""",
            (session,),
        )
        for invocation, owner, run, turn, at, anchor, text in rows:
            yield Opening(invocation, owner, run, turn, at, "legacy", anchor, **opening_of(_json(text)))

    def _headers(self, session: str) -> Iterator[Opening]:
        if self.version >= 16 or "core_agent_runs" not in self.tables:
            return
        rows = self.con.execute("SELECT record_json FROM core_agent_runs WHERE session_id = ?", (session,))
        for (text,) in rows:
            header = _json(text)
            if not isinstance(header, dict):
                continue
            invocation, run, turn = (_text(header.get(key)) for key in ("invocationId", "runId", "turnId"))
            keys = (*LINEAGE, "parentRunId", "resumedFromRunId", "retriedFromRunId", "agentId", "agentName")
            lineage = {key: header[key] for key in keys if isinstance(header.get(key), str)}
            source = "continuation" if "resumedFromRunId" in lineage else "fresh"
            at = header.get("createdAt")
            yield Opening(
                invocation or run,
                session,
                run,
                turn,
                at if isinstance(at, int | float) else 0,
                "header",
                None,
                _text(header.get("modelId")),
                source,
                lineage,
            )

    def partials(self, session: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
        """Live texts: run, the event they came after, and the partial event with its text put in."""
        if "runtime_partial_snapshots" not in self.tables:
            return
        segments = "runtime_partial_segments" in self.tables
        rows = self.con.execute(
            """SELECT stream_key, run_id, after_event_id, payload_json, text_content FROM runtime_partial_snapshots
            WHERE session_id = ? ORDER BY updated_at, stream_key""",
            (session,),
        ).fetchall()
        for key, run, after, payload, text in rows:
            event, problems = decode(payload)
            if event is None or problems or not isinstance(event.get("content"), dict):
                continue
            parts = [text]
            if segments:
                more = self.con.execute(
                    "SELECT text_content FROM runtime_partial_segments WHERE stream_key = ? ORDER BY segment_seq",
                    (key,),
                )
                parts += [part for (part,) in more]
            yield run, after, {**event, "content": {**event["content"], "text": "".join(parts)}}

    def outcomes(self, session: str) -> dict[str, Mapping[str, Any]]:
        """Canonical permission outcomes by request id, with the request they answer."""
        if not {"core_interaction_requests", "core_interaction_outcomes"} <= self.tables:
            return {}
        rows = self.con.execute(
            """SELECT q.request_id, q.record_json, o.record_json FROM core_interaction_requests q
            JOIN core_interaction_outcomes o USING (request_id) WHERE q.session_id = ?""",
            (session,),
        )
        found: dict[str, Mapping[str, Any]] = {}
        for request_id, asked_text, told_text in rows:
            asked, told = _json(asked_text), _json(told_text)
            merged = (
                {**told, "request": asked.get("request")} if isinstance(asked, dict) and isinstance(told, dict) else {}
            )
            request, outcome = merged.get("request"), merged.get("outcome")
            prompt = request.get("prompt") if isinstance(request, dict) else None
            if (
                isinstance(request, dict)
                and isinstance(prompt, dict)
                and isinstance(outcome, dict)
                and {"decision", "committedAt"} <= outcome.keys()
                and {"sessionId", "runId", "turnId", "requestId"} <= merged.keys()
                and "toolUseId" in request
                and "toolName" in prompt
            ):
                found[request_id] = merged
        return found


def _json(text: Any) -> Any:
    try:
        return js.parse(text)
    except (js.NotJson, TypeError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
