"""Answers of the product, captured to a JSON file, against what both readers of the same session make of the store.

The file holds an object, or an array of objects, each with `sessionId`, perhaps `generation` (Q-A, Q-B or Q-C: of the query
behind pages, by default Q-B), and one of these: `rows` (or `messages`), transcript
rows in their order; `pages`, an array of pages with `fragments` {sequence, byteOffset, totalBytes, data (base64)}, older or
newer, which have to make whole records together.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from busbar_audit.errors import UsageError
from busbar_audit.text import printable
from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import Ledger, Session
from busbar_audit.transcript.pages import Pages
from busbar_audit.transcript.selection import GENERATIONS, Generation, standing
from busbar_audit.transcript.values import storable
from busbar_audit.transcript.view import Refused, session_view

COLUMNS = (
    ("session_id", "VARCHAR"),
    ("answer", "VARCHAR"),
    ("reader", "VARCHAR"),
    ("outcome", "VARCHAR"),
    ("place", "BIGINT"),
    ("detail", "VARCHAR"),
    ("records", "BIGINT"),
)
_MOST_BYTES = 512 << 20
_SHAPE = "Expected sessionId and rows, messages or pages; the user's manual has the format."
Line = tuple[str, str, str, str, int | None, str | None, int]


@dataclass(frozen=True)
class Answer:
    """What the product answered for one session: its rows, each with its sequence where pages were captured."""

    session_id: str
    kind: Literal["rows", "pages"]
    rows: tuple[Any, ...]
    sequences: tuple[int, ...] = ()
    generation: Generation = "Q-B"


def read_answers(path: str | os.PathLike[str]) -> list[Answer]:
    """The answers in a file.

    Raises
    ------
    UsageError : it cannot be read, is no JSON, or of another shape.
    """
    name = printable(str(path))
    try:
        if Path(path).stat().st_size > _MOST_BYTES:
            raise UsageError(f"--export {name} is larger than 512 MiB.", "Capture fewer sessions to a file.")
        told = js.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, js.NotJson) as error:
        raise UsageError(f"--export {name} cannot be read: {type(error).__name__}.", _SHAPE) from None
    found = [_answer(one, name) for one in (told if isinstance(told, list) else [told])]
    if not found:
        raise UsageError(f"--export {name} holds no answer.", _SHAPE)
    if len({one.session_id for one in found}) < len(found):
        raise UsageError(f"--export {name} has a session twice.", "Expected one answer for each session.")
    return found


def _answer(told: Any, name: str) -> Answer:
    session = told.get("sessionId") if isinstance(told, dict) else None
    given = [key for key in ("rows", "messages", "pages") if isinstance(told, dict) and isinstance(told.get(key), list)]
    if not isinstance(session, str) or not session or len(given) != 1:
        raise UsageError(f"--export {name} is of another shape.", _SHAPE)
    if storable(session) != session:
        raise UsageError(f"--export {name}: a sessionId holds half a surrogate pair.", "Expected the id of a session.")
    generation = told.get("generation", "Q-B")
    if generation not in GENERATIONS:
        raise UsageError(f"--export {name} names an unknown generation.", f"Expected one of {', '.join(GENERATIONS)}.")
    if given[0] != "pages":
        return Answer(session, "rows", tuple(told[given[0]]), (), generation)
    sequences, rows = [], []
    for sequence, row in sorted(_joined(told["pages"], name).items()):
        sequences.append(sequence)
        rows.append(row)
    return Answer(session, "pages", tuple(rows), tuple(sequences), generation)


def _joined(pages: Iterable[Any], name: str) -> dict[int, Any]:
    parts: dict[int, list[tuple[int, int, bytes]]] = {}
    for page in pages:
        try:
            for f in page["fragments"]:
                one = (int(f["byteOffset"]), int(f["totalBytes"]), base64.b64decode(f["data"], validate=True))
                parts.setdefault(int(f["sequence"]), []).append(one)
        except (KeyError, TypeError, ValueError, OverflowError, binascii.Error):
            raise UsageError(f"--export {name}: a page is of another shape.", _SHAPE) from None
    # A page that was captured twice says nothing else.
    return {sequence: _record(sorted(set(own))) for sequence, own in parts.items()}


def _record(parts: Sequence[tuple[int, int, bytes]]) -> Any:
    """A record put together; None where its parts leave holes, overlap, or make no JSON."""
    data = b""
    for offset, total, piece in parts:
        if offset != len(data) or total != parts[0][1]:
            return None
        data += piece
    try:
        return js.parse(data.decode()) if len(data) == parts[0][1] else None
    except (UnicodeDecodeError, js.NotJson):
        return None


def export_facts(ledger: Ledger, answers: Sequence[Answer]) -> Iterator[Line]:
    """Rows of ``source.export_facts``: for each answer how it stands to the Session view, and how to pages.

    `outcome`: equal; differs (place: number of the first row that does, from 0; records: how many do); refused, where the
    reader shows nothing; or absent, where the store has no such session. `detail` has types, ids and names of members only.
    """
    sessions = ledger.read([answer.session_id for answer in answers])
    for answer in answers:
        session = sessions.get(answer.session_id)
        who = storable(answer.session_id) or ""
        if session is None or not session.events:
            yield who, answer.kind, "store", "absent", None, None, len(answer.rows)
            continue
        try:
            shown = session_view(session.openings, session.events, session.outcomes, session.partials).rows
        except Refused:
            shown = None
        yield who, answer.kind, "view", *_against(answer.rows, shown)
        reader = "pages" if answer.generation == "Q-B" else f"pages {answer.generation} ({standing(answer.generation)})"
        yield who, answer.kind, reader, *_paged(answer, session)


def _paged(answer: Answer, session: Session) -> tuple[str, int | None, str | None, int]:
    steps = Pages(session, answer.generation).steps
    found = sorted((row for step in steps for row in step.rows), key=lambda row: row.sequence)
    served, closed = [row.row for row in found], any(step.refusal is not None for step in steps)
    outcome = _against(answer.rows, served if served or not closed else None)
    sequences = [row.sequence for row in found]
    if answer.kind == "rows" or outcome[0] != "equal" or list(answer.sequences) == sequences:
        return outcome
    pairs = zip(answer.sequences, sequences, strict=True)
    places = [at for at, (given, own) in enumerate(pairs) if given != own]
    return "differs", places[0], "the same row at another sequence", len(places)


def _against(given: Sequence[Any], own: Sequence[Mapping[str, Any]] | None) -> tuple[str, int | None, str | None, int]:
    if own is None:
        return "refused", None, None, len(given)
    first, detail, apart = None, None, abs(len(given) - len(own))
    for at in range(max(len(given), len(own))):
        one, other = (rows[at] if at < len(rows) else None for rows in (given, own))
        if at < len(given) and at < len(own) and js.same(one, other):
            continue
        if at < len(given) and at < len(own):
            apart += 1
        if first is None:
            first, detail = at, _told(one, other, at < len(given), at < len(own))
    return ("equal", None, None, 0) if first is None else ("differs", first, detail, apart)


def _told(given: Any, own: Any, here: bool, there: bool) -> str:
    if not here:
        return f"{_named(own)} is not in the answer"
    if not there:
        return f"{_named(given)} is in the answer alone"
    if not isinstance(given, dict) or (given.get("type"), given.get("id")) != (own.get("type"), own.get("id")):
        return f"{_named(own)}, in the answer {_named(given)}"
    names = sorted(key for key in given.keys() | own.keys() if not js.same(given.get(key), own.get(key)))
    return f"{_named(own)}: {', '.join(printable(name[:40]) for name in names[:12])}"


def _named(row: Any) -> str:
    if not isinstance(row, dict):
        return "what is no record"
    kind, key = (printable(str(row.get(name))[:80]) for name in ("type", "id"))
    return f"{kind} {key}"
