"""Write a synthetic store of the A2A Python SDK, on SQLite or PostgreSQL: any revision, several owners, plain or encrypted."""

from __future__ import annotations

import base64
import json
import random
import uuid
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Engine,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    inspect,
)

from busbar_audit.errors import OutputExists
from busbar_audit.stores.a2a_python import REVISIONS, STAMP
from busbar_audit.synth.a2a import END

STATES = ("WORKING", "INPUT_REQUIRED", "COMPLETED", "COMPLETED", "FAILED", "CANCELED")
_DAY = 86_400


def metadata(generation: int, schema: str | None = None) -> MetaData:
    """The tables of one revision, by the SDK's own names."""
    meta = MetaData(schema=schema)
    owned = [Column("owner", String(255))] if generation >= 2 else []
    dialect = [Column("protocol_version", String(16))] if generation >= 3 else []
    updated = [Column("last_updated", DateTime())] if generation >= 2 else []
    tasks = Table(
        "tasks", meta, Column("id", String(36), primary_key=True), Column("context_id", String(36), nullable=False),
        Column("kind", String(16), nullable=False), *owned, *updated, Column("status", JSON(), nullable=False),
        Column("artifacts", JSON()), Column("history", JSON()), *dialect, Column("metadata", JSON()),
    )  # fmt: skip
    if generation >= 2:
        Index("idx_tasks_owner_last_updated", tasks.c.owner, tasks.c.last_updated)
    Table(
        "push_notification_configs", meta, Column("task_id", String(36), primary_key=True),
        Column("config_id", String(255), primary_key=True), Column("config_data", LargeBinary(), nullable=False),
        *(column.copy() for column in (*owned, *dialect)),
    )  # fmt: skip
    if generation >= 4:
        Table("task_versions", meta, Column("task_id", String(36), primary_key=True), Column("owner", String(255)),
              Column("version", BigInteger()))  # fmt: skip
        Table("task_events", meta, Column("seq", BigInteger(), primary_key=True), Column("task_id", String(36)),
              Column("owner", String(255)), Column("task_version", BigInteger()),
              Column("event_data", LargeBinary()))  # fmt: skip
    if generation >= 2:
        Table(STAMP, meta, Column("version_num", String(32), primary_key=True))
    return meta


def write_a2a_python(
    engine: Engine,
    *,
    generation: int = 4,
    seed: int = 1,
    tasks: int = 40,
    odd: Collection[str] = (),
    schema: str | None = None,
) -> dict[str, int]:
    """Write one store; the same arguments always give the same rows.

    Parameters
    ----------
    engine : SQLAlchemy's. schema : on PostgreSQL, there already. generation : 1 before owners, then one for each revision.
    odd : ``encrypted`` (every second configuration has the form of a Fernet token), ``old-dialect`` (every fourth task).

    Returns
    -------
    Table to number of rows.

    Raises
    ------
    OutputExists : such a table is there.
    """
    meta = metadata(generation, schema)
    if taken := {table.name for table in meta.sorted_tables} & set(inspect(engine).get_table_names(schema)):
        raise OutputExists(f"There is a table {min(taken)}.", "A place without such tables.", "Name another one.")
    rows = _rows(random.Random(seed), generation, tasks, frozenset(odd))  # noqa: S311 - synthetic data, to be repeatable
    counts = {}
    with engine.begin() as con:
        meta.create_all(con)
        for table in meta.sorted_tables:
            there = [{c.name: row[c.name] for c in table.columns} for row in rows.get(table.name, ())]
            if there:
                con.execute(insert(table), there)
            counts[table.name] = len(there)
    return counts


def _rows(rng: random.Random, generation: int, tasks: int, odd: frozenset[str]) -> dict[str, list[dict[str, Any]]]:
    made = [_task(rng, number, old="old-dialect" in odd and number % 4 == 3) for number in range(tasks)]
    stamped = next((revision for revision, number in REVISIONS.items() if number == generation), "")
    return {
        "tasks": made,
        "push_notification_configs": [
            _config(rng, task, encrypted="encrypted" in odd and number % 2 == 1)
            for number, task in enumerate(made)
            if number % 3
        ],
        "task_versions": [{"task_id": task["id"], "owner": task["owner"], "version": 1} for task in made],
        STAMP: [{"version_num": stamped}],
    }


def _task(rng: random.Random, number: int, *, old: bool) -> dict[str, Any]:
    task_id, context_id = (str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(2))
    moment = datetime.fromtimestamp(END - rng.randrange(60, 5 * _DAY), UTC).replace(microsecond=rng.randrange(10**6))
    state = rng.choice(STATES)
    return {
        "id": task_id,
        "context_id": context_id,
        "kind": "task",
        "owner": ("alice", "bob")[number % 2],
        "last_updated": moment.replace(tzinfo=None),
        "status": {
            "state": state.lower().replace("_", "-") if old else f"TASK_STATE_{state}",
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
        },
        "artifacts": [],
        "history": [{"messageId": f"m{turn}", "parts": [{"text": "words"}]} for turn in range(rng.randrange(3))],
        "protocol_version": "0.3" if old else "1.0",
        "metadata": None,
    }


def _config(rng: random.Random, task: dict[str, Any], *, encrypted: bool) -> dict[str, Any]:
    told = {
        "id": task["id"],
        "taskId": task["id"],
        "url": f"https://hooks{rng.randrange(4)}.example.com/a2a/{rng.getrandbits(64):016x}",
        "token": f"{rng.getrandbits(128):032x}",
    }
    data = json.dumps(told).encode()
    if encrypted:
        # The form alone: version, time, and as much as a token of this length has; there is no key to it.
        data = base64.urlsafe_b64encode(b"\x80" + bytes(4) + rng.randbytes(len(data) // 16 * 16 + 64))
    return {
        "task_id": task["id"],
        "config_id": task["id"],
        "config_data": data,
        "owner": task["owner"],
        "protocol_version": task["protocol_version"],
    }


def counted(counts: dict[str, int]) -> Iterator[str]:
    """The tables with rows, in words."""
    return (f"{rows:,} {table}" for table, rows in counts.items() if rows)
