"""An upgrade of a gateway's PostgreSQL store, on a database that the operator restored from it, held against the store before.

The copy is changed for good. Invariants are those of busbar sheet 8.6 that this engine has.
"""

from __future__ import annotations

import random
import shlex
import time
from pathlib import Path

import psycopg
from psycopg import conninfo as conninfos

from busbar_audit.auditing import audit
from busbar_audit.errors import SnapshotError, UsageError
from busbar_audit.rehearsal import commands
from busbar_audit.rehearsal.commands import Ran
from busbar_audit.rehearsal.pg_copy import NOTHING, RESTORED, Con, ended, opened, require_another, users
from busbar_audit.rehearsal.upgrade_compare import compare_chains, first, note_before, note_left
from busbar_audit.rehearsal.upgrade_copy import apart
from busbar_audit.rehearsal.upgrade_pg_emulation import emulate, plan
from busbar_audit.rehearsal.upgrade_pg_rows import Before, compare_pg, digests
from busbar_audit.rehearsal.upgrade_result import COMMAND, EMULATION, Kill, Upgrade
from busbar_audit.result import Result
from busbar_audit.snapshot.conninfo import Words
from busbar_audit.store import Store, open_store
from busbar_audit.stores.busbar_pg import GENERATIONS, NEWEST
from busbar_audit.target import Target

DSN = "BUSBAR_AUDIT_DSN"
PRE_FLIGHT = ("BUS-S02", "BUS-S06", "BUS-S15")
# What we add to a target's words, and that another driver may not know.
_OURS = (
    "connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "application_name",
    "client_encoding", "password",
)  # fmt: skip


def rehearse_upgrade_pg(
    target: Target,
    copy: Target,
    command: str | None = None,
    *,
    to: int | None = None,
    timeout: float = 600.0,
    shell: bool = False,
    kills: int = 0,
    seed: int = 0,
) -> Upgrade:
    """Upgrade the copy, twice, and compare. The store is read only.

    Parameters
    ----------
    copy : a database restored from the store, under the same schema; its role owns the tables. It is changed for good.
    command : ``{dsn}`` in it becomes words of libpq without a password, which stands in the environment as PGPASSWORD; all
        of it stands there as BUSBAR_AUDIT_DSN. None for our emulation.
    to : generation to reach; None for whatever the command reaches, and the newest for our emulation.
    kills : so many sessions of our emulation are ended before a statement each, before the run that is compared.

    Raises
    ------
    UsageError : no PostgreSQL store of a gateway, no such upgrade, or the copy is the store's own database or in use.
    SnapshotError : a database cannot be reached or read.
    """
    if target.conninfo is None or copy.conninfo is None:
        raise UsageError("--copy is for PostgreSQL.", "TARGET and --copy that are PostgreSQL databases.", NOTHING)
    if command is not None and "{dsn}" not in command and DSN not in command:
        raise UsageError("The command names no copy.", f"{{dsn}}, or ${DSN} with --shell.", "No command was run.")
    to = NEWEST if to is None and command is None else to
    if to is not None and to not in GENERATIONS[1:]:
        raise UsageError(f"An upgrade to {to} on PostgreSQL.", "10 or 11.", NOTHING)
    words, other = Words.of(target.conninfo), Words.of(copy.conninfo)
    with open_store(target, family="busbar") as store:
        found = Upgrade(store.generation.stamp, upgrader=EMULATION if command is None else COMMAND)
        before = _before(found, store)
        schema = store.target.schema or ""
        here = copy.in_schema(schema)
        try:
            with opened(words) as source, opened(other) as con:
                require_another(source, con)
                was = Before.read(con, schema, store.directory / "upgrade.db", to or NEWEST)
                if _unfaithful(found, was, source, schema, store.directory / "source.db"):
                    return found
                if to is not None and to <= was.version:
                    raise UsageError(f"The store is of {was.version}.", "A generation above its own.", NOTHING)
                if kills:
                    _kill(found, other, con, schema, to if command is None else None, kills, seed)
                _run(found, other, con, schema, was, command, to, timeout, shell)
        except psycopg.Error as error:
            said = other.masked(words.masked(error))
            raise SnapshotError(f"The rehearsal stopped: {said}.", RESTORED, "The copy may be half changed.") from None
        if before is not None:
            compare_chains(found, here, before)
    return found


def _before(found: Upgrade, store: Store) -> Result | None:
    if store.generation.taken is None:
        found.not_compared.append("chains (of a development generation)")
        return None
    before = audit(store, only=(*PRE_FLIGHT, "chains"))
    note_before(found, before, PRE_FLIGHT)
    return before


def _unfaithful(found: Upgrade, was: Before, source: Con, schema: str, place: Path) -> bool:
    """Whether the copy is another store than the one that is to be upgraded; then nothing is run."""
    for line in was.foretold:
        if line.rule == "R16" and line.predicted:
            found.warnings.append(f"R16 {line.predicted:,} {line.what}")
    try:
        # The digests of the copy may be those that are due; the source is read in the same way by a book of its own.
        theirs = Before.read(source, schema, place, 0)
    except psycopg.Error:
        found.unsure.append("nothing was run: the store could not be held against the copy")
        return True
    same = theirs.counts.keys() == was.counts.keys() and theirs.version == was.version
    query = "SELECT name, digest, count(*) FROM digests GROUP BY name, digest ORDER BY name, digest"
    if same and theirs.book.execute(query).fetchall() == was.book.execute(query).fetchall():
        return False
    found.unsure.append("nothing was run: the copy does not hold what the store holds")
    return True


def _kill(found: Upgrade, other: Words, con: Con, schema: str, to: int | None, kills: int, seed: int) -> None:
    """End sessions of the emulation before a statement or the commit; each has to leave the copy as it was."""
    if to is None:
        found.unsure.append(f"{kills:,} kill(s) were asked for and not done: a command on PostgreSQL has one copy only")
        return
    before, last = digests(con, schema), len(plan(con, schema, to))
    chance = random.Random(seed)  # noqa: S311 - places, no secret
    points = [number if number <= last else chance.randrange(last + 1) for number in range(kills)]
    for point in points:
        victim = opened(other)
        emulate(victim, schema, to, stop_before=point)
        ended(con, victim.info.backend_pid)
        victim.close()
        changed = apart(before, digests(con, schema))
        state = f"part way in {', '.join(changed)}" if changed else "rolled back"
        found.kills.append(Kill(f"before statement {point + 1} of {last + 1}", state, "same" if not changed else state))
        if changed:
            found.breaks("kill", f"kill {len(found.kills)}", f"left {first(changed)} otherwise than before")


def _run(
    found: Upgrade,
    other: Words,
    con: Con,
    schema: str,
    was: Before,
    command: str | None,
    to: int | None,
    timeout: float,
    shell: bool,
) -> None:
    ran = _upgraded(other, schema, command, to or NEWEST, timeout, shell)
    found.ran.append(ran)
    if not ran.succeeded:
        found.breaks("command", "the upgrade", str(ran))
    _alone(found, con, ran)
    compare_pg(found, con, schema, was, to)
    if not ran.succeeded or any(each.rule == "R2" for each in found.broken):
        found.not_compared.append("a second run (the first did not upgrade)")
        return
    done = digests(con, schema)
    again = _upgraded(other, schema, command, to or NEWEST, timeout, shell)
    found.ran.append(again)
    _alone(found, con, again)
    if not again.succeeded:
        found.breaks("R13", "a second run", str(again))
    elif changed := apart(done, digests(con, schema)):
        found.breaks("R13", "a second run", f"changed {first(changed)}")


def _alone(found: Upgrade, con: Con, ran: Ran) -> None:
    """What a command left: processes, which were killed, and sessions, which would hold what is to be read."""
    note_left(found, ran)
    if left := users(con):
        for pid in left:
            ended(con, pid)
        found.unsure.append(f"the command left {len(left)} session(s) on the copy, which were ended")


def _upgraded(other: Words, schema: str, command: str | None, to: int, timeout: float, shell: bool) -> Ran:
    if command is None:
        began = time.monotonic()
        with opened(other) as con:
            con.execute("SELECT set_config('statement_timeout', %s, false)", (f"{int(timeout * 1000)}",))
            try:
                emulate(con, schema, to)
            except psycopg.Error as error:
                return Ran((EMULATION,), 1, time.monotonic() - began, f"rolled back: SQLSTATE {error.sqlstate}")
        return Ran((EMULATION,), 0, time.monotonic() - began, "")
    named = {name: value for name, value in other.given.items() if name not in _OURS}
    environment = {DSN: other.line()}
    if other.given.get("password"):
        environment["PGPASSWORD"] = str(other.given["password"])
    line = command.replace("{dsn}", shlex.quote(conninfos.make_conninfo("", **named)))
    return commands.run(line, timeout=timeout, environment=environment, secrets=other.secrets, shell=shell, alone=True)
