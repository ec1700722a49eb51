"""What a conversion by our emulation takes: run in a process of its own, on a file, synced to the disk as the product does.

The child says most of it by itself. Its peak memory is not asked of `wait4`: on Linux that counts what the parent held when it
forked, too.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from busbar_audit.conversion.converter import RESEQUENCE, Conversion, convert
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.errors import UsageError

MEBIBYTE = 1 << 20
_SAMPLED = 0.02


@dataclass(frozen=True)
class Taken:
    """One conversion, or the median of several.

    Attributes
    ----------
    seconds, processor : of the conversion, without the process's start. silence : the longest time between two events, the
    resequence among them. resequence : seconds of it. transactions : appends, resequence, mark. memory, written, wal, grown :
    MiB at the peak, to the disk (None where the system does not tell), of the WAL at its largest sample, and of the file.
    spread : of several runs, slowest by fastest.
    """

    seconds: float
    processor: float
    silence: float
    resequence: float
    transactions: float
    memory: float | None
    written: float | None
    wal: float
    grown: float
    spread: float = 1.0


class RanOut(Exception):
    """A conversion was stopped at its time."""


def measured(path: Path, session: str, timeout: float) -> Taken:
    """Convert a session of a private store, for good, in a child process.

    Raises
    ------
    RanOut : it was not through after so many seconds, and was killed. UsageError : it was refused, or the child failed.
    """
    wal, before, deadline = path.with_name(path.name + "-wal"), path.stat().st_size, time.monotonic() + timeout
    command = [sys.executable, "-m", "busbar_audit.rehearsal.measuring", str(path), session]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        peak = 0
        while child.poll() is None:
            if time.monotonic() > deadline:
                child.kill()
                raise RanOut
            peak = max(peak, _size(wal))
            time.sleep(_SAMPLED)
        told = child.stdout.read() if child.stdout else ""
    if child.returncode != 0:
        raise UsageError("A rung of the ladder could not be converted.", "Room and memory for it.", "A smaller budget.")
    return Taken(**json.loads(told), wal=peak / MEBIBYTE, grown=(_size(path) - before) / MEBIBYTE)


def median(runs: Sequence[Taken]) -> Taken:
    """Of several runs, each figure's median, and how far they are apart."""
    told: dict[str, Any] = {
        each.name: statistics.median(values) if None not in values else None
        for each in fields(Taken)
        for values in [[getattr(run, each.name) for run in runs]]
    }
    told["spread"] = max(run.seconds for run in runs) / max(1e-9, min(run.seconds for run in runs))
    return Taken(**told)


def in_process(path: Path, session: str) -> Taken:
    """The same without a child: what it does, with no sample of the WAL and no growth."""
    marks = [time.perf_counter()]
    resequence = 0.0

    def before(_: Conversion, what: str) -> None:
        nonlocal resequence
        marks.append(time.perf_counter())
        if what == RESEQUENCE:
            resequence = marks[-1]

    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = WAL")
        con.execute("PRAGMA synchronous = FULL")
        spent, written = time.process_time(), _written()
        done = convert(Ledger(con), session, before=before, names=False)
        marks.append(time.perf_counter())
        spent = time.process_time() - spent
    if not done.complete:
        raise UsageError("A session was refused.", "One that converts.", "See rehearse --conversion.")
    now = _written()
    return Taken(
        seconds=marks[-1] - marks[0],
        processor=spent,
        silence=max(later - earlier for earlier, later in pairwise(marks)),
        # From before the resequence to before the mark.
        resequence=marks[-2] - resequence,
        transactions=float(done.appends + 2),
        memory=_peak(),
        written=None if now is None or written is None else (now - written) / MEBIBYTE,
        wal=0.0,
        grown=0.0,
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _proc(name: str, field: str) -> int | None:
    try:
        lines = Path("/proc/self", name).read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field))
    except (OSError, StopIteration):
        return None


def _written() -> int | None:
    return _proc("io", "write_bytes:")


def _peak() -> float | None:
    kibibytes = _proc("status", "VmHWM:")
    return None if kibibytes is None else kibibytes / 1024


if __name__ == "__main__":
    found = asdict(in_process(Path(sys.argv[1]), sys.argv[2]))
    print(json.dumps({name: found[name] for name in found if name not in ("wal", "grown", "spread")}))
