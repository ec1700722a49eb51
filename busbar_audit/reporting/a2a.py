"""Tasks of the A2A SDKs' stores: their states, who is waited for, what is stuck, what ended and keeps callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from busbar_audit.reporting.markup import Block, moment, number, text, utc
from busbar_audit.reporting.sections import absent, as_of, by_state, joined, listed, name_of, shortened

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

FAMILIES = frozenset({"a2a", "a2a-js", "a2a-python"})
_JAVA = 20
# The checks over the same rows: of tasks, of ended tasks with configurations, of callbacks.
_CODES = {
    "a2a": ("A2A-D04", "A2A-D17", "A2A-S01"),
    "a2a-java": ("A2A-K05", "A2A-K04", "A2A-K14"),
    "a2a-js": ("A2A-J11", "A2A-J04", "A2A-J14"),
    "a2a-python": ("A2A-P11", "A2A-P04", "A2A-P14"),
}
_DAY = 86400


def is_a2a(session: Session) -> bool:
    """Whether the run is about a store of an A2A SDK."""
    return session.document["store"]["family"] in FAMILIES


def codes(session: Session) -> tuple[str, str, str]:
    """Codes of the checks over tasks, over configurations with their tasks, and over callbacks."""
    store = session.document["store"]
    return _CODES["a2a-java" if store["generation"] == _JAVA else store["family"]]


def tasks(session: Session, limit: int) -> Block:
    """Tasks by state, those that wait for a person, stuck work, and ended tasks that still have push configurations."""
    if missing := absent(session, "tasks", codes(session)[0], "audit.tasks"):
        return missing
    clock = as_of(session)
    states, _ = by_state(
        session,
        clock,
        means="What the agents have on their hands, and what is left of ended work: no SDK removes tasks by itself.",
        do="Look at the lists below; remove ended tasks by a schedule of your own.",
    )
    return joined([states, _waiting(session, clock, limit), _stuck(session, clock, limit), _ended(session, clock)])


def _waiting(session: Session, clock: int, limit: int) -> Block:
    query, values = session.figure("tasks_waiting"), {"limit": limit}
    found = session.rows(query, values)
    waits = {"input-required": "an answer", "auth-required": "a permission"}
    total = found[0]["total"] if found else 0
    return listed(
        f"Interrupted tasks, which wait for a person: {total:,}",
        ("task", "waits for", "since, UTC", "days"),
        [
            [name_of(r["task_id"]), waits[r["state"]], moment(r["updated_at"]), _days(r["updated_at"], clock)]
            for r in found
        ],
        [
            [shortened(r["task_id"]), waits[r["state"]], utc(r["updated_at"]), _days(r["updated_at"], clock)]
            for r in found
        ],
        query,
        values,
        means="Somebody has to answer or to sign in; the agent does nothing until then.",
        do="Tell whoever started them; cancel what nobody needs any more.",
        empty="No task waits for a person.",
        total=total,
        numeric=("days",),
    )


def _stuck(session: Session, clock: int, limit: int) -> Block:
    query, values = session.figure("a2a_stuck"), {"as_of": clock, "limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    return listed(
        f"Work of which nothing was heard for more than seven days: {total:,}",
        ("task", "state", "silent since, UTC", "days"),
        [[name_of(r["task_id"]), text(r["state"]), moment(r["since"]), _days(r["since"], clock)] for r in found],
        [[shortened(r["task_id"]), r["state"], utc(r["since"]), _days(r["since"], clock)] for r in found],
        query,
        values,
        means="The agent was lost, or what it tells is no longer written.",
        do="Ask the agent; cancel what it does not know.",
        empty="No task at work was silent for more than seven days.",
        total=total,
        numeric=("days",),
        bad=[True] * len(found),
    )


def _ended(session: Session, clock: int) -> Block:
    if missing := absent(session, "ended tasks with push configurations", codes(session)[1], "audit.config_tasks"):
        return missing
    query, values = session.figure("a2a_ended"), {"as_of": clock}
    found = session.rows(query, values)
    columns = ("state", "tasks", "configurations", "under 1 day", "under 7 days", "older")
    counts = ("tasks", "configurations", "day", "week", "older")
    return listed(
        "Ended tasks that still have push configurations",
        columns,
        [[text(r["state"]), *(number(r[c]) for c in counts)] for r in found],
        [[r["state"], *(r[c] for c in counts)] for r in found],
        query,
        values,
        means="Callbacks and their secrets are kept after their use; no SDK removes them when a task ends.",
        do="Sweep the configurations of ended tasks regularly.",
        empty="No ended task has a push configuration.",
        numeric=columns[1:],
    )


def _days(since: Any, clock: int) -> str:
    return "" if since is None else f"{max(clock - int(since), 0) // _DAY:,}"
