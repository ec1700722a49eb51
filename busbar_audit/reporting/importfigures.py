"""The picture of an import's account: for each kind of row a bar, split by what became of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from busbar_audit.reporting.figures import BAD, BAR, INK, PAPER, RULE, SOFT, TRACK, _drawing, _plain, _svg

# Fates in the order of drawing, each with its colour and hatch.
FATES: Mapping[str, tuple[str, str]] = {
    "converted": (BAR, ""),
    "owned": (SOFT, ""),
    "skipped": (TRACK, ""),
    "pending": (PAPER, ""),
    "differs": (BAD, "..."),
    "unread": (PAPER, "////"),
    "lost": (BAD, ""),
}


@dataclass(frozen=True)
class Split:
    """One kind of row: its label, and how many of its rows met each fate."""

    label: str
    fates: Mapping[str, int]

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(self.fates.values())


def where_rows_went(splits: Sequence[Split]) -> str:
    """One bar a kind, to its own scale, with its number of rows at the end."""
    from matplotlib.patches import Patch

    used = [fate for fate in FATES if any(split.fates.get(fate) for split in splits)]
    height = 0.85 + 0.36 * len(splits)
    with _drawing(9, height) as figure:
        axis = figure.subplots()
        figure.subplots_adjust(left=0.27, right=0.9, top=1 - 0.42 / height, bottom=0.4 / height)
        for row, split in enumerate(splits):
            left = 0.0
            for fate in used:
                share = split.fates.get(fate, 0) / max(1, split.rows)
                # What is lost is seen, however few rows it is.
                width = max(share, 0.006) if share and fate in ("lost", "differs", "unread") else share
                colour, hatch = FATES[fate]
                axis.barh(row, width, left=left, height=0.55, color=colour, edgecolor=RULE, linewidth=0.6, hatch=hatch)
                left += share
            axis.text(1.01, row, f"{split.rows:,}", ha="left", va="center", fontsize=8.5, color=SOFT)
        axis.set_ylim(len(splits) - 0.4, -0.6)
        axis.set_xlim(0, 1.005)
        axis.set_yticks(range(len(splits)), [split.label for split in splits], fontsize=9)
        axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "all rows"])
        _plain(axis)
        axis.spines["left"].set_visible(False)
        axis.tick_params(axis="y", length=0)
        handles = [
            Patch(facecolor=FATES[f][0], hatch=FATES[f][1], edgecolor=RULE, linewidth=0.6, label=f) for f in used
        ]
        legend = figure.legend(
            handles=handles, loc="upper left", ncols=7, frameon=False, fontsize=9, handletextpad=0.4, columnspacing=1.4
        )
        for entry in legend.get_texts():
            entry.set_color(INK)
        return _svg(figure, "imports", "What became of the rows of each kind")
