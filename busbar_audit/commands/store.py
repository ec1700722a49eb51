"""What a store is, and what is checked in it."""

from __future__ import annotations

from typing import Annotated

import typer

from busbar_audit import checks as checking
from busbar_audit import console
from busbar_audit.commands.options import FamilyOption, SchemaOption, TargetArgument
from busbar_audit.errors import UsageError
from busbar_audit.store import find_stores, open_store


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
