"""What the JSON of rows of the A2A SDKs in Python, JavaScript and Java says: a task's state, dialect and time; a callback.

Source: fact sheet sections 8.1 to 8.3. An encrypted configuration (a Fernet token) is recognised and never decrypted.
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
JAVA_TASK_COLUMNS = (
    ("_row", _NUMBER),
    ("ok", _TRUTH),
    ("reason", _TEXT),
    ("payload_id", _TEXT),
    ("payload_context_id", _TEXT),
    ("payload_state", _TEXT),
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


def python_tasks(con: Any) -> Iterator[Line]:
    """Rows of ``source.python_tasks`` in the columns of `TASK_COLUMNS`."""
    for rows in batches(con, "SELECT _row, status FROM {}.raw.tasks"):
        yield from ((row, *_status(status)) for row, status in rows)


def python_configs(con: Any) -> Iterator[Line]:
    """Rows of ``source.python_configs`` in the columns of `CONFIG_COLUMNS`."""
    query = "SELECT _row, config_data, task_id, config_id FROM {}.raw.push_notification_configs"
    for rows in batches(con, query):
        yield from ((row, *_config(data or b"", task_id, config_id)) for row, data, task_id, config_id in rows)


def js_tasks(con: Any) -> Iterator[Line]:
    """Rows of ``source.js_tasks`` in the columns of `TASK_COLUMNS`; a task may have no status at all."""
    for rows in batches(con, "SELECT _row, status FROM {}.raw.tasks"):
        yield from (
            (row, *(_status(status) if status else (True, None, None, None, None))) for row, status in rows
        )  # fmt: skip


def js_configs(con: Any) -> Iterator[Line]:
    """Rows of ``source.js_configs`` in the columns of `CONFIG_COLUMNS`; what stands in columns is not repeated in them."""
    query = "SELECT _row, config_data, task_id, config_id FROM {}.raw.push_notification_configs"
    for rows in batches(con, query):
        yield from ((row, *_config((data or "{}").encode(), task, config)) for row, data, task, config in rows)


def java_tasks(con: Any) -> Iterator[Line]:
    """Rows of ``source.java_tasks`` in the columns of `JAVA_TASK_COLUMNS`."""
    for rows in batches(con, "SELECT _row, task_data FROM {}.raw.a2a_tasks"):
        for row, data in rows:
            told = _object(data or "")
            status = told.get("status") if told else None
            if told is None or not isinstance(status, dict):
                yield row, False, "no JSON object with a status", *[None] * 4
            else:
                state = _word(status.get("state"))
                yield row, True, None, told.get("id"), told.get("contextId"), state, _moment(status.get("timestamp"))


def java_configs(con: Any) -> Iterator[Line]:
    """Rows of ``source.java_configs`` in the columns of `CONFIG_COLUMNS`."""
    query = "SELECT _row, task_data, task_id, config_id FROM {}.raw.a2a_push_notification_configs"
    for rows in batches(con, query):
        yield from ((row, *_config((data or "").encode(), task, config)) for row, data, task, config in rows)


def _word(state: object) -> str:
    """A state in either dialect, by Java's name or by its number in neither, as the word of the older dialect."""
    word = str(state or "unspecified").removeprefix("TASK_STATE_").lower().replace("_", "-")
    return word if word in _WORDS else "unspecified" if word in ("unknown", "unrecognized") else "unknown"


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
