"""What the runs of a history found, and how each differs from those before it of the same store."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from busbar_audit.errors import AuditError
from busbar_audit.queries import SEVERITIES
from busbar_audit.reporting.outputs import folder_of
from busbar_audit.reporting.verification import verify
from busbar_audit.text import printable

Identities = npt.NDArray[np.bytes_]
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
# Files of living or killed runs: not runs, and not foreign.
_OWN = re.compile(
    r"index\.html|\.(?:[0-9a-f]{16}|index|.*Z-[0-9a-f]{8})\.lock|\.index-.*\.part|busbar-audit-[0-9a-f]{16}"
)
_ANSWERED = ("pass", "finding")
_WORDS = ("clean", "findings", "inconclusive")
# New and gone findings of the newest run that are listed.
LISTED = 20


@dataclass(frozen=True)
class Listed:
    """A finding that is new or gone, for the page."""

    code: str
    severity: str
    subject: str
    place: str
    detail: str


@dataclass(frozen=True)
class StoreRun:
    """One store in one run.

    run : the folder's name. page : what to open, relative to the history. verdict : of the store; of : of the whole run.
    new, gone, standing : findings against the last run that answered the same checks. unseen : findings of checks that gave no
    answer this time. accepted : findings that the policy let be. seconds : of the audit. rows, examined : of all tables.
    first : no run of this store came before. backwards : it began before the run before it.
    """

    run: str
    page: str
    started: str
    verdict: str
    of: str
    store: tuple[str, str, str]
    counts: Mapping[str, int]
    seconds: float
    rows: int
    examined: int
    accepted: int
    reasons: Sequence[str]
    answered: frozenset[str]
    found: Path
    new: int = 0
    gone: int = 0
    standing: int = 0
    unseen: int = 0
    first: bool = False
    backwards: bool = False

    @property
    def findings(self) -> int:
        """How many, of all severities."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Past:
    """A history as it is on disk.

    stores : by family, engine and location, the runs of each, oldest first. foreign : names that are of no run, and why.
    older : runs that were not read. listed : of the newest run of each store, what is new and what is gone.
    """

    stores: Mapping[tuple[str, str, str], Sequence[StoreRun]]
    foreign: Sequence[tuple[str, str]]
    older: int
    runs: int
    listed: Mapping[tuple[str, str, str], tuple[Sequence[Listed], Sequence[Listed]]] = field(default_factory=dict)


def names(directory: Path) -> list[str]:
    """Names of the folders that look like runs, oldest first."""
    return sorted(p.name for p in directory.iterdir() if _NAME.fullmatch(p.name) and p.is_dir() and not p.is_symlink())


def read(directory: Path, limit: int) -> Past:
    """Read the newest `limit` runs; what is not what a run wrote is named and not taken for one."""
    every = names(directory)
    foreign = [
        (path.name, "is of no run")
        for path in sorted(directory.iterdir())
        if path.name not in every and not _OWN.fullmatch(path.name)
    ]
    stores: dict[tuple[str, str, str], list[StoreRun]] = {}
    known: dict[tuple[str, str, str], dict[str, tuple[StoreRun, Identities]]] = {}
    listed: dict[tuple[str, str, str], tuple[Sequence[Listed], Sequence[Listed]]] = {}
    good = 0
    for name in every[-limit:]:
        try:
            runs = _run(directory, name)
            tables = [_identities(each.found) for each in runs]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, AuditError) as error:
            foreign.append((name, f"is broken, and not taken for a run: {printable(error)[:200]}"))
            continue
        good += 1
        for each, table in zip(runs, tables, strict=True):
            before = stores.setdefault(each.store, [])
            told, listed[each.store] = _compared(each, table, known.setdefault(each.store, {}))
            backwards = bool(before) and each.started < before[-1].started
            before.append(replace(told, first=not before, backwards=backwards))
    return Past(stores, foreign, max(0, len(every) - limit), good, listed)


def _run(directory: Path, name: str) -> list[StoreRun]:
    place = directory / name
    if differences := verify(place).differences:
        first = differences[0]
        raise ValueError(f"{len(differences)} difference(s) from its manifest, the first: {first.name} {first.what}")
    run = json.loads((place / "run.json").read_text(encoding="utf-8"))
    if not str(run["schema"]).startswith("busbar-audit/run/") or run["verdict"] not in _WORDS or not run["stores"]:
        raise ValueError("run.json is not that of a run")
    total = len(run["stores"])
    return [
        _store(document, run["verdict"], name, place, folder_of(number, total, str(document["store"]["family"])))
        for number, document in enumerate(run["stores"], start=1)
    ]


def _store(document: Mapping[str, Any], of: str, name: str, place: Path, folder: str) -> StoreRun:
    if document["verdict"] not in _WORDS:
        raise ValueError("its verdict is none")
    started = str(document["run"]["started"])
    datetime.fromisoformat(started)
    found = place / folder / "findings.parquet"
    if not found.resolve().is_relative_to(place.resolve()):
        raise ValueError("a family that is no name of a folder")
    about, checks = document["store"], document["checks"]
    rows = sum(int(line["rows"]) for line in document["account"])
    return StoreRun(
        run=name,
        page=f"{name}/index.html",
        started=started,
        verdict=document["verdict"],
        of=of,
        store=(str(about["family"]), str(about["engine"]), str(about["location"])),
        counts={s: sum(int(check["by_severity"].get(s, 0)) for check in checks) for s in SEVERITIES},
        seconds=float(document["run"]["seconds"]),
        rows=rows,
        examined=sum(int(line["examined"]) for line in document["account"]),
        accepted=sum(int(check["accepted"]) for check in checks),
        reasons=[str(reason) for reason in document["reasons"]],
        answered=frozenset(str(check["code"]) for check in checks if check["outcome"] in _ANSWERED),
        found=found,
    )


def _identities(found: Path) -> dict[str, Identities]:
    """Identities of the findings by check, sorted and each once; nothing else of the table is held."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(found, columns=["code", "identity"])
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    codes, identities = table.column("code"), table.column("identity")
    return {
        code: np.unique(identities.filter(pc.equal(codes, code)).to_numpy().astype("S16"))
        for code in pc.unique(codes).to_pylist()
    }


def _compared(
    run: StoreRun, found: Mapping[str, Identities], known: dict[str, tuple[StoreRun, Identities]]
) -> tuple[StoreRun, tuple[list[Listed], list[Listed]]]:
    """Hold a run against what was last known of each check, and make it known.

    A check that gave no answer says nothing of its findings: they are neither gone nor standing.
    """
    none: Identities = np.array([], dtype="S16")
    new = gone = standing = unseen = 0
    appeared: list[Listed] = []
    went: list[Listed] = []
    for code in sorted(run.answered | known.keys()):
        before = known.get(code)
        was = none if before is None else before[1]
        if code not in run.answered:
            unseen += len(was)
            continue
        now = found.get(code, none)
        fresh, lost = np.setdiff1d(now, was, assume_unique=True), np.setdiff1d(was, now, assume_unique=True)
        new, gone, standing = new + len(fresh), gone + len(lost), standing + len(now) - len(fresh)
        if len(appeared) < LISTED:
            appeared += _rows(run.found, code, fresh[: LISTED - len(appeared)])
        if before is not None and len(went) < LISTED:
            went += _rows(before[0].found, code, lost[: LISTED - len(went)])
        known[code] = (run, now)
    return replace(run, new=new, gone=gone, standing=standing, unseen=unseen), (appeared, went)


def _rows(found: Path, code: str, wanted: Identities) -> list[Listed]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not len(wanted):
        return []
    columns = ["severity", "subject", "place", "detail"]
    these = (pc.field("code") == code) & pc.field("identity").isin([each.decode() for each in wanted])
    rows = pq.read_table(found, columns=columns, filters=these).slice(0, len(wanted)).to_pylist()
    return [Listed(code, *(str(row[column]) for column in columns)) for row in rows]
