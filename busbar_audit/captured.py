"""An answer captured from a maka application, held against the store under audit."""

from __future__ import annotations

import os

from busbar_audit.errors import UsageError
from busbar_audit.store import Store
from busbar_audit.transcript.exported import COLUMNS, export_facts, read_answers
from busbar_audit.transcript.ledger import loaded

_FIRST = 16
# What both readers are made from.
_TABLES = (
    "runtime_events",
    "runtime_session_event_ordinals",
    "runtime_partial_snapshots",
    "runtime_partial_segments",
    "runtime_legacy_invocation_openings",
    "core_interaction_requests",
    "core_interaction_outcomes",
)


def fill_captured(store: Store, export: str | os.PathLike[str] | None) -> None:
    """Fill ``source.export_facts``, see `export_facts`; with nothing where there is no captured answer.

    Raises
    ------
    UsageError : the file is not what `read_answers` expects, or the store is no workspace of schema 16 or newer.
    """
    lines = []
    if export is not None:
        taken = store.generation.taken
        if store.family != "maka" or taken is None or taken < _FIRST:
            raise UsageError(
                f"--export is for maka workspaces, and the store is {store.name}.",
                "Expected runtime schema 16 to 18: from there on both readers read the ledger.",
            )
        answers = read_answers(export)
        store.load(*(name for name in _TABLES if name in store.rows))
        lines = list(export_facts(loaded(store.con), answers))
    store.warehouse.fill("source.export_facts", COLUMNS, lines)
