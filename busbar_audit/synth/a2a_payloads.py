"""Payloads of the A2A C++ SDK, written by our own small writer: enough of protobuf's binary form for synthetic stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def number(field: int, value: int) -> bytes:
    """A whole number as a field; nothing where it is zero, as proto3 has it."""
    return _varint(field << 3) + _varint(value & 0xFFFFFFFFFFFFFFFF) if value else b""


def text(field: int, value: str | bytes) -> bytes:
    """A text, or bytes, as a field; nothing where it is empty."""
    return message(field, value.encode() if isinstance(value, str) else value) if value else b""


def message(field: int, value: bytes) -> bytes:
    """A message as a field, an empty one too."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def said(message_id: str, words: str, *, task_id: str = "", context_id: str = "", role: int = 1) -> bytes:
    """A Message of one part."""
    part = message(5, text(1, words))
    return text(1, message_id) + text(2, context_id) + text(3, task_id) + number(4, role) + part


def artifact(artifact_id: str, words: str) -> bytes:
    """An Artifact of one part."""
    return text(1, artifact_id) + text(2, "answer") + message(4, text(1, words) + text(7, "text/plain"))


def task(
    task_id: str,
    context_id: str,
    state: int,
    moment: tuple[int, int] | None = None,
    *,
    status_message: bytes = b"",
    artifacts: Iterable[bytes] = (),
    history: Iterable[bytes] = (),
    metadata: Sequence[tuple[str, str]] = (),
) -> bytes:
    """A Task; `moment` is seconds and nanoseconds of its status, None where it has no timestamp."""
    status = number(1, state) + (message(2, status_message) if status_message else b"")
    if moment is not None:
        status += message(3, number(1, moment[0]) + number(2, moment[1]))
    struct = b"".join(message(1, text(1, key) + message(2, text(3, value))) for key, value in metadata)
    return b"".join(
        (
            text(1, task_id),
            text(2, context_id),
            message(3, status),
            *(message(4, each) for each in artifacts),
            *(message(5, each) for each in history),
            message(6, struct) if struct else b"",
        )
    )


def config(
    task_id: str,
    config_id: str,
    url: str,
    *,
    token: str = "",
    scheme: str = "",
    credentials: str = "",
    tenant: str = "",
) -> bytes:
    """A TaskPushNotificationConfig."""
    authentication = text(1, scheme) + text(2, credentials)
    return b"".join(
        (
            text(1, tenant),
            text(2, config_id),
            text(3, task_id),
            text(4, url),
            text(5, token),
            message(6, authentication) if authentication else b"",
        )
    )


def old_config(task_id: str, config_id: str, url: str) -> bytes:
    """The same in the numbering of an earlier draft: id 1, task 2, endpoint 3."""
    return text(1, config_id) + text(2, task_id) + text(3, url)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
