"""Where the notebooks are: beside a checkout, else inside the installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

from busbar_audit.errors import ReportError


def folder() -> Path:
    """The folder of the notebooks as shipped."""
    package = Path(__file__).parent
    for candidate in (package.parent / "notebooks", package / "_data" / "notebooks"):
        if any(candidate.glob("*.ipynb")):
            return candidate
    raise ReportError(
        f"No notebooks beside {package} or inside it.", "The package ships them.", "Install the package again."
    )


def copy_notebooks(target: Path) -> list[Path]:
    """Copy the notebooks into a folder, which is made if need be; those already there are kept.

    Returns
    -------
    The notebooks of the folder.
    """
    target.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(folder().glob("*.ipynb")):
        if not (target / notebook.name).exists():
            shutil.copy(notebook, target / notebook.name)
    return sorted(target.glob("*.ipynb"))
