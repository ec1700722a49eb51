"""What a notebook shows of the two transcript readers: how sessions are read, where they differ, and what a user would see."""

from __future__ import annotations

import html
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting.markup import Block, nothing, number, plain_table, sql, table, text
from busbar_audit.reporting.sections import absent, listed, name_of, shortened

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

_OTHER = "This store is no workspace: there is no transcript to read in two ways"
_CODE, _FACTS = "MAKA-T05", "audit.transcript_facts"

# By class: what it is, what a user sees of it, and whether it can come about by the product's own rules.
CLASSES: Mapping[str, tuple[str, str, str]] = {
    "V1": ("an open run", "the running turn is in the session, and not yet in its history", "legal"),
    "V3": ("a handoff pause without an outcome", "the session does not open; its history still does", "legal"),
    "V4": ("two endings, or events after an ending", "history stops at the first ending", "damage"),
    "V5": ("one event that the fold refuses", "the session does not open for one event; its history does", "damage"),
    "V6": ("thinking apart from its text", "history of the turn does not open; the session shows it", "legal"),
    "V7": ("a permission asked in one run and answered in another", "the session does not open; history lacks a hint", "legal"),
    "V8": ("one tool id for tools of two names", "the session does not open; its history does", "damage"),
    "V9": ("the order of contents over shared message ids", "the same words in another order", "legal"),
    "V13": ("an event without a place in the session", "the session shows what history leaves out", "damage"),
    "V14": ("places against numbers", "nothing: both show the same", "damage"),
    "V15": ("an opening that its anchor does not lead to", "history lacks the whole turn", "damage"),
    "V16": ("an opening that is not the first event", "history may lack the first rows, by page size", "damage"),
    "V17": ("a turn too large for a page", "history does not open where it reaches that turn", "limit"),
    "V18": ("a payload that cannot be read", "neither opens", "damage"),
    "V19": ("a permission answer whose outcome is lost", "neither opens", "damage"),
    "unexplained": ("none of the known classes", "not known", "not known"),
}  # fmt: skip


def _other(session: Session, what: str, *relations: str) -> Block | None:
    if session.document["store"]["family"] != "maka":
        return Block(nothing(f"{html.escape(_OTHER)}."), _OTHER)
    return absent(session, what, _CODE, *(relations or (_FACTS,)))


def readers(session: Session) -> Block:
    """Sessions by how they are read, as a picture and a table."""
    if other := _other(session, "how sessions are read"):
        return other
    query = session.figure("divergence_readers")
    found = session.rows(query)
    if not found:
        return Block(nothing("No session has events.") + sql(query), "no session has events")
    columns = (
        "sessions that are",
        "sessions",
        "rows of the Session view",
        "rows of pages",
        "invocations whose pages are refused",
    )
    counts = [[int(r[c]) for c in ("sessions", "view_rows", "page_rows", "closed")] for r in found]
    bad = ["ba-bad" if r["reading"] in ("read differently", "refused by the Session view") else "" for r in found]
    made = table(
        "Sessions by how both readers have them",
        columns,
        [[text(r["reading"]), *map(number, told)] for r, told in zip(found, counts, strict=True)],
        numeric=columns[1:],
        classes=bad,
    )
    plain = [[r["reading"], *told] for r, told in zip(found, counts, strict=True)]
    return Block(made + sql(query), plain_table(columns, plain))


def classes(session: Session) -> Block:
    """Differences by class: what each reader does, what a user would see, and whether it is legal."""
    if other := _other(session, "differences of the two readers"):
        return other
    query = session.figure("divergence_classes")
    found = session.rows(query)
    return listed(
        "Differences by class",
        ("class", "what it is", "Session view", "pages", "a user sees", "legal", "sessions", "rows", "first session"),
        [
            [text(r["class"]), _known(r["class"])[0], text(r["view"]), text(r["pages"]), _seen(r), _known(r["class"])[2],
             number(r["sessions"]), number(r["rows"]), name_of(r["first_session"])]
            for r in found
        ],
        [
            [r["class"], _known(r["class"])[0], r["view"], r["pages"], _seen(r), _known(r["class"])[2], r["sessions"],
             r["rows"], shortened(r["first_session"])]
            for r in found
        ],
        query,
        {},
        means="Each difference has one class; legal ones come about by the application's rules, others by damage or a limit.",
        do="Begin with what is unexplained, then with damage; an open run (V1) is expected and no finding.",
        empty="Both readers have every session alike.",
        numeric=("sessions", "rows"),
        bad=[_known(r["class"])[2] != "legal" for r in found],
    )  # fmt: skip


def _known(name: str) -> tuple[str, str, str]:
    return CLASSES.get(name, CLASSES["unexplained"])


def _seen(row: Mapping[str, Any]) -> str:
    if row["view"] == row["pages"] == "refused":
        return "neither opens"
    seen = _known(row["class"])[1]
    return seen if row["view"] == "shown" or "does not open" in seen else f"the session does not open; {seen}"


def costs(session: Session) -> Block:
    """Events and bytes that each generation of the transcript query decodes for each byte its pages return."""
    if other := _other(session, "what pages cost to read"):
        return other
    query = session.figure("divergence_cost")
    found = session.rows(query)
    counts = ("sessions", "pages", "events", "read", "served")
    ratios = [[f"{r[c]:.1f}" if r[c] is not None else "" for c in ("ratio", "worst")] for r in found]
    return listed(
        "What pages cost to read",
        ("query", "answers", *_COSTS),
        [[text(r["generation"]), _STANDING.get(r["generation"], _EMULATED), *(number(int(r[c])) for c in counts), *ratio]
         for r, ratio in zip(found, ratios, strict=True)],
        [[r["generation"], _STANDING.get(r["generation"], _EMULATED), *(int(r[c]) for c in counts), *ratio]
         for r, ratio in zip(found, ratios, strict=True)],
        query,
        {},
        means="Walks from the newest page to the oldest, of at most 64 rows and 512 KiB, through a sample of sessions.",
        do="A ratio far above 1 means that each page decodes much that it does not show: long turns cost most.",
        empty="No session of the sample is served by every generation of the query.",
        numeric=_COSTS,
    )  # fmt: skip


_COSTS = ("sessions", "pages", "events decoded", "bytes decoded", "bytes returned", "decoded per byte", "worst session")
_STANDING, _EMULATED = {"Q-B": "verified"}, "emulated, unverified"


def first_difference(session: Session, limit: int) -> Block:
    """Rows around the first difference of each session, both versions side by side."""
    if other := _other(session, "first differences"):
        return other
    query, values = session.figure("divergence_beside"), {"limit": limit}
    found = session.rows(query, values)
    if not found:
        return Block(nothing("No session is read differently.") + sql(query, values), "no session is read differently")
    columns = ("", "row", "type", "turn", "event", "Session view", "pages", "members that differ")
    parts, plain = [], []
    for _, rows in groupby(found, key=lambda row: row["place"]):
        near = list(rows)
        head = near[0]
        seen = "; ".join(dict.fromkeys(_known(name)[1] for name in head["classes"].split(", ")))
        caption = f"Session {head['session_id'][:60]}: {head['classes']}: {seen}"
        parts.append(
            table(
                caption,
                columns,
                [_cells(r) for r in near],
                numeric=("",),
                classes=["ba-bad" if (r["view"], r["pages"]) != ("shown", "shown") else "" for r in near],
            )
        )
        plain += [
            [shortened(r["session_id"]), r["nth"], r["type"], shortened(r["row_id"]), r["view"], r["pages"], r["members"] or ""]
            for r in near
        ]  # fmt: skip
    hidden = found[0]["total"] - len(parts)
    more = f'<p class="ba-note">{number(hidden)} more session(s) read differently.</p>' if hidden > 0 else ""
    head_row = ("session", "place", "type", "row", "Session view", "pages", "members")
    return Block("".join(parts) + more + sql(query, values), plain_table(head_row, plain))


def _cells(row: Mapping[str, Any]) -> list[str]:
    nth = int(row["nth"])
    return [
        "first" if nth == 0 else f"{nth:+d}", name_of(row["row_id"]), text(row["type"], 60), name_of(row["turn_id"]),
        name_of(row["event_id"]), text(row["view"]), text(row["pages"]), text(row["members"] or "", 200),
    ]  # fmt: skip


def refused(session: Session, limit: int) -> Block:
    """Sessions that the Session view does not open, and the event that keeps it from it."""
    if other := _other(session, "refused sessions"):
        return other
    query, values = session.figure("divergence_refused"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    return listed(
        "Sessions that do not open",
        ("session", "refusal", "event", "reason"),
        [
            [name_of(r["session_id"]), text(r["refusal"], 200), name_of(r["event_id"]), text(r["reason"] or "", 200)]
            for r in found
        ],
        [[shortened(r["session_id"]), r["refusal"], shortened(r["event_id"] or ""), r["reason"] or ""] for r in found],
        query,
        values,
        means="The application shows an error in place of the whole session.",
        do="Findings of shape and of the ledger, below, name the events; mend a copy, never the store, and open that.",
        empty="Every session opens.",
        total=total,
        bad=[True] * len(found),
    )  # fmt: skip
