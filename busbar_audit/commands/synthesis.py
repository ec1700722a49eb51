"""Synthetic stores and the demo made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from busbar_audit import console
from busbar_audit.errors import ReportError, UsageError
from busbar_audit.text import printable


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
        try:
            for line in written:
                print(line)
        except sqlite3.OperationalError as error:
            raise ReportError(
                f"{printable(out)} cannot be written: {error}.",
                "A place this user may write to, with room for the store.",
                "What is there of it is not whole.",
            ) from error
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
