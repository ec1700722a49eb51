"""Rehearsals: a restart, an upgrade, a conversion, a migration."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from busbar_audit import console
from busbar_audit.commands.options import JsonOption, PolicyOption, SchemaOption, TargetArgument
from busbar_audit.commands.showing import show, show_run
from busbar_audit.errors import UsageError
from busbar_audit.policy import read_policy
from busbar_audit.result import run_dict
from busbar_audit.store import open_store
from busbar_audit.target import parse_target
from busbar_audit.text import printable

if TYPE_CHECKING:
    from busbar_audit.rehearsal.restart import Commands, Proof


def rehearse(
    target: TargetArgument,
    restart_proof: Annotated[
        bool, typer.Option("--restart-proof", help="Prove that the store keeps what it accepts across a restart.")
    ] = False,
    write: Annotated[str | None, typer.Option(metavar="CMD", help="Writes some records through the gateway.")] = None,
    restart: Annotated[str | None, typer.Option(metavar="CMD", help="Restarts the gateway.")] = None,
    read: Annotated[str | None, typer.Option(metavar="CMD", help="Reads the records back through the gateway.")] = None,
    purge: Annotated[str | None, typer.Option(metavar="CMD", help="Runs the gateway's purge.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for each command.")] = 120.0,
    shell: Annotated[bool, typer.Option("--shell", help="Run the commands by /bin/sh.")] = False,
    conversion: Annotated[
        bool,
        typer.Option("--conversion", help="maka: convert each session on a copy, cut at every append, and resume it."),
    ] = False,
    points: Annotated[int, typer.Option(min=2, help="--conversion, --migration: cut at so many points at most.")] = 120,
    kills: Annotated[
        int, typer.Option(min=0, help="--conversion: kill a process at so many; --upgrade: so often.")
    ] = 0,
    session: Annotated[str | None, typer.Option(metavar="ID", help="--conversion: this session only.")] = None,
    after: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET", help="--conversion: the store as an upgrade left it, held against the prediction."
        ),
    ] = None,
    migration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A2A: run this SQL on --copy and judge what it did.")
    ] = None,
    copy: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET", help="--migration, --upgrade: a restored database that nobody uses, changed for good."
        ),
    ] = None,
    policy: PolicyOption = None,
    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade", help="busbar: upgrade a copy, by --command or as we emulate it, and compare it with before."
        ),
    ] = False,
    command: Annotated[
        str | None,
        typer.Option(
            metavar="CMD", help="--upgrade: the upgrade; {copy} becomes the path of the copy, {dsn} its words of libpq."
        ),
    ] = None,
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="N", help="--upgrade: the generation to reach; needed for no --command."),
    ] = None,
    schema: SchemaOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the outputs.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Rehearse on a store: a restart, an upgrade, a conversion of sessions, or the migration of an A2A store."""
    if migration is not None:
        if conversion or restart_proof or upgrade or out is not None or copy is None:
            raise UsageError(
                "rehearse --migration needs --copy, and takes no other rehearsal and no --out.",
                "--json gives the result.",
            )
        return _migration(target, copy, migration, schema, policy, points, timeout, as_json)
    if policy is not None or (copy is not None and not upgrade):
        raise UsageError(
            "rehearse --policy is for --migration FILE, --copy for it and for --upgrade.", "--migration FILE."
        )
    if upgrade:
        if (command is None and to is None) or restart_proof or conversion or out is not None:
            raise UsageError(
                "rehearse --upgrade needs --command CMD or --to GENERATION, and takes no other rehearsal and no --out.",
                "--json gives the result.",
            )
        return _upgrade(target, command, to, copy, schema, timeout, shell, kills, as_json)
    if conversion:
        if restart_proof or out is not None:
            raise UsageError(
                "rehearse --conversion takes neither --restart-proof nor --out.", "--json gives the result."
            )
        return _conversion(target, points, kills, session, after, as_json)
    if not restart_proof or write is None or restart is None:
        raise UsageError(
            "rehearse needs --restart-proof with --write CMD and --restart CMD, --upgrade with --command or --to, "
            "--conversion, or --migration FILE.",
            "This version has no other rehearsal.",
        )
    from busbar_audit.rehearsal.restart import Commands

    commands = Commands(write, restart, read, purge, timeout, shell)
    return _restart_proof(target, commands, schema, out, as_json)


def _restart_proof(target: str, commands: Commands, schema: str | None, out: Path | None, as_json: bool) -> int:
    from busbar_audit.rehearsal.restart import restart_proof as prove

    documents: list[Mapping[str, Any]] = []

    def keep(proof: Proof) -> None:
        documents.append(run_dict([proof.result]))
        if out is not None:
            from busbar_audit.reporting.runner import write_report

            write_report([proof.result], out)

    with console.progress() as say:
        proof = prove(target, commands, schema=schema, keep=keep, progress=say)
    written = [f"{name:9} {printable(str(ended))}" for name, ended in proof.ran]
    return show_run(documents[0], as_json, written + ([] if out is None else [f"written   {printable(str(out))}"]))


def _migration(
    target: str,
    copy: str,
    migration: Path,
    schema: str | None,
    policy: Path | None,
    points: int,
    timeout: float,
    as_json: bool,
) -> int:
    from busbar_audit.rehearsal.a2a_lines import lines
    from busbar_audit.rehearsal.a2a_migration import document
    from busbar_audit.rehearsal.a2a_migration import rehearse as run
    from busbar_audit.rehearsal.script import read_script

    declared = read_policy(policy) if policy is not None else None
    statements = read_script(migration)
    named = parse_target(target)
    found = run(
        named if schema is None else named.in_schema(schema),
        parse_target(copy),
        statements,
        accepted=() if declared is None else declared.helpers,
        role=None if declared is None else declared.runtime_role,
        expect_empty=declared is not None and declared.expect_empty,
        points=points,
        timeout=timeout,
    )
    return show(document(found), lines(found), found.verdict.exit_code, as_json)


def _upgrade(
    target: str,
    command: str | None,
    to: int | None,
    copy: str | None,
    schema: str | None,
    timeout: float,
    shell: bool,
    kills: int,
    as_json: bool,
) -> int:
    from busbar_audit.rehearsal import upgrade as rehearsing
    from busbar_audit.rehearsal.upgrade_pg import rehearse_upgrade_pg
    from busbar_audit.rehearsal.upgrade_result import lines

    named = parse_target(target)
    with console.progress() as say:
        if named.conninfo is not None:
            if copy is None:
                raise UsageError(
                    "An upgrade of a PostgreSQL store needs --copy.",
                    "A database restored from it; it is changed for good.",
                )
            say("running the upgrade on the copy")
            found = rehearse_upgrade_pg(
                named if schema is None else named.in_schema(schema),
                parse_target(copy),
                command,
                to=to,
                timeout=timeout,
                shell=shell,
                kills=kills,
            )
        elif copy is not None:
            raise UsageError("A SQLite store is copied by itself.", "No --copy.")
        else:
            with open_store(named, family="busbar", progress=say) as store:
                say("running the upgrade on a copy")
                found = rehearsing.rehearse_upgrade(store, command, to=to, timeout=timeout, shell=shell, kills=kills)
    return show(found.as_dict(), lines(found), found.exit_code, as_json)


def _conversion(target: str, points: int, kills: int, session: str | None, after: str | None, as_json: bool) -> int:
    from busbar_audit.rehearsal import conversion as rehearsing
    from busbar_audit.rehearsal import foretold as predicting
    from busbar_audit.rehearsal.ledgerstate import sessions

    with console.progress() as say, ExitStack() as stack:
        path = stack.enter_context(open_store(target, family="maka", progress=say)).snapshot.path
        there = sessions(path)
        if session is not None and session not in there:
            raise UsageError(
                f"Session {printable(session)} has nothing to convert.",
                "One with rows that is not said to be converted.",
            )
        chosen = there if session is None else [session]
        if after is not None:
            later = stack.enter_context(open_store(after, family="maka", progress=say)).snapshot.path
            foretold = [predicting.against(path, later, each) for each in chosen]
            told, lines = rehearsing.document(foretold), list(predicting.told(foretold))
        else:
            found = []
            for number, each in enumerate(chosen, 1):
                say(f"converting session {number} of {len(chosen)}")
                found.append(rehearsing.rehearse_session(path, each, points=points, kills=kills, folder=path.parent))
            told, lines = rehearsing.document(found), list(rehearsing.lines(found))
    if not chosen:
        lines.append("no session has rows that are not converted: nothing was rehearsed")
    return show(told, lines, told["exit_code"], as_json)
