"""`busbar-audit rehearse TARGET --migration FILE --copy TARGET`: collects, calls, prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from busbar_audit.policy import read_policy
from busbar_audit.rehearsal.a2a_applied import Applied
from busbar_audit.rehearsal.a2a_invariants import NOT_COMPARED
from busbar_audit.rehearsal.a2a_migration import Rehearsal, document, rehearse
from busbar_audit.rehearsal.outcomes import Outcome
from busbar_audit.rehearsal.script import read_script
from busbar_audit.target import parse_target
from busbar_audit.text import printable


def run(
    target: str,
    copy: str,
    migration: Path,
    *,
    schema: str | None,
    policy: Path | None,
    points: int,
    timeout: float,
    as_json: bool,
) -> int:
    """Rehearse and print; the result is the exit code."""
    declared = read_policy(policy) if policy is not None else None
    statements = read_script(migration)
    named = parse_target(target)
    found = rehearse(
        named if schema is None else named.in_schema(schema),
        parse_target(copy),
        statements,
        accepted=() if declared is None else declared.helpers,
        role=None if declared is None else declared.runtime_role,
        expect_empty=declared is not None and declared.expect_empty,
        points=points,
        timeout=timeout,
    )
    if as_json:
        print(json.dumps(document(found), indent=1, ensure_ascii=True))
        print(found.verdict, file=sys.stderr)
    else:
        for line in lines(found):
            print(line)
        print(found.verdict)
    return found.verdict.exit_code


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
