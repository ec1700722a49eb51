"""Pieces of HTML for reports and notebooks. Everything that comes from a store passes through `text`."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from busbar_audit.queries import Query
from busbar_audit.text import printable

LONGEST = 240
_DIGEST_SHOWN = 10
# Drawn by hand on a 16 by 16 grid: a shape for each word, so that colour is never the only sign.
_OCTAGON = '<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z"/>'
_DISC = '<circle cx="8" cy="8" r="7.4"/>'
_RING = '<circle class="ba-line" cx="8" cy="8" r="6.2"/>'
_STRESS = '<path class="ba-cut" d="M8 4v5M8 11v1.4"/>'
_QUESTION = '<path class="ba-cut" d="M5.8 6.2c0-3 4.6-2.9 4.6 0 0 1.6-2.4 1.8-2.4 3.4M8 11.4v1.3"/>'
_SHAPES = {
    "critical": _OCTAGON + _STRESS,
    "high": '<path d="M8 .8 15.2 8 8 15.2.8 8z"/><path class="ba-cut" d="M8 4.6v4M8 10.4v1.2"/>',
    "medium": '<path d="M8 1.2 15.4 14.6H.6z"/><path class="ba-cut" d="M8 6v4M8 11.6v1.2"/>',
    "low": '<path class="ba-line" d="M2.2 2.2h11.6v11.6H2.2z"/>',
    "info": _RING + '<path class="ba-stroke" d="M8 7.2v4M8 4.4v1.2"/>',
    "clean": _DISC + '<path class="ba-cut" d="m4.4 8.3 2.5 2.5 4.7-5.2"/>',
    "findings": _OCTAGON + _STRESS,
    "inconclusive": _DISC + _QUESTION,
    "intact-anchored": _DISC + '<path class="ba-cut" d="m4.4 8.3 2.5 2.5 4.7-5.2"/>',
    "intact-unanchored": _RING + '<path class="ba-stroke" d="m4.8 8.3 2.2 2.2 4.2-4.7"/>',
    "broken": _OCTAGON + '<path class="ba-cut" d="m5.2 5.2 5.6 5.6M10.8 5.2l-5.6 5.6"/>',
    "unverifiable": _DISC + _QUESTION,
    "empty": _RING,
    "alive": _RING + '<path class="ba-stroke" d="M3.4 8h2.4l1.5-3 1.8 6 1.3-3h2.2"/>',
    "stopped": _OCTAGON + '<path class="ba-cut" d="M4.6 8h6.8"/>',
    "never-kept": _OCTAGON + '<path class="ba-cut" d="m5.2 5.2 5.6 5.6M10.8 5.2l-5.6 5.6"/>',
    "cannot-tell": _RING + '<path class="ba-stroke" d="M6.1 6.6c0-2.4 3.8-2.3 3.8 0 0 1.3-1.9 1.4-1.9 2.8M8 10.9v1"/>',
}


@dataclass(frozen=True)
class Block:
    """A piece of a report: HTML for a notebook or page, plain text for everything else."""

    html: str
    plain: str

    def _repr_html_(self) -> str:
        return f'<div class="ba">{self.html}</div>'

    def __repr__(self) -> str:
        return self.plain


def text(value: object, longest: int = LONGEST) -> str:
    """Show a value: escaped for HTML, control and bidi characters written out, cut at `longest` characters."""
    plain = printable(value)
    if len(plain) > longest:
        plain = f"{plain[:longest]}… ({len(plain):,} characters)"
    return html.escape(plain)


def number(value: object) -> str:
    """Show a count or a sequence number exactly, in groups of three; nothing for None."""
    return "" if value is None else f"{int(str(value)):,}"


def utc(seconds: object) -> str:
    """Unix seconds as text in UTC; a time no calendar can hold is shown as the number it is, nothing for None."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(int(str(seconds)), UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s"


def moment(seconds: object) -> str:
    """Show unix seconds as UTC."""
    return at(utc(seconds)) if seconds is not None else ""


def digest(value: object) -> str:
    """Show the start of a hash, with the whole of it as its title."""
    if value is None:
        return '<span class="ba-none">unreadable</span>'
    plain = printable(value)
    if not plain:
        return '<span class="ba-none">none</span>'
    short = plain if len(plain) <= _DIGEST_SHOWN + 2 else plain[:_DIGEST_SHOWN] + "…"
    return f'<code class="ba-digest" title="{html.escape(plain[:200])}">{html.escape(short)}</code>'


def at(written: str) -> str:
    """Show a time as ISO 8601 writes it, less its T and Z, in one line."""
    return f'<span class="ba-at">{html.escape(written.replace("T", " ").rstrip("Z"))}</span>'


def volatile(shown: str) -> str:
    """Mark what differs between two runs over one store: times, durations, the run's id."""
    return f'<span data-run="" class="ba-at">{html.escape(shown)}</span>'


def icon(word: str) -> str:
    """The shape that goes with a word."""
    return f'<svg class="ba-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">{_SHAPES[word]}</svg>'


def badge(word: str, *, label: str | None = None) -> str:
    """A severity or verdict by shape, word and colour."""
    return f'<span class="ba-badge ba-is-{word}">{icon(word)}{html.escape(label or word)}</span>'


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: Sequence[str] = (),
    classes: Sequence[str] = (),
    more: str = "",
    kind: str = "",
) -> str:
    """A table that scrolls inside itself.

    Parameters
    ----------
    caption : what it shows, read out by screen readers and printed above it.
    columns : headings. rows : cells, already HTML; the first of a row is its heading.
    numeric : headings of the columns to align right.
    classes : one class a row, for marked rows.
    more : a line below, such as how many rows are not shown. kind : a class for the whole.
    """
    right = [column in numeric for column in columns]

    def cell(tag: str, index: int, inner: str, scope: str = "") -> str:
        aligned = ' class="ba-num"' if right[index] else ""
        return f"<{tag}{scope}{aligned}>{inner}</{tag}>"

    head = "".join(cell("th", i, html.escape(column), ' scope="col"') for i, column in enumerate(columns))
    body = []
    for position, row in enumerate(rows):
        marked = f' class="{classes[position]}"' if classes and classes[position] else ""
        cells = "".join(
            cell("th", i, inner, ' scope="row"') if i == 0 else cell("td", i, inner) for i, inner in enumerate(row)
        )
        body.append(f"<tr{marked}>{cells}</tr>")
    label = html.escape(caption, quote=True)
    extra = f" {kind}" if kind else ""
    return (
        f'<div class="ba-scroll{extra}" role="region" tabindex="0" aria-label="{label}">'
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        + (f'<p class="ba-note">{more}</p>' if more else "")
    )


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same for a terminal."""
    cells = [list(columns), *([printable("" if cell is None else cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def folded(summary: str, inner: str, kind: str = "") -> str:
    """Something that opens on a click, without a script."""
    extra = f" {kind}" if kind else ""
    return f'<details class="ba-fold{extra}"><summary>{summary}</summary>{inner}</details>'


def sql(query: Query, values: Mapping[str, Any] | None = None) -> str:
    """The query behind a figure, folded, with the values of its parameters."""
    bound = ", ".join(f"{name} = {value}" for name, value in sorted((values or {}).items()))
    where = f"queries/figures/{query.path.name}"
    said = (
        f"<p class='ba-note'>{html.escape(query.header['about'])}"
        + (f" Bound: {text(bound)}." if bound else "")
        + "</p>"
    )
    code = html.escape(query.sql)
    return folded(f"SQL <code>{html.escape(where)}</code>", f"{said}<pre><code>{code}</code></pre>", "ba-sql")


def nothing(said: str) -> str:
    """A sentence where a table or figure would be empty."""
    return f'<p class="ba-nothing">{said}</p>'


@cache
def style() -> str:
    """The one style sheet of notebooks and pages."""
    return (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
