"""Who upgrades a copy: the operator's own command, or our emulation; both are processes that can be stopped and killed."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from busbar_audit.errors import UsageError
from busbar_audit.rehearsal import commands
from busbar_audit.rehearsal.commands import Ran
from busbar_audit.rehearsal.upgrade_result import COMMAND, EMULATION

COPY = "BUSBAR_AUDIT_COPY"


class Upgrader(Protocol):
    """What upgrades a copy in its place."""

    @property
    def name(self) -> str:
        """For people."""

    def run(self, copy: Path) -> Ran:
        """Upgrade, and wait for it."""

    def killed(self, copy: Path, after: float) -> bool:
        """Upgrade, and kill it after so many seconds; False where it had ended before."""


@dataclass(frozen=True)
class Command:
    """The operator's command. line : ``{copy}`` in it becomes the path of the copy, which stands in the environment, too."""

    line: str
    timeout: float
    shell: bool = False
    name: str = COMMAND

    def __post_init__(self) -> None:
        if "{copy}" not in self.line and COPY not in self.line:
            raise UsageError("The command names no copy.", f"{{copy}}, or ${COPY} with --shell.", "No command was run.")

    def run(self, copy: Path) -> Ran:
        """Run it; nothing of it outlives it."""
        return commands.run(
            self._line(copy), timeout=self.timeout, environment={COPY: str(copy)}, shell=self.shell, alone=True
        )

    def killed(self, copy: Path, after: float) -> bool:
        """Run it and kill it."""
        return commands.killed(self._line(copy), after=after, environment={COPY: str(copy)}, shell=self.shell)

    def _line(self, copy: Path) -> str:
        return self.line.replace("{copy}", shlex.quote(str(copy)))


def emulation(to: int, timeout: float) -> Command:
    """Our own emulation of an upgrade to a generation, as a command."""
    words = shlex.join([sys.executable, "-m", "busbar_audit.rehearsal.upgrade_emulation", str(to)])
    return Command(f"{words} {{copy}}", timeout, name=EMULATION)
