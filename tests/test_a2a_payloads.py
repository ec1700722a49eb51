"""Payloads of A2A stores: our reader against the official generated classes, on whole and on damaged bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from busbar_audit.payloads.a2a import ConfigPayload, TaskPayload, read_config, read_task
from busbar_audit.payloads.wire import WireError
from busbar_audit.synth import a2a_payloads as written

TEXT = st.text(max_size=12)
SHORT = st.sampled_from(["", "a", "b", "é"])


@pytest.fixture(scope="module")
def official() -> Any:
    """The generated classes; the test dependency a2a-sdk carries them."""
    return pytest.importorskip("a2a.types.a2a_pb2", reason="needs a2a-sdk (extra test)")


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    return written.said(
        draw(SHORT), draw(TEXT), task_id=draw(SHORT), context_id=draw(SHORT), role=draw(st.integers(0, 2))
    )


@st.composite
def tasks(draw: st.DrawFn) -> bytes:
    moment = st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
    return written.task(
        draw(SHORT),
        draw(SHORT),
        draw(st.integers(-(2**31), 2**31 - 1)),
        draw(st.none() | moment),
        status_message=draw(st.just(b"") | messages()),
        artifacts=[written.artifact(name, "x") for name in draw(st.lists(SHORT, max_size=3))],
        history=draw(st.lists(messages(), max_size=3)),
        metadata=[(name, name) for name in draw(st.lists(TEXT, max_size=2))],
    )


@st.composite
def configs(draw: st.DrawFn) -> bytes:
    said = {name: draw(TEXT) for name in ("token", "scheme", "credentials", "tenant")}
    return written.config(draw(TEXT), draw(TEXT), draw(TEXT), **said)


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Two payloads in one (fields occur again), with a few bytes replaced, taken out or put in, or cut short."""
    data = bytearray(draw(whole) + draw(st.just(b"") | whole))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=3))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def _theirs_task(official: Any, data: bytes) -> TaskPayload | None:
    task = official.Task()
    try:
        task.ParseFromString(data)
    except Exception:
        return None
    spoken = [*task.history, *([task.status.message] if task.status.HasField("message") else [])]
    named, kept = (
        [m.message_id for m in task.history if m.message_id],
        [a.artifact_id for a in task.artifacts if a.artifact_id],
    )
    return TaskPayload(
        task.id, task.context_id, task.status.state, task.status.HasField("timestamp"), task.status.timestamp.seconds,
        task.status.timestamp.nanos, len(task.history), len(task.artifacts), len(named) - len(set(named)),
        len(kept) - len(set(kept)),
        sum(m.task_id not in ("", task.id) or m.context_id not in ("", task.context_id) for m in spoken),
    )  # fmt: skip


def _theirs_config(official: Any, data: bytes) -> ConfigPayload | None:
    config = official.TaskPushNotificationConfig()
    try:
        config.ParseFromString(data)
    except Exception:
        return None
    a = config.authentication
    return ConfigPayload(config.tenant, config.id, config.task_id, config.url, config.token, a.scheme, a.credentials)


def _ours(read: Any, data: bytes) -> Any:
    try:
        return read(data)
    except WireError:
        return None


@settings(max_examples=250, deadline=None)
@given(data=tasks() | damaged(tasks()) | st.binary(max_size=40))
def test_a_task_is_read_as_the_official_class_reads_it(official: Any, data: bytes) -> None:
    assert _ours(read_task, data) == _theirs_task(official, data)


@settings(max_examples=150, deadline=None)
@given(data=configs() | damaged(configs()) | st.binary(max_size=40))
def test_a_config_is_read_as_the_official_class_reads_it(official: Any, data: bytes) -> None:
    assert _ours(read_config, data) == _theirs_config(official, data)
