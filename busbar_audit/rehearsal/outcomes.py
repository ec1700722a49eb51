"""What a rehearsal says: one thing held or not, with place and extent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from busbar_audit.text import printable

_MOST = 120


@dataclass(frozen=True)
class Outcome:
    """name : of an invariant, a trap or a probe. held : None where it could not be told, or there is nothing to tell it of.

    severity : of what did not hold. extent : number of things. detail : safe to print.
    """

    name: str
    held: bool | None
    detail: str = ""
    extent: int = 0
    severity: str = "high"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {k: getattr(self, k) for k in ("name", "held", "severity", "extent", "detail")}


def judged(name: str, wrong: Iterable[Any], rule: str, *, severity: str = "high") -> Outcome:
    """An invariant that holds where nothing is wrong; otherwise the first of what is wrong stands in the detail."""
    found: Sequence[Any] = list(wrong)
    if not found:
        return Outcome(name, True, rule)
    return Outcome(name, False, f"{rule}; first: {shown(found[0])}", len(found), severity)


def shown(thing: Any) -> str:
    """A key, a name or a tuple of these, short and printable."""
    text = " ".join(shown(part) for part in thing) if isinstance(thing, tuple) else printable(str(thing))
    return text if len(text) <= _MOST else text[:_MOST] + "…"
