"""What a rehearsed upgrade was: how it ran, what it broke, what could not be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from busbar_audit.rehearsal.commands import Ran
from busbar_audit.text import printable
from busbar_audit.verdict import Verdict

EMULATION = "our emulation"
COMMAND = "the operator's command"
_NO_TIME = "; of the emulation, which says nothing of what the release takes"


@dataclass(frozen=True)
class Broken:
    """An invariant that does not hold. rule : of the sheet, `command` or `kill`. subject : a table, or what it is about."""

    rule: str
    subject: str
    what: str


@dataclass(frozen=True)
class Foretold:
    """Rows told of an upgrade before it ran, and found after it; done is None where they could not be."""

    rule: str
    what: str
    predicted: int
    done: int | None = None


@dataclass(frozen=True)
class Kill:
    """One kill. found : `rolled back`, `part way` or `done` right after it. end : `same` or how the next run ended."""

    moment: str
    found: str
    end: str


@dataclass(frozen=True)
class Measures:
    """What the command took: wall and processor seconds, MiB written, MiB of the file before and after.

    mebibytes : of its largest process, at most; None where an earlier child of this process had been larger.
    """

    wall: float
    processor: float
    mebibytes: float | None
    written: float
    before: float
    after: float


@dataclass
class Upgrade:
    """A rehearsed upgrade.

    Attributes
    ----------
    before, after : generations; after is None where the copy is not recognised. upgrader : who did it, in words.
    warnings : of the store before. broken : invariants that do not hold. unsure : what could not be told.
    foretold : what the upgrade should do to these rows, and what it did.
    kills : of those asked for, what was found. missed : kills that came after the command had ended.
    compared : rows held against before, by table. not_compared : tables and things that nothing is said of.
    """

    before: int
    after: int | None = None
    upgrader: str = COMMAND
    ran: list[Ran] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    foretold: list[Foretold] = field(default_factory=list)
    measures: Measures | None = None
    kills: list[Kill] = field(default_factory=list)
    missed: int = 0
    compared: dict[str, int] = field(default_factory=dict)
    not_compared: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)

    def breaks(self, rule: str, subject: str, what: str) -> None:
        """Note an invariant that does not hold; subject and what are made printable and short here."""
        self.broken.append(Broken(rule, printable(subject)[:120], printable(what)[:300]))

    @property
    def verdict(self) -> Verdict:
        """Findings where an invariant does not hold or a warning stands, inconclusive where one could not be told."""
        if self.broken or self.warnings:
            return Verdict.FINDINGS
        return Verdict.INCONCLUSIVE if self.unsure else Verdict.CLEAN

    @property
    def exit_code(self) -> int:
        """Of the verdict."""
        return self.verdict.exit_code

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": "busbar-audit-upgrade/2",
            "verdict": self.verdict.value,
            "exit_code": self.exit_code,
            "upgrader": self.upgrader,
            "before": self.before,
            "after": self.after,
            "commands": [
                {"ended": str(each), "code": each.code, "left_running": list(each.left), "output": each.output[-4000:]}
                for each in self.ran
            ],
            "warnings": self.warnings,
            "broken": [asdict(each) for each in self.broken],
            "unsure": self.unsure,
            "foretold": [asdict(each) for each in self.foretold],
            "measures": None if self.measures is None else asdict(self.measures),
            "kills": [asdict(each) for each in self.kills],
            "kills_missed": self.missed,
            "rows_compared": self.compared,
            "not_compared": self.not_compared,
        }


def lines(found: Upgrade) -> Iterator[str]:
    """For a terminal."""
    yield f"upgrade   generation {found.before} to {found.after}, by {found.upgrader}"
    for warning in found.warnings:
        yield f"before    {warning}"
    for number, ran in enumerate(found.ran, 1):
        yield f"run {number}     {printable(str(ran))}"
    if found.measures is not None:
        m = found.measures
        largest = "not told" if m.mebibytes is None else f"at most {m.mebibytes:,.0f} MiB"
        yield (
            f"took      {m.wall:.2f} s, {m.processor:.2f} s of a processor, largest process {largest}, "
            f"{m.written:,.1f} MiB written, file {m.before:,.1f} to {m.after:,.1f} MiB"
            f"{_NO_TIME if found.upgrader == EMULATION else ''}"
        )
    for each in found.foretold:
        done = "not told" if each.done is None else f"{each.done:,}"
        yield f"{each.rule:9} {each.what}: {each.predicted:,} foretold, {done} done"
    yield f"compared  {sum(found.compared.values()):,} row(s) of {len(found.compared)} table(s)"
    if found.kills or found.missed:
        yield f"killed    {len(found.kills):,} time(s), each on a fresh copy, and run again; {found.missed:,} came too late"
    for state in ("rolled back", "part way", "done"):
        of = [kill for kill in found.kills if kill.found == state]
        if of:
            same = sum(kill.end == "same" for kill in of)
            yield f"          found {state}: {len(of):,}, of which the next run ended as without a kill: {same:,}"
    for broken in found.broken[:50]:
        yield f"{broken.rule:9} {broken.subject}: {broken.what}"
    if len(found.broken) > 50:
        yield f"          {len(found.broken) - 50:,} more"
    for reason in found.unsure[:20]:
        yield f"unsure    {reason}"
    if len(found.unsure) > 20:
        yield f"          {len(found.unsure) - 20:,} more"
    if found.not_compared:
        yield f"not compared: {', '.join(found.not_compared)}"
