"""The restart proof: does the store keep what it accepted, across a real restart, and does a purge take no more than it may?

A snapshot of the store is taken before and after each of the operator's commands; each becomes rows of (phase, subject,
scope, place, state, digest), and the checks BUS-D05 to BUS-D08 compare the phases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from busbar_audit.auditing import RestartRow, audit
from busbar_audit.errors import ReportError
from busbar_audit.rehearsal.commands import Ran, run
from busbar_audit.rehearsal.rows import phase_rows, require_provable
from busbar_audit.result import Result
from busbar_audit.snapshot.conninfo import Words
from busbar_audit.store import open_store
from busbar_audit.stores import busbar
from busbar_audit.target import Target
from busbar_audit.text import printable

# The verdict is about the proof alone: what else is to be said of the store, an audit says.
PROOF = ("BUS-S01", "BUS-D05", "BUS-D06", "BUS-D07", "BUS-D08")


@dataclass(frozen=True)
class Commands:
    """The operator's commands: write some records, restart the gateway, optionally read and purge."""

    write: str
    restart: str
    read: str | None = None
    purge: str | None = None
    timeout: float = 120.0
    shell: bool = False


@dataclass(frozen=True)
class Proof:
    """The audited end state, and how the commands ended."""

    result: Result
    ran: tuple[tuple[str, Ran], ...]


def restart_proof(
    target: str,
    commands: Commands,
    *,
    schema: str | None = None,
    keep: Callable[[Proof], None],
    progress: Callable[[str], None] | None = None,
) -> Proof:
    """Snapshot, write, snapshot, restart, snapshot, purge, snapshot; then judge what the snapshots show.

    Parameters
    ----------
    target : the store as its own gateway uses it.
    schema : PostgreSQL only: where the store is, if the database holds several.
    keep : called with the proof while the store is still open, to write a report.
    progress : called with a line of text at each step.

    Raises
    ------
    UsageError, SnapshotError : the store cannot be proven; no command was run.
    ReportError : a command failed or was stopped, so nothing is proven.
    """
    say = progress or (lambda _: None)
    rows: list[RestartRow] = []
    ran: list[tuple[str, Ran]] = []
    steps = [("write", "written", commands.write), ("restart", "restarted", commands.restart)]
    steps += [("read", "", commands.read)] if commands.read else []
    steps += [("purge", "purged", commands.purge)] if commands.purge else []

    with open_store(target, family=busbar.NAME, schema=schema, progress=progress) as store:
        require_provable(store)
        rows.extend(phase_rows("before", store))
        store.source.finish()
        named = store.target
    environment, secrets = _told(named, target)
    for at, (name, phase, command) in enumerate(steps):
        say(f"running the {name} command")
        ended = run(command, timeout=commands.timeout, environment=environment, secrets=secrets, shell=commands.shell)
        ran.append((name, ended))
        if not ended.succeeded:
            raise ReportError(
                f"The {name} command did not succeed: {ended}.\n{printable(ended.output[-2000:].strip(), keep=chr(10))}",
                "Every command has to end with exit code 0 before anything is proven.",
                "Nothing is said about the store. Mend the command, or raise --timeout.",
            )
        if not phase:
            continue
        with open_store(target, family=busbar.NAME, schema=named.schema, progress=progress) as store:
            rows.extend(phase_rows(phase, store))
            if all(not later for _, later, _ in steps[at + 1 :]):
                proof = Proof(audit(store, only=PROOF, restart=rows, progress=progress), tuple(ran))
                keep(proof)
            else:
                store.source.finish()
    return proof


def _told(named: Target, given: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """What the commands find in their environment, and what of it must not be shown.

    By environment only: a command line can be read by every user of the machine.
    """
    words = os.environ[given.removeprefix("env:")] if given.startswith("env:") else given
    if named.conninfo is None:
        return {"BUSBAR_AUDIT_TARGET": words}, ()
    told = {"BUSBAR_AUDIT_TARGET": words, "BUSBAR_AUDIT_SCHEMA": named.schema or ""}
    password = os.environ.get("PGPASSWORD")
    return told, (*Words.of(named.conninfo).secrets, *([password] if password else []))
