"""Payloads of A2A stores: our reader against the official generated classes, on whole and on damaged bytes."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from busbar_audit.payloads import a2a_columns, fast, relations, urls
from busbar_audit.payloads.a2a import ConfigPayload, TaskPayload, read_config, read_task
from busbar_audit.payloads.batch import Batch
from busbar_audit.payloads.relations import CONFIG_COLUMNS, config_lines
from busbar_audit.payloads.urls import Callback, describe
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


def _arrow(payloads: list[bytes]) -> pa.BinaryArray:
    """As a slice of a longer one with a gap in it, as batches are."""
    return pa.array([b"before", None, *payloads, b"after"], pa.binary())[2 : 2 + len(payloads)]


def _ours(read: Any, data: bytes) -> Any:
    try:
        return read(data)
    except WireError:
        return None


@settings(max_examples=120, deadline=None)
@given(data=tasks() | damaged(tasks()) | st.binary(max_size=40))
def test_a_task_is_read_as_the_official_class_reads_it(official: Any, data: bytes) -> None:
    assert _ours(read_task, data) == _theirs_task(official, data)


@settings(max_examples=80, deadline=None)
@given(data=configs() | damaged(configs()) | st.binary(max_size=40))
def test_a_config_is_read_as_the_official_class_reads_it(official: Any, data: bytes) -> None:
    assert _ours(read_config, data) == _theirs_config(official, data)


@settings(max_examples=60, deadline=None)
@given(payloads=st.lists(tasks() | damaged(tasks()) | st.binary(max_size=40), max_size=12))
def test_many_tasks_at_once_are_read_as_one_by_one(payloads: list[bytes]) -> None:
    for data, told in zip(payloads, a2a_columns.read_tasks(_arrow(payloads)).rows(), strict=True):
        assert told is None or told == _ours(read_task, data)


@settings(max_examples=60, deadline=None)
@given(payloads=st.lists(configs() | damaged(configs()) | st.binary(max_size=40), max_size=12))
def test_many_configs_at_once_are_read_as_one_by_one(payloads: list[bytes]) -> None:
    for data, told in zip(payloads, a2a_columns.read_configs(_arrow(payloads)).rows(), strict=True):
        assert told is None or told == _ours(read_config, data)


def test_what_a_healthy_store_holds_is_read_the_fast_way() -> None:
    """Else the fast reader would be right and useless: only what is rare is left to the careful one."""
    said = [written.said(f"m{n % 2}", "wörter", task_id="t" * 36, context_id="c" * n) for n in range(3)]
    made = written.artifact("a", "x" * 300)
    whole = written.task("t" * 36, "c" * 2, 2, (1_700_000_000, 5), status_message=said[1], artifacts=[made] * 2,
                         history=said, metadata=[("kéy", "value")])  # fmt: skip
    config = written.config("t", "c", "https://ä.example.com/" + "x" * 200, token="x", scheme="Bearer", credentials="ü")
    rare = whole[:2] + b"\xff" + whole[3:], whole + whole, whole + b"\x38\x01", written.task("t", "", -1)
    (told, *left), (other,) = (
        a2a_columns.read_tasks(_arrow([whole, *rare])).rows(),
        a2a_columns.read_configs(_arrow([config])).rows(),
    )
    assert told == read_task(whole)
    assert told[6:] == (3, 2, 1, 1, 2)
    assert left == [None] * 4
    assert other == read_config(config)


def test_a_byte_that_is_no_utf8_is_found_wherever_it_stands() -> None:
    """Texts of every length, begun at every place of a word, with the bad byte at every place in them."""
    payloads, due = [], []
    for before in range(8):
        for size in range(1, 27):
            whole = b"\x12" + bytes([before]) + b"i" * before + b"\x22" + bytes([size]) + b"u" * size
            for place in range(size):
                at = 4 + before + place
                payloads += [whole, whole[:at] + b"\xff" + whole[at + 1 :]]
                due += [False, True]
    assert a2a_columns.read_configs(_arrow(payloads)).doubtful.tolist() == due


@pytest.mark.parametrize(
    ("url", "scheme", "host", "reach", "userinfo", "secret_query"),
    [
        ("https://hooks.example.com/a?b=c", "https", "hooks.example.com", "public", False, False),
        ("HTTP://Example.COM:8080", "http", "example.com", "public", False, False),
        ("https://me:word@h.example.com:8443/cb?token=abc", "https", "h.example.com", "public", True, True),
        ("https://h.example.com/?X-Amz-Signature=1", "https", "h.example.com", "public", False, True),
        ("https://h.example.com/?monkey=1&page_token_size=2", "https", "h.example.com", "public", False, False),
        ("https://h.example.com/#token=abc", "https", "h.example.com", "public", False, False),
        ("http://10.1.2.3/x", "http", "10.1.2.3", "private", False, False),
        ("http://100.64.0.1/", "http", "100.64.0.1", "private", False, False),
        ("http://169.254.1.1/", "http", "169.254.1.1", "link-local", False, False),
        ("http://169.254.169.254/latest", "http", "169.254.169.254", "metadata", False, False),
        ("https://metadata.google.internal/x", "https", "metadata.google.internal", "metadata", False, False),
        ("http://2130706433/", "http", "2130706433", "loopback", False, False),
        ("http://0x7f.1/", "http", "0x7f.1", "loopback", False, False),
        ("http://[::1]:9/", "http", "[::1]", "loopback", False, False),
        ("http://[::ffff:10.0.0.1]/", "http", "[::ffff:a00:1]", "private", False, False),
        ("http://localhost./", "http", "localhost.", "loopback", False, False),
        ("https://agent/", "https", "agent", "single label", False, False),
        ("https://a.svc.cluster.internal/", "https", "a.svc.cluster.internal", "internal name", False, False),
        ("https://8.8.8.8/", "https", "8.8.8.8", "public", False, False),
        ("https://two words.example.com/", "https", "", "unreadable", False, False),
        ("hunter2://x.example.com/", "other", "x.example.com", "public", False, False),
        ("call me, hunter2", "", "", "unreadable", False, False),
    ],
)
def test_a_url_is_told_without_its_secrets(
    url: str, scheme: str, host: str, reach: str, userinfo: bool, secret_query: bool
) -> None:
    assert describe(url) == Callback(scheme, host, reach, userinfo, secret_query)


@settings(max_examples=60, deadline=None)
@given(
    url=st.text(max_size=30) | st.from_regex(r"[a-z]{1,5}://[^/]{0,12}@?[\[\]a-z0-9.:%]{0,12}(\?.*)?", fullmatch=True)
)
def test_no_text_is_too_odd_to_be_told(url: str) -> None:
    assert describe(url).reach
    assert describe(url) == urls._described(url), "what is kept of another URL is that of this one"
    others = pa.array(["https://a.example.com/one", url, "https://a.example.com/two?token=x"])
    assert [part[1].as_py() for part in fast.callbacks(others)] == list(describe(url))


@pytest.mark.parametrize("many", [2, 10_000])
def test_equal_secrets_have_equal_numbers_within_a_run_only(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_MANY", many)

    def lines() -> list[tuple[object, ...]]:
        con = duckdb.connect()
        con.execute("CREATE SCHEMA raw")
        con.execute(
            "CREATE TABLE raw.a2a_push_notification_configs "
            "(_row INT, config_proto BLOB, task_id TEXT, config_id TEXT, url TEXT)"
        )
        for n, secret in enumerate(("one", "one", "two", "")):
            data = written.config("t", str(n), "https://a.b", token=secret)
            con.execute(
                "INSERT INTO raw.a2a_push_notification_configs VALUES (?, ?, 't', ?, 'https://a.b')", [n, data, str(n)]
            )
        found: list[tuple[object, ...]] = []
        for each in config_lines(con):
            found += each.rows() if isinstance(each, Batch) else [each]
        return found

    at = [name for name, _ in CONFIG_COLUMNS].index("secret_key")
    first, again = ([line[at] for line in lines()] for _ in range(2))
    assert first[0] == first[1] != first[2]
    assert first[3] is None
    assert first[0] != again[0]
    assert all(len(line) == len(CONFIG_COLUMNS) for line in lines())
