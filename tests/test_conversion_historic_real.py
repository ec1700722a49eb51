"""The conversion of run headers (C0) against the real one: whole, killed and resumed, up to random ids and clocks."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_maka import unpacked

from busbar_audit.conversion.converter import Conversion
from busbar_audit.conversion.generations import convert_as
from busbar_audit.transcript import js

pytestmark = pytest.mark.real_stores

_FULL = "a3a9c69d-e95d-4da9-8236-d012ac9d4067"
_SHORT = "875ca8c4-bdbd-4b2a-b4f7-72fa2f11251b"
_RANDOM = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_CLOCK = re.compile(r'"generatedAt":\d+')


class Killed(Exception):
    """The conversion was stopped from outside."""


def stop(after: int) -> Callable[[Conversion, str], None]:
    """What stops a conversion after so many events."""

    def before(done: Conversion, what: str) -> None:
        if what == "append" and len(done.emitted) == after:
            raise Killed

    return before


@pytest.fixture(scope="module")
def stores(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("headers")
    names = ("b-legacy", "e-b-converted", "e-b-kill-event-20", "e-b-kill-event-20-resumed", "e-b-kill-event-5-resumed")
    return {
        name: next(unpacked(samples / "maka" / f"{name}.tar.xz", folder, r"checkpointed/runtime\.sqlite$"))
        for name in names
    }


@pytest.fixture
def con(stores: dict[str, Path]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(stores["b-legacy"])) as source, closing(_memory()) as copy:
        source.backup(copy)
        yield copy


def _memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _plain(value: Any, sessions: tuple[str, ...] = (_FULL, _SHORT)) -> Any:
    if not isinstance(value, str):
        return value
    kept = _RANDOM.sub(lambda found: found[0] if found[0] in sessions else "random", value)
    return _CLOCK.sub('"generatedAt":0', kept)


def _state(con: sqlite3.Connection, session: str) -> dict[str, Any]:
    """What a conversion writes of a session, without random ids and clocks."""
    asked = {
        "events": "SELECT e.event_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq, e.event_kind, e.payload_json,"
        " e.committed_at, o.ordinal FROM runtime_events e LEFT JOIN runtime_session_event_ordinals o USING (event_id)"
        " WHERE e.session_id = ? ORDER BY o.ordinal",
        "rows": "SELECT sequence, message_id, message_type, message_ts, record_json FROM session_messages"
        " WHERE session_id = ? ORDER BY sequence",
        "runs": "SELECT run_id, created_at, record_json FROM core_agent_runs WHERE session_id = ? ORDER BY run_id",
    }
    found = {name: [tuple(map(_plain, row)) for row in con.execute(q, [session])] for name, q in asked.items()}
    for name in ("runs", "rows"):
        # The order of members is not part of what is compared here.
        found[name] = [(*row[:-1], js.stringify(js.parse(row[-1]), ordered=True)) for row in found[name]]
    (text,) = con.execute("SELECT payload_json FROM session_metadata WHERE session_id = ?", [session]).fetchone()
    return {**found, "version": json.loads(text).get("transcriptLedgerVersion")}


def _real(path: Path, session: str) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as con:
        return _state(con, session)


def _same(ours: dict[str, Any], real: dict[str, Any]) -> None:
    for name, expected in real.items():
        assert ours[name] == expected, name


@pytest.mark.parametrize(("session", "events"), [(_SHORT, 15), (_FULL, 65)])
def test_a_whole_conversion(con: sqlite3.Connection, stores: dict[str, Path], session: str, events: int) -> None:
    done = convert_as("C0", con, session)
    assert (done.refusal, done.appends) == (None, events)
    _same(_state(con, session), _real(stores["e-b-converted"], session))


def test_a_resume_fails_for_ever_on_a_run_that_it_does_not_know_again(
    con: sqlite3.Connection, stores: dict[str, Path]
) -> None:
    with pytest.raises(Killed):
        convert_as("C0", con, _FULL, before=stop(20))
    _same(_state(con, _FULL), _real(stores["e-b-kill-event-20"], _FULL))
    for _ in range(2):
        done = convert_as("C0", con, _FULL)
        assert done.refusal is not None
        assert done.refusal.name == "RunSealedError"
        _same(_state(con, _FULL), _real(stores["e-b-kill-event-20-resumed"], _FULL))


def test_a_resume_inside_a_turn_doubles_the_prompt_and_reports_success(
    con: sqlite3.Connection, stores: dict[str, Path]
) -> None:
    with pytest.raises(Killed):
        convert_as("C0", con, _FULL, before=stop(5))
    assert convert_as("C0", con, _FULL).refusal is None
    _same(_state(con, _FULL), _real(stores["e-b-kill-event-5-resumed"], _FULL))
