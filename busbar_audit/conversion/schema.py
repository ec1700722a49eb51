"""The tables a conversion reads and writes, as small as they can be: for one session in memory, without a store."""

from __future__ import annotations

import sqlite3

_TABLES = """
CREATE TABLE session_metadata (session_id TEXT PRIMARY KEY, payload_json TEXT NOT NULL,
  metadata_version INTEGER NOT NULL DEFAULT 1, committed_at INTEGER NOT NULL DEFAULT 0);
CREATE TABLE session_messages (session_id TEXT, sequence INTEGER, message_id TEXT, message_type TEXT,
  message_ts INTEGER, record_json TEXT, PRIMARY KEY (session_id, sequence));
CREATE TABLE session_message_payloads (session_id TEXT, sequence INTEGER, record_bytes INTEGER, sha256 TEXT,
  PRIMARY KEY (session_id, sequence)) WITHOUT ROWID;
CREATE TABLE session_message_chunks (session_id TEXT, sequence INTEGER, chunk_index INTEGER, data BLOB, sha256 TEXT,
  PRIMARY KEY (session_id, sequence, chunk_index)) WITHOUT ROWID;
CREATE TABLE runtime_events (event_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, invocation_id TEXT NOT NULL,
  run_id TEXT NOT NULL, turn_id TEXT NOT NULL, event_seq INTEGER NOT NULL, event_kind TEXT NOT NULL,
  payload_json TEXT NOT NULL, committed_at INTEGER NOT NULL, UNIQUE (invocation_id, event_seq));
CREATE INDEX runtime_events_by_run ON runtime_events(session_id, run_id, event_seq);
CREATE UNIQUE INDEX runtime_events_one_opening_per_invocation ON runtime_events(invocation_id)
  WHERE event_kind = 'invocation_opened';
CREATE TABLE runtime_session_event_ordinals (session_id TEXT, ordinal INTEGER, event_id TEXT NOT NULL UNIQUE,
  PRIMARY KEY (session_id, ordinal)) WITHOUT ROWID;
CREATE TABLE runtime_legacy_invocation_openings (invocation_id TEXT PRIMARY KEY, session_id TEXT, run_id TEXT,
  turn_id TEXT, opened_at INTEGER, opening_json TEXT, anchor_event_id TEXT) WITHOUT ROWID;
"""

# Of the time before openings.
HEADERS = (
    "CREATE TABLE core_agent_runs (session_id TEXT, run_id TEXT PRIMARY KEY, created_at INTEGER, record_json TEXT)"
)

# Tables of a store and the columns that a conversion of one session reads of them.
COPIED = {
    "session_metadata": ("session_id", "payload_json"),
    "session_messages": ("session_id", "sequence", "message_id", "message_type", "message_ts", "record_json"),
    "session_message_payloads": ("session_id", "sequence", "record_bytes", "sha256"),
    "session_message_chunks": ("session_id", "sequence", "chunk_index", "data", "sha256"),
    "runtime_events": (
        "event_id", "session_id", "invocation_id", "run_id", "turn_id", "event_seq", "event_kind", "payload_json",
        "committed_at",
    ),
    "runtime_session_event_ordinals": ("session_id", "ordinal", "event_id"),
    "runtime_legacy_invocation_openings": (
        "invocation_id", "session_id", "run_id", "turn_id", "opened_at", "opening_json", "anchor_event_id",
    ),
}  # fmt: skip


def in_memory() -> sqlite3.Connection:
    """An empty store in memory that can be converted."""
    con = sqlite3.connect(":memory:", isolation_level=None)
    con.executescript(_TABLES)
    return con
