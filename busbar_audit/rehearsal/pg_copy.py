"""A database that the operator restored for a rehearsal, which changes it for good: refused where it may be the store's own."""

from __future__ import annotations

import secrets
import time
from typing import Any

import psycopg

from busbar_audit.errors import UsageError
from busbar_audit.snapshot.conninfo import Words
from busbar_audit.snapshot.postgres import connect

Con = psycopg.Connection[Any]
RESTORED = (
    "A database that nobody uses, restored whole from this store (pg_dump | psql, or CREATE DATABASE … TEMPLATE)."
)
NOTHING = "Nothing was changed."
_SAME = """
SELECT current_database(), EXISTS (SELECT FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_database d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND d.datname = current_database() AND l.objsubid = 1
        AND (l.classid::bigint << 32 | l.objid::bigint) = %s)
"""
# Of other roles a plain one is told little, but whether they are users: workers of the server itself are none.
_OTHERS = """
SELECT pid FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
"""


def opened(words: Words) -> Con:
    """Connect, each statement a transaction of its own."""
    con = connect(words)
    con.autocommit = True
    return con


def require_another(source: Con, copy: Con) -> None:
    """Refuse a copy that is, or may be, the store's own database, behind whatever host name or pooler."""
    token = secrets.randbits(62)
    copy.execute("SELECT pg_catalog.pg_advisory_lock(%s)", (token,))
    try:
        (name, seen), *_ = source.execute(_SAME, (token,)).fetchall()
        (own, _), *_ = copy.execute(_SAME, (token,)).fetchall()
        # A standby shows no lock of its primary.
        which = [_identifier(con) for con in (source, copy)]
        if seen or (name == own and (None in which or which[0] == which[1])):
            raise UsageError("--copy names the database that the store itself is in.", RESTORED, NOTHING)
        if others := len(users(copy)):
            raise UsageError(f"{others} other sessions are connected to the copy.", RESTORED, NOTHING)
        ((replica,),) = copy.execute("SELECT pg_catalog.pg_is_in_recovery()").fetchall()
        if replica:
            raise UsageError("The copy is a standby, which takes no change.", RESTORED, NOTHING)
    finally:
        copy.execute("SELECT pg_catalog.pg_advisory_unlock(%s)", (token,))


def _identifier(con: Con) -> str | None:
    try:
        row = con.execute("SELECT system_identifier::text FROM pg_catalog.pg_control_system()").fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return None
    return str(row[0]) if row else None


def users(con: Con) -> list[int]:
    """Sessions of others on a database; one that has just ended may still be listed, and gets a second to go."""
    for _ in range(50):
        pids = [int(pid) for (pid,) in con.execute(_OTHERS).fetchall()]
        if not pids:
            break
        time.sleep(0.02)
    return pids


def ended(beside: Con, pid: int) -> None:
    """End a session, and wait until nothing of it is left."""
    beside.execute("SELECT pg_catalog.pg_terminate_backend(%s)", (pid,))
    for _ in range(500):
        if not beside.execute("SELECT FROM pg_catalog.pg_stat_activity WHERE pid = %s", (pid,)).fetchall():
            return
        time.sleep(0.01)
