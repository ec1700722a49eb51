"""The A2A C++ SDK's stores on PostgreSQL: how they are recognised, their generations, what is read beside their tables.

The Java SDK's tables have the same names. They are recognised by their columns, so that nobody migrates them by mistake,
and have checks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from psycopg import sql

from busbar_audit.payloads import a2a_json
from busbar_audit.payloads import relations as payloads
from busbar_audit.stores import JAVA, a2a_bodies, a2a_catalog, a2a_shapes
from busbar_audit.stores.a2a_shapes import CONFIG_SEQUENCE, CONFIGS, TASK_SEQUENCE, TASKS
from busbar_audit.stores.family import Ask, Derived, Facts, Family, Generation, Tables
from busbar_audit.stores.shapes import ColumnShape, Difference, Shape, TableShape
from busbar_audit.stores.shapes import differences as compared

NAME = "a2a"
ENGINE = "postgres"
NEWEST = max(a2a_shapes.GENERATIONS)
KNOWN = "first shape to v4"

# Columns that tell the generation of a table; which of them it has makes its class.
_TASK_CLASSES = {
    frozenset[str](): "first shape",
    frozenset({"has_status_timestamp", "created_sequence"}): "sequence era",
    frozenset({"has_status_timestamp", "created_sequence", "revision"}): "foreign-key era or later",
}
_CONFIG_CLASSES = {
    frozenset[str](): "first shape or sequence era",
    frozenset({"created_sequence"}): "foreign-key era",
    frozenset({"created_sequence", "local_postgres_task"}): "v1 or later",
    frozenset({"local_postgres_task"}): "first shape with a later migration",
}
_FITTING = {
    ("first shape", "first shape or sequence era"),
    ("sequence era", "first shape or sequence era"),
    ("foreign-key era or later", "foreign-key era"),
    ("foreign-key era or later", "v1 or later"),
}

# What every version of the Java SDK's stores has; others came later (finalized_at, protocol_version, created_at).
_JAVA_COLUMNS = {TASKS: "task_id task_data", CONFIGS: "task_id config_id task_data"}

_MARKS = """
SELECT p.proname, p.prosrc, d.description FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_description d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass AND d.objsubid = 0
WHERE n.nspname = %s AND p.proname = ANY (%s)
"""
_SEQUENCES = """
SELECT c.relname, has_schema_privilege(n.oid, 'USAGE') AND has_sequence_privilege(c.oid, 'SELECT'), q.seqincrement
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_sequence q ON q.seqrelid = c.oid
WHERE n.nspname = %s AND c.relkind = 'S' AND c.relname = ANY (%s)
"""
# Keys of eight bytes have objsubid 1. Our own transaction takes none.
_LOCKS = """
SELECT ((classid::bigint << 32) | objid::bigint), bool_or(granted AND mode = 'ExclusiveLock'), bool_or(NOT granted),
    bool_or(granted AND coalesce(a.state LIKE 'idle in transaction%', false)),
    max(CASE WHEN granted AND a.state LIKE 'idle in transaction%'
        THEN extract(epoch FROM clock_timestamp() - a.state_change)::bigint END)
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
GROUP BY 1 ORDER BY 1
"""
_HELD = """
SELECT id, key FROM (SELECT id, hashtextextended(id, {seed}) AS key FROM {tasks}) AS t WHERE key = ANY (%s)
ORDER BY id COLLATE "C"
"""


def recognise(tables: Tables) -> bool:
    """Whether tables with these columns are those of an A2A store under the C++ SDK's names, the Java SDK's included."""
    tasks, configs = tables.get(TASKS, set()), tables.get(CONFIGS, set())
    return (
        {"id", "task_proto"} <= tasks or {"task_id", "config_id", "config_proto"} <= configs or _is_java(tasks, configs)
    )


def stamp(ask: Ask, found: Shape, schema: str) -> int | None:
    """The highest generation that a marker names (14 for v4); where no helper has one, what their bodies are known as."""
    marks, known, helpers = [], [0], ask(_MARKS, schema, list(a2a_bodies.HELPERS))
    for name, source, comment in helpers:
        if (marked := a2a_bodies.marked(comment)) is not None:
            marks.append(marked)
        known += a2a_bodies.read_body(name, source or "", schema).generations
    if marks or not helpers:
        return max(marks, default=None)
    # Helpers without any marker: restored without comments. Of unknown ones the newest is assumed, which asks for most.
    return max(known) or NEWEST


def generation(found: Shape, stamp: int | None) -> Generation:
    """Tell the generation from the markers and from the shape; numbers are those of `a2a_shapes`.

    ``taken`` is None for a marker newer than known.
    """
    tasks, configs = _names(found, TASKS), _names(found, CONFIGS)
    said = stamp or 0
    if _is_java(tasks, configs):
        return Generation(said, JAVA, JAVA)
    if "local_postgres_task" in configs or said:
        # A trigger that only a later generation has says so, whatever the markers say.
        for trigger, number in (
            (a2a_bodies.TRUNCATE_TRIGGER, 14),
            (a2a_bodies.LOCK_TRIGGER, 13),
            (a2a_bodies.DELETE_TRIGGER, 11),
        ):
            if trigger in found.triggers and found.triggers[trigger].table == TASKS:
                implied = number
                break
        else:
            implied = 4
    else:
        implied = 3 if "created_sequence" in configs or "revision" in tasks else 2 if "created_sequence" in tasks else 1
    taken = max(implied, said)
    return Generation(said, implied, taken if taken in a2a_shapes.GENERATIONS else None)


def differences(wanted: Shape, found: Shape) -> tuple[Difference, ...]:
    """Compare the two tables with those of a generation; indexes and triggers have checks of their own.

    The order of columns is no difference: a migration appends. A push-only store may lack the table of tasks.
    """
    due = dict(wanted.tables)
    if _is_java(_names(found, TASKS), _names(found, CONFIGS)):
        return tuple(_java_differences(wanted, found))
    if not found.triggers.keys() & set(a2a_bodies.TRIGGERS) and TASKS not in found.tables:
        del due[TASKS]
    plain = Shape({name: _ordered(table) for name, table in due.items()}, {}, {})
    there = Shape({name: _ordered(table) for name, table in found.tables.items()}, {}, {})
    return compared(plain, there)


def facts(ask: Ask, readable: Shape, schema: str) -> Mapping[str, Facts]:
    """Everything of the catalog that checks look at, and what sequences and advisory locks say."""
    told = {name: Facts(a2a_catalog.RELATIONS[name], rows) for name, rows in a2a_catalog.read(ask, schema).items()}
    told["sequences"] = Facts(
        (("name", "VARCHAR"), ("table_name", "VARCHAR"), ("readable", "BOOLEAN"), ("last_value", "BIGINT"),
         ("is_called", "BOOLEAN"), ("place", "VARCHAR"), ("step", "BIGINT")),
        list(_sequences(ask, schema)),
    )  # fmt: skip
    told["advisory_locks"] = Facts(
        (("lock_key", "BIGINT"), ("exclusive", "BOOLEAN"), ("waited_for", "BOOLEAN"), ("holder_idle", "BOOLEAN"),
         ("idle_seconds", "BIGINT"), ("task_id", "VARCHAR")),
        _locks(ask, readable, schema, told["functions"]),
    )  # fmt: skip
    told["classes"] = Facts(
        (("tasks", "VARCHAR"), ("configs", "VARCHAR"), ("fit", "BOOLEAN")),
        [_classes(told["column_defaults"])],
    )
    return told


def expected(number: int) -> Shape:
    """The shape of a generation; of the Java SDK's tables, which its persistence provider makes, the names of columns."""
    if number != JAVA:
        return a2a_shapes.expected(number)
    tables = {
        name: TableShape(name, False, False, tuple(ColumnShape(c, "text", False, None, 0) for c in columns.split()))
        for name, columns in _JAVA_COLUMNS.items()
    }
    return Shape(tables, {}, {})


def _java_differences(wanted: Shape, found: Shape) -> Iterator[Difference]:
    for name, table in wanted.tables.items():
        there = _names(found, name)
        for column in table.columns:
            if there and column.name not in there:
                yield Difference("table-differs", name, column.name, f"column {column.name} is missing")


def _sequences(ask: Ask, schema: str) -> Iterator[tuple[Any, ...]]:
    tables = {TASK_SEQUENCE: TASKS, CONFIG_SEQUENCE: CONFIGS}
    for name, readable, step in ask(_SEQUENCES, schema, list(tables)):
        last, called = None, None
        if readable:
            ((last, called),) = ask(
                sql.SQL("SELECT last_value, is_called FROM {}").format(sql.Identifier(schema, name))
            )
        yield name, tables[name], readable, last, called, f"{schema}.{name}", step


def _locks(ask: Ask, readable: Shape, schema: str, functions: Facts) -> list[tuple[Any, ...]]:
    held = ask(_LOCKS)
    if not held:
        return []
    tasks: dict[int, str] = {}
    if "id" in _names(readable, TASKS):
        place = [name for name, _ in functions.columns].index("lock_key")
        keys = {row[place] for row in functions.rows if row[0] == a2a_bodies.DELETE_LOCK and row[place]}
        for key in sorted(keys):
            seed = sql.SQL("0") if key == "seed 0" else sql.SQL("hashtextextended({}, 0)").format(sql.Literal(key))
            query = sql.SQL(_HELD).format(seed=seed, tasks=sql.Identifier(schema, TASKS))
            tasks |= {number: name for name, number in ask(query, [row[0] for row in held])}
    return [(*row, tasks.get(row[0])) for row in held]


def _classes(columns: Facts) -> tuple[str, str, bool]:
    names: dict[str, set[str]] = {TASKS: set(), CONFIGS: set()}
    for table, column, *_ in columns.rows:
        names[table].add(column)
    telling = {"has_status_timestamp", "created_sequence", "revision"}, {"created_sequence", "local_postgres_task"}
    tasks = _TASK_CLASSES.get(frozenset(names[TASKS] & telling[0]), "unknown") if names[TASKS] else "absent"
    configs = _CONFIG_CLASSES.get(frozenset(names[CONFIGS] & telling[1]), "unknown") if names[CONFIGS] else "absent"
    fit = (tasks, configs) in _FITTING or "absent" in (tasks, configs)
    return tasks, configs, fit


def _is_java(tasks: set[str], configs: set[str]) -> bool:
    java = {"task_id", "task_data"}
    return (java <= tasks and "task_proto" not in tasks) or (
        not tasks and java <= configs and "config_proto" not in configs
    )


def _names(shape: Shape, table: str) -> set[str]:
    found = shape.tables.get(table)
    return {column.name for column in found.columns} if found else set()


def _ordered(table: TableShape) -> TableShape:
    return replace(table, columns=tuple(map(_plainly, sorted(table.columns, key=lambda column: column.name))))


def _plainly(column: ColumnShape) -> ColumnShape:
    """Without what no statement of the SDK notices: a collation, and how a default is spelled."""
    default = column.default
    if default is not None:
        default = "now()" if default == "CURRENT_TIMESTAMP" else default.strip("'")
    return replace(column, type=column.type.partition(" collate ")[0], default=default)


def _derived(table: str, columns: tuple[tuple[str, str], ...], lines: Callable[[Any], Iterator[Any]]) -> Derived:
    return Derived(frozenset({table}), lambda con: Facts(columns, lines(con)))


FAMILY = Family(
    NAME,
    ENGINE,
    min(a2a_shapes.GENERATIONS),
    NEWEST,
    KNOWN,
    "marker",
    recognise,
    stamp,
    generation,
    expected,
    differences,
    damaged="",
    always=("A2A-G02",),
    tables=frozenset({TASKS, CONFIGS}),
    evidence=frozenset({TASKS, CONFIGS}),
    evidence_kind="task or push configuration",
    derived={
        "task_payloads": _derived(TASKS, payloads.TASK_COLUMNS, payloads.task_lines),
        "config_payloads": _derived(CONFIGS, payloads.CONFIG_COLUMNS, payloads.config_lines),
        "java_tasks": _derived(TASKS, a2a_json.JAVA_TASK_COLUMNS, a2a_json.java_tasks),
        "java_configs": _derived(CONFIGS, a2a_json.CONFIG_COLUMNS, a2a_json.java_configs),
    },
    facts=facts,
)
