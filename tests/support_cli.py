"""The command called in this process: a process of its own is started only where that is the point."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from busbar_audit import cli


def main_here(*arguments: object) -> int:
    """Call `main` in this process, with its signal handlers taken back afterwards; returns the exit code."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["busbar-audit", *map(str, arguments)])
            with pytest.raises(SystemExit) as ended:
                cli.main()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def called(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What `run` gives, from this process: for tests that are not about streams, signals or the environment."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main_here(*arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def last(text: str) -> str:
    return text.splitlines()[-1] if text else ""
