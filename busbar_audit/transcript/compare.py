"""The two readers of a session side by side; every difference has exactly one class (maka sheet 6.5, 6.6 and 16).

Classes are V1 to V24 as the sheet numbers them; ``unexplained`` is what none of them covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import Opening, Session, Stored
from busbar_audit.transcript.projection import Diagnostic, Projection, Row, is_terminal
from busbar_audit.transcript.view import (
    TOO_LARGE,
    PageRow,
    Refused,
    SessionView,
    invocation_rows,
    placed,
    session_view,
)

UNEXPLAINED = "unexplained"
ORPHAN = "thinking without the text of its message"
_IDENTITY = "a permission answer whose outcome is of another request"
_NO_OUTCOME = "a permission answer without its outcome"
_NAMES = "a permission decision without a tool name that all agree on"


@dataclass(frozen=True)
class Divergence:
    """One class of difference in one session.

    event_id : the first event concerned. view, pages : what each reader does with it. rows : how many rows differ.
    """

    kind: str
    event_id: str
    view: str
    pages: str
    rows: int


@dataclass
class Comparison:
    """Both readers of a session.

    view : None where it refuses, with `refusal`. served : rows of all pages that open.
    closed : refusals of pages by invocation. divergences : all differences, the expected ones included.
    """

    view: SessionView | None = None
    refusal: Refused | None = None
    served: list[PageRow] = field(default_factory=list)
    closed: dict[str, Refused] = field(default_factory=dict)
    divergences: list[Divergence] = field(default_factory=list)


def compare(session: Session) -> Comparison:
    """Read a session both ways, as the post-cutover builds do (projection and query Q-B), and compare."""
    done = Comparison()
    try:
        done.view = session_view(session.openings, session.events, session.outcomes, session.partials)
    except Refused as refused:
        done.refusal = refused
    by_invocation, ordinals = placed(session.events)
    folded = {} if done.view is None else _folded(done.view)
    for opening in session.openings:
        invocation = opening.invocation_id
        own = by_invocation.get(invocation, ())
        try:
            done.served += invocation_rows(opening, own, session.outcomes, ordinals, folded.get(invocation))
        except Refused as refused:
            done.closed[invocation] = refused
    done.served.sort(key=lambda row: row.sequence)
    if done.refusal is not None:
        done.divergences += refused_view(done.refusal, done.closed, session)
    for invocation, closed in done.closed.items():
        kind = _closed(closed, done.view is not None)
        if kind:
            shown = "shown" if done.view is not None else "refused"
            done.divergences.append(Divergence(kind, _event(closed) or invocation, shown, "refused", 0))
    if done.view is not None:
        done.divergences += _rows(done.view, done, session, by_invocation)
    return done


def _folded(view: SessionView) -> dict[str, Projection]:
    """The fold of each invocation, taken out of that of the session, where both are the same."""
    found = {invocation: Projection() for invocation in view.alone}
    for row, source, owner in zip(view.rows, view.sources, view.owners, strict=True):
        told = found.get(owner)
        if told is not None:
            told.rows.append(row)
            told.sources.append(source)
    return found


def _event(refused: Refused) -> str:
    return next((d.event_id for d in refused.diagnostics if d.event_id and d.hard), "")


def refused_view(refused: Refused, closed: Mapping[str, Refused], session: Session) -> list[Divergence]:
    """The Session view throws: one divergence, unless pages throw at the same place for the same reason."""
    same = any(_event(other) == _event(refused) for other in closed.values()) if _event(refused) else bool(closed)
    hard = next((d for d in refused.diagnostics if d.hard), None)
    kind = _kind(refused, hard, session)
    pages = "refused" if same else "shown"
    return [Divergence(kind, _event(refused), "refused", pages, 0)]


def _kind(refused: Refused, hard: Diagnostic | None, session: Session) -> str:
    if hard is None:
        broken = any(stored.event is None for stored in session.events)
        return "V18" if broken else "V5"
    if hard.message.startswith("more than one"):
        return "V4"
    if hard.message == "an ending without an outcome":
        return "V3" if _hands_over(session, hard.event_id) else "V5"
    return {_IDENTITY: "V7", _NO_OUTCOME: "V19", _NAMES: "V8"}.get(hard.message, "V5")


def _hands_over(session: Session, event_id: str | None) -> bool:
    found = next((s.event for s in session.events if s.event_id == event_id), None) or {}
    return "handoffPause" in (found.get("actions") or {})


def _closed(refused: Refused, shown: bool) -> str | None:
    """The class of pages that throw; None where the Session view throws, too, and has said why."""
    if refused.message == TOO_LARGE:
        return "V17"
    if not shown:
        return None
    return "V6" if any(d.message == ORPHAN for d in refused.diagnostics if d.hard) else UNEXPLAINED


def _rows(
    view: SessionView, done: Comparison, session: Session, by_invocation: Mapping[str, Sequence[Stored]]
) -> list[Divergence]:
    pages = keyed([row.source for row in done.served], [row.row for row in done.served])
    shown = keyed(view.sources, view.rows)
    found: dict[str, list[str]] = {}
    # Nearly always each row of one reader is, object for object, that of the other.
    apart = [(key, row) for key, row in shown.items() if pages.get(key) is not row]
    if apart:
        places = {s.event_id: s for s in session.events}
        owners = {o.invocation_id: o for o in session.openings}
        missing = Missing(owners, by_invocation)
    for key, row in apart:
        event_id = key[0]
        stored = places.get(event_id)
        if stored is not None and stored.invocation_id in done.closed:
            continue
        if key not in pages:
            found.setdefault(missing.of(stored), []).append(event_id)
        elif row != pages[key]:
            found.setdefault(changed(row, pages[key]), []).append(event_id)
    for key in pages.keys() - shown.keys():
        found.setdefault(UNEXPLAINED, []).append(key[0])
    common = [key for key in shown if key in pages]
    served = [key for key in pages if key in shown]
    result = [
        Divergence(kind, ids[0], "shown", "hidden" if kind not in _DIFFER else "differs", len(ids))
        for kind, ids in found.items()
    ]
    moved = next((a for a, b in zip(common, served, strict=True) if a != b), None)
    if moved is not None:
        kind = "V14" if disordered(by_invocation) else UNEXPLAINED
        result.append(Divergence(kind, moved[0], "shown", "in another order", len(common)))
    return result


_DIFFER = ("V6", "V7", "V9", UNEXPLAINED)


def keyed(sources: Sequence[str], rows: Sequence[Row]) -> dict[tuple[str, int], Row]:
    """Rows by their event and their place among its rows, in the order given."""
    seen: dict[str, int] = {}
    keyed = {}
    for source, row in zip(sources, rows, strict=True):
        keyed[source, seen.get(source, 0)] = row
        seen[source] = seen.get(source, 0) + 1
    return keyed


class Missing:
    """Why pages do not serve what the Session view shows; what is asked of an invocation is found out once."""

    def __init__(self, owners: Mapping[str, Opening], by_invocation: Mapping[str, Sequence[Stored]]) -> None:
        self._owners, self._by_invocation = owners, by_invocation
        self._known: dict[str, tuple[list[Stored], Opening | None, Stored | None]] = {}

    def of(self, stored: Stored | None) -> str:
        """The class of one row, given the event it came from."""
        if stored is None:
            return "V1"  # made for an open run, or live text: it has no row in the ledger
        if stored.invocation_id not in self._known:
            self._known[stored.invocation_id] = self._about(stored.invocation_id)
        ends, opening, at = self._known[stored.invocation_id]
        if not ends:
            return "V1"
        if stored.ordinal is None or ends[0].ordinal is None:
            return "V13"
        if stored.seq > min(s.seq for s in ends):
            return "V4"
        if opening is not None and opening.shelf == "legacy" and at is None:
            return "V15"
        if at is not None and at.ordinal is None:
            return "V13"
        if at is not None and at.ordinal is not None and stored.ordinal < at.ordinal:
            return "V16"
        return UNEXPLAINED

    def _about(self, invocation: str) -> tuple[list[Stored], Opening | None, Stored | None]:
        own = self._by_invocation[invocation]
        opening = self._owners.get(invocation)
        at = next((s for s in own if opening is not None and s.event_id == opening.event_id), None)
        return [s for s in own if s.event is not None and is_terminal(s.event)], opening, at


def changed(shown: Row, served: Row) -> str:
    """Why both readers show a row, and not the same."""
    different = {key for key in shown.keys() | served.keys() if not js.same(shown.get(key), served.get(key))}
    if "thinking" in different and different <= {"thinking", "contentOrder"}:
        return "V6"
    return {frozenset({"contentOrder"}): "V9", frozenset({"hint"}): "V7"}.get(frozenset(different), UNEXPLAINED)


def disordered(by_invocation: Mapping[str, Sequence[Stored]]) -> bool:
    """Whether places and numbers of any invocation disagree."""
    for own in by_invocation.values():
        ordinals = [s.ordinal for s in sorted(own, key=lambda s: s.seq) if s.ordinal is not None]
        if ordinals != sorted(ordinals):
            return True
    return False
