"""Rows of the relations over payloads, one payload at a time by the careful reader: what is told of each, and what is not.

No URL, token or credential goes in; equal secrets are told by a number that is made with a key of this run.
"""

from __future__ import annotations

from typing import Any

from busbar_audit.payloads.a2a import WireError, read_config, read_task
from busbar_audit.payloads.urls import describe

_TEXT, _NUMBER, _TRUTH = "VARCHAR", "BIGINT", "BOOLEAN"
_HEAD = (("_row", _NUMBER), ("bytes", _NUMBER), ("ok", _TRUTH), ("reason", _TEXT))
TASK_COLUMNS = (
    *_HEAD,
    ("payload_id", _TEXT),
    ("payload_context_id", _TEXT),
    ("payload_state", _NUMBER),
    ("payload_has_timestamp", _TRUTH),
    ("payload_seconds", _NUMBER),
    ("payload_nanos", _NUMBER),
    ("messages", _NUMBER),
    ("artifacts", _NUMBER),
    ("repeated_messages", _NUMBER),
    ("repeated_artifacts", _NUMBER),
    ("strangers", _NUMBER),
)
CONFIG_COLUMNS = (
    *_HEAD,
    ("old_numbering", _TRUTH),
    ("payload_task_id", _TEXT),
    ("payload_config_id", _TEXT),
    ("url_differs", _TRUTH),
    ("tenant_key", _NUMBER),
    ("token", _TRUTH),
    ("credentials", _TRUTH),
    ("auth_scheme", _TEXT),
    ("secret_key", _NUMBER),
    ("scheme", _TEXT),
    ("host", _TEXT),
    ("reach", _TEXT),
    ("userinfo", _TRUTH),
    ("secret_query", _TRUTH),
)
_KNOWN_SCHEMES = frozenset({"basic", "bearer", "digest", "apikey", "hmac"})
_NOTHING = "there is no payload"

Line = tuple[Any, ...]


def task_line(row: int, data: bytes | None) -> Line:
    """A row in the columns of `TASK_COLUMNS`."""
    if data is None:
        return row, None, False, _NOTHING, *[None] * 11
    try:
        return row, len(data), True, None, *read_task(data)
    except WireError as error:
        return row, len(data), False, str(error), *[None] * 11


def config_line(key: bytes, row: int, data: bytes | None, task_id: str, config_id: str, url: str) -> Line:
    """A row in the columns of `CONFIG_COLUMNS`; `key` is that of the run."""
    reason, size = _NOTHING, None if data is None else len(data)
    try:
        told = read_config(data) if data is not None else None
    except WireError as error:
        told, reason = None, str(error)
    if told is None:
        return row, size, False, reason, False, *[None] * 8, *describe(url or "")
    # An earlier draft had id 1, task 2 and endpoint 3: by today's numbers its endpoint stands where the task does.
    if told.url == "" and (told.tenant, told.id, told.task_id) == (config_id, task_id, url):
        return row, size, True, None, True, *[None] * 8, *describe(url or "")
    return (
        row,
        size,
        True,
        None,
        False,
        told.task_id,
        told.id,
        told.url != url,
        mark(key, told.tenant),
        bool(told.token),
        bool(told.credentials),
        kind_of(told.scheme),
        mark(key, told.credentials or told.token),
        # Delivery uses the payload's.
        *describe(told.url),
    )


def kind_of(scheme: str) -> str:
    """What an authentication scheme is called: a word of any other kind at this place could be a secret as well."""
    kind = scheme.strip().lower()
    return kind if kind in _KNOWN_SCHEMES or not kind else "other"


def mark(key: bytes, value: str) -> int | None:
    """A number that is equal for equal values of one run, and tells nothing else."""
    return hash((key, value)) if value else None
