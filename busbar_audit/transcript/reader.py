"""Reading payloads quickly: what they hold, how long they are, and whether their text is the canonical form of what they hold.

Nearly every payload is plain, and msgspec reads and writes those as a JavaScript program does. The others go the careful way
of `js`: whatever msgspec refuses (a half of a surrogate pair, deep nesting, a number beyond doubles), and whatever has sixteen
digits in a row, which may be an integer that no double holds.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from busbar_audit.transcript import js

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG, _NUMBER_KEY = b"0" * 16, b'0":'
_NUMBERED = re.compile(r"\"\d+\":")
# In a text without these UTF-16 and code points are in the same order.
_HIGH = re.compile("[\ud800-\uffff\U00010000-\U0010ffff]")
_SORTED = msgspec.json.Encoder(order="sorted").encode
_TEXT = msgspec.json.Encoder().encode
_WHOLE = 10**15


class Reader:
    """Reads one payload after another; a thread needs one of its own."""

    def __init__(self) -> None:
        self._odd = False
        self._decode = msgspec.json.Decoder(float_hook=self._float).decode

    def _float(self, spelled: str) -> float:
        value = float(spelled)
        if repr(value) != spelled or "e" in spelled or spelled.endswith(".0"):
            self._odd = True  # it may be spelled otherwise than JavaScript does
        return value

    def read(self, text: str) -> tuple[Any, int, bool]:
        """Read a payload.

        Returns
        -------
        value : as `js.parse` gives it. size : of the text in bytes of UTF-8. canonical : as `js.is_canonical` says.

        Raises
        ------
        js.NotJson : it is no JSON.
        """
        self._odd = False
        try:
            raw = text.encode()
            digits = raw.translate(_DIGITS)
            if _LONG in digits:
                return _carefully(text)
            value = self._decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return _carefully(text)
        plain = (
            not self._odd
            and _SORTED(value) == raw
            and not (_NUMBER_KEY in digits and _NUMBERED.search(text))
            and (text.isascii() or not _HIGH.search(text))
        )
        return value, len(raw), plain or js.is_canonical(text, value)

    def value(self, text: str) -> Any:
        """What a payload holds, as `js.parse` gives it.

        Raises
        ------
        js.NotJson : it is no JSON.
        """
        try:
            raw = text.encode()
            if _LONG not in raw.translate(_DIGITS):
                return self._decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        return js.parse(text)


def _carefully(text: str) -> tuple[Any, int, bool]:
    value = js.parse(text)
    return value, len(text.encode("utf-8", "surrogatepass")), js.is_canonical(text, value)


def written(text: str) -> bytes:
    """A text as JSON.stringify writes it.

    Raises
    ------
    ValueError : it holds half of a surrogate pair.
    """
    return _TEXT(text)


def canonical(value: Any) -> bytes:
    """A value as `js.stringify` writes it with its members in order, in UTF-8."""
    if _plain(value):
        try:
            return _SORTED(value)
        except ValueError:  # half of a surrogate pair
            pass
    return js.stringify(value, ordered=True).encode("utf-8", "surrogatepass")


def _plain(value: Any) -> bool:
    """Whether msgspec surely writes it as JavaScript does: no fractions, no long numbers, no members in another order."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_WHOLE < value < _WHOLE)
    if kind is list:
        return all(map(_plain, value))
    if kind is dict:
        return all(key.isascii() and not key.isdigit() for key in value) and all(map(_plain, value.values()))
    return False
