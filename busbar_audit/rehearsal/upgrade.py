"""An upgrade of a gateway's SQLite store, on a private copy, held against the store before.

By the operator's own command or by our emulation. Nothing is taken on trust: what the command says is kept, and what it did is
told from the two files. Invariants are those of busbar sheet 8.6; what is not compared is listed.
"""

from __future__ import annotations

import resource
import shutil
import sqlite3
from pathlib import Path

from busbar_audit.auditing import audit
from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.upgrade_compare import compare_chains, compare_file, first, note_before, note_left
from busbar_audit.rehearsal.upgrade_copy import apart, digests, files, fresh, size
from busbar_audit.rehearsal.upgrade_foretold import Prediction, foretell, held_against
from busbar_audit.rehearsal.upgrade_kills import kill, kill_emulation
from busbar_audit.rehearsal.upgrade_result import Measures, Upgrade
from busbar_audit.rehearsal.upgrade_run import Command, Upgrader, emulation
from busbar_audit.result import Result
from busbar_audit.store import Store
from busbar_audit.stores.busbar import NEWEST
from busbar_audit.text import printable

# What an audit of the store before says of the upgrade to come.
PRE_FLIGHT = ("BUS-S02", "BUS-S03", "BUS-S04", "BUS-S05", "BUS-S06", "BUS-S07", "BUS-S14")


def rehearse_upgrade(
    store: Store,
    command: str | None = None,
    *,
    to: int | None = None,
    timeout: float = 600.0,
    shell: bool = False,
    kills: int = 0,
    seed: int = 0,
) -> Upgrade:
    """Run an upgrade on a private copy, twice, and compare.

    Parameters
    ----------
    store : opened; its finished copy is what is copied again for the upgrade.
    command : ``{copy}`` in it becomes the path of the file; it also stands in the environment as BUSBAR_AUDIT_COPY.
        None for our emulation.
    to : generation to reach; None for whatever the command reaches, and the newest for our emulation.
    kills : so often the upgrade is killed, each time on a fresh copy, and run again.

    Raises
    ------
    UsageError : the store is none of these, the command does not name the copy, or there is no such upgrade.
    """
    if store.family != "busbar" or store.engine != "sqlite" or store.generation.taken is None:
        raise UsageError(
            f"An upgrade of {store.name}.", "A gateway's SQLite store of a known generation.", "No command was run."
        )
    if to is None and command is None:
        to = NEWEST
    if to is not None and not store.generation.taken < to <= NEWEST:
        raise UsageError(
            f"An upgrade of {store.name} to {to}.", f"A generation above its own, up to {NEWEST}.", "Nothing was run."
        )
    upgrader = emulation(to or NEWEST, timeout) if command is None else Command(command, timeout, shell)
    found = Upgrade(store.generation.taken, upgrader=upgrader.name)
    before = audit(store, only=("BUS-S01", *PRE_FLIGHT, "chains"))
    note_before(found, before, PRE_FLIGHT)
    told = _foretold(found, store, to)
    if told.wiped:
        # Nothing of it could be compared: the upgrade that is to be feared is told, and not run.
        found.unsure.append("nothing was run: the upgrade would drop every table of this store")
        return found
    folder = store.directory / "upgrade"
    folder.mkdir()
    try:
        copy = fresh(store.snapshot.path, folder / "store.db")
        _measured(found, upgrader, copy)
        _held(found, store, copy, before, told, to)
        _more(found, upgrader, store, copy, to if command is None else None, kills, seed, timeout)
        extra = sorted({path.name for path in folder.iterdir()} - _ours(copy))
        if extra:
            found.breaks("command", first(extra), "was left beside the store")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _ours(copy: Path) -> set[str]:
    return {*files(copy), *files(copy.with_name("looked-at.db")), *files(copy.with_name("points.db"))}


def _foretold(found: Upgrade, store: Store, to: int | None) -> Prediction:
    stamp = store.generation.stamp
    try:
        told = foretell(store.snapshot.path, stamp if stamp is not None else 0, to or NEWEST)
    except sqlite3.Error as error:
        found.unsure.append(f"nothing could be foretold: {printable(str(error))}"[:300])
        return Prediction()
    found.warnings += told.warnings
    return told


def _measured(found: Upgrade, upgrader: Upgrader, copy: Path) -> None:
    was = size(copy)
    earlier = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = upgrader.run(copy)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found.ran.append(ran)
    largest = used.ru_maxrss / 1024 if used.ru_maxrss > earlier.ru_maxrss else None
    found.measures = Measures(
        ran.seconds,
        used.ru_utime + used.ru_stime - earlier.ru_utime - earlier.ru_stime,
        largest,
        (used.ru_oublock - earlier.ru_oublock) * 512 / 2**20,
        was / 2**20,
        size(copy) / 2**20,
    )
    if not ran.succeeded:
        found.breaks("command", "the upgrade", str(ran))
    note_left(found, ran)


def _held(found: Upgrade, store: Store, copy: Path, before: Result, told: Prediction, to: int | None) -> None:
    compare_file(found, store, copy, to)
    if found.after is not None:
        compare_chains(found, copy, before)
    found.foretold = told.lines
    if found.after is None or found.after <= found.before:
        return
    try:
        # Where no generation was named, only now is it known what should have been foretold.
        told.lines = foretell(store.snapshot.path, store.generation.stamp or 0, found.after).lines
        found.foretold = held_against(told, store.snapshot.path, copy)
    except sqlite3.Error as error:
        found.unsure.append(f"predicted could not be held against done: {printable(str(error))}"[:300])
    for line in found.foretold:
        if line.done is not None and line.done != line.predicted:
            found.breaks(line.rule, line.what, f"{line.predicted:,} foretold, {line.done:,} done")


def _more(
    found: Upgrade,
    upgrader: Upgrader,
    store: Store,
    copy: Path,
    emulated: int | None,
    kills: int,
    seed: int,
    timeout: float,
) -> None:
    """The second run, and the kills."""
    if not found.ran[-1].succeeded or any(each.rule in ("R1", "R2") for each in found.broken):
        found.not_compared.append("a second run (the first did not upgrade)")
        if kills:
            found.unsure.append(f"{kills:,} kill(s) were asked for and not done: the first run did not upgrade")
        return
    try:
        done = digests(copy)
        ran = upgrader.run(copy)
        found.ran.append(ran)
        if not ran.succeeded:
            found.breaks("R13", "a second run", str(ran))
        elif changed := apart(done, digests(copy)):
            found.breaks("R13", "a second run", f"changed {first(changed)}")
        if kills and emulated is not None:
            kill_emulation(found, store.snapshot.path, copy.parent, emulated, kills, seed, timeout * kills)
        elif kills:
            kill(found, upgrader, store.snapshot.path, copy, done, kills, seed)
    except sqlite3.Error as error:
        found.breaks("R13", "the copy", f"cannot be read: {error}")
