"""A real conversion held against ours: every event predicted, and looked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from busbar_audit.conversion import identity
from busbar_audit.conversion.converter import convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.rehearsal.ledgerstate import content, extracted, ledger_state
from busbar_audit.text import printable


@dataclass(frozen=True)
class Foretold:
    """A real conversion held against our own: events as predicted, not there, that nobody foretold, and that differ.

    first : id of the first event that is not as predicted. version : what the later header says of the conversion.
    """

    session_id: str
    predicted: int
    same: int
    missing: int
    unforeseen: int
    differing: int
    first: str | None
    refusal: str | None
    version: Any

    @property
    def holds(self) -> bool:
        """Whether the real conversion did what ours does, and ended as ours does."""
        return self.same == self.predicted and not self.unforeseen and (self.version == 1) == (self.refusal is None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "session": self.session_id}


def against(before: Path, after: Path, session: str) -> Foretold:
    """Predict every event of a session's conversion from an earlier store, and look for it in a later one.

    Parameters
    ----------
    before, after : finished copies of the store, as it was and as the upgrade left it. Runs that began meanwhile are left out.
    """
    with closing(extracted(before, session)) as own, closing(extracted(after, session)) as later:
        there = ledger_state(own, session).events
        done = convert(Ledger(own), session)
        ours, real = ledger_state(own, session).events, ledger_state(later, session)
        turns = {event[2] for name, event in ours.items() if name not in there}
        derived = {name for name, event in real.events.items() if event[1] == identity.run_id(session, event[2])}
    new = [name for name in ours if name not in there]
    same = [name for name in new if content(real.events.get(name)) == content(ours[name])]
    missing = [name for name in new if name not in real.events]
    unforeseen = sorted(name for name in derived - ours.keys() if real.events[name][2] in turns or not turns)
    apart = [name for name in new if name in real.events and name not in set(same)]
    first = next(iter([*missing, *apart, *unforeseen]), None)
    refusal = None if done.refusal is None else done.refusal.message
    return Foretold(
        session, len(new), len(same), len(missing), len(unforeseen), len(apart), first, refusal, real.version
    )  # fmt: skip


def told(found: Sequence[Foretold]) -> Iterator[str]:
    """A comparison for a terminal."""
    for each in found:
        what = f"{each.same:,} of {each.predicted:,} predicted event(s) are there as predicted"
        yield f"{printable(each.session_id[:60])}: {what}"
        if not each.holds:
            rest = f"{each.missing:,} missing, {each.differing:,} otherwise, {each.unforeseen:,} that nothing foretold"
            yield f"    {rest}; the first is {printable(str(each.first))}"
        if each.refusal is not None:
            yield f"    ours ended with: {printable(each.refusal[:200])}"
