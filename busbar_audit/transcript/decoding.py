"""Rules for values of exact shape: each rule looks at one value and says what is wrong with it, never what it holds.

A shape that a program decodes by exact key sets refuses a member it does not know. So do these rules: they name unknown
members, unknown kinds and unknown words (shortened), and nothing else of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from busbar_audit.text import printable

_SHOWN = 40


@dataclass(frozen=True)
class Problem:
    """One thing wrong: where (member names from the top, joined by dots) and what."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path or 'the whole'}: {self.what}"


Rule = Callable[[Any, str, list[Problem]], None]


def shown(word: object) -> str:
    """A word of unknown origin, shortened and printable."""
    text = str(word)
    return printable(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")


def anything(value: Any, path: str, out: list[Problem]) -> None:
    """Any value."""


def text(value: Any, path: str, out: list[Problem]) -> None:
    """A text, empty or not."""
    if not isinstance(value, str):
        out.append(Problem(path, "not a text"))


def name(value: Any, path: str, out: list[Problem]) -> None:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        out.append(Problem(path, "not a text with a character in it"))


def truth(value: Any, path: str, out: list[Problem]) -> None:
    """True or false."""
    if not isinstance(value, bool):
        out.append(Problem(path, "neither true nor false"))


def number(value: Any, path: str, out: list[Problem]) -> None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        out.append(Problem(path, "not a finite number"))


def members(value: Any, path: str, out: list[Problem]) -> None:
    """An object, whatever is in it."""
    if not isinstance(value, dict):
        out.append(Problem(path, "not an object"))


def word(*known: object) -> Rule:
    """One of a few known values."""

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        if not any(value is one or (isinstance(value, str) and value == one) for one in known):
            said = f" '{shown(value)}'" if isinstance(value, str) else ""
            out.append(Problem(path, f"unknown value{said}"))

    return rule


def each(inner: Rule, most: int | None = None) -> Rule:
    """A list, each item of which follows a rule."""

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        if not isinstance(value, list):
            out.append(Problem(path, "not a list"))
            return
        if most is not None and len(value) > most:
            out.append(Problem(path, f"{len(value)} items, at most {most} are allowed"))
        for item in value:
            inner(item, f"{path}[]", out)

    return rule


def record(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None, *, exact: bool = True) -> Rule:
    """An object with these members, and no others unless `exact` is false."""
    known = {**required, **(optional or {})}

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        if not isinstance(value, dict):
            out.append(Problem(path, "not an object"))
            return
        before = f"{path}." if path else ""
        for key, inner in value.items():
            check = known.get(key)
            if check is not None:
                check(inner, before + key, out)
            elif exact:
                out.append(Problem(path, f"unknown member '{shown(key)}'"))
        for key in required:
            if key not in value:
                out.append(Problem(before + key, "missing"))

    return rule


def kinds(key: str, known: Mapping[str, Rule]) -> Rule:
    """An object whose member `key` says which of several rules it follows."""

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        if not isinstance(value, dict):
            out.append(Problem(path, "not an object"))
            return
        kind = value.get(key)
        inner = known.get(kind) if isinstance(kind, str) else None
        if inner is None:
            said = f" '{shown(kind)}'" if isinstance(kind, str) else ""
            out.append(Problem(f"{path}.{key}" if path else key, f"unknown kind{said}"))
        else:
            inner(value, path, out)

    return rule


def check(rule: Rule, value: Any) -> list[Problem]:
    """All problems of a value; none when it follows the rule."""
    out: list[Problem] = []
    rule(value, "", out)
    return out
