"""Pages of any generation of the transcript query against the Session view, each difference with its class (maka sheet 6.5)."""

from __future__ import annotations

from collections.abc import Collection

from busbar_audit.transcript.compare import (
    ORPHAN,
    UNEXPLAINED,
    Divergence,
    Missing,
    changed,
    compare,
    disordered,
    keyed,
    refused_view,
)
from busbar_audit.transcript.ledger import Opening, Session, Stored
from busbar_audit.transcript.pages import Pages
from busbar_audit.transcript.projection import Row
from busbar_audit.transcript.selection import Generation, visible
from busbar_audit.transcript.view import TOO_LARGE, PageRow, Refused, SessionView, placed, session_view


def differences(session: Session, generation: Generation, watermark: int | None = None) -> list[Divergence]:
    """How the pages of a generation differ from the Session view; for Q-B without a watermark the same as `compare`.

    Parameters
    ----------
    watermark : newest ordinal that pages read; what lies behind it is not missed in them.

    Returns
    -------
    list : one for each class, the expected ones included.
    """
    if generation == "Q-B" and watermark is None:
        return compare(session).divergences
    steps = Pages(session, generation, watermark).steps
    closed = {step.invocation_id: step.refusal for step in steps if step.refusal is not None}
    served = sorted((row for step in steps for row in step.rows), key=lambda row: row.sequence)
    try:
        view = session_view(session.openings, session.events, session.outcomes, session.partials)
    except Refused as refused:
        return refused_view(refused, closed, session)
    told = _Told(session, generation, watermark)
    found = []
    for invocation, why in closed.items():
        at = next((d.event_id for d in why.diagnostics if d.hard and d.event_id), invocation)
        found.append(Divergence(told.closed(invocation, why), at, "shown", "refused", 0))
    return found + _rows(view, served, closed.keys(), told)


class _Told:
    """Why pages of one generation are not what the Session view shows."""

    def __init__(self, session: Session, generation: Generation, watermark: int | None) -> None:
        self.by_invocation, _ = placed(session.events)
        self.stored = {stored.event_id: stored for stored in session.events}
        self.watermark, self.generation = watermark, generation
        self._openings: dict[str, Opening] = {opening.invocation_id: opening for opening in session.openings}
        self._missing = Missing(self._openings, self.by_invocation)

    def running(self, invocation: str) -> bool:
        """Whether an invocation has no ending that pages read."""
        return not any(s.ends and s.ordinal is not None and not self.behind(s) for s in self.by_invocation[invocation])

    def behind(self, stored: Stored) -> bool:
        """Whether an event lies behind the watermark."""
        return self.watermark is not None and stored.ordinal is not None and stored.ordinal > self.watermark

    def closed(self, invocation: str, refused: Refused) -> str:
        """The class of pages that throw, while the Session view does not."""
        if refused.message == TOO_LARGE:
            return "V17"
        if not any(d.hard and d.message == ORPHAN for d in refused.diagnostics):
            return UNEXPLAINED
        return "V20" if self.generation == "Q-C" and self.running(invocation) else "V6"

    def missing(self, stored: Stored | None) -> str:
        """The class of a row that pages do not serve."""
        if stored is not None and self.generation == "Q-A":
            opening = self._openings.get(stored.invocation_id)
            if opening is not None and opening.source == "handoff" and not visible(opening, "Q-A"):
                return "V2"
            if self.running(stored.invocation_id):
                return "V1"
            if "coordination" in ((stored.event or {}).get("actions") or {}) and stored.ordinal is not None:
                return "V11"
        if stored is not None and self.generation == "Q-C" and stored.ordinal is None:
            return "V13"
        return self._missing.of(stored)

    def changed(self, stored: Stored | None, shown: Row, served: Row) -> str:
        """The class of a row that both have, each in its own way."""
        if self.generation == "Q-C" and stored is not None and self.running(stored.invocation_id):
            return "V20"
        kind = changed(shown, served)
        return "V10" if kind == "V9" and self.generation == "Q-A" else kind


def _rows(view: SessionView, served: list[PageRow], closed: Collection[str], told: _Told) -> list[Divergence]:
    pages = keyed([row.source for row in served], [row.row for row in served])
    shown = keyed(view.sources, view.rows)
    found: dict[tuple[str, str], list[str]] = {}
    for key, row in shown.items():
        stored = told.stored.get(key[0])
        if stored is not None and (told.behind(stored) or stored.invocation_id in closed):
            continue
        if key not in pages:
            found.setdefault((told.missing(stored), "hidden"), []).append(key[0])
        elif row != pages[key]:
            kind = told.changed(stored, row, pages[key])
            found.setdefault((kind, "differs"), []).append(key[0])
    for key in pages.keys() - shown.keys():
        found.setdefault((UNEXPLAINED, "shown"), []).append(key[0])
    result = [
        Divergence(kind, ids[0], "hidden" if how == "shown" else "shown", how, len(ids))
        for (kind, how), ids in found.items()
    ]
    common, order = [key for key in shown if key in pages], [key for key in pages if key in shown]
    moved = next((a for a, b in zip(common, order, strict=True) if a != b), None)
    if moved is not None:
        kind = "V14" if disordered(told.by_invocation) else UNEXPLAINED
        result.append(Divergence(kind, moved[0], "shown", "in another order", len(common)))
    return result
