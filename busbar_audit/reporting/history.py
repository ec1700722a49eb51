"""A history: the runs of one or more stores side by side, each a folder, and a page over all of them.

A run takes its place under ``<UTC time>-<run id>`` as a whole or not at all. The names give the order of the runs, so a
clock that was set back does not change it: the name of a run is always later than that of the run before it, and the
page says where the times within are not.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from busbar_audit.errors import OutputExists
from busbar_audit.reporting import locks, pastruns, writing
from busbar_audit.reporting.historypage import MARK, history_page
from busbar_audit.text import printable

PAGE = "index.html"
_TIME = "%Y%m%dT%H%M%SZ"
# Runs that the page shows, and reads: a bound on its size and on the time it takes.
SHOWN = 100


@contextlib.contextmanager
def next_run(directory: Path, target: str) -> Iterator[Path]:
    """Hold the history for a run over a target, and give the folder it is to be published to; afterwards write the page.

    The page is written only if the block came to its end: a run that failed leaves runs and page as they were.

    Parameters
    ----------
    target : what is audited, by its real path or as `Target.label` names it; a second run over it at the same time is
        refused.

    Raises
    ------
    OutputExists : `directory` or its page is something else. ReportError : another run is under way over the target, or
        nothing can be written there.
    """
    with _told(directory):
        place = directory.resolve()
    key = hashlib.sha256(target.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    with contextlib.ExitStack() as stack:
        with _told(place):
            _require_ours(place)
            if not place.exists():
                place.mkdir(parents=True)
                stack.callback(_remove_if_empty, place)
            stack.enter_context(locks.held(place / f".{key}.lock", f"{target} in {place}"))
            name = _name(place)
        yield place / name
        write_page(place)


def latest(directory: Path, label: str) -> Path | None:
    """Folder of the newest run over a target, by its label or that with a schema; None where there is none."""
    for name in reversed(pastruns.names(directory) if directory.is_dir() else []):
        # What cannot be read is named on the page; a run before it counts.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            run = json.loads((directory / name / "run.json").read_text(encoding="utf-8"))
            for store in run["stores"]:
                location = str(store["store"]["location"])
                if location == printable(label) or location.startswith(f"{printable(label)}, schema "):
                    return directory / name
    return None


def write_page(directory: Path) -> None:
    """Write the page of a history anew, in one step.

    Raises
    ------
    ReportError : it cannot be written; the one before is still there.
    """
    with _told(directory), locks.held(directory / ".index.lock", str(directory), wait=True):
        page = history_page(pastruns.read(directory, SHOWN))
        part = directory / f".index-{secrets.token_hex(8)}.part"
        try:
            with part.open("w", encoding="utf-8") as file:
                file.write(page)
                file.flush()
                os.fsync(file.fileno())
            part.replace(directory / PAGE)
        finally:
            part.unlink(missing_ok=True)


def _remove_if_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rmdir()


def _name(directory: Path) -> str:
    now = datetime.now(UTC).replace(microsecond=0)
    known = pastruns.names(directory)
    if known:
        with contextlib.suppress(ValueError, OverflowError):
            last = datetime.strptime(known[-1].partition("-")[0], _TIME).replace(tzinfo=UTC)
            now = max(now, last + timedelta(seconds=1))
    return f"{now.strftime(_TIME)}-{secrets.token_hex(4)}"


def _require_ours(place: Path) -> None:
    if not os.path.lexists(place):
        return
    page = place / PAGE
    if not place.is_dir():
        why = "It is not a directory."
    elif os.path.lexists(page) and not _written_by_us(page):
        why = f"Its {PAGE} is not the page of a history."
    else:
        return
    raise OutputExists(
        f"{printable(place)} is there already. {why}",
        "Expected a new name, a directory, or an earlier history.",
        "Nothing was changed. Choose another --history, or move this away.",
    )


def _written_by_us(page: Path) -> bool:
    if page.is_symlink() or not page.is_file():
        return False
    with page.open("rb") as file:
        return re.search(re.escape(MARK.encode()), file.read(2_000_000)) is not None


def _told(place: Path) -> contextlib.AbstractContextManager[None]:
    return writing.told("history", place, "The runs and the page that were there before still are.")
