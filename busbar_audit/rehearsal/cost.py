"""How long the product's own conversion of a session takes: a model with named terms, fitted to what was measured of it.

Each append reads what is stored of its turn, so that a turn costs the square of its events, and its events times its bytes; the
resequence costs the square of the whole session's events. Figures are those of the fact sheet's baseline: two cores, an
fdatasync of 0.23 ms, synchronous FULL. Another machine needs its own factor, which `Model.scaled` takes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

MEBIBYTE = 1 << 20
# Unit of each term, in seconds a ….
TERMS = (
    "session", "event", "MiB of rows", "million event² of a turn", "million event × tool event of a turn",
    "thousand event × MiB of a turn", "thousand tool event × MiB of a turn", "thousand million event² of the session",
)  # fmt: skip
_EARLY = ("turn", "thousand turn × row", "thousand turn × MiB")


@dataclass(frozen=True)
class Turns:
    """So many turns of one shape. events : of one turn, opening and ending counted. tools : of these, calls and results."""

    count: int
    events: int
    tools: int
    mebibytes: float


@dataclass(frozen=True)
class Measured:
    """One measured conversion. resequence : seconds of its last step, None where it was not told."""

    name: str
    seconds: float
    turns: tuple[Turns, ...]
    resequence: float | None = None


# Of the merged converter (C4). Turns of sessions that were told by their rows alone are taken as equal.
C4 = (
    Measured("1k rows", 1.9, (Turns(200, 6, 0, 0.2 / 200),), 0.06),
    Measured("5k rows", 8.7, (Turns(1_000, 6, 0, 0.8 / 1_000),), 0.96),
    Measured("20k rows", 42.0, (Turns(4_000, 6, 0, 3.2 / 4_000),), 13.7),
    Measured("text turn 100", 0.18, (Turns(1, 100, 0, 0.02),)),
    Measured("text turn 1,000", 2.9, (Turns(1, 1_000, 0, 0.2),), 0.03),
    Measured("text turn 4,000", 41.8, (Turns(1, 4_000, 0, 0.7),), 0.47),
    Measured("tool turn 100", 0.29, (Turns(1, 100, 98, 0.02),)),
    Measured("tool turn 1,000", 8.9, (Turns(1, 1_000, 998, 0.2),), 0.04),
    Measured("tool turn 4,000", 110.0, (Turns(1, 4_000, 3_998, 0.6),), 0.44),
    Measured("5 MiB turn, 1 result", 0.24, (Turns(1, 6, 2, 5.0),)),
    Measured("5 MiB turn, 40 texts", 0.49, (Turns(1, 43, 0, 5.0),)),
    Measured("5 MiB turn, 80 results", 1.5, (Turns(1, 164, 160, 5.0),)),
    Measured("16 MiB turn, 250 results", 12.7, (Turns(1, 504, 500, 15.7),), 0.01),
    Measured("1,000 turns", 20.3, (Turns(1_000, 11, 0, 3.3 / 1_000),), 3.8),
    Measured("real long session", 56.4, (Turns(2_200, 11, 0, 54.0 / 2_200),), 18.1),
)


@dataclass(frozen=True)
class Early:
    """A measured conversion by the first converter (C0), which reads all rows again for every turn."""

    turns: int
    rows: int
    mebibytes: float
    seconds: float


# The last one at the rate of a quiet machine, 385 ms a turn.
C0 = (
    Early(250, 2_502, 2.1, 13.5),
    Early(500, 5_005, 10.2, 53.3),
    Early(1_000, 10_010, 3.3, 73.0),
    Early(2_200, 22_022, 46.7, 847.0),
)


@dataclass(frozen=True)
class Model:
    """A fitted model: seconds by term. band : the largest deviation of a fitted row, as a part of what was measured."""

    terms: Mapping[str, float]
    band: float

    def seconds(self, features: Sequence[float]) -> float:
        """What a session of these features takes."""
        return float(sum(each * cost for each, cost in zip(features, self.terms.values(), strict=True)))

    def scaled(self, factor: float) -> Model:
        """The same on a machine that takes so many times as long."""
        return Model({name: cost * factor for name, cost in self.terms.items()}, self.band)


def features(turns: Iterable[Turns]) -> list[float]:
    """Of a session, how much of each of `TERMS` there is."""
    found = list(turns)
    events = sum(t.count * t.events for t in found)
    return [
        1.0,
        float(events),
        sum(t.count * t.mebibytes for t in found),
        sum(t.count * t.events**2 for t in found) / 1e6,
        sum(t.count * t.events * t.tools for t in found) / 1e6,
        sum(t.count * t.events * t.mebibytes for t in found) / 1e3,
        sum(t.count * t.tools * t.mebibytes for t in found) / 1e3,
        events**2 / 1e9,
    ]


def early_features(turns: int, rows: int, mebibytes: float) -> list[float]:
    """The same for the first converter."""
    return [float(turns), turns * rows / 1e3, turns * mebibytes / 1e3]


def fit(names: Sequence[str], rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> Model:
    """The model whose relative errors are least squares, no term below zero.

    There are few terms, so that each choice of them is solved by itself; the best that has no negative one is the answer.

    Raises
    ------
    ValueError : no rows.
    """
    if not rows:
        raise ValueError("nothing was measured")
    weights = np.asarray(seconds, dtype=float)
    matrix = np.asarray(rows, dtype=float) / weights[:, None]
    best, least = np.zeros(len(names)), float("inf")
    for size in range(1, len(names) + 1):
        for chosen in combinations(range(len(names)), size):
            found, *_ = np.linalg.lstsq(matrix[:, chosen], np.ones(len(weights)), rcond=None)
            error = float(((matrix[:, chosen] @ found - 1) ** 2).sum())
            if (found >= 0).all() and error < least - 1e-12:
                best, least = np.zeros(len(names)), error
                best[list(chosen)] = found
    band = float(np.abs(matrix @ best - 1).max())
    return Model(dict(zip(names, map(float, best), strict=True)), band)


@cache
def merged() -> Model:
    """The model of the merged converter (C4)."""
    return fit(TERMS, [features(each.turns) for each in C4], [each.seconds for each in C4])


@cache
def first() -> Model:
    """The model of the first converter (C0)."""
    return fit(_EARLY, [early_features(e.turns, e.rows, e.mebibytes) for e in C0], [e.seconds for e in C0])


@cache
def resequence() -> Model:
    """The last step alone, one transaction in which nobody else writes; it is paid again by every read until it is through."""
    told = [(features(each.turns)[-1:], each.resequence) for each in C4 if each.resequence]
    # Steps of less than a tenth of a second were measured to one digit.
    long = [(row, seconds) for row, seconds in told if seconds and seconds >= 0.1]
    return fit(TERMS[-1:], [row for row, _ in long], [seconds for _, seconds in long])


@dataclass(frozen=True)
class Estimate:
    """What the product's conversion of one session takes. seconds, low, high : of all; silence : of the resequence alone."""

    events: int
    largest_turn: int
    seconds: float
    low: float
    high: float
    silence: float


def estimate(turns: Sequence[Turns], factor: float = 1.0) -> Estimate:
    """How long a session takes, within the band of the fit.

    Parameters
    ----------
    factor : of a machine, against the one of the figures.
    """
    model = merged().scaled(factor)
    told = features(turns)
    seconds = model.seconds(told)
    return Estimate(
        int(told[1]),
        max((each.events for each in turns), default=0),
        seconds,
        seconds * (1 - model.band),
        seconds * (1 + model.band),
        resequence().scaled(factor).seconds(told[-1:]),
    )


def turns_of(con: sqlite3.Connection, session: str) -> list[Turns]:
    """Turns of a session that was converted on a copy, by what their events are.

    Parameters
    ----------
    con : to a store with `runtime_events`; events of native runs are not counted.
    """
    rows: list[Any] = con.execute(
        "SELECT count(*), sum(event_kind IN ('function_call', 'function_response')), sum(length(CAST(payload_json AS BLOB))) "
        "FROM runtime_events WHERE session_id = ? AND run_id LIKE 'transcript-%' GROUP BY run_id",
        (session,),
    ).fetchall()
    return [Turns(1, events, tools, size / MEBIBYTE) for events, tools, size in rows]
