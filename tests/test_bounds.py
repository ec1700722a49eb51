"""Bounds: planted timings are recovered, a model that predicts nothing says so, and a small ladder is climbed."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from busbar_audit.commands.bounds import seconds
from busbar_audit.errors import UsageError
from busbar_audit.rehearsal import bounds, ladder, measuring
from busbar_audit.rehearsal.cost import Model, Turns

LIKE = ladder.Shape(6, 0.4, 160)
RUNGS = ladder.ladder(LIKE)
HUGE = Turns(1, 10_000, 0, 2.0)


def planted(*costs: float) -> Model:
    return Model(dict(zip(bounds.TERMS, costs, strict=True)), 0.0)


def timed(truth: Model, noise: float = 0.0) -> list[tuple[ladder.Rung, float]]:
    dice = random.Random(1)
    return [(rung, truth.seconds(bounds.features([rung.turns])) * dice.uniform(1 - noise, 1 + noise)) for rung in RUNGS]


def test_planted_terms_are_recovered_and_the_quadratic_turn_is_recognised() -> None:
    truth = planted(0.01, 0.0001, 0.01, 3.0, 0.0, 0.0)
    fit = bounds.fitted(timed(truth))
    assert fit.why is None
    assert fit.model is not None
    assert list(fit.model.terms.values()) == pytest.approx(list(truth.terms.values()), abs=1e-6)
    assert bounds.exponent(fit.model, HUGE) == pytest.approx(2, abs=0.05)
    assert bounds.dominant(fit.model, [HUGE]) == "million event² of a turn"
    linear = bounds.fitted(timed(planted(0.01, 0.001, 0.01, 0.0, 0.0, 0.0)))
    assert linear.model is not None
    assert bounds.exponent(linear.model, HUGE) == pytest.approx(1, abs=0.05)


def test_the_band_holds_what_was_not_fitted() -> None:
    truth = planted(0.01, 0.0005, 0.01, 3.0, 0.0, 0.0)
    fit = bounds.fitted(timed(truth, 0.05))
    told = fit.bound([HUGE])
    assert fit.why is None
    assert told is not None
    assert told[1] <= truth.seconds(bounds.features([HUGE])) <= told[2]


def test_no_bound_where_rungs_are_not_predicted() -> None:
    rungs = timed(planted(0.01, 0.0005, 0.01, 3.0, 0.0, 0.0))
    worse = [(rung, took * 3 if rung.held and rung.turns.count == 1 else took) for rung, took in rungs]
    fit = bounds.fitted(worse)
    assert fit.why is not None
    assert "one turn of 3,000 rows" in fit.why
    assert fit.bound([HUGE]) is None
    untried = bounds.fitted([each for each in rungs if not each[0].held])
    assert untried.why == "no rung was left to try the model on"
    assert "only 3 rung" in str(bounds.fitted(rungs[:3]).why)


def test_verdicts_follow_both_bounds() -> None:
    fit = bounds.fitted(timed(planted(0.01, 0.0005, 0.01, 3.0, 0.0, 0.0)))
    ran = bounds.Step(ladder.Rung("as large", HUGE), measuring.Taken(50.0, 50.0, 1.0, 1.0, 1.0, None, None, 0.0, 0.0))
    found = bounds.Bounds({"s": [HUGE]}, (ran,), fit, fit, 1e6, 1.0)
    assert found.exit_code == 0
    # Nothing near its size was run: the band was not tried there.
    assert dataclasses.replace(found, steps=()).exit_code == 3
    assert dataclasses.replace(found, budget=10.0).exit_code == 1
    unknown = dataclasses.replace(fit, why="for a test")
    assert dataclasses.replace(found, wall=unknown).exit_code == 3
    # The product's own bound is enough to say that it takes too long.
    assert dataclasses.replace(found, wall=unknown, budget=10.0).exit_code == 1
    assert bounds.bounds({}, [], budget=1).exit_code == 3


def test_a_small_ladder_end_to_end() -> None:
    turns = [Turns(1, 6, 2, 0.001)] * 10
    found = bounds.bounds({"s": turns}, turns, budget=60, rehearsal=30, scale=0.02)
    assert [step.rung.held for step in found.steps].count(True) == 2
    assert all(step.taken is not None for step in found.steps)
    whole = found.as_dict()
    for step, told in zip(found.steps, whole["rungs"], strict=True):
        # Each event is a transaction; then the resequence and the mark.
        assert told["taken"]["transactions"] == step.rung.turns.count * step.rung.turns.events + 2
        assert 0 < told["taken"]["silence"] <= told["taken"]["seconds"]
    assert any("paid again by each retry" in line for line in bounds.lines(found))


def test_what_would_be_over_the_budget_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Path] = []

    def slow(path: Path, session: str, timeout: float) -> measuring.Taken:
        ran.append(path)
        return measuring.Taken(50.0, 50.0, 1.0, 1.0, 1.0, None, None, 0.0, 0.0)

    monkeypatch.setattr(bounds, "measured", slow)
    steps = bounds.climbed(ladder.ladder(LIKE, 0.02), budget=100, repeats=1, say=lambda _: None)
    skipped = [step for step in steps if step.taken is None]
    assert len(ran) == len(steps) - len(skipped)
    assert skipped
    # What was left of the seconds is less than each of these would take.
    assert len(ran) <= 2


def test_turns_are_told_by_rows_as_a_rung_has_them(tmp_path: Path) -> None:
    rung = RUNGS[0]
    ladder.write(tmp_path / "a.sqlite", rung.turns)
    told = ladder.told(tmp_path / "a.sqlite", ladder.SESSION)
    assert len(told) == rung.turns.count
    assert {(each.events, each.tools) for each in told} == {(rung.turns.events, rung.turns.tools)}
    assert ladder.shape(told).events == LIKE.events


def test_a_time_that_is_none_is_named() -> None:
    assert [seconds(each, "--budget") for each in ("90", "90s", "1.5m", "2h")] == [90, 90, 90, 7200]
    for wrong in ("", "0", "-1", "10 m", "nan", "1d", "٣m"):
        with pytest.raises(UsageError, match="--budget"):
            seconds(wrong, "--budget")
