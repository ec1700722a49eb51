"""One run over a store: audit, report, and the check of what they wrote."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from busbar_audit import console
from busbar_audit.auditing import audit as run_audit
from busbar_audit.commands.options import (
    AsOfOption,
    BeforeOption,
    ExportOption,
    FailOnOption,
    FamilyOption,
    HistoryOption,
    JsonOption,
    OnlyOption,
    PolicyOption,
    SchemaOption,
    SignOption,
    SkipOption,
    TargetArgument,
    WitnessOption,
    moment,
)
from busbar_audit.commands.showing import show_run, written_out
from busbar_audit.errors import UsageError
from busbar_audit.policy import read_policy
from busbar_audit.result import run_dict
from busbar_audit.store import find_stores, open_store
from busbar_audit.target import parse_target
from busbar_audit.text import printable
from busbar_audit.witnessing import advance, open_witness


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
                    as_of=moment(as_of),
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
    return show_run(document, as_json, [] if out is None else [f"written   {printable(str(out))}"])


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
            as_of=moment(as_of),
            fail_on=fail_on,
            sign_key=sign_key,
            progress=say,
        )
    return show_run(outcome.run, as_json, [f"report    {printable(str(out / 'index.html'))}"])


def verify(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A folder that --out has written, or a case file.")],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The public Ed25519 key that its manifest is signed with."),
    ] = None,
) -> int:
    """Check that a report folder is what was written: every file, the manifest, its signature. No store is needed."""
    from busbar_audit.reporting import verification

    found = verification.verify(report, key)
    with written_out():
        for line in verification.lines(found, report):
            print(line)
        print("clean" if not found.differences else "findings")
    return found.exit_code


def _one_place(out: Path | None, history: Path | None) -> None:
    if out is not None and history is not None:
        raise UsageError("--out and --history together.", "One of them: --history names the folder of each run itself.")


def _next_run(stack: ExitStack, history: Path, target: str) -> tuple[Path | None, Path]:
    """Begin a run of a history: the folder of the run before it, and its own."""
    from busbar_audit.reporting.history import latest, next_run

    named = parse_target(target)
    out = stack.enter_context(next_run(history, str(named.path or named.label)))
    return latest(history, named.label), out
