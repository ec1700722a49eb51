"""Protobuf's binary form, read as strictly as the official classes read it, without building what is read.

A message type is a mapping from tag (field number << 3 | wire type) to what the field holds. A tag that is not in it is an
unknown field: it is skipped by its wire type, as proto3 demands; a known number with another wire type is one as well.
"""

from __future__ import annotations

from typing import Final

# A field that holds text: it has to be UTF-8, or the official classes refuse the whole payload.
TEXT: Final = "text"
# A field whose wire type says all: nothing in it can be wrong.
PLAIN: Final = "plain"

Fields = dict[int, "str | Fields"]

MOST_NESTED = 100
_GROUP, _END = 3, 4


class WireError(ValueError):
    """The bytes are no message of this type; the message says why, and nothing of their content."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """An unsigned number of at most ten bytes, cut to 64 bits, and the place after it."""
    value = shift = 0
    while True:
        if at >= end:
            raise WireError("it ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift >= 70:
            raise WireError("a number has more than ten bytes")


def tag(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A field's tag of more than one byte, and the place after it."""
    start = at
    value, at = varint(data, at, end)
    if at - start > 5 or value > 0xFFFFFFFF:
        raise WireError("a field number is out of range")
    return value, at


def length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the value of a length-delimited field begins and where it stops."""
    size, at = varint(data, at, end)
    if size > 0x7FFFFFFF or at + size > end:
        raise WireError("a value reaches beyond its message")
    return at, at + size


def text(data: bytes, start: int, stop: int) -> str:
    """Text of a field."""
    try:
        return data[start:stop].decode()
    except UnicodeDecodeError:
        raise WireError("a text is not UTF-8") from None


def skip(data: bytes, at: int, end: int, mark: int, depth: int) -> int:
    """The place after a field that is not known, whose tag `mark` was read already."""
    if mark < 8:
        raise WireError("field number 0")
    kind = mark & 7
    if kind == 0:
        return varint(data, at, end)[1]
    if kind == 2:
        return length(data, at, end)[1]
    if kind in (1, 5):
        at += 8 if kind == 1 else 4
        if at > end:
            raise WireError("a value reaches beyond its message")
        return at
    if kind == _GROUP:
        return _group(data, at, end, mark >> 3, depth + 1)
    raise WireError("a group ends that never began" if kind == _END else f"wire type {kind}")


def check(data: bytes, at: int, end: int, fields: Fields, depth: int, texts: list[str] | None = None) -> None:
    """Prove that the bytes from `at` to `end` are a message of this type.

    Parameters
    ----------
    texts : where the texts of fields 1 to 3 are put, if given; a later occurrence replaces an earlier one.

    Raises
    ------
    WireError : they are not.
    """
    if depth > MOST_NESTED:
        raise WireError("messages are nested too deep")
    # The short forms (one byte of tag, of length, of number) are read here: calls are most of the time otherwise.
    while at < end:
        mark = data[at]
        at += 1
        if mark >= 0x80:
            mark, at = tag(data, at - 1, end)
        what = fields.get(mark)
        if what is None or what is PLAIN:
            at = (
                at + 1
                if mark & 7 == 0 and mark > 7 and at < end and data[at] < 0x80
                else skip(data, at, end, mark, depth)
            )
            continue
        if at < end and data[at] < 0x80:
            start = at + 1
            at = start + data[at]
            if at > end:
                raise WireError("a value reaches beyond its message")
        else:
            start, at = length(data, at, end)
        if what is TEXT:
            value = text(data, start, at)
            if texts is not None and mark <= 3 << 3 | 2:
                texts[(mark >> 3) - 1] = value
        elif isinstance(what, dict):
            check(data, start, at, what, depth + 1)


def _group(data: bytes, at: int, end: int, number: int, depth: int) -> int:
    if depth > MOST_NESTED:
        raise WireError("messages are nested too deep")
    while at < end:
        mark, at = tag(data, at, end)
        if mark == number << 3 | _END:
            return at
        at = skip(data, at, end, mark, depth)
    raise WireError("a group has no end")
