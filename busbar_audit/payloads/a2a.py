"""Task and TaskPushNotificationConfig as the A2A C++ SDK stores them: the fields that stand in columns too, and counts.

Source: fact sheet section 1.3. Nothing that a user wrote is kept: of messages and artifacts ids are compared and counted.
"""

from __future__ import annotations

from typing import NamedTuple

from busbar_audit.payloads.wire import PLAIN, TEXT, Fields, WireError, check, length, skip, tag, text, varint

# number << 3 | 2 : a length-delimited field, number << 3 a number. Struct, Value and ListValue hold each other.
VALUE: Fields = {1 << 3: PLAIN, 2 << 3 | 1: PLAIN, 3 << 3 | 2: TEXT, 4 << 3: PLAIN}
STRUCT: Fields = {1 << 3 | 2: {1 << 3 | 2: TEXT, 2 << 3 | 2: VALUE}}
VALUE[5 << 3 | 2] = STRUCT
VALUE[6 << 3 | 2] = {1 << 3 | 2: VALUE}
_PART: Fields = {
    1 << 3 | 2: TEXT,
    2 << 3 | 2: PLAIN,
    3 << 3 | 2: TEXT,
    4 << 3 | 2: VALUE,
    5 << 3 | 2: STRUCT,
    6 << 3 | 2: TEXT,
    7 << 3 | 2: TEXT,
}
MESSAGE: Fields = {
    1 << 3 | 2: TEXT,
    2 << 3 | 2: TEXT,
    3 << 3 | 2: TEXT,
    4 << 3: PLAIN,
    5 << 3 | 2: _PART,
    6 << 3 | 2: STRUCT,
    7 << 3 | 2: TEXT,
    8 << 3 | 2: TEXT,
}
ARTIFACT: Fields = {
    1 << 3 | 2: TEXT,
    2 << 3 | 2: TEXT,
    3 << 3 | 2: TEXT,
    4 << 3 | 2: _PART,
    5 << 3 | 2: STRUCT,
    6 << 3 | 2: TEXT,
}
ID, CONTEXT, STATUS, ARTIFACTS, HISTORY, METADATA = (number << 3 | 2 for number in range(1, 7))
STATE = 1 << 3


class TaskPayload(NamedTuple):
    """What is told of a Task.

    state : the enum's number. has_timestamp, seconds, nanos : of the status. messages, artifacts : how many there are.
    repeated_messages, repeated_artifacts : how many of them have an id that an earlier one has.
    strangers : messages (that of the status too) that name another task or context than this one.
    """

    id: str
    context_id: str
    state: int
    has_timestamp: bool
    seconds: int
    nanos: int
    messages: int
    artifacts: int
    repeated_messages: int
    repeated_artifacts: int
    strangers: int


class ConfigPayload(NamedTuple):
    """The fields of a TaskPushNotificationConfig. token, scheme and credentials are secrets: they go nowhere from here."""

    tenant: str
    id: str
    task_id: str
    url: str
    token: str
    scheme: str
    credentials: str


def read_task(data: bytes) -> TaskPayload:
    """Read a Task.

    Raises
    ------
    WireError : the bytes are no Task; the official classes refuse them as well.
    """
    identity = context = ""
    state = seconds = nanos = 0
    stamped = False
    messages: list[tuple[str, str, str]] = []
    said: list[str] = ["", "", ""]
    artifacts: list[str] = []
    at, end = 0, len(data)
    while at < end:
        mark = data[at]
        at += 1
        if mark >= 0x80:
            mark, at = tag(data, at - 1, end)
        if mark not in _TASK_TAGS:
            at = skip(data, at, end, mark, 0)
            continue
        if at < end and data[at] < 0x80:
            start = at + 1
            at = start + data[at]
            if at > end:
                raise WireError("a value reaches beyond its message")
        else:
            start, at = length(data, at, end)
        if mark == ID:
            identity = text(data, start, at)
        elif mark == CONTEXT:
            context = text(data, start, at)
        elif mark == HISTORY:
            found = ["", "", ""]
            check(data, start, at, MESSAGE, 1, found)
            messages.append((found[0], found[1], found[2]))
        elif mark == ARTIFACTS:
            found = ["", "", ""]
            check(data, start, at, ARTIFACT, 1, found)
            artifacts.append(found[0])
        elif mark == METADATA:
            check(data, start, at, STRUCT, 1)
        else:
            state, stamped, seconds, nanos = _status(data, start, at, state, stamped, seconds, nanos, said)
    named = [message[0] for message in messages if message[0]]
    kept = [name for name in artifacts if name]
    strangers = sum(
        (task not in ("", identity)) or (place not in ("", context)) for _, place, task in (*messages, tuple(said))
    )
    return TaskPayload(
        identity,
        context,
        state,
        stamped,
        seconds,
        nanos,
        len(messages),
        len(artifacts),
        len(named) - len(set(named)),
        len(kept) - len(set(kept)),
        strangers,
    )


def read_config(data: bytes) -> ConfigPayload:
    """Read a TaskPushNotificationConfig.

    Raises
    ------
    WireError : the bytes are no such message; the official classes refuse them as well.
    """
    found = ["", "", "", "", ""]
    secret = ["", ""]
    at, end = 0, len(data)
    while at < end:
        mark = data[at]
        at += 1
        if mark >= 0x80:
            mark, at = tag(data, at - 1, end)
        number = mark >> 3
        if mark & 7 != 2 or not 1 <= number <= 6:
            at = skip(data, at, end, mark, 0)
            continue
        if at < end and data[at] < 0x80:
            start = at + 1
            at = start + data[at]
            if at > end:
                raise WireError("a value reaches beyond its message")
        else:
            start, at = length(data, at, end)
        if number < 6:
            found[number - 1] = text(data, start, at)
        else:
            _strings(data, start, at, secret)
    return ConfigPayload(*found, *secret)


_TASK_TAGS = frozenset({ID, CONTEXT, STATUS, ARTIFACTS, HISTORY, METADATA})


def _status(
    data: bytes, at: int, end: int, state: int, stamped: bool, seconds: int, nanos: int, said: list[str]
) -> tuple[int, bool, int, int]:
    while at < end:
        mark = data[at]
        at += 1
        if mark >= 0x80:
            mark, at = tag(data, at - 1, end)
        if mark == STATE:
            state, at = varint(data, at, end)
            state = _signed(state, 32)
        elif mark == CONTEXT:
            start, at = length(data, at, end)
            check(data, start, at, MESSAGE, 2, said)
        elif mark == STATUS:
            start, at = length(data, at, end)
            stamped = True
            seconds, nanos = _moment(data, start, at, seconds, nanos)
        else:
            at = skip(data, at, end, mark, 1)
    return state, stamped, seconds, nanos


def _moment(data: bytes, at: int, end: int, seconds: int, nanos: int) -> tuple[int, int]:
    while at < end:
        mark = data[at]
        at += 1
        if mark >= 0x80:
            mark, at = tag(data, at - 1, end)
        if mark == 8:
            seconds, at = varint(data, at, end)
            seconds = _signed(seconds, 64)
        elif mark == 16:
            nanos, at = varint(data, at, end)
            nanos = _signed(nanos, 32)
        else:
            at = skip(data, at, end, mark, 2)
    return seconds, nanos


def _strings(data: bytes, at: int, end: int, found: list[str]) -> None:
    while at < end:
        mark = data[at]
        at += 1
        if mark >= 0x80:
            mark, at = tag(data, at - 1, end)
        if mark in (10, 18):
            start, at = length(data, at, end)
            found[(mark >> 3) - 1] = text(data, start, at)
        else:
            at = skip(data, at, end, mark, 1)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


__all__ = ["ConfigPayload", "TaskPayload", "WireError", "read_config", "read_task"]
