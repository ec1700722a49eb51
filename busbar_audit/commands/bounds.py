"""How long an upgrade of a workspace takes at most."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from busbar_audit import console
from busbar_audit.commands.options import JsonOption, TargetArgument
from busbar_audit.commands.showing import show
from busbar_audit.errors import UsageError
from busbar_audit.store import open_store
from busbar_audit.text import printable

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def bounds(
    target: TargetArgument,
    budget: Annotated[str, typer.Option(metavar="TIME", help="What the upgrade may take: 90s, 10m, 2h.")] = "10m",
    rehearsal: Annotated[str, typer.Option(metavar="TIME", help="What the ladder may take.")] = "8m",
    like: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Shape the ladder like this store; by default like TARGET.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=20, help="Runs of each rung; the median counts.")] = 1,
    factor: Annotated[
        float, typer.Option(min=0.01, max=1000, help="How many times as slow the upgrade's machine is as the figures'.")
    ] = 1.0,
    as_json: JsonOption = False,
) -> int:
    """maka: bound the time of converting a workspace, by a ladder of synthetic sessions and by the product's figures."""
    from busbar_audit.rehearsal import bounds as bounding
    from busbar_audit.rehearsal import ladder
    from busbar_audit.rehearsal.cost import Turns
    from busbar_audit.rehearsal.ledgerstate import sessions

    allowed, spent = seconds(budget, "--budget"), seconds(rehearsal, "--rehearsal")

    def told(name: str) -> dict[str, list[Turns]]:
        with open_store(name, family="maka", progress=say) as store:
            path = store.snapshot.path
            found = {each: ladder.told(path, each) for each in sessions(path)}
        return {each: turns for each, turns in found.items() if turns}

    with console.progress() as say:
        own = told(target)
        shaped = own if like is None else told(like)
        if like is not None and not shaped:
            raise UsageError("--like has no session that is to be converted.", "A store that has one.", "No --like.")
        found = bounding.bounds(
            own,
            [turn for turns in shaped.values() for turn in turns],
            budget=allowed,
            rehearsal=spent,
            repeats=repeats,
            factor=factor,
            say=say,
        )
    return show(found.as_dict(), list(bounding.lines(found)), found.exit_code, as_json)


def seconds(text: str, option: str) -> float:
    """Seconds of a time like 90s, 10m or 2h.

    Raises
    ------
    UsageError : it is none, or nothing.
    """
    match = re.fullmatch(r"([0-9]{1,6}(?:[.][0-9]{1,3})?)([smh]?)", text)
    if match is None or float(match[1]) == 0:
        raise UsageError(f"{option} {printable(text[:40])} is not a time.", "90s, 10m or 2h.")
    return float(match[1]) * _UNITS[match[2]]
