"""What the JSON of an A2A Python SDK's rows says: state, dialect and time of a task; form and callback of a configuration.

Source: fact sheet section 8.1. An encrypted configuration (a Fernet token) is recognised and never decrypted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from busbar_audit.payloads.relations import Line, batches
from busbar_audit.payloads.urls import describe

_TEXT, _NUMBER, _TRUTH = "VARCHAR", "BIGINT", "BOOLEAN"
TASK_COLUMNS = (
    ("_row", _NUMBER),
    ("ok", _TRUTH),
    ("reason", _TEXT),
    ("state", _TEXT),
    ("dialect", _TEXT),
    ("status_us", _NUMBER),
)
CONFIG_COLUMNS = (
    ("_row", _NUMBER),
    ("form", _TEXT),
    ("ids_differ", _TRUTH),
    ("token", _TRUTH),
    ("credentials", _TRUTH),
    ("scheme", _TEXT),
    ("host", _TEXT),
    ("reach", _TEXT),
    ("userinfo", _TRUTH),
    ("secret_query", _TRUTH),
)
_WORDS = (
    "unspecified",
    "submitted",
    "working",
    "completed",
    "failed",
    "canceled",
    "input-required",
    "rejected",
    "auth-required",
)
_STATES = {
    "1.0": {f"TASK_STATE_{word.upper().replace('-', '_')}": word for word in _WORDS},
    "0.3": {**{word: word for word in _WORDS[1:]}, "unknown": "unspecified"},
}
_FERNET = re.compile(rb"gAAAAA[A-Za-z0-9_-]{50,}={0,2}")
_FRACTION = re.compile(r"(\.\d{6})\d+")


def task_lines(con: Any) -> Iterator[Line]:
    """Rows of ``source.python_tasks`` in the columns of `TASK_COLUMNS`."""
    for rows in batches(con, "SELECT _row, status FROM {}.raw.tasks"):
        for row, status in rows:
            yield (row, *_status(status))


def config_lines(con: Any) -> Iterator[Line]:
    """Rows of ``source.python_configs`` in the columns of `CONFIG_COLUMNS`."""
    query = "SELECT _row, config_data, task_id, config_id FROM {}.raw.push_notification_configs"
    for rows in batches(con, query, "config_data"):
        for row, data, task_id, config_id in rows:
            yield (row, *_config(data or b"", task_id, config_id))


def _status(text: str | None) -> tuple[Any, ...]:
    told = _object(text or "")
    if told is None:
        return False, "the status is no JSON object", None, None, None
    # A state that is not told is the unspecified one: JSON of protobuf leaves defaults out.
    if (state := told.get("state")) is None:
        return True, None, "unspecified", None, _moment(told.get("timestamp"))
    if not isinstance(state, str):
        return False, "the state is no text", None, None, None
    for dialect, states in _STATES.items():
        if state in states:
            return True, None, states[state], dialect, _moment(told.get("timestamp"))
    return True, None, "unknown", None, _moment(told.get("timestamp"))


def _config(data: bytes, task_id: str, config_id: str) -> tuple[Any, ...]:
    if _FERNET.fullmatch(data.strip()):
        return "fernet", *[None] * 8
    try:
        told = _object(data.decode())
    except UnicodeDecodeError:
        told = None
    if told is None:
        return "unreadable", *[None] * 8
    seen = describe(str(told.get("url") or ""))
    secret = told.get("authentication")
    differ = (told.get("taskId", task_id), told.get("id") or config_id) != (task_id, config_id)
    return (
        "json",
        differ,
        bool(told.get("token")),
        isinstance(secret, dict) and bool(secret.get("credentials")),
        seen.scheme,
        seen.host,
        seen.reach,
        seen.userinfo,
        seen.secret_query,
    )


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _moment(value: object) -> int | None:
    """Microseconds since 1970 of an ISO time; without a zone it is UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(_FRACTION.sub(r"\1", value))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
