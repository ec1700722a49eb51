"""The maka family: a workspace's runtime.sqlite; how it is recognised, its generations, what is made from its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from busbar_audit.stores import maka_shapes
from busbar_audit.stores.family import Ask, Derived, Facts, Family, Generation, Tables
from busbar_audit.stores.shapes import Shape

NAME = "maka"
ENGINE = "sqlite"
OLDEST, NEWEST = 4, 18
KNOWN = "runtime schema 4 to 18"

# Checks of the fact sheet that this version does not have: delegated messages (R11).
NOT_YET = ("R11",)

# The ledger's own columns, and beside them one more table of the runtime scope: others have tables of events, too.
_LEDGER = {"event_id", "session_id", "invocation_id", "run_id", "turn_id", "event_seq", "payload_json", "committed_at"}
_BESIDE = {
    "tool_operations": {"operation_id", "provider_tool_call_id", "call_event_id"},
    "runtime_partial_snapshots": {"stream_key", "after_event_id", "text_content"},
    "runtime_session_event_ordinals": {"session_id", "ordinal", "event_id"},
}
_IMPLIED = (
    ("runtime_legacy_invocation_openings", 16),
    ("runtime_session_event_ordinals", 11),
    ("runtime_partial_segments", 10),
    ("session_messages", 8),
    ("runtime_continuation_claims", 6),
)
# The newest version of each scope that is known here, and where it is stored.
_SCOPES = {"session_metadata": 39, "core_execution": 9, "operational": 2}
_REGISTRIES = ("session_metadata_schema", "operational_schema_migrations")


def recognise(tables: Tables) -> bool:
    """Whether tables with these columns are those of a maka store."""
    beside = any(columns <= tables.get(name, set()) for name, columns in _BESIDE.items())
    return beside and tables.get("runtime_events", set()) >= _LEDGER


def _scopes(ask: Ask, found: Shape) -> list[tuple[str, str, int, int]]:
    """Scope, where its version stands, the version, and the newest known, of each version in the store."""
    told = [("runtime", "PRAGMA user_version", int(ask("PRAGMA user_version")[0][0]), NEWEST)]
    for registry in _REGISTRIES:
        table = found.tables.get(registry)
        if table is None or not {"scope", "version"} <= {column.name for column in table.columns}:
            continue
        for scope, version in ask(f"SELECT scope, version FROM {registry} ORDER BY scope"):  # noqa: S608 - names above
            if scope in _SCOPES and isinstance(version, int):
                told.append((str(scope), registry, version, _SCOPES[scope]))
            elif scope == "runtime" and isinstance(version, int):
                told.append(("runtime", registry, version, NEWEST))
    return told


def stamp(ask: Ask, found: Shape, _schema: str) -> int:
    """PRAGMA user_version; one more than the newest known where another scope is newer than known."""
    scopes = _scopes(ask, found)
    newer = any(version > newest for _, _, version, newest in scopes)
    return max(scopes[0][2], NEWEST + 1) if newer else scopes[0][2]


def generation(found: Shape, stamp: int | None) -> Generation:
    """Tell the generation from the runtime version and from the shape."""
    number = stamp or 0
    implied = next((first for table, first in _IMPLIED if table in found.tables), OLDEST)
    if not OLDEST <= number <= NEWEST:
        return Generation(number, implied, None)
    return Generation(number, implied, max(number, implied))


def facts(ask: Ask, found: Shape, _schema: str) -> Mapping[str, Facts]:
    """Versions of all scopes, for MAKA-A01."""
    columns = (("scope", "VARCHAR"), ("place", "VARCHAR"), ("version", "BIGINT"), ("newest", "BIGINT"))
    return {"scopes": Facts(columns, _scopes(ask, found))}


def _from(name: str, module: str = "facts") -> Callable[[Any], Facts]:
    def fill(con: Any) -> Facts:
        # Imported when a check first needs it: decoding is nothing that `inspect` should wait for.
        made = import_module(f"busbar_audit.transcript.{module}")
        columns, rows = getattr(made, name)(con)
        return Facts(columns, rows)

    return fill


def _both(con: Any) -> tuple[Facts, Facts]:
    events, transcripts = import_module("busbar_audit.transcript.survey").survey(con)
    return Facts(*events), Facts(*transcripts)


_TEXTS = frozenset(
    {"runtime_events", "runtime_session_event_ordinals", "runtime_partial_snapshots", "runtime_partial_segments"}
)
_ANSWERS = frozenset({"core_interaction_requests", "core_interaction_outcomes"})


DERIVED = {
    "event_facts": Derived(
        frozenset({"runtime_events"}),
        _from("event_facts", "event_facts"),
        beside=("transcript_facts", "older_transcript_facts"),
        both=_both,
    ),
    "opening_facts": Derived(frozenset({"runtime_legacy_invocation_openings"}), _from("opening_facts")),
    "header_facts": Derived(frozenset({"core_agent_runs"}), _from("header_facts")),
    "row_facts": Derived(frozenset({"session_messages"}), _from("row_facts", "row_facts")),
    "transcript_facts": Derived(
        _TEXTS | _ANSWERS | {"runtime_legacy_invocation_openings"}, _from("transcript_facts", "transcripts")
    ),
    "older_transcript_facts": Derived(
        _TEXTS | _ANSWERS | {"core_agent_runs"}, _from("transcript_facts", "transcripts")
    ),
    # Made from what rows were decoded to: the view that reads it reads audit.legacy_rows, too, and that comes first.
    "page_facts": Derived(frozenset({"session_messages"}), _from("page_facts", "pagewise")),
    "admission_facts": Derived(frozenset({"core_root_turn_admissions"}), _from("admission_facts")),
}

FAMILY = Family(
    NAME,
    ENGINE,
    OLDEST,
    NEWEST,
    KNOWN,
    "user_version",
    recognise,
    stamp,
    generation,
    maka_shapes.expected,
    maka_shapes.differences,
    damaged="MAKA-A03",
    always=("MAKA-A01", "MAKA-A02", "MAKA-A03"),
    evidence=frozenset({"runtime_events", "session_messages"}),
    evidence_kind="ledger event or legacy row",
    derived=DERIVED,
    facts=facts,
)
