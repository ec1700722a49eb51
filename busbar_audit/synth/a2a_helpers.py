"""Helper functions and triggers for synthetic A2A stores: our own texts with the behaviour of each generation.

Source: fact sheet sections 1.4 to 1.6 and 2.1. Their fingerprints are none of the vendor's; an audit has to be told to
accept them (`digests`).
"""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql

from busbar_audit.stores import a2a_bodies as bodies
from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS

_REFUSE_ISOLATION = """
    IF current_setting('transaction_isolation') ~ '^(repeatable read|serializable)$' THEN
        RAISE EXCEPTION 'needs read committed' USING ERRCODE = '0A000';
    END IF;"""
_REFUSE_POLICIES = """
    IF (SELECT c.relrowsecurity FROM pg_class AS c WHERE c.oid = to_regclass({place})) THEN
        RAISE EXCEPTION 'not with row-level security' USING ERRCODE = '0A000';
    END IF;
    IF NOT has_table_privilege(
        coalesce(nullif(current_setting('role', true), 'none')::name, session_user), {place}, 'SELECT'
    ) THEN
        RAISE EXCEPTION 'the caller may not read tasks' USING ERRCODE = '42501';
    END IF;"""
_ROW_LOCK = """
    PERFORM t.id FROM {tasks} AS t WHERE t.id = requested_task_id FOR KEY SHARE;
    RETURN FOUND;"""
_SHARED_LOCK = """
    IF NOT pg_try_advisory_xact_lock_shared({key}) THEN
        PERFORM pg_advisory_xact_lock_shared({key});
    END IF;"""
_EXISTS = """
    RETURN EXISTS (SELECT FROM {tasks} AS t WHERE t.id = requested_task_id);"""
_DELETE_LOCK = """
BEGIN
    PERFORM pg_advisory_xact_lock({key});
    RETURN OLD;
END """
_CLEAN_ALL = """
    IF TG_OP = 'TRUNCATE' THEN
        {refuse}
        DELETE FROM {configs} AS c WHERE c.local_postgres_task;
        RETURN NULL;
    END IF;"""
_CLEAN_ONE = """
    DELETE FROM {configs} AS c WHERE c.local_postgres_task AND c.task_id = OLD.id;
    RETURN OLD;
END """


def helpers(
    schema: str, generation: int, *, variant: str = "b", quoted: bool = False, only: tuple[str, ...] = bodies.HELPERS
) -> Iterator[sql.Composed]:
    """Statements that create or replace the helpers of generation 11 to 14, take rights from PUBLIC and set markers.

    Parameters
    ----------
    variant : of v3: ``a`` with unscoped lock keys, ``b`` with scoped ones.
    quoted : spell the literal in the lock key with quotes.
    only : names of the helpers to make.
    """
    marker = sql.Literal(f"task-aware-push-config-v{generation - 10}")
    for name, arguments, result, body in _texts(schema, generation, variant, quoted):
        if name not in only:
            continue
        function = sql.SQL("{}({})").format(sql.Identifier(schema, name), sql.SQL(arguments))
        yield sql.SQL(
            "CREATE OR REPLACE FUNCTION {} RETURNS {} LANGUAGE plpgsql VOLATILE SECURITY DEFINER "
            "SET search_path = pg_catalog AS {}"
        ).format(function, sql.SQL(result), sql.Literal(body))
        yield sql.SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC").format(function)
        if generation >= 13 or name == bodies.PUSH_LOCK or (generation == 12 and name == bodies.CLEANUP):
            yield sql.SQL("COMMENT ON FUNCTION {} IS {}").format(function, marker)


def triggers(schema: str, generation: int) -> Iterator[sql.Composed]:
    """Statements that make the triggers of a generation; those of the same names go first."""
    due = [(bodies.DELETE_TRIGGER, "AFTER DELETE", "ROW", bodies.CLEANUP, 11)]
    due.append((bodies.LOCK_TRIGGER, "BEFORE DELETE", "ROW", bodies.DELETE_LOCK, 13))
    due.append((bodies.TRUNCATE_TRIGGER, "AFTER TRUNCATE", "STATEMENT", bodies.CLEANUP, 14))
    tasks = sql.Identifier(schema, TASKS)
    for name, when, level, function, since in due:
        if since <= generation:
            yield sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(sql.Identifier(name), tasks)
            yield sql.SQL("CREATE TRIGGER {} {} ON {} FOR EACH {} EXECUTE FUNCTION {}()").format(
                sql.Identifier(name), sql.SQL(when), tasks, sql.SQL(level), sql.Identifier(schema, function)
            )


def digests(schema: str, generation: int, *, variant: str = "b", quoted: bool = False) -> tuple[str, ...]:
    """Fingerprints of our bodies, for an audit to accept."""
    texts = _texts(schema, generation, variant, quoted)
    return tuple(bodies.read_body(name, body, schema).digest for name, _, _, body in texts)


def _texts(schema: str, generation: int, variant: str, quoted: bool) -> Iterator[tuple[str, str, str, str]]:
    place = f'"{schema}"."{TASKS}"' if quoted or schema != schema.lower() else f"{schema}.{TASKS}"
    scoped = generation == 14 or variant == "b"
    seed = f"hashtextextended('{place}', 0)" if scoped else "0"
    words = {
        "refuse": _REFUSE_ISOLATION.strip(),
        "tasks": f'"{schema}"."{TASKS}"',
        "configs": f'"{schema}"."{CONFIGS}"',
        "place": f"'{place}'",
    }

    def text(template: str, what: str = "") -> str:
        return template.format(**words, key=f"hashtextextended({what}, {seed})")

    # The parts are put together in the order in which each generation does its steps.
    steps = "BEGIN"
    if generation >= 13:
        steps += (_REFUSE_ISOLATION if scoped else "") + text(_SHARED_LOCK, "requested_task_id")
    if generation >= 12:
        steps += text(_REFUSE_POLICIES)
    steps += text(_EXISTS if generation >= 13 else _ROW_LOCK) + "\nEND "
    yield bodies.PUSH_LOCK, "requested_task_id text", "boolean", steps
    if generation >= 13:
        yield bodies.DELETE_LOCK, "", "trigger", text(_DELETE_LOCK, "OLD.id")
    cleanup = "BEGIN" + (text(_CLEAN_ALL) if generation >= 14 else "") + text(_CLEAN_ONE)
    yield bodies.CLEANUP, "", "trigger", cleanup
