"""A command as a whole process: wall seconds and the largest memory of the process and its children together."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figures:
    """Wall seconds; peak resident MiB of the whole process tree, sampled; exit code; seconds of processors."""

    seconds: float
    mebibytes: float
    code: int
    processors: float


def run(*command: str) -> Figures:
    """Run a command to its end; its output is kept only if it fails."""
    started, peak, used = time.perf_counter(), 0.0, sum(os.times()[2:4])
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while child.poll() is None:
        peak = max(peak, sum(_resident(pid) for pid in _tree(child.pid)))
        time.sleep(0.1)
    seconds = time.perf_counter() - started
    if child.returncode not in (0, 1, 3):
        print(child.stdout.read() if child.stdout else "", file=sys.stderr)
    return Figures(seconds, peak, child.returncode, sum(os.times()[2:4]) - used)


def best(times: int, *command: str) -> Figures:
    """The run of the median wall time."""
    runs = sorted((run(*command) for _ in range(times)), key=lambda figures: figures.seconds)
    return runs[len(runs) // 2]


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(inner for child in children for inner in _tree(int(child)))]


def _resident(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)
