"""An earlier report held against the store now: of each chain what came, what went, and whether a purge explains it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from busbar_audit import queries
from busbar_audit.errors import ReportError, UsageError
from busbar_audit.policy import Policy, Receipt
from busbar_audit.store import Store
from busbar_audit.stores import busbar
from busbar_audit.text import printable

FORMAT = "busbar-audit-since/1"
_WORDS = {0: "clean", 1: "findings", 3: "inconclusive"}
_SHOWN = 20
# What a purge by age may take. Of any other population nothing may ever go.
_OF = {"mcp_calls": "calls", "call": "calls", "task_events": "tasks", "task_event": "tasks"}
_OTHER = "the {} another store: no chain of it is here"
# What can have gone of a chain. Of these a purge by age leaves the first three.
PURGES = ("head purged", "vanished", "begun anew")
_TEXT, _NUMBER = "VARCHAR", "BIGINT"
COLUMNS = [
    ("population", _TEXT), ("scope", _TEXT), ("records", _NUMBER), ("first_seq", _NUMBER), ("last_seq", _NUMBER),
    ("last_hash", _TEXT), ("first_ts", "HUGEINT"), ("last_ts", "HUGEINT"),
]  # fmt: skip
GONE_COLUMNS = [("population", _TEXT), ("scope", _TEXT), ("now_first", _NUMBER)]


@dataclass(frozen=True)
class Gone:
    """What went of one chain.

    what : one of ``head purged``, ``vanished``, ``begun anew``, ``tail cut``, ``rewritten``, ``gap inside``. records : that
    went; 0 where it cannot be counted. why : ``declared``, ``plausible`` or ``unexplained``.
    """

    population: str
    scope: str
    what: str
    records: int
    why: str
    detail: str


@dataclass(frozen=True)
class Comparison:
    """An earlier report and the store now.

    came : by population, records written since. gone : a line a chain. faults : receipts that do not add up.
    unsure : why nothing can be said; then nothing else is.
    """

    since: int
    as_of: int
    compared: int = 0
    came: Mapping[str, int] | None = None
    gone: tuple[Gone, ...] = ()
    faults: tuple[str, ...] = ()
    unsure: str = ""

    @property
    def exit_code(self) -> int:
        """0 all explained, 1 something is not, 3 the two cannot be compared."""
        if self.unsure:
            return 3
        return int(bool(self.faults) or any(each.why == "unexplained" for each in self.gone))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": FORMAT,
            "since": self.since,
            "as_of": self.as_of,
            "verdict": _WORDS[self.exit_code],
            "reason": self.unsure,
            "chains_compared": self.compared,
            "came": dict(self.came or {}),
            "gone": [vars(each) for each in self.gone],
            "receipts": list(self.faults),
        }


def compare(store: Store, report: Path, *, as_of: int, policy: Policy | None = None) -> Comparison:
    """Hold the chains of an earlier report against a store.

    Parameters
    ----------
    as_of : unix seconds; ages of the policy count back from it. policy : its receipts since the report say what was purged;
        of what has none, its cutoffs do.

    Raises
    ------
    UsageError : a store without chains. ReportError : the folder is no report, was changed, or has several stores.
    """
    if store.family != busbar.NAME:
        raise UsageError(f"--since with {store.name}.", "Chains are compared, which busbar stores have.")
    policy = policy or Policy()
    document, rows = _read(report)
    told, since = document["store"], _seconds(document)
    if since > as_of:
        return Comparison(since, as_of, unsure="the report is of a later time than the store")
    if (told["family"], told["engine"]) != (store.family, store.engine):
        return Comparison(since, as_of, unsure="the report is of a store of another family or engine")
    if told["generation"] != store.generation.taken:
        return Comparison(since, as_of, unsure="the store was upgraded since: its chains have other names")
    if not rows:
        return Comparison(since, as_of, unsure="the report has no chain to compare with")
    here = told["location"] == printable(store.target.label)
    return _held(store, rows, since, as_of, policy, lambda: "" if here else _OTHER.format("report is of"), None)


def compare_stores(store: Store, before: Store, *, as_of: int, policy: Policy | None = None) -> Comparison:
    """Hold the chains of an earlier copy of a store against the store: as `compare`, and times of what went are known exactly.

    Parameters
    ----------
    before : the earlier copy; its time is that of its newest record. as_of, policy : as for `compare`.

    Raises
    ------
    UsageError : a store without chains.
    """
    for each in (store, before):
        if each.family != busbar.NAME:
            raise UsageError(f"--before with {each.name}.", "Chains are compared, which busbar stores have.")
    before.view("chains")
    rows = before.con.execute(queries.figure("chain_ends").sql).fetchall()
    since = max((int(row[7]) for row in rows if row[7] is not None), default=0)
    if lost := sum(loaded.rejected for loaded in before.warehouse.loaded.values()):
        return Comparison(since, as_of, unsure=f"{lost} row(s) of the earlier store cannot be read")
    if before.engine != store.engine or before.generation.taken != store.generation.taken:
        return Comparison(
            since, as_of, unsure="the earlier store is of another engine or generation: chains have other names"
        )
    if not rows:
        return Comparison(since, as_of, unsure="the earlier store has no chain to compare with")
    if since > as_of:
        return Comparison(since, as_of, unsure="the earlier store has records of a later time than the clock")
    return _held(store, rows, since, as_of, policy or Policy(), lambda: _other_keys(store, before), before)


def _other_keys(store: Store, before: Store) -> str:
    """Why two stores without a chain in common are not the same one; nothing if they have a key in common."""
    marks = []
    for each in (store, before):
        each.view("identity_marks")
        marks.append(set(each.con.execute(queries.figure("marks").sql).fetchall()))
    return "" if marks[0] & marks[1] else _OTHER.format("earlier store is")


def _newest(before: Store, chains: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """Of chains whose head is gone, the time of the newest record that went."""
    asked = [(c["population"], c["scope"], c["now_first"]) for c in chains if c["last_seq"] and c["now_first"]]
    before.warehouse.fill("source.gone", GONE_COLUMNS, asked)
    found = before.con.execute(queries.figure("gone_until").sql).fetchall()
    return {(population, scope): newest for population, scope, newest in found if newest is not None}


def _held(
    store: Store,
    rows: list[tuple[Any, ...]],
    since: int,
    as_of: int,
    policy: Policy,
    another: Callable[[], str],
    before: Store | None,
) -> Comparison:
    store.warehouse.fill("source.since", COLUMNS, rows)
    store.view("chain_records")
    if lost := sum(loaded.rejected for loaded in store.warehouse.loaded.values()):
        return Comparison(since, as_of, unsure=f"{lost} row(s) of the store cannot be read")
    found = store.con.execute(queries.figure("since").sql)
    names = [column[0] for column in found.description or ()]
    chains = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    same = any(c["last_hash"] is not None and c["hash_there"] == c["last_hash"] for c in chains)
    if not same and (why := another()):
        return Comparison(since, as_of, unsure=why)
    newest = {} if before is None else _newest(before, chains)
    receipts = [each for each in policy.receipts if since < each.when <= as_of]
    cutoffs = policy.cutoffs_at(as_of)
    for each in receipts:
        cutoffs[each.of] = max(r.cutoff for r in receipts if r.of == each.of)
    came: Counter[str] = Counter()
    gone = []
    for chain in chains:
        until = newest.get((chain["population"], chain["scope"]), chain["first_ts"])
        lost_here = None if chain["last_seq"] is None else _gone(chain, cutoffs, until)
        if lost_here is not None:
            gone.append(lost_here)
        anew = lost_here is not None and lost_here.what == "begun anew"
        came[chain["population"]] += (chain["now_records"] or 0) - (0 if anew else chain["kept"])
    faults = tuple(_receipts(receipts, gone, since))
    return Comparison(since, as_of, len(rows), {k: n for k, n in sorted(came.items()) if n}, tuple(gone), faults)


def _gone(c: Mapping[str, Any], cutoffs: Mapping[str, int], until: int | None) -> Gone | None:
    of = _OF.get(c["population"])
    cutoff = cutoffs.get(of or "")

    def said(what: str, records: int, newest: int | None, detail: str) -> Gone:
        # newest : a time that the purge must have reached, were it one.
        if what not in PURGES or of is None:
            why = "unexplained"
        elif cutoff is None:
            why = "plausible"
        else:
            why = "declared" if newest is not None and newest < cutoff else "unexplained"
            detail += "" if why == "declared" else ", younger than the cutoff"
        return Gone(c["population"], c["scope"], what, records, why, detail)

    last, first = c["last_seq"], c["now_first"]
    if first is None:
        return said("vanished", c["records"], c["last_ts"], f"ended at {last}")
    if c["there"] and c["hash_there"] == c["last_hash"]:
        lost = c["records"] - c["kept"]
        if lost <= 0:
            return None
        if first > c["first_seq"] and lost == first - c["first_seq"]:
            # A report has the time of the first of the removed alone; the others follow it.
            return said("head purged", lost, until, f"began at {c['first_seq']}, begins at {first}")
        return said("gap inside", lost, None, "records between the first and the last are gone")
    if first > last:
        return said("head purged", c["records"], c["last_ts"], f"ended at {last}, begins at {first}")
    # Younger than this chain's end is all that is left of its population, so a purge can have taken all of it.
    later = c["oldest"] is not None and c["last_ts"] is not None and c["oldest"] > c["last_ts"]
    if first == 1 and later:
        return said("begun anew", c["records"], c["last_ts"], f"ended at {last}, and begins at 1 after that")
    if c["now_last"] < last:
        return said("tail cut", c["records"] - c["kept"], None, f"ended at {last}, ends at {c['now_last']}")
    if c["there"]:
        return said("rewritten", 0, None, f"record {last} has another hash")
    return said("gap inside", max(0, c["records"] - c["kept"]), None, f"record {last} is gone from inside")


def _receipts(receipts: list[Receipt], gone: list[Gone], since: int) -> Iterator[str]:
    """Receipts against what went. Records that came and went in between are in the receipts alone."""
    for of in sorted({each.of for each in receipts}):
        mine = [each for each in receipts if each.of == of]
        # A purge of tasks counts tasks, each of which has one chain; one of calls counts records.
        went = sum(
            1 if of == "tasks" else each.records
            for each in gone
            if _OF.get(each.population) == of and each.what in PURGES
        )
        count = sum(each.count for each in mine)
        if went > count:
            yield f"{of}: {went:,} went, and the receipts tell of {count:,}"
        elif went < count and all(each.cutoff <= since for each in mine):
            yield f"{of}: the receipts tell of {count:,}, and {went:,} went of what was there before their cutoffs"


def _read(report: Path) -> tuple[Mapping[str, Any], list[tuple[Any, ...]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = printable(str(report))
    expected = "A folder that `busbar-audit audit --out` or `report --out` wrote, of one store."
    try:
        listed = json.loads((report / "manifest.json").read_text(encoding="utf-8"))["files"]
        for each in ("result.json", "chains.parquet"):
            if hashlib.sha256((report / each).read_bytes()).hexdigest() != listed[each]["sha256"]:
                raise ReportError(f"Report {name}: {each} is not as its manifest says.", expected)
        document = json.loads((report / "result.json").read_text(encoding="utf-8"))
        file = report / "chains.parquet"
        table = pq.read_table(file, columns=[column for column, _ in COLUMNS])
        if not {"family", "engine", "generation", "location"} <= document["store"].keys():
            raise ValueError("no store is told")
        _seconds(document)
    except OSError as error:
        raise ReportError(f"Report {name}: {error.strerror}.", expected) from None
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        raise ReportError(f"Report {name} cannot be read.", expected) from None
    columns = [[int(v) if kind == "HUGEINT" and v is not None else v for v in table[column].to_pylist()]
               for column, kind in COLUMNS]  # fmt: skip
    return document, list(zip(*columns, strict=True))


def _seconds(document: Mapping[str, Any]) -> int:
    return int(datetime.fromisoformat(document["requested"]["as_of"]).timestamp())


def lines(made: Comparison) -> Iterator[str]:
    """A comparison for a terminal."""
    if made.unsure:
        yield made.unsure
        return
    yield f"compared  {made.compared:,} chain(s) of the report"
    for population, count in (made.came or {}).items():
        yield f"came      {population}: {count:,} record(s)"
    summed: Counter[tuple[str, str, str]] = Counter()
    chains: Counter[tuple[str, str, str]] = Counter()
    for each in made.gone:
        key = (each.population, each.what, each.why)
        summed[key] += each.records
        chains[key] += 1
    for key in sorted(chains):
        population, what, why = key
        yield f"went      {population}: {what}, {chains[key]:,} chain(s), {summed[key]:,} record(s): {why}"
    unexplained = [each for each in made.gone if each.why == "unexplained"]
    for each in unexplained[:_SHOWN]:
        yield f"{'':4} {each.population} {printable(each.scope)[:100]}: {each.what}, {each.detail}"
    if len(unexplained) > _SHOWN:
        yield f"{'':4} and {len(unexplained) - _SHOWN:,} more"
    for fault in made.faults:
        yield f"receipt   {fault}"
