"""An upgrade killed on its way, on fresh copies, and run again: what the kill left, and how the next run ended."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from busbar_audit.rehearsal.upgrade_copy import digests, end, fresh, state
from busbar_audit.rehearsal.upgrade_result import EMULATION, Kill, Upgrade
from busbar_audit.rehearsal.upgrade_run import Upgrader
from busbar_audit.text import printable

# A moment is drawn so often for each kill that is wanted: many come after the command has ended.
_DRAWN = 3


def kill(
    found: Upgrade, upgrader: Upgrader, source: Path, copy: Path, done: Mapping[str, str], kills: int, seed: int
) -> None:
    """Kill the command at random moments of the time that it took.

    Parameters
    ----------
    source : finished copy of the store before. copy : where the fresh copies go.
    done : digests of the copy after the upgrade that was not killed. kills : how many are wanted.
    """
    before = digests(fresh(source, copy))
    took = found.measures.wall if found.measures is not None else 1.0
    moments = random.Random(seed)  # noqa: S311 - moments, no secret
    for _ in range(kills * _DRAWN):
        if len(found.kills) == kills:
            break
        after = moments.random() * took
        fresh(source, copy)
        if upgrader.killed(copy, after):
            left = state(copy, before, done)
            ran = upgrader.run(copy)
            _note(found, f"after {after:.3f} s", left, end(copy, done) if ran.succeeded else str(ran))
        else:
            # It is quicker than it was the first time: later moments would miss, too.
            found.missed, took = found.missed + 1, after
    _short(found, kills)


def kill_emulation(found: Upgrade, source: Path, folder: Path, to: int, kills: int, seed: int, timeout: float) -> None:
    """Kill our emulation before so many of its steps and at random moments, by a process of its own that forks for each."""
    words = [sys.executable, "-m", "busbar_audit.rehearsal.upgrade_points"]
    try:
        ran = subprocess.run(
            [*words, str(source), str(folder), str(to), str(kills), str(seed)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            check=True,
        )
    except subprocess.SubprocessError as error:
        found.unsure.append(f"kills of {EMULATION} could not be tried: {type(error).__name__}")
        return
    for line in ran.stdout.splitlines():
        told = json.loads(line)
        _note(found, told["moment"], told["found"], told["end"])
    _short(found, kills)


def _note(found: Upgrade, moment: str, left: str, ended: str) -> None:
    """Keep one kill, and break `kill` where the next run did not end as one without a kill."""
    found.kills.append(Kill(moment, left, printable(ended)[:200]))
    if ended != "same":
        found.breaks("kill", f"kill {len(found.kills)}, {moment}", f"found {left}; the next run: {ended}")


def _short(found: Upgrade, kills: int) -> None:
    if len(found.kills) < kills:
        late = f": {found.missed:,} came after the command had ended" if found.missed else ""
        found.unsure.append(f"{kills:,} kill(s) were asked for and {len(found.kills):,} hit{late}")
