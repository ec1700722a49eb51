"""How long a store's conversions take at most: our emulation measured on a ladder, and the product's by its own table.

The two are never mixed. Our emulation may be faster; only the second says how long the product takes.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from busbar_audit.rehearsal import cost
from busbar_audit.rehearsal.cost import Model, Turns
from busbar_audit.rehearsal.ladder import SESSION, Rung, ladder, shape, write
from busbar_audit.rehearsal.measuring import RanOut, Taken, measured, median
from busbar_audit.text import printable

# Each append is a transaction of its own, so that "per transaction", "per fsync" and "per row" are one term.
TERMS = (
    "session", "event and its transaction", "MiB of rows", "million event² of a turn", "thousand event × MiB of a turn",
    "thousand million event² of the session",
)  # fmt: skip
# A model that is this far off on its own rungs bounds nothing; nothing is measured to better than the other.
_USELESS, _FINEST = 0.5, 0.1
_SHOWN = 20


# Rungs that only try the model are of so many times the size of the others.
_FAR = 3


@dataclass(frozen=True)
class Step:
    """A rung and what it took; taken is None where it would have been over the budget, and was not run or not finished."""

    rung: Rung
    taken: Taken | None


@dataclass(frozen=True)
class Fit:
    """A model, and how it did on what it was not fitted to.

    band : its largest error on a rung left out of the fit. held : errors on the rungs of three times the size, by name.
    why : there is no bound, for this reason; None where there is one.
    """

    model: Model | None
    band: float
    held: Mapping[str, float]
    why: str | None

    def bound(self, turns: Sequence[Turns]) -> tuple[float, float, float] | None:
        """Seconds of a session, at the least and at the most; None where the model bounds nothing."""
        if self.model is None or self.why is not None:
            return None
        seconds = self.model.seconds(features(turns))
        return seconds, seconds * (1 - self.band), seconds * (1 + self.band)


def features(turns: Sequence[Turns]) -> list[float]:
    """Of a session, how much of each of `TERMS` there is."""
    session, events, size, square, _, heavy, _, long = cost.features(turns)
    return [session, events, size, square, heavy, long]


def climbed(rungs: Sequence[Rung], *, budget: float, repeats: int, say: Callable[[str], None]) -> list[Step]:
    """Run a ladder from below, until the seconds are spent; a rung that would not fit in what is left is not run.

    Parameters
    ----------
    budget : seconds of all together. repeats : runs of each rung.
    """
    steps: list[Step] = []
    end = time.monotonic() + budget
    with tempfile.TemporaryDirectory() as folder:
        for number, rung in enumerate(
            sorted(rungs, key=lambda each: (each.held, each.turns.count * each.turns.events))
        ):
            say(f"rung {number + 1} of {len(rungs)}: {rung.name}")
            runs: list[Taken] = []
            try:
                for repeat in range(repeats):
                    if (left := end - time.monotonic()) < _foreseen(rung, steps) * (repeats - repeat):
                        raise RanOut
                    path = Path(folder) / f"{number}-{repeat}.sqlite"
                    write(path, rung.turns)
                    runs.append(measured(path, SESSION, left))
                    path.unlink()
            except RanOut:
                runs = []
            steps.append(Step(rung, median(runs) if runs else None))
    return steps


def _foreseen(rung: Rung, steps: Sequence[Step]) -> float:
    """Seconds of a rung by the largest one of its kind before it, as if all were quadratic."""
    size = rung.turns.count * rung.turns.events
    before = [
        each.taken.seconds * max(1.0, size / (each.rung.turns.count * each.rung.turns.events)) ** 2
        for each in steps
        if each.taken is not None and (each.rung.turns.count == 1) == (rung.turns.count == 1)
    ]
    return min(before, default=0.0)


def fitted(rungs: Sequence[tuple[Rung, float]]) -> Fit:
    """A model of seconds, tried on rungs that it was not fitted to; it says where it bounds nothing."""
    own = [(features([rung.turns]), seconds) for rung, seconds in rungs if not rung.held]
    held = [(rung, seconds) for rung, seconds in rungs if rung.held]
    if len(own) < 5:
        return Fit(None, math.inf, {}, f"only {len(own)} rung(s) were run within the budget")
    model = _fit(own)
    left_out = [
        abs(_fit(own[:at] + own[at + 1 :]).seconds(told) / seconds - 1) for at, (told, seconds) in enumerate(own)
    ]
    band = max(_FINEST, model.band, *left_out)
    errors = {rung.name: model.seconds(features([rung.turns])) / seconds - 1 for rung, seconds in held}
    why = None
    if not held:
        why = "no rung was left to try the model on"
    elif worst := [name for name, error in errors.items() if abs(error) > band]:
        why = f"the model is {errors[worst[0]]:+.0%} off on {worst[0]}, with a band of {band:.0%}"
    elif band > _USELESS:
        why = f"the model is up to {band:.0%} off on its own rungs"
    return Fit(model, band, errors, why)


def _fit(rows: Sequence[tuple[list[float], float]]) -> Model:
    return cost.fit(TERMS, [told for told, _ in rows], [seconds for _, seconds in rows])


def exponent(model: Model, turns: Turns) -> float:
    """How a turn's seconds grow at its size: 1 with its events, 2 with their square."""
    double = Turns(turns.count, 2 * turns.events, 2 * turns.tools, 2 * turns.mebibytes)
    # What a session costs by itself does not grow; it is left out.
    own = [model.seconds([0.0, *features([each])[1:]]) for each in (turns, double)]
    return math.log2(own[1] / own[0]) if own[0] > 0 else 0.0


def dominant(model: Model, turns: Sequence[Turns]) -> str:
    """The term that costs a session most."""
    parts = [each * seconds for each, seconds in zip(features(turns), model.terms.values(), strict=True)]
    return list(model.terms)[parts.index(max(parts))]


@dataclass(frozen=True)
class Bounds:
    """The bounds of a store. sessions : its turns, by session. wall, processor : fits of our emulation on this machine."""

    sessions: Mapping[str, Sequence[Turns]]
    steps: Sequence[Step]
    wall: Fit
    processor: Fit
    budget: float
    factor: float

    @property
    def product(self) -> tuple[float, float, float]:
        """Seconds of the product for all sessions, at the least and at the most, by its published table."""
        each = [cost.estimate(turns, self.factor) for turns in self.sessions.values()]
        return sum(e.seconds for e in each), sum(e.low for e in each), sum(e.high for e in each)

    @property
    def exit_code(self) -> int:
        """1 where an upgrade may be over the budget by either bound, 3 where there is no bound, or one that was not tried.

        The band was not tried on a session of more than `_FAR` times what was run.
        """
        if not self.sessions:
            return 3
        ours = self.all(self.wall)
        if self.product[2] > self.budget or (ours is not None and ours[2] > self.budget):
            return 1
        return 0 if ours is not None and all(self.beyond(each) <= _FAR for each in self.sessions.values()) else 3

    def all(self, fit: Fit) -> tuple[float, float, float] | None:
        """Seconds of our emulation for all sessions, at the least and at the most."""
        found = [told for turns in self.sessions.values() if (told := fit.bound(turns)) is not None]
        if len(found) < len(self.sessions):
            return None
        return sum(e[0] for e in found), sum(e[1] for e in found), sum(e[2] for e in found)

    def beyond(self, turns: Sequence[Turns]) -> float:
        """How many times a session, or its largest turn, is as large as the largest that was run."""
        ran = [step.rung.turns for step in self.steps if step.taken is not None]
        longest = max((each.count * each.events for each in ran), default=1)
        largest = max((each.events for each in ran), default=1)
        return max(sum(t.count * t.events for t in turns) / longest, max(t.events for t in turns) / largest)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        code = self.exit_code
        fits = {"wall": self.wall, "processor": self.processor}
        return {
            "format": "busbar-audit-bounds/1",
            "verdict": {0: "clean", 1: "findings", 3: "inconclusive"}[code],
            "exit_code": code,
            "budget_seconds": self.budget,
            "product_predicted": {"converter": "C4", "factor": self.factor, "seconds": self.product},
            "emulation_measured": {
                name: {
                    "seconds": self.all(fit), "band": fit.band if fit.model else None, "held_out": fit.held,
                    "no_bound": fit.why, "terms": fit.model.terms if fit.model else None,
                }
                for name, fit in fits.items()
            },
            "rungs": [
                {"name": step.rung.name, "held_out": step.rung.held, **asdict(step.rung.turns),
                 "taken": None if step.taken is None else asdict(step.taken)}
                for step in self.steps
            ],
            "sessions": [
                {"session": name, "product": asdict(cost.estimate(turns, self.factor)),
                 "emulation": self.wall.bound(turns), "times_beyond_the_ladder": self.beyond(turns)}
                for name, turns in self.sessions.items()
            ],
        }  # fmt: skip


def bounds(
    sessions: Mapping[str, Sequence[Turns]],
    like: Sequence[Turns],
    *,
    budget: float,
    rehearsal: float = 600.0,
    repeats: int = 1,
    factor: float = 1.0,
    scale: float = 1.0,
    say: Callable[[str], None] = lambda _: None,
) -> Bounds:
    """Climb a ladder shaped like some turns, and bound the conversion of sessions by it and by the product's table.

    Parameters
    ----------
    budget : seconds that the upgrade may take. rehearsal : seconds that the ladder may take. factor : of the machine of the
    upgrade, against the one of the product's figures. scale : of the ladder's sizes.
    """
    if not sessions or not like:
        none = Fit(None, math.inf, {}, "nothing is to be converted")
        return Bounds({}, (), none, none, budget, factor)
    steps = climbed(ladder(shape(like), scale), budget=rehearsal, repeats=repeats, say=say)
    ran = [(step.rung, step.taken) for step in steps if step.taken is not None]
    wall = fitted([(rung, taken.seconds) for rung, taken in ran])
    processor = fitted([(rung, taken.processor) for rung, taken in ran])
    return Bounds(sessions, steps, wall, processor, budget, factor)


def lines(found: Bounds) -> Iterator[str]:
    """For a terminal."""
    if not found.sessions:
        yield "no session has rows that are not converted: there is nothing to bound"
        return
    yield f"the product, predicted from its published figures: {_span(found.product)}; the budget is {found.budget:,.0f} s"
    for name, fit in (("elapsed", found.wall), ("processor", found.processor)):
        told = found.all(fit)
        what = f"no bound: {fit.why}" if told is None else f"{_span(told)}, band {fit.band:.0%}"
        yield f"our emulation, measured on this machine, {name}: {what}"
    for step in found.steps:
        what = "over the budget, not run" if step.taken is None else f"{step.taken.seconds:,.2f} s"
        yield f"    {step.rung.name}{' (held out)' if step.rung.held else ''}: {what}"
    slowest = sorted(found.sessions.items(), key=lambda each: -cost.estimate(each[1]).seconds)
    for session, turns in slowest[:_SHOWN]:
        took = cost.estimate(turns, found.factor)
        yield f"{printable(session[:60])}: the product {_span((took.seconds, took.low, took.high))}"
        yield f"    one step of {took.silence:,.1f} s in which nobody writes, paid again by each retry before the mark"
        model = found.wall.model
        if found.wall.why is None and model is not None:
            large = max(turns, key=lambda each: each.events)
            yield f"    our emulation: mostly by {dominant(model, turns)}; largest turn {large.events:,} event(s)," \
                f" exponent {exponent(model, large):.1f}"  # fmt: skip
            if (times := found.beyond(turns)) > _FAR:
                yield f"    {times:,.0f} times what was run: the band was tried at 3 times only"
    if len(slowest) > _SHOWN:
        yield f"{len(slowest) - _SHOWN:,} more session(s), each faster"


def _span(told: tuple[float, float, float]) -> str:
    return f"about {told[0]:,.1f} s ({told[1]:,.1f} to {told[2]:,.1f})"
