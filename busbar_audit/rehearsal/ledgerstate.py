"""One session of a workspace in memory, and what its ledger is at a moment."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busbar_audit.conversion.migration import migrate
from busbar_audit.conversion.recovery import RECOVERED
from busbar_audit.conversion.schema import COPIED, HEADERS, in_memory
from busbar_audit.errors import UsageError
from busbar_audit.transcript import js

# What older workspaces do not have, and the upgrade makes: openings of run headers, places of events by their rowid.
_LATER = {
    "runtime_legacy_invocation_openings",
    "runtime_session_event_ordinals",
    "session_message_chunks",
    "session_message_payloads",
}


@dataclass
class LedgerState:
    """A ledger at rest: events with their places, the header's version, and the old rows' digest."""

    events: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    version: Any = None
    rows: str = ""

    def converted(self) -> dict[str, tuple[Any, ...]]:
        """Events without those of the recovery."""
        return {name: event for name, event in self.events.items() if converted(name)}

    def same(self, other: LedgerState) -> bool:
        """Whether two are the same; endings by the recovery are apart from that, and they move what comes after them."""
        if self.version != other.version:
            return False
        if self.events == other.events:
            return True
        ours = self.converted()
        return len(ours) < len(self.events) and _in_order(ours) == _in_order(other.events)


def converted(name: str) -> bool:
    """Whether an event is not one of the recovery, by its id."""
    return not name.endswith(RECOVERED)


def _in_order(events: Mapping[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Events in the order of their places, without the numbers of these."""
    return [(name, *event[:-1]) for name, event in sorted(events.items(), key=lambda each: each[1][-1] or 0)]


def sessions(path: Path) -> list[str]:
    """Sessions of a store that have legacy rows and are not said to be converted, by id.

    Raises
    ------
    UsageError : the store has no such tables.
    """
    with closing(_opened(path)) as con:
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        needed = {*COPIED} - _LATER
        if "runtime_legacy_invocation_openings" not in tables:
            # Without them nothing tells which turns a native run owns.
            needed.add("core_agent_runs")
        if lacking := sorted(needed - tables):
            raise UsageError(
                f"The workspace has no table {', '.join(lacking)}.",
                "Runtime schema 8 or later, with session_messages.",
                "Older workspaces are migrated by the product first.",
            )
        rows = con.execute(
            "SELECT m.session_id, m.payload_json FROM session_metadata AS m "
            "WHERE EXISTS (SELECT 1 FROM session_messages AS r WHERE r.session_id = m.session_id) ORDER BY m.session_id"
        )
        return [session for session, text in rows if _version(text) != 1]


def _version(text: str) -> Any:
    try:
        header = js.parse(text)
    except js.NotJson:
        return None
    return header.get("transcriptLedgerVersion") if isinstance(header, dict) else None


def ledger_state(con: sqlite3.Connection, session: str) -> LedgerState:
    """A session's ledger as it is now, with the digest of its old rows."""
    rows = con.execute(
        "SELECT e.event_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq, e.event_kind, e.payload_json, e.committed_at, "
        "o.ordinal FROM runtime_events AS e LEFT JOIN runtime_session_event_ordinals AS o ON o.event_id = e.event_id "
        "WHERE e.session_id = ?",
        (session,),
    )
    found = LedgerState({row[0]: row[1:] for row in rows})
    header = con.execute("SELECT payload_json FROM session_metadata WHERE session_id = ?", (session,)).fetchone()
    found.version = _version(header[0]) if header else None
    digest = hashlib.sha256()
    for table in ("session_messages", "session_message_payloads", "session_message_chunks"):
        for row in con.execute(f"SELECT * FROM {table} WHERE session_id = ? ORDER BY 2, 3", (session,)):  # noqa: S608 - our names
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    found.rows = digest.hexdigest()
    return found


def stored_events(con: sqlite3.Connection, session: str, after: int = 0) -> dict[str, tuple[Any, ...]]:
    """A session's events by id, without their places in the session; in a store of this session alone, those after so many."""
    rows = con.execute(
        "SELECT event_id, invocation_id, run_id, turn_id, event_seq, event_kind, payload_json, committed_at "
        "FROM runtime_events WHERE +session_id = ? AND rowid > ?",
        (session, after),
    )
    return {row[0]: row[1:] for row in rows}


def content(event: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """An event without its place in the session, which the resequence may change."""
    return None if event is None else event[:-1]


def _opened(path: Path) -> sqlite3.Connection:
    con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    con.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return con


def extracted(path: Path, session: str) -> sqlite3.Connection:
    """One session of a store, in memory, as the upgrade has it when it begins to convert."""
    store = in_memory()
    with closing(_opened(path)) as con:
        tables = {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        runs = {name for _, name, *_ in con.execute("PRAGMA table_info(core_agent_runs)")}
        kept = {table: columns for table, columns in COPIED.items() if table in tables}
        if "record_json" in runs:
            store.execute(HEADERS)
            kept["core_agent_runs"] = ("session_id", "run_id", "created_at", "record_json")
        for table, columns in kept.items():
            # The names are our own.
            marks = ", ".join("?" * len(columns))
            rows = con.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE session_id = ?", (session,))  # noqa: S608
            store.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608 - our names
        if "runtime_session_event_ordinals" not in tables:
            order = con.execute("SELECT event_id FROM runtime_events WHERE session_id = ? ORDER BY rowid", (session,))
            places = ((session, place, event) for place, (event,) in enumerate(order, 1))
            store.executemany("INSERT INTO runtime_session_event_ordinals VALUES (?, ?, ?)", places)
    migrate(store, session)
    return store


def clone_of(store: sqlite3.Connection) -> sqlite3.Connection:
    """A copy of a store in memory."""
    other = sqlite3.connect(":memory:", isolation_level=None)
    store.backup(other)
    return other
