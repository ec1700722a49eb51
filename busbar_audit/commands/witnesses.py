"""Look at witnesses, or begin one anew for a reason."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from busbar_audit import console
from busbar_audit.auditing import audit as run_audit
from busbar_audit.commands.options import FamilyOption, SchemaOption, TargetArgument
from busbar_audit.store import find_stores, open_store
from busbar_audit.text import printable
from busbar_audit.witnessing import adopt as take
from busbar_audit.witnessing import open_witness


def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of witnesses.")],
    name: Annotated[str | None, typer.Argument(metavar="FILE", help="Only this one, with its chains.")] = None,
) -> int:
    """What the witnesses of a folder say."""
    for line in console.witness_lines(directory, name):
        print(line)
    return 0


def adopt(
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
            adopted = take(kept, result, reason)
            print(f"{store.name} · {printable(store.target.label)}")
            print(f"witness   {kept.file.name}: {adopted} intact chain(s) adopted: {printable(reason)}")
    return 0
