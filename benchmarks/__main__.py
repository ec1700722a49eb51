"""`make bench`: parts of an audit of one million calls against the plain loop; `--scale` adds 10^4 to 10^7 calls."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

from benchmarks import measure
from busbar_audit.synth import write_busbar

HERE = Path(__file__).parent
PYTHON = sys.executable


def store(folder: Path, calls: int) -> Path:
    path = folder / f"calls-{calls}.db"
    if not path.exists():
        write_busbar(path, generation=9, calls=calls, principals=200, tasks=200, audits=1000)
    return path


def step(name: str, path: Path, times: int) -> measure.Figures:
    return measure.best(times, PYTHON, "-m", "benchmarks.steps", name, str(path))


def audit(path: Path, times: int) -> measure.Figures:
    return measure.best(times, PYTHON, "-m", "busbar_audit.cli", "audit", str(path), "--as-of", "2023-11-21T22:13:20Z")


def ratios(folder: Path, calls: int, times: int) -> None:
    path = store(folder, calls)
    print(f"{calls:,} calls, {path.stat().st_size / 1e6:.0f} MB, median of {times}")
    loop = measure.best(times, PYTHON, str(HERE / "plain.py"), str(path))
    floor = step("backup", path, times).seconds + step("scan", path, times).seconds
    print(f"{'plain loop':34} {loop.seconds:7.2f} s  1.00    {loop.mebibytes:6.0f} MiB")
    print(f"{'floor: backup and one scan':34} {floor:7.2f} s  {floor / loop.seconds:.2f}")
    for name in ("imports", "backup", "sha256", "integrity", "load", "fast", "streaming"):
        part = step(name, path, times if name != "streaming" else 1)
        label = {"fast": "link, content, gaps (snapshot)", "load": "snapshot and exact load"}.get(name, name)
        line = f"{label:34} {part.seconds:7.2f} s  {part.seconds / loop.seconds:.2f}    {part.mebibytes:6.0f} MiB"
        print(line + ("   (at most 0.25)" if name == "fast" else ""))
    whole = audit(path, times)
    print(
        f"{'audit, whole':34} {whole.seconds:7.2f} s  {whole.seconds / loop.seconds:.2f}    {whole.mebibytes:6.0f} MiB"
        f"   (at most 1.00); exit {whole.code}; {whole.seconds / floor:.1f} times the floor"
    )


def scale(folder: Path, sizes: list[int]) -> None:
    figures = {}
    for calls in sizes:
        path = store(folder, calls)
        figures[calls] = audit(path, 1)
        seconds, mebibytes = figures[calls].seconds, figures[calls].mebibytes
        print(
            f"audit of {calls:>12,} calls {seconds:8.2f} s {mebibytes:7.0f} MiB  exit {figures[calls].code}", flush=True
        )
        path.unlink()
    logs = [(math.log(calls), math.log(f.seconds)) for calls, f in figures.items()]
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)
    print(f"growth exponent {slope:.2f} (at most 1.05)")
    largest, smaller = max(figures), sorted(figures)[-2]
    ratio = figures[largest].mebibytes / figures[smaller].mebibytes
    print(f"memory of {largest:,} against {smaller:,} calls: {ratio:.2f} (at most 1.2)")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=1_000_000)
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--scale", action="store_true", help="10^4 to 10^7 calls; needs 15 GB of disk and ten minutes")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        ratios(Path(place), asked.calls, asked.times)
        if asked.scale:
            scale(Path(place), [10_000, 100_000, 1_000_000, 3_000_000, 10_000_000])
