"""The analyst's desk: JupyterLab on the notebooks, and what a check found as a case file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from busbar_audit import console
from busbar_audit.commands.options import (
    AsOfOption,
    BeforeOption,
    ExportOption,
    FamilyOption,
    PolicyOption,
    SchemaOption,
    SignOption,
    TargetArgument,
    moment,
)
from busbar_audit.policy import read_policy
from busbar_audit.store import open_store
from busbar_audit.target import parse_target
from busbar_audit.text import printable

# The desk first. Between server and kernels no network port: what they say to each other is content of the store.
_LAB = ("--LabApp.default_url=/lab/tree/desk.ipynb", "--KernelManager.transport=ipc")


def evidence(
    target: TargetArgument,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The check whose findings are evidence.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the case file; it must not be there.")],
    place: Annotated[str | None, typer.Option(metavar="PLACE", help="Only findings of this principal, task, …")] = None,
    each_side: Annotated[int, typer.Option(min=0, help="Records on either side of those found.")] = 5,
    show_content: Annotated[
        bool, typer.Option("--show-content", help="Content of the store too; else lengths and digests.")
    ] = False,
    family: FamilyOption = None,
    schema: SchemaOption = None,
    policy: PolicyOption = None,
    before: BeforeOption = None,
    export: ExportOption = None,
    as_of: AsOfOption = None,
    sign_key: SignOption = None,
) -> int:
    """Write what a check finds as a case file: records, neighbours, query, digests recomputed; `verify` needs no store."""
    from busbar_audit.reporting.evidence import evidence as collect

    declared = read_policy(policy) if policy is not None else None
    with console.progress() as say:
        lines = list(
            collect(
                target,
                code,
                out,
                place=place,
                each_side=each_side,
                show_content=show_content,
                family=family,
                schema=schema,
                policy=declared,
                before=before,
                export=export,
                as_of=moment(as_of),
                sign_key=sign_key,
                progress=say,
            )
        )
    for line in lines:
        print(line)
    return 0


def lab(
    target: TargetArgument,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="Keep the notebooks here; by default a private copy goes at the end."
        ),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Argument(metavar="[-- OPTION…]", help="For JupyterLab itself, such as -- --no-browser.")
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
            [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(private), *_LAB, *(options or ())],
            env=environment,
            check=False,
        )
        return 0 if ended.returncode == 0 else 3
    finally:
        if folder is None:
            shutil.rmtree(private, ignore_errors=True)
