"""Runs notebooks by papermill and says of each whether every one of its cells completed."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from busbar_audit.errors import ReportError, UsageError
from busbar_audit.reporting import kernels
from busbar_audit.reporting.session import RUN

AT_A_TIME = 2
START_TIMEOUT = 60
CELL_TIMEOUT = 600


def root() -> Path:
    """Folder of the notebooks: beside a checkout, else inside the installed package."""
    package = Path(__file__).parents[1]
    for candidate in (package.parent / "notebooks", package / "_data" / "notebooks"):
        if any(candidate.glob("[0-9]*.ipynb")):
            return candidate
    raise ReportError(
        f"No notebooks beside {package} or inside it.",
        "The package ships them; a checkout has them at its top.",
        "Install the package again.",
    )


def find(names: Sequence[str | os.PathLike[str]] | None) -> list[Path]:
    """Paths of notebooks: all of ours for None, else by number, name or path.

    Raises
    ------
    UsageError : no such notebook, or two of one name.
    """
    ours = sorted(root().glob("[0-9]*.ipynb"))
    if names is None:
        return ours
    found = []
    for name in names:
        path = Path(name)
        fits = [p for p in ours if str(name) in (p.stem, p.name, p.stem.split("_")[0], p.stem.partition("_")[2])]
        if fits:
            found.append(fits[0])
        elif path.suffix == ".ipynb" and path.is_file():
            found.append(path.resolve())
        else:
            raise UsageError(
                f"No notebook '{name}'.", f"Ours: {', '.join(p.stem for p in ours)}; or the path of an .ipynb file."
            )
    stems = [path.stem for path in found]
    if len(set(stems)) < len(stems):
        raise UsageError(f"Notebooks {', '.join(stems)}.", "Expected each name once: pages are named after them.")
    return found


def fitting(paths: Sequence[Path], family: str) -> list[Path]:
    """Those that are about stores of a family: a notebook may name some in its metadata, and is about all if it does not."""

    def named(path: Path) -> Sequence[str]:
        told: Sequence[str] = json.loads(path.read_bytes())["metadata"].get("busbar_audit", {}).get("families", ())
        return told

    return [path for path in paths if not named(path) or family in named(path)]


@dataclass(frozen=True)
class NotebookRun:
    """One executed notebook.

    completed : every code cell ran to its end. reason : if not, why. node : the notebook with its outputs (nbformat),
    None where nothing of it could be kept.
    """

    name: str
    completed: bool
    reason: str
    seconds: float
    node: Any = field(default=None, repr=False, compare=False)

    def as_dict(self, store: int) -> dict[str, Any]:
        """For run.json."""
        return {
            "store": store,
            "name": self.name,
            "completed": self.completed,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
        }


def warm_up() -> None:
    """Import what notebooks need, two seconds' worth; a report does it beside the audit."""
    import papermill  # noqa: F401


def known_parameters(path: Path) -> set[str]:
    """Names in the cell tagged ``parameters``."""
    import papermill

    return set(papermill.inspect_notebook(_literal(path)))


def run(
    paths: Sequence[Path],
    private: Path,
    parameters: Mapping[str, Any],
    *,
    start_timeout: int = START_TIMEOUT,
    cell_timeout: int = CELL_TIMEOUT,
) -> list[NotebookRun]:
    """Run notebooks over a prepared run, two at a time; one that fails keeps none of the others from running.

    Parameters
    ----------
    private : directory of the prepared run; everything the kernels write goes into it.
    parameters : given to each notebook that has a parameter of the name.
    """
    warm_up()
    logging.getLogger("papermill").addHandler(logging.NullHandler())
    (private / "work").mkdir(exist_ok=True)
    started: list[Any] = []
    with kernels.socket_directory(private) as sockets, ThreadPoolExecutor(AT_A_TIME) as pool:
        waiting = [
            pool.submit(_one, number, path, private, sockets, parameters, started, start_timeout, cell_timeout)
            for number, path in enumerate(paths)
        ]
        try:
            done = [future.result() for future in waiting]
        except BaseException:
            for future in waiting:
                future.cancel()
            kernels.kill(started)
            raise
    return [replace(each, node=_scrubbed(each.node, (private, sockets))) for each in done]


def _one(
    number: int,
    path: Path,
    private: Path,
    sockets: Path,
    parameters: Mapping[str, Any],
    started: list[Any],
    start_timeout: int,
    cell_timeout: int,
) -> NotebookRun:
    import papermill

    begun, output, trouble, node = time.perf_counter(), private / f"executed-{number}.ipynb", "", None
    try:
        given = {name: value for name, value in parameters.items() if name in known_parameters(path)}
        node = papermill.execute_notebook(
            _literal(path),
            _literal(output),
            parameters=given,
            kernel_name="python3",
            progress_bar=False,
            start_timeout=start_timeout,
            execution_timeout=cell_timeout,
            shutdown_kernel="immediate",
            # The kernel's own directory; papermill's `cwd` would change that of this process.
            resources={"metadata": {"path": str(private / "work")}},
            kernel_manager_class=kernels.manager_class(private, sockets, number, {RUN: str(private)}, started),
        )
    except Exception as error:  # whatever goes wrong here is the answer of this notebook
        trouble = _in_words(error, cell_timeout)
        node = _kept(output)
    incomplete = trouble or _incomplete(node)
    return NotebookRun(path.stem, not incomplete, incomplete, time.perf_counter() - begun, node)


def _in_words(error: Exception, cell_timeout: int) -> str:
    kind = type(error).__name__
    if kind == "CellTimeoutError":
        return f"a cell took longer than {cell_timeout} s"
    if kind == "DeadKernelError":
        return "the kernel died"
    if kind == "PapermillExecutionError":
        return f"a cell failed: {getattr(error, 'ename', '')}: {getattr(error, 'evalue', '')}".strip()[:300]
    if isinstance(error, RuntimeError) and "Kernel" in str(error):
        return f"the kernel did not start: {error}"[:300]
    return f"{kind}: {error}"[:300]


def _kept(output: Path) -> Any:
    """What papermill had saved when the run broke off."""
    import nbformat

    try:
        return nbformat.read(output, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError):
        return None


def _incomplete(node: Any) -> str:
    """Why a notebook is not complete, whatever the exit of the run said; nothing if every code cell completed."""
    cells = [cell for cell in node.cells if cell.cell_type == "code" and cell.source.strip()]
    if not cells:
        return "it has no code cell"
    for position, cell in enumerate(cells, start=1):
        said = cell.metadata.get("papermill", {})
        for output in cell.outputs:
            if output.output_type == "error":
                ended = f"{output.get('ename', '')}: {output.get('evalue', '')}"
                return f"code cell {position} of {len(cells)} ended with {ended}"[:300]
        if cell.execution_count is None or said.get("status") != "completed" or said.get("exception"):
            return f"code cell {position} of {len(cells)} did not complete"
    if node.metadata.get("papermill", {}).get("exception"):
        return "papermill reports an exception"
    return ""


def _scrubbed(node: Any, private: Sequence[Path]) -> Any:
    """Take out what tells of this machine, and ids that are new in each run."""
    if node is None:
        return None
    names = [(str(path), "(run)") for path in private]
    names += [(str(Path(__file__).parents[2]), "(busbar-audit)"), (sys.prefix, "(python)")]

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            for path, shown in names:
                value = value.replace(path, shown)
            return value
        if isinstance(value, dict):
            for key in value:
                value[key] = clean(value[key])
        elif isinstance(value, list):
            value[:] = [clean(inner) for inner in value]
        return value

    about = node.metadata.get("papermill", {})
    for key in ("input_path", "output_path", "environment_variables", "default_parameters"):
        about.pop(key, None)
    for number, cell in enumerate(node.cells):
        cell["id"] = f"cell-{number}"
    return clean(node)


def _literal(path: Path) -> str:
    """A path for papermill, which formats what it is given."""
    return str(path).replace("{", "{{").replace("}", "}}")
