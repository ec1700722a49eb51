"""A conversion in a process of its own, killed for real at a named step, and what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from busbar_audit.conversion.generations import convert_as
from busbar_audit.conversion.staging import connect
from busbar_audit.errors import ReportError
from busbar_audit.text import printable

_TIMEOUT = 600


def kill_at(file: Path, session: str, generation: str, what: str, taken: int) -> None:
    """Convert a staged file in a child that kills itself at a step; it is dead when this returns.

    Parameters
    ----------
    file : a staged session, in a private directory. what : the step, see `busbar_audit.conversion.appending`; inside:
        its transaction is open. taken : appends before it.

    Raises
    ------
    ReportError : the child ended otherwise, so that nothing was cut.
    """
    told = [sys.executable, "-m", __name__, str(file), session, generation, what, str(taken)]
    ended = subprocess.run(told, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False)
    if ended.returncode != -signal.SIGKILL:
        raise ReportError(
            f"The conversion was to be killed at {what} {taken}, and ended with {ended.returncode}.",
            f"SIGKILL. {printable(ended.stderr.decode(errors='replace')[-500:])}",
            "Nothing is said about the store; this is a fault of this program.",
        )


def _child(file: str, session: str, generation: str, what: str, taken: str) -> None:
    def watch(step: str, done: int) -> None:
        if step == what and done == int(taken):
            os.kill(os.getpid(), signal.SIGKILL)

    convert_as(generation, connect(Path(file)), session, watch=watch, importing=True)


if __name__ == "__main__":
    _child(*sys.argv[1:])
