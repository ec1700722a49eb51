"""A faster way to the same outcomes for mcp_calls, the population that grows largest.

The table is read in rowid order, which is sequential on disk, by several processes, each taking ranges of rowids. In
that order the records of a principal nearly always ascend, so each range gives one span per principal, and the spans of
neighbouring ranges join into the chain. A principal whose records do not ascend is verified again by `streaming`.

Memory grows with the number of principals, never with that of records; past a bound `streaming` takes the whole table.
"""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from busbar_audit.chains import streaming
from busbar_audit.chains.outcome import ChainOutcome
from busbar_audit.chains.spans import COLUMNS, MAX_SPANS, NotThisWay, Scanner, Spans
from busbar_audit.chains.streaming import ORDER_TOLERANCE

_ALONE_BELOW = 40_000  # rows; starting a process costs more than they do
_RANGE = 50_000  # rowids

# The worker needs this sub-package alone; importing all of the package would cost it more than its share of the work.
_BOOT = (
    "import sys, types; package = types.ModuleType('busbar_audit'); package.__path__ = [sys.argv[1]]; "
    "sys.modules['busbar_audit'] = package; from busbar_audit.chains.fast import worker; worker()"
)


def worker() -> None:
    """Serve ranges: snapshot and tolerance from the arguments, `low high` lines in, pickled spans out."""
    scanner = Scanner(Path(sys.argv[2]), int(sys.argv[3]))
    for line in sys.stdin:
        low, high = map(int, line.split())
        try:
            answer: Spans | None = scanner.scan(low, high)
        except NotThisWay:
            answer = None
        pickle.dump(answer, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
    scanner.close()


class _Ranges:
    """The work to do and the spans already joined, shared by the threads of this process."""

    def __init__(self, low: int, high: int, processes: int, tolerance: int) -> None:
        self.order: list[tuple[int, int]] = []
        while low <= high:
            # Large ranges first, as each costs a span per principal; small ones last, so that all end together.
            step = max((high - low + 1) // (2 * processes), _RANGE)
            self.order.append((low, min(low + step - 1, high)))
            low += step
        self.todo = self.order[::-1]
        self.processes = processes
        self.tolerance = tolerance
        self.done: dict[tuple[int, int], Spans] = {}
        self.joined: Spans = {}
        self.given_up = False
        self.lock = threading.Lock()

    def take(self) -> tuple[int, int] | None:
        with self.lock:
            return self.todo.pop() if self.todo and not self.given_up else None

    def give_back(self, part: tuple[int, int]) -> None:
        with self.lock:
            self.todo.append(part)

    def put(self, part: tuple[int, int], spans: Spans | None) -> None:
        with self.lock:
            if spans is None:
                self.given_up = True
                return
            self.done[part] = spans
            # Only neighbours can be joined, so a range waits until all before it are there.
            while self.order and self.order[0] in self.done:
                for principal, span in self.done.pop(self.order.pop(0)).items():
                    if principal in self.joined:
                        self.joined[principal].join(span, self.tolerance)
                    else:
                        self.joined[principal] = span
            if len(self.joined) > 2 * MAX_SPANS:
                self.given_up = True


def _serve(child: subprocess.Popen[bytes], ranges: _Ranges) -> None:
    """Hand ranges to one worker until none is left. A worker that dies gives its range back to this process."""
    part = None
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        while (part := ranges.take()) is not None:
            child.stdin.write(b"%d %d\n" % part)
            child.stdin.flush()
            ranges.put(part, pickle.load(child.stdout))  # noqa: S301 - written by our own process
            part = None
        child.stdin.close()
    except (OSError, EOFError, pickle.UnpicklingError):
        if part is not None:
            ranges.give_back(part)


def _close(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        # What is still buffered for a killed worker cannot be flushed.
        with suppress(OSError, ValueError):
            assert pipe is not None
            pipe.close()


def _start(snapshot: Path, tolerance: int) -> subprocess.Popen[bytes]:
    package = str(Path(__file__).resolve().parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, package, str(snapshot), str(tolerance)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def _scan_all(snapshot: Path, ranges: _Ranges) -> None:
    tolerance = ranges.tolerance
    children = [_start(snapshot, tolerance) for _ in range(ranges.processes - 1)]
    threads = [threading.Thread(target=_serve, args=(child, ranges), daemon=True) for child in children]
    try:
        for thread in threads:
            thread.start()
        with closing(Scanner(snapshot, tolerance)) as scanner:
            working = True
            while working:
                while (part := ranges.take()) is not None:
                    try:
                        ranges.put(part, scanner.scan(*part))
                    except NotThisWay:
                        ranges.put(part, None)
                for thread in threads:
                    thread.join()
                working = bool(ranges.todo) and not ranges.given_up
    finally:
        for child in children:
            child.kill()
            child.wait()
        for thread in threads:
            thread.join()
        for child in children:
            _close(child)


def verify_calls(
    snapshot: Path, *, order_tolerance: int = ORDER_TOLERANCE, processes: int = 2
) -> Iterator[ChainOutcome]:
    """Verify every chain of mcp_calls in a SQLite snapshot, with the same outcomes as `streaming.verify`.

    Parameters
    ----------
    snapshot : the finished private copy; nothing is written to it or beside it.
    order_tolerance : seconds by which a time may go back (sheet 12.2, C10).
    processes : how many read at the same time, this one included. Small tables are read by this one alone.

    Yields
    ------
    ChainOutcome
        One per principal, in byte order; nothing when the table does not exist.
    """
    snapshot = snapshot.resolve()
    with closing(streaming.connect(snapshot)) as con:
        con.text_factory = bytes
        shape = streaming.table_shape(con, "mcp_calls")
        if shape is None:
            return
        columns, has_rowid = shape
        in_place = has_rowid and set(COLUMNS) <= columns.keys() and "rowid" not in map(str.lower, columns)
        ranges = _ranges(con, processes, order_tolerance) if in_place else None
        if ranges is not None:
            _scan_all(snapshot, ranges)
            indexed = columns["principal"] == 1 and columns["seq"] == 2
            ranges.given_up = ranges.given_up or not _worth_it(ranges.joined, indexed)
        if ranges is None or ranges.given_up:
            yield from streaming.verify_calls(con, order_tolerance=order_tolerance)
            return
        for principal in sorted(ranges.joined):
            span = ranges.joined.pop(principal)
            if span.ascends:
                yield span.outcome(principal)
            else:
                yield from streaming.verify_calls(con, order_tolerance=order_tolerance, principal=principal)


def _ranges(con: sqlite3.Connection, processes: int, tolerance: int) -> _Ranges:
    # Two queries: SQLite finds one end of a table at once, but both ends in one query by a full scan.
    low, high = (con.execute(f"SELECT {end}(rowid) FROM mcp_calls").fetchone()[0] for end in ("min", "max"))  # noqa: S608
    if low is None:
        return _Ranges(1, 0, 1, tolerance)
    return _Ranges(low, high, 1 if high - low < _ALONE_BELOW else max(processes, 1), tolerance)


def _worth_it(spans: Spans, indexed: bool) -> bool:
    """Whether the chains that must be read again are few enough to be read one by one."""
    again = sum(span.count for span in spans.values() if not span.ascends)
    return again == 0 or (indexed and again * 4 <= sum(span.count for span in spans.values()))
