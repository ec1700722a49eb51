"""The quick ways of reading a ledger say what the careful ones say."""

from __future__ import annotations

import copy
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_maka import planted

from busbar_audit.synth.maka_faults import FAULTS
from busbar_audit.transcript import compare as comparing
from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import Problem, check
from busbar_audit.transcript.event_shape import EVENT
from busbar_audit.transcript.ledger import Ledger, Session
from busbar_audit.transcript.reader import Reader, canonical
from busbar_audit.transcript.row_shape import ROW

_NAMES = st.sampled_from(["a", "b", "10", "9", "01", "\uff5e", "\U0001f600", "", "é"])
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e21, 5e-324, 0.1, -0.0, 2**53 + 1, "\ud800", "\u2028", "\x7f", "\x00", '"', "0" * 16])
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


@given(_VALUES)
@settings(max_examples=200, deadline=None)
def test_a_value_is_written_as_the_careful_way_writes_it(value: Any) -> None:
    careful = js.stringify(value, ordered=True)
    assert canonical(value) == careful.encode("utf-8", "surrogatepass")


@given(_VALUES, st.sampled_from(["canonical", "plain", "spaced", "broken"]))
@settings(max_examples=200, deadline=None)
def test_a_payload_is_read_as_the_careful_way_reads_it(value: Any, how: str) -> None:
    text = js.stringify(value, ordered=how != "plain")
    text = {"spaced": f" {text}", "broken": text + "]"}.get(how, text)
    reader = Reader()
    if how == "broken":
        with pytest.raises(js.NotJson):
            reader.read(text)
        with pytest.raises(js.NotJson):
            reader.value(text)
        return
    found, size, same = reader.read(text)
    careful = js.parse(text)
    assert js.same(found, careful)
    assert js.same(reader.value(text), careful)
    assert (size, same) == (len(text.encode("utf-8", "surrogatepass")), js.is_canonical(text, careful))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every fault of a ledger, each in a session of its own."""
    path = tmp_path_factory.mktemp("maka") / "runtime.sqlite"
    planted(path, 18, [fault for fault in FAULTS.values() if 18 in fault.generations and not fault.large])
    return path


def _payloads(path: Path, table: str, column: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as con:
        found = con.execute(f"SELECT {column} FROM {table} ORDER BY length({column}), {column}").fetchall()
    values = []
    for (text,) in found:
        try:
            values.append(js.parse(text))
        except (js.NotJson, TypeError):
            continue
    return [value for value in values if isinstance(value, dict)]


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with one thing in it replaced, taken out or added, as deep as chance has it."""
    value = copy.deepcopy(value)
    at = value
    while True:
        places: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not places:
            break
        place = chance.choice(places)
        if isinstance(at[place], dict | list) and at[place] and chance.random() < 0.7:
            at = at[place]
            continue
        what = chance.randrange(4)
        if what == 0:
            del at[place]
        elif what == 1 and isinstance(at, dict):
            at["other"] = 1
        elif what == 2 and isinstance(at, dict):
            at.update({"": None})
        else:
            at[place] = chance.choice(_JUNK)
        break
    return value


_JUNK = [None, True, False, 0, 1, -1, 1.5, 1e308, float("inf"), "", "x", "true", [], {}, [1], {"kind": "text"}, ["x"]]


@pytest.mark.parametrize(
    ("table", "column", "rule"),
    [("runtime_events", "payload_json", EVENT), ("session_messages", "record_json", ROW)],
    ids=["events", "rows"],
)
def test_a_compiled_shape_accepts_what_its_rule_accepts_and_nothing_else(
    table: str, column: str, rule: Any, workspace: Path
) -> None:
    chance = random.Random(7)
    refused = accepted = 0
    values = _payloads(workspace, table, column)[:1500]
    assert values
    for value in values:
        for told in (value, _changed(value, chance), _changed(_changed(value, chance), chance)):
            careful: list[Problem] = []
            rule.look(told, "", careful)
            assert check(rule, told) == careful, told
            refused += bool(careful)
            accepted += not careful
    assert refused > 100
    assert accepted > 100


def _sessions(path: Path) -> Iterator[Session]:
    with closing(sqlite3.connect(path)) as con:
        tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        names = [name for (name,) in con.execute("SELECT DISTINCT session_id FROM runtime_events")]
        yield from Ledger(con, tables, 18).read(names).values()


def test_a_fold_that_both_readers_share_is_what_each_would_make_by_itself(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invocations that touch no other are folded once; without that both readers show, refuse and differ alike."""
    sessions = list(_sessions(workspace))
    shared = [comparing.compare(session) for session in sessions]
    assert sum(len(done.view.alone) for done in shared if done.view is not None) > 100
    monkeypatch.setattr(comparing, "_folded", lambda view: {})
    for session, quick in zip(sessions, shared, strict=True):
        careful = comparing.compare(session)
        assert quick.served == careful.served
        assert quick.closed.keys() == careful.closed.keys()
        assert quick.divergences == careful.divergences
    assert any(done.divergences for done in shared)
