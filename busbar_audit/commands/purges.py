"""What the next purge would take, and what came and went."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from busbar_audit import console
from busbar_audit.commands.options import (
    AsOfOption,
    FamilyOption,
    JsonOption,
    PolicyOption,
    SchemaOption,
    TargetArgument,
    database,
    moment,
)
from busbar_audit.commands.showing import show
from busbar_audit.errors import UsageError
from busbar_audit.policy import Policy, read_policy
from busbar_audit.store import Store, find_stores, open_store


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
    now = moment(as_of) or datetime.now(UTC)
    before = moment(cutoff, "--cutoff")
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
            database=None if copy is None else database(copy),
        )
    if out is not None:
        planning.write(made, out)
    return show(made.as_dict(), planning.lines(made), made.exit_code, as_json)


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
    return show(made.as_dict(), comparison.lines(made), made.exit_code, as_json)
