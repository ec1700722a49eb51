"""Rules for values of exact shape: each rule looks at one value and says what is wrong with it, never what it holds.

A shape that a program decodes by exact key sets refuses a member it does not know. So do these rules: they name unknown
members, unknown kinds and unknown words (shortened), and nothing else of the value.

Nearly every value of a store is all right, and is told so by a type made of the same rule, which msgspec compiles: it accepts
nothing that the rule does not. What it does not accept, the rule looks at, and what the rule says counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Annotated, Any, Literal, Union

import msgspec

from busbar_audit.text import printable

_SHOWN = 40


@dataclass(frozen=True)
class Problem:
    """One thing wrong: where (member names from the top, joined by dots) and what."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path or 'the whole'}: {self.what}"


Look = Callable[[Any, str, list[Problem]], None]
# Members of an object: the required, the optional ones, and whether there may be no others.
_Members = tuple[Mapping[str, "Rule"], Mapping[str, "Rule"], bool]


class Rule:
    """What a value has to be.

    Parameters
    ----------
    look : given the value, its path, and the list of problems to add to.
    make : makes the type that accepts nothing else than the rule does.
    members : of an object that has a record's rule.
    """

    def __init__(self, look: Look, make: Callable[[], Any], members: _Members | None = None) -> None:
        self.look, self._make, self.members = look, make, members

    @cached_property
    def type(self) -> Any:
        """For msgspec; made when it is first needed."""
        return self._make()


def shown(word: object) -> str:
    """A word of unknown origin, shortened and printable."""
    text = str(word)
    return printable(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")


def _anything(value: Any, path: str, out: list[Problem]) -> None:
    pass


def _text(value: Any, path: str, out: list[Problem]) -> None:
    if not isinstance(value, str):
        out.append(Problem(path, "not a text"))


def _name(value: Any, path: str, out: list[Problem]) -> None:
    if not isinstance(value, str) or not value:
        out.append(Problem(path, "not a text with a character in it"))


def _truth(value: Any, path: str, out: list[Problem]) -> None:
    if not isinstance(value, bool):
        out.append(Problem(path, "neither true nor false"))


def _number(value: Any, path: str, out: list[Problem]) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        out.append(Problem(path, "not a finite number"))


def _object(value: Any, path: str, out: list[Problem]) -> None:
    if not isinstance(value, dict):
        out.append(Problem(path, "not an object"))


class _Object(msgspec.Struct, gc=False):
    """An object whose members are not looked at."""


class _True:
    """The value true, which no type of msgspec stands for."""


_TRUE = _True()


_MOST = sys.float_info.max
anything = Rule(_anything, lambda: Any)
text = Rule(_text, lambda: str)
# A text that is not empty.
name = Rule(_name, lambda: Annotated[str, msgspec.Meta(min_length=1)])
truth = Rule(_truth, lambda: bool)
# A finite number, and neither true nor false.
number = Rule(_number, lambda: Annotated[float, msgspec.Meta(ge=-_MOST, le=_MOST)])
# An object, whatever is in it.
members = Rule(_object, lambda: _Object, ({}, {}, False))


def word(*known: object) -> Rule:
    """One of a few known values."""

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        if not any(value is one or (isinstance(value, str) and value == one) for one in known):
            said = f" '{shown(value)}'" if isinstance(value, str) else ""
            out.append(Problem(path, f"unknown value{said}"))

    # A literal type takes texts; true is the only other word that is known anywhere.
    return Rule(rule, lambda: _True if known == (True,) else Literal[known])


def each(inner: Rule, most: int | None = None) -> Rule:
    """A list, each item of which follows a rule."""

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        if not isinstance(value, list):
            out.append(Problem(path, "not a list"))
            return
        if most is not None and len(value) > most:
            out.append(Problem(path, f"{len(value)} items, at most {most} are allowed"))
        for item in value:
            inner.look(item, f"{path}[]", out)

    def make() -> Any:
        kind: Any = inner.type
        return list[kind] if most is None else Annotated[list[kind], msgspec.Meta(max_length=most)]

    return Rule(rule, make)


def either(first: Rule, second: Rule) -> Rule:
    """An object that follows the first rule, or whatever follows the second."""

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        (first if isinstance(value, dict) else second).look(value, path, out)

    return Rule(rule, lambda: Union[first.type, second.type])  # noqa: UP007 - types are made here, not written


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
                check.look(inner, before + key, out)
            elif exact:
                out.append(Problem(path, f"unknown member '{shown(key)}'"))
        for key in required:
            if key not in value:
                out.append(Problem(before + key, "missing"))

    told = (required, optional or {}, exact)
    return Rule(rule, lambda: _struct(told), told)


def some(optional: Mapping[str, Rule]) -> Rule:
    """An object with at least one of these texts, and no other members."""
    plain = record({}, optional)

    def rule(value: Any, path: str, out: list[Problem]) -> None:
        plain.look(value, path, out)
        if value == {}:
            out.append(Problem(path, "empty"))

    def make() -> Any:
        key: Any = Literal[tuple(optional)]
        return Annotated[dict[key, str], msgspec.Meta(min_length=1)]

    return Rule(rule, make)


def _struct(told: _Members, key: str | None = None, kind: str | None = None) -> Any:
    """The type of an object; `key` is the member by whose word it is told from others."""
    required, optional, exact = told
    fields: list[Any] = [(name, rule.type) for name, rule in required.items() if name != key]
    fields += [(name, Union[rule.type, msgspec.UnsetType], msgspec.UNSET) for name, rule in optional.items()]  # noqa: UP007
    return msgspec.defstruct("Shape", fields, tag_field=key, tag=kind, forbid_unknown_fields=exact, gc=False)


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
            inner.look(value, path, out)

    def make() -> Any:
        several = tuple(_struct(inner.members, key, kind) for kind, inner in known.items() if inner.members)
        return Union[several]  # noqa: UP007

    return Rule(rule, make)


def check(rule: Rule, value: Any) -> list[Problem]:
    """All problems of a value; none when it follows the rule.

    Parameters
    ----------
    value : as `js.parse` gives it.
    """
    try:
        msgspec.convert(value, rule.type, dec_hook=_true)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        out: list[Problem] = []
        rule.look(value, "", out)
        return out
    return []


def _true(kind: type, value: Any) -> Any:
    if kind is not _True or value is not True:
        raise ValueError("not true")
    return _TRUE
