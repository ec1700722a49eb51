"""Faults of imports: losses, doublings, truncations and reorderings of converted turns, each in a session f2, f3 …

What rows these sessions have is in `busbar_audit.synth.maka_imports`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from busbar_audit.synth.maka import transcript_run
from busbar_audit.synth.maka_planting import NEWER, Change, MakaFault, content, to
from busbar_audit.synth.maka_rewriting import Changes, Event, add_row, random_id, rewrite

Plant = Callable[[sqlite3.Connection, str], object]
# The events of turn t1 after its opening: row of each, and what it is.
T1 = (
    (0, "user"),
    (2, "assistant"),
    (2, "thinking"),
    (2, "thinking"),
    (3, "tool_call"),
    (4, "permission_decision"),
    (5, "tool_result"),
    (6, "token_usage"),
    (7, "system_note"),
    (8, "assistant"),
)
_LAST = 9  # the row with the turn's ending
_MISSING = "missing_terminal_event"


def _failed(events: Sequence[Event], **delta: Any) -> Event:
    """An ending without the row that decided it."""
    end = {key: value for key, value in events[-1].items() if key not in ("refs", "content")}
    told = {"failureClass": _MISSING, "errorClass": _MISSING, **delta}
    return end | {"status": "failed", "actions": {"endInvocation": True, "stateDelta": told}}


def _on(k: int, change: Changes, **more: Any) -> Plant:
    return lambda con, s: rewrite(con, s, k, change, **more)


def _without(n: int) -> Plant:
    return _on(1, lambda events: [e for at, e in enumerate(events) if at != n])


def _cut(n: int) -> Plant:
    """Keep the opening and n events, and end the turn as one whose ending was not found."""
    return _on(1, lambda events: [*events[: n + 1], _failed(events)])


def _open(n: int) -> Plant:
    return _on(1, lambda events: events[: n + 1])


def _again(n: int) -> Plant:
    return _on(1, lambda events: [*events[: n + 1], events[n], *events[n + 1 :]])


def _swap(n: int, m: int) -> Plant:
    def change(events: list[Event]) -> list[Event]:
        events[n], events[m] = events[m], events[n]
        return events

    return _on(1, change)


def _said(n: int, change: Change) -> Plant:
    def apply(events: list[Event]) -> list[Event]:
        change(events[n])
        return events

    return _on(1, apply)


def _gone(tail: str) -> Plant:
    """Take one event out, and leave the gap."""

    def apply(con: sqlite3.Connection, s: str) -> None:
        event_id = f"{transcript_run(s, f'{s}-t1')}-{tail}"
        con.execute("DELETE FROM runtime_events WHERE event_id = ?", (event_id,))
        con.execute("DELETE FROM runtime_session_event_ordinals WHERE event_id = ?", (event_id,))

    return apply


def _late(type_: str, turn: str, **members: Any) -> Plant:
    def apply(con: sqlite3.Connection, s: str) -> None:
        record = {"type": type_, "id": f"{s}-late", "turnId": turn.format(s=s), "ts": 4_000_000_000_000, **members}
        add_row(con, s, record)

    return apply


def _steering(con: sqlite3.Connection, s: str) -> None:
    _late("user", "{s}-t4", text="and", steeringEventId="gone")(con, s)


def _losses() -> Iterator[MakaFault]:
    beside = {1: (), 2: ("B27", "B35"), 5: ("B25",), 7: ("B24",)}
    for n, (row, kind) in enumerate(T1, start=1):
        yield _fault(f"lost-{n}-{kind}", ("D12", *beside.get(n, ())), _without(n), (row, row), "not known")
    for k, first in ((2, 10), (3, 13), (4, 16)):
        # Where the last turn is gone, its rows are later than all that the ledger has.
        yield _fault(
            f"lost-turn-{k}",
            ("D03", "D18") if k == 4 else ("D03",),
            _on(k, lambda _: []),
            (first, first),
            f"{{s}}-t{k}",
        )
    yield _fault("lost-with-gaps", ("D12", "B01", "B05", "D10"), _gone("e9"), (7, 7), "the numbers have gaps")
    yield _fault("lost-steering", ("L13",), _steering, (21, 21), "{s}-t4")
    late = _late("assistant", "{s}-t1", text="late", modelId="m")
    yield _fault("lost-late-row", ("D12", "L10"), late, (21, 21), "rows written after the turn was converted")
    note = _late("system_note", "{s}-t1", kind="context_window_overrun")
    yield _fault("lost-note", ("D14", "L10"), note, (21, 21), "context_window_overrun")


def _truncations() -> Iterator[MakaFault]:
    for n in range(1, 10):
        first = next(row for at, (row, _) in enumerate(T1, start=1) if at > n)
        cause = "sealed before its rows were converted"
        yield _fault(f"cut-after-{n}", ("D12", "D07"), _cut(n), (first, 8), cause)
    for n in (0, 1, 3, 5, 8):
        first = next(row for at, (row, _) in enumerate(T1, start=1) if at > n)
        cause = "a conversion was interrupted inside the turn"
        yield _fault(f"open-after-{n}", ("D06", "B19"), _open(n), (first, _LAST), cause, place="{run}")


def _doublings() -> Iterator[MakaFault]:
    beside = {1: ("R01",)}
    for n, (_, kind) in enumerate(T1, start=1):
        cause = "converted by two attempts"
        seqs = (4, 6) if kind == "thinking" else (n + 1, n + 2)
        yield _fault(f"twice-{n}-{kind}", ("D11", *beside.get(n, ())), _again(n), seqs, cause)


def _reorderings() -> Iterator[MakaFault]:
    for n, m in ((1, 2), (3, 4), (5, 6), (6, 7), (8, 9), (9, 10), (2, 10)):
        yield _fault(f"order-{n}-{m}", ("D10",), _swap(n, m), None, "after one of a later row", place="{run}")


def _contents() -> Iterator[MakaFault]:
    def usage(event: Event) -> None:
        event["actions"]["tokenUsage"]["output"] = 21

    def decided(event: Event) -> None:
        event["actions"]["permissionDecision"]["decision"] = "deny"

    changes: tuple[tuple[int, Change], ...] = (
        (1, content(text="other")),
        (2, content(text="")),
        (3, content(text="other")),
        (4, content(signature="t")),
        (5, content(args={"path": "other"})),
        (6, decided),
        (7, content(isError=True)),
        (8, usage),
        (9, content(data={"before": 8})),
        (10, content(text="step a1")),
    )
    for n, change in changes:
        row, kind = T1[n - 1]
        yield _fault(f"says-{n}-{kind}", ("D13",), _said(n, change), (row, row), kind, place=f"{{run}}-e{n}")
    foreign = _said(10, to(refs={"storedMessageId": "nobody"}))
    yield _fault("says-what-no-row-says", ("D13", "D12"), foreign, None, "row nobody", place="{run}-e10")


def _accidents() -> Iterator[MakaFault]:
    def prefix(n: int) -> Changes:
        return lambda events: events[: n + 1]

    def clocked(events: list[Event]) -> list[Event]:
        for event in events[1:]:
            event["actions"]["stateDelta"]["makaRuntimeRecovery"]["generatedAt"] += 60_000
        return events

    start = "a start that failed, sealed before the prompt"
    yield _fault("start-failed", ("D12", "D07"), _cut(0), (0, 8), start)
    frozen = _on(1, prefix(0), ids=random_id)
    yield _fault("frozen-at-once", ("D06", "D09", "B19"), frozen, (0, _LAST), "C1 was killed at once", place="{run}")
    frozen = _on(1, prefix(2), ids=random_id)
    yield _fault("frozen", ("D06", "D09", "B19"), frozen, (8, _LAST), "C1 was killed inside the turn", place="{run}")

    def recovered(events: list[Event]) -> list[Event]:
        end = _failed(events, recovered=True, recoveryReason="app_restart")
        error = {"kind": "error", "code": "x", "reason": "x", "message": "x"}
        return [*events[:2], end | {"content": error}]

    sealed = "generic recovery sealed an unfinished conversion"
    yield _fault("sealed-by-recovery", ("D12", "D07"), _on(1, recovered), (2, 8), sealed)
    live = _on(1, lambda events: clocked([*events[:2], _failed(events, makaRuntimeRecovery=_mark(events))]))
    yield _fault("sealed-live-clock", ("D12", "D07"), live, (2, 8), "a conversion of the C2 kind")
    cause = "C0 was killed inside the turn and resumed"
    yield _fault("resumed-inside", ("D11", "R01", "D09"), _resumed, (2, 3), cause)


def _mark(events: Sequence[Event]) -> Any:
    return dict(events[-1]["actions"]["stateDelta"]["makaRuntimeRecovery"])


def _resumed(con: sqlite3.Connection, s: str) -> None:
    """A turn of conversation text by C0, its user message stored twice."""
    c0 = f"invocation-{transcript_run(s, f'{s}-t2')}"
    rewrite(con, s, 2, lambda events: [*events[:2], *events[1:]], ids=random_id, invocation=c0)


def _fault(
    name: str, codes: tuple[str, ...], apply: Plant, rows: tuple[int, int] | None, cause: str, place: str = "{s}"
) -> MakaFault:
    return MakaFault(name, codes, place, apply, NEWER, "f", rows=rows, cause=cause)


FAULTS = (*_losses(), *_truncations(), *_doublings(), *_reorderings(), *_contents(), *_accidents())
