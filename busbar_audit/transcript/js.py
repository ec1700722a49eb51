"""Values as a JavaScript program reads and writes them: numbers are doubles, texts are UTF-16, members have an order.

Source: maka sheet section 13. The stores were written by such a program, and equality, order and length are its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

# What String.prototype.trim takes away: 25 code points. U+FEFF is one of them, U+0085 is not (Python has it the other way).
BLANKS = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
_INDEX = re.compile(r"0|[1-9]\d{0,9}")
_LONE = re.compile("[\ud800-\udfff]")
_PLAIN = json.JSONEncoder(ensure_ascii=False).encode
_SAFE = 2**53
# Where Python spells a number or orders members otherwise than JavaScript, and yet reads back what it wrote.
_NUMBERED = re.compile(r"\"\d+\":")
_HIGH = re.compile("[\ud800-\uffff\U00010000-\U0010ffff]")
_SPELLED = (".0", "e-0", "e+1", "e+20")


class NotJson(ValueError):
    """The text is not JSON."""


def parse(text: str) -> Any:
    """Read JSON as JSON.parse does.

    Returns
    -------
    dict, list, str, int, float, bool or None; integers that no double holds exactly become floats.

    Raises
    ------
    NotJson : also for NaN, Infinity and nesting beyond what can be read.
    """
    try:
        return _DECODE(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error).split(":")[0]) from error


def _integer(digits: str) -> int | float:
    if len(digits) < 16:
        return int(digits)
    try:
        number = int(digits)
    except ValueError:  # more digits than Python converts
        return float(digits)
    return number if abs(number) <= _SAFE else float(digits)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


# Made once: to make one for each text takes longer than to read it.
_DECODE = json.JSONDecoder(parse_int=_integer, parse_constant=_refuse).decode
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def utf16(text: str) -> bytes:
    """The UTF-16 code units of a text in big-endian order: sorting by this is JavaScript's order of texts."""
    return text.encode("utf-16-be", "surrogatepass")


def length(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text) if text.isascii() else len(utf16(text)) // 2


def part(text: str, start: int, end: int) -> str:
    """The code units from start to end, as String.prototype.slice gives them for positions that are not negative."""
    return utf16(text)[2 * start : 2 * end].decode("utf-16-be", "surrogatepass")


def trim(text: str) -> str:
    """A text without the blanks at its ends."""
    return text.strip(BLANKS)


def number(value: float) -> str:
    """A number as JSON.stringify prints it."""
    if isinstance(value, int) and abs(value) <= _SAFE:
        return str(value)
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    point = len(text) + int(exponent)
    text = text.rstrip("0")
    minus = "-" if sign else ""
    if len(text) <= point <= 21:
        return minus + text + "0" * (point - len(text))
    if 0 < point <= 21:
        return f"{minus}{text[:point]}.{text[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{text}"
    mantissa = text[0] + (f".{text[1:]}" if len(text) > 1 else "")
    return f"{minus}{mantissa}e{point - 1:+d}"


def keys(members: dict[str, Any]) -> Iterator[str]:
    """Names in the order in which JavaScript walks them: array-like ones by number, the others as they were added."""
    if any(_is_index(name) for name in members):
        yield from sorted((name for name in members if _is_index(name)), key=int)
        yield from (name for name in members if not _is_index(name))
    else:
        yield from members


def _is_index(name: str) -> bool:
    return _INDEX.fullmatch(name) is not None and int(name) < 2**32 - 1


def stringify(value: Any, *, ordered: bool = False) -> str:
    """JSON text as JSON.stringify writes it.

    Parameters
    ----------
    ordered : members sorted by UTF-16 unit first, as the canonical form of an event has them.
    """
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return f"[{','.join(stringify(inner, ordered=ordered) for inner in value)}]"
    members: dict[str, Any] = {name: value[name] for name in sorted(value, key=utf16)} if ordered else value
    inner = (f"{_text(name)}:{stringify(members[name], ordered=ordered)}" for name in keys(members))
    return f"{{{','.join(inner)}}}"


def _text(value: str) -> str:
    plain = _PLAIN(value)
    if value.isascii() or not _LONE.search(plain):
        return plain
    return _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", plain)


def is_canonical(text: str, value: Any) -> bool:
    """Whether a text is the canonical form of the value that was read from it."""
    if _ENCODE(value) == text and not (
        any(spelled in text for spelled in _SPELLED)
        or _NUMBERED.search(text)
        or (not text.isascii() and _HIGH.search(text))
    ):
        return True
    return stringify(value, ordered=True) == text


def same(left: Any, right: Any) -> bool:
    """Deep equality in which true is not 1, and the order of members does not matter."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(value, right[name]) for name, value in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    return bool(left == right)
