"""The command `busbar-audit`: collects options, calls one function each, ends with a word and an exit code."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from busbar_audit import checks as checking
from busbar_audit import console, exits
from busbar_audit.auditing import audit as run_audit
from busbar_audit.errors import ReportError, UsageError
from busbar_audit.policy import Policy, read_policy
from busbar_audit.result import run_dict, version
from busbar_audit.store import Store, find_stores, open_store
from busbar_audit.target import parse_target
from busbar_audit.text import printable
from busbar_audit.witnessing import adopt, advance, open_witness

app = typer.Typer(
    name="busbar-audit",
    help="Audit the durable stores of agent systems. Exit: 0 clean, 1 findings, 2 usage, 3 inconclusive.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A SQLite file, a directory holding one, postgresql://…, service=NAME, or env:NAME with one of these.",
    ),
]
SchemaOption = Annotated[
    str | None,
    typer.Option("--schema", metavar="NAME", help="PostgreSQL: this schema only; by default every one with a store."),
]
OnlyOption = Annotated[list[str] | None, typer.Option("--only", metavar="CODE|AREA", help="Run only these checks.")]
SkipOption = Annotated[list[str] | None, typer.Option("--skip", metavar="CODE|AREA", help="Leave these checks out.")]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="What is declared of the store: a TOML file.")
]
WitnessOption = Annotated[
    Path | None,
    typer.Option(
        "--witness", metavar="DIR", help="Folder of witnesses: what was proven before is held against the store."
    ),
]
BeforeOption = Annotated[
    str | None,
    typer.Option("--before", metavar="TARGET", help="An earlier copy of the store: imports since are held against it."),
]
ExportOption = Annotated[
    Path | None,
    typer.Option("--export", metavar="FILE", help="maka: answers of the application, held against both readers."),
]
FamilyOption = Annotated[str | None, typer.Option("--family", help="Accept only this family of stores.")]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="The clock of all checks (ISO 8601 with zone).")
]
FailOnOption = Annotated[
    str, typer.Option("--fail-on", metavar="SEVERITY", help="critical, high, medium, low or info.")
]
SignOption = Annotated[
    Path | None, typer.Option("--sign-key", metavar="FILE", help="Sign the manifest with this private Ed25519 key.")
]
HistoryOption = Annotated[
    Path | None,
    typer.Option("--history", metavar="DIR", help="Keep the run beside those before it; DIR/index.html compares them."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result alone; the last word goes to stderr.")]


def main() -> None:
    """Run the command; every way out has one of the four exit codes."""
    arguments = sys.argv[1:]

    def call() -> object:
        # Not by calling `app`: Typer would turn an interrupt into 130 and a closed pipe into 1.
        command = typer.main.get_command(app)
        with command.make_context("busbar-audit", list(arguments)) as context:
            return command.invoke(context)

    judging = bool(arguments) and arguments[0] in ("audit", "report", "rehearse", "retention", "verify")
    sys.exit(exits.run(call, judging=judging, word_to_stderr="--json" in arguments))


def _moment(text: str | None, option: str = "--as-of") -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {printable(text)}", "Expected ISO 8601 with a zone, such as 2026-03-01T00:00:00Z."
        ) from None
    if moment.tzinfo is None:
        raise UsageError(f"{option} {printable(text)}", "Expected a zone, such as 2026-03-01T00:00:00Z.")
    return moment


@app.command()
def inspect(target: TargetArgument, family: FamilyOption = None, schema: SchemaOption = None) -> int:
    """Say what a store is, what can be audited and what cannot and why."""
    for each in find_stores(target, family=family, schema=schema):
        with console.progress() as say, open_store(each, family=family, progress=say) as store:
            every = [check for check in checking.catalogue() if check.family == store.family]
            if store.generation.taken is None:
                listed = [(check, "its generation is not known") for check in every]
            else:
                listed = [(check, checking.not_applicable(check, store, {"as_of": 0})) for check in every]
            say.done()
            for line in console.store_lines(store, listed):
                print(line)
    return 0


@app.command("checks")
def list_checks(
    code: Annotated[str | None, typer.Argument(metavar="[CODE]", help="Show this one in full.")] = None,
    family: FamilyOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="The whole catalogue as a Markdown page.")] = False,
) -> int:
    """List the checks; with a code, its text, SQL and runbook."""
    if markdown:
        from busbar_audit.catalogue import page

        print(page(), end="")
        return 0
    if code is not None:
        named = [c for c in checking.catalogue() if c.code == code.upper()]
        if not named:
            raise UsageError(f"No check {code}.", "`busbar-audit checks` lists the codes.")
        for line in console.check_lines(named[0]):
            print(line)
        return 0
    listed = [c for c in checking.catalogue() if family in (None, c.family)]
    if not listed:
        raise UsageError(f"No check of family {family}.", "`busbar-audit checks` lists all of them.")
    for check in listed:
        print(f"{check.code:8}  {check.severity:8}  {check.area:10}  {check.title}")
    return 0


@app.command()
def audit(
    target: TargetArgument,
    only: OnlyOption = None,
    skip: SkipOption = None,
    family: FamilyOption = None,
    schema: SchemaOption = None,
    policy: PolicyOption = None,
    witness: WitnessOption = None,
    before: BeforeOption = None,
    export: ExportOption = None,
    as_of: AsOfOption = None,
    fail_on: FailOnOption = "medium",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write result.json and the other outputs here.")
    ] = None,
    history: HistoryOption = None,
    sign_key: SignOption = None,
    as_json: JsonOption = False,
) -> int:
    """Audit a store. The last line is one word: clean, findings or inconclusive."""
    declared = read_policy(policy) if policy is not None else None
    _one_place(out, history)
    if sign_key is not None and out is None and history is None:
        raise UsageError("--sign-key signs what --out writes.", "--out DIR beside it.")
    with console.progress() as say, ExitStack() as whole, ExitStack() as stack:
        results = []
        found = find_stores(target, family=family, schema=schema)
        earlier = out
        if history is not None:
            earlier, out = _next_run(whole, history, target)
        elif out is not None:
            from busbar_audit.reporting.publish import claimed

            whole.enter_context(claimed(out))
        for each in found:
            store = stack.enter_context(open_store(each, family=family, progress=say))
            kept = stack.enter_context(closing(open_witness(witness, store, earlier=earlier))) if witness else None
            results.append(
                run_audit(
                    store,
                    only=only or (),
                    skip=skip or (),
                    as_of=_moment(as_of),
                    fail_on=fail_on,
                    progress=say,
                    policy=declared,
                    witness=kept,
                    before=before,
                    export=export,
                )
            )
        document = run_dict(results)
        if out is not None:
            from busbar_audit.reporting.runner import write_report

            say("writing the outputs")
            write_report(results, out, sign_key, is_claimed=history is None)
        advance(results)
    return _show(document, as_json, [] if out is None else [f"written   {printable(str(out))}"])


def _one_place(out: Path | None, history: Path | None) -> None:
    if out is not None and history is not None:
        raise UsageError("--out and --history together.", "One of them: --history names the folder of each run itself.")


def _next_run(stack: ExitStack, history: Path, target: str) -> tuple[Path | None, Path]:
    """Begin a run of a history: the folder of the run before it, and its own."""
    from busbar_audit.reporting.history import latest, next_run

    named = parse_target(target)
    out = stack.enter_context(next_run(history, str(named.path or named.label)))
    return latest(history, named.label), out


def _show(run: Mapping[str, Any], as_json: bool, written: Sequence[str]) -> int:
    code: int = run["exit_code"]
    try:
        _print_run(run, as_json, written)
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader has seen enough, as `head` does; the verdict stands
    except OSError as error:
        raise ReportError(
            f"The result cannot be written to standard output: {error.strerror}.",
            "A place with room for it.",
            "Run the audit again; what --out named has been written.",
        ) from None
    return code


def _print_run(run: Mapping[str, Any], as_json: bool, written: Sequence[str]) -> None:
    if as_json:
        print(json.dumps(run, indent=1, ensure_ascii=True))
        print(run["verdict"], file=sys.stderr)
        return
    for document in run["stores"]:
        for line in console.document_lines(document):
            print(line)
    for line in (*run.get("incomplete", ()), *written):
        print(line)
    print(run["verdict"])


witness_app = typer.Typer(help="Look at witnesses, or begin one anew for a reason.", no_args_is_help=True)
app.add_typer(witness_app, name="witness")


@witness_app.command("show")
def witness_show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of witnesses.")],
    name: Annotated[str | None, typer.Argument(metavar="FILE", help="Only this one, with its chains.")] = None,
) -> int:
    """What the witnesses of a folder say."""
    for line in console.witness_lines(directory, name):
        print(line)
    return 0


@witness_app.command("adopt")
def witness_adopt(
    target: TargetArgument,
    directory: Annotated[Path, typer.Option("--witness", metavar="DIR", help="Folder of witnesses.")],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why the store may be as it is; kept for ever.")
    ],
    family: FamilyOption = None,
    schema: SchemaOption = None,
) -> int:
    """Take a store as it is for what is witnessed from now on: after a restore, a move, or chains legally begun anew."""
    with console.progress() as say, ExitStack() as stack:
        for each in find_stores(target, family=family, schema=schema):
            store = stack.enter_context(open_store(each, family=family, progress=say))
            kept = stack.enter_context(closing(open_witness(directory, store)))
            result = run_audit(store, progress=say, witness=kept)
            adopted = adopt(kept, result, reason)
            print(f"{store.name} · {printable(store.target.label)}")
            print(f"witness   {kept.file.name}: {adopted} intact chain(s) adopted: {printable(reason)}")
    return 0


@app.command()
def report(
    target: TargetArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of the report; an earlier report there is replaced."),
    ] = None,
    history: HistoryOption = None,
    notebook: Annotated[
        list[str] | None, typer.Option("--notebook", metavar="NAME", help="Only these notebooks.")
    ] = None,
    only: OnlyOption = None,
    skip: SkipOption = None,
    family: FamilyOption = None,
    schema: SchemaOption = None,
    policy: PolicyOption = None,
    witness: WitnessOption = None,
    before: BeforeOption = None,
    as_of: AsOfOption = None,
    fail_on: FailOnOption = "medium",
    sign_key: SignOption = None,
    as_json: JsonOption = False,
) -> int:
    """Audit a store and publish notebooks, HTML and machine outputs."""
    from busbar_audit.reporting.runner import report as run_report

    _one_place(out, history)
    with console.progress() as say, ExitStack() as whole:
        earlier = None
        if history is not None:
            find_stores(target, family=family, schema=schema)  # a wrong call makes no history
            earlier, out = _next_run(whole, history, target)
        if out is None:
            raise UsageError("Missing option '--out'.", "--out DIR, or --history DIR.")
        outcome = run_report(
            target,
            out,
            notebooks=notebook,
            family=family,
            schema=schema,
            only=only or (),
            skip=skip or (),
            policy=policy,
            witness=witness,
            before=before,
            earlier=earlier,
            as_of=_moment(as_of),
            fail_on=fail_on,
            sign_key=sign_key,
            progress=say,
        )
    return _show(outcome.run, as_json, [f"report    {printable(str(out / 'index.html'))}"])


@app.command()
def verify(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A folder that --out has written.")],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The public Ed25519 key that its manifest is signed with."),
    ] = None,
) -> int:
    """Check that a report folder is what was written: every file, the manifest, its signature. No store is needed."""
    from busbar_audit.reporting import verification

    found = verification.verify(report, key)
    for line in verification.lines(found, report):
        print(line)
    print("clean" if not found.differences else "findings")
    return found.exit_code


@app.command()
def synth(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="busbar, maka (SQLite), busbar-pg, a2a (PostgreSQL), a2a-python (both)."),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="PATH|TARGET",
            help="File to write, which must not exist; for busbar-pg postgresql://…, service=NAME or env:NAME.",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="NAME", help="PostgreSQL: schema to write; it must hold no tables."),
    ] = None,
    generation: Annotated[
        int | None,
        typer.Option(
            help="Schema generation: busbar 5 to 12 (default 9), busbar-pg 6, 10 (default) or 11, maka 4 to 18 (default 18), "
            "a2a 1 to 4, 11 to 14 (v1 to v4, default 14), a2a-python 1 to 4 (default 4)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 0,
    size: Annotated[int, typer.Option("--size", min=0, help="Number of calls or events; the rest follows.")] = 1000,
    bodies: Annotated[str, typer.Option(help="From generation 10 on: typed, neutral or migrated.")] = "typed",
    odd: Annotated[list[str] | None, typer.Option("--odd", metavar="NAME", help="A legal but odd shape.")] = None,
    fault: Annotated[list[str] | None, typer.Option("--fault", metavar="NAME", help="Plant this fault.")] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="a2a: where the policy goes that accepts its helper functions."),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Name the odd shapes and faults.")] = False,
) -> int:
    """Write a synthetic store, healthy or with faults planted."""
    from busbar_audit import synth as making

    if kind not in making.KINDS:
        raise UsageError(f"synth {kind}", f"This version writes: {', '.join(making.KINDS)}.")
    if listing:
        for line in making.listing(kind):
            print(line)
        return 0
    if out is None:
        raise UsageError("synth needs --out PATH, or a database for busbar-pg.")
    with console.progress() as say:
        options: dict[str, Any] = {
            "generation": making.KINDS[kind] if generation is None else generation,
            "seed": seed,
            "size": size,
            "bodies": bodies,
            "odd": odd or (),
            "faults": fault or (),
            "progress": say,
        }
        if kind in making.A2A:
            del options["bodies"]
            written = making.write_a2a_kind(kind, out, schema, policy, **options)
        else:
            written = _written(kind, out, schema, options)
        for line in written:
            print(line)
    return 0


def _written(kind: str, out: str, schema: str | None, options: Mapping[str, Any]) -> Iterator[str]:
    from busbar_audit import synth as making

    if kind == "busbar-pg":
        if schema is None:
            raise UsageError("synth busbar-pg needs --schema NAME.", "A schema that holds no tables, or a new one.")
        return making.write_postgres(out, schema, **options)
    if schema is not None or "://" in out or out.startswith(("service=", "env:")):
        raise UsageError(f"synth {kind} writes a SQLite file.", "--out PATH.", "For PostgreSQL it is synth busbar-pg.")
    if kind == "maka":
        if options["odd"]:
            raise UsageError("synth maka --odd", "Every legal shape of a workspace is in each one that is written.")
        wanted = ("generation", "seed", "size", "faults")
        return making.workspace.write(Path(out), **{name: options[name] for name in wanted})
    return making.write(Path(out), **options)


@app.command()
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
            metavar="TARGET", help="--migration: a restored database that nobody uses. It is changed for good."
        ),
    ] = None,
    policy: PolicyOption = None,
    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade", help="busbar on SQLite: run --command on a private copy, and hold it against before."
        ),
    ] = False,
    command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="--upgrade: the upgrade; {copy} in it becomes the path of the copy."),
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
        from busbar_audit.rehearsal import migration_command

        return migration_command.run(
            target, copy, migration, schema=schema, policy=policy, points=points, timeout=timeout, as_json=as_json
        )
    if copy is not None or policy is not None:
        raise UsageError("rehearse --copy and --policy are for --migration FILE.", "--migration FILE.")
    if upgrade:
        if command is None or restart_proof or conversion or out is not None:
            raise UsageError(
                "rehearse --upgrade needs --command CMD, and takes no other rehearsal and no --out.",
                "--json gives the result.",
            )
        return _upgrade(target, command, timeout, shell, kills, as_json)
    if conversion:
        if restart_proof or out is not None:
            raise UsageError(
                "rehearse --conversion takes neither --restart-proof nor --out.", "--json gives the result."
            )
        return _conversion(target, points, kills, session, after, as_json)
    if not restart_proof or write is None or restart is None:
        raise UsageError(
            "rehearse needs --restart-proof with --write CMD and --restart CMD, --upgrade with --command, --conversion, "
            "or --migration FILE.",
            "This version has no other rehearsal.",
        )
    from busbar_audit.rehearsal.restart import Commands, Proof
    from busbar_audit.rehearsal.restart import restart_proof as prove

    documents: list[Mapping[str, Any]] = []

    def keep(proof: Proof) -> None:
        documents.append(run_dict([proof.result]))
        if out is not None:
            from busbar_audit.reporting.runner import write_report

            write_report([proof.result], out)

    with console.progress() as say:
        commands = Commands(write, restart, read, purge, timeout, shell)
        proof = prove(target, commands, schema=schema, keep=keep, progress=say)
    written = [f"{name:9} {printable(str(ended))}" for name, ended in proof.ran]
    return _show(documents[0], as_json, written + ([] if out is None else [f"written   {printable(str(out))}"]))


def _database(copy: str) -> str:
    target = parse_target(copy)
    if target.conninfo is None:
        raise UsageError("--copy names a file.", "A PostgreSQL database: postgresql://…, service=NAME or env:NAME.")
    return target.conninfo


@app.command()
def retention(
    target: TargetArgument,
    cutoff: Annotated[
        str | None,
        typer.Option("--cutoff", metavar="TIME", help="Of every verb: ISO 8601 with zone; else those of the policy."),
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="VERB", help="Only these verbs.")] = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Purge a private copy for real and compare row for row.")
    ] = False,
    copy: Annotated[
        str | None,
        typer.Option(
            "--copy", metavar="TARGET", help="PostgreSQL: a restored database that nobody uses, for --confirm."
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option("--since", metavar="REPORT", help="Say instead what came and went since this earlier report."),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option("--before", metavar="TARGET", help="The same held against an earlier copy of the store."),
    ] = None,
    policy: PolicyOption = None,
    family: FamilyOption = None,
    schema: SchemaOption = None,
    as_of: AsOfOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the plan here as JSON.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Predict which rows the next purge would take, and what it would hurt. Nothing is deleted from the store."""
    from busbar_audit.retention import plan as planning

    declared = read_policy(policy) if policy is not None else None
    now = _moment(as_of) or datetime.now(UTC)
    before = _moment(cutoff, "--cutoff")
    if since is not None and earlier is not None:
        raise UsageError("--since and --before together.", "One of them: a report, or an earlier copy of the store.")
    if (since or earlier) and (cutoff or only or confirm or copy or out):
        raise UsageError("--since and --before look back.", "Without --cutoff, --only, --confirm, --copy and --out.")
    found = find_stores(target, family=family, schema=schema)
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} stores are there.", "One, named by --schema or --family.", "A purge is of one store."
        )
    with console.progress() as say, open_store(found[0], family=family, progress=say) as store:
        if since is not None or earlier is not None:
            return _since(store, since or str(earlier), int(now.timestamp()), declared, as_json, say)
        made = planning.plan(
            store,
            as_of=int(now.timestamp()),
            cutoff=None if before is None else int(before.timestamp()),
            policy=declared,
            only=only or (),
            confirm=confirm,
            database=None if copy is None else _database(copy),
        )
    if out is not None:
        planning.write(made, out)
    word = made.as_dict()["verdict"]
    if as_json:
        print(json.dumps(made.as_dict(), indent=1, ensure_ascii=True))
        print(word, file=sys.stderr)
    else:
        for line in planning.lines(made):
            print(line)
        print(word)
    return made.exit_code


def _since(
    store: Store, what: Path | str, as_of: int, policy: Policy | None, as_json: bool, say: Callable[[str], None]
) -> int:
    """Hold a report (a path) or an earlier copy (a target) against a store."""
    from busbar_audit.retention import comparison

    if isinstance(what, Path):
        made = comparison.compare(store, what, as_of=as_of, policy=policy)
    else:
        with open_store(what, family=store.family, progress=say) as before:
            made = comparison.compare_stores(store, before, as_of=as_of, policy=policy)
    told = made.as_dict()
    if as_json:
        print(json.dumps(told, indent=1, ensure_ascii=True))
    else:
        for line in comparison.lines(made):
            print(line)
    print(told["verdict"], file=sys.stderr if as_json else sys.stdout)
    return made.exit_code


def _upgrade(target: str, command: str, timeout: float, shell: bool, kills: int, as_json: bool) -> int:
    from busbar_audit.rehearsal import upgrade as rehearsing

    with console.progress() as say, open_store(target, family="busbar", progress=say) as store:
        say("running the upgrade on a copy")
        found = rehearsing.rehearse_upgrade(store, command, timeout=timeout, shell=shell, kills=kills)
    told = found.as_dict()
    if as_json:
        print(json.dumps(told, indent=1, ensure_ascii=True))
        print(told["verdict"], file=sys.stderr)
    else:
        for line in rehearsing.lines(found):
            print(line)
        print(told["verdict"])
    return found.exit_code


def _conversion(target: str, points: int, kills: int, session: str | None, after: str | None, as_json: bool) -> int:
    from busbar_audit.rehearsal import conversion as rehearsing

    with console.progress() as say, ExitStack() as stack:
        path = stack.enter_context(open_store(target, family="maka", progress=say)).snapshot.path
        there = rehearsing.sessions(path)
        if session is not None and session not in there:
            raise UsageError(
                f"Session {printable(session)} has nothing to convert.",
                "One with rows that is not said to be converted.",
            )
        chosen = there if session is None else [session]
        if after is not None:
            later = stack.enter_context(open_store(after, family="maka", progress=say)).snapshot.path
            foretold = [rehearsing.against(path, later, each) for each in chosen]
            told, lines = rehearsing.document(foretold), rehearsing.told(foretold)
        else:
            found = []
            for number, each in enumerate(chosen, 1):
                say(f"converting session {number} of {len(chosen)}")
                found.append(rehearsing.rehearse_session(path, each, points=points, kills=kills, folder=path.parent))
            told, lines = rehearsing.document(found), rehearsing.lines(found)
    if as_json:
        print(json.dumps(told, indent=1, ensure_ascii=True))
        print(told["verdict"], file=sys.stderr)
    else:
        for line in lines:
            print(line)
        if not chosen:
            print("no session has rows that are not converted: nothing was rehearsed")
        print(told["verdict"])
    code: int = told["exit_code"]
    return code


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for stores and reports.")] = Path("demo"),
) -> int:
    """Write sample stores, audit and report them, and say where to look."""
    from busbar_audit.demo import run

    with console.progress() as say:
        lines, code = run(out, say)
    for line in lines:
        print(line)
    return code


@app.command()
def lab(
    target: TargetArgument,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", metavar="DIR", help="Keep the notebooks here; by default a private copy goes at the end."
        ),
    ] = None,
) -> int:
    """Open JupyterLab on a copy of the notebooks; the target travels by environment only."""
    from busbar_audit.notebooks import copy_notebooks

    with open_store(target) as store:
        print(f"{store.name} · {printable(store.target.label)}", file=sys.stderr)
    as_given = target.startswith("env:") or parse_target(target).kind == "postgres"
    environment = {**os.environ, "BUSBAR_AUDIT_TARGET": target if as_given else str(Path(target).absolute())}
    private = Path(tempfile.mkdtemp(prefix="busbar-audit-lab-")) if folder is None else folder
    try:
        copy_notebooks(private)
        import subprocess

        ended = subprocess.run(
            [sys.executable, "-m", "jupyterlab", "--notebook-dir", str(private)], env=environment, check=False
        )
        return 0 if ended.returncode == 0 else 3
    finally:
        if folder is None:
            shutil.rmtree(private, ignore_errors=True)


@app.callback(invoke_without_command=True)
def _version(
    show: Annotated[bool, typer.Option("--version", help="Say the version and end.")] = False,
) -> None:
    if show:
        print(f"busbar-audit {version()}")
        raise typer.Exit


if __name__ == "__main__":
    main()
