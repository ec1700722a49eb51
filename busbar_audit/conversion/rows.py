"""Legacy rows: decoded as the product decodes them, with what each weighs in a page (maka sheet 3, 4.6)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from busbar_audit.conversion.refusal import incompatible
from busbar_audit.transcript import js
from busbar_audit.transcript.chunks import CHUNK, MARK
from busbar_audit.transcript.row_shape import OLD_PLANS, row_problems

MARKER = {"$maka": MARK}


@dataclass(frozen=True)
class LegacyRow:
    """One row of session_messages.

    sequence : its place in the session. row : as decoded and normalised. weight : in a page, UTF-16 units of the text
    of a row, bytes of one in chunks.
    """

    sequence: int
    row: Mapping[str, Any]
    weight: int

    @property
    def turn(self) -> str | None:
        """The turn it belongs to; None for a row of the session itself (an empty id is none)."""
        return self.row.get("turnId") or None


def decode_row(session: str, sequence: int, text: str, *, chunked: bool = False) -> LegacyRow:
    """Read a record.

    Parameters
    ----------
    text : the record; joined where it was in chunks.

    Raises
    ------
    Refusal : the product cannot read the row, and so no page that holds it.
    """
    try:
        row = js.parse(text)
    except js.NotJson:
        raise incompatible(session, sequence) from None
    if not isinstance(row, dict) or row_problems(row):
        raise incompatible(session, sequence)
    weight = len(text.encode("utf-8", "surrogatepass")) if chunked else js.length(text)
    return LegacyRow(sequence, _normal(row), weight)


def join_chunks(
    session: str, sequence: int, told: tuple[int, str] | None, parts: Sequence[tuple[int, bytes, str]]
) -> str:
    """The text of a record that is in chunks.

    Parameters
    ----------
    told : its bytes and SHA-256. parts : number, bytes and SHA-256 of each chunk, by number.

    Raises
    ------
    Refusal : a chunk is missing or is not what its digest says.
    """
    if told is None:
        raise incompatible(session, sequence)
    size, digest = told
    whole = b"".join(data for _, data, _ in parts)
    sound = (
        [at for at, _, _ in parts] == list(range(-(-size // CHUNK)))
        and len(whole) == size
        and all(hashlib.sha256(data).hexdigest() == own for _, data, own in parts)
        and hashlib.sha256(whole).hexdigest() == digest
    )
    try:
        if sound:
            return whole.decode()
    except UnicodeDecodeError:
        pass
    raise incompatible(session, sequence)


def _normal(row: dict[str, Any]) -> dict[str, Any]:
    """What decoding changes: the origin of an automation and results of tools that are gone."""
    if row["type"] == "user":
        origin = row.get("origin")
        if isinstance(origin, dict) and origin.get("kind") == "automation":
            return {**row, "origin": {**origin, "kind": "legacy_automation"}}
    elif row["type"] == "tool_result":
        content = row["content"]
        if content["kind"] == "explore_agent":
            return {**row, "content": {"kind": "text", "text": _report(content)}}
        if content["kind"] in OLD_PLANS:
            return {**row, "content": {"kind": "json", "value": content}}
    return row


def _report(content: Mapping[str, Any]) -> str:
    """What is kept of the result of the exploring agent that there was once."""
    for key in ("report", "summary"):
        said = content.get(key)
        if isinstance(said, str) and js.trim(said):
            return said
    files = content.get("filesInspected")
    return f"Inspected {js.number(files)} files" if isinstance(files, int | float) else "Inspected 0 files"
