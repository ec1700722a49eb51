"""The operator's own commands, run with a timeout, their output kept."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from busbar_audit.errors import UsageError

_KEPT = 64 << 10


@dataclass(frozen=True)
class Ran:
    """How a command ended.

    words : what was run. code : its exit code, None where it was stopped at the timeout.
    seconds : wall time. output : the end of what it printed, at most 64 KiB, without secrets.
    """

    words: tuple[str, ...]
    code: int | None
    seconds: float
    output: str

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.code == 0

    def __str__(self) -> str:
        ended = "stopped at its timeout" if self.code is None else f"exit code {self.code}"
        return f"{self.words[0]}: {ended} after {self.seconds:.1f} s"


def run(
    command: str,
    *,
    timeout: float,
    environment: Mapping[str, str],
    secrets: Collection[str] = (),
    shell: bool = False,
) -> Ran:
    """Run a command in a process group of its own; whatever is left of the group at the timeout is killed.

    Parameters
    ----------
    command : split into words as a shell does, but run without one unless `shell` is set.
    timeout : seconds.
    environment : added to this process's own; what is secret is handed over so, never as an argument.
    secrets : taken out of the output.

    Raises
    ------
    UsageError : the command is empty or cannot be started.
    """
    words = ("/bin/sh", "-c", command) if shell else tuple(shlex.split(command))
    if not words or not command.strip():
        raise UsageError("An empty command.", "Expected a program and its arguments.")
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"{Path(words[0]).name}: {error.strerror}.", "Expected a program that can be run."
            ) from error
        try:
            code: int | None = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        begin = max(0, output.seek(0, os.SEEK_END) - _KEPT)
        output.seek(begin)
        # Where something was left out, a secret may be cut in two: such a line goes altogether.
        kept = output.read().partition(b"\n")[2] if begin else output.read()
        return Ran(words, code, time.monotonic() - started, _masked(kept.decode("utf-8", "replace"), secrets))


def _masked(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
