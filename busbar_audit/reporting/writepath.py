"""The write path in a report: what the traces of a store that kept nothing add up to, on one time axis."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting import figures
from busbar_audit.reporting.markup import Block, badge, moment, nothing, number, sql, text, utc
from busbar_audit.reporting.panels import store_name
from busbar_audit.reporting.sections import absent, as_of, joined, listed

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

# A record may be dated a little after the audit's clock, as everywhere in the checks.
_AHEAD = 300
_WORDS = {
    "alive": "alive",
    "stopped": "stopped",
    "never kept anything": "never-kept",
    "cannot tell": "cannot-tell",
}
_PARTS = ("calls", "tasks", "task events", "approvals", "admin audit", "usage", "metering")
_MEANS = (
    "Alive: written as long as the store was. Stopped: there was something to write after the last record. "
    "Never kept anything: other records tell of it and not one row is there. Cannot tell: the rows do not decide."
)
_DO = (
    "Where it is not alive, let the gateway make one record of that kind, stop it, and look for the row in the store; "
    "compare the versions of gateway and plug-in. A rehearsal with --restart-proof does so by itself."
)
_TRACES_MEAN = (
    "What else in the store says that something was written, or should have been. One trace proves nothing: after an "
    "upgrade call chains begin again once, and agents are lost without any fault of the store."
)


def write_path(session: Session) -> Block:
    """Verdict of each population and of the store, last writes on one axis, and the traces beside them."""
    if missing := absent(session, "the write path", "BUS-D09", "audit.write_path"):
        return missing
    query, values = session.figure("write_path"), {"as_of": as_of(session)}
    found = session.rows(query, values)
    rows = [
        [
            "<b>the store as a whole</b>" if row["place"] == 0 else text(row["population"]),
            badge(_WORDS[row["verdict"]], label=row["verdict"])
            + (f"<br>at {moment(row['stopped_at'])}" if row["stopped_at"] is not None else ""),
            number(row["records"]),
            moment(row["last_ts"]),
            text(row["why"]),
        ]
        for row in found
    ]
    plain = [[row["population"], _verdict(row), row["records"], utc(row["last_ts"]), row["why"]] for row in found]
    verdicts = listed(
        f"The write path: {_verdict(found[0])}",
        ("population", "verdict", "records", "last write, UTC", "because"),
        rows,
        plain,
        query,
        values,
        means=_MEANS,
        do=_DO,
        numeric=("records",),
        bad=[row["verdict"] in ("stopped", "never kept anything") for row in found],
    )
    return joined([verdicts, *_lacking(session, found), *_axis(session, found), _traces(session)])


def _lacking(session: Session, found: list[dict[str, Any]]) -> list[Block]:
    """What this generation cannot have kept, in one line."""
    there = {row["population"] for row in found}
    lacking = [name for name in _PARTS if name not in there]
    if not lacking:
        return []
    said = f"{store_name(session.document)} has no tables for {', '.join(lacking)}: nothing is said about them."
    return [Block(nothing(text(said)), said)]


def _verdict(row: dict[str, Any]) -> str:
    return f"stopped at {utc(row['stopped_at'])}" if row["verdict"] == "stopped" else str(row["verdict"])


def _axis(session: Session, found: list[dict[str, Any]]) -> list[Block]:
    clock = as_of(session)
    until = clock + _AHEAD
    (span,) = session.rows(session.figure("write_range"), {"until": until})
    if span["first_ts"] is None:
        return []
    first, last = int(span["first_ts"]), int(span["last_ts"])
    step = max(86400, figures.step_for(max(1, last - first)))
    query, values = session.figure("write_days"), {"since": first, "until": until, "step": step}
    days = {name: list(rows) for name, rows in groupby(session.rows(query, values), key=lambda row: row["population"])}
    verdicts = {row["population"]: row["verdict"] for row in found if row["place"]}
    lanes = [
        figures.Lane(
            name,
            [row["bucket"] * step for row in days.get(name, []) if row["bucket"] is not None],
            days[name][0]["last_ts"] if name in days else None,
            verdicts.get(name, ""),
        )
        for name in [*verdicts, *(other for other in ("keys", "demotions") if other in days)]
    ]
    ends = next(row["last_ts"] for row in found if row["place"] == 0)
    drawn = figures.last_writes(lanes, first, step, ends, clock)
    caption = (
        f"Each bar is a {figures.in_words(step)} with a record, each mark the last write; the dashed line is the last "
        f"write of the store, {utc(ends) or 'of which there is none'}. An approval is dated by its expiry, a usage window "
        "by its start; tasks, keys and demotions tell of their last change only."
    )
    if span["later"]:
        caption += f" Not drawn: {number(span['later'])} days dated after the audit."
    shown = f"<figure>{drawn}<figcaption>{text(caption, 2000)}</figcaption></figure>"
    plain = "\n".join(f"{lane.label}: last {utc(lane.last) or 'none'}" for lane in lanes)
    return [Block(shown + sql(query, values), plain)]


def _traces(session: Session) -> Block:
    query = session.figure("write_traces")
    found = session.rows(query)
    rows = [
        [
            text(row["population"]),
            text(row["trace"]),
            number(row["records"]),
            moment(row["first_at"]),
            moment(row["last_at"]),
        ]
        for row in found
    ]
    plain = [
        [row["population"], row["trace"], row["records"], utc(row["first_at"]), utc(row["last_at"])] for row in found
    ]
    return listed(
        "Traces weighed beside the last writes",
        ("about", "trace", "records", "first, UTC", "last, UTC"),
        rows,
        plain,
        query,
        {},
        means=_TRACES_MEAN,
        do="Read them together with the verdicts above; each has a check of its own where it is a fault by itself.",
        empty="No other part of the store tells of writes that are missing.",
        numeric=("records",),
    )
