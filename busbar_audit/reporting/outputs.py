"""The files of a report folder.

One store: everything at the top. Several: ``run.json``, ``index.html`` and ``manifest.json`` at the top, and a folder
``stores/<number>-<family>/`` with the rest for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busbar_audit.reporting.html import Link, link_title, notebook_page, render_index
from busbar_audit.reporting.junit import write_junit
from busbar_audit.reporting.manifest import write_json, write_manifest
from busbar_audit.reporting.metrics import write_metrics
from busbar_audit.reporting.notebooks import NotebookRun
from busbar_audit.reporting.parquet import write_chains, write_findings
from busbar_audit.reporting.schema import validate
from busbar_audit.reporting.summary import summary
from busbar_audit.result import RUN_SCHEMA, Result
from busbar_audit.verdict import Verdict, gravest

OF_A_STORE = ("result.json", "findings.parquet", "chains.parquet", "summary.md", "junit.xml", "metrics.prom")


@dataclass(frozen=True)
class Audited:
    """One store of a report: the content of its result.json, its notebooks, its folder ("" for the top)."""

    document: Mapping[str, Any]
    notebooks: Sequence[NotebookRun] = field(default_factory=tuple)
    folder: str = ""


def folder_of(number: int, total: int, family: str) -> str:
    """Folder of a store within a report, with a slash at its end; "" where there is one store only."""
    return "" if total == 1 else f"stores/{number}-{family}/"


def write_tables(result: Result, directory: Path) -> None:
    """Write what needs the store's tables: findings.parquet and chains.parquet."""
    directory.mkdir(parents=True, exist_ok=True)
    write_findings(result, directory / "findings.parquet")
    write_chains(result, directory / "chains.parquet")


def verdict_over(stores: Sequence[Audited]) -> Verdict:
    """One verdict: that of the stores, and inconclusive for a notebook that did not complete."""
    words = [Verdict(store.document["verdict"]) for store in stores]
    words += [Verdict.INCONCLUSIVE for store in stores for notebook in store.notebooks if not notebook.completed]
    return gravest(words)


def run_document(stores: Sequence[Audited]) -> dict[str, Any]:
    """The content of run.json, notebooks included."""
    verdict = verdict_over(stores)
    notebooks = [each.as_dict(number) for number, store in enumerate(stores) for each in store.notebooks]
    return {
        "schema": RUN_SCHEMA,
        "verdict": str(verdict),
        "exit_code": verdict.exit_code,
        "stores": [dict(store.document) for store in stores],
        **({"notebooks": notebooks} if notebooks else {}),
    }


def write_folder(stores: Sequence[Audited], directory: Path) -> dict[str, Any]:
    """Write all of a report but the tables, the manifest last; return the content of run.json.

    Raises
    ------
    ReportError : a document does not fit its schema.
    """
    run = run_document(stores)
    validate("run", run)
    links = []
    for store in stores:
        place = directory / store.folder
        place.mkdir(parents=True, exist_ok=True)
        _write_store(store, place, str(verdict_over([store])))
        links.append(
            [
                Link(f"{store.folder}{n.name}.html", link_title(n.name), n.reason)
                for n in store.notebooks
                if n.node is not None
            ]
        )
    write_json(directory / "run.json", run)
    beside = (*OF_A_STORE, "run.json", "manifest.json") if len(stores) == 1 else OF_A_STORE
    page = render_index(
        [store.document for store in stores],
        links=links,
        folders=[store.folder for store in stores],
        files=beside,
        word=run["verdict"],
        exit_code=run["exit_code"],
        incomplete=_incomplete([notebook for store in stores for notebook in store.notebooks]),
    )
    (directory / "index.html").write_text(page, encoding="utf-8")
    write_manifest(directory, [store.document for store in stores])
    return run


def write_outputs(result: Result, directory: Path, notebooks: Sequence[NotebookRun] = ()) -> dict[str, Any]:
    """Write the whole folder of one audit whose store is still open; return the content of run.json."""
    write_tables(result, directory)
    return write_folder([Audited(result.as_dict(), notebooks)], directory)


def _write_store(store: Audited, place: Path, word: str) -> None:
    document = store.document
    validate("result", document)
    write_json(place / "result.json", document)
    (place / "summary.md").write_text(summary(document, _incomplete(store.notebooks), word), encoding="utf-8")
    write_junit(document, place / "junit.xml", [notebook.as_dict(0) for notebook in store.notebooks])
    write_metrics(document, place / "metrics.prom", word)
    shown = [notebook for notebook in store.notebooks if notebook.node is not None]
    links = [Link(f"{notebook.name}.html", link_title(notebook.name)) for notebook in shown]
    home = "../" * store.folder.count("/") + "index.html"
    for notebook, link in zip(shown, links, strict=True):
        import nbformat

        page = notebook_page(
            notebook.node, link.title, home=home, links=links, current=link.href, trouble=notebook.reason
        )
        (place / link.href).write_text(page, encoding="utf-8")
        nbformat.write(notebook.node, place / f"{notebook.name}.ipynb")  # type: ignore[no-untyped-call]


def _incomplete(notebooks: Sequence[NotebookRun]) -> list[str]:
    return [
        f"notebook {notebook.name} did not complete: {notebook.reason}"
        for notebook in notebooks
        if not notebook.completed
    ]
