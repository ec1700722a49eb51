"""The age pyramid: a panel a population, a bar an age."""

from __future__ import annotations

from collections.abc import Sequence

from busbar_audit.reporting.figures import BAR, INK, RULE, SOFT, _drawing, _plain, _svg


def age_pyramid(ages: Sequence[str], populations: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Records by age, oldest at the bottom; each population to its own scale."""
    width = len(populations)
    height = 0.7 + 0.26 * len(ages)
    with _drawing(9, height) as figure:
        axes = figure.subplots(1, width, sharey=True, squeeze=False)[0]
        figure.subplots_adjust(left=0.15, right=0.97, top=1 - 0.36 / height, bottom=0.12 / height, wspace=0.35)
        for axis, (name, counts) in zip(axes, populations, strict=True):
            most = max(1, *counts)
            axis.barh(range(len(ages)), counts, height=0.62, color=BAR, linewidth=0)
            for row, count in enumerate(counts):
                if count:
                    axis.text(count + most * 0.03, row, f"{count:,}", va="center", fontsize=8, color=SOFT)
            axis.set_title(name, loc="left", fontsize=10, fontweight="bold", color=INK, pad=5)
            axis.set_xlim(0, most * 1.35)
            axis.set_ylim(len(ages) - 0.4, -0.6)
            axis.set_xticks([])
            axis.set_yticks(range(len(ages)), ages, fontsize=9)
            _plain(axis)
            axis.spines["bottom"].set_visible(False)
            axis.spines["left"].set_color(RULE)
            axis.tick_params(axis="y", length=0)
        return _svg(figure, "ages", "Records by age, a panel for each population")
