"""The relations ``source.task_payloads`` and ``source.config_payloads``: what the payloads of loaded rows say.

No URL, token or credential goes in; equal secrets are told by a keyed digest whose key is of this process and nowhere else.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

from busbar_audit.payloads.a2a import WireError, read_config, read_task
from busbar_audit.payloads.urls import describe

_BATCH = 5_000
# Of fewer rows the fast reader brings less than importing numpy costs.
_MANY = 2_000
# Of payloads wider than this fewer rows are taken at a time.
_AT_ONCE = 32 << 20
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
    for rows in batches(con, "SELECT _row, task_proto FROM {}.raw.a2a_tasks", "task_proto"):
        for (row, data), told in zip(rows, _told(rows, read_task, "read_tasks"), strict=True):
            if isinstance(told, str):
                yield row, None if data is None else len(data), False, told, *[None] * 11
            else:
                yield row, len(data), True, None, *told


def config_lines(con: Any) -> Iterator[Line]:
    """Rows of ``source.config_payloads`` in the columns of `CONFIG_COLUMNS`."""
    key = secrets.token_bytes(16)
    query = "SELECT _row, config_proto, task_id, config_id, url FROM {}.raw.a2a_push_notification_configs"
    for rows in batches(con, query, "config_proto"):
        for row, told in zip(rows, _told(rows, read_config, "read_configs"), strict=True):
            yield _config_line(key, told, *row)


def batches(con: Any, query: str, wide: str = "") -> Iterator[list[Line]]:
    """Rows of a query over one loaded table, some thousand of them in memory at a time.

    Parameters
    ----------
    query : ends with the table; ``{}`` in it is the database. wide : a column of bytes that may be large.
    """
    # A second connection reads while the first one writes: a batch at a time is in memory, however many rows there are.
    ((database,),) = con.execute("SELECT current_database()").fetchall()
    asked = query.format('"' + database.replace('"', '""') + '"')
    with con.cursor() as reading:
        most = _BATCH
        if wide:
            sized = f"SELECT coalesce(max(octet_length({wide})), 0) {asked[asked.index(' FROM ') :]}"  # noqa: S608 - our columns
            ((widest,),) = reading.execute(sized).fetchall()
            most = max(1, min(_BATCH, _AT_ONCE // (widest + 1)))
        reading.execute(asked)
        while rows := reading.fetchmany(most):
            yield rows


def _told(rows: Sequence[Line], read: Callable[[bytes], Line], fast: str) -> Iterator[Line | str]:
    """What a reader tells of the payload in the second column of each row, or why it tells nothing."""
    found: Iterator[Line | None] = repeat(None, len(rows))
    if len(rows) >= _MANY:
        # Imported here: numpy costs a tenth of a second that a small store need not pay.
        from busbar_audit.payloads import a2a_columns

        found = getattr(a2a_columns, fast)([row[1] or b"" for row in rows])
    for row, told in zip(rows, found, strict=True):
        data = row[1]
        if data is None:
            yield _NOTHING
        elif told is not None:
            yield told
        else:
            try:
                yield read(data)
            except WireError as error:
                yield str(error)


def _config_line(
    key: bytes, told: Line | str, row: int, data: bytes | None, task_id: str, config_id: str, url: str
) -> Line:
    if isinstance(told, str):
        return row, None if data is None else len(data), False, told, False, *[None] * 8, *_callback(url)
    tenant, own, task, place, token, scheme, credentials = told
    size = len(data or b"")
    # An earlier draft had id 1, task 2 and endpoint 3: by today's numbers its endpoint stands where the task does.
    if place == "" and (tenant, own, task) == (config_id, task_id, url):
        return row, size, True, None, True, *[None] * 8, *_callback(url)
    kind = scheme.strip().lower()
    return (
        row,
        size,
        True,
        None,
        False,
        task,
        own,
        place != url,
        _digest(key, tenant),
        bool(token),
        bool(credentials),
        kind if kind in _KNOWN_SCHEMES or not kind else "other",
        _digest(key, credentials or token),
        # Delivery uses the payload's.
        *_callback(place),
    )


def _callback(url: str | None) -> Line:
    return describe(url or "")


def _digest(key: bytes, value: str) -> int | None:
    """A number that is equal for equal values of one run, and tells nothing else."""
    if not value:
        return None
    return int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8, key=key).digest()) >> 1
