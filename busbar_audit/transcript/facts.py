"""What checks ask of each opening, run header and admission: names, kinds, ids and digests, never content.

Each function reads tables of schema ``raw`` and gives the columns and rows of a table of schema ``source``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import check
from busbar_audit.transcript.event_shape import OPENING, TERMINAL
from busbar_audit.transcript.ledger import header_opening, opening_of, reading
from busbar_audit.transcript.projection import normalised
from busbar_audit.transcript.reader import written
from busbar_audit.transcript.values import Columns, Table, finite, first, parsed, storable, word

_BATCH = 4096

OPENINGS: Columns = (
    ("invocation_id", "VARCHAR"),
    ("opening_problem", "VARCHAR"),
    ("source_kind", "VARCHAR"),
    ("parent_run", "BOOLEAN"),
    ("agent", "BOOLEAN"),
)
HEADERS: Columns = (
    ("session_id", "VARCHAR"),
    ("run_id", "VARCHAR"),
    ("invocation_id", "VARCHAR"),
    ("turn_id", "VARCHAR"),
    ("opened_at", "DOUBLE"),
    ("status", "VARCHAR"),
    ("problem", "VARCHAR"),
    ("source_kind", "VARCHAR"),
    ("parent_run", "BOOLEAN"),
    ("agent", "BOOLEAN"),
)
ADMISSIONS: Columns = (
    ("session_id", "VARCHAR"),
    ("turn_id", "VARCHAR"),
    ("valid", "BOOLEAN"),
    ("run_id", "VARCHAR"),
    ("user_message_id", "VARCHAR"),
    ("previous_turn_id", "VARCHAR"),
    ("has_input", "BOOLEAN"),
    ("prompt_digest", "VARCHAR"),
    ("sources", "VARCHAR[]"),
)


def opening_facts(con: Any) -> Table:
    """One row per opening on the legacy shelf."""
    read = "SELECT invocation_id, opening_json FROM raw.runtime_legacy_invocation_openings"
    return OPENINGS, ((invocation, *opening(parsed(text))) for invocation, text in _each(con, read))


def header_facts(con: Any) -> Table:
    """One row per run header, in stores in which an opening is no event yet."""
    read = "SELECT session_id, run_id, record_json FROM raw.core_agent_runs"
    return HEADERS, (_header(*row) for row in _each(con, read))


def admission_facts(con: Any) -> Table:
    """One row per admission of a root turn."""
    read = "SELECT session_id, turn_id, record_json FROM raw.core_root_turn_admissions"
    return ADMISSIONS, (_admission(*row) for row in _each(con, read))


def _each(con: Any, query: str) -> Iterator[tuple[Any, ...]]:
    done = reading(con)[1].execute(query)
    while rows := done.fetchmany(_BATCH):
        yield from rows


def opening(content: Any, *, known: bool = False) -> tuple[str | None, str, bool, bool]:
    """Problem, source, and whether it has a parent run and an agent, of the content of an opening.

    Parameters
    ----------
    known : its shape is known to be right.
    """
    told = opening_of(content)
    problem = None if known else first(check(OPENING, content))
    return problem, told["source"], "parentRunId" in told["lineage"], "agentId" in told["lineage"]


def _header(session: str, run: str, text: str | None) -> tuple[Any, ...]:
    header = parsed(text)
    if not isinstance(header, dict):
        return (session, run, run, None, None, None, "not a JSON object", None, None, None)
    told = header_opening(session, header)
    problem = None if told.run_id == run and told.turn_id else "its run or turn is not the column's, or is missing"
    return (
        session,
        run,
        told.invocation_id,
        told.turn_id,
        finite(told.opened_at),
        word(header.get("status"), ("created", "running", "waiting", *TERMINAL)),
        problem,
        told.source,
        "parentRunId" in told.lineage,
        "agentId" in told.lineage,
    )


def _admission(session: str, turn: str, text: str | None) -> tuple[Any, ...]:
    record = parsed(text)
    if not isinstance(record, dict):
        return (session, turn, False, None, None, None, None, None, None)
    told = record.get("normalizedInput")
    sources = record.get("sourceMessages")
    return (
        session,
        turn,
        True,
        storable(record.get("runId")),
        storable(record.get("userMessageId")),
        storable(record.get("previousRootTurnId")),
        told is not None,
        prompt_digest(told) if isinstance(told, dict) else None,
        [storable(one.get("messageId")) for one in sources if isinstance(one, dict)]
        if isinstance(sources, list)
        else [],
    )


def prompt_digest(content: Mapping[str, Any]) -> str | None:
    """SHA-256 of a prompt's content in canonical form, kind, origin and marks left out; None for one without a text."""
    if not isinstance(content.get("text"), str):
        return None
    row = normalised(content)
    try:
        data = b'{"text":%b}' % written(row["text"]) if len(row) == 1 else None
    except ValueError:
        data = None
    if data is None:
        data = js.stringify(row, ordered=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()
