"""What a notebook shows of retention: how old records are, what is gone and why, and what the next purge would take."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting.markup import Block, moment, nothing, number, plain_table, table, text, utc
from busbar_audit.reporting.retentionfigures import age_pyramid
from busbar_audit.reporting.sections import absent, as_of, joined, listed, name_of, shortened

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

_OTHER = "Retention is shown of gateways' stores in this version"
_AGES = ("future", "day", "week", "month", "quarter", "year", "older", "undated")
_WORDS = {
    "future": "after the audit", "day": "under 1 day", "week": "1 to 7 days", "month": "7 to 30 days",
    "quarter": "30 to 90 days", "year": "90 days to 1 year", "older": "over 1 year", "undated": "without a time",
}  # fmt: skip
_GONE = {"head-missing": "the first records", "gap-inner": "records inside"}
_EFFECTS = {
    "purge_at_risk": "work that has not ended, or is younger than the cutoff",
    "purge_younger": "records younger than the cutoff",
    "purge_held": "held by the policy",
    "purge_heads": "chains that lose their head",
    "purge_orphans": "rows left without what they belong to",
}
_RISKS = ("purge_at_risk", "purge_younger", "purge_held")


def other_family(session: Session, what: str) -> Block | None:
    """Why retention is not shown of this store, or None if it is."""
    if session.document["store"]["family"] != "busbar":
        return Block(nothing(f"{html.escape(_OTHER)}."), _OTHER)
    return absent(session, what, "BUS-C04", "audit.chain_records", "audit.chain_extents")


def _cutoffs(session: Session) -> dict[str, Any]:
    declared = (session.purges or {}).get("cutoffs", {})
    return {"calls": declared.get("calls"), "tasks": declared.get("tasks")}


def ages(session: Session) -> Block:
    """Records of each population by age, with what is older than the cutoff declared for it."""
    if other := other_family(session, "ages of records"):
        return other
    query, values = session.figure("retention_ages"), {"as_of": as_of(session), **_cutoffs(session)}
    found = session.rows(query, values)
    shown_ages = [age for age in _AGES if any(r[age] for r in found)]
    columns = ("population", "records", "due", "cutoff, UTC", "oldest, UTC", *(_WORDS[age] for age in shown_ages))
    shown = listed(
        "Chained records by age",
        columns,
        [
            [text(r["population"]), number(r["records"]), "" if r["cutoff"] is None else number(r["due"]),
             _cutoff(r["cutoff"]), moment(r["oldest"]), *(number(r[a]) for a in shown_ages)]
            for r in found
        ],
        [
            [r["population"], r["records"], "" if r["cutoff"] is None else r["due"],
             "none" if r["cutoff"] is None else utc(r["cutoff"]), utc(r["oldest"]), *(r[a] for a in shown_ages)]
            for r in found
        ],
        query,
        values,
        means="Due: older than the cutoff that the policy declares for the population, and still there.",
        do="If a purge is meant to run by that cutoff and records are due, it did not run.",
        empty="No chained record is stored.",
        numeric=(*columns[1:3], *columns[5:]),
        bad=[bool(r["due"]) for r in found],
    )  # fmt: skip
    if not found:
        return shown
    names = [_WORDS[age] for age in _AGES]
    drawn = age_pyramid(names, [(r["population"], [int(r[age]) for age in _AGES]) for r in found])
    return joined(
        [
            Block(
                f"<figure>{drawn}<figcaption>Records by age, each population to its own scale.</figcaption></figure>",
                "",
            ),
            shown,
        ]
    )


def _cutoff(seconds: Any) -> str:
    return '<span class="ba-none">none declared</span>' if seconds is None else moment(seconds)


def gone(session: Session) -> Block:
    """What is gone of each population, and whether a declared purge explains it."""
    if other := other_family(session, "what is gone"):
        return other
    query, values = session.figure("retention_gone"), _cutoffs(session)
    found = session.rows(query, values)
    return listed(
        "What is gone, as chains tell it",
        ("population", "gone", "chains", "records", "oldest left, UTC", "cutoff, UTC", "why it can be gone"),
        [
            [text(r["population"]), _GONE[r["about"]], number(r["chains"]), number(r["records"]), moment(r["oldest"]),
             _cutoff(r["cutoff"]), text(r["why"])]
            for r in found
        ],
        [
            [r["population"], _GONE[r["about"]], r["chains"], r["records"], utc(r["oldest"]),
             "none" if r["cutoff"] is None else utc(r["cutoff"]), r["why"]]
            for r in found
        ],
        query,
        values,
        means="Declared: the policy says that the population is purged by age. Plausible by time: such a purge can have done "
        "it, and none is declared. Unexplained: no purge may take these; one takes records inside only if a clock went back.",
        do="Declare the cutoffs you purge by under [retention]; with --witness the head that is left is proven or is not.",
        empty="No chain lacks its head, and none has a gap. A chain's end can be cut without a trace: that takes a witness.",
        numeric=("chains", "records"),
        bad=[r["why"] == "unexplained" for r in found],
    )  # fmt: skip


def next_purge(session: Session, limit: int) -> Block:
    """Rows that each verb would take now, and what that would hurt."""
    if other := other_family(session, "the next purge"):
        return other
    if session.purges is None:
        said = "The next purge was not predicted in this run; `busbar-audit retention` does it."
        return Block(nothing(html.escape(said)), said)
    if failed := session.purges.get("failed"):
        said = f"The next purge cannot be predicted: {failed}"
        return Block(nothing(text(said, 1000)), said)
    found: Sequence[Mapping[str, Any]] = session.purges["predictions"]
    without: Sequence[str] = session.purges["without_cutoff"]
    columns = (
        "verb",
        "cutoff, UTC",
        "rows by table",
        "to look at",
        "chains losing their head",
        "rows left without",
        "notes",
    )
    cells, plain, classes = [], [], []
    for each in found:
        effects = each["effects"]
        risks = sum(effects.get(name, {}).get("places", 0) for name in _RISKS)
        rows = ", ".join(f"{table_} {count:,}" for table_, count in each["rows"].items() if count) or "nothing"
        counts = [risks, *(effects.get(name, {}).get("places", 0) for name in ("purge_heads", "purge_orphans"))]
        at = '<span class="ba-none">by the clock</span>' if each["cutoff"] is None else moment(each["cutoff"])
        cells.append(
            [text(each["verb"]), at, text(rows, 200), *map(number, counts), text("; ".join(each["notes"]), 300)]
        )
        plain.append([each["verb"], "by the clock" if each["cutoff"] is None else utc(each["cutoff"]), rows, *counts])
        classes.append("ba-bad" if risks else "")
    note = (
        f'<p class="ba-note">Not predicted, since no cutoff is declared: {html.escape(", ".join(without))}.</p>'
        if without
        else ""
    )
    if not found:
        said = "No verb was predicted: no cutoff is declared."
        return Block(nothing(said) + note, said)
    made = table("What the next purge would take, verb by verb", columns, cells, numeric=columns[3:6], classes=classes)
    blocks = [Block(made + note, plain_table(columns[:6], plain)), _at_risk(found, limit)]
    return joined(blocks)


def _at_risk(found: Sequence[Mapping[str, Any]], limit: int) -> Block:
    rows = [
        (each["verb"], _EFFECTS[name], place)
        for each in found
        for name in _RISKS
        for place in each["effects"].get(name, {}).get("first", ())
    ]
    if not rows:
        said = "Nothing at risk: no verb would take work that has not ended, a record younger than its cutoff, or one held."
        return Block(nothing(said), said)
    columns = ("verb", "what", "where", "rows", "because")
    cells = [
        [text(verb), text(what), f"{text(place.get('subject', ''))} {name_of(place.get('place'))}",
         number(int(place.get("rows") or 1)), text(str(place.get("because") or place.get("reason") or ""), 200)]
        for verb, what, place in rows[:limit]
    ]  # fmt: skip
    plain = [
        [verb, what, shortened(place.get("place")), place.get("rows"), place.get("because")]
        for verb, what, place in rows[:limit]
    ]
    return Block(
        table("What the next purge would hurt", columns, cells, numeric=("rows",), classes=["ba-bad"] * len(cells)),
        plain_table(columns, plain),
    )


def growth(session: Session) -> Block:
    """Records a day over the last fortnight."""
    if other := other_family(session, "growth"):
        return other
    query, values = session.figure("retention_growth"), {"as_of": as_of(session)}
    found = session.rows(query, values)
    columns = ("population", "records held", "in the last 14 days", "a day", "held since, UTC")
    return listed(
        "Growth",
        columns,
        [
            [text(r["population"]), number(r["held"]), number(r["records"]), f"{r['a_day']:,.1f}", moment(r["oldest"])]
            for r in found
        ],
        [[r["population"], r["held"], r["records"], f"{r['a_day']:,.1f}", utc(r["oldest"])] for r in found],
        query,
        values,
        means="What comes in a day, by the records' own times, over 14 days or since the first one.",
        do="Hold it against what a purge takes; what nothing ever takes grows for as long as the store lives.",
        empty="No chained record is stored.",
        numeric=columns[1:4],
    )
