"""Helpers of the maka tests: workspaces written once, all faults of a generation planted in one file, sample archives."""

from __future__ import annotations

import re
import sqlite3
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busbar_audit.auditing import audit
from busbar_audit.findings import Finding, Outcome
from busbar_audit.result import Result
from busbar_audit.store import open_store
from busbar_audit.synth.maka import transcript_run, write_maka
from busbar_audit.synth.maka_faults import MakaFault
from busbar_audit.transcript import js
from busbar_audit.transcript.ledger import Ledger, Session

_SESSION = re.compile(r"(?<![\w])([scxfl]\d+)(?![\w])")
_RUN = re.compile("transcript-[0-9a-f]{48}")


@dataclass(frozen=True)
class Judged:
    """An audit whose store is closed again: its result, and all its findings."""

    result: Result
    found: list[Finding]

    def codes(self) -> set[str]:
        """Short codes of all findings."""
        return {finding.code.removeprefix("MAKA-") for finding in self.found}

    def could_not_run(self) -> dict[str, str]:
        """Checks that could not run, with the reason."""
        return {r.code: r.reason for r in self.result.results if r.outcome is Outcome.COULD_NOT_RUN}


def judged(path: Path) -> Judged:
    """Audit a workspace and close it again."""
    with open_store(path) as store:
        result = audit(store)
        assert all(line.adds_up for line in result.account)
        return Judged(result, list(result.findings()))


def planted(path: Path, generation: int, faults: Iterable[MakaFault], *, large: bool = False) -> dict[str, MakaFault]:
    """Write a workspace with a session for each fault, and plant them; returns the fault of each session."""
    faults = list(faults)
    count = {kind: 1 + sum(fault.population == kind for fault in faults) for kind in "scfl"}
    write_maka(
        path, generation=generation, sessions=count["s"], converted=count["c"], large=large, imports=_more(count)
    )
    at = dict.fromkeys("scfl", 1)
    where = {}
    with closing(sqlite3.connect(path)) as con:
        for fault in faults:
            at[fault.population] += 1
            session = f"{fault.population}{at[fault.population]}"
            before = con.total_changes
            fault.apply(con, session)
            assert con.total_changes > before, fault.name
            where[session] = fault
        con.commit()
    return where


def _more(count: Mapping[str, int]) -> int:
    most = max(count["f"], count["l"])
    return most if most > 1 else 0


def place(fault: MakaFault, session: str) -> str:
    """What the fault's own finding has to name."""
    runs = [transcript_run(session, f"{session}-t{k}") for k in (1, 3)]
    return fault.place.format(s=session, run=runs[0], run3=runs[1])


def by_session(findings: Iterable[Finding], sessions: Iterable[str]) -> Mapping[str, list[Finding]]:
    """Findings by the session that they name in place or detail."""
    owners = {transcript_run(s, f"{s}-t{k}"): s for s in sessions for k in (1, 2, 3, 4)}
    found = defaultdict(list)
    for finding in findings:
        told = f"{finding.place} {finding.detail}"
        for session in {*_SESSION.findall(told), *(owners[run] for run in _RUN.findall(told) if run in owners)}:
            found[session].append(finding)
    return found


def read_session(path: Path, session: str) -> Session:
    """A session from a SQLite file, by way of no audit."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
        tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        (version,) = con.execute("PRAGMA user_version").fetchone()
        return Ledger(con, tables, version).read([session])[session]


def unpacked(archive: Path, folder: Path, *wanted: str) -> Iterator[Path]:
    """Files of a sample archive whose path matches one of the patterns, unpacked into a folder."""
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and any(re.search(pattern, member.name) for pattern in wanted):
                tar.extract(member, folder, filter="data")
                yield folder / member.name


def shortened(value: Any) -> Any:
    """A value with its long texts as the sample archives have them."""
    import hashlib

    if isinstance(value, str) and js.length(value) > 20_000:
        data = value.encode()
        return {"$sha256": hashlib.sha256(data).hexdigest(), "$length": js.length(value), "$utf8Bytes": len(data)}
    if isinstance(value, list):
        return [shortened(inner) for inner in value]
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    return value
