"""Both readers over every session of a store: what they show, refuse and differ in, as rows for checks.

Sessions are read some at a time, so that memory follows the largest session and not the store.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.amplification import Sample, costs
from busbar_audit.transcript.beside import beside
from busbar_audit.transcript.compare import compare
from busbar_audit.transcript.ledger import Ledger, Session, loaded
from busbar_audit.transcript.projection import Diagnostic, Row
from busbar_audit.transcript.values import storable
from busbar_audit.transcript.view import Refused, SessionView, session_view
from busbar_audit.transcript.walking import lost_rows

COLUMNS = (
    ("fact", "VARCHAR"),
    ("session_id", "VARCHAR"),
    ("turn_id", "VARCHAR"),
    ("event_id", "VARCHAR"),
    ("code", "VARCHAR"),
    ("view", "VARCHAR"),
    ("pages", "VARCHAR"),
    ("message", "VARCHAR"),
    ("records", "BIGINT"),
)
PREVIEW = 96
_FOLDED = re.compile(f"[{re.escape(js.BLANKS)}]+")

Fact = tuple[str, str, str | None, str | None, str | None, str | None, str | None, str | None, int | None]


def transcript_facts(con: Any) -> tuple[Sequence[tuple[str, str]], Iterator[Fact]]:
    """Facts about every session, from schema ``raw``.

    Returns
    -------
    columns and rows. By `fact`: ``session`` (view: shown or refused, message: the refusal or the digest of the preview,
    event_id: id of the newest visible row), ``turn`` (records: its rows), ``diagnostic`` (code; view: hard or soft),
    ``divergence`` (code: its class; view and pages: what each reader does), ``closed`` (event_id: an invocation whose
    pages throw), ``walk`` (code: direction and rows in a page; records: rows that such pages lose), ``row`` of a page (code:
    its type; message: its id; records: its sequence), ``beside`` (a row near the first difference; code: its type; message:
    its id; records: its place, 0 being the first that differs), ``members`` (of such a row; message: those that differ),
    ``cost`` of a walk (code: generation of the query; view: pages, events, read or served; records: how many, or bytes).
    """
    ledger = loaded(con)
    return COLUMNS, _all(ledger)


def _all(ledger: Ledger) -> Iterator[Fact]:
    sample = Sample()
    for name, told in ledger.each():
        yield from session_facts(name, told, ledger.newer)
        yield from cost_facts(name, told, ledger.newer, sample)


def cost_facts(name: str, session: Session, newer: bool, sample: Sample) -> Iterator[Fact]:
    """What pages of a session cost to read, if it is one of the sample; builds before the cut had no such pages."""
    if newer and sample.takes(session):
        for cost in costs(session):
            told = {"pages": cost.pages, "events": cost.events, "read": cost.read, "served": cost.served}
            for what, number in told.items():
                yield ("cost", name, None, None, cost.generation, what, None, None, number)


def session_facts(name: str, session: Session, newer: bool) -> Iterator[Fact]:
    """Facts of one session."""
    return _both(name, session) if newer else _view(name, session)


def _both(name: str, session: Session) -> Iterator[Fact]:
    done = compare(session)
    yield from _shown(name, done.view, done.refusal)
    for invocation, refused in done.closed.items():
        yield ("closed", name, None, invocation, None, None, None, refused.message, None)
        if done.view is not None:
            yield from _diagnostics(name, refused.diagnostics)
    for row in done.served:
        told = row.row
        yield (
            "row",
            name,
            storable(told["turnId"]),
            row.source,
            told["type"],
            None,
            None,
            storable(told["id"]),
            row.sequence,
        )
    for found in done.divergences:
        yield ("divergence", name, None, found.event_id, found.kind, found.view, found.pages, None, found.rows)
    for lost in lost_rows(session, done):
        size = f"{lost.direction}/{lost.messages}"
        yield ("walk", name, None, lost.event_id, size, None, None, None, lost.rows)
    for line in beside(session, done):
        turn, row_id = storable(line.turn_id), storable(line.row_id)
        yield ("beside", name, turn, line.event_id, line.type, line.view, line.pages, row_id, line.place)
        if line.members:
            yield ("members", name, turn, line.event_id, line.type, None, None, line.members, line.place)


def _view(name: str, session: Session) -> Iterator[Fact]:
    """Of a store from before the cut: there the projection stood beside the rows, and pages read the rows."""
    if not session.openings:
        return
    try:
        view = session_view(session.openings, session.events, session.outcomes, session.partials, "B")
    except Refused as refused:
        yield from _shown(name, None, refused)
    else:
        yield from _shown(name, view, None)


def _shown(name: str, view: SessionView | None, refused: Refused | None) -> Iterator[Fact]:
    if view is not None:
        seen = next((row for row in reversed(view.rows) if row["type"] in ("user", "assistant")), None)
        newest, digest = (seen["id"], preview_digest(seen)) if seen else (None, None)
        yield ("session", name, None, newest, None, "shown", None, digest, len(view.rows))
        for turn, rows in Counter(row.get("turnId") for row in view.rows).items():
            yield ("turn", name, turn, None, None, None, None, None, rows)
        yield from _diagnostics(name, view.diagnostics)
    elif refused is not None:
        yield ("session", name, None, None, None, "refused", None, refused.message, None)
        yield from _diagnostics(name, refused.diagnostics)


def _diagnostics(name: str, told: Sequence[Diagnostic]) -> Iterator[Fact]:
    for d in told:
        yield ("diagnostic", name, d.turn_id, d.event_id, d.code, "hard" if d.hard else "soft", None, d.message, 1)


def preview_digest(row: Row) -> str:
    """SHA-256 of the line that the list of sessions shows for a row: blanks folded, cut at 96 code points."""
    line = js.trim(_FOLDED.sub(" ", row.get("displayText") or row["text"]))
    if len(line) > PREVIEW:
        line = line[: PREVIEW - 1] + "…"
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()
