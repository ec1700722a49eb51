"""Our emulation of what a gateway's PostgreSQL plug-in does to an older store (sheet 8.3), as a list of statements.

It is written from the description of the upgrade and not by it: what it takes says nothing of the real one's time.
"""

from __future__ import annotations

import re
from typing import LiteralString

import psycopg
from psycopg import sql

from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.pg_copy import Con
from busbar_audit.stores import busbar_pg_shapes as shapes

Statement = bytes | sql.Composed
# The lock under which plug-ins migrate: "busbar_p" in ASCII.
LOCK = 0x6275736261725F70
# Names whose presence makes the plug-in drop a store of a version below 5.
ANCIENT = ("usage_counters", "virtual_keys", "aws_credentials")
_KEYS = ("idp_subject", "binding_mode", "minted_by", "allowed_scopes_by_kind")
_NAME = re.compile(r'CREATE (?:UNIQUE )?(?:TABLE|INDEX|SCHEMA)(?: IF NOT EXISTS)? "?(?:\w+"?\."?)?(\w+)')


def plan(con: Con, schema: str, to: int) -> list[Statement]:
    """The statements of an upgrade, in order; nothing is run. Empty where the store is of that generation, or newer.

    Raises
    ------
    UsageError : the upgrade would drop every table.
    """
    version = stamped(con, schema)
    if version >= to:
        return []
    names = {str(name) for (name,) in con.execute(_RELATIONS, (schema,)).fetchall()}
    if version < 5 and names & set(ANCIENT):
        raise UsageError(f"The version is {version}: the upgrade would drop every table.", "", "Nothing was run.")
    done: list[Statement] = []

    def add(statement: LiteralString) -> None:
        tables = {
            name: sql.Identifier(schema, name) for name in ("keys", "usage_metering", "usage_windows", "busbar_schema")
        }
        done.append(sql.SQL(statement).format(**tables, to=sql.Literal(to)))

    for statement in shapes.statements(to, schema):
        made = _NAME.match(statement)
        if made is not None and made[1] not in names and not statement.startswith("CREATE SCHEMA"):
            done.append(statement.encode())
    if version < 6:
        # The metering is left as it is on this engine.
        add("UPDATE {usage_windows} SET billable_requests = requests WHERE billable_requests = 0 AND requests > 0")
    if to >= 10 and version < 10:
        for name in _KEYS:
            done.append(
                sql.SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {} text").format(
                    sql.Identifier(schema, "keys"), sql.Identifier(name)
                )
            )
        add("ALTER TABLE {usage_metering} ADD COLUMN IF NOT EXISTS priced_from_ms bigint NOT NULL DEFAULT 0")
        add("ALTER TABLE {usage_metering} DROP CONSTRAINT usage_metering_pkey")
        add(
            "ALTER TABLE {usage_metering} ADD CONSTRAINT usage_metering_pkey "
            "PRIMARY KEY (key_id, bucket, model, provider, priced_from_ms)"
        )
    add("INSERT INTO {busbar_schema} (version) VALUES ({to})")
    return done


def emulate(con: Con, schema: str, to: int, *, stop_before: int | None = None) -> int:
    """Run the plan in one transaction under the plug-ins' lock.

    Parameters
    ----------
    con : autocommit. stop_before : number of the statement, from 0, before which the session is ended by the server; the number
        after the last one is the commit.

    Returns
    -------
    number of statements that were run.
    """
    con.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
    statements = plan(con, schema, to)
    con.execute("BEGIN")
    try:
        for number, statement in enumerate(statements):
            if number == stop_before:
                return number
            con.execute(statement)
        if stop_before is not None:
            return len(statements)
        con.execute("COMMIT")
    except psycopg.Error:
        con.execute("ROLLBACK")
        raise
    finally:
        if stop_before is None:
            con.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
    return len(statements)


def stamped(con: Con, schema: str) -> int:
    """The highest version that the store names; 0 where it names none."""
    query = sql.SQL("SELECT coalesce(max(version), 0)::bigint FROM {}").format(sql.Identifier(schema, "busbar_schema"))
    ((version,),) = con.execute(query).fetchall()
    return int(version)


_RELATIONS = """
SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s
"""
