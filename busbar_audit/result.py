"""The result of an audit: what result.json holds, what a notebook shows, what the tables behind it are."""

from __future__ import annotations

import hashlib
import html
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from busbar_audit import queries
from busbar_audit.errors import UnknownCheck
from busbar_audit.findings import CheckResult, Finding, Outcome, exact
from busbar_audit.store import Store
from busbar_audit.text import printable
from busbar_audit.verdict import AccountLine, Verdict
from busbar_audit.witness_file import Line

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "busbar-audit/result/1"
RUN_SCHEMA = "busbar-audit/run/1"
LISTED_CHAINS = 200
_TASKS = ("task_events", "task_event")


def version() -> str:
    """Version of this package."""
    return metadata.version("busbar-audit")


@cache
def json_schema(name: str = "result") -> dict[str, Any]:
    """The published JSON Schema of result.json, run.json or case.json."""
    text = (Path(__file__).parent / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@dataclass(frozen=True)
class ChainLine:
    """One chain: its extent, its verdict and what the verdict is about."""

    population: str
    scope: str
    records: int
    first_seq: int
    last_seq: int
    first_prev_hash: str | None
    last_hash: str | None
    first_ts: int | None
    last_ts: int | None
    verdict: str
    about: list[str]
    first_bad: int | None
    last_bad: int | None


@dataclass(frozen=True)
class Result:
    """One audited store. `verdict`, `results`, `chains` and `account` are what the reports are made of.

    advance : moves the witness on, as the very last step; None where this run may not.
    """

    store: Store = field(repr=False)
    run_id: str
    started: datetime
    seconds: float
    requested: Mapping[str, Any]
    left_out: Sequence[str]
    account: Sequence[AccountLine]
    chains: Sequence[ChainLine]
    results: Sequence[CheckResult]
    verdict: Verdict
    reasons: Sequence[str]
    witness: Mapping[str, Any] | None = None
    advance: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 3 inconclusive."""
        return self.verdict.exit_code

    def check(self, code: str) -> CheckResult:
        """The end of one check.

        Raises
        ------
        UnknownCheck : the run had no check of that code.
        """
        for result in self.results:
            if result.code == code.upper():
                return result
        raise UnknownCheck(f"This run had no check {code}.", "Expected one of those it selected.")

    def codes(self) -> frozenset[str]:
        """Codes of the checks that found something."""
        return frozenset(r.code for r in self.results if r.outcome is Outcome.FINDING)

    def findings(self) -> Iterator[Finding]:
        """Every finding, uncapped, check by check in the order of place."""
        for result in self.results:
            if result.outcome is Outcome.FINDING:
                yield from _all_findings(self.store, result)

    def by_severity(self) -> dict[str, int]:
        """Findings by severity, gravest first."""
        total: Counter[str] = Counter()
        for result in self.results:
            if result.outcome is Outcome.FINDING:
                total.update(result.counts)
        return {severity: total.get(severity, 0) for severity in queries.SEVERITIES}

    def not_checked(self) -> list[CheckResult]:
        """Selected checks that gave no answer, with their reasons."""
        return [r for r in self.results if r.outcome not in (Outcome.PASS, Outcome.FINDING)]

    def witnessable(self, *, whatever_witnessed: bool = False) -> tuple[list[Line], list[str]]:
        """What a witness keeps of this run: a line for every intact chain, and the marks of the store's keys, oldest first.

        Parameters
        ----------
        whatever_witnessed : chains, too, that a witness says are not what they were and that are intact in themselves.
        """
        con, views = self.store.con, self.store.views
        ended: set[str] = set()
        if views.has("audit.tasks"):
            ended = {task for (task,) in con.execute(queries.figure("finished_tasks").sql).fetchall()}
        sound: set[tuple[str, str]] = set()
        if whatever_witnessed and self.chains:
            sound = set(con.execute(queries.figure("sound_chains").sql).fetchall())
        marks: list[str] = []
        if "keys" in self.store.warehouse.loaded and not views.missing("audit.identity_marks"):
            views.make("audit.identity_marks", {})
            marks = [mark for (mark,) in con.execute(queries.figure("marks").sql).fetchall()]
        lines = [
            Line(
                *(c.population, c.scope, c.first_seq, c.first_prev_hash, c.last_seq, c.last_hash, c.records, c.last_ts),
                finished=c.population in _TASKS and c.scope in ended,
            )
            for c in self.chains
            # A time beyond 64 bits would be no line that can be read again.
            if (c.verdict.startswith("intact") or (c.population, c.scope) in sound)
            and -(2**63) <= (c.last_ts or 0) < 2**63
        ]
        return lines, marks

    def frame(self) -> pd.DataFrame:
        """One row a check: code, severity, outcome, findings, examined, title, reason."""
        import pandas as pd

        columns = ["code", "severity", "outcome", "findings", "examined", "title", "reason"]
        return pd.DataFrame(
            [(r.code, r.severity, str(r.outcome), r.findings, r.examined, r.title, r.reason) for r in self.results],
            columns=columns,
        )

    def as_dict(self) -> dict[str, Any]:
        """The content of result.json; everything outside ``run``, ``snapshot.taken_at`` and ``seconds`` repeats."""
        store, generation = self.store, self.store.generation
        totals: dict[str, Counter[str]] = {}
        records: Counter[str] = Counter()
        for line in self.chains:
            totals.setdefault(line.population, Counter())[line.verdict] += 1
            records[line.population] += line.records
        bad = [line for line in self.chains if line.about]
        return {
            "schema": SCHEMA,
            "tool": {"name": "busbar-audit", "version": version()},
            "run": {
                "id": self.run_id,
                "started": self.started.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "seconds": round(self.seconds, 3),
                "command": "audit",
            },
            "store": {
                "family": store.family,
                "engine": store.engine,
                "generation": generation.taken,
                "stamp": generation.stamp,
                "implied": generation.implied,
                "location": printable(store.target.label),
            },
            "snapshot": store.source.document(),
            "requested": dict(self.requested),
            "covered": {
                "checks_run": sum(r.outcome in (Outcome.PASS, Outcome.FINDING) for r in self.results),
                "checks_selected": len(self.results),
                "not_selected": list(self.left_out),
                "chained_records": exact(sum(line.records for line in self.chains)),
                "first_ts": exact(min((c.first_ts for c in self.chains if c.first_ts is not None), default=None)),
                "last_ts": exact(max((c.last_ts for c in self.chains if c.last_ts is not None), default=None)),
            },
            "account": [
                {"table": a.table, "rows": a.rows, "examined": a.examined, "not_examined": a.not_examined}
                for a in self.account
            ],
            "chains": {
                "totals": {
                    population: {
                        "chains": sum(count.values()),
                        "records": exact(records[population]),
                        **dict(sorted(count.items())),
                    }
                    for population, count in sorted(totals.items())
                },
                "not_intact_total": len(bad),
                "not_intact": [
                    {
                        "population": c.population,
                        "scope": c.scope,
                        "first_seq": exact(c.first_seq),
                        "last_seq": exact(c.last_seq),
                        "last_hash": c.last_hash,
                        "records": c.records,
                        "verdict": c.verdict,
                        "about": c.about,
                        "first_bad": exact(c.first_bad),
                        "last_bad": exact(c.last_bad),
                    }
                    for c in bad[:LISTED_CHAINS]
                ],
                "sha256": _chains_digest(self.chains),
            },
            "checks": [r.as_dict() for r in self.results],
            "accepted": [
                {
                    "code": r.code,
                    "subject": each.acceptance.subject,
                    "place": printable(each.acceptance.place),
                    "reason": printable(each.acceptance.reason),
                    "findings": each.findings,
                }
                for r in self.results
                for each in r.accepted
            ],
            "witness": None if self.witness is None else dict(self.witness),
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
            "exit_code": self.exit_code,
        }

    def __repr__(self) -> str:
        found = ", ".join(f"{count} {severity}" for severity, count in self.by_severity().items() if count) or "none"
        return f"<Result {self.verdict}: {self.store.name}, findings {found}; {'; '.join(self.reasons)}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{r.code}</td><td>{r.severity}</td><td>{r.outcome}</td><td>{r.findings:,}</td>"
            f"<td>{r.examined:,}</td><td>{html.escape(r.title)}</td><td>{html.escape(printable(r.reason))}</td></tr>"
            for r in self.results
            if r.outcome is not Outcome.PASS
        )
        return (
            f"<p><b>{self.verdict}</b> · {html.escape(self.store.name)} · {html.escape('; '.join(self.reasons))}</p>"
            f"<table><tr><th>check</th><th>severity</th><th>outcome</th><th>findings</th><th>examined</th><th>title</th>"
            f"<th>reason</th></tr>{rows}</table>"
        )


def _all_findings(store: Store, result: CheckResult) -> Iterator[Finding]:
    names_and_rows = store.con.execute(f'SELECT * FROM findings."{result.code}" ORDER BY ALL')  # noqa: S608 - our code
    names = [column[0] for column in names_and_rows.description or []]
    while rows := names_and_rows.fetchmany(1000):
        for row in rows:
            values = dict(zip(names, row, strict=True))
            severity = values.pop("severity", result.severity)
            yield Finding.of(result.code, severity, values)


def _chains_digest(chains: Sequence[ChainLine]) -> str:
    digest = hashlib.sha256()
    for c in chains:
        line = (c.population, c.scope, c.records, c.first_seq, c.first_prev_hash, c.last_seq, c.last_hash, c.verdict)
        digest.update(json.dumps(line, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()


def run_dict(results: Sequence[Result]) -> dict[str, Any]:
    """The content of run.json: one verdict over all stores of the target, the results inside."""
    from busbar_audit.verdict import gravest

    verdict = gravest([r.verdict for r in results])
    return {
        "schema": RUN_SCHEMA,
        "verdict": str(verdict),
        "exit_code": verdict.exit_code,
        "stores": [r.as_dict() for r in results],
    }
