"""The page of a history: for each store its runs newest first, what changed between them, and trends."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from busbar_audit.reporting.html import frame
from busbar_audit.reporting.markup import at, badge, folded, nothing, number, table, text
from busbar_audit.reporting.pastruns import LISTED, Listed, Past, StoreRun

MARK = "<!-- busbar-audit history 1 -->"
_FOREIGN = 50
_COLUMNS = (
    "run",
    "verdict",
    "findings",
    "new",
    "gone",
    "standing",
    "not looked at again",
    "rows",
    "not examined",
    "seconds",
)
_NUMERIC = _COLUMNS[2:]
_WIDTH, _HEIGHT, _LEFT, _TOP = 360, 110, 8, 22


def history_page(past: Past) -> str:
    """The whole page; everything in it that comes from a store or a directory is escaped."""
    newest = [runs[-1] for runs in past.stores.values()]
    parts = [MARK, '<div class="ba-title"><h1>Runs side by side</h1></div>']
    if not newest:
        parts.append(nothing("No run is here. Nothing was checked."))
    elif len(newest) > 1:
        parts.append(_overview(past))
    parts += [_store(i, store, past) for i, store in enumerate(past.stores)]
    if past.older:
        parts.append(
            f'<p class="ba-note">{number(past.older)} older run(s) are here and not shown. '
            "What is new is told against the runs that are.</p>"
        )
    if past.foreign:
        rows = [[f"<code>{text(name, 120)}</code>", text(why)] for name, why in past.foreign[:_FOREIGN]]
        parts.append(
            '<h2 id="foreign">Not taken for runs</h2>'
            + table("What else is in this folder", ("name", "why"), rows, more=_more(len(past.foreign), _FOREIGN))
        )
    worst = next(
        (w for w in ("findings", "inconclusive", "clean") if any(run.verdict == w for run in newest)), "no run"
    )
    return frame(f"{worst}: busbar-audit history", "\n".join(parts), home=None)


def _overview(past: Past) -> str:
    rows = [
        [
            f'<a href="#store-{i}">{text(" ".join(store[:2]))}</a>',
            f"<code>{text(store[2])}</code>",
            badge(runs[-1].verdict),
            _link(runs[-1]),
            number(len(runs)),
        ]
        for i, (store, runs) in enumerate(past.stores.items())
    ]
    return table("Stores, each with its newest run", ("store", "location", "verdict", "newest run", "runs"), rows)


def _store(index: int, store: tuple[str, str, str], past: Past) -> str:
    runs = past.stores[store]
    last = runs[-1]
    family, engine, location = store
    said = f"{number(last.new)} new, {number(last.gone)} gone, {number(last.standing)} standing"
    if last.first:
        said = f"the first run of this store: {number(last.findings)} finding(s)"
    if last.unseen:
        said += f"; {number(last.unseen)} of before were not looked at again, as their checks gave no answer"
    newest = (
        f'<section class="ba-verdict ba-is-{last.verdict}"><div class="ba-word">{badge(last.verdict)}</div>'
        f'<p class="ba-says">Newest run {_link(last)} UTC: {said}.</p>'
        f"<p>{text('; '.join(last.reasons), 500)}</p></section>"
    )
    appeared, went = past.listed[store]
    changed = "" if last.first else _listed("New in the newest run", appeared, last.new)
    changed += _listed("Gone in the newest run", went, last.gone)
    shown = [_row(run) for run in reversed(runs)]
    return (
        f'<h2 id="store-{index}">{text(family)} on {text(engine)}</h2><p><code>{text(location)}</code></p>'
        f"{newest}{changed}<div>{_trends(runs)}</div>"
        + table(
            "Runs, newest first; new, gone and standing are told against the last run that answered the same check",
            _COLUMNS,
            shown,
            numeric=_NUMERIC,
        )
    )


def _row(run: StoreRun) -> list[str]:
    verdict = badge(run.verdict)
    if run.of != run.verdict:
        verdict += f" the whole run: {badge(run.of)}"
    where = _link(run)
    if run.backwards:
        where += ' <span class="ba-note">the clock was set back before this run</span>'
    by_severity = ", ".join(f"{count:,} {severity}" for severity, count in run.counts.items() if count)
    found = number(run.findings) + (
        f' <span class="ba-note">({html.escape(by_severity)})</span>' if by_severity else ""
    )
    if run.accepted:
        found += f' <span class="ba-note">{run.accepted:,} accepted by policy</span>'
    changes = [number(run.new) + (" (first)" if run.first else ""), *map(number, (run.gone, run.standing, run.unseen))]
    return [where, verdict, found, *changes, number(run.rows), number(run.rows - run.examined), f"{run.seconds:,.1f}"]


def _link(run: StoreRun) -> str:
    return f'<a href="{html.escape(run.page)}">{at(text(run.started))}</a>'


def _listed(caption: str, found: Sequence[Listed], total: int) -> str:
    if not found:
        return ""
    rows = [
        [f"<code>{text(f.code)}</code>", _severity(f.severity), text(f.subject), text(f.place, 120), text(f.detail)]
        for f in found
    ]
    columns = ("check", "severity", "subject", "place", "detail")
    shown = table(caption, columns, rows, more=_more(total, LISTED))
    return folded(f"{caption}: {number(total)}", shown)


def _severity(word: str) -> str:
    return badge(word) if word in ("critical", "high", "medium", "low", "info") else text(word)


def _more(total: int, shown: int) -> str:
    return f"{number(total - shown)} more are not shown." if total > shown else ""


def _trends(runs: Sequence[StoreRun]) -> str:
    if len(runs) < 2:
        return ""
    wanted: tuple[tuple[str, Callable[[StoreRun], float]], ...] = (
        # With those that were not looked at again: a run of fewer checks is no improvement.
        ("findings known", lambda run: run.findings + run.unseen),
        ("rows in the store", lambda run: run.rows),
        ("seconds of the audit", lambda run: run.seconds),
    )
    return "".join(_trend(name, [value(run) for run in runs]) for name, value in wanted)


def _trend(name: str, values: Sequence[float]) -> str:
    """A line over the runs, oldest at the left, from zero to the largest value."""
    top = max(values) or 1
    step = (_WIDTH - 2 * _LEFT) / (len(values) - 1)
    base = _HEIGHT - 18
    points = " ".join(f"{_LEFT + i * step:.1f},{base - v / top * (base - _TOP):.1f}" for i, v in enumerate(values))
    largest, last = (f"{v:,.1f}" if isinstance(v, float) else f"{v:,}" for v in (max(values), values[-1]))
    said = html.escape(f"{name}: {len(values)} runs, largest {largest}, newest {last}")
    label = f'font-size="12" fill="currentColor" x="{_LEFT}"'
    return (
        f'<svg class="ba-trend" role="img" aria-label="{said}" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'style="max-width:100%"><title>{said}</title>'
        f'<path d="M{_LEFT} {base}H{_WIDTH - _LEFT}" stroke="currentColor" opacity=".4"/>'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="2"/>'
        f'<text {label} y="13">{said}</text><text {label} y="{_HEIGHT - 3}">oldest run to newest, from 0</text></svg>'
    )
