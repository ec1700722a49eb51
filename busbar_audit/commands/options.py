"""Options that several commands share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from busbar_audit.errors import UsageError
from busbar_audit.target import parse_target
from busbar_audit.text import printable

# Of times: stores count seconds from its beginning.
_FIRST_YEAR = 1970

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


def moment(text: str | None, option: str = "--as-of") -> datetime | None:
    """A time with zone, or None where none was given; anything else is a wrong call."""
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
    try:
        if (moment := moment.astimezone(UTC)).year >= _FIRST_YEAR:
            return moment
    except OverflowError:
        pass
    raise UsageError(f"{option} {printable(text)}", f"Expected a time of the years {_FIRST_YEAR} to 9999, in UTC.")


def database(copy: str) -> str:
    """The connection of a copy, which must be a PostgreSQL database."""
    target = parse_target(copy)
    if target.conninfo is None:
        raise UsageError("--copy names a file.", "A PostgreSQL database: postgresql://…, service=NAME or env:NAME.")
    return target.conninfo
