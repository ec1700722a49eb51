"""Every way out of the command has one of four exit codes: 0 clean, 1 findings, 2 usage, 3 inconclusive.

Python's and Typer's own codes would be misread: 1 after an uncaught exception or a closed pipe as findings, 130 after an
interrupt as nothing at all.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import typer

from busbar_audit.errors import AuditError
from busbar_audit.text import printable
from busbar_audit.verdict import Verdict

# Typer carries a click of its own or uses the installed one, depending on its release; this is the one it raises.
_CallError: Any = typer.BadParameter.__base__

_stopped = threading.Event()


def run(call: Callable[[], object], *, judging: bool, word_to_stderr: bool) -> int:
    """Run a command to its end, whatever that is, and empty the streams.

    Parameters
    ----------
    call : the command; an int it returns is the exit code.
    judging : its last line is a verdict, so that it ends with `inconclusive` where it could not give one.
    word_to_stderr : that line goes to stderr, stdout is for the result alone.

    Returns
    -------
    int : 0, 1, 2 or 3.
    """
    _stopped.clear()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    _open_streams()
    try:
        outcome = call()
        if _stopped.is_set():
            raise KeyboardInterrupt  # something on the way took the first one for its own
        code = outcome if isinstance(outcome, int) else 0
    except typer.Exit as ended:
        code = ended.exit_code
    except BaseException as error:
        code = _failed(error)
        if judging and code == 3:
            _say(Verdict.INCONCLUSIVE, word_to_stderr)
    return _emptied(code)


def _stop(number: int, frame: object) -> None:
    # As an exception, so that private copies are removed on the way out.
    _stopped.set()
    raise KeyboardInterrupt


def _open_streams() -> None:
    """A closed stream becomes one that swallows, and a character that it has no code for is written out."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for the whole run
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _failed(error: BaseException) -> int:
    """Say what went wrong; return the exit code."""
    if isinstance(error, BrokenPipeError):
        return 3
    # DuckDB answers a signal with an error of its own.
    if _stopped.is_set() or isinstance(error, KeyboardInterrupt | typer.Abort):
        _say("busbar-audit: interrupted; nothing was published.")
        return 3
    if isinstance(error, _CallError):
        with suppress(OSError):
            error.show(file=sys.stderr)
        return 2
    if isinstance(error, AuditError):
        _say(f"busbar-audit: {error}")
        return error.exit_code
    if isinstance(error, ImportError) and not (error.name or "").startswith("busbar_audit"):
        _say(f"busbar-audit: this installation is not complete: {error}.\nInstall it again. Nothing was published.")
        return 3
    _say("".join(traceback.format_exception(error)))
    _say("busbar-audit: a fault of this program, not of the store. Nothing is said about the store.")
    return 3


def _say(text: str, to_stderr: bool = True) -> None:
    # A stream that cannot be written must not turn the exit code into Python's own.
    with suppress(OSError):
        print(printable(text, keep="\n"), file=sys.stderr if to_stderr else sys.stdout)


def _emptied(code: int) -> int:
    """Write what is still buffered; a result that could not be written down is not `clean`."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            # Python would try once more at its end, and end with 120.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                code = code or 3
    return code
