"""Pages of a report: one file each, nothing loaded from anywhere, no script, readable in light, dark and print."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from busbar_audit.reporting import panels
from busbar_audit.reporting.markup import badge, folded, icon, nothing, style, table, text, volatile
from busbar_audit.result import Result, version
from busbar_audit.text import printable

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}</style>
</head>
<body class="ba ba-page">
<header class="ba-top"><span class="ba-name">busbar-audit</span>
<nav aria-label="Pages of this report"><ul>{items}</ul></nav></header>
<main>
{body}
</main>
<footer class="ba-foot">
<p>Made by busbar-audit {version}. All times are UTC. This page loads nothing and runs no script.</p>
</footer>
</body>
</html>
"""
_FILES = {
    "result.json": "verdict, account, chains and checks, for programs",
    "run.json": "the verdict over all stores, with their results",
    "findings.parquet": "every finding, uncapped",
    "chains.parquet": "every chain",
    "summary.md": "a page for the summary of a CI job",
    "junit.xml": "a test case for each check",
    "metrics.prom": "for a Prometheus textfile collector",
    "manifest.json": "size and SHA-256 of every file here",
}


@dataclass(frozen=True)
class Link:
    """A page of the report: address relative to the folder, title, and what is wrong with it, if anything."""

    href: str
    title: str
    trouble: str = ""


def frame(title: str, body: str, *, home: str | None, links: Sequence[Link] = (), current: str = "") -> str:
    """A whole page around a body.

    Parameters
    ----------
    home : address of the index page, None on that page itself. links : the other pages. current : address of this one.
    """
    places = [Link(home or "", "Overview"), *links]
    items = "".join(
        f'<li><a href="{html.escape(link.href)}">{html.escape(link.title)}</a></li>'
        if link.href and link.href != current
        else f'<li aria-current="page">{html.escape(link.title)}</li>'
        for link in places
    )
    return _FRAME.format(
        policy=POLICY,
        title=html.escape(title),
        style=style(),
        items=items,
        body=body,
        version=html.escape(version()),
    )


def notebook_page(
    notebook: Any, title: str, *, home: str, links: Sequence[Link], current: str, trouble: str = ""
) -> str:
    """The page of an executed notebook (nbformat node); `trouble` says on top why it is not complete."""
    body, _ = _exporter().from_notebook_node(notebook)
    warning = (
        '<section class="ba-verdict ba-is-inconclusive" role="alert">'
        f'<div class="ba-word">{icon("inconclusive")}<strong>incomplete</strong></div>'
        '<p class="ba-says">This notebook did not run to its end, so this page does not show all it should: '
        f"{text(trouble, 1000)}</p></section>"
        if trouble
        else ""
    )
    return frame(title, warning + body + _code(notebook), home=home, links=links, current=current)


@cache
def _exporter() -> Any:
    """One for all pages: each compiles its templates anew, which is a third of what a page costs."""
    from nbconvert import HTMLExporter

    return HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="report",
        extra_template_basedirs=[str(Path(__file__).parent / "templates")],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )


def _code(notebook: Any) -> str:
    """The code of every cell, folded; a notebook shows it between its outputs, a report at its end."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    shown = "".join(f"<pre><code>{html.escape(printable(source, keep=chr(10)))}</code></pre>" for source in cells)
    return f'<h2 id="code">The code of this page</h2>{folded(f"{len(cells)} cells, in their order", shown)}'


def render_index(
    results: Sequence[Result | Mapping[str, Any]],
    *,
    links: Sequence[Sequence[Link]] = (),
    folders: Sequence[str] = (),
    files: Sequence[str] = tuple(_FILES),
    word: str | None = None,
    exit_code: int | None = None,
    incomplete: Sequence[str] = (),
) -> str:
    """The index page of a report: for each store the first screen, its findings and account, and where the rest is.

    Parameters
    ----------
    results : audits, or the contents of their result.json.
    links : for each store, its notebooks' pages.
    folders : for each store, its folder within the report, "" for the top.
    files : names of the files beside the page that are there.
    word, exit_code, incomplete : verdict of the whole run, and which notebooks did not complete.
    """
    documents = [result.as_dict() if isinstance(result, Result) else result for result in results]
    places = list(folders) or [""] * len(documents)
    pages = [list(of_store) for of_store in links] or [[] for _ in documents]
    parts = [_stores(documents, places, word, exit_code)] if len(documents) > 1 else []
    for document, folder, of_store in zip(documents, places, pages, strict=True):
        parts.append(
            _store(document, folder, of_store, files, word if len(documents) == 1 else None, exit_code, incomplete)
        )
    if not documents:
        parts.append(nothing("The target holds no store. Nothing was checked."))
    first = pages[0] if len(pages) == 1 else []
    shown = word or (documents[0]["verdict"] if documents else "inconclusive")
    return frame(f"{shown}: busbar-audit report", "\n".join(parts), home=None, links=first)


def _stores(
    documents: Sequence[Mapping[str, Any]], places: Sequence[str], word: str | None, exit_code: int | None
) -> str:
    rows = [
        [
            f'<a href="#store-{i}">{text(panels.store_name(d))}</a>',
            f"<code>{text(d['store']['location'])}</code>",
            badge(d["verdict"]),
            text("; ".join(d["reasons"])),
        ]
        for i, d in enumerate(documents)
    ]
    over = f"<p>Over all: {badge(word)} exit code {exit_code}</p>" if word else ""
    return over + table("Stores of this target", ("store", "location", "verdict", "reasons"), rows)


def _store(
    document: Mapping[str, Any],
    folder: str,
    links: Sequence[Link],
    files: Sequence[str],
    word: str | None,
    exit_code: int | None,
    incomplete: Sequence[str],
) -> str:
    run = document["run"]
    title = (
        f'<div class="ba-title"><h1>{text(panels.store_name(document))}</h1>'
        f"<p><code>{text(document['store']['location'])}</code></p>"
        f'<p class="ba-note">audited {volatile(run["started"].replace("T", " ").rstrip("Z"))} UTC</p></div>'
    )
    pages = "".join(
        f'<li><a href="{html.escape(link.href)}">{html.escape(link.title)}</a>'
        + (f" {badge('inconclusive', label='incomplete')} {text(link.trouble)}" if link.trouble else "")
        + "</li>"
        for link in links
    )
    beside = "".join(
        f'<li><a href="{html.escape(folder + name)}">{html.escape(name)}</a> '
        f'<span class="ba-note">{html.escape(_FILES.get(name, ""))}</span></li>'
        for name in files
    )
    code = exit_code if word else None
    sections = [
        panels.verdict(document, word=word, exit_code=code, more=incomplete).html,
        f'<h2 id="pages">Read on</h2><ul class="ba-links">{pages}</ul>' if pages else "",
        f'<h2 id="findings">Findings</h2>{panels.finding_list(document).html}',
        f'<h2 id="account">Account</h2>{panels.account(document).html}',
        f'<h2 id="not-checked">Not checked</h2>{panels.not_checked(document).html}',
        f'<h2 id="copy">The copy</h2>{panels.snapshot(document).html}',
        f'<h2 id="files">Files</h2><ul class="ba-links">{beside}</ul>',
    ]
    return title + "\n".join(sections)


def link_title(notebook: str) -> str:
    """Title of a notebook by its file name: ``01_chain_integrity`` is "Chain integrity"."""
    stem = Path(notebook).stem
    number, _, rest = stem.partition("_")
    words = (rest if number.isdigit() and rest else stem).replace("_", " ").strip()
    return words[:1].upper() + words[1:]
