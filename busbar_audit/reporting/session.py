"""What a notebook opens: one audited store, prepared by `report`, or audited here and now."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb

from busbar_audit import queries
from busbar_audit.errors import AuditError, ReportError, UsageError
from busbar_audit.findings import at_least
from busbar_audit.queries import SEVERITIES, Query
from busbar_audit.reporting import (
    accounts,
    chainviews,
    disk,
    divergence,
    imports,
    operations,
    panels,
    push_configs,
    retention,
    writepath,
)
from busbar_audit.reporting.markup import Block, nothing, style, text

if TYPE_CHECKING:
    import pandas as pd

    from busbar_audit.policy import Policy
    from busbar_audit.reporting.desk import Findings
    from busbar_audit.result import Result
    from busbar_audit.store import Store

RUN = "BUSBAR_AUDIT_RUN"
TARGET = "BUSBAR_AUDIT_TARGET"
RESULT = "result.json"
WAREHOUSE = "warehouse.duckdb"
PURGES = "purges.json"


class AuditFailed(Exception):
    """Raised by the last cell of a notebook when a verdict reaches what `raise_on` says."""


def open_run(
    target: str | os.PathLike[str] | None = None,
    policy: str | None = None,
    witness: str | None = None,
    as_of: str | int | datetime | None = None,
    out: str | os.PathLike[str] | None = None,
    before: str | os.PathLike[str] | None = None,
) -> Session:
    """Open what a notebook is about.

    Inside `busbar-audit report` that is the run it prepared; anywhere else the store is copied and audited first.

    Parameters
    ----------
    target : the store; by default what the environment variable BUSBAR_AUDIT_TARGET names.
    policy : a file for `read_policy`.
    witness : a folder of witnesses: the store is held against its own, which is moved on when the outputs are written.
    as_of : the clock of all checks: a time with its zone (``2026-03-01T00:00:00Z``) or unix seconds.
    out : a folder for result.json, tables and metrics of an audit made here.
    before : an earlier copy of the store, which what was imported since is held against.

    Raises
    ------
    UsageError : no target, a witness for a run that is prepared, or a time without a zone.
    """
    if prepared := os.environ.get(RUN):
        if witness is not None:
            raise UsageError(
                f"witness = {witness!r} in a notebook of a report.", "The command's own --witness.", "Leave it at None."
            )
        return Session.prepared(Path(prepared))
    named = target if target is not None else os.environ.get(TARGET)
    if not named:
        raise UsageError(
            "No target.",
            "Expected the path of a store.",
            f"Set target in the parameters cell, or {TARGET} in the environment.",
        )
    return _audited(named, _clock(as_of), out, policy, before, witness)


def _audited(
    target: str | os.PathLike[str],
    as_of: datetime | int | None,
    out: str | os.PathLike[str] | None,
    policy: str | None,
    before: str | os.PathLike[str] | None,
    witness: str | None,
) -> Session:
    from busbar_audit.auditing import audit
    from busbar_audit.policy import read_policy
    from busbar_audit.reporting.progress import progress
    from busbar_audit.reporting.runner import write_report
    from busbar_audit.store import open_store
    from busbar_audit.witnessing import advance, open_witness

    declared = read_policy(policy) if policy is not None else None
    with progress() as say, ExitStack() as stack:
        store = open_store(target, progress=say)
        try:
            earlier = None if out is None else Path(out)
            kept = stack.enter_context(closing(open_witness(witness, store, earlier=earlier))) if witness else None
            result = audit(store, as_of=as_of, policy=declared, before=before, progress=say, witness=kept)
            if out is not None:
                say("writing the outputs")
                write_report([result], out)
            advance([result])
        except BaseException:
            store.close()
            raise
    return Session(result.as_dict(), store.con, result=result, purges=next_purges(result, declared))


def next_purges(result: Result, policy: Policy | None) -> dict[str, Any] | None:
    """What the next purge of an audited store would take, by the policy's cutoffs; None for a store without such verbs.

    Returns
    -------
    as `Plan.as_dict`, with the cutoffs by what is kept and the room on its disk; with ``failed``, and nothing predicted,
    where a table cannot be read.
    """
    from busbar_audit.retention.plan import plan

    store = result.store
    if store.family != "busbar" or store.generation.taken is None:
        return None
    clock = int(datetime.fromisoformat(result.as_dict()["requested"]["as_of"]).timestamp())
    cutoffs = {} if policy is None else policy.cutoffs_at(clock)
    try:
        return {**plan(store, as_of=clock, policy=policy).as_dict(), "cutoffs": cutoffs, "disk": disk.room(store)}
    except AuditError as error:
        # The audit stands; what it could not load, this cannot either.
        return {"failed": error.read, "cutoffs": cutoffs, "disk": disk.room(store)}


def _clock(as_of: str | int | datetime | None) -> datetime | int | None:
    if not isinstance(as_of, str):
        return as_of
    with suppress(ValueError):
        return int(as_of)
    try:
        moment = datetime.fromisoformat(as_of)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise UsageError(
            f"as_of = {as_of!r}.", "Expected a time with its zone, such as 2026-03-01T00:00:00Z, or unix seconds."
        )
    return moment.astimezone(UTC)


class Session:
    """One audited store with everything a notebook shows of it.

    Attributes
    ----------
    document : the content of result.json.
    con : DuckDB connection to the store's tables, the views made by the checks, and their findings.
    result, store : of an audit made here; None inside a report.
    purges : what the next purge would take, as `next_purges` gives it; None where that was not asked.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        con: duckdb.DuckDBPyConnection,
        *,
        result: Result | None = None,
        purges: Mapping[str, Any] | None = None,
    ) -> None:
        self.document, self.con, self.result, self.purges = document, con, result, purges
        self.store: Store | None = result.store if result is not None else None
        # A report's page has the style already; in JupyterLab the first block brings it.
        self._styled = result is None

    @classmethod
    def prepared(cls, directory: Path) -> Session:
        """Open the run that `report` left in a private directory, read-only.

        Raises
        ------
        ReportError : there is no such run.
        """
        try:
            document = json.loads((directory / RESULT).read_text(encoding="utf-8"))
            told = directory / PURGES
            purges = json.loads(told.read_text(encoding="utf-8")) if told.exists() else None
            spill = directory / f"spill-{os.getpid()}"
            config: dict[str, Any] = {
                "memory_limit": "300MB",
                "threads": 1,
                "temp_directory": str(spill),
                "autoload_known_extensions": False,
            }
            con = duckdb.connect(str(directory / WAREHOUSE), read_only=True, config=config)
        except (OSError, ValueError, duckdb.Error) as error:
            raise ReportError(
                f"{RUN} names no prepared run: {error}.",
                "Expected what `busbar-audit report` prepares.",
                f"Unset {RUN} to audit a target.",
            ) from error
        return cls(document, con, purges=purges)

    @property
    def word(self) -> str:
        """The verdict: clean, findings or inconclusive."""
        return str(self.document["verdict"])

    def has(self, relation: str) -> bool:
        """Whether a relation such as ``audit.chains`` was made by the checks of this run."""
        schema, _, name = relation.partition(".")
        found = self.con.execute(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2", [schema, name]
        ).fetchone()
        return bool(found and found[0])

    def rows(self, query: Query, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a figure's query as dictionaries; integers stay exact at any width."""
        done = self.con.execute(query.sql, query.bind(values or {}))
        names = [column[0] for column in done.description or []]
        return [dict(zip(names, row, strict=True)) for row in done.fetchall()]

    def find(self, code: str | None = None, place: str | None = None) -> Findings:
        """Findings of a check, by default the gravest: `run.find("BUS-C01")[0].around(5)`; see `desk.find`."""
        from busbar_audit.reporting import desk

        return desk.find(self.con, self.document, code, place)

    def trail(self, place: str, limit: int = 1000) -> pd.DataFrame:
        """Every row that names a principal, task, session or key, in the order of time; see `trail.trail`."""
        from busbar_audit.reporting.trail import trail

        return trail(self.con, place, limit)

    def tables(self) -> pd.DataFrame:
        """What there is to query by `con`: schema, name, rows, and what a row of each view is."""
        from busbar_audit.reporting import desk

        return desk.tables(self.con, self.document["store"]["family"])

    def close(self) -> None:
        """End the work: the private copy of a store that was audited here goes."""
        self.con.close()
        if self.store is not None:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def figure(self, name: str) -> Query:
        """A query of ``queries/figures``."""
        return queries.figure(name)

    def verdict(self) -> Block:
        """Verdict, what was looked at, what was not."""
        return self._first(panels.verdict(self.document))

    def snapshot(self) -> Block:
        """The copy that was audited, and the run."""
        return panels.snapshot(self.document)

    def account(self) -> Block:
        """Every table: rows examined and not."""
        return panels.account(self.document)

    def not_checked(self) -> Block:
        """Checks without an answer."""
        return panels.not_checked(self.document)

    def findings(self, codes: str = "") -> Block:
        """Findings of checks whose code begins with `codes`."""
        return panels.findings(self.document, codes=codes)

    def write_path(self) -> Block:
        """What the traces of the write path add up to, for each population and for the store."""
        return writepath.write_path(self)

    def tasks(self, limit: int = 20) -> Block:
        """Tasks by state and age, those that wait for a person, and stuck work."""
        return operations.tasks(self, limit)

    def startup(self) -> Block:
        """Whether the newest A2A SDK would accept the store when it starts, and what it does not look at."""
        return push_configs.startup(self)

    def provenance(self) -> Block:
        """Push configurations by provenance, and those that lose their automatic cleanup."""
        return push_configs.provenance(self)

    def orphans(self) -> Block:
        """Push configurations without their task, by likely cause."""
        return push_configs.orphans(self)

    def callbacks(self, limit: int = 50) -> Block:
        """Callbacks by scheme and host; counts only, no secret."""
        return push_configs.callbacks(self, limit)

    def approvals(self, limit: int = 20) -> Block:
        """Approvals on record, and the calls that waited for one."""
        return operations.approvals(self, limit)

    def demotions(self, limit: int = 20) -> Block:
        """Demoted servers, and which of them still serve."""
        return operations.demotions(self, limit)

    def keys(self, limit: int = 20) -> Block:
        """Keys and credentials by state, live keys without a limit, and activity after revocation."""
        return accounts.keys(self, limit)

    def usage(self, limit: int = 10) -> Block:
        """The last windows of usage, and who used most."""
        return accounts.usage(self, limit)

    def readers(self) -> Block:
        """Sessions by how the Session view and the pages have them."""
        return divergence.readers(self)

    def differences(self) -> Block:
        """Differences of the two readers by class: what a user would see, and whether it is legal."""
        return divergence.classes(self)

    def reading_costs(self) -> Block:
        """What each generation of the transcript query decodes for each byte its pages return."""
        return divergence.costs(self)

    def first_difference(self, limit: int = 8) -> Block:
        """Rows around the first difference of each session, both versions side by side."""
        return divergence.first_difference(self, limit)

    def refused_sessions(self, limit: int = 20) -> Block:
        """Sessions that the Session view does not open, and why."""
        return divergence.refused(self, limit)

    def ages(self) -> Block:
        """Records of each population by age, with what is due for a purge."""
        return retention.ages(self)

    def gone(self) -> Block:
        """What is gone of each population, and whether a declared purge explains it."""
        return retention.gone(self)

    def next_purge(self, limit: int = 20) -> Block:
        """Rows that each verb would take now, and what that would hurt."""
        return retention.next_purge(self, limit)

    def growth(self) -> Block:
        """Records a day over the last fortnight."""
        return retention.growth(self)

    def disk(self) -> Block:
        """How large the store is, and when its disk is full at this rate."""
        return disk.disk(self)

    def import_account(self, limit: int = 30) -> Block:
        """Where every legacy row went: as a picture, by kind, by rule, and session by session."""
        return imports.account(self, limit)

    def lost_rows(self, limit: int = 8, each_side: int = 3) -> Block:
        """The first lost row of each session between its neighbours."""
        return imports.first_lost(self, limit, each_side)

    def at_risk(self, limit: int = 40) -> Block:
        """What the conversion to come will fail on, cut, change or leave out."""
        return imports.at_risk(self, limit)

    def copies(self) -> Block:
        """A gateway's own imports: the engine's copy of the admin audit, and the plane copy."""
        return imports.copies(self)

    def populations(self) -> Block:
        """Chains by population and verdict."""
        return chainviews.populations(self)

    def not_intact(self, limit: int = 50) -> Block:
        """Chains of which something is to be said, with their ranges."""
        return chainviews.not_intact(self, limit)

    def timeline(self) -> Block:
        """Records over time, a panel a population."""
        return chainviews.timeline(self)

    def breaks(self, limit: int = 20) -> Block:
        """The worst chains as bars, with a mark at each break."""
        return chainviews.breaks(self, limit)

    def around(self, each_side: int = 3, limit: int = 8) -> Block:
        """The records beside each of the first breaks."""
        return chainviews.around(self, each_side, limit)

    def limits(self) -> Block:
        """What a report about chains does not prove."""
        return chainviews.limits(self)

    def finish(self, raise_on: str | None = None) -> Block:
        """Say that the notebook is through; raise if the run is as bad as `raise_on`.

        Parameters
        ----------
        raise_on : None, a severity (a finding as grave as that), ``findings``, or ``inconclusive`` (anything but
            clean).

        Raises
        ------
        AuditFailed : it is.
        UsageError : `raise_on` is none of these.
        """
        if raise_on is not None:
            self._raise(raise_on)
        self._close()
        return Block(
            nothing(f"Every cell of this notebook ran. Verdict: <b>{text(self.word)}</b>."), f"complete: {self.word}"
        )

    def _raise(self, raise_on: str) -> None:
        if raise_on not in (*SEVERITIES, "findings", "inconclusive"):
            raise UsageError(
                f"raise_on = {raise_on!r}.", f"Expected None, findings, inconclusive or one of {', '.join(SEVERITIES)}."
            )
        counts = panels.by_severity(self.document)
        if raise_on in SEVERITIES:
            grave = sum(count for severity, count in counts.items() if at_least(severity, raise_on))
            reached = bool(grave) or self.word == "inconclusive"
        else:
            reached = self.word == "findings" or (raise_on == "inconclusive" and self.word != "clean")
        if reached:
            raise AuditFailed(f"{self.word}: {'; '.join(self.document['reasons'])}")

    def _close(self) -> None:
        """A prepared run is only read here; an analyst's own stays open for the next cell."""
        if self.result is None:
            self.con.close()

    def _first(self, block: Block) -> Block:
        if self._styled:
            return block
        self._styled = True
        return Block(f"<style>{style()}</style>{block.html}", block.plain)

    def __repr__(self) -> str:
        return panels.verdict(self.document).plain

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"
