"""Reading the ledger of one session from a finished copy: events, ordinals, openings of both shelves, partial texts.

Generations (maka sheet sections 1.3 to 1.7): ordinals from runtime schema 11 on, openings as events and on a shelf of
their own from 16 on, before that the headers of runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import Problem
from busbar_audit.transcript.event_shape import event_problems
from busbar_audit.transcript.projection import LINEAGE, Run, is_terminal
from busbar_audit.transcript.reader import Reader
from busbar_audit.transcript.values import parsed

# A live text: its run, the event it came after, and the event it is going to be.
Partial = tuple[str, str | None, dict[str, Any]]
AUTHORITY = "maka_workspace_authority"
OPENED = "invocation_opened"


@dataclass(slots=True)
class Stored:
    """One row of the ledger: its columns, what was read from its payload, and its place in the session.

    bytes : of the payload. event : None where the payload is no JSON object. problems : what keeps it from being decoded.
    canonical : whether the payload is the canonical form of the event. row : its number in the table.
    """

    event_id: str
    session_id: str
    invocation_id: str
    run_id: str
    turn_id: str
    seq: int
    committed_at: int
    ordinal: int | None
    bytes: int
    event: dict[str, Any] | None
    problems: tuple[Problem, ...]
    canonical: bool = False
    row: int = -1
    _identical: bool | None = None
    _ends: bool | None = None

    @property
    def identical(self) -> bool:
        """Whether the payload names itself as the columns do."""
        if self._identical is None:
            get = (self.event or {}).get
            self._identical = (
                get("id") == self.event_id
                and get("sessionId") == self.session_id
                and get("invocationId") == self.invocation_id
                and get("runId") == self.run_id
                and get("turnId") == self.turn_id
            )
        return self._identical

    @property
    def ends(self) -> bool:
        """Whether it ends its invocation."""
        if self._ends is None:
            self._ends = self.event is not None and is_terminal(self.event)
        return self._ends


@dataclass(frozen=True)
class Opening:
    """How an invocation began. shelf : event, legacy (moved there by the migration to 16) or header (before it)."""

    invocation_id: str
    session_id: str
    run_id: str
    turn_id: str
    opened_at: float
    shelf: str
    event_id: str | None
    model: str = ""
    source: str = "fresh"
    lineage: Mapping[str, str] = field(default_factory=dict)

    @property
    def inline(self) -> bool:
        """Whether the invocation is part of the session's own transcript, and not of a subagent's."""
        return "parentRunId" not in self.lineage or (self.source != "fresh" and "agentId" not in self.lineage)

    @property
    def run(self) -> Run:
        """What the projection needs of it."""
        return Run(self.model, self.lineage)


_NO_JSON = (Problem("", "not JSON"),)
# Bytes of payloads that are read at once, and most sessions.
_BYTES, _SESSIONS = 16 << 20, 500
_OWN = "session_id IN ({these})"
_PLACE = attrgetter("invocation_id", "seq")
_COLUMNS = "event_id, session_id, invocation_id, run_id, turn_id, event_seq, committed_at, payload_json"


def reading(con: Any) -> tuple[frozenset[str], Any]:
    """Tables of schema ``raw``, and a connection of its own to read them: what is made of them is put in beside."""
    own = con.cursor()
    own.execute("USE warehouse")
    found = own.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'").fetchall()
    return frozenset(name for (name,) in found), own


def loaded(con: Any) -> Ledger:
    """The ledger in schema ``raw``, of the generation its tables tell."""
    tables, own = reading(con)
    return Ledger(own, tables, 16 if "runtime_legacy_invocation_openings" in tables else 15, "raw")


def opening_of(content: Any) -> dict[str, Any]:
    """Model, source and lineage of an opening, as far as they are texts in their places."""
    route, source, lineage = (_member(content, key) for key in ("route", "source", "lineage"))
    return {
        "model": _text(route.get("modelId")),
        "source": _text(source.get("kind")) or "fresh",
        "lineage": {key: value for key, value in lineage.items() if isinstance(value, str)},
    }


def _member(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


@dataclass
class Session:
    """All that a transcript is made from: events by invocation and number, openings by time, live texts, outcomes."""

    events: list[Stored] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    partials: list[Partial] = field(default_factory=list)
    outcomes: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class Ledger:
    """The ledger in SQLite (a finished copy), or in schema ``raw`` of the warehouse.

    Parameters
    ----------
    con : either kind of connection; text has to arrive as text. tables : those that may be read.
    schema : ``raw`` in the warehouse, ``main`` in SQLite. version : runtime schema.
    """

    def __init__(self, con: Any, tables: Collection[str], version: int, schema: str = "main") -> None:
        self._con, self._tables, self._schema = con, frozenset(tables), schema
        self._reader = Reader()
        # Whether openings are events, and transcripts are read from the ledger alone.
        self.newer = version >= 16

    def sessions(self) -> list[tuple[str, int]]:
        """Sessions that have events, with the bytes of their payloads; the workspace's own stream left out."""
        found = self._ask(
            """SELECT session_id, sum(length(payload_json)) FROM {schema}.runtime_events
            WHERE session_id IS NOT NULL GROUP BY session_id ORDER BY session_id"""
        )
        return [(session, int(size or 0)) for session, size in found if session != AUTHORITY]

    def each(self) -> Iterator[tuple[str, Session]]:
        """Every session with its name. Some are read at a time, and decoded one by one, so that memory follows the largest."""
        batch: list[str] = []
        size = 0
        for session, held in self.sessions():
            if batch and (size + held > _BYTES or len(batch) >= _SESSIONS):
                yield from self._some(batch)
                batch, size = [], 0
            batch.append(session)
            size += held
        if batch:
            yield from self._some(batch)

    def read(self, sessions: Sequence[str]) -> dict[str, Session]:
        """Read some sessions at once."""
        return dict(self._some(sessions))

    def _some(self, names: Sequence[str]) -> Iterator[tuple[str, Session]]:
        rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
        for row in self._rows(_OWN, names):
            rows[row[2]].append(row)
        ordinals = self._ordinals(names)
        others: dict[str, list[Opening]] = defaultdict(list)
        for opening in (*self._shelf(names), *self._headers(names)):
            others[opening.session_id].append(opening)
        partials, outcomes = self._partials(names), self._outcomes(names)
        for name in names:
            events = [self._stored(row, ordinals[name]) for row in rows.pop(name)]
            events.sort(key=_PLACE)
            openings = sorted(_openings(name, events, others[name]), key=attrgetter("opened_at", "invocation_id"))
            yield name, Session(events, openings, partials[name], outcomes[name])

    def events(self) -> Iterator[Stored]:
        """Every event, in no order and without its place in the session."""
        return (self._stored(row, {}) for row in self._rows("true", ()))

    def unowned(self) -> Iterator[Stored]:
        """Events that `sessions` leaves out."""
        return (self._stored(row, {}) for row in self._rows("session_id IS NULL OR session_id = ?", (AUTHORITY,)))

    def _ask(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        marks = ", ".join("?" * len(values))
        done = self._con.execute(query.format(schema=self._schema, these=marks), list(values))
        while rows := done.fetchmany(5000):
            yield from rows

    def _rows(self, which: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        row = "_row" if self._schema == "raw" else "rowid"
        return self._ask(f"SELECT {row}, {_COLUMNS} FROM {{schema}}.runtime_events WHERE {which}", values)  # noqa: S608

    def _ordinals(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {name: {} for name in names}
        if "runtime_session_event_ordinals" in self._tables:
            query = f"SELECT session_id, event_id, ordinal FROM {{schema}}.runtime_session_event_ordinals WHERE {_OWN}"  # noqa: S608
            for session, event_id, ordinal in self._ask(query, names):
                found[session][event_id] = ordinal
        return found

    def _stored(self, row: tuple[Any, ...], ordinals: Mapping[str, int]) -> Stored:
        number, event_id, session, invocation, run, turn, seq, at, payload = row
        size, event, problems, canonical = self._decode(payload)
        ordinal = ordinals.get(event_id)
        return Stored(
            event_id, session, invocation, run, turn, seq, at, ordinal, size, event, problems, canonical, number
        )

    def _decode(self, payload: str | None) -> tuple[int, dict[str, Any] | None, tuple[Problem, ...], bool]:
        """Bytes, event, problems and whether it is canonical, as in `Stored`."""
        text = payload or ""
        try:
            event, size, canonical = self._reader.read(text)
        except js.NotJson:
            return len(text.encode("utf-8", "surrogatepass")), None, _NO_JSON, False
        return size, (event if isinstance(event, dict) else None), tuple(event_problems(event)), canonical

    def _shelf(self, names: Sequence[str]) -> Iterator[Opening]:
        if "runtime_legacy_invocation_openings" not in self._tables:
            return
        rows = self._ask(
            """SELECT invocation_id, session_id, run_id, turn_id, opened_at, anchor_event_id, opening_json
            FROM {schema}.runtime_legacy_invocation_openings WHERE session_id IN ({these})""",
            names,
        )
        for invocation, session, run, turn, at, anchor, text in rows:
            yield Opening(invocation, session, run, turn, at, "legacy", anchor, **opening_of(parsed(text)))

    def _headers(self, names: Sequence[str]) -> Iterator[Opening]:
        if self.newer or "core_agent_runs" not in self._tables:
            return
        rows = self._ask(
            "SELECT session_id, record_json FROM {schema}.core_agent_runs WHERE session_id IN ({these})", names
        )
        for session, text in rows:
            header = parsed(text)
            if isinstance(header, dict):
                yield header_opening(session, header)

    def _partials(self, names: Sequence[str]) -> dict[str, list[Partial]]:
        found: dict[str, list[Partial]] = {name: [] for name in names}
        if "runtime_partial_snapshots" not in self._tables:
            return found
        parts: dict[str, list[str]] = {}
        if "runtime_partial_segments" in self._tables:
            rows = self._ask(
                """SELECT g.stream_key, g.text_content FROM {schema}.runtime_partial_segments g
                JOIN {schema}.runtime_partial_snapshots p ON p.stream_key = g.stream_key
                WHERE p.session_id IN ({these}) ORDER BY g.stream_key, g.segment_seq""",
                names,
            )
            for key, text in rows:
                parts.setdefault(key, []).append(text)
        rows = self._ask(
            """SELECT stream_key, session_id, run_id, after_event_id, payload_json, text_content
            FROM {schema}.runtime_partial_snapshots WHERE session_id IN ({these}) ORDER BY updated_at, stream_key""",
            names,
        )
        for key, session, run, after, payload, text in rows:
            _, event, problems, _ = self._decode(payload)
            if event is not None and not problems and isinstance(event.get("content"), dict):
                whole = "".join([text or "", *parts.get(key, ())])
                found[session].append((run, after, {**event, "content": {**event["content"], "text": whole}}))
        return found

    def _outcomes(self, names: Sequence[str]) -> dict[str, dict[str, Mapping[str, Any]]]:
        found: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in names}
        if not {"core_interaction_requests", "core_interaction_outcomes"} <= self._tables:
            return found
        rows = self._ask(
            """SELECT q.request_id, q.session_id, q.record_json, o.record_json
            FROM {schema}.core_interaction_requests q
            JOIN {schema}.core_interaction_outcomes o ON o.request_id = q.request_id WHERE q.session_id IN ({these})""",
            names,
        )
        for request_id, session, asked, told in rows:
            merged = _outcome(parsed(asked), parsed(told))
            if merged is not None:
                found[session][request_id] = merged
        return found


def _openings(session: str, events: Sequence[Stored], others: Sequence[Opening]) -> Iterable[Opening]:
    """Openings of a session: the first event that is one, else what the shelf or a header says."""
    begun: dict[str, Opening] = {}
    first: dict[str, Stored] = {}
    for stored in events:
        content = None if stored.event is None else stored.event.get("content")
        if isinstance(content, dict) and content.get("kind") == OPENED:
            known = first.get(stored.invocation_id)
            if known is None or stored.seq < known.seq:
                first[stored.invocation_id] = stored
    for stored in first.values():
        event = stored.event or {}
        begun[stored.invocation_id] = Opening(
            stored.invocation_id,
            session,
            stored.run_id,
            stored.turn_id,
            _number(event.get("ts")),
            "event",
            stored.event_id,
            **opening_of(event["content"]),
        )
    for opening in others:
        begun.setdefault(opening.invocation_id, opening)
    return begun.values()


def header_opening(session: str, header: Mapping[str, Any]) -> Opening:
    """The opening that the header of a run stands for, before openings were events."""
    run = _text(header.get("runId"))
    keys = (*LINEAGE, "parentRunId", "resumedFromRunId", "retriedFromRunId", "agentId", "agentName")
    lineage = {key: header[key] for key in keys if isinstance(header.get(key), str)}
    return Opening(
        _text(header.get("invocationId")) or run,
        session,
        run,
        _text(header.get("turnId")),
        _number(header.get("createdAt")),
        "header",
        None,
        _text(header.get("modelId")),
        "continuation" if "resumedFromRunId" in lineage else "fresh",
        lineage,
    )


def _outcome(asked: Any, told: Any) -> Mapping[str, Any] | None:
    """A canonical permission outcome with its request; None for a question's, or one that lacks a part."""
    request, outcome = _member(asked, "request"), _member(told, "outcome")
    complete = (
        {"sessionId", "runId", "turnId", "requestId"} <= (told.keys() if isinstance(told, dict) else set())
        and {"decision", "committedAt"} <= outcome.keys()
        and "toolUseId" in request
        and "toolName" in _member(request, "prompt")
    )
    return {**told, "request": request} if complete else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
