"""Tasks and push configurations of the A2A C++ SDK, many at once: what `a2a` tells of one, by way of `columns`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from busbar_audit.payloads import a2a, columns
from busbar_audit.payloads.columns import Column
from busbar_audit.payloads.wire import PLAIN, TEXT, Fields

_TIMESTAMP: Fields = {1 << 3: PLAIN, 2 << 3: PLAIN}
# A type of its own: the message of a status is not one of the history.
_SAID: Fields = dict(a2a.MESSAGE)
_STATUS: Fields = {a2a.STATE: PLAIN, 2 << 3 | 2: _SAID, 3 << 3 | 2: _TIMESTAMP}
_TASK: Fields = {
    a2a.ID: TEXT,
    a2a.CONTEXT: TEXT,
    a2a.STATUS: _STATUS,
    a2a.ARTIFACTS: a2a.ARTIFACT,
    a2a.HISTORY: a2a.MESSAGE,
    a2a.METADATA: a2a.STRUCT,
}
_AUTHENTICATION: Fields = {1 << 3 | 2: TEXT, 2 << 3 | 2: TEXT}
_CONFIG: Fields = {**{number << 3 | 2: TEXT for number in range(1, 6)}, 6 << 3 | 2: _AUTHENTICATION}

_FIRST, _SECOND, _THIRD = (number << 3 | 2 for number in range(1, 4))
_TASKS = columns.layout(
    _TASK,
    [
        *((_TASK, mark) for mark in (a2a.ID, a2a.CONTEXT, a2a.STATUS)),
        *((_STATUS, mark) for mark in _STATUS),
        *((_TIMESTAMP, mark) for mark in _TIMESTAMP),
        *((kind, mark) for kind in (_SAID, a2a.MESSAGE) for mark in (_FIRST, _SECOND, _THIRD)),
        (a2a.ARTIFACT, _FIRST),
    ],
    [(_TASK, a2a.HISTORY), (_TASK, a2a.ARTIFACTS)],
)
_CONFIGS = columns.layout(
    _CONFIG, [*((_CONFIG, mark) for mark in _CONFIG), *((_AUTHENTICATION, mark) for mark in _AUTHENTICATION)]
)


class Told(NamedTuple):
    """What is told of many payloads.

    values : an array a field, in the order of `TaskPayload` or `ConfigPayload`. doubtful : payloads of which nothing is told
    so, as the reader of one payload has to decide about them.
    """

    values: list[Any]
    doubtful: Any

    def rows(self) -> Iterator[tuple[Any, ...] | None]:
        """The same payload by payload; None for a doubtful one."""
        values = [pa.array(part).to_pylist() for part in self.values]
        for each, doubtful in zip(zip(*values, strict=True), self.doubtful.tolist(), strict=True):
            yield None if doubtful else each


def read_tasks(payloads: pa.BinaryArray) -> Told:
    """Read many Tasks."""
    read = columns.read(payloads, _TASKS)

    def column(kind: Fields, mark: int) -> Column:
        return read.column((_TASKS.numbers[id(kind)], mark))

    own, place = column(_TASK, a2a.ID), column(_TASK, a2a.CONTEXT)
    stamped = np.zeros(len(payloads), dtype=bool)
    stamped[column(_STATUS, _THIRD).owner] = True
    pairs = [
        (column(kind, mark), of) for kind in (_SAID, a2a.MESSAGE) for mark, of in ((_SECOND, place), (_THIRD, own))
    ]
    values = [
        read.texts(own),
        read.texts(place),
        read.numbers(column(_STATUS, a2a.STATE), 31),
        stamped,
        read.numbers(column(_TIMESTAMP, 1 << 3), 63),
        read.numbers(column(_TIMESTAMP, 2 << 3), 31),
        read.counted(column(_TASK, a2a.HISTORY).owner),
        read.counted(column(_TASK, a2a.ARTIFACTS).owner),
        read.again(column(a2a.MESSAGE, _FIRST)),
        read.again(column(a2a.ARTIFACT, _FIRST)),
        read.strangers(pairs),
    ]
    return Told(values, read.doubtful)


def read_configs(payloads: pa.BinaryArray) -> Told:
    """Read many TaskPushNotificationConfigs."""
    read = columns.read(payloads, _CONFIGS)
    own, secret = (_CONFIGS.numbers[id(kind)] for kind in (_CONFIG, _AUTHENTICATION))
    keys = [*((own, number << 3 | 2) for number in range(1, 6)), (secret, _FIRST), (secret, _SECOND)]
    return Told([read.texts(read.column(key)) for key in keys], read.doubtful)
