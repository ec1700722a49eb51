"""Runs a piece of Python in another process, as a user whose file modes count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PLAIN_USER = 65534

# What the code needs is imported before rights are dropped: checkout and Python may be out of a plain user's reach.
_DROP = """
import hashlib, json, os, shutil, sqlite3, sys, tempfile
sys.path.insert(0, {repository!r})
import ctypes, encodings.idna
import busbar_audit.errors, busbar_audit.rundir, busbar_audit.snapshot.sqlite, busbar_audit.store, busbar_audit.target
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({user}); os.setuid({user})
"""


def run_as_plain_user(code: str, *arguments: str | os.PathLike[str]) -> str:
    """Run `code` (arguments in sys.argv[1:]) without root's rights; return what it printed, fail if it failed."""
    head = _DROP.format(repository=str(REPOSITORY), user=PLAIN_USER)
    done = subprocess.run(
        [sys.executable, "-c", head + code, *map(os.fspath, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_to_all(path: Path) -> None:
    """Let every user pass through the directories above `path`, which pytest keeps to the one who runs it."""
    for parent in path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            mode = parent.stat().st_mode
            if not mode & 0o001:
                parent.chmod(mode | 0o011)
