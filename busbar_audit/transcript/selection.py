"""What a page reads, by generation of the transcript query: visibility, settlement, unit of a step (maka sheet 6.2, 6.3).

Q-A looks at one event at a time, Q-B at one ended invocation, Q-C at an unbroken run of places of one invocation. Answers of
the product are known for Q-B alone; what the others give is emulated from their text, and unverified.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from busbar_audit.transcript.ledger import OPENED, Opening, Session, Stored
from busbar_audit.transcript.projection import Event, Projection, project, stable_id, thinking_key
from busbar_audit.transcript.view import (
    MOST_BYTES,
    MOST_EVENTS,
    STRIDE,
    TOO_LARGE,
    Outcomes,
    PageRow,
    Refused,
    invocation_rows,
    placed,
)

Generation = Literal["Q-A", "Q-B", "Q-C"]
GENERATIONS: tuple[Generation, ...] = ("Q-A", "Q-B", "Q-C")
UNVERIFIED = "emulated, unverified"
_SHOWN_ACTIONS = ("permissionDecision", "permissionAnswerAccepted", "tokenUsage")


def standing(generation: Generation) -> str:
    """What the pages of a generation were held against: the product's own answers, or nothing."""
    return "verified" if generation == "Q-B" else UNVERIFIED


@dataclass(frozen=True)
class Step:
    """What a page reads at once.

    first, last : places (ordinals) it stretches over. rows : what it shows, by sequence. refusal : why it throws.
    events, size : payloads that are decoded for it, and their bytes.
    """

    invocation_id: str
    first: int
    last: int
    rows: tuple[PageRow, ...]
    refusal: Refused | None
    events: int
    size: int


def visible(opening: Opening, generation: Generation) -> bool:
    """Whether pages know an invocation; Q-A asks for a continuation, and so hides what was handed off to."""
    if generation == "Q-A":
        lineage = opening.lineage
        return "parentRunId" not in lineage or (opening.source == "continuation" and "agentId" not in lineage)
    return opening.inline


def steps(session: Session, generation: Generation, watermark: int | None = None) -> tuple[list[Step], int | None]:
    """All steps of a session by their place, and the newest place that pages know; None where they know nothing.

    Parameters
    ----------
    watermark : newest ordinal that is read; None for all.
    """
    if generation == "Q-C":
        return _runs(session, watermark)
    by_invocation, ordinals = placed(session.events)
    found: list[Step] = []
    ends: list[int] = []
    for opening in session.openings:
        own = sorted(by_invocation.get(opening.invocation_id, []), key=lambda stored: stored.seq)
        if not visible(opening, generation):
            continue
        endings = [s.ordinal for s in own if s.ends]
        if generation == "Q-B":
            first, last = ordinals.get(opening.event_id or ""), endings[0] if endings else None
            if first is None or last is None or not _within(last, watermark):
                continue
            found.append(_invocation(opening, own, session.outcomes, ordinals, (first, last), watermark))
            ends.append(last)
        else:
            settled = [at for at in endings if at is not None and _within(at, watermark)]
            if settled:
                found += _Events(opening, own, session.outcomes).steps(watermark)
                ends.append(max(settled))
    return sorted(found, key=lambda step: step.first), max(ends, default=None)


def _within(ordinal: int | None, watermark: int | None) -> bool:
    return ordinal is not None and (watermark is None or ordinal <= watermark)


def _weight(events: Sequence[Stored]) -> tuple[int, int]:
    return len(events), sum(stored.bytes for stored in events)


def _invocation(
    opening: Opening,
    own: Sequence[Stored],
    outcomes: Outcomes,
    ordinals: Mapping[str, int],
    bounds: tuple[int, int],
    watermark: int | None,
) -> Step:
    """Q-B: all events of an ended invocation, those behind the watermark too; its rows are cut there afterwards."""
    events, size = _weight(own)
    try:
        rows = invocation_rows(opening, own, outcomes, ordinals, early=True)
    except Refused as refused:
        return Step(opening.invocation_id, *bounds, (), refused, events, size)
    kept = tuple(row for row in rows if _within(row.sequence // STRIDE, watermark))
    return Step(opening.invocation_id, *bounds, kept, None, events, size)


# --- Q-A ---


class _Events:
    """Q-A: each event by itself, with what of its invocation it refers to."""

    def __init__(self, opening: Opening, own: Sequence[Stored], outcomes: Outcomes) -> None:
        self._opening, self._own, self._outcomes = opening, own, outcomes
        self._messages: dict[str, list[Stored]] = defaultdict(list)  # model contents by the message they belong to
        self._tools: dict[str, list[Stored]] = defaultdict(list)
        self._requests: dict[str, list[Stored]] = defaultdict(list)
        texts = set()
        for stored in own:
            event = stored.event
            if event is None or stored.problems:
                continue
            content, refs = event.get("content") or {}, event.get("refs") or {}
            kind = content.get("kind")
            if event["role"] == "model" and kind in ("text", "thinking"):
                self._messages[thinking_key(event)].append(stored)
                if kind == "text":
                    texts.add(stable_id(event))
            if kind in ("function_call", "function_response"):
                self._tools[content["id"]].append(stored)
                if kind == "function_call" and event["role"] == "model" and refs.get("stepId"):
                    self._messages[refs["stepId"]].append(stored)
            asked = (event.get("actions") or {}).get("permissionRequest")
            if isinstance(asked, dict) and isinstance(asked.get("requestId"), str):
                self._requests[asked["requestId"]].append(stored)
        self._texts = texts

    def steps(self, watermark: int | None) -> Iterator[Step]:
        for stored in self._own:
            if stored.ordinal is None or not _within(stored.ordinal, watermark) or not self._selected(stored):
                continue
            read = self._context(stored)
            events, size = _weight(read)
            rows, refusal = self._rows(stored, read)
            yield Step(self._opening.invocation_id, stored.ordinal, stored.ordinal, rows, refusal, events, size)

    def _selected(self, stored: Stored) -> bool:
        event = stored.event
        if event is None or stored.problems:
            return True  # it is found when it is decoded
        kind = (event.get("content") or {}).get("kind")
        if kind == "thinking":
            return thinking_key(event) not in self._texts
        if kind is not None and kind != OPENED:
            return True
        return stored.ends or any(name in (event.get("actions") or {}) for name in _SHOWN_ACTIONS)

    def _context(self, stored: Stored) -> list[Stored]:
        """The event, its thinking, what came before it of its message, and the newest request and tool name before it."""
        event = stored.event
        if event is None or stored.problems:
            return [stored]
        content, actions, refs = (event.get(name) or {} for name in ("content", "actions", "refs"))
        wanted = {stored.seq: stored}
        if content.get("kind") == "text" and event["role"] == "model":
            thoughts = [s for s in self._messages.get(stable_id(event), ()) if _kind(s) == "thinking"]
            before = [s for s in self._messages.get(thinking_key(event), ()) if s.seq < stored.seq]
            wanted |= {s.seq: s for s in (*thoughts, *before)}
        told = actions.get("permissionDecision") or actions.get("permissionAnswerAccepted") or {}
        if told:
            asked = _newest(self._requests.get(told.get("requestId") or "", ()), stored)
            wanted |= {s.seq: s for s in asked}
            used = refs.get("toolCallId") or next(
                (((s.event or {}).get("actions") or {})["permissionRequest"].get("toolUseId") for s in asked), None
            )
            wanted |= {s.seq: s for s in _newest(self._tools.get(used or "", ()), stored)}
        return [wanted[seq] for seq in sorted(wanted)]

    def _rows(self, stored: Stored, read: Sequence[Stored]) -> tuple[tuple[PageRow, ...], Refused | None]:
        if any(s.event is None or s.problems or not s.identical for s in read):
            return (), Refused("an event cannot be decoded")
        told = project([s.event or {} for s in read], {self._opening.invocation_id: self._opening.run}, self._outcomes)
        # Another text of the same message may have taken the thinking: then it is not left over.
        mine = [d for d in told.diagnostics if d.hard and d.event_id == stored.event_id]
        if mine:
            return (), Refused("the projection is refused", mine)
        return _placed_rows(told, {stored.event_id: stored.ordinal or 0})


def _kind(stored: Stored) -> str | None:
    event: Event = stored.event or {}
    found: str | None = (event.get("content") or {}).get("kind")
    return found


def _newest(told: Sequence[Stored], before: Stored) -> list[Stored]:
    return [s for s in told if s.seq < before.seq][-1:]


def _placed_rows(told: Projection, ordinals: Mapping[str, int]) -> tuple[tuple[PageRow, ...], Refused | None]:
    """Rows of the events given, with their sequences."""
    found, offset, before = [], 0, ""
    for row, source in zip(told.rows, told.sources, strict=True):
        offset, before = (offset + 1 if source == before else 0), source
        if offset >= STRIDE:
            return (), Refused("an event makes more rows than it has places")
        if source in ordinals:
            found.append(PageRow(ordinals[source] * STRIDE + offset, row, source))
    return tuple(sorted(found, key=lambda row: row.sequence)), None


# --- Q-C ---


def _runs(session: Session, watermark: int | None) -> tuple[list[Step], int | None]:
    """Q-C: maximal stretches of places that one visible invocation owns; nothing has to have ended."""
    openings = {o.invocation_id: o for o in session.openings if visible(o, "Q-C")}
    own: dict[str, list[Stored]] = defaultdict(list)
    order = sorted((s for s in session.events if _within(s.ordinal, watermark)), key=lambda s: s.ordinal or 0)
    for stored in order:
        own[stored.invocation_id].append(stored)
    folds = {name: _fold(openings[name], own[name], session.outcomes) for name in own if name in openings}
    found = []
    for invocation, stretch in groupby(order, key=lambda stored: stored.invocation_id):
        held = list(stretch)
        if invocation not in folds:
            continue
        rows, refusal = folds[invocation]
        events, size = _weight(own[invocation])
        first, last = held[0].ordinal or 0, held[-1].ordinal or 0
        inside = tuple(row for row in rows if first <= row.sequence // STRIDE <= last)
        found.append(Step(invocation, first, last, inside, refusal, events, size))
    return found, order[-1].ordinal if order else None


def _fold(opening: Opening, own: Sequence[Stored], outcomes: Outcomes) -> tuple[tuple[PageRow, ...], Refused | None]:
    events, size = _weight(own)
    if events > MOST_EVENTS or size > MOST_BYTES:
        return (), Refused(TOO_LARGE)
    if any(s.event is None or s.problems or not s.identical for s in own):
        return (), Refused("an event cannot be decoded")
    told = project(
        [s.event or {} for s in sorted(own, key=lambda s: s.seq)], {opening.invocation_id: opening.run}, outcomes
    )
    if told.refused:
        return (), Refused("the projection is refused", told.diagnostics)
    return _placed_rows(told, {s.event_id: s.ordinal or 0 for s in own})
