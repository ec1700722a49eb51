"""The relations ``source.task_payloads`` and ``source.config_payloads``: what the payloads of loaded rows say.

No URL, token or credential goes in; equal secrets are told by a number that is made with a key of this run.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

from busbar_audit.payloads.a2a import WireError, read_config, read_task
from busbar_audit.payloads.batch import Batch
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


def task_lines(con: Any) -> Iterator[Line | Batch]:
    """Rows of ``source.task_payloads`` in the columns of `TASK_COLUMNS`, from ``raw.a2a_tasks`` of a DuckDB connection."""
    for rows in batches(con, "SELECT _row, task_proto FROM {}.raw.a2a_tasks", "task_proto"):
        left: Sequence[Line] = rows
        if len(rows) >= _MANY:
            # Imported here: numpy costs a tenth of a second that a small store need not pay.
            from busbar_audit.payloads.a2a_columns import read_tasks

            told = read_tasks([data or b"" for _, data in rows])
            left, sure = _parted(rows, [row[1] is None or no for row, no in zip(rows, told.doubtful, strict=True)])
            yield Batch([*_head(rows), *told.values]).chosen(sure)
        yield from (_task_line(*row) for row in left)


def config_lines(con: Any) -> Iterator[Line | Batch]:
    """Rows of ``source.config_payloads`` in the columns of `CONFIG_COLUMNS`."""
    key = secrets.token_bytes(16)
    query = "SELECT _row, config_proto, task_id, config_id, url FROM {}.raw.a2a_push_notification_configs"
    for rows in batches(con, query, "config_proto"):
        left: Sequence[Line] = rows
        if len(rows) >= _MANY:
            from busbar_audit.payloads.a2a_columns import read_configs

            told = read_configs([row[1] or b"" for row in rows])
            # One without a URL may be of another numbering.
            no = (
                row[1] is None or no or not url
                for row, no, url in zip(rows, told.doubtful, told.values[3], strict=True)
            )
            left, sure = _parted(rows, list(no))
            yield _config_batch(key, rows, told.values).chosen(sure)
        yield from (_config_line(key, *row) for row in left)


def _parted(rows: Sequence[Line], doubtful: Sequence[bool]) -> tuple[list[Line], list[bool] | None]:
    """Rows that are doubtful, and which of all are not; None where all are not."""
    if not any(doubtful):
        return [], None
    return list(compress(rows, doubtful)), [not each for each in doubtful]


def _head(rows: Sequence[Line]) -> tuple[list[Any], ...]:
    sizes = [len(row[1] or b"") for row in rows]
    return [row[0] for row in rows], sizes, [True] * len(rows), [None] * len(rows)


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


def _task_line(row: int, data: bytes | None) -> Line:
    if data is None:
        return row, None, False, _NOTHING, *[None] * 11
    try:
        return row, len(data), True, None, *read_task(data)
    except WireError as error:
        return row, len(data), False, str(error), *[None] * 11


def _config_line(key: bytes, row: int, data: bytes | None, task_id: str, config_id: str, url: str) -> Line:
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
        _mark(key, told.tenant),
        bool(told.token),
        bool(told.credentials),
        _kind(told.scheme),
        _mark(key, told.credentials or told.token),
        # Delivery uses the payload's.
        *describe(told.url),
    )


def _config_batch(key: bytes, rows: Sequence[Line], told: Sequence[list[str]]) -> Batch:
    """The same of many rows, none of them of another numbering."""
    tenants, ids, tasks, urls, tokens, schemes, credentials = told
    kinds = {scheme: _kind(scheme) for scheme in set(schemes)}
    callbacks = zip(*map(describe, urls), strict=True)
    return Batch(
        [
            *_head(rows),
            [False] * len(rows),
            tasks,
            ids,
            [url != row[4] for url, row in zip(urls, rows, strict=True)],
            [_mark(key, tenant) for tenant in tenants],
            list(map(bool, tokens)),
            list(map(bool, credentials)),
            [kinds[scheme] for scheme in schemes],
            [_mark(key, secret or token) for secret, token in zip(credentials, tokens, strict=True)],
            *map(list, callbacks),
        ]
    )


def _kind(scheme: str) -> str:
    kind = scheme.strip().lower()
    return kind if kind in _KNOWN_SCHEMES or not kind else "other"


def _mark(key: bytes, value: str) -> int | None:
    """A number that is equal for equal values of one run, and tells nothing else."""
    return hash((key, value)) if value else None
