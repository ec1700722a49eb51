"""What an operator of an A2A SDK's store acts on: would it start, what loses its cleanup, where callbacks go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from busbar_audit.reporting.markup import Block, number, text
from busbar_audit.reporting.sections import absent, joined, listed

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session


def overview(session: Session, limit: int) -> Block:
    """Start-up rules, provenance of push configurations, and callbacks by host; counts only, nothing secret."""
    return joined([_startup(session), _provenance(session), _callbacks(session, limit)])


def _startup(session: Session) -> Block:
    if missing := absent(session, "start-up rules", "A2A-G09", "audit.startup_rules"):
        return missing
    query = session.figure("a2a_startup")
    found = session.rows(query)
    said = [(r["rule"], r["about"], "holds" if r["holds"] else "does not hold") for r in found]
    return listed(
        "Rules by which the newest SDK accepts a store when it starts",
        ("rule", "what it asks", "here"),
        [[text(cell) for cell in row] for row in said],
        said,
        query,
        {},
        means="If one does not hold, a process of the newest generation refuses the store at its start.",
        do="Rehearse the migration on a copy; the findings name what is missing.",
        empty="No rule could be tried.",
        bad=[not r["holds"] for r in found],
    )


def _provenance(session: Session) -> Block:
    if missing := absent(session, "push configurations", "A2A-D02", "audit.config_tasks"):
        return missing
    query = session.figure("a2a_provenance")
    tasks = {True: "here", False: "not here"}
    rows = [
        (r["provenance"], tasks.get(r["has_task"], "not told"), number(r["configurations"]), number(r["tasks"]))
        for r in session.rows(query)
    ]
    return listed(
        "Push configurations by provenance",
        ("provenance", "task", "configurations", "tasks"),
        [[text(a), text(b), c, d] for a, b, c, d in rows],
        rows,
        query,
        {},
        means="Only local ones are removed with their task; a migration leaves those that were there before as they are.",
        do="Decide which of the others belong to tasks of this store before you adopt any.",
        empty="No push configuration is stored.",
        numeric=("configurations", "tasks"),
    )


def _callbacks(session: Session, limit: int) -> Block:
    if missing := absent(session, "callbacks", "A2A-S01", "audit.push_configs"):
        return missing
    query = session.figure("a2a_callbacks")
    found = session.rows(query)
    names, counts = ("scheme", "host", "reach"), ("configurations", "tasks", "tokens", "credentials", "user_names")
    shown = found[:limit]
    return listed(
        "Callbacks by host",
        (*names, *counts),
        [[*(text(r[n] or "") for n in names), *(number(r[c]) for c in counts)] for r in shown],
        [[*(r[n] or "" for n in names), *(r[c] for c in counts)] for r in shown],
        query,
        {},
        means="Where results of tasks are sent, and how many carry a secret that is stored in clear.",
        do="Look at hosts you do not know, at plain http, and at private addresses.",
        empty="No callback is stored.",
        total=len(found),
        numeric=counts,
    )
