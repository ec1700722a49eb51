"""Helpers of the conversion tests: sessions in memory, the answers of the real converter, and what a ledger holds."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from support_maka import shortened

from busbar_audit.conversion.engine import Conversion
from busbar_audit.conversion.schema import in_memory
from busbar_audit.transcript import js

Row = Mapping[str, Any]
EVENT = ("event_id", "session_id", "invocation_id", "run_id", "turn_id", "event_seq", "event_kind", "payload_json")
_KEPT = ("session_messages", "session_message_payloads", "session_message_chunks")


class Killed(Exception):
    """The conversion was stopped from outside."""


def stop(at: int | str) -> Callable[[str, int], None]:
    """What stops a conversion after so many appends, before the resequence or before the version."""
    before = {"before_resequence": "resequence", "before_header_patch": "patch"}

    def watch(what: str, done: int) -> None:
        if what == before.get(str(at)) or (what == "append" and done == at):
            raise Killed

    return watch


def loaded(
    header: Row,
    rows: Iterable[Row] = (),
    events: Iterable[Row] = (),
    openings: Iterable[Row] = (),
    *,
    file: Path | None = None,
) -> sqlite3.Connection:
    """A session in memory.

    Parameters
    ----------
    rows : as they are told. file : where they are read instead, if some are only told by their digest.
    """
    con = in_memory()
    session, rows = header["id"], list(rows)
    con.execute("BEGIN")
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    con.execute("INSERT INTO session_metadata (session_id, payload_json) VALUES (?, ?)", [session, text])
    if file is not None and any(row.get("record_bytes") or not isinstance(row["record_json"], str) for row in rows):
        _copy(con, session, file)
    else:
        add_rows(con, session, rows)
    for event in events:
        values = [*(event[key] for key in EVENT), event["committed_at"]]
        con.execute(f"INSERT INTO runtime_events VALUES ({','.join('?' * 9)})", values)
        if event["ordinal"] is not None:
            place = [event["session_id"], event["ordinal"], event["event_id"]]
            con.execute("INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)", place)
    for told in openings:
        keys = ("invocation_id", "session_id", "run_id", "turn_id", "opened_at", "opening_json", "anchor_event_id")
        con.execute(
            f"INSERT INTO runtime_legacy_invocation_openings VALUES ({','.join('?' * 7)})", [told[k] for k in keys]
        )
    con.execute("COMMIT")
    return con


def add_rows(con: sqlite3.Connection, session: str, rows: Iterable[Row]) -> None:
    """Legacy rows, in the form of the answers or as plain records (their sequence is their place then)."""
    (first,) = con.execute("SELECT 1 + coalesce(max(sequence), -1) FROM session_messages").fetchone()
    for at, row in enumerate(rows, start=first):
        if "record_json" not in row:
            text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            row = {"sequence": at, "message_id": row["id"], "message_type": row["type"], "message_ts": row["ts"]}
            row = {**row, "record_json": text}
        keys = ("sequence", "message_id", "message_type", "message_ts", "record_json")
        con.execute("INSERT INTO session_messages VALUES (?, ?, ?, ?, ?, ?)", [session, *(row[k] for k in keys)])


def _copy(con: sqlite3.Connection, session: str, file: Path) -> None:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as source:
        for table in _KEPT:
            for row in source.execute(f"SELECT * FROM {table} WHERE session_id = ?", [session]):
                con.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)


def held(con: sqlite3.Connection, session: str) -> list[tuple[Any, ...]]:
    """All events of a session, in the order of its ordinals."""
    found = con.execute(
        f"""SELECT {", ".join("e." + key for key in EVENT)}, e.committed_at, o.ordinal FROM runtime_events e
        LEFT JOIN runtime_session_event_ordinals o USING (event_id) WHERE e.session_id = ?
        ORDER BY o.ordinal IS NULL, o.ordinal, e.invocation_id, e.event_seq""",
        [session],
    )
    return [tuple(shortened(value) for value in row) for row in found]


def told(events: Iterable[Row]) -> list[tuple[Any, ...]]:
    """The same of an answer."""
    found = [(*(_said(event[key]) for key in EVENT), event["committed_at"], event["ordinal"]) for event in events]
    return sorted(found, key=lambda row: (row[-1] is None, row[-1] or 0, row[2], row[5]))


class _Short(dict[str, Any]):
    """A payload that an answer tells by its length and the first digits of its digest."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            text = str(other)
            other = {"$sha256": hashlib.sha256(text.encode()).hexdigest(), "$length": js.length(text)}
        return other["$sha256"].startswith(self["sha256"]) and other["$length"] == self["length"]

    __hash__ = None  # type: ignore[assignment]


def _said(value: Any) -> Any:
    return _Short(value) if isinstance(value, dict) and "sha256" in value else value


def rows_digest(con: sqlite3.Connection) -> str:
    """A digest over all legacy rows, chunks included."""
    digest = hashlib.sha256()
    for table in _KEPT:
        for row in con.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3"):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def error(done: Conversion) -> dict[str, Any] | None:
    """The error of an attempt as the answers tell it."""
    stopped = done.error
    if stopped is None:
        return None
    found: dict[str, Any] = {"name": stopped.name, "message": stopped.message}
    if stopped.code:
        found["code"] = stopped.code
    return found


def same_error(done: Conversion, expected: Row | None) -> bool:
    """Whether an attempt ended as the answer says; an error's sequence is told by some answers only."""
    found = error(done)
    if found is None or expected is None:
        return found is None and expected is None
    return all(found.get(key) == expected[key] for key in expected.keys() & {"name", "message", "code"})


def pages(done: Conversion) -> list[dict[str, Any]]:
    """The pages of an attempt as the answers tell them."""
    names = ("afterSequence", "records", "lastSequence", "highWaterSequence")
    return [dict(zip(names, page, strict=True)) for page in done.pages]


def texts(values: Sequence[Any]) -> list[str]:
    """Values as texts, for messages of a failed comparison."""
    return [str(value)[:200] for value in values]
