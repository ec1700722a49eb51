"""A witness file: its lines, read and written as a whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import Any, NamedTuple

from busbar_audit.garbage import uncollected
from busbar_audit.text import printable

FORMAT = "busbar-audit witness 1"
SUFFIX = ".witness"
_TEXT: set[type] = {str}
_NUMBER: set[type] = {int}
_NULL: set[type] = {type(None)}
# Of the values of a line, in their order.
_KINDS: tuple[set[type], ...] = (
    _TEXT,
    _TEXT,
    _NUMBER,
    _TEXT | _NULL,
    _NUMBER,
    _TEXT | _NULL,
    _NUMBER,
    _NUMBER | _NULL,
    {bool},
)


class Line(NamedTuple):
    """What was witnessed of one chain: its extent and its last hash. It begins where the chain began when it was first seen.

    last_ts : time of the last record, unix seconds. finished : the task it is of was in a terminal state.
    """

    population: str
    scope: str
    first_seq: int
    first_prev_hash: str | None
    last_seq: int
    last_hash: str | None
    records: int
    last_ts: int | None
    finished: bool

    @property
    def key(self) -> tuple[str, str]:
        """Which chain it is."""
        return self.population, self.scope


@dataclass(frozen=True)
class Adoption:
    """An operator's word that the store is as it is for a reason."""

    at: str
    reason: str


@dataclass(frozen=True)
class Renewal:
    """A chain whose line began anew: a purge can have taken it whole, and later records begin at 1.

    at : when that was seen. last_seq, last_hash : where the line stood before.
    """

    at: str
    population: str
    scope: str
    last_seq: int
    last_hash: str | None


@dataclass(frozen=True)
class Content:
    """What a witness file says.

    location : where the store was. marks : of its oldest keys. updated : unix seconds of the copy last proven. renewals : the
    newest ones, oldest first.
    """

    location: str
    marks: tuple[str, ...] = ()
    updated: int = 0
    adoptions: tuple[Adoption, ...] = ()
    lines: Mapping[tuple[str, str], Line] = field(default_factory=dict)
    renewals: tuple[Renewal, ...] = ()


def file_name(location: str) -> str:
    """Name of the witness of the store at a place."""
    return hashlib.sha256(location.encode("utf-8", "surrogateescape")).hexdigest()[:24] + SUFFIX


def read(file: Path) -> Content:
    """Read a witness file.

    Raises
    ------
    ValueError : it is not as this program left it. OSError : it cannot be read.
    """
    with uncollected():
        return _read(file)


def _read(file: Path) -> Content:
    text = file.read_bytes()
    body, _, seal = text.rpartition(b"\nsha256 ")
    if hashlib.sha256(body + b"\n").hexdigest().encode() + b"\n" != seal:
        raise ValueError("its SHA-256 is not that of its lines")
    lines = body.decode("ascii").split("\n")
    if lines[0] != FORMAT:
        raise ValueError(f"it begins with {printable(lines[0])[:60]}, expected {FORMAT}")
    head = json.loads(lines[1])
    # All at once: a witness of a million chains is read in seconds, and a call a line would double them.
    rows = json.loads(f"[{','.join(lines[2:])}]")
    if len(rows) != len(lines) - 2 or not _right(rows):
        raise ValueError("a line of it has values of other kinds")
    read_lines = list(map(Line._make, rows))
    return Content(
        str(head["location"]),
        tuple(str(mark) for mark in head["marks"]),
        int(head["updated"]),
        tuple(Adoption(**each) for each in head["adoptions"]),
        dict(zip(((line[0], line[1]) for line in read_lines), read_lines, strict=True)),
        tuple(Renewal(**each) for each in head.get("renewals", ())),
    )


def _right(rows: Sequence[Any]) -> bool:
    """Whether every row has the values of a line, column by column."""
    if set(map(type, rows)) - {list} or set(map(len, rows)) - {len(_KINDS)}:
        return False
    for column, kinds in zip(zip(*rows, strict=True), _KINDS, strict=False):
        if set(map(type, column)) - kinds:
            return False
        numbers = [each for each in column if each is not None] if int in kinds else []
        if numbers and not -(2**63) <= min(numbers) <= max(numbers) < 2**63:
            return False
    return True


def write(file: Path, content: Content) -> None:
    """Put a witness file in place of the one before, in one step: whoever reads finds the old one or the new one, whole."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    digest = hashlib.sha256()
    try:
        with part.open("wb") as out:
            for line in _text(content):
                digest.update(line)
                out.write(line)
            out.write(b"sha256 " + digest.hexdigest().encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    # The new name has to last as well.
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _text(content: Content) -> Iterator[bytes]:
    head = {
        "location": content.location,
        "marks": list(content.marks),
        "updated": content.updated,
        "adoptions": [{"at": each.at, "reason": each.reason} for each in content.adoptions],
        "renewals": [vars(each) for each in content.renewals],
    }
    yield f"{FORMAT}\n".encode()
    yield json.dumps(head).encode() + b"\n"
    for p, s, first, prev, last, digest, records, ts, finished in content.lines.values():
        # As json.dumps writes it, in a third of the time.
        texts = (
            _quoted(p),
            _quoted(s),
            "null" if prev is None else _quoted(prev),
            "null" if digest is None else _quoted(digest),
        )
        yield (
            f"[{texts[0]}, {texts[1]}, {first}, {texts[2]}, {last}, {texts[3]}, {records}, "
            f"{'null' if ts is None else ts}, {'true' if finished else 'false'}]\n"
        ).encode()
