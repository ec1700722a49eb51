"""Figures as SVG: drawn by matplotlib without a date and with fixed ids, coloured by the page's style."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from busbar_audit.text import printable

# Colours nobody would choose, which become variables of the style sheet afterwards: a figure follows the page's scheme.
_INK = {
    "#010101": "var(--ba-ink, #1c2024)",
    "#020202": "var(--ba-soft, #5b636b)",
    "#030303": "var(--ba-rule, #d5d9dd)",
    "#040404": "var(--ba-bar, #4a6f96)",
    "#050505": "var(--ba-bad, #b3261e)",
    "#060606": "var(--ba-paper, #ffffff)",
    "#070707": "var(--ba-track, #c9d3dc)",
}
INK, SOFT, RULE, BAR, BAD, PAPER, TRACK = _INK
_STEPS = (60, 300, 900, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000)
_BUCKETS = 72
# The order is that of drawing; missing records are drawn as boxes, everything else as marks.
MARKS = {
    "gap-inner": "",
    "head-missing": "",
    "content": "X",
    "link": "^",
    "genesis": "P",
    "restart": "v",
    "fork": "D",
    "undecodable": "o",
    "form": "s",
    "order": "<",
}
_MARK: dict[str, Any] = {
    "linestyle": "none",
    "markersize": 7,
    "color": BAD,
    "markeredgecolor": PAPER,
    "markeredgewidth": 0.7,
    "clip_on": False,
}
_BOXES: dict[str, Any] = {"gap-inner": "-", "head-missing": (0, (2, 1.5))}


def step_for(seconds: int) -> int:
    """Length of an interval in seconds, so that not many more than seventy fill the range."""
    return next((step for step in _STEPS if seconds / step <= _BUCKETS), max(1, seconds // _BUCKETS))


def in_words(step: int) -> str:
    """An interval in words."""
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if step % unit == 0:
            count = step // unit
            return f"{name}" if count == 1 else f"{count} {name}s"
    return f"{step} seconds"


@dataclass(frozen=True)
class Panel:
    """One population on the time axis: counts by interval, and how many of them show a fault."""

    title: str
    buckets: Sequence[tuple[int, int, int]]


@dataclass(frozen=True)
class Bar:
    """One chain on the map: its label, its range, its faults as (about, first, last)."""

    label: str
    first_seq: int
    last_seq: int
    marks: Sequence[tuple[str, int, int]]


@dataclass(frozen=True)
class Lane:
    """One population on the axis of last writes: when its intervals with a record begin, its last write, its verdict."""

    label: str
    intervals: Sequence[int]
    last: int | None
    verdict: str


def timeline(panels: Sequence[Panel], start: int, step: int) -> str:
    """Records per interval, a panel a population, on one axis of time (UTC)."""
    import matplotlib.dates as mdates
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    height = 0.9 + 1.3 * len(panels)
    with _drawing(9, height) as figure:
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        figure.subplots_adjust(left=0.085, right=0.99, top=1 - 0.28 / height, bottom=0.58 / height, hspace=0.52)
        for axis, panel in zip(axes, panels, strict=True):
            begin = [datetime.fromtimestamp(start + bucket * step, UTC) for bucket, _, _ in panel.buckets]
            heights = [records for _, records, _ in panel.buckets]
            axis.bar(begin, heights, width=timedelta(seconds=step * 0.86), align="edge", color=BAR, linewidth=0)
            bad = [
                (moment, height)
                for moment, height, (_, _, faults) in zip(begin, heights, panel.buckets, strict=True)
                if faults
            ]
            middle = timedelta(seconds=step * 0.43)
            axis.plot(
                [moment + middle for moment, _ in bad], [height for _, height in bad],
                linestyle="none", marker="v", markersize=7, color=BAD, markeredgecolor=PAPER, clip_on=False, zorder=3,
            )  # fmt: skip
            axis.set_title(panel.title, loc="left", fontsize=10, fontweight="bold", color=INK, pad=5)
            axis.set_ylabel("records", fontsize=9)
            axis.set_ylim(0, max(heights, default=1) * 1.12)
            axis.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.grid(axis="y", color=RULE, linewidth=0.6)
            axis.set_axisbelow(True)
            _plain(axis)
        locator = mdates.AutoDateLocator(tz=UTC, minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
        axes[-1].xaxis.set_major_locator(locator)
        axes[-1].xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
        axes[-1].set_xlabel(
            f"time, UTC (intervals of a {in_words(step)})"
            if step in (86400, 3600, 60)
            else f"time, UTC (intervals of {in_words(step)})",
            fontsize=9,
        )
        return _svg(figure, "timeline", "Records over time, a panel for each population")


def break_map(bars: Sequence[Bar]) -> str:
    """One bar a chain, each to its own scale, with a mark at every fault."""
    kinds = [kind for kind in MARKS if any(about == kind for bar in bars for about, _, _ in bar.marks)]
    height = 1.2 + 0.42 * len(bars)
    with _drawing(9, height) as figure:
        axis = figure.subplots()
        figure.subplots_adjust(left=0.25, right=0.99, top=1 - 0.5 / height, bottom=0.55 / height)
        for row, bar in enumerate(bars):
            _bar(axis, row, bar)
        handles = [_legend(axis, kind) for kind in kinds]
        axis.set_ylim(len(bars) - 0.4, -0.7)
        axis.set_xlim(-0.09, 1.09)
        axis.set_yticks(range(len(bars)), [bar.label for bar in bars], fontsize=9)
        axis.set_xticks([0, 0.5, 1], ["first record", "half way", "last record"])
        axis.set_xlabel("place in the chain by sequence number, each bar to its own scale", fontsize=9)
        _plain(axis)
        axis.spines["left"].set_visible(False)
        axis.tick_params(axis="y", length=0)
        legend = figure.legend(
            handles=handles,
            loc="upper left",
            ncols=5,
            frameon=False,
            fontsize=9,
            handletextpad=0.2,
            columnspacing=1.4,
        )
        for entry in legend.get_texts():
            entry.set_color(INK)
        return _svg(figure, "breaks", "Chains with faults, and where in each chain the faults are")


def _bar(axis: Any, row: int, bar: Bar) -> None:
    span = max(1, bar.last_seq - bar.first_seq)

    def at(seq: int) -> float:
        return min(1.04, max(-0.05, (seq - bar.first_seq) / span))

    axis.barh(row, 1, height=0.3, color=TRACK, linewidth=0)
    axis.text(-0.012, row + 0.36, f"{bar.first_seq:,}", ha="left", va="center", fontsize=7.5, color=SOFT)
    axis.text(1.012, row + 0.36, f"{bar.last_seq:,}", ha="right", va="center", fontsize=7.5, color=SOFT)
    for kind, shape in MARKS.items():
        places = [(first, last) for about, first, last in bar.marks if about == kind]
        if kind == "head-missing" and places:
            axis.barh(row, 0.05, left=-0.055, height=0.3, **_box(kind))
        elif kind == "gap-inner":
            for first, last in places:
                left, right = at(first - 1), at(last + 1)
                axis.barh(row, max(right - left, 0.004), left=left, height=0.32, **_box(kind))
        elif places:
            for first, last in places:
                if last > first:
                    axis.barh(row, at(last) - at(first), left=at(first), height=0.3, color=BAD, alpha=0.3, linewidth=0)
            middles = [at((first + last) // 2) for first, last in places]
            axis.plot(middles, [row] * len(places), marker=shape, zorder=3, **_MARK)


def _box(kind: str) -> dict[str, Any]:
    return {"color": PAPER, "edgecolor": BAD, "linewidth": 0.9, "linestyle": _BOXES[kind]}


def _legend(axis: Any, kind: str) -> Any:
    from matplotlib.patches import Patch

    if kind in _BOXES:
        return Patch(facecolor=PAPER, edgecolor=BAD, linewidth=0.9, linestyle=_BOXES[kind], label=kind)
    return axis.plot([], [], marker=MARKS[kind], label=kind, **_MARK)[0]


def last_writes(lanes: Sequence[Lane], since: int, step: int, ends: int | None, clock: int) -> str:
    """When each population was written, and its last write, a lane a population on one axis of time (UTC).

    Parameters
    ----------
    since : where the axis begins. step : seconds of an interval. ends : the last write of the store. clock : of the audit.
    """
    import matplotlib.dates as mdates

    height = 0.95 + 0.36 * len(lanes)
    with _drawing(9, height) as figure:
        axis = figure.subplots()
        figure.subplots_adjust(left=0.115, right=0.985, top=1 - 0.34 / height, bottom=0.58 / height)
        for row, lane in enumerate(lanes):
            _lane(axis, row, lane, since, step)
        if ends is not None:
            axis.axvline(_moment(ends), color=SOFT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            # An audit long after the last write would leave the writes no room.
            if 0 <= clock - ends <= (ends - since) // 4:
                axis.axvline(_moment(clock), color=INK, linewidth=1, zorder=1)
                axis.text(_moment(clock), -0.75, "audit", ha="right", va="bottom", fontsize=8, color=SOFT)
        axis.set_ylim(len(lanes) - 0.4, -0.7)
        axis.set_yticks(range(len(lanes)), [lane.label for lane in lanes], fontsize=9)
        locator = mdates.AutoDateLocator(tz=UTC, minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(mdates.ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
        axis.set_xlabel("time, UTC", fontsize=9)
        axis.grid(axis="x", color=RULE, linewidth=0.6)
        axis.set_axisbelow(True)
        _plain(axis)
        axis.tick_params(axis="y", length=0)
        return _svg(figure, "writes", "When each population of the store was written, and its last write")


def _lane(axis: Any, row: int, lane: Lane, since: int, step: int) -> None:
    bad = lane.verdict in ("stopped", "never kept anything")
    begin = [_moment(start) for start in lane.intervals]
    if begin:
        axis.barh([row] * len(begin), timedelta(seconds=step * 0.9), left=begin, height=0.3, color=BAR, linewidth=0)
    if lane.last is None or lane.last < since:
        said = "no dated record" if lane.last is None else f"before: {_moment(lane.last):%Y-%m-%d}"
        said = lane.verdict if bad else said
        place = axis.get_yaxis_transform()
        axis.text(0.01, row, said, transform=place, va="center", fontsize=8.5, color=BAD if bad else SOFT)
        return
    shape = {"alive": "o", "stopped": "X"}.get(lane.verdict, "D")
    mark = {**_MARK, "color": BAD if bad else INK, "zorder": 4}
    axis.plot([_moment(lane.last)], [row], marker=shape, **mark)


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@contextmanager
def _drawing(width: float, height: float) -> Iterator[Any]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "busbar-audit",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": INK,
        "axes.labelcolor": SOFT,
        "axes.edgecolor": RULE,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "xtick.labelcolor": SOFT,
        "ytick.labelcolor": INK,
        "text.parse_math": False,
    }
    with rc_context(settings):
        yield Figure(figsize=(width, height))


def _plain(axis: Any) -> None:
    axis.patch.set_alpha(0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.tick_params(length=3)


def _svg(figure: Any, name: str, described: str) -> str:
    written = io.StringIO()
    figure.patch.set_alpha(0)
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    drawn = written.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    # One page holds several figures, and an id may stand in a page only once.
    drawn = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", drawn)
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r' xmlns(:\w+)?="[^"]*"', "", drawn).replace("xlink:href", "href")
    drawn = re.sub(r"(font-family:|font: (?:[\w.]+ )*[\d.]+px) [^;\"]+", r"\1 var(--ba-sans, sans-serif)", drawn)
    for colour, variable in _INK.items():
        drawn = drawn.replace(colour, variable)
    drawn = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>',
        rf'<svg viewBox="\1" role="img" aria-label="{html.escape(described)}">',
        drawn,
        count=1,
    )
    return f'<div class="ba-figure" tabindex="0" role="region" aria-label="{html.escape(described)}">{drawn}</div>'


def label(population: str, scope: str, longest: int = 18) -> str:
    """A chain's name on a figure, short enough for an axis."""
    shown = printable(scope)
    shown = shown if len(shown) <= longest else shown[: longest - 1] + "…"
    return f"{population} {shown}" if scope != population else population
