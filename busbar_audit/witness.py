"""The witness: what a store held when it was last proven, kept elsewhere.

A chain cannot tell that its end was cut off, or that all of it was written anew with every digest reckoned again. A small
text file outside the store can: one line a chain with the position it had reached. The file is read before a store is
judged, and advanced after everything else, as a whole and in one step; a line only moves on if its chain was intact in
this run and what was witnessed was found again in it. No other line is touched, whatever else the run found.

The file of a store is named by the place the store is at. Beside the place, the oldest keys are marked, so that another
store at the same place, and the same store at another place, are told apart.
"""

from __future__ import annotations

import fcntl
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from busbar_audit.errors import WitnessError
from busbar_audit.garbage import uncollected
from busbar_audit.text import printable
from busbar_audit.witness_file import SUFFIX, Adoption, Content, Line, Renewal, file_name, read, write

MARKS = 16
RENEWALS = 1000
_LOCK = ".lock"
_NONE: Mapping[tuple[str, str], str] = {}
# Columns of source.witness, a row a chain, and source.witness_file, one row if there is a witness.
LINE_COLUMNS = [
    ("population", "VARCHAR"),
    ("scope", "VARCHAR"),
    ("first_seq", "BIGINT"),
    ("first_prev_hash", "VARCHAR"),
    ("last_seq", "BIGINT"),
    ("last_hash", "VARCHAR"),
    ("records", "BIGINT"),
    ("last_ts", "BIGINT"),
    ("finished", "BOOLEAN"),
]
FILE_COLUMNS = [
    ("file", "VARCHAR"),
    ("status", "VARCHAR"),
    ("detail", "VARCHAR"),
    ("updated", "BIGINT"),
    ("taken_at", "BIGINT"),
    ("marks", "BIGINT"),
    ("marks_found", "BIGINT"),
]


class Witness:
    """The witness of one store, locked from when it is read until it has been advanced.

    Attributes
    ----------
    status : ``new`` (no file yet), ``read``, ``edited`` (there, and not as it was left), ``missing`` (an earlier report
        names it) or ``elsewhere`` (this store was witnessed at another place, and not at this one).
    detail : what is wrong, in words. content : what was read, empty if nothing was.
    """

    def __init__(self, directory: Path, location: str, *, named_before: bool = False) -> None:
        self.directory = directory
        self.location = location
        self.file = directory / file_name(location)
        self.content = Content(location)
        self.detail = ""
        self._lock = _locked(directory, self.file)
        # Of runs that were killed while they wrote; none writes now.
        for left in directory.glob(f"{self.file.name}.*.part"):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        try:
            self.content, self.status = read(self.file), "read"
        except FileNotFoundError:
            self.status = "missing" if named_before else "new"
            self.detail = "an earlier report names it, and it is not there" if named_before else ""
        except OSError as error:
            self.close()
            raise WitnessError(
                f"Witness {printable(str(self.file))}: {error.strerror}.",
                "Expected a file this program may read.",
                "Nothing was checked and nothing was written.",
            ) from None
        except (ValueError, TypeError, KeyError, IndexError) as error:
            self.status, self.detail = "edited", str(error)

    def elsewhere(self, marks: Iterable[str]) -> None:
        """Look for the store among the witnesses of other places, if it has none at its own.

        Parameters
        ----------
        marks : of all keys of the store.
        """
        if self.status != "new":
            return
        known = set(marks)
        for other in sorted(self.directory.glob(f"*{SUFFIX}")):
            try:
                content = read(other)
            except (OSError, ValueError, TypeError, KeyError, IndexError):
                continue
            if known & set(content.marks):
                self.status = "elsewhere"
                self.detail = f"this store was witnessed at {printable(content.location)}"
                return

    def advance(
        self,
        lines: Iterable[Line],
        proven: Mapping[tuple[str, str], str],
        marks: Sequence[str],
        at: int,
        anew: Mapping[tuple[str, str], str] = _NONE,
    ) -> bool:
        """Write what was proven in this run; False where there is nothing that may be written.

        Parameters
        ----------
        lines : every intact chain as it is now.
        proven : of the witnessed chains those in which what was witnessed was found, with the population they are in now.
        marks : of the oldest keys. at : unix seconds of the copy.
        anew : of the witnessed chains those that a purge can have taken whole and that begin anew, with their population now.
        """
        if self.status not in ("new", "read"):
            return False
        with uncollected():
            self.content = self._advanced(lines, proven, marks, at, anew)
            self._write()
        return True

    def _advanced(
        self,
        lines: Iterable[Line],
        proven: Mapping[tuple[str, str], str],
        marks: Sequence[str],
        at: int,
        anew: Mapping[tuple[str, str], str],
    ) -> Content:
        old = self.content
        intact = {line.key: line for line in lines}
        now = dict(intact)
        renewals = list(old.renewals)
        for key, line in old.lines.items():
            population = proven.get(key) or anew.get(key)
            later = None if population is None else (population, key[1])
            if later is None or later not in intact:
                now[key] = line
            elif key in anew:
                renewals.append(Renewal(_iso(at), *key, line.last_seq, line.last_hash))
            else:
                # It was proven from its old beginning on, whatever a purge has taken of that since.
                now[later] = _from(now[later], line)
        return replace(
            old,
            marks=old.marks or tuple(marks)[:MARKS],
            updated=max(old.updated, at),
            lines=dict(sorted(now.items())),
            renewals=tuple(renewals[-RENEWALS:]),
        )

    def adopt(
        self,
        lines: Iterable[Line],
        marks: Sequence[str],
        at: int,
        reason: str,
        *,
        proven: Mapping[tuple[str, str], str] = _NONE,
        broken: Collection[tuple[str, str]] = (),
    ) -> None:
        """Begin anew from what the store is now; the reason is kept in the file.

        Parameters
        ----------
        lines : every chain that is intact in itself. proven : as for `advance`; these keep the beginning they were
        witnessed with. broken : chains that are there and not intact; these keep the line they had.

        Raises
        ------
        WitnessError : no reason.
        """
        if not reason.strip():
            raise WitnessError(
                "Adopting without a reason.", "Expected why the store may be as it is.", "Give --reason."
            )
        word = Adoption(_iso(datetime.now(UTC).timestamp()), printable(reason))
        now = {line.key: line for line in lines}
        for key, line in self.content.lines.items():
            later = (proven.get(key, key[0]), key[1])
            if key in proven and later in now:
                now[later] = _from(now[later], line)
            elif key in broken:
                now[key] = line
        self.content = Content(
            self.location,
            tuple(marks)[:MARKS],
            at,
            (*self.content.adoptions, word),
            dict(sorted(now.items())),
            self.content.renewals,
        )
        self.status = "read"
        self._write()

    def _write(self) -> None:
        try:
            write(self.file, self.content)
        except OSError as error:
            raise WitnessError(
                f"Witness {printable(str(self.file))} cannot be written: {error.strerror}.",
                "Expected a folder this program may write to.",
                "The witness is as it was before; the result of the audit stands.",
            ) from None

    def close(self) -> None:
        """Let another run have it."""
        self._lock.close()

    def document(self) -> dict[str, Any]:
        """The part ``witness`` of result.json: what was read, before anything is advanced."""
        return {
            "file": self.file.name,
            "status": self.status,
            "detail": self.detail,
            "chains": len(self.content.lines),
            "updated": self.content.updated or None,
            "adoptions": [{"at": each.at, "reason": each.reason} for each in self.content.adoptions],
            "renewals": len(self.content.renewals),
        }


def _from(now: Line, before: Line) -> Line:
    """A line with the beginning that was witnessed."""
    return now._replace(first_seq=before.first_seq, first_prev_hash=before.first_prev_hash)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _locked(directory: Path, file: Path) -> IO[bytes]:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = file.with_suffix(_LOCK).open("ab")
    except OSError as error:
        raise WitnessError(
            f"Witness folder {printable(str(directory))}: {error.strerror}.",
            "Expected a folder this program may write to.",
            "Nothing was checked.",
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise WitnessError(
            f"Witness {printable(str(file))} is in use by another run.",
            "One run a store at a time.",
            "Wait for it to end and run again. Nothing was checked.",
        ) from None
    return lock
