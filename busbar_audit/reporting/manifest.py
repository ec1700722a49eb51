"""manifest.json: what a report folder holds, byte for byte, and what it was made from."""

from __future__ import annotations

import hashlib
import json
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from busbar_audit.origin import identity
from busbar_audit.result import version

SCHEMA = "busbar-audit/manifest/1"
NAME = "manifest.json"
_LIBRARIES = ("duckdb", "ipykernel", "jinja2", "matplotlib", "nbclient", "nbconvert", "papermill", "pyarrow")


def write_manifest(directory: Path, documents: Sequence[Mapping[str, Any]]) -> None:
    """Write the manifest of everything that is in `directory` now; it is written last."""
    files = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path != directory / NAME:
            files[path.relative_to(directory).as_posix()] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    manifest = {
        "schema": SCHEMA,
        "tool": {"name": "busbar-audit", "version": version()},
        "versions": _versions(),
        "runs": [document["run"]["id"] for document in documents],
        "inputs": [
            {
                "location": document["store"]["location"],
                "taken_at": document["snapshot"]["taken_at"],
                **dict(identity(document["snapshot"])),
                **({"bytes": document["snapshot"]["bytes"]} if "bytes" in document["snapshot"] else {}),
            }
            for document in documents
        ],
        "files": files,
    }
    write_json(directory / NAME, manifest)


def write_json(path: Path, document: object) -> None:
    """Write JSON as UTF-8 with one line end; half a surrogate pair stays an escape."""
    path.write_text(json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
