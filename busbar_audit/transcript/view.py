"""The two readers of a session's transcript, as the product has them: the Session view and the rows of its pages.

The Session view folds all inline invocations at once (maka sheet 5.2); a page folds one invocation (5.1, 6.3 Q-B).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from busbar_audit.transcript.event_shape import TERMINAL
from busbar_audit.transcript.ledger import Opening, Stored
from busbar_audit.transcript.projection import (
    LINEAGE,
    Diagnostic,
    Event,
    Projection,
    Row,
    Rules,
    abort_source,
    failure_class,
    is_terminal,
    project,
    thinking_key,
)

STRIDE = 8
# What a page reads of one turn at most; beyond it the turn, and every page whose scan reaches it, is refused.
MOST_EVENTS, MOST_BYTES = 8_192, 16 << 20
TOO_LARGE = "the turn is too large for a page"
EMPTY = ":active-transcript-empty-text"
_BY_SEQ = attrgetter("seq")
Outcomes = Mapping[str, Mapping[str, Any]]
Partials = Iterable[tuple[str, str | None, Event]]


class Refused(Exception):
    """A reader throws instead of showing the transcript; with the diagnostics it gives."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.message, self.diagnostics = message, tuple(diagnostics)


@dataclass(frozen=True)
class SessionView:
    """What the Session view shows.

    rows, sources : transcript rows and the events they came from. turns : a record for each turn.
    diagnostics : the soft ones. order : ids of the events as they were folded.
    owners : for each row the invocation it came from. alone : invocations of which a fold of their own gives the same rows.
    """

    rows: list[Row] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    alone: frozenset[str] = frozenset()


class PageRow(NamedTuple):
    """One row of a page: its durable sequence (ordinal x 8 + offset), the row, and the event it came from."""

    sequence: int
    row: Row
    source: str


def session_view(
    openings: Sequence[Opening],
    events: Iterable[Stored],
    outcomes: Outcomes,
    partials: Partials = (),
    rules: Rules = "P",
) -> SessionView:
    """The Session view of one session.

    Parameters
    ----------
    openings : of all its invocations. events : all its events. partials : live texts.

    Raises
    ------
    Refused : the product throws for the whole session.
    """
    inline = [opening for opening in openings if opening.inline]
    held = list(events)
    runs, live = _runs(inline, held, partials)
    times, sizes = Counter(opening.run_id for opening in inline), Counter(stored.invocation_id for stored in held)
    settled: list[tuple[Any, Event]] = []
    going: list[tuple[Any, Event]] = []
    diagnostics: list[Diagnostic] = []
    open_turns: list[str] = []
    alone = set()
    for at, opening in enumerate(inline):
        own = runs.get(opening.run_id, [])
        ends = [one.event for one in own if is_terminal(one.event) and not one.event["partial"]]
        if not ends:
            open_turns.append(opening.turn_id)
            shown = active([one.event for one in own])
            going += [((event["ts"], at, place, event["id"]), event) for place, event in enumerate(shown)]
            continue
        diagnostics += _terminal_fact(opening, ends)
        places = _ordinals([one.ordinal for one in own])
        settled += [
            ((ordinal, place, one.event["id"]), one.event)
            for place, (one, ordinal) in enumerate(zip(own, places, strict=True))
        ]
        if (
            times[opening.run_id] == 1
            and opening.run_id not in live
            and sizes[opening.invocation_id] == len(own)
            and all(one.event["invocationId"] == opening.invocation_id for one in own)
            and places == sorted(places)
        ):
            alone.add(opening.invocation_id)
    order = [event for _, event in sorted(settled, key=itemgetter(0))]
    order += [event for _, event in sorted(going, key=itemgetter(0))]
    told = project(order, {o.invocation_id: o.run for o in inline}, outcomes, rules)
    if told.refused:
        raise Refused("the projection is refused", told.diagnostics)
    return SessionView(
        told.rows,
        told.sources,
        _turns(told.rows, open_turns),
        diagnostics + told.diagnostics,
        [event["id"] for event in order],
        told.owners,
        frozenset(alone - told.crossed),
    )


def page_rows(openings: Sequence[Opening], events: Iterable[Stored], outcomes: Outcomes) -> list[PageRow]:
    """All rows that pages of query generation Q-B serve, by sequence.

    Raises
    ------
    Refused : a page throws.
    """
    by_invocation, ordinals = placed(events)
    found: list[PageRow] = []
    for opening in openings:
        found += invocation_rows(opening, by_invocation.get(opening.invocation_id, ()), outcomes, ordinals)
    return sorted(found, key=lambda row: row.sequence)


def placed(events: Iterable[Stored]) -> tuple[dict[str, list[Stored]], dict[str, int]]:
    """Events by invocation, and the ordinals of all that have one."""
    by_invocation: dict[str, list[Stored]] = defaultdict(list)
    for stored in events:
        by_invocation[stored.invocation_id].append(stored)
    ordinals = {s.event_id: s.ordinal for own in by_invocation.values() for s in own if s.ordinal is not None}
    return by_invocation, ordinals


def invocation_rows(
    opening: Opening,
    events: Iterable[Stored],
    outcomes: Outcomes,
    ordinals: Mapping[str, int],
    folded: Projection | None = None,
    early: bool = False,
) -> list[PageRow]:
    """What pages serve of one invocation: nothing of one that is not inline, has not ended, or has no place.

    Parameters
    ----------
    folded : its fold, where it is known already, and its events have been found readable.
    early : with what stands before its opening, which a page has only where it got there from further on (V16).

    Raises
    ------
    Refused : every page that reaches the invocation throws.
    """
    if not opening.inline or opening.event_id is None:
        return []
    own = sorted(events, key=_BY_SEQ)
    ends = [s for s in own if s.event is not None and is_terminal(s.event)]
    if len(own) > MOST_EVENTS or sum(s.bytes for s in own) > MOST_BYTES:
        raise Refused(TOO_LARGE)
    first, last = ordinals.get(opening.event_id), ends[0].ordinal if ends else None
    if first is None or last is None:
        return []
    if folded is None:
        _readable(own)
        folded = project([s.event for s in own if s.event], {opening.invocation_id: opening.run}, outcomes)
    if folded.refused:
        raise Refused("the projection is refused", folded.diagnostics)
    return _sequenced(folded, ordinals, 0 if early else first, last)


def _sequenced(told: Projection, ordinals: Mapping[str, int], first: int, last: int) -> list[PageRow]:
    found, offset, before = [], 0, ""
    for row, source in zip(told.rows, told.sources, strict=True):
        offset, before = (offset + 1 if source == before else 0), source
        ordinal = ordinals.get(source)
        if offset >= STRIDE:
            raise Refused("an event makes more rows than it has places")
        if ordinal is not None and first <= ordinal <= last:
            found.append(PageRow(ordinal * STRIDE + offset, row, source))
    return found


def active(events: Sequence[Event]) -> list[Event]:
    """Events of an open run as they are shown: partial texts as settled, an empty text after thinking that has none."""
    shown = [
        {**event, "partial": False} if event["partial"] and _of_model(event, "text", "thinking") else event
        for event in events
    ]
    said = {thinking_key(event) for event in shown if _of_model(event, "text")}
    last = {thinking_key(event): at for at, event in enumerate(shown) if _of_model(event, "thinking")}
    result: list[Event] = []
    for at, event in enumerate(shown):
        result.append(event)
        if _of_model(event, "thinking") and last[thinking_key(event)] == at and thinking_key(event) not in said:
            result.append({**event, "id": event["id"] + EMPTY, "content": {"kind": "text", "text": ""}})
    return result


def _of_model(event: Event, *kinds: str) -> bool:
    return event["role"] == "model" and (event.get("content") or {}).get("kind") in kinds


def _readable(events: Iterable[Stored]) -> None:
    for stored in events:
        if stored.event is None or stored.problems:
            raise Refused("an event cannot be decoded")
        if not stored.identical:
            raise Refused("an event's payload names another event")


class _Read(NamedTuple):
    """A decoded event with its place in the session."""

    event: Event
    ordinal: int | None


def _runs(
    inline: Sequence[Opening], events: Iterable[Stored], partials: Partials
) -> tuple[dict[str, list[_Read]], set[str]]:
    """Events of each run in ledger order, live texts after the event they followed; and the runs that have live texts."""
    wanted = {opening.run_id for opening in inline}
    own = [stored for stored in events if stored.run_id in wanted]
    _readable(own)
    runs: dict[str, list[_Read]] = defaultdict(list)
    for stored in sorted(own, key=_BY_SEQ):
        runs[stored.run_id].append(_Read(stored.event or {}, stored.ordinal))
    live = set()
    for run, after, partial in partials:
        if run not in wanted:
            continue
        live.add(run)
        ids = [one.event["id"] for one in runs[run]]
        at = ids.index(after) + 1 if after in ids else (len(ids) if after is None else 0)
        while at < len(ids) and runs[run][at].event["partial"]:
            at += 1
        runs[run].insert(at, _Read(partial, None))
    return runs, live


def _ordinals(told: Sequence[int | None]) -> list[float]:
    """The place of each event: its own, else that of the one before it in its run, else that of the one after it."""
    places: list[float | None] = []
    for ordinal in told:
        places.append(ordinal if ordinal is not None else (places[-1] if places else None))
    following = next((place for place in places if place is not None), float("inf"))
    return [following if place is None else place for place in places]


def _terminal_fact(opening: Opening, ends: Sequence[Event]) -> list[Diagnostic]:
    """What is soft about how a run ended.

    Raises
    ------
    Refused : it has not exactly one ending, or one without a status.
    """

    def said(message: str, event: Event | None) -> Diagnostic:
        at = event["id"] if event else None
        return Diagnostic("incomplete_event", at, opening.run_id, opening.turn_id, message)

    refusal = "a run that ended has no valid ending"
    own = [event for event in ends if event["turnId"] == opening.turn_id]
    if len(own) > 1:
        raise Refused(refusal, [said("more than one ending", None)])
    if not own:
        raise Refused(refusal, [said("no ending of its own turn", None)])
    event = own[0]
    status = event.get("status")
    if status not in TERMINAL:
        raise Refused(refusal, [said("an ending without an outcome", event)])
    if status == "failed" and failure_class(event) is None:
        return [said("a failure without a class", event)]
    if status in ("aborted", "cancelled") and abort_source(event) is None:
        return [said("a stop without a source", event)]
    return []


def _turns(rows: Sequence[Row], open_turns: Sequence[str]) -> list[Row]:
    """A record for each turn, in the order in which turns appear in the rows."""
    by_turn: dict[str, list[Row]] = {}
    for row in rows:
        if "turnId" in row:
            by_turn.setdefault(row["turnId"], []).append(row)
    turns = []
    for turn, own in by_turn.items():
        states = [row for row in own if row["type"] == "turn_state"]
        if states:
            keys = (*LINEAGE, "abortedAt", "abortSource", "errorClass", "failureMessage", "retry")
            last = {key: states[-1][key] for key in keys if key in states[-1]}
            record = {"turnId": turn, "status": states[-1]["status"], "statusSource": "recorded", **last}
        else:
            record = {"turnId": turn, "status": _inferred(own), "statusSource": "inferred"}
        if turn in open_turns:
            record = {"turnId": turn, "status": "running", "statusSource": "recorded"}
        turns.append(record)
    shown = set(by_turn)
    for turn in dict.fromkeys(open_turns):
        if turn not in shown:
            turns.append({"turnId": turn, "status": "running", "statusSource": "recorded"})
    return turns


def _inferred(rows: Sequence[Row]) -> str:
    if any(row["type"] == "system_note" and row["kind"] == "abort" for row in rows):
        return "aborted"
    if any(row["type"] == "assistant" for row in rows):
        return "completed"
    return "failed" if any(row["type"] == "tool_result" and row["isError"] for row in rows) else "completed"
