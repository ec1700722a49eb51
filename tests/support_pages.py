"""Reports without kernels: each notebook's cells run in this process, and its page is made of what they show."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from busbar_audit.auditing import audit
from busbar_audit.reporting import notebooks as books
from busbar_audit.reporting.outputs import Audited, write_folder, write_tables
from busbar_audit.reporting.runner import next_purges, prepare
from busbar_audit.reporting.session import PURGES, RUN
from busbar_audit.store import open_store


def write_pages(target: Path | str, out: Path, *, as_of: int, only: str = "", **options: Any) -> list[str]:
    """Write the report of a store with every notebook that is about its family; names of the notebooks.

    only : notebooks whose number begins so.
    """
    import json

    with open_store(target) as store:
        result = audit(store, as_of=as_of, **options)
        out.mkdir(parents=True)
        write_tables(result, out)
        document = result.as_dict()
        paths = [path for path in books.fitting(books.find(None), store.family) if path.stem.startswith(only)]
        (store.directory / PURGES).write_text(json.dumps(next_purges(result, None)))
        prepare(result, document)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(RUN, os.fspath(store.directory))
            ran = [_ran(path) for path in paths]
        write_folder([Audited(document, ran)], out)
    return [path.stem for path in paths]


def _ran(path: Path) -> books.NotebookRun:
    node = nbformat.read(path, as_version=4)
    names: dict[str, Any] = {}
    for number, cell in enumerate(node.cells):
        cell["id"] = f"cell-{number}"
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        tree = ast.parse(cell.source)
        shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if isinstance(shown, ast.Expr):
            value = eval(compile(ast.Expression(shown.value), path.name, "eval"), names)
            data = {"text/plain": repr(value)} | (
                {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
            )
            cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=number)]
        cell["execution_count"] = number
    return books.NotebookRun(path.stem, True, "", 0.0, node)
