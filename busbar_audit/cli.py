"""The command `busbar-audit`: which commands there are, and how each ends with a word and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from busbar_audit import exits
from busbar_audit.commands import bounds, desk, purges, rehearsals, runs, store, synthesis, witnesses
from busbar_audit.result import version

app = typer.Typer(
    name="busbar-audit",
    help="Audit the durable stores of agent systems. Exit: 0 clean, 1 findings, 2 usage, 3 inconclusive.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(store.inspect)
app.command("checks")(store.list_checks)
app.command()(runs.audit)
app.command()(runs.report)
app.command()(runs.verify)
app.command()(desk.evidence)
app.command()(synthesis.synth)
app.command()(rehearsals.rehearse)
app.command()(bounds.bounds)
app.command()(purges.retention)
app.command()(synthesis.demo)
app.command()(desk.lab)

witness_app = typer.Typer(help="Look at witnesses, or begin one anew for a reason.", no_args_is_help=True)
witness_app.command()(witnesses.show)
witness_app.command()(witnesses.adopt)
app.add_typer(witness_app, name="witness")


def main() -> None:
    """Run the command; every way out has one of the four exit codes."""
    arguments = sys.argv[1:]

    def call() -> object:
        # Not by calling `app`: Typer would turn an interrupt into 130 and a closed pipe into 1.
        command = typer.main.get_command(app)
        with command.make_context("busbar-audit", list(arguments)) as context:
            return command.invoke(context)

    judging = bool(arguments) and arguments[0] in ("audit", "bounds", "report", "rehearse", "retention", "verify")
    sys.exit(exits.run(call, judging=judging, word_to_stderr="--json" in arguments))


@app.callback(invoke_without_command=True)
def _version(
    show: Annotated[bool, typer.Option("--version", help="Say the version and end.")] = False,
) -> None:
    if show:
        print(f"busbar-audit {version()}")
        raise typer.Exit


if __name__ == "__main__":
    main()
