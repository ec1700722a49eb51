"""An upgrade that was made, against what the conversion foretells of the store before it: event by event."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.appending import read_header
from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.migration import migrate
from busbar_audit.conversion.staging import stage
from busbar_audit.rehearsal.crash import highest, rows_digest

_FIELDS = ("invocation", "run", "turn", "sequence", "kind", "payload", "committed_at")


@dataclass(frozen=True)
class Difference:
    """Where the upgrade did something else. event : its id, empty where it is about the session."""

    session: str
    event: str
    what: str


@dataclass
class Predicted:
    """One session: events foretold, and where the store after differs. error : that the conversion was to end with."""

    session: str
    events: int
    error: str | None
    differences: list[Difference] = field(default_factory=list)


def predict(before: Path, after: Path, session: str, *, generation: str = "C4") -> Predicted | None:
    """Convert the session of the store before, and hold the store after against it.

    Parameters
    ----------
    before, after : private copies of the store, made before and after the upgrade. generation : C4 or C5.

    Returns
    -------
    the comparison; None where the store after does not have the session any more, or has not converted it yet.
    """
    with closing(stage(before, session)) as ours, closing(stage(after, session)) as theirs:
        if theirs.execute("SELECT count(*) FROM session_metadata").fetchone()[0] == 0:
            return None
        migrate(theirs, session)
        migrate(ours, session)
        done = convert_as(generation, ours, session, importing=True)
        version = read_header(theirs, session).get("transcriptLedgerVersion")
        expected, real = _events(ours, session), _events(theirs, session)
        if version != 1 and not real.keys() & set(done.emitted) and done.error is None:
            return None
        found = Predicted(session, len(done.emitted), None if done.error is None else done.error.message)
        found.differences.extend(_differences(session, expected, real))
        if (version == 1) != (done.error is None):
            told = "is converted, although it was to be refused" if version == 1 else "is not converted to its end"
            found.differences.append(Difference(session, "", told))
        # Up to where they went before: an older build may have gone on writing.
        if rows_digest(ours, highest(ours)) != rows_digest(theirs, highest(ours)):
            found.differences.append(Difference(session, "", "old rows are not what they were"))
        return found


def _events(con: sqlite3.Connection, session: str) -> dict[str, tuple[Any, ...]]:
    """Events by id, in the order of their ordinals."""
    found = con.execute(
        """SELECT e.event_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq, e.event_kind, e.payload_json,
        e.committed_at FROM runtime_events e LEFT JOIN runtime_session_event_ordinals o USING (event_id)
        WHERE e.session_id = ? ORDER BY o.ordinal IS NULL, o.ordinal, e.invocation_id, e.event_seq""",
        [session],
    )
    return {row[0]: row[1:] for row in found}


def _differences(
    session: str, expected: dict[str, tuple[Any, ...]], real: dict[str, tuple[Any, ...]]
) -> Iterator[Difference]:
    for event, told in expected.items():
        there = real.get(event)
        if there is None:
            yield Difference(session, event, "is missing")
        elif there != told:
            names = [name for name, ours, theirs in zip(_FIELDS, told, there, strict=True) if ours != theirs]
            yield Difference(session, event, f"differs in {', '.join(names)}")
    for event, told in real.items():
        # What native runs wrote since then is not of the conversion.
        if event not in expected and told[1] == identity.run_id(session, told[2]):
            yield Difference(session, event, "was not foretold")
    ours = [event for event in expected if event in real]
    theirs = [event for event in real if event in expected]
    if ours != theirs:
        first = next(event for event, other in zip(ours, theirs, strict=True) if event != other)
        yield Difference(session, first, "stands elsewhere in the order of the session")
