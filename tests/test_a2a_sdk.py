"""Stores that the A2A Python SDK itself writes, on both engines: read clean, and a fault planted in them is found."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_postgres import Server, running

pytest.importorskip("a2a.server.tasks", reason="needs a2a-sdk (extra test)")
pytest.importorskip("aiosqlite", reason="needs aiosqlite (extra test)")
pytest.importorskip("greenlet", reason="needs greenlet (extra test)")
fernet = pytest.importorskip("cryptography.fernet", reason="needs cryptography (extra test)")

from busbar_audit.auditing import audit  # noqa: E402 - after what may skip the module
from busbar_audit.findings import Finding, Outcome  # noqa: E402
from busbar_audit.result import Result  # noqa: E402
from busbar_audit.store import open_store  # noqa: E402

OWNERS = ("alice", "bob")


async def _write(address: str) -> None:
    from a2a.auth.user import User
    from a2a.server.context import ServerCallContext
    from a2a.server.tasks import DatabasePushNotificationConfigStore, DatabaseTaskStore
    from a2a.types.a2a_pb2 import Task, TaskPushNotificationConfig
    from sqlalchemy.ext.asyncio import create_async_engine

    class Named(User):
        def __init__(self, name: str) -> None:
            self._name = name

        @property
        def is_authenticated(self) -> bool:
            return True

        @property
        def user_name(self) -> str:
            return self._name

    engine = create_async_engine(address)
    tasks, plain = DatabaseTaskStore(engine), DatabasePushNotificationConfigStore(engine)
    hidden = DatabasePushNotificationConfigStore(engine, encryption_key=fernet.Fernet.generate_key())
    for owner in OWNERS:
        context = ServerCallContext(user=Named(owner))
        for n in range(9):
            task = Task(id=f"{owner}-{n}", context_id="c")
            task.status.state = n
            if n % 2:
                task.status.timestamp.FromJsonString(f"2026-01-02T03:04:0{n}.12345{n}Z")
            message = task.history.add(message_id="m", role=1, task_id=task.id, context_id="c")
            message.parts.add(text="hello")
            await tasks.save(task, context)
            config = TaskPushNotificationConfig(url="https://hooks.example.com/x", token="hunter2")
            config.authentication.scheme, config.authentication.credentials = "Bearer", "hunter2"
            await (hidden if n % 3 == 0 else plain).set_info(task.id, config, context)
    await engine.dispose()


def _judged(target: Any) -> tuple[Result, list[Finding]]:
    with open_store(target) as store:
        result = audit(store)
        return result, list(result.findings())


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    path = tmp_path_factory.mktemp("sdk") / "store.db"
    asyncio.run(_write(f"sqlite+aiosqlite:///{path}"))
    with running() as server:
        server.new("sdk")
        asyncio.run(_write(server.uri("sdk").replace("postgresql://", "postgresql+psycopg://")))
        yield {"sqlite": path, "postgres": server}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_what_the_sdk_writes_is_read_clean(targets: dict[str, Any], engine: str) -> None:
    place = targets[engine]
    result, findings = _judged(place.uri("sdk") if isinstance(place, Server) else place)
    assert (result.store.family, result.store.engine) == ("a2a-python", engine)
    assert (result.exit_code, {f.code for f in findings}) == (0, {"A2A-P07", "A2A-P16"}), findings
    assert next(f.detail for f in findings if f.code == "A2A-P07") == "12 plain, 6 encrypted"
    assert not [r.code for r in result.results if r.outcome is Outcome.COULD_NOT_RUN]
    assert {line.table: line.examined for line in result.account} == {"tasks": 18, "push_notification_configs": 18}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_fault_in_it_is_found(targets: dict[str, Any], tmp_path: Path, engine: str) -> None:
    statements = (
        "UPDATE tasks SET protocol_version = '0.3' WHERE id = 'alice-2'",
        "UPDATE tasks SET last_updated = '2026-01-02 03:04:01.000000' WHERE id = 'bob-1'",
        "UPDATE tasks SET owner = NULL WHERE id = 'bob-3'",
        "UPDATE push_notification_configs SET config_data = substr(config_data, 1, 20) WHERE task_id = 'alice-3'",
    )
    target: Any = tmp_path / "broken.db"
    if engine == "sqlite":
        target.write_bytes(targets["sqlite"].read_bytes())
        with closing(sqlite3.connect(target)) as con:
            for statement in statements:
                con.execute(statement)
            con.commit()
    else:
        copy = targets["postgres"].copy_of("sdk")
        target = targets["postgres"].uri(copy)
        with targets["postgres"].connect(copy) as other:
            for statement in statements:
                other.execute(statement.encode())
    result, findings = _judged(target)
    found = {f.code: f.place for f in findings if f.severity != "info"}
    assert found == {"A2A-P02": "no owner", "A2A-P03": "alice-2", "A2A-P05": "bob-1", "A2A-P08": "alice-3 / alice-3"}
    assert result.exit_code == 1
