"""The witness of a store under audit: which one it is, and what it says as tables of schema ``source``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from busbar_audit import queries
from busbar_audit.errors import UsageError, WitnessError
from busbar_audit.garbage import uncollected
from busbar_audit.result import Result
from busbar_audit.store import Store
from busbar_audit.stores import busbar
from busbar_audit.warehouse import Warehouse
from busbar_audit.witness import FILE_COLUMNS, LINE_COLUMNS, Witness
from busbar_audit.witness_file import file_name


def open_witness(
    directory: str | os.PathLike[str], store: Store, *, earlier: str | os.PathLike[str] | None = None
) -> Witness:
    """The witness of a store in a folder of witnesses, to be closed when it has been advanced.

    Parameters
    ----------
    earlier : folder of an earlier report; a witness that it names has to be there.

    Raises
    ------
    UsageError : the store is of a family without chains, so there is nothing to witness.
    WitnessError : the folder cannot be used, or another run has the witness.
    """
    if store.family != busbar.NAME:
        raise UsageError(
            f"--witness with {store.name}.",
            "A witness is of hash chains, which busbar stores have.",
            "Leave --witness out, or name the store with --family busbar.",
        )
    named = earlier is not None and file_name(store.location) in _named(Path(earlier))
    return Witness(Path(directory), store.location, named_before=named)


def _named(report: Path) -> set[str]:
    """Names of the witnesses that the results in a report were judged with."""
    names = set()
    for file in (report / "result.json", *report.glob("*/result.json")):
        # No report yet, or not ours: writing it will say so.
        with suppress(OSError, ValueError, TypeError, KeyError):
            names.add(str(json.loads(file.read_text(encoding="utf-8"))["witness"]["file"]))
    return names


def fill_witness(warehouse: Warehouse, witness: Witness | None, marks_found: int | None, taken_at: int) -> None:
    """Fill ``source.witness``, a row a chain, and ``source.witness_file``, one row if there is a witness.

    Parameters
    ----------
    marks_found : how many of its marks are in the store, None where that was not looked at.
    taken_at : unix seconds of the copy.
    """
    content = None if witness is None else witness.content
    with uncollected():
        warehouse.fill("source.witness", LINE_COLUMNS, content.lines.values() if content else [])
    rows = []
    if witness is not None and content is not None:
        marks, updated = len(content.marks), content.updated or None
        rows = [(witness.file.name, witness.status, witness.detail, updated, taken_at, marks, marks_found)]
    warehouse.fill("source.witness_file", FILE_COLUMNS, rows)


def advance(results: Iterable[Result]) -> None:
    """Move the witnesses of a run on: the last step of all, when everything else is where it should be.

    Raises
    ------
    WitnessError : one cannot be written; it stays as it was.
    """
    for result in results:
        if result.advance is not None:
            result.advance()


def adopt(witness: Witness, result: Result, reason: str) -> int:
    """Take what a store is now for witnessed; return the number of chains. Chains that are not intact keep the line they had.

    Parameters
    ----------
    result : of an audit with this witness: what it proved keeps the beginning it was witnessed with.

    Raises
    ------
    WitnessError : no reason, nothing intact, or the witness cannot be written.
    """
    lines, marks = result.witnessable(whatever_witnessed=True)
    if not lines:
        raise WitnessError(
            "Nothing in this store can be witnessed.",
            "Expected at least one intact chain.",
            "The witness is as it was. `busbar-audit audit` says what is wrong.",
        )
    proven: dict[tuple[str, str], str] = {}
    broken: set[tuple[str, str]] = set()
    if result.store.views.has("audit.witnessed"):
        rows = result.store.con.execute(queries.figure("proven_chains").sql).fetchall()
        proven = {(population, scope): now for population, scope, now, anew in rows if not anew}
        # Of another store that took the place of the witnessed one nothing is kept.
        replaced = result.store.con.execute(queries.figure("witness_identity").sql).fetchone()
        if replaced is not None and not replaced[0]:
            broken = {(chain.population, chain.scope) for chain in result.chains} - {line.key for line in lines}
    at = int(result.store.source.taken_at.timestamp())
    witness.adopt(lines, marks, at, reason, proven=proven, broken=broken)
    return len(lines)
