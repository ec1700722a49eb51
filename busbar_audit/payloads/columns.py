"""Many payloads of one message type read at once, column by column: the fast way beside the careful reader of `wire`.

All messages of one depth are walked together, a field of each at a time, by numpy. What is rare is not read here: a tag, number
or length in a long form, a field that is not known or occurs twice, a text that is not UTF-8. Payloads with such a thing are
named as doubtful, and the careful reader decides about each of them; it alone says that a payload is broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from busbar_audit.payloads.wire import PLAIN, TEXT, Fields

# Messages with more fields, or nested deeper, are left to the careful reader once so few are left to be walked.
_LONG, _FEW, _DEEP = 48, 64, 24
_UNKNOWN, _TEXT, _PLAIN, _NESTED = 0, 1, 2, 3
# Bytes of the longest number and length that are read here.
_NUMBER, _LENGTH = 5, 3
_NONE = np.zeros(0, dtype=np.int64)
# The first 0 to 8 bytes of a number whose lowest byte is the first.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)

_HIGH = np.uint64(0x8080808080808080)

Ints = Any


@dataclass(frozen=True)
class Layout:
    """A message type and all that are nested in it, as tables.

    kinds : type number and tag to unknown, text, plain or nested. below : to the nested type's number.
    kept : which fields are told, by (type, tag); of these a message may have one, but for those in `repeated`.
    """

    kinds: Ints
    below: Ints
    kept: Ints
    repeated: Ints
    numbers: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """Occurrences of one kept field, in no order: payload, its message, where it begins and stops, its number."""

    owner: Ints
    frame: Ints
    start: Ints
    stop: Ints
    value: Ints


@dataclass(frozen=True)
class Read:
    """What was read.

    data, buffer : all payloads, one after the other, as bytes and as numbers. bytes : of each payload.
    doubtful : payloads the careful reader has to look at.
    """

    data: bytes
    buffer: Ints
    bytes: Ints
    doubtful: Ints
    _found: Mapping[tuple[int, int], Column]

    def column(self, key: tuple[int, int]) -> Column:
        """A kept field by type number and tag."""
        return self._found.get(key) or Column(_NONE, _NONE, _NONE, _NONE, _NONE)

    def texts(self, column: Column) -> pa.StringArray:
        """One text a payload of a field that a payload has at most once; empty where it is not there, or doubtful."""
        start, size = (np.zeros(len(self.bytes), dtype=np.int64) for _ in range(2))
        start[column.owner], size[column.owner] = column.start, column.stop - column.start
        size[self.doubtful] = 0
        ends = np.cumsum(size)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - (ends - size), size)
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        return pa.StringArray.from_buffers(len(size), pa.py_buffer(offsets), pa.py_buffer(self.buffer[places]))

    def numbers(self, column: Column, bits: int) -> Ints:
        """One number a payload, 0 where it is not there; one that would be negative makes its payload doubtful."""
        found = np.zeros(len(self.bytes), dtype=np.int64)
        found[column.owner] = column.value
        self.doubtful[column.owner[column.value >> bits != 0]] = True
        return found

    def counted(self, owners: Ints) -> Ints:
        """How often each payload is among these."""
        return np.bincount(owners, minlength=len(self.bytes))

    def again(self, column: Column) -> Ints:
        """How many of a payload's texts an earlier one of the field has; empty ones do not count."""
        several = (self.counted(column.owner)[column.owner] > 1) & (column.stop > column.start)
        owner, start, stop = (part[several] for part in (column.owner, column.start, column.stop))
        if not len(owner):
            return self.counted(owner)
        size = stop - start
        # Texts that agree in length and at both ends are looked at whole.
        head = self._eight(start, stop)
        tail = self._eight(np.maximum(stop - 8, start), stop)
        order = np.lexsort((tail, head, size, owner))
        keys = [part[order] for part in (owner, size, head, tail)]
        alike = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
        near = np.flatnonzero(np.concatenate((alike, [False])) | np.concatenate(([False], alike)))
        seen: set[tuple[int, bytes]] = set()
        found = []
        for place in order[near].tolist():
            key = (int(owner[place]), self.data[start[place] : stop[place]])
            if key in seen:
                found.append(key[0])
            seen.add(key)
        return self.counted(np.array(found, dtype=np.int64))

    def strangers(self, named: Sequence[tuple[Column, Column]]) -> Ints:
        """How many messages of a payload have a text in one of the first columns that is not the payload's in the second."""
        owners, frames = [_NONE], [_NONE]
        for column, own in named:
            begin, end = (np.zeros(len(self.bytes), dtype=np.int64) for _ in range(2))
            begin[own.owner], end[own.owner] = own.start, own.stop
            differ = self._differ(column, begin[column.owner], end[column.owner]) & (column.stop > column.start)
            owners.append(column.owner[differ])
            frames.append(column.frame[differ])
        _, first = np.unique(np.concatenate(frames), return_index=True)
        return self.counted(np.concatenate(owners)[first])

    def _differ(self, column: Column, start: Ints, stop: Ints) -> Ints:
        size = column.stop - column.start
        differ = size != stop - start
        same = np.flatnonzero(~differ)
        step = 0
        while len(same):
            left = column.start[same] + step
            right = start[same] + step
            unequal = self._eight(left, column.stop[same]) != self._eight(right, stop[same])
            differ[same[unequal]] = True
            step += 8
            same = same[~unequal & (size[same] > step)]
        return differ

    def _eight(self, start: Ints, stop: Ints) -> Ints:
        """The bytes from `start`, eight at most and none from `stop` on, as one number each."""
        return _eights(self.buffer)[start] & _MASKS[np.clip(stop - start, 0, 8)]


def layout(root: Fields, kept: Sequence[tuple[Fields, int]], repeated: Sequence[tuple[Fields, int]] = ()) -> Layout:
    """Lay out a message type, given as for `wire.check`; the root's number is 0.

    Parameters
    ----------
    kept, repeated : type and tag of the fields that are told, of which a message may have one, or any number.
    """
    numbers: dict[int, int] = {}
    types: list[Fields] = []

    def number(fields: Fields) -> int:
        if id(fields) not in numbers:
            numbers[id(fields)] = len(types)
            types.append(fields)
            for what in fields.values():
                if isinstance(what, dict):
                    number(what)
        return numbers[id(fields)]

    number(root)
    kinds, below = (np.zeros((len(types), 128), dtype=np.int64) for _ in range(2))
    for at, fields in enumerate(types):
        for mark, what in fields.items():
            kinds[at, mark] = _TEXT if what is TEXT else _PLAIN if what is PLAIN else _NESTED
            if isinstance(what, dict):
                below[at, mark] = numbers[id(what)]
    told, many = (np.zeros((len(types), 128), dtype=bool) for _ in range(2))
    for fields, mark in (*kept, *repeated):
        told[numbers[id(fields)], mark] = True
    for fields, mark in repeated:
        many[numbers[id(fields)], mark] = True
    return Layout(kinds, below, told, many, numbers)


def read(payloads: pa.BinaryArray, shape: Layout) -> Read:
    """Read payloads of one type together; one that is not there is doubtful.

    Returns
    -------
    Read; what it tells of a doubtful payload is not to be used.
    """
    count = len(payloads)
    _, offsets, content = payloads.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[payloads.offset : payloads.offset + count + 1].astype(np.int64)
    sizes = np.diff(bounds)
    data = content[bounds[0] : bounds[-1]].to_pybytes() if content is not None and count else b""
    # Numbers are looked at a few bytes ahead: the last payload needs something behind it.
    buffer = np.frombuffer(data + bytes(16), dtype=np.uint8)
    ends = np.cumsum(sizes)
    doubtful = np.array(payloads.is_null())
    texts: list[tuple[Ints, Ints, Ints]] = []
    kept: list[tuple[Ints, ...]] = []
    owner = np.arange(count, dtype=np.int64)
    frames: tuple[Ints, ...] = (np.zeros(count, dtype=np.int64), owner, ends - sizes, ends)
    numbered = 0
    for depth in range(_DEEP + 1):
        if not len(frames[0]):
            break
        if depth == _DEEP:
            doubtful[frames[1]] = True
            break
        nested: list[tuple[Ints, ...]] = []
        for wave in _waves(buffer, frames, numbered, shape, doubtful):
            kind, owner, start, stop = wave[0], wave[2], wave[5], wave[6]
            is_text, is_below = kind == _TEXT, kind == _NESTED
            texts.append((owner[is_text], start[is_text], stop[is_text]))
            nested.append((shape.below[wave[1], wave[4]][is_below], owner[is_below], start[is_below], stop[is_below]))
            told = shape.kept[wave[1], wave[4]]
            kept.append(tuple(part[told] for part in wave[1:]))
        numbered += len(frames[0])
        frames = tuple(map(np.concatenate, zip(*nested, strict=True))) if nested else (_NONE,) * 4
    _spell(data, buffer, texts, doubtful)
    return Read(data, buffer, sizes, doubtful, _columns(kept, shape, doubtful))


def _waves(
    buffer: Ints, frames: tuple[Ints, ...], numbered: int, shape: Layout, doubtful: Ints
) -> Iterator[tuple[Ints, ...]]:
    """The n-th field of every message, wave by wave: kind, type, owner, message, tag, start, stop, number."""
    kind, owner, at, end = frames
    frame = np.arange(numbered, numbered + len(kind), dtype=np.int64)
    wave = 0
    going = at < end
    while True:
        if not going.all():
            kind, owner, at, end, frame = (part[going] for part in (kind, owner, at, end, frame))
        if not len(kind):
            return
        wave += 1
        if wave > _LONG and len(kind) < _FEW:
            doubtful[owner] = True
            return
        mark = buffer[at].astype(np.int64)
        short = mark < 128
        mark &= 127
        what = np.where(short, shape.kinds[kind, mark], _UNKNOWN)
        wire = mark & 7
        number, after, whole = _varint(buffer, at + 1, _NUMBER)
        sized = wire == 2
        start = np.where(sized, after, at + 1)
        fixed = at + 1 + np.where(wire == 1, 8, 4)
        stop = np.where(sized, after + number, np.where(wire == 0, after, fixed))
        # A length in a long form is as rare as a number in one.
        fits = (what != _UNKNOWN) & (stop <= end) & (whole | (wire == 1) | (wire == 5))
        fits &= ~sized | (after <= at + 1 + _LENGTH)
        if not fits.all():
            doubtful[owner[~fits]] = True
            kind, owner, end, frame, what, mark, start, stop, number = (
                part[fits] for part in (kind, owner, end, frame, what, mark, start, stop, number)
            )
        yield what, kind, owner, frame, mark, start, stop, number
        at = stop
        going = at < end


def _eights(buffer: Ints) -> Ints:
    """The eight bytes from each place on as a number, the first byte lowest."""
    return np.ndarray((len(buffer) - 8,), dtype="<u8", buffer=buffer, strides=(1,))


def _varint(buffer: Ints, at: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Numbers, the places after them, and which of them have at most so many bytes."""
    byte = buffer[at].astype(np.int64)
    value, after = byte & 127, at + 1
    longer = np.flatnonzero(byte >= 128)
    for place in range(1, most):
        if not len(longer):
            break
        byte = buffer[np.minimum(at[longer] + place, len(buffer) - 1)].astype(np.int64)
        value[longer] |= (byte & 127) << 7 * place
        after[longer] += 1
        longer = longer[byte >= 128]
    whole = np.ones(len(at), dtype=bool)
    whole[longer] = False
    return value, after, whole


def _spell(data: bytes, buffer: Ints, texts: list[tuple[Ints, Ints, Ints]], doubtful: Ints) -> None:
    """Texts that are not ASCII have to be UTF-8."""
    if not texts or data.isascii():
        return
    owner, start, stop = map(np.concatenate, zip(*texts, strict=True))
    # A high byte is in the first eight of a text, in the last eight, or in a block of eight between them.
    every = _eights(buffer)
    near = every[start] & _MASKS[np.minimum(stop - start, 8)]
    near |= every[np.maximum(stop - 8, start)] & _MASKS[np.minimum(stop - start, 8)]
    whole = buffer[: len(buffer) // 8 * 8].view("<u8") & _HIGH != 0
    before = np.concatenate(([0], np.cumsum(whole, dtype=np.int32)))
    first, last = (start + 7) >> 3, stop >> 3
    odd = np.flatnonzero((near & _HIGH != 0) | (before[np.maximum(first, last)] != before[first]))
    for who, a, b in zip(owner[odd].tolist(), start[odd].tolist(), stop[odd].tolist(), strict=True):
        try:
            data[a:b].decode()
        except UnicodeDecodeError:
            doubtful[who] = True


def _columns(kept: list[tuple[Ints, ...]], shape: Layout, doubtful: Ints) -> dict[tuple[int, int], Column]:
    if not kept:
        return {}
    kind, owner, frame, mark, start, stop, value = map(np.concatenate, zip(*kept, strict=True))
    key = kind * 128 + mark
    found = {}
    for each in np.flatnonzero(np.bincount(key)).tolist():
        places = np.flatnonzero(key == each)
        at = (each // 128, each % 128)
        if not shape.repeated[at]:
            of = np.sort(frame[places])
            twice = of[1:][of[1:] == of[:-1]]
            if len(twice):
                doubtful[owner[places[np.isin(frame[places], twice)]]] = True
        found[at] = Column(*(part[places] for part in (owner, frame, start, stop, value)))
    return found
