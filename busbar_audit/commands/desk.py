"""JupyterLab on the notebooks."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from busbar_audit.commands.options import TargetArgument
from busbar_audit.store import open_store
from busbar_audit.target import parse_target
from busbar_audit.text import printable


def lab(
    target: TargetArgument,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="Keep the notebooks here; by default a private copy goes at the end."
        ),
    ] = None,
) -> int:
    """Open JupyterLab on a copy of the notebooks; the target travels by environment only."""
    from busbar_audit.notebooks import copy_notebooks

    with open_store(target) as store:
        print(f"{store.name} · {printable(store.target.label)}", file=sys.stderr)
    as_given = target.startswith("env:") or parse_target(target).kind == "postgres"
    environment = {**os.environ, "BUSBAR_AUDIT_TARGET": target if as_given else str(Path(target).absolute())}
    private = Path(tempfile.mkdtemp(prefix="busbar-audit-lab-")) if folder is None else folder
    try:
        copy_notebooks(private)
        import subprocess

        ended = subprocess.run(
            [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(private)], env=environment, check=False
        )
        return 0 if ended.returncode == 0 else 3
    finally:
        if folder is None:
            shutil.rmtree(private, ignore_errors=True)
