"""What checks ask of each event, opening and row, decoded once: names, kinds, ids, lengths and digests, never content.

Each function reads tables of schema ``raw`` and gives the columns and rows of a table of schema ``source``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import Problem, check
from busbar_audit.transcript.event_shape import NOTES, OPENING, TERMINAL, event_problems
from busbar_audit.transcript.ledger import header_opening, opening_of
from busbar_audit.transcript.meaning import event_meaning, row_meanings
from busbar_audit.transcript.projection import CAPPED, failure_class, normalised, thinking_key
from busbar_audit.transcript.row_shape import OLD_PLANS, RESULTS, RETIRED, TYPES, row_problems

Columns = Sequence[tuple[str, str]]
Table = tuple[Columns, Iterable[Sequence[Any]]]
MARK = "session-message-chunks-v1"
CHUNK = 65_536
MISSING_END = "missing_terminal_event"
_BATCH = 4096
_KINDS = frozenset(
    ("text", "thinking", "function_call", "function_response", "error", "system_note", "invocation_opened", "injection")
)

EVENTS: Columns = (
    ("row", "BIGINT"),
    ("valid", "BOOLEAN"),
    ("problems", "BIGINT"),
    ("problem", "VARCHAR"),
    ("other_ids", "VARCHAR"),
    ("partial", "VARCHAR"),
    ("role", "VARCHAR"),
    ("content_kind", "VARCHAR"),
    ("status", "VARCHAR"),
    ("ends", "BOOLEAN"),
    ("label", "VARCHAR"),
    ("steering", "BOOLEAN"),
    ("handoff", "BOOLEAN"),
    ("compacted", "BOOLEAN"),
    ("stored_id", "VARCHAR"),
    ("provider_event_id", "VARCHAR"),
    ("message_key", "VARCHAR"),
    ("tool_use_id", "VARCHAR"),
    ("tool_name", "VARCHAR"),
    ("known_result", "BOOLEAN"),
    ("answered_request", "VARCHAR"),
    ("decided_request", "VARCHAR"),
    ("usage", "BOOLEAN"),
    ("receipt", "BOOLEAN"),
    ("capped", "BOOLEAN"),
    ("canonical", "BOOLEAN"),
    ("bytes", "BIGINT"),
    ("opened_at", "DOUBLE"),
    ("opening_problem", "VARCHAR"),
    ("source_kind", "VARCHAR"),
    ("parent_run", "BOOLEAN"),
    ("agent", "BOOLEAN"),
    ("prompt_digest", "VARCHAR"),
    ("meant", "VARCHAR"),
    ("meaning", "VARCHAR"),
    ("generated_at", "DOUBLE"),
    ("recovered", "BOOLEAN"),
    ("missing_end", "BOOLEAN"),
)
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
ROWS: Columns = (
    ("session_id", "VARCHAR"),
    ("sequence", "BIGINT"),
    ("chunked", "BOOLEAN"),
    ("bytes", "BIGINT"),
    ("chunk_fault", "VARCHAR"),
    ("valid", "BOOLEAN"),
    ("problems", "BIGINT"),
    ("problem", "VARCHAR"),
    ("misfiled", "VARCHAR"),
    ("type", "VARCHAR"),
    ("turn_id", "VARCHAR"),
    ("steering_event", "VARCHAR"),
    ("note_kind", "VARCHAR"),
    ("status", "VARCHAR"),
    ("units", "BIGINT"),
    ("blank", "BOOLEAN"),
    ("tool_use_id", "VARCHAR"),
    ("meant", "VARCHAR[]"),
    ("meanings", "VARCHAR[]"),
    ("digest", "VARCHAR"),
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


def event_facts(con: Any) -> Table:
    """One row per event, by row number."""
    read = "SELECT _row, event_id, session_id, invocation_id, run_id, turn_id, payload_json FROM raw.runtime_events"
    return EVENTS, (_event(*row) for row in _each(con, read))


def opening_facts(con: Any) -> Table:
    """One row per opening on the legacy shelf."""
    read = "SELECT invocation_id, opening_json FROM raw.runtime_legacy_invocation_openings"
    return OPENINGS, ((invocation, *_opening(_parsed(text))) for invocation, text in _each(con, read))


def header_facts(con: Any) -> Table:
    """One row per run header, in stores in which an opening is no event yet."""
    read = "SELECT session_id, run_id, record_json FROM raw.core_agent_runs"
    return HEADERS, (_header(*row) for row in _each(con, read))


def row_facts(con: Any) -> Table:
    """One row per legacy row, chunked records joined and their digests checked."""
    tables = {
        name for (name,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'").fetchall()
    }
    chunks = {"session_message_payloads", "session_message_chunks"} <= tables
    read = "SELECT session_id, sequence, message_id, message_type, message_ts, record_json FROM raw.session_messages"
    return ROWS, (_row(con if chunks else None, *row) for row in _each(con, read))


def admission_facts(con: Any) -> Table:
    """One row per admission of a root turn."""
    read = "SELECT session_id, turn_id, record_json FROM raw.core_root_turn_admissions"
    return ADMISSIONS, (_admission(*row) for row in _each(con, read))


def _each(con: Any, query: str) -> Iterator[tuple[Any, ...]]:
    # Beside the rows being read, chunks are looked up: that takes a connection of its own.
    reading = con.cursor()
    reading.execute("USE warehouse")
    done = reading.execute(query)
    while rows := done.fetchmany(_BATCH):
        yield from rows


def _parsed(text: Any) -> Any:
    try:
        return js.parse(text or "")
    except js.NotJson:
        return None


def _event(
    row: int, event_id: str, session: str, invocation: str, run: str, turn: str, payload: str | None
) -> tuple[Any, ...]:
    event = _parsed(payload)
    size = len((payload or "").encode("utf-8", "surrogatepass"))
    if not isinstance(event, dict):
        nothing = dict.fromkeys((name for name, _ in EVENTS[4:]), None) | {"bytes": size}
        return (row, False, 1, "not a JSON object", *nothing.values())
    problems = event_problems(event)
    content, actions, refs = (_object(event, key) for key in ("content", "actions", "refs"))
    delta = _object(actions, "stateDelta")
    ids = {"id": event_id, "sessionId": session, "invocationId": invocation, "runId": run, "turnId": turn}
    kind = content.get("kind")
    result = content.get("result")
    opened = kind == "invocation_opened"
    return (
        row,
        True,
        len(problems),
        _first(problems),
        ", ".join(key for key, value in ids.items() if event.get(key) != value) or None,
        json.dumps(event["partial"]) if isinstance(event.get("partial"), bool) else "other",
        _word(event.get("role"), ("user", "model", "tool", "system")),
        _word(kind, _KINDS),
        _word(event.get("status"), ("streaming", *TERMINAL)),
        actions.get("endInvocation") is True,
        _label(event, content, actions),
        content.get("steering") is True,
        "handoffPause" in actions,
        _object(delta, "contextCompactionOutcome").get("kind") == "compacted",
        _text(refs.get("storedMessageId")),
        _text(refs.get("providerEventId")),
        _text(thinking_key({"id": event_id, "refs": refs})) if kind in ("text", "thinking") else None,
        _text(content.get("id")) if kind in ("function_call", "function_response") else None,
        _text(content.get("name")) if kind in ("function_call", "function_response") else None,
        (isinstance(result, dict) and _in(result.get("kind"), (*RESULTS, *OLD_PLANS)))
        if kind == "function_response"
        else None,
        _text(_object(actions, "permissionAnswerAccepted").get("requestId")),
        _text(_object(actions, "permissionDecision").get("requestId")),
        "tokenUsage" in actions,
        "coordination" in actions,
        failure_class({"actions": {"stateDelta": delta}, "content": content}) == CAPPED,
        js.is_canonical(payload or "", event),
        size,
        _finite(event.get("ts")) if opened else None,
        *(_opening(content) if opened else (None, None, None, None)),
        prompt_digest(content) if kind == "text" and event.get("role") == "user" else None,
        *((None, None) if problems else event_meaning(event)),
        _finite(_object(delta, "makaRuntimeRecovery").get("generatedAt")),
        delta.get("recovered") is True,
        delta.get("failureClass") == MISSING_END,
    )


def _opening(content: Any) -> tuple[str | None, str, bool, bool]:
    told = opening_of(content)
    return (
        _first(check(OPENING, content)),
        told["source"],
        "parentRunId" in told["lineage"],
        "agentId" in told["lineage"],
    )


def _header(session: str, run: str, text: str | None) -> tuple[Any, ...]:
    header = _parsed(text)
    if not isinstance(header, dict):
        return (session, run, run, None, None, None, "not a JSON object", None, None, None)
    told = header_opening(session, header)
    problem = None if told.run_id == run and told.turn_id else "its run or turn is not the column's, or is missing"
    return (
        session,
        run,
        told.invocation_id,
        told.turn_id,
        _finite(told.opened_at),
        _word(header.get("status"), ("created", "running", "waiting", *TERMINAL)),
        problem,
        told.source,
        "parentRunId" in told.lineage,
        "agentId" in told.lineage,
    )


def _row(
    con: Any, session: str, sequence: int, message_id: str, kind: str, ts: int | None, record: str | None
) -> tuple[Any, ...]:
    text, fault = record or "", None
    row = _parsed(text)
    chunked = isinstance(row, dict) and row == {"$maka": MARK}
    if con is not None:
        joined, fault = _joined(con, session, sequence, chunked)
        if joined is not None:
            text, row = joined, _parsed(joined)
    elif chunked:
        fault = "the record is in chunks, and there is no table of them"
    size = len(text.encode("utf-8", "surrogatepass"))
    if fault is None and not chunked and size > CHUNK:
        fault = f"{size} bytes in the row itself, above {CHUNK} they are in chunks"
    if (fault is not None and chunked) or not isinstance(row, dict):
        units = size if chunked else js.length(text)
        return (
            session,
            sequence,
            chunked,
            size,
            fault,
            False,
            1,
            "not a JSON object",
            *[None] * 6,
            units,
            *[None] * 4,
            _sha(text),
        )
    problems = row_problems(row)
    wrong = [name for name, key, value in (("id", "id", message_id), ("type", "type", kind)) if row.get(key) != value]
    # A time that is no whole number is not carried over (ts is None then), and so not compared.
    if _finite(row.get("ts")) is None or (ts is not None and int(row["ts"]) != ts):
        wrong.append("ts")
    return (
        session,
        sequence,
        chunked,
        size,
        fault,
        True,
        len(problems),
        _first(problems),
        ", ".join(wrong) or None,
        _word(row.get("type"), TYPES),
        _text(row.get("turnId")) or None,  # an empty one is none to the product as well
        _text(row.get("steeringEventId")),
        _word(row.get("kind"), (*NOTES, *RETIRED)) if row.get("type") == "system_note" else None,
        _word(row.get("status"), ("running", "completed", "aborted", "failed"))
        if row.get("type") == "turn_state"
        else None,
        # What a page of the converter counts: units of UTF-16 where the record is in the row, else bytes.
        size if chunked else js.length(text),
        row.get("text") == "",
        _text(row.get("id" if row.get("type") == "tool_call" else "toolUseId")),
        *_meanings({} if problems else row),
        _sha(text),
    )


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _meanings(row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    told = row_meanings(row)
    return [meant for meant, _ in told], [meaning for _, meaning in told]


def _joined(con: Any, session: str, sequence: int, chunked: bool) -> tuple[str | None, str | None]:
    """The text of a record that is in chunks, or what is wrong with it."""
    place = [session, sequence]
    if not chunked:
        return None, None
    told = con.execute(
        "SELECT record_bytes, sha256 FROM raw.session_message_payloads WHERE session_id = ? AND sequence = ?", place
    ).fetchone()
    if told is None:
        return None, "the record is in chunks, and nothing says how long it is"
    parts = con.execute(
        """SELECT chunk_index, data, sha256 FROM raw.session_message_chunks
        WHERE session_id = ? AND sequence = ? ORDER BY chunk_index""",
        place,
    ).fetchall()
    size, digest = told
    due = -(-size // CHUNK)
    if [index for index, *_ in parts] != list(range(due)):
        return None, f"{len(parts)} chunks, {due} are due for {size} bytes"
    bad = [index for index, data, own in parts if hashlib.sha256(data or b"").hexdigest() != own]
    if bad:
        return None, f"chunk {bad[0]} is not what its digest says"
    whole = b"".join(data for _, data, _ in parts)
    if len(whole) != size:
        return None, f"{len(whole)} bytes in chunks, {size} are due"
    if hashlib.sha256(whole).hexdigest() != digest:
        return None, "the joined record is not what its digest says"
    try:
        return whole.decode(), None
    except UnicodeDecodeError:
        return None, "the joined record is not UTF-8"


def _admission(session: str, turn: str, text: str | None) -> tuple[Any, ...]:
    record = _parsed(text)
    if not isinstance(record, dict):
        return (session, turn, False, None, None, None, None, None, None)
    told = record.get("normalizedInput")
    sources = record.get("sourceMessages")
    return (
        session,
        turn,
        True,
        _text(record.get("runId")),
        _text(record.get("userMessageId")),
        _text(record.get("previousRootTurnId")),
        told is not None,
        prompt_digest(told) if isinstance(told, dict) else None,
        [_text(one.get("messageId")) for one in sources if isinstance(one, dict)] if isinstance(sources, list) else [],
    )


def prompt_digest(content: Mapping[str, Any]) -> str | None:
    """SHA-256 of a prompt's content in canonical form, kind, origin and marks left out; None for one without a text."""
    if not isinstance(content.get("text"), str):
        return None
    return hashlib.sha256(js.stringify(normalised(content), ordered=True).encode("utf-8", "surrogatepass")).hexdigest()


def _label(event: Mapping[str, Any], content: Mapping[str, Any], actions: Mapping[str, Any]) -> str:
    """The coarse label an event is due, shortened where it is of no known kind."""
    for told in (content.get("kind"), event.get("status")):
        if isinstance(told, str):
            return _text(told[:40]) or ""
    for key, label in (("workspaceFact", "workspace_fact"), ("toolDispatch", "tool_dispatch")):
        if key in actions:
            return label
    return "invocation_end" if actions.get("endInvocation") is True else "runtime_fact"


def _first(problems: Sequence[Problem]) -> str | None:
    return str(problems[0]) if problems else None


def _object(members: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = members.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    """A text that DuckDB can hold: halves of surrogate pairs are written out."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else None
    return value.encode("utf-8", "backslashreplace").decode()


def _finite(value: Any) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 else None
    )


def _in(value: Any, known: Iterable[str]) -> bool:
    return isinstance(value, str) and value in known


def _word(value: Any, known: Iterable[str]) -> str | None:
    """A word if it is a known one; nothing a store says for itself is carried on."""
    if value is None:
        return None
    return value if _in(value, known) else "other"
