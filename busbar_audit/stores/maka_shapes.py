"""The tables of a maka store that are read, generation by generation (runtime schema 4 to 18), in our own spelling.

Only these and their columns are described: a workspace holds many more, of scopes that are no transcript. Upgraded stores
differ from fresh ones in the text of their schema and are sound, so columns are compared by name (maka sheet 1 and 15).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import cache

from busbar_audit.stores.shapes import ColumnShape, Difference, IndexShape, Shape, TableShape

GENERATIONS = range(4, 19)
_EVERY = (4, 18)
_TYPES = {"i": "INTEGER", "b": "BLOB", "t": "TEXT"}

# table: first and last generation, whether it is due in all of them, WITHOUT ROWID, columns as name[:type][!][*]
# (t text, i integer, b blob; ! never NULL; * in the primary key, in this order)
_TABLES: Mapping[str, tuple[tuple[int, int], bool, bool, str]] = {
    "runtime_events": (
        _EVERY,
        True,
        False,
        "event_id!* session_id! invocation_id! run_id! turn_id! event_seq:i! event_kind! payload_json! committed_at:i!",
    ),
    "runtime_partial_snapshots": (
        _EVERY,
        True,
        False,
        "stream_key!* session_id! invocation_id! run_id! turn_id! after_event_id payload_json! text_content! updated_at:i!",
    ),
    "runtime_partial_segments": ((10, 18), True, False, "stream_key!* segment_seq:i!* text_content! updated_at:i!"),
    "runtime_session_event_ordinals": ((11, 18), True, True, "session_id!* ordinal:i!* event_id!"),
    "runtime_legacy_invocation_openings": (
        (16, 18),
        True,
        True,
        "invocation_id!* session_id! run_id! turn_id! opened_at:i! opening_json! anchor_event_id!",
    ),
    "tool_operations": (
        _EVERY,
        True,
        False,
        "operation_id!* invocation_id! run_id! turn_id! provider_tool_call_id! tool_name! current_state! call_event_id!"
        " dispatch_event_id result_event_id",
    ),
    "runtime_continuation_claims": (
        (6, 18),
        True,
        False,
        "claim_id!* source_session_id! source_run_id! target_session_id! target_invocation_id! target_run_id! target_turn_id!"
        " start_event_id start_kind",
    ),
    "session_metadata": (
        (5, 18),
        True,
        False,
        "session_id!* payload_json! created_at:i! last_message_at:i is_archived:i! has_unread:i! committed_at:i!",
    ),
    "session_metadata_schema": ((5, 18), True, False, "scope!* version:i!"),
    "session_metadata_tombstones": ((11, 18), True, False, "session_id!* deleted_at:i! cleanup_pending:i!"),
    "operational_schema_migrations": ((11, 18), True, False, "scope!* version:i! applied_at:i!"),
    "session_messages": (
        (8, 18),
        True,
        False,
        "session_id!* sequence:i!* message_id! message_type! message_ts:i! record_json!",
    ),
    "session_message_payloads": ((12, 18), True, True, "session_id!* sequence:i!* record_bytes:i! sha256!"),
    "session_message_chunks": ((12, 18), True, True, "session_id!* sequence:i!* chunk_index:i!* data:b! sha256!"),
    "session_catalog_projection": (
        (11, 18),
        True,
        False,
        "session_id!* activity_at:i! last_message_at:i last_message_preview is_archived:i!",
    ),
    "core_agent_runs": ((11, 15), True, False, "session_id!* run_id!* created_at:i! record_json!"),
    "core_root_turn_admissions": ((11, 18), True, False, "session_id!* turn_id!* admitted_at:i! record_json!"),
    "core_root_turn_start_rejections": ((12, 18), True, False, "session_id!* turn_id!* rejected_at:i!"),
    "core_root_source_message_proofs": ((11, 18), True, False, "session_id!* message_id!* turn_id!"),
    "core_interaction_requests": (
        (5, 18),
        False,
        False,
        "request_id!* session_id! turn_id! run_id! request_kind! created_at:i! record_json!",
    ),
    "core_interaction_outcomes": ((11, 18), True, False, "request_id!* record_json!"),
    "message_admissions": ((5, 18), False, False, "sequence:i!* session_id! turn_id! message_id!"),
    "cancelled_message_admissions": ((5, 18), False, False, "session_id!* message_id!*"),
}
# In every later generation too; there without what the table above says of the earlier ones.
_AFTER = {"core_agent_runs": ((16, 18), "session_id!* run_id!* created_at:i!")}
_INDEXES = {
    "runtime_events_by_run": (_EVERY, "runtime_events", False, ("session_id", "run_id", "event_seq"), False),
    "runtime_events_one_opening_per_invocation": ((16, 18), "runtime_events", True, ("invocation_id",), True),
}


@cache
def expected(number: int) -> Shape:
    """The tables, columns and indexes that a generation is read by."""
    due: dict[str, TableShape] = {}
    other: dict[str, TableShape] = {}
    for name, (span, always, keyed, text) in _TABLES.items():
        if span[0] <= number <= span[1]:
            (due if always else other)[name] = _table(name, keyed, text)
    for name, (span, text) in _AFTER.items():
        if span[0] <= number <= span[1]:
            other[name] = _table(name, False, text)
    indexes = {
        name: IndexShape(name, table, unique, columns, partial)
        for name, (span, table, unique, columns, partial) in _INDEXES.items()
        if span[0] <= number <= span[1]
    }
    return Shape(due, indexes, {}, other)


def differences(wanted: Shape, found: Shape) -> tuple[Difference, ...]:
    """What a store lacks of its generation: tables, columns by name, and the indexes the product relies on."""
    result = []
    for name, table in {**wanted.optional_tables, **wanted.tables}.items():
        there = found.tables.get(name)
        if there is None:
            if name in wanted.tables:
                result.append(Difference("table-missing", name, name, "the table is not there"))
            continue
        have = {column.name for column in there.columns}
        result += [
            Difference("table-differs", name, column.name, f"column {column.name} is missing")
            for column in table.columns
            if column.name not in have
        ]
    for name, index in wanted.indexes.items():
        if index.table in found.tables and name not in found.indexes:
            result.append(Difference("index-missing", index.table, name, "the index is not there"))
        elif name in found.indexes and found.indexes[name].unique != index.unique:
            result.append(Difference("index-differs", index.table, name, "it is not unique"))
    return tuple(sorted(result, key=lambda d: (d.kind, d.table, d.name)))


def create(con: sqlite3.Connection, number: int) -> None:
    """Make the tables of a generation, for synthetic stores: those that are due and those that may be there."""
    shape = expected(number)
    for name, table in {**shape.optional_tables, **shape.tables}.items():
        columns = [f"{c.name} {c.type}{' NOT NULL' if c.notnull else ''}" for c in table.columns]
        key = ", ".join(c.name for c in sorted(table.columns, key=lambda c: c.pk_position) if c.pk_position)
        tail = " WITHOUT ROWID" if table.without_rowid else ""
        con.execute(f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY ({key})){tail}")
    for name, index in shape.indexes.items():
        where = " WHERE event_kind = 'invocation_opened'" if index.partial else ""
        unique = "UNIQUE " if index.unique else ""
        con.execute(f"CREATE {unique}INDEX {name} ON {index.table} ({', '.join(index.columns)}){where}")


def _table(name: str, keyed: bool, text: str) -> TableShape:
    columns, position = [], 0
    for word in text.split():
        column = word.rstrip("!*")
        column, _, kind = column.partition(":")
        position += word.endswith("*")
        columns.append(
            ColumnShape(column, _TYPES[kind or "t"], "!" in word, None, position if word.endswith("*") else 0)
        )
    return TableShape(name, False, keyed, tuple(columns))
