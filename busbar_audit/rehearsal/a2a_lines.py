"""What the rehearsal of an A2A migration says to people."""

from __future__ import annotations

from collections.abc import Iterator

from busbar_audit.rehearsal.a2a_applied import Applied
from busbar_audit.rehearsal.a2a_invariants import NOT_COMPARED
from busbar_audit.rehearsal.a2a_migration import Rehearsal
from busbar_audit.rehearsal.outcomes import Outcome
from busbar_audit.text import printable


def lines(found: Rehearsal) -> Iterator[str]:
    """For people: traps, the run, what did not hold first, what was not compared."""
    tasks, configs = found.rows
    yield f"store     {printable(found.store)}: {printable(found.generation)}, {tasks} tasks, {configs} configurations"
    yield from (_line("before", each) for each in found.before)
    if found.reason:
        yield found.reason
        return
    for name, run in (("run", found.applied), ("again", found.again)):
        if run is not None:
            yield f"{name:9} {_times(run)}"
    for each in found.applied.steps if found.applied is not None else ():
        locks = ", ".join(f"{table} {mode}" for table, mode in sorted(each.locks.items()))
        yield f"  {each.number:3} {printable(each.word):10} {each.seconds:8.4f} s  {locks}"
    yield from (
        _line("after", each) for each in sorted(found.after, key=lambda o: {False: 0, None: 1, True: 2}[o.held])
    )
    yield f"not compared: {'; '.join(NOT_COMPARED)}"


def _times(run: Applied) -> str:
    return (
        f"{run.seconds:.3f} s, nobody could read a table for {run.exclusive:.3f} s, longest blocked reader "
        f"{run.blocked:.3f} s, {run.log_bytes} bytes of log"
    )


def _line(when: str, each: Outcome) -> str:
    word = {True: "holds", False: each.severity, None: "not told"}[each.held]
    extent = f" ({each.extent})" if each.held is False and each.extent else ""
    return f"{when:9} {word:8} {each.name}{extent}: {each.detail}"
