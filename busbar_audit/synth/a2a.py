"""Write a synthetic A2A store into a PostgreSQL schema: any generation, rows with real payloads, seeded."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql

from busbar_audit.errors import OutputExists
from busbar_audit.stores import a2a_shapes as shapes
from busbar_audit.stores.a2a_shapes import CONFIG_SEQUENCE, CONFIGS, TASK_SEQUENCE, TASKS
from busbar_audit.synth import a2a_helpers
from busbar_audit.synth import a2a_payloads as payload
from busbar_audit.text import printable

END = 1_700_000_000 + 6 * 86_400
_DAY = 86_400
_TASK_COLUMNS = (
    "id", "context_id", "state", "has_status_timestamp", "status_seconds", "status_nanos", "revision", "created_sequence",
    "task_proto", "updated_at",
)  # fmt: skip
_CONFIG_COLUMNS = (
    "task_id",
    "config_id",
    "url",
    "created_sequence",
    "config_proto",
    "updated_at",
    "local_postgres_task",
)
_TERMINAL, _OPEN = (3, 3, 3, 4, 5, 7), (1, 2, 2, 6, 8)


@dataclass(frozen=True)
class SynthA2a:
    """What was written.

    schema, generation : of the store. tasks, configs : numbers of rows. end : last moment of the traffic, unix seconds.
    accepted : fingerprints of our helper bodies, for the audit's parameter ``accepted_bodies``.
    """

    schema: str
    generation: int
    tasks: int
    configs: int
    end: int = END
    accepted: tuple[str, ...] = field(default=())


def write_a2a(
    conninfo: str,
    schema: str,
    *,
    generation: int,
    seed: int = 1,
    tasks: int = 40,
    most_configs: int = 3,
    variant: str = "b",
    role: str | None = None,
    owner: str | None = None,
) -> SynthA2a:
    """Write one store; the same arguments always give the same rows.

    Parameters
    ----------
    conninfo : of a database this role may create a schema in.
    schema : to be made; if it is there, it must not hold an A2A table.
    generation : one of `a2a_shapes.GENERATIONS`; 4 has push configurations of tasks elsewhere only.
    tasks : how many; each has none to `most_configs` configurations.
    variant : of v3, ``a`` or ``b``.
    role : gets the rights that the SDK's service needs. owner : of tables and functions. Both have to exist.

    Raises
    ------
    OutputExists : the schema holds such a table.
    """
    rng = random.Random(seed)  # noqa: S311 - synthetic data, to be repeatable
    made: list[tuple[str, int]] = []
    accepted: tuple[str, ...] = ()
    with psycopg.connect(conninfo) as con:
        _require_free(con, schema)
        for statement in shapes.statements(generation, schema):
            con.execute(statement.encode())
        # Row by row, for a large store is no larger here than a small one; of a task its configurations need but this.
        task_rows = _noted(made, (_task(rng, number) for number in range(1, tasks + 1)))
        if generation == 4:
            counted = {TASK_SEQUENCE: sum(0 for _ in task_rows)}
        else:
            counted = {TASK_SEQUENCE: _fill(con, schema, TASKS, _TASK_COLUMNS, task_rows)}
        config_rows = _configs(rng, made, generation, most_configs)
        counted[CONFIG_SEQUENCE] = _fill(con, schema, CONFIGS, _CONFIG_COLUMNS, config_rows)
        for name, rows in counted.items():
            if rows and generation >= (2 if name == TASK_SEQUENCE else 3):
                con.execute("SELECT setval(%s::regclass, %s)", (f'"{schema}"."{name}"', rows))
        if generation >= 11:
            for helper in (
                *a2a_helpers.helpers(schema, generation, variant=variant),
                *a2a_helpers.triggers(schema, generation),
            ):
                con.execute(helper)
            accepted = a2a_helpers.digests(schema, generation, variant=variant)
        _give(con, schema, generation, role, owner)
    return SynthA2a(schema, generation, counted[TASK_SEQUENCE], counted[CONFIG_SEQUENCE], accepted=accepted)


def _noted(made: list[tuple[str, int]], rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for row in rows:
        made.append((row["id"], row["status_seconds"]))
        yield row


def _task(rng: random.Random, number: int) -> dict[str, Any]:
    task_id, context_id = (str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(2))
    state = rng.choice(_TERMINAL + _OPEN)
    # Work that goes on was heard of within the last days.
    moment = END - rng.randrange(60, 2 * _DAY if state in _OPEN else 5 * _DAY)
    nanos = rng.randrange(10**9)
    history = [
        payload.said(
            f"m{turn}", "words " * rng.randrange(1, 9), task_id=task_id, context_id=context_id, role=1 + turn % 2
        )
        for turn in range(rng.randrange(4))
    ]
    artifacts = [payload.artifact(f"a{n}", "answer " * rng.randrange(1, 9)) for n in range(rng.randrange(3))]
    body = payload.task(task_id, context_id, state, (moment, nanos), history=history, artifacts=artifacts)
    return dict(
        zip(
            _TASK_COLUMNS,
            (task_id, context_id, state, True, moment, nanos, rng.randrange(1, 9), number, body, _when(moment + 1)),
            strict=True,
        )
    )


def _configs(
    rng: random.Random, tasks: Sequence[tuple[str, int]], generation: int, most: int
) -> Iterable[dict[str, Any]]:
    number = 0
    for task_id, moment in tasks:
        for nth in range(rng.randrange(most + 1)):
            number += 1
            yield _config(rng, task_id, f"c{nth}", number, moment, local=generation != 4)
    for _ in range(3 if generation >= 4 else 0):
        number += 1
        elsewhere = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        yield _config(rng, elsewhere, "c0", number, END - _DAY, local=False)


def _config(
    rng: random.Random, task_id: str, config_id: str, number: int, moment: int, *, local: bool
) -> dict[str, Any]:
    url = f"https://hooks{rng.randrange(4)}.example.com/a2a/{rng.getrandbits(64):016x}"
    secret = f"{rng.getrandbits(128):032x}"
    scheme = rng.choice(("", "Bearer"))
    token = "" if scheme else secret
    body = payload.config(task_id, config_id, url, token=token, scheme=scheme, credentials=secret if scheme else "")
    row = (task_id, config_id, url, number, body, _when(moment), local)
    return dict(zip(_CONFIG_COLUMNS, row, strict=True))


def _when(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _fill(
    con: psycopg.Connection[Any], schema: str, table: str, columns: Sequence[str], rows: Iterable[dict[str, Any]]
) -> int:
    found = con.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
        (schema, table),
    ).fetchall()
    there = [name for name in columns if (name,) in found]
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(schema, table), sql.SQL(", ").join(map(sql.Identifier, there))
    )
    count = 0
    with con.cursor() as cursor, cursor.copy(query) as copy:
        for row in rows:
            copy.write_row([row[name] for name in there])
            count += 1
    return count


def _give(con: psycopg.Connection[Any], schema: str, generation: int, role: str | None, owner: str | None) -> None:
    place, push = sql.Identifier(schema), sql.Identifier(schema, "a2a_lock_task_for_push_config")
    tables = [sql.Identifier(schema, name) for name in (TASKS, CONFIGS)]
    sequences = [TASK_SEQUENCE] * (generation >= 2) + [CONFIG_SEQUENCE] * (generation >= 3)
    said: list[sql.Composed] = []
    if role is not None:
        who = sql.Identifier(role)
        said.append(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, who))
        said.append(sql.SQL("GRANT SELECT, INSERT, UPDATE ON {} TO {}").format(tables[0], who))
        said.append(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(tables[1], who))
        for name in sequences:
            said.append(sql.SQL("GRANT USAGE ON SEQUENCE {} TO {}").format(sql.Identifier(schema, name), who))
        if generation >= 11:
            said.append(sql.SQL("GRANT EXECUTE ON FUNCTION {}(text) TO {}").format(push, who))
    if owner is not None:
        who = sql.Identifier(owner)
        said.append(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, who))
        said += [sql.SQL("ALTER TABLE {} OWNER TO {}").format(table, who) for table in tables]
        for name, arguments, since in (
            ("a2a_lock_task_for_push_config", "text", 11),
            ("a2a_delete_task_push_configs", "", 11),
            ("a2a_lock_task_for_delete", "", 13),
        ):
            if generation >= since:
                function = sql.SQL("{}({})").format(sql.Identifier(schema, name), sql.SQL(arguments))
                said.append(sql.SQL("ALTER FUNCTION {} OWNER TO {}").format(function, who))
    for statement in said:
        con.execute(statement)


def _require_free(con: psycopg.Connection[Any], schema: str) -> None:
    row = con.execute(
        "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename IN (%s, %s)",
        (schema, TASKS, CONFIGS),
    ).fetchone()
    if row and row[0]:
        raise OutputExists(
            f"Schema {printable(schema)} holds an A2A store.", "A new or an empty schema.", "Name another one."
        )
