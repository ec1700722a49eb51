"""What tables of facts are made of: columns, rows, and the little of a payload's values that they may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from busbar_audit.transcript import js
from busbar_audit.transcript.decoding import Problem
from busbar_audit.transcript.reader import Reader

Columns = Sequence[tuple[str, str]]
Table = tuple[Columns, Iterable[Any]]
_READ = Reader().value


def parsed(text: Any) -> Any:
    """What a record holds; None where it is no JSON."""
    try:
        return _READ(text or "")
    except js.NotJson:
        return None


def first(problems: Sequence[Problem]) -> str | None:
    """The first of some problems in words."""
    return str(problems[0]) if problems else None


def member(members: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key; an empty one where there is none."""
    found = members.get(key)
    return found if isinstance(found, dict) else {}


def storable(value: Any) -> str | None:
    """A text that DuckDB can hold: halves of surrogate pairs are written out."""
    if not isinstance(value, str):
        return None
    if value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def finite(value: Any) -> float | None:
    """A number that is neither infinite nor beyond all sense."""
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 else None
    )


def word(value: Any, known: Iterable[str]) -> str | None:
    """A word if it is a known one; nothing a store says for itself is carried on."""
    if value is None:
        return None
    return value if isinstance(value, str) and value in known else "other"
