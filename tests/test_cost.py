"""The cost model of conversions: fitted to what was measured, with terms that mean something."""

from __future__ import annotations

import random

import pytest
from support_conversion import HEADER, session_store

from busbar_audit.conversion.converter import convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.rehearsal import cost
from busbar_audit.rehearsal.cost import C0, C4, TERMS, Turns


def test_every_measured_row_is_reproduced_within_a_quarter() -> None:
    model = cost.merged()
    assert all(value >= 0 for value in model.terms.values())
    for each in C4:
        assert model.seconds(cost.features(each.turns)) == pytest.approx(each.seconds, rel=0.25), each.name
    assert 0 < model.band < 0.25


def test_the_long_session_is_predicted_from_the_others() -> None:
    others = [each for each in C4 if each.name != "real long session"]
    assert len(others) == len(C4) - 1
    model = cost.fit(TERMS, [cost.features(each.turns) for each in others], [each.seconds for each in others])
    (long,) = (each for each in C4 if each.name == "real long session")
    assert model.seconds(cost.features(long.turns)) == pytest.approx(long.seconds, rel=0.25)


def test_the_first_converter_is_reproduced_within_one_and_a_half() -> None:
    for each in C0:
        told = cost.first().seconds(cost.early_features(each.turns, each.rows, each.mebibytes))
        assert each.seconds / 1.5 < told < each.seconds * 1.5


def test_the_last_step_is_the_square_of_the_session() -> None:
    (nanoseconds,) = cost.resequence().terms.values()
    assert 24 <= nanoseconds <= 31  # a thousand million event² are so many seconds
    for each in C4:
        if each.resequence and each.resequence > 1:
            told = cost.resequence().seconds(cost.features(each.turns)[-1:])
            assert told == pytest.approx(each.resequence, rel=0.25), each.name


def test_a_turn_of_thousands_of_events_costs_its_square() -> None:
    small, large = (cost.estimate([Turns(1, events, 0, 0.2)]) for events in (8_000, 16_000))
    assert 3.5 < large.seconds / small.seconds < 4.2
    assert small.low < small.seconds < small.high
    assert cost.estimate([Turns(1, 8_000, 0, 0.2)], factor=2).seconds == pytest.approx(2 * small.seconds)
    split = cost.estimate([Turns(100, 80, 0, 0.002)])
    assert split.seconds < small.seconds / 5
    assert split.silence == pytest.approx(small.silence)


def test_terms_that_are_known_are_found_again() -> None:
    rng = random.Random(3)
    known = {"a": 2.0, "b": 0.0, "c": 0.5}
    rows = [[rng.random() * 10 for _ in known] for _ in range(12)]
    seconds = [sum(x * cost_ for x, cost_ in zip(row, known.values(), strict=True)) for row in rows]
    model = cost.fit(tuple(known), rows, seconds)
    assert model.terms == pytest.approx(known, abs=1e-9)
    assert model.band < 1e-9
    with pytest.raises(ValueError, match="nothing was measured"):
        cost.fit(("a",), [], [])


def test_turns_are_read_from_a_converted_copy() -> None:
    rows = [
        {"type": "user", "id": "u", "turnId": "t", "ts": 1, "text": "q"},
        {"type": "tool_call", "id": "c", "turnId": "t", "ts": 2, "toolName": "Read", "args": {}},
        {"type": "turn_state", "id": "s", "turnId": "t", "ts": 3, "status": "completed"},
    ]
    con = session_store("s", HEADER, rows)
    assert cost.turns_of(con, "s") == []
    convert(Ledger(con), "s")
    (turn,) = cost.turns_of(con, "s")
    assert (turn.count, turn.events, turn.tools) == (1, 4, 1)
    assert turn.mebibytes > 0
