"""What checks ask of each legacy row: its type, length, ids and shape, never content; chunked records are joined."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.chunks import CHUNK, MARK, Chunks
from busbar_audit.transcript.event_shape import NOTES
from busbar_audit.transcript.ledger import reading
from busbar_audit.transcript.meaning import row_meanings
from busbar_audit.transcript.reader import Reader
from busbar_audit.transcript.row_shape import RETIRED, TYPES, row_problems
from busbar_audit.transcript.values import Columns, Table, finite, first, storable, word

COLUMNS: Columns = (
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
_READ = "SELECT session_id, sequence, message_id, message_type, message_ts, record_json FROM raw.session_messages"
_BATCH = 4096
_TYPES = frozenset(TYPES)
_NOTES = frozenset((*NOTES, *RETIRED))
_STATES = frozenset(("running", "completed", "aborted", "failed"))
_NO_TABLE = "the record is in chunks, and there is no table of them"


def row_facts(con: Any) -> Table:
    """One row per legacy row, chunked records joined and their digests checked."""
    tables, rows = reading(con)
    beside = Chunks(reading(con)[1]) if {"session_message_payloads", "session_message_chunks"} <= tables else None
    return COLUMNS, _all(rows, beside)


def _all(con: Any, chunks: Chunks | None) -> Iterator[tuple[Any, ...]]:
    reader = Reader()
    done = con.execute(_READ)
    while rows := done.fetchmany(_BATCH):
        parted = {}
        for row in rows:
            session, sequence, *_, text = row
            record = _value(reader, text)
            if isinstance(record, dict) and record == {"$maka": MARK}:
                parted[session, sequence] = row
            else:
                yield _fact(row, text or "", record, None, chunked=False)
        if chunks is None:
            for row in parted.values():
                yield _fact(row, row[-1], None, _NO_TABLE, chunked=True)
        elif parted:
            for key, text, fault in chunks.joined(list(parted)):
                row = parted[key]
                record = None if text is None else _value(reader, text)
                yield _fact(row, row[-1] if text is None else text, record, fault, chunked=True)


def _value(reader: Reader, text: str | None) -> Any:
    try:
        return reader.value(text or "")
    except ValueError:
        return None


def _fact(row: tuple[Any, ...], text: str, record: Any, fault: str | None, *, chunked: bool) -> tuple[Any, ...]:
    session, sequence, message_id, kind, ts, _ = row
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    # What a page of the converter counts: units of UTF-16 where the record is in the row, else bytes.
    units = size if chunked else js.length(text)
    if fault is None and not chunked and size > CHUNK:
        fault = f"{size} bytes in the row itself, above {CHUNK} they are in chunks"
    if (fault is not None and chunked) or not isinstance(record, dict):
        unknown = (False, 1, "not a JSON object", *[None] * 6)
        return (session, sequence, chunked, size, fault, *unknown, units, *[None] * 4, _sha(text))
    problems = row_problems(record)
    told, at = record.get("type"), record.get("ts")
    wrong = [name for name, value, due in (("id", record.get("id"), message_id), ("type", told, kind)) if value != due]
    # A time that is no whole number is not carried over (ts is None then), and so not compared.
    if finite(at) is None or (ts is not None and int(at) != ts):  # type: ignore[arg-type]
        wrong.append("ts")
    return (
        session,
        sequence,
        chunked,
        size,
        fault,
        True,
        len(problems),
        first(problems),
        ", ".join(wrong) or None,
        word(told, _TYPES),
        storable(record.get("turnId")) or None,  # an empty one is none to the product as well
        storable(record.get("steeringEventId")),
        word(record.get("kind"), _NOTES) if told == "system_note" else None,
        word(record.get("status"), _STATES) if told == "turn_state" else None,
        units,
        record.get("text") == "",
        storable(record.get("id" if told == "tool_call" else "toolUseId")),
        *_meanings({} if problems else record),
        _sha(text),
    )


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _meanings(row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    told = row_meanings(row)
    return [meant for meant, _ in told], [meaning for _, meaning in told]
