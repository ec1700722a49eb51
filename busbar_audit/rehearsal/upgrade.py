"""An upgrade of a gateway's SQLite store by the operator's own command, on a private copy, held against the store before.

Nothing is taken on trust: what the command says is kept, and what it did is told from the two files. Invariants are those of
busbar sheet 8.6; what is not compared is listed.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shlex
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busbar_audit.auditing import audit
from busbar_audit.errors import UsageError
from busbar_audit.findings import Outcome
from busbar_audit.imports.planes import plane_lines
from busbar_audit.rehearsal.commands import Ran, run
from busbar_audit.result import Result
from busbar_audit.store import Store, open_store
from busbar_audit.stores import busbar_shapes, shapes
from busbar_audit.text import printable
from busbar_audit.warehouse import quoted

# What an audit of the store before says of the upgrade to come.
PRE_FLIGHT = ("BUS-S03", "BUS-S04", "BUS-S05", "BUS-S06", "BUS-S07", "BUS-S14")
# Tables whose rows an upgrade to 10 or later makes into records of another one (sheet 8.2).
TYPED = ("task_events", "tasks", "mcp_demotions", "spent_ask_states")
_COPY = "BUSBAR_AUDIT_COPY"
_BILLED = {"usage_windows": "model = '' AND ", "usage_metering": ""}
_SHOWN = 8


@dataclass(frozen=True)
class Broken:
    """An invariant that does not hold. rule : of the sheet, or `command`. subject : a table, or what it is about."""

    rule: str
    subject: str
    what: str


@dataclass(frozen=True)
class Measures:
    """What the command took: wall and processor seconds, MiB written, MiB of the file before and after.

    mebibytes : of its largest process, at most; None where an earlier child of this process had been larger.
    """

    wall: float
    processor: float
    mebibytes: float | None
    written: float
    before: float
    after: float


@dataclass
class Upgrade:
    """A rehearsed upgrade.

    Attributes
    ----------
    before, after : generations; after is None where the copy is not recognised. warnings : of the store before, by check.
    broken : invariants that do not hold. kills : how often the command was killed and run again.
    not_compared : tables and things that nothing is said of.
    """

    before: int
    after: int | None = None
    ran: list[Ran] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    measures: Measures | None = None
    kills: int = 0
    compared: dict[str, int] = field(default_factory=dict)
    not_compared: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 where an invariant does not hold or the store before has a warning, 3 where something could not be told."""
        return 1 if self.broken or self.warnings else 3 if self.unsure else 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": "busbar-audit-upgrade/1",
            "verdict": {0: "clean", 1: "findings", 3: "inconclusive"}[self.exit_code],
            "unsure": self.unsure,
            "exit_code": self.exit_code,
            "before": self.before,
            "after": self.after,
            "commands": [{"ended": str(each), "code": each.code, "output": each.output[-4000:]} for each in self.ran],
            "warnings": self.warnings,
            "broken": [{"rule": b.rule, "subject": b.subject, "what": b.what} for b in self.broken],
            "measures": None if self.measures is None else vars(self.measures) | {},
            "kills": self.kills,
            "rows_compared": self.compared,
            "not_compared": self.not_compared,
        }


def rehearse_upgrade(
    store: Store, command: str, *, timeout: float = 600.0, shell: bool = False, kills: int = 0, seed: int = 0
) -> Upgrade:
    """Run an upgrade on a private copy, twice, and compare.

    Parameters
    ----------
    store : opened; its finished copy is what the command gets a copy of. command : ``{copy}`` in it becomes the path of the
        file; it also stands in the environment as BUSBAR_AUDIT_COPY.
    kills : the command is killed so many times at random moments, each time on a fresh copy, and run again.

    Raises
    ------
    UsageError : the store is none of these, or the command does not name the copy.
    """
    if store.family != "busbar" or store.engine != "sqlite" or store.generation.taken is None:
        raise UsageError(
            f"An upgrade of {store.name}.", "A gateway's SQLite store of a known generation.", "No command was run."
        )
    if "{copy}" not in command and _COPY not in command:
        raise UsageError("The command names no copy.", f"{{copy}}, or ${_COPY} with --shell.", "No command was run.")
    found = Upgrade(store.generation.taken)
    before = audit(store, only=("BUS-S01", *PRE_FLIGHT, "chains"))
    _unsure(found, before, "before")
    if not sum(chain.records for chain in before.chains):
        found.unsure.append("the store before has no chained record: there was nothing to hold the upgrade against")
    found.warnings = [
        f"{finding.code} {printable(finding.subject)} {printable(finding.place)}: {printable(finding.detail)}"[:300]
        for finding in before.findings()
        if finding.code in PRE_FLIGHT and finding.severity != "info"
    ]
    folder = store.directory / "upgrade"
    folder.mkdir()
    try:
        copy = _fresh(store, folder)
        _measured(found, command, copy, timeout, shell)
        first = found.ran[-1]
        if not first.succeeded:
            found.broken.append(Broken("command", "the upgrade", str(first)))
        _compare(found, store, copy, before)
        if first.succeeded and not any(broken.rule in ("R1", "R2") for broken in found.broken):
            done = _digests(copy)
            _again(found, command, copy, done, timeout, shell)
            for number in range(kills):
                _killed(
                    found,
                    command,
                    store,
                    folder,
                    done,
                    timeout,
                    shell,
                    random.Random(seed + number).random(),  # noqa: S311 - a moment, no secret
                )
        for path in sorted(folder.iterdir()):
            if path.name not in _files(copy):
                found.broken.append(Broken("command", printable(path.name), "was left beside the store"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _fresh(store: Store, folder: Path) -> Path:
    path = folder / "store.db"
    for name in _files(path):
        (folder / name).unlink(missing_ok=True)
    shutil.copyfile(store.snapshot.path, path)
    return path


def _files(copy: Path) -> tuple[str, ...]:
    return tuple(f"{copy.name}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))


def _words(command: str, copy: Path) -> str:
    return command.replace("{copy}", shlex.quote(str(copy)))


def _measured(found: Upgrade, command: str, copy: Path, timeout: float, shell: bool) -> None:
    size = copy.stat().st_size
    earlier = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = run(_words(command, copy), timeout=timeout, environment={_COPY: str(copy)}, shell=shell)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found.ran.append(ran)
    largest = used.ru_maxrss / 1024 if used.ru_maxrss > earlier.ru_maxrss else None
    found.measures = Measures(
        ran.seconds,
        used.ru_utime + used.ru_stime - earlier.ru_utime - earlier.ru_stime,
        largest,
        (used.ru_oublock - earlier.ru_oublock) * 512 / 2**20,
        size / 2**20,
        sum((copy.parent / n).stat().st_size for n in _files(copy) if (copy.parent / n).exists()) / 2**20,
    )


def _compare(found: Upgrade, store: Store, copy: Path, before: Result) -> None:
    broken = found.broken
    if not copy.is_file():
        broken.append(Broken("R1", "the file", "is gone"))
        return
    try:
        with closing(_opened(copy)) as con:
            (sound,) = con.execute("PRAGMA integrity_check(1)").fetchone()
            if sound != "ok":
                broken.append(Broken("R1", "integrity_check", printable(str(sound))[:200]))
            orphans = len(con.execute("PRAGMA foreign_key_check").fetchall())
            if orphans:
                broken.append(Broken("R1", "foreign_key_check", f"{orphans:,} row(s)"))
            (version,) = con.execute("PRAGMA user_version").fetchone()
            shape = shapes.read(con)
    except sqlite3.Error as error:
        broken.append(Broken("R1", "the file", f"cannot be read: {printable(str(error))}"))
        return
    found.after = version
    if version <= found.before:
        how = (
            "was stamped down"
            if version < found.before
            else "is what it was: nothing was upgraded, or it was not committed"
        )
        broken.append(Broken("R2", "user_version", f"{how} ({version})"))
    if version not in busbar_shapes.GENERATIONS:
        broken.append(Broken("R2", "user_version", f"{version} is no generation known here; its shape is not compared"))
        found.not_compared.append("shape")
    else:
        for difference in shapes.differences(busbar_shapes.expected(version), shape):
            if "unknown" not in difference.kind:
                what = f"{difference.kind}: {printable(difference.name)} {printable(difference.detail)}"[:200]
                broken.append(Broken("R12", printable(difference.table), what))
    _rows(found, store.snapshot.path, copy, version)
    _chains(found, store, copy, before)


def _rows(found: Upgrade, old: Path, new: Path, version: int) -> None:
    """Every row of every table: the same, or what the sheet says that it becomes."""
    crossing = found.before < 10 <= version
    with closing(sqlite3.connect("file::memory:", uri=True)) as con:
        con.text_factory = bytes
        for name, path in (("before", old), ("after", new)):
            con.execute(f"ATTACH DATABASE ? AS {name}", (f"{path.absolute().as_uri()}?mode=ro",))
        had, has = _tables(con, "before"), _tables(con, "after")
        for table in sorted(had):
            if crossing and table in TYPED:
                if table in has:
                    found.broken.append(Broken("R11", table, "is still there"))
                continue
            if table not in has:
                found.broken.append(Broken("R3", printable(table), "is gone, with its rows"))
                continue
            _table(found, con, table, had[table], has[table], had[table] != has[table])
        for table in sorted(has.keys() - had.keys()):
            count = _count(con, f"after.{quoted(table)}")
            if count and not (crossing and table in ("plane_records", "plane_tokens")) and table != "store_revision":
                found.broken.append(Broken("R6", printable(table), f"is new, and has {count:,} row(s) of its own"))
            elif table not in ("plane_records", "plane_tokens"):
                found.not_compared.append(f"{printable(table)} (new, empty)")
        if crossing:
            _planes(found, con, old, new, had, has)


def _tables(con: sqlite3.Connection, schema: str) -> dict[str, list[str]]:
    found = f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"  # noqa: S608
    rows = con.execute(found)
    names = [name.decode("utf-8", "replace") for (name,) in rows.fetchall()]
    told = {}
    for name in names:
        columns = con.execute("SELECT name FROM pragma_table_info(?, ?)", (name, schema)).fetchall()
        told[name] = [column.decode("utf-8", "replace") for (column,) in columns]
    return told


def _table(found: Upgrade, con: sqlite3.Connection, table: str, old: list[str], new: list[str], changed: bool) -> None:
    rule = {"usage_windows": "R4", "usage_metering": "R5", "mcp_calls": "R10"}.get(table, "R3")
    if lacking := [name for name in old if name not in new]:
        found.broken.append(Broken(rule, printable(table), f"lost its column(s) {printable(', '.join(lacking))}"))
        return
    billed = found.before < 6 and table in _BILLED
    names = [name for name in old if not (billed and name == "billable_requests")]
    listed = ", ".join(map(quoted, names))
    sides = []
    for one, other in (("before", "after"), ("after", "before")):
        rows = (f"SELECT {listed} FROM {side}.{quoted(table)}" for side in (one, other))  # noqa: S608 - quoted names
        sides.append(con.execute(f"SELECT count(*) FROM ({' EXCEPT '.join(rows)})").fetchone()[0])  # noqa: S608
    counts = [_count(con, f"{side}.{quoted(table)}") for side in ("before", "after")]
    found.compared[table] = counts[0]
    if sides != [0, 0] or counts[0] != counts[1]:
        what = f"{sides[0]:,} row(s) are not there as they were, {sides[1]:,} are new; {counts[0]:,} before, {counts[1]:,} now"
        found.broken.append(Broken(rule, printable(table), what))
    if billed and sides == [0, 0]:
        _billing(found, con, table, names, rule)
    if changed and table == "keys":
        for name in (name for name in new if name not in old):
            filled = _count(con, f"after.{quoted(table)} WHERE {quoted(name)} IS NOT NULL")
            if filled:
                found.broken.append(Broken("R3", table, f"new column {printable(name)} is filled in {filled:,} row(s)"))
    if changed and table == "usage_metering" and "priced_from_ms" in new and "priced_from_ms" not in old:
        (priced,) = con.execute("SELECT count(*) FROM after.usage_metering WHERE priced_from_ms <> 0").fetchone()
        if priced:
            found.broken.append(Broken("R5", table, f"priced_from_ms is not 0 in {priced:,} row(s)"))


def _billing(found: Upgrade, con: sqlite3.Connection, table: str, names: list[str], rule: str) -> None:
    """From before 6: billable requests may change from 0 to all requests, of rows that count any, and in no other way."""
    same = " AND ".join(f"b.{quoted(name)} IS a.{quoted(name)}" for name in names)
    first = _BILLED[table].replace("model", "b.model")
    allowed = f"b.billable_requests = 0 AND b.requests > 0 AND {first}a.billable_requests = b.requests"
    sql = (
        f"SELECT count(*) FROM before.{table} AS b JOIN after.{table} AS a ON {same} "  # noqa: S608 - our names
        f"WHERE a.billable_requests IS NOT b.billable_requests AND NOT ({allowed})"
    )
    (wrong,) = con.execute(sql).fetchone()
    if wrong:
        what = f"billable_requests changed otherwise than from 0 to requests in {wrong:,} row(s)"
        found.broken.append(Broken(rule, table, what))


def _planes(
    found: Upgrade, con: sqlite3.Connection, old: Path, new: Path, had: Mapping[str, Any], has: Mapping[str, Any]
) -> None:
    """The plane copy: every typed row is the record that is foretold of it, and nothing else is there."""
    rules = {"task_events": "R7", "tasks": "R8", "mcp_demotions": "R9", "spent_ask_states": "R9", "mcp_calls": "R10"}
    made = 0
    for _, table, identity, seq, fate, rule, rows in plane_lines(old, new):
        if fate in ("lost", "differs"):
            place = printable(f"{identity} {'' if seq is None else seq}").strip()[:120]
            rule_of = "R14" if "was there before" in rule else rules.get(table, "R7")
            found.broken.append(Broken(rule_of, table, f"{fate}: {place} ({printable(rule)})"))
        if table in ("task_events", "tasks", "mcp_demotions") and fate != "lost":
            made += rows
        if table != "mcp_calls":
            found.compared[table] = found.compared.get(table, 0) + rows
    if "plane_records" in has:
        # A late release copies the admin audit when it starts (sheet 8.4): these records are told apart, and not foretold here.
        (audits,) = con.execute("SELECT count(*) FROM after.plane_records WHERE kind = 'audit'").fetchone()
        if audits and "plane_records" not in had:
            found.not_compared.append(f"{audits:,} record(s) of kind audit, as a release copies them when it starts")
            made += audits
        (there,) = con.execute("SELECT count(*) FROM after.plane_records").fetchone()
        before = con.execute("SELECT count(*) FROM before.plane_records").fetchone()[0] if "plane_records" in had else 0
        if there > before + made:
            found.broken.append(
                Broken("R7", "plane_records", f"{there - before - made:,} record(s) that no typed row foretells")
            )


def _chains(found: Upgrade, store: Store, copy: Path, before: Result) -> None:
    """No chain is worse for the upgrade, and each ends where it did (R15)."""
    names = {"task_events": "task_event"} if found.before < 10 <= (found.after or 0) else {}
    with open_store(copy) as later:
        if later.generation.taken is None:
            found.not_compared.append("chains")
            return
        after = audit(later, only=("chains",), as_of=int(before.store.source.taken_at.timestamp()))
        _unsure(found, after, "after")
        ends = [_ends(result, names) for result in (before, after)]
        for chain in sorted(ends[0].items() - ends[1].items())[:_SHOWN]:
            (population, scope), (records, last) = chain
            there = ends[1].get((population, scope))
            what = "is gone" if there is None else f"ends at {there[1]} with {there[0]:,} record(s)"
            found.broken.append(
                Broken(
                    "R15", f"{population} {printable(scope)}"[:120], f"{records:,} record(s) to {last} before; {what}"
                )
            )
        known = {(f.code, names.get(f.subject, f.subject), f.place) for f in before.findings()}
        for finding in after.findings():
            if (finding.code, finding.subject, finding.place) not in known and finding.severity in ("critical", "high"):
                subject = f"{finding.code} {printable(finding.subject)} {printable(finding.place)}"
                found.broken.append(Broken("R15", subject, printable(finding.detail)[:200]))


def _unsure(found: Upgrade, result: Result, when: str) -> None:
    for each in result.results:
        if each.outcome is Outcome.COULD_NOT_RUN:
            found.unsure.append(f"{each.code} could not run {when} the upgrade: {printable(each.reason)}"[:300])


def _ends(result: Result, names: Mapping[str, str]) -> dict[tuple[str, str], tuple[int, int | None]]:
    return {
        (names.get(chain.population, chain.population), chain.scope): (chain.records, chain.last_seq)
        for chain in result.chains
    }


def _again(found: Upgrade, command: str, copy: Path, done: Mapping[str, str], timeout: float, shell: bool) -> None:
    ran = run(_words(command, copy), timeout=timeout, environment={_COPY: str(copy)}, shell=shell)
    found.ran.append(ran)
    if not ran.succeeded:
        found.broken.append(Broken("R13", "a second run", str(ran)))
    elif changed := _apart(done, _digests(copy)):
        found.broken.append(Broken("R13", "a second run", f"changed {printable(', '.join(changed))}"))


def _killed(
    found: Upgrade,
    command: str,
    store: Store,
    folder: Path,
    done: Mapping[str, str],
    timeout: float,
    shell: bool,
    part: float,
) -> None:
    """Kill the command on a fresh copy at a random moment of the time it took, and run it again."""
    copy = _fresh(store, folder)
    words = ("/bin/sh", "-c", _words(command, copy)) if shell else tuple(shlex.split(_words(command, copy)))
    environment = {**os.environ, _COPY: str(copy)}
    child = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    took = found.measures.wall if found.measures is not None else 1.0
    time.sleep(part * took)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    found.kills += 1
    ran = run(_words(command, copy), timeout=timeout, environment={_COPY: str(copy)}, shell=shell)
    if not ran.succeeded:
        found.broken.append(Broken("kill", f"kill {found.kills}", f"the next run ended: {ran}"))
        return
    with closing(_opened(copy)) as con:
        (sound,) = con.execute("PRAGMA integrity_check(1)").fetchone()
    if sound != "ok":
        found.broken.append(Broken("kill", f"kill {found.kills}", printable(str(sound))[:200]))
    elif changed := _apart(done, _digests(copy)):
        found.broken.append(Broken("kill", f"kill {found.kills}", f"ends otherwise in {printable(', '.join(changed))}"))


def _opened(path: Path) -> sqlite3.Connection:
    # Writable, so that SQLite rolls back what a command left in a journal; the file is ours.
    con = sqlite3.connect(path)
    con.execute("PRAGMA trusted_schema = ON")
    return con


def _count(con: sqlite3.Connection, what: str) -> int:
    (count,) = con.execute(f"SELECT count(*) FROM {what}").fetchone()  # noqa: S608 - quoted names
    return int(count)


def _digests(path: Path) -> dict[str, str]:
    """A digest of each table's rows, and of the schema."""
    with closing(_opened(path)) as con:
        con.text_factory = bytes
        told = {}
        for (name,) in con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall():
            table = name.decode("utf-8", "replace")
            rows = sorted(repr(row) for row in con.execute(f"SELECT * FROM {quoted(table)}"))  # noqa: S608 - a quoted name
            told[table] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
        schema = con.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        version = con.execute("PRAGMA user_version").fetchone()
        told["the schema"] = hashlib.sha256(repr((schema, version)).encode()).hexdigest()
        return told


def _apart(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def lines(found: Upgrade) -> Iterator[str]:
    """For a terminal."""
    yield f"upgrade   generation {found.before} to {found.after}"
    for warning in found.warnings:
        yield f"before    {warning}"
    for number, ran in enumerate(found.ran, 1):
        yield f"run {number}     {printable(str(ran))}"
    if found.measures is not None:
        m = found.measures
        largest = "not told" if m.mebibytes is None else f"at most {m.mebibytes:,.0f} MiB"
        yield (
            f"took      {m.wall:.2f} s, {m.processor:.2f} s of a processor, largest process {largest}, "
            f"{m.written:,.1f} MiB written, file {m.before:,.1f} to {m.after:,.1f} MiB"
        )
    yield f"compared  {sum(found.compared.values()):,} row(s) of {len(found.compared)} table(s)"
    if found.kills:
        yield f"killed    {found.kills:,} time(s), each on a fresh copy, and run again"
    for broken in found.broken[:50]:
        yield f"{broken.rule:9} {broken.subject}: {broken.what}"
    if len(found.broken) > 50:
        yield f"          {len(found.broken) - 50:,} more"
    for each in found.unsure[:20]:
        yield f"unsure    {each}"
    if found.not_compared:
        yield f"not compared: {', '.join(found.not_compared)}"
