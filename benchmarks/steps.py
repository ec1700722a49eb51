"""One step of an audit as a process of its own, so that each has its own clock and its own peak of memory."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path


def backup(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, copy = sqlite3.connect(f"file:{path}?mode=ro", uri=True), sqlite3.connect(Path(folder) / "copy.db")
        source.backup(copy)


def scan(path: Path) -> None:
    con = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    print(con.execute("SELECT count(*), sum(length(body)), sum(seq) FROM mcp_calls").fetchone())


def integrity(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        shutil.copy(path, copy)
        print(sqlite3.connect(copy).execute("PRAGMA integrity_check").fetchone())


def sha256(path: Path) -> None:
    with path.open("rb") as file:
        print(hashlib.file_digest(file, "sha256").hexdigest())


def imports(path: Path) -> None:
    import busbar_audit.cli  # noqa: F401


def load(path: Path) -> None:
    from busbar_audit import open_store

    with open_store(path) as store:
        print(store.load("mcp_calls"))


def fast(path: Path) -> None:
    from busbar_audit.chains.fast import verify_calls

    print(sum(chain.records for chain in verify_calls(path)), "records, links, contents and gaps")


def streaming(path: Path) -> None:
    from busbar_audit.chains.streaming import verify

    print(sum(chain.records for chain in verify(path)), "records")


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
