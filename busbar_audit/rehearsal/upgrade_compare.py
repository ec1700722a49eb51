"""An upgraded SQLite store held against the store before: file, stamp, shape, chains (R1, R2, R12, R15), and its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from busbar_audit.auditing import audit
from busbar_audit.errors import AuditError
from busbar_audit.findings import Outcome
from busbar_audit.rehearsal.commands import Ran
from busbar_audit.rehearsal.upgrade_copy import opened
from busbar_audit.rehearsal.upgrade_result import Upgrade
from busbar_audit.rehearsal.upgrade_rows import compare_rows
from busbar_audit.result import Result
from busbar_audit.store import Store, open_store
from busbar_audit.stores import busbar_shapes, shapes
from busbar_audit.target import Target
from busbar_audit.text import printable

_SHOWN = 8
_GRAVE = ("critical", "high")


def compare_file(found: Upgrade, store: Store, copy: Path, to: int | None) -> None:
    """Note in `found` what does not hold of an upgraded copy, its chains apart.

    Parameters
    ----------
    store : as it was before. copy : the upgraded file.
    to : generation that the upgrade should reach; None for any later one.
    """
    if not copy.is_file():
        found.breaks("R1", "the file", "is gone")
        return
    try:
        with closing(opened(copy)) as con:
            (sound,) = con.execute("PRAGMA integrity_check(1)").fetchone()
            if sound != "ok":
                found.breaks("R1", "integrity_check", str(sound))
            orphans = len(con.execute("PRAGMA foreign_key_check").fetchall())
            if orphans:
                found.breaks("R1", "foreign_key_check", f"{orphans:,} row(s)")
            (version,) = con.execute("PRAGMA user_version").fetchone()
            shape = shapes.read(con)
    except sqlite3.Error as error:
        found.breaks("R1", "the file", f"cannot be read: {error}")
        return
    found.after = version
    _stamp(found, version, to)
    if version not in busbar_shapes.GENERATIONS:
        found.not_compared.append("shape")
    else:
        _shape(found, _shape_of(store.snapshot.path), shape, version)
    compare_rows(found, store.snapshot.path, copy, version)


def note_before(found: Upgrade, before: Result, codes: Sequence[str]) -> None:
    """What an audit of the store before says of the upgrade: warnings of these checks, and what leaves it unsure."""
    note_unsure(found, before, "before")
    if not sum(chain.records for chain in before.chains):
        found.unsure.append("the store before has no chained record: there was nothing to hold the upgrade against")
    found.warnings = [
        f"{finding.code} {printable(finding.subject)} {printable(finding.place)}: {printable(finding.detail)}"[:300]
        for finding in before.findings()
        if finding.code in codes and finding.severity != "info"
    ]


def note_left(found: Upgrade, ran: Ran) -> None:
    """Processes that outlived a command leave the upgrade unsure: nobody knows whether it was done."""
    if ran.left:
        found.unsure.append(
            f"the command left {len(ran.left)} process(es) running, which were killed: {printable(first(ran.left))}"
        )


def note_unsure(found: Upgrade, result: Result, when: str) -> None:
    """A check that could not run leaves the upgrade unsure."""
    for each in result.results:
        if each.outcome is Outcome.COULD_NOT_RUN:
            found.unsure.append(f"{each.code} could not run {when} the upgrade: {printable(each.reason)}"[:300])


def first(things: Sequence[str], most: int = _SHOWN) -> str:
    """Names in one line, and how many more there are."""
    more = f" and {len(things) - most:,} more" if len(things) > most else ""
    return ", ".join(things[:most]) + more


def _stamp(found: Upgrade, version: int, to: int | None) -> None:
    if version < found.before:
        found.breaks("R2", "user_version", f"was stamped down ({version})")
    elif version == found.before:
        found.breaks("R2", "user_version", f"is what it was: nothing was upgraded, or it was not committed ({version})")
    elif to is not None and version != to:
        found.breaks("R2", "user_version", f"is {version} and not {to}")
    elif version not in busbar_shapes.GENERATIONS:
        found.breaks("R2", "user_version", f"{version} is no generation known here; its shape is not compared")


def _shape(found: Upgrade, before: shapes.Shape, after: shapes.Shape, version: int) -> None:
    for difference in shapes.differences(busbar_shapes.expected(version), after):
        unknown = {"table-unknown": before.tables, "trigger-unknown": before.triggers}.get(difference.kind)
        if unknown is not None and difference.name in unknown:
            found.not_compared.append(f"{difference.kind} {printable(difference.name)} (it was there before)")
        else:
            found.breaks(
                "R12", difference.table or difference.name, f"{difference.kind}: {difference.name} {difference.detail}"
            )


def compare_chains(found: Upgrade, copy: Path | Target, before: Result) -> None:
    """No chain is worse for the upgrade, and each ends where it did (R15).

    Parameters
    ----------
    copy : what was upgraded, of which `found` has the generation. before : audit of the chains of the store before.
    """
    names = {"task_events": "task_event"} if (found.after or 0) >= 10 else {}
    try:
        with open_store(copy) as later:
            if later.generation.taken is None:
                found.not_compared.append("chains")
                found.unsure.append("R15 could not be judged: the generation of the copy is not known here")
                return
            after = audit(later, only=("chains",), as_of=int(before.store.source.taken_at.timestamp()))
            note_unsure(found, after, "after")
            _ends(found, before, after, names)
            known = {(f.code, names.get(f.subject, f.subject), f.place) for f in before.findings()}
            worse = [f for f in after.findings() if (f.code, f.subject, f.place) not in known and f.severity in _GRAVE]
            for finding in worse[:_SHOWN]:
                found.breaks("R15", f"{finding.code} {finding.subject} {finding.place}", finding.detail)
            if len(worse) > _SHOWN:
                found.breaks("R15", "findings", f"{len(worse) - _SHOWN:,} more that were not there before")
    except AuditError as error:
        found.unsure.append(f"R15 could not be judged: {printable(error.read)}"[:300])


def _ends(found: Upgrade, before: Result, after: Result, names: Mapping[str, str]) -> None:
    was, now = (
        {
            (names.get(c.population, c.population), c.scope): (c.records, c.first_seq, c.last_seq, c.last_hash)
            for c in result.chains
        }
        for result in (before, after)
    )
    moved = sorted(chain for chain, end in was.items() if now.get(chain) != end)
    for population, scope in moved[:_SHOWN]:
        records, _, last, _ = was[population, scope]
        there = now.get((population, scope))
        what = "is gone"
        if there is not None:
            what = f"ends at {there[2]} with {there[0]:,} record(s)"
            what += ", another hash at its end" if there[:3] == was[population, scope][:3] else ""
        found.breaks("R15", f"{population} {scope}", f"{records:,} record(s) to {last} before; {what}")
    if len(moved) > _SHOWN:
        found.breaks("R15", "chains", f"{len(moved) - _SHOWN:,} more end elsewhere")


def _shape_of(path: Path) -> shapes.Shape:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
        return shapes.read(con)
