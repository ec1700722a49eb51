"""The relations ``source.task_payloads`` and ``source.config_payloads``: what the payloads of loaded rows say.

No URL, token or credential goes in; equal secrets are told by a keyed digest whose key is of this process and nowhere else.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from typing import Any

from busbar_audit.payloads.a2a import WireError, read_config, read_task
from busbar_audit.payloads.urls import describe

_BATCH = 5_000
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


def task_lines(con: Any) -> Iterator[Line]:
    """Rows of ``source.task_payloads`` in the columns of `TASK_COLUMNS`, from ``raw.a2a_tasks`` of a DuckDB connection."""
    for row, data in batches(con, "SELECT _row, task_proto FROM {}.raw.a2a_tasks"):
        yield _task_line(row, data)


def config_lines(con: Any) -> Iterator[Line]:
    """Rows of ``source.config_payloads`` in the columns of `CONFIG_COLUMNS`."""
    key = secrets.token_bytes(16)
    query = "SELECT _row, config_proto, task_id, config_id, url FROM {}.raw.a2a_push_notification_configs"
    for row, data, task_id, config_id, url in batches(con, query):
        yield _config_line(key, row, data, task_id, config_id, url)


def batches(con: Any, query: str) -> Iterator[Line]:
    """Rows of a query over loaded tables, some thousand of them in memory at a time; ``{}`` in it is the database."""
    # A second connection reads while the first one writes: a batch at a time is in memory, however many rows there are.
    ((database,),) = con.execute("SELECT current_database()").fetchall()
    with con.cursor() as reading:
        reading.execute(query.format('"' + database.replace('"', '""') + '"'))
        while rows := reading.fetchmany(_BATCH):
            yield from rows


def _task_line(row: int, data: bytes | None) -> Line:
    try:
        told = read_task(data) if data is not None else None
    except WireError as error:
        return row, len(data or b""), False, str(error), *[None] * 11
    if data is None or told is None:
        return row, None, False, _NOTHING, *[None] * 11
    return (
        row,
        len(data),
        True,
        None,
        told.id,
        told.context_id,
        told.state,
        told.has_timestamp,
        told.seconds,
        told.nanos,
        told.messages,
        told.artifacts,
        told.repeated_messages,
        told.repeated_artifacts,
        told.strangers,
    )


def _config_line(key: bytes, row: int, data: bytes | None, task_id: str, config_id: str, url: str) -> Line:
    try:
        told = read_config(data) if data is not None else None
    except WireError as error:
        return row, len(data or b""), False, str(error), False, *[None] * 8, *_callback(url)
    if data is None or told is None:
        return row, None, False, _NOTHING, False, *[None] * 8, *_callback(url)
    # An earlier draft had id 1, task 2 and endpoint 3: by today's numbers its endpoint stands where the task does.
    if told.url == "" and (told.tenant, told.id, told.task_id) == (config_id, task_id, url):
        return row, len(data), True, None, True, *[None] * 8, *_callback(url)
    kind = told.scheme.strip().lower()
    return (
        row,
        len(data),
        True,
        None,
        False,
        told.task_id,
        told.id,
        told.url != url,
        _digest(key, told.tenant),
        bool(told.token),
        bool(told.credentials),
        kind if kind in _KNOWN_SCHEMES or not kind else "other",
        _digest(key, told.credentials or told.token),
        # Delivery uses the payload's.
        *_callback(told.url),
    )


def _callback(url: str | None) -> Line:
    seen = describe(url or "")
    return seen.scheme, seen.host, seen.reach, seen.userinfo, seen.secret_query


def _digest(key: bytes, value: str) -> int | None:
    """A number that is equal for equal values of one run, and tells nothing else."""
    if not value:
        return None
    return int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8, key=key).digest()) >> 1
