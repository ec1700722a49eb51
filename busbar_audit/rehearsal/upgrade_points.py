"""Our emulation of an upgrade killed at many points, each on a fresh copy, and run again.

One process without threads that forks for every run, so that fifty kills cost little more than fifty upgrades.
As a program: ``python -m busbar_audit.rehearsal.upgrade_points SOURCE FOLDER TO POINTS SEED``; a line of JSON for each kill.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from busbar_audit.rehearsal.upgrade_copy import digests, end, fresh, state
from busbar_audit.rehearsal.upgrade_emulation import Refused, upgrade

# Of the points, so many are moments in time and the others are steps.
_TIMED = 0.3


def points(source: Path, folder: Path, to: int, many: int, seed: int) -> Iterator[dict[str, str]]:
    """Kill at so many points.

    Yields
    ------
    moment, found (rolled back, part way or done) and end (same, or what differs), one for each kill that hit.
    """
    copy = folder / "points.db"
    before = digests(fresh(source, copy))
    steps: list[str] = []
    began = time.perf_counter()
    upgrade(copy, to, steps.append)
    took = time.perf_counter() - began
    done = digests(copy)
    chance = random.Random(seed)  # noqa: S311 - moments, no secret
    timed = int(many * _TIMED)
    for number in _chosen(steps, many - timed, chance):
        fresh(source, copy)
        _forked(copy, to, _dies_at(number))
        yield _told(f"before step {number + 1} of {len(steps)}, {steps[number]}", copy, to, before, done)
    hits = 0
    for _ in range(timed * 4):
        if hits == timed:
            break
        after = chance.random() * took
        fresh(source, copy)
        if _forked(copy, to, None, after):
            hits += 1
            yield _told(f"after {after * 1000:.1f} ms", copy, to, before, done)
        else:
            took = after


def _chosen(steps: list[str], many: int, chance: random.Random) -> list[int]:
    """The ends of the transaction always; of the other statements and of the copied rows about as many, drawn at random."""
    ends = [n for n, name in enumerate(steps) if name in ("BEGIN", "COMMIT", "close")][:many]
    rows = [n for n, name in enumerate(steps) if name.startswith("row ")]
    others = [n for n in range(len(steps)) if n not in {*rows, *ends}]
    left = many - len(ends)
    of_rows = min(len(rows), max(left // 2, left - len(others)))
    drawn = [*chance.sample(rows, of_rows), *chance.sample(others, min(len(others), left - of_rows))]
    return sorted([*ends, *drawn])


def _dies_at(number: int) -> Callable[[str], None]:
    left = [number]

    def step(_name: str) -> None:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    return step


def _forked(copy: Path, to: int, step: Callable[[str], None] | None, after: float | None = None) -> bool:
    """Upgrade in a child; whether it was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            upgrade(copy, to, step or (lambda _name: None))
        except (Refused, sqlite3.Error):
            os._exit(1)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def _told(moment: str, copy: Path, to: int, before: Mapping[str, str], done: Mapping[str, str]) -> dict[str, str]:
    found = state(copy, before, done)
    try:
        upgrade(copy, to)
        ended = end(copy, done)
    except (Refused, sqlite3.Error) as error:
        ended = f"fails: {type(error).__name__}"
    return {"moment": moment, "found": found, "end": ended}


def main() -> int:
    """Print a line for each kill."""
    source, folder, to, many, seed = sys.argv[1:6]
    for told in points(Path(source), Path(folder), int(to), int(many), int(seed)):
        print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
