"""The relations ``source.task_payloads`` and ``source.config_payloads``: what the payloads of loaded rows say.

No URL, token or credential goes in; equal secrets are told by a keyed digest whose key is of this process and nowhere else.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from busbar_audit.payloads.a2a import WireError, read_config, read_task
from busbar_audit.payloads.urls import describe
from busbar_audit.warehouse import Warehouse

TASKS, CONFIGS = "a2a_tasks", "a2a_push_notification_configs"
TASK_PAYLOADS, CONFIG_PAYLOADS = "source.task_payloads", "source.config_payloads"
_BATCH = 20_000
_TEXT, _NUMBER, _TRUTH, _KEY = "VARCHAR", "BIGINT", "BOOLEAN", "UBIGINT"
_ARROW = {_TEXT: pa.string(), _NUMBER: pa.int64(), _TRUTH: pa.bool_(), _KEY: pa.uint64()}

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
    ("tenant_key", _KEY),
    ("token", _TRUTH),
    ("credentials", _TRUTH),
    ("auth_scheme", _TEXT),
    ("secret_key", _KEY),
    ("scheme", _TEXT),
    ("host", _TEXT),
    ("place", _TEXT),
    ("userinfo", _TRUTH),
    ("secret_query", _TRUTH),
)
_KNOWN_SCHEMES = frozenset({"basic", "bearer", "digest", "apikey", "hmac"})

Line = tuple[Any, ...]


def fill_payloads(warehouse: Warehouse) -> None:
    """Create both relations, with a row for each row of the tables that have been loaded."""
    _fill(warehouse, TASK_PAYLOADS, TASK_COLUMNS, _asked(warehouse, TASKS, "task_proto"), _task_line)
    configs = _asked(warehouse, CONFIGS, "config_proto", "task_id", "config_id", "url")
    _fill(warehouse, CONFIG_PAYLOADS, CONFIG_COLUMNS, configs, _Configs())


def _asked(warehouse: Warehouse, table: str, *columns: str) -> str | None:
    """The query over a loaded table, None where it, or a column, is not there."""
    found = warehouse.con.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'raw' AND table_name = ?", [table]
    ).fetchall()
    if not {(name,) for name in columns} <= set(found):
        return None
    return f"SELECT _row, {', '.join(columns)} FROM raw.{table}"  # noqa: S608 - names of ours


def _fill(
    warehouse: Warehouse,
    relation: str,
    columns: tuple[tuple[str, str], ...],
    query: str | None,
    line: Callable[..., Line],
) -> None:
    warehouse.fill(relation, columns, ())
    if query is None:
        return
    con = warehouse.con
    # A second connection reads while this one writes: a batch at a time is in memory, however many rows there are.
    with con.cursor() as reading:
        reader = reading.execute(query).to_arrow_reader(_BATCH)
        for batch in reader:
            told = _batch(columns, (line(*row) for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)))
            con.register("arriving", told)
            try:
                con.execute(f"INSERT INTO {relation} SELECT * FROM arriving")  # noqa: S608 - a name of ours
            finally:
                con.unregister("arriving")


def _batch(columns: tuple[tuple[str, str], ...], lines: Iterator[Line]) -> pa.RecordBatch:
    told = list(zip(*lines, strict=True)) or [()] * len(columns)
    arrays = [pa.array(values, _ARROW[kind]) for values, (_, kind) in zip(told, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in columns])


def _task_line(row: int, data: bytes | None) -> Line:
    if data is None:
        return row, None, False, "there is no payload", *[None] * 11
    try:
        told = read_task(data)
    except WireError as error:
        return row, len(data), False, str(error), *[None] * 11
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


class _Configs:
    """Lines of ``source.config_payloads``; one key for all digests of a run."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)

    def __call__(self, row: int, data: bytes | None, task_id: str, config_id: str, url: str) -> Line:
        seen = describe(url or "")
        place = (seen.scheme, seen.host, seen.place, seen.userinfo, seen.secret_query)
        if data is None:
            return row, None, False, "there is no payload", False, *[None] * 8, *place
        try:
            told = read_config(data)
        except WireError as error:
            return row, len(data), False, str(error), False, *[None] * 8, *place
        # An earlier draft had id 1, task 2 and endpoint 3: by today's numbers its endpoint stands where the task does.
        if told.url == "" and (told.tenant, told.id, told.task_id) == (config_id, task_id, url):
            return row, len(data), True, None, True, *[None] * 8, *place
        if told.url != url:
            # Delivery uses the payload's.
            seen = describe(told.url)
            place = (seen.scheme, seen.host, seen.place, seen.userinfo, seen.secret_query)
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
            self._digest(told.tenant),
            bool(told.token),
            bool(told.credentials),
            kind if kind in _KNOWN_SCHEMES or not kind else "other",
            self._digest(told.credentials or told.token),
            *place,
        )

    def _digest(self, value: str) -> int | None:
        if not value:
            return None
        return int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8, key=self._key).digest())
