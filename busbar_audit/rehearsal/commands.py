"""The operator's own commands, run with a timeout, their output kept."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from busbar_audit.errors import UsageError

_KEPT = 64 << 10
# What a command starts inherits it, also where it leaves the session.
_RUN = "BUSBAR_AUDIT_RUN"


@dataclass(frozen=True)
class Ran:
    """How a command ended.

    words : what was run. code : its exit code, None where it was stopped at the timeout.
    seconds : wall time. output : the end of what it printed, at most 64 KiB, without secrets.
    left : names of processes that outlived it and were killed, where it was to run alone.
    """

    words: tuple[str, ...]
    code: int | None
    seconds: float
    output: str
    left: tuple[str, ...] = ()

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
    alone: bool = False,
) -> Ran:
    """Run a command in a process group of its own; whatever is left of the group at the timeout is killed.

    Parameters
    ----------
    command : split into words as a shell does, but run without one unless `shell` is set.
    timeout : seconds.
    environment : added to this process's own; what is secret is handed over so, never as an argument.
    secrets : taken out of the output.
    alone : nothing of it may outlive it: what is left running at its end is told in `left` and killed. A command that
        restarts a service must not be asked to.

    Raises
    ------
    UsageError : the command is empty or cannot be started.
    """
    words = _words(command, shell)
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        run_id, child = _started(words, environment, output)
        try:
            code: int | None = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            seconds = time.monotonic() - started
            left = tuple(_ended(child.pid, run_id)) if alone else ()
        begin = max(0, output.seek(0, os.SEEK_END) - _KEPT)
        output.seek(begin)
        # Where something was left out, a secret may be cut in two: such a line goes altogether.
        kept = output.read().partition(b"\n")[2] if begin else output.read()
        return Ran(words, code, seconds, _masked(kept.decode("utf-8", "replace"), secrets), left)


def killed(command: str, *, after: float, environment: Mapping[str, str], shell: bool = False) -> bool:
    """Run a command, and kill it and all that it started after so many seconds.

    Returns
    -------
    Whether there was anything to kill: False where it had ended before.
    """
    run_id, child = _started(_words(command, shell), environment, subprocess.DEVNULL)
    try:
        child.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        _ended(child.pid, run_id)
        return True
    return bool(_ended(child.pid, run_id))


def _words(command: str, shell: bool) -> tuple[str, ...]:
    words = ("/bin/sh", "-c", command) if shell else tuple(shlex.split(command))
    if not words or not command.strip():
        raise UsageError("An empty command.", "Expected a program and its arguments.")
    return words


def _started(
    words: tuple[str, ...], environment: Mapping[str, str], output: Any
) -> tuple[str, subprocess.Popen[bytes]]:
    run_id = token_hex(16)
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment, _RUN: run_id},
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"{Path(words[0]).name}: {error.strerror}.", "Expected a program that can be run.") from error
    return run_id, child


def _ended(session: int, run_id: str) -> list[str]:
    """Kill what is left of a run and tell the names; again and again, since what is left may start more."""
    names: list[str] = []
    for _ in range(50):
        left = list(_left(session, run_id))
        if not left:
            break
        for pid, name in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            names.append(name)
        time.sleep(0.01)
    return sorted(set(names))


def _left(session: int, run_id: str) -> Iterator[tuple[int, str]]:
    """Processes of a session, or that carry the mark of a run; zombies are nothing that runs. Told by /proc alone."""
    mark = f"{_RUN}={run_id}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name stands in parentheses and may hold anything; state, parent, group and session follow it.
            name, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
            state, _, _, of = rest.split()[:4]
            if state not in "ZX" and (int(of) == session or mark in (folder / "environ").read_bytes().split(b"\0")):
                yield int(folder.name), name.partition("(")[2]
        except OSError:
            continue


def _masked(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
