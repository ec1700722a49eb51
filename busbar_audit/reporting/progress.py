"""What a longer audit is doing, shown in a notebook while it lasts."""

from __future__ import annotations

import contextlib
import html
import time
from collections.abc import Iterator
from typing import Any

from busbar_audit import checks
from busbar_audit.text import printable

_QUIET_SECONDS = 2.0
_EVERY_SECONDS = 0.2


class NotebookProgress:
    """A bar in the cell that runs; it appears after two seconds and goes when the work is done.

    Outside a notebook nothing is shown. A check moves the bar by its place among all checks of its family.
    """

    def __init__(self) -> None:
        self._started = self._shown = time.monotonic()
        self._display = _display()
        self._handle: Any = None

    def __call__(self, step: str) -> None:
        """Say what is being done."""
        now = time.monotonic()
        if self._display is None or now - self._started < _QUIET_SECONDS or now - self._shown < _EVERY_SECONDS:
            return
        self._shown = now
        shown = {
            "text/html": _bar(step, now - self._started),
            "text/plain": f"{now - self._started:.0f} s  {printable(step)[:90]}",
        }
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def done(self) -> None:
        """Take the bar away."""
        if self._handle is not None:
            self._handle.update({"text/html": "", "text/plain": ""}, raw=True)
            self._handle = None


@contextlib.contextmanager
def progress() -> Iterator[NotebookProgress]:
    """A bar that is gone at the end, however that comes."""
    bar = NotebookProgress()
    try:
        yield bar
    finally:
        bar.done()


def _display() -> Any:
    """IPython's `display` inside a kernel, else nothing; IPython is never loaded for this."""
    import sys

    core = sys.modules.get("IPython.core.getipython")
    shell = core.get_ipython() if core is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display


def _bar(step: str, seconds: float) -> str:
    place = _place(step)
    value = "" if place is None else f' value="{place:.2f}"'
    said = html.escape(printable(step)[:90])
    return f'<div class="ba"><progress max="1"{value} aria-label="{said}"></progress> {seconds:.0f} s, {said}</div>'


def _place(step: str) -> float | None:
    """How far along the checks a step is, if it is a check."""
    code = step.split(" ", 1)[0]
    family = next((check.family for check in checks.catalogue() if check.code == code), None)
    if family is None:
        return None
    codes = [check.code for check in checks.catalogue() if check.family == family]
    return codes.index(code) / len(codes)
