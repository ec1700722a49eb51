"""Run headers to openings, as the upgrade to runtime schema 16 does before any session is converted (maka sheet 1.4)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from busbar_audit.conversion.events import envelope
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.conversion.payloads import modes
from busbar_audit.errors import NotAStore
from busbar_audit.text import printable
from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import header_opening

_ENDED = {"completed": "completed", "failed": "failed", "cancelled": "aborted"}


def migrate(con: sqlite3.Connection, session: str) -> int:
    """Give each run of a staged session its opening, and take the headers away.

    A run with events gets it on the shelf beside them, since their sequence can't change any more; one without gets
    events: an opening, and an ending where its header has one. What a header lacks is filled in: a conversion asks only
    whose turn it is.

    Returns
    -------
    the number of runs; 0 for a store that has openings.

    Raises
    ------
    NotAStore : a header cannot be read, which ends the upgrade of the whole workspace.
    """
    if not con.execute("SELECT 1 FROM sqlite_master WHERE name = 'core_agent_runs'").fetchone():
        return 0
    headers = con.execute(
        "SELECT run_id, record_json FROM core_agent_runs WHERE session_id = ? ORDER BY created_at, run_id", [session]
    ).fetchall()
    ledger = Ledger(con)
    for run, text in headers:
        header = _header(text)
        if header is None:
            raise NotAStore(
                f"The header of run {printable(run)} cannot be read.",
                "A JSON object with a turnId.",
                "The upgrade of the whole workspace ends there; mend the header before it.",
            )
        told = header_opening(session, header)
        opening = _opening(header, told.lineage, told.source)
        first = con.execute(
            "SELECT invocation_id, turn_id, event_id FROM runtime_events WHERE session_id = ? AND run_id = ?"
            " ORDER BY event_seq LIMIT 1",
            [session, run],
        ).fetchone()
        if first is None:
            _write(ledger, session, run, header, opening, told.opened_at)
            continue
        con.execute(
            "INSERT OR IGNORE INTO runtime_legacy_invocation_openings VALUES (?, ?, ?, ?, ?, ?, ?)",
            [first[0], session, run, first[1], told.opened_at, js.stringify(opening), first[2]],
        )
    con.execute("DROP TABLE core_agent_runs")
    return len(headers)


def _header(text: object) -> dict[str, Any] | None:
    try:
        header = js.parse(text) if isinstance(text, str) else None
    except js.NotJson:
        return None
    return header if isinstance(header, dict) and isinstance(header.get("turnId"), str) and header["turnId"] else None


def _write(
    ledger: Ledger, session: str, run: str, header: Mapping[str, Any], opening: Mapping[str, Any], at: float
) -> None:
    place = (session, header.get("invocationId") or run, run, header["turnId"])
    common = {"role": "system", "author": "system"}
    body = {**common, "modelVisibility": "hidden", "ts": at, "content": opening}
    ledger.append(envelope(f"invocation_opened:{run}", *place, body))
    status = _ENDED.get(header.get("status", ""))
    if status is not None:
        ended = {**common, "status": status, "ts": header.get("completedAt") or at, "actions": {"endInvocation": True}}
        ledger.append(envelope(f"invocation_terminal:{run}", *place, ended))


def _opening(header: Mapping[str, Any], lineage: Mapping[str, str], source: str) -> dict[str, Any]:
    opening: dict[str, Any] = {
        "kind": "invocation_opened",
        "protocol": "invocation_opened_v1",
        "route": {
            "provenance": "unknown",
            "backendKind": header.get("backendKind") or "ai-sdk",
            "llmConnectionSlug": header.get("llmConnectionSlug") or "",
            "modelId": header.get("modelId") or "",
        },
        "configuration": {
            "cwd": header.get("cwd") or "",
            "permissionMode": header.get("permissionMode") or "ask",
            **modes(header),
        },
        "root": {"kind": "user"},
        "source": {"kind": "fresh"},
    }
    if source != "fresh":
        places = ("sourceInvocationId", "sourceRunId", "sourceTurnId")
        parent = lineage.get("resumedFromRunId", "")
        opening["source"] = {"kind": source, **dict.fromkeys(places, parent), "sourceRuntimeEventHighWater": 0}
    if lineage:
        opening["lineage"] = dict(lineage)
    return opening
