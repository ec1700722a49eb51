"""What an operator acts on: tasks, approvals and demotions, keys, usage; a summary of each and lists of what to settle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from busbar_audit.reporting import a2a
from busbar_audit.reporting.markup import Block, moment, number, text, utc
from busbar_audit.reporting.sections import NAME, absent, as_of, by_state, joined, listed, name_of, shortened

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

_DAY = 86400
_HOUR = 3600


def _since(seconds: Any, clock: int) -> str:
    """A time before the audit in the largest unit that tells something."""
    if seconds is None:
        return ""
    age = clock - int(seconds)
    if age < 0:
        return "after the audit"
    for unit, name in ((_DAY, "days"), (_HOUR, "hours"), (60, "minutes")):
        if age >= 2 * unit:
            return f"{age // unit:,} {name}"
    return f"{age} seconds"


def tasks(session: Session, limit: int) -> Block:
    """Tasks by state and age; those that wait for a person; work that nobody goes on with."""
    if a2a.is_a2a(session):
        return a2a.tasks(session, limit)
    if missing := absent(session, "tasks", "BUS-T14", "audit.tasks"):
        return missing
    clock = as_of(session)
    summary, states = by_state(
        session,
        clock,
        means="What the agents have on their hands, and what is left of finished work until a purge.",
        do="Look at the two lists below; purge finished tasks by your own schedule, the gateway does not.",
    )
    if not states:
        return summary
    return joined([summary, _waiting(session, clock, limit), _stuck(session, clock, limit)])


def _waiting(session: Session, clock: int, limit: int) -> Block:
    query, values = session.figure("tasks_waiting"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("task", "waits for", "principal", "agent", "since, UTC", "for")
    waits = {"input-required": "an answer", "auth-required": "a permission"}
    return listed(
        f"Tasks that wait for a person: {total:,}",
        columns,
        [
            [name_of(r["task_id"]), waits[r["state"]], name_of(r["principal"]), name_of(r["agent_id"]),
             moment(r["updated_at"]), _since(r["updated_at"], clock)]
            for r in found
        ],
        [
            [shortened(r["task_id"]), waits[r["state"]], shortened(r["principal"]), shortened(r["agent_id"]),
             utc(r["updated_at"]), _since(r["updated_at"], clock)]
            for r in found
        ],
        query,
        values,
        means="Somebody has to answer or to sign in; the agent does nothing until then, and no purge takes the task.",
        do="Tell the people behind these principals; cancel what nobody needs any more.",
        empty="No task waits for a person.",
        total=total,
    )  # fmt: skip


def _stuck(session: Session, clock: int, limit: int) -> Block:
    if missing := absent(session, "stuck work", "BUS-T13", "audit.tasks", "audit.task_events", "audit.write_times"):
        return missing
    query, values = session.figure("tasks_stuck"), {"as_of": clock, "limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("task", "state", "principal", "agent", "silent since, UTC", "for")
    ends = found[0]["ends"] if found else None
    old = ends is not None and clock - int(ends) > _DAY
    also = f" The store as a whole ends at {utc(ends)}, so an old copy would show the same." if old else ""
    return listed(
        f"Work of which nothing was heard for more than a day: {total:,}",
        columns,
        [
            [name_of(r["task_id"]), text(r["state"]), name_of(r["principal"]), name_of(r["agent_id"]), moment(r["since"]),
             _since(r["since"], clock)]
            for r in found
        ],
        [
            [shortened(r["task_id"]), r["state"], shortened(r["principal"]), shortened(r["agent_id"]), utc(r["since"]),
             _since(r["since"], clock)]
            for r in found
        ],
        query,
        values,
        means=f"The agent was lost, works on without telling, or what it tells is no longer written.{also}",
        do="Ask the agent; cancel what it does not know. If all are silent since one moment, see the write path.",
        empty="No task at work was silent for more than a day.",
        total=total,
        bad=[not old] * len(found),
    )  # fmt: skip


def approvals(session: Session, limit: int) -> Block:
    """Approvals on record, and the calls that waited for one."""
    if missing := absent(session, "approvals", "BUS-A02", "audit.approvals"):
        return missing
    query, values = session.figure("approvals_kept"), {"as_of": as_of(session)}
    found = session.rows(query, values)
    columns = ("table", "kind", "used", "not yet expired", "expired", "last expiry, UTC")
    counts = ("used", "valid", "expired")
    kept = listed(
        "Approvals on record as used",
        columns,
        [
            [f"<code>{text(r['source'])}</code>", text(r["kind"], NAME), *(number(r[c]) for c in counts),
             moment(r["last_expiry"])]
            for r in found
        ],
        [[r["source"], shortened(r["kind"]), *(r[c] for c in counts), utc(r["last_expiry"])] for r in found],
        query,
        values,
        means="Each was used once and cannot be used again; expired ones are swept when the next one is used.",
        do="Nothing, unless two kinds stand here: then two gateway generations write to this store (BUS-A01).",
        empty="No use of an approval is on record.",
        numeric=columns[2:5],
    )  # fmt: skip
    return joined([kept, _asked(session, limit)])


def _asked(session: Session, limit: int) -> Block:
    if missing := absent(session, "calls that waited for an approval", "BUS-A04", "audit.calls"):
        return missing
    query, values = session.figure("approvals_asked"), {"as_of": as_of(session), "limit": limit}
    found = session.rows(query, values)
    head = found[0] if found else dict.fromkeys(("all_asked", "all_granted", "all_waiting", "all_lapsed", "total"), 0)
    columns = ("caller", "tool", "asked", "went through in time", "outstanding", "not granted in time", "last, UTC")
    counts = ("asked", "granted", "waiting", "lapsed")
    return listed(
        f"Calls that waited for an approval: {head['all_asked']:,}, of these {head['all_granted']:,} went through within "
        f"300 s, {head['all_waiting']:,} outstanding at the audit, {head['all_lapsed']:,} not granted in time",
        columns,
        [
            [name_of(r["scope"]), name_of(r["tool"]), *(number(r[c]) for c in counts), moment(r["last_ts"])]
            for r in found
        ],
        [[shortened(r["scope"]), shortened(r["tool"]), *(r[c] for c in counts), utc(r["last_ts"])] for r in found],
        query,
        values,
        means="The gateway asked the caller before it let the call through.",
        do="Answer what is outstanding. Where many are never granted, the rule may be too strict, or nobody sees the question.",
        empty="No call waited for an approval.",
        total=head["total"],
        numeric=columns[2:6],
    )


def demotions(session: Session, limit: int) -> Block:
    """Demoted servers, and those that still serve."""
    if missing := absent(session, "demoted servers", "BUS-M10", "audit.calls", "audit.demotions"):
        return missing
    query, values = session.figure("demoted_serving"), {"limit": limit}
    found = session.rows(query, values)
    head = found[0] if found else {"total": 0, "serving": 0}
    columns = ("server", "reason", "demoted at, UTC", "calls since", "callers", "last call, UTC")
    return listed(
        f"Demoted servers: {head['total']:,}, still serving: {head['serving']:,}",
        columns,
        [
            [name_of(r["server"]), text(r["reason"], NAME), moment(r["recorded_at"]), number(r["calls"]),
             number(r["callers"]), moment(r["last_ts"])]
            for r in found
        ],
        [
            [shortened(r["server"]), shortened(r["reason"]), utc(r["recorded_at"]), r["calls"], r["callers"], utc(r["last_ts"])]
            for r in found
        ],
        query,
        values,
        means="The gateway took these servers out of use; a call dispatched after that went past the quarantine.",
        do="Where calls went on: find the node that did not learn of it. Clear a demotion once its server was looked at.",
        empty="No demotion stands.",
        total=head["total"],
        numeric=("calls since", "callers"),
        bad=[bool(r["calls"]) for r in found],
    )  # fmt: skip
