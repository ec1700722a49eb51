"""A report folder appears whole or not at all.

Everything is written into a private directory beside the place where the report goes, on the same file system, and
takes that place by a rename. An earlier report is exchanged in one step where the kernel can do that; elsewhere it
steps aside as ``.<name>.previous-<random>`` for the moment between two renames, and the next run puts it back if the
process was killed in that moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from busbar_audit import rundir
from busbar_audit.errors import OutputExists
from busbar_audit.reporting import locks, manifest, signature, writing
from busbar_audit.text import printable

_AT_FDCWD, _EXCHANGE = -100, 2
_CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EPERM, errno.ENOTSUP)


@contextlib.contextmanager
def claimed(out: str | os.PathLike[str]) -> Iterator[None]:
    """Hold `out` for this run, from before the store is read until the report is in its place.

    Raises
    ------
    ReportError : another run holds it, or nothing can be written beside it. OutputExists : as for `published`.
    """
    place = _real(out)
    with contextlib.ExitStack() as stack:
        with _told(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            require_ours(place)
            stack.enter_context(locks.held(place.with_name(f".{place.name}.lock"), str(place)))
        yield


@contextlib.contextmanager
def published(out: str | os.PathLike[str], *, is_claimed: bool = False) -> Iterator[Path]:
    """Give a directory to write a report into; at the end of the block it becomes `out`.

    If the block or the renaming fails, `out` is as it was. What killed runs left beside it is removed first.

    Parameters
    ----------
    is_claimed : the caller holds `claimed` over this.

    Raises
    ------
    OutputExists : `out` is there and is not an earlier report (an empty directory may be taken).
    ReportError : the directory cannot be written, the disk is full, another run writes there.
    """
    place = _real(out)
    with contextlib.nullcontext() if is_claimed else claimed(place), _directory(place) as report:
        yield report


@contextlib.contextmanager
def _directory(place: Path) -> Iterator[Path]:
    with _told(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        _put_back(place)
        require_ours(place)
        rundir.remove_abandoned(place.parent)
        private, lock = rundir.create(place.parent)
    try:
        report = private / "report"
        with _told(place):
            report.mkdir()
            yield report
            # The private directory is for its owner alone; the report is for whoever the umask lets.
            require_ours(place)
            _swap(report, place, private / "old")
    finally:
        rundir.remove(private)
        os.close(lock)


def require_ours(place: Path) -> None:
    """Refuse to replace anything but an earlier report with nothing added to it.

    Raises
    ------
    OutputExists : something else is there.
    """
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise _exists(place, "It is not a directory.")
    there = {path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir() or path.is_symlink()}
    if not there and not any(place.iterdir()):
        return
    try:
        written = json.loads((place / manifest.NAME).read_text(encoding="utf-8"))
        ours = written["schema"].startswith("busbar-audit/manifest/")
        known = {*written["files"], manifest.NAME, signature.NAME}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        ours, known = False, set()
    if ours and "case.json" in known:
        raise _exists(place, "It is a case file: evidence is never replaced.")
    if not ours:
        raise _exists(place, "It is not an earlier report: it has no manifest.json of one.")
    if added := sorted(there - known):
        names = ", ".join(printable(name) for name in added[:3])
        raise _exists(place, f"It is an earlier report, but holds what is not of the report: {names}.")


def _exists(place: Path, why: str) -> OutputExists:
    return OutputExists(
        f"{printable(place)} is there already. {why}",
        "Expected a new name, an empty directory or an earlier report.",
        "Nothing was changed. Choose another --out, or move this away.",
    )


def _real(out: str | os.PathLike[str]) -> Path:
    """The place itself, not a link to it: a rename would replace the link."""
    with _told(Path(out)):  # a relative one has no place where the working directory is gone
        return Path(out).resolve()


def _told(place: Path) -> contextlib.AbstractContextManager[None]:
    return writing.told("report", place, "What was there before is still there.")


def _swap(report: Path, place: Path, old: Path) -> None:
    if not place.exists():
        report.rename(place)
        return
    if _exchange(report, place):
        return  # the earlier report is now in the private directory and goes with it
    aside = place.with_name(f".{place.name}.previous-{secrets.token_hex(8)}")
    place.rename(aside)
    try:
        report.rename(place)
    except BaseException:
        aside.rename(place)
        raise
    aside.rename(old)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step (Linux); False where that cannot be done."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _put_back(place: Path) -> None:
    """If a run was killed between two renames, its earlier report is put back; leftovers of later ones go."""
    name = re.compile(re.escape(f".{place.name}.previous-") + "[0-9a-f]{16}")
    for aside in sorted(path for path in place.parent.iterdir() if name.fullmatch(path.name)):
        if not os.path.lexists(place):
            aside.rename(place)
        else:
            shutil.rmtree(aside, ignore_errors=True)
