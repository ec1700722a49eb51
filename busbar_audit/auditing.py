"""One audit of one store: load, prove the file sound, run the checks, settle the account, judge."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import duckdb

from busbar_audit import checks, queries
from busbar_audit.captured import fill_captured
from busbar_audit.checks import Check
from busbar_audit.errors import AuditError, UnknownCheck, UsageError
from busbar_audit.findings import CheckResult, Outcome
from busbar_audit.imports.before import fill_before
from busbar_audit.policy import Acceptance, Policy
from busbar_audit.queries import SEVERITIES
from busbar_audit.result import ChainLine, Result
from busbar_audit.snapshot.integrity import ForeignKeyViolation
from busbar_audit.store import Store
from busbar_audit.stores import generation_name
from busbar_audit.text import printable
from busbar_audit.verdict import AccountLine, judge
from busbar_audit.witness import Witness
from busbar_audit.witnessing import fill_witness

_TEXT = "VARCHAR"

Progress = Callable[[str], None]
# phase, subject, scope, place, state, digest of one row in one of the copies of a restart proof
RestartRow = tuple[str, str, str, str, str | None, str]


def audit(
    store: Store,
    *,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    as_of: datetime | int | None = None,
    fail_on: str = "medium",
    progress: Progress | None = None,
    fast: bool = True,
    restart: Sequence[RestartRow] | None = None,
    policy: Policy | None = None,
    witness: Witness | None = None,
    before: str | os.PathLike[str] | None = None,
    export: str | os.PathLike[str] | None = None,
) -> Result:
    """Audit an opened store.

    Parameters
    ----------
    only, skip : codes or areas to select or leave out.
    as_of : the clock of all checks, an aware datetime or unix seconds; by default the time of the copy.
    fail_on : severity from which a finding makes the verdict `findings`.
    progress : called with a line of text at each longer step.
    restart : rows of the copies of a restart proof; without them its checks do not apply.
    policy : what the operator declares, see `read_policy`.
    witness : of this store, see `open_witness`; `Result.advance` moves it on when all else is done.
    before : an earlier copy of the store; what was imported since is held against it, see `fill_before`.
    export : maka: answers of the application, captured to a file, see `read_answers`.
    fast : let the fast verifier clear whole call chains; without it SQL recomputes every digest.

    Returns
    -------
    Result, whose tables stay in `store.con` until the store is closed.

    Raises
    ------
    UnknownCheck : a word in `only` or `skip` is neither a code nor an area.
    UsageError : `fail_on` is no severity, or the policy accepts findings of a check that does not exist.
    """
    if fail_on not in SEVERITIES:
        raise UsageError(f"--fail-on {fail_on!r}.", f"Expected one of {', '.join(SEVERITIES)}.")
    started, say = time.perf_counter(), progress or (lambda _: None)
    begun = datetime.now(UTC)
    selected, left_out = checks.select(store, only, skip)
    clock = _seconds(store.source.taken_at if as_of is None else as_of)
    policy = policy or Policy()
    accepted = _in_force(policy, clock)
    values: dict[str, Any] = {"as_of": clock, **policy.values(clock)}
    if restart is not None:
        values["--restart-proof"] = True
    if witness is not None:
        values["--witness"] = True
    for option, given in (("--before", before), ("--export", export)):
        if given is not None:
            values[option] = True
    store.warehouse.fill(
        "source.restart_rows",
        [(name, _TEXT) for name in ("phase", "subject", "scope", "place", "state", "digest")],
        restart or (),
    )
    if before is not None:
        say("reading the earlier store")
    fill_before(store, before)
    fill_captured(store, export)
    for option in values.keys() & {"--before", "--export"}:
        _require_use(option, selected, store, values)

    run = _Run(store, selected, values, say, fast, accepted, witness)
    results = run.results()
    say("settling the account")
    account = _account(store, selected, results, run.not_loaded)
    chains = run.chains()
    evidence = None if chains is None else sum(line.records for line in chains)
    if tables := store.source.about.family.evidence:
        evidence = sum(line.examined for line in account if line.table in tables)
    if policy.expect_empty and evidence == 0:
        evidence = None
    about = store.source.about
    hidden = [] if only else [printable(name) for name in sorted(about.unreadable)]
    verdict, reasons = judge(results, account, fail_on, evidence, about.family.evidence_kind, hidden)
    result = Result(
        store=store,
        run_id=uuid.uuid4().hex,
        started=begun,
        seconds=time.perf_counter() - started,
        requested={
            "only": sorted(only),
            "skip": sorted(skip),
            "as_of": _iso(clock),
            "fail_on": fail_on,
            "checks": [check.code for check in selected],
            "policy": policy.sha256 or None,
        },
        left_out=[check.code for check in left_out],
        account=account,
        chains=chains or [],
        results=results,
        verdict=verdict,
        reasons=reasons,
        witness=None if witness is None else witness.document(),
    )
    return replace(result, advance=run.advance(result))


def _require_use(option: str, selected: Sequence[Check], store: Store, values: Mapping[str, Any]) -> None:
    """Refuse an input that no check would look at: the run would be clean, and what was asked for not checked."""
    mine = [check for check in checks.catalogue() if check.family == store.family and check.needs == option]
    if any(check in selected and not checks.not_applicable(check, store, values) for check in mine):
        return
    if mine and any(not checks.not_applicable(check, store, values) for check in mine):
        raise UsageError(
            f"{option} is given, and {', '.join(check.code for check in mine)}, which reads it, is not selected.",
            "Another --only or --skip, or no such input.",
        )
    told = "; ".join(f"{check.code} is for {check.query.header['applies']}" for check in mine) or "none reads it"
    raise UsageError(
        f"{option} is given, and no check of {store.name} reads it.", f"Expected a store that one does: {told}."
    )


def _in_force(policy: Policy, as_of: int) -> dict[str, list[Acceptance]]:
    """Acceptances by code, those that have ended left out."""
    known = {check.code for check in checks.catalogue()}
    found: dict[str, list[Acceptance]] = {}
    for each in policy.accepted:
        if each.code not in known:
            raise UnknownCheck(
                f"The policy accepts findings of {printable(each.code)}.",
                "Expected the code of a check.",
                "`busbar-audit checks` lists them.",
            )
        if each.holds(as_of):
            found.setdefault(each.code, []).append(each)
    return found


def _seconds(moment: datetime | int) -> int:
    if isinstance(moment, int):
        return moment
    if moment.tzinfo is None:
        raise UsageError(
            f"--as-of {moment.isoformat()}.", "Expected a time with its zone, such as 2026-03-01T00:00:00Z."
        )
    return int(moment.timestamp())


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Run:
    """The steps of one audit, in their order."""

    def __init__(
        self,
        store: Store,
        selected: Sequence[Check],
        values: Mapping[str, Any],
        say: Progress,
        fast: bool,
        accepted: Mapping[str, Sequence[Acceptance]],
        witness: Witness | None,
    ) -> None:
        self.store, self.selected, self.values, self.say, self.fast = store, selected, values, say, fast
        self.accepted, self.witness = accepted, witness
        # How many of the witness's marks are among the keys; None where keys were not looked at, and then nothing is witnessed.
        self.marks_found: int | None = None
        self.sound = False
        self.tables = self._tables()
        self.not_loaded: dict[str, AuditError] = {}

    def results(self) -> list[CheckResult]:
        store, tables = self.store, self.tables
        warehouse = store.warehouse  # opened here, before anything runs beside this thread
        with ThreadPoolExecutor(2) as beside:
            # SQLite's own check and the load read the same finished copy; the load counts for nothing if the check fails.
            health = beside.submit(store.source.health)
            cleared = beside.submit(store.source.cleared_calls) if self._wants_fast() else None
            self.say("loading tables")
            self.not_loaded = _load(store, tables)
            self.say("checking the file")
            messages, violations = health.result()
            warehouse.fill(
                "source.cleared_calls",
                [("scope", _TEXT)],
                [(scope,) for scope in (cleared.result() if cleared else [])],
            )
        self.sound = not messages
        _describe(store, messages, violations, try_guards=self.sound)
        self._witnessed()
        found = []
        for check in self.selected:
            self.say(f"{check.code} {check.title}")
            found.append(self._one(check))
        return found

    def _witnessed(self) -> None:
        """Fill what a witness says; without one the tables are empty and its checks do not apply."""
        store, witness = self.store, self.witness
        if self.sound and witness is not None and "keys" in store.warehouse.loaded:
            # A table without these columns: what is said of it is said by others.
            try:
                store.views.make("audit.identity_marks", self.values)
                marks = {mark for (mark,) in store.con.execute(queries.figure("marks").sql).fetchall()}
                witness.elsewhere(marks)
                self.marks_found = len(set(witness.content.marks) & marks)
            except duckdb.InterruptException:
                raise
            except (duckdb.Error, AuditError):
                self.marks_found = None
        fill_witness(store.warehouse, witness, self.marks_found, int(store.source.taken_at.timestamp()))

    def advance(self, result: Result) -> Callable[[], bool] | None:
        """How to move the witness on, or None where this run may not."""
        witness = self.witness
        failed = any(r.outcome is Outcome.COULD_NOT_RUN for r in result.results)
        if witness is None or failed or self.marks_found is None or not self.store.views.has("audit.witnessed"):
            return None
        # Asked of the store and not of the check, which may have been left out, or its finding accepted.
        identity = self.store.con.execute(queries.figure("witness_identity").sql).fetchone()
        if identity is None or identity[0]:
            return None
        rows = self.store.con.execute(queries.figure("proven_chains").sql).fetchall()
        proven, anew = ({(p, s): now for p, s, now, is_anew in rows if is_anew == which} for which in (False, True))
        lines, marks = result.witnessable()
        at = int(self.store.source.taken_at.timestamp())
        return lambda: witness.advance(lines, proven, marks, at, anew)

    def _wants_fast(self) -> bool:
        store = self.store
        if not self.fast or store.generation.taken is None:
            return False
        return any("audit.chain_faults" in store.views.reads(r) for check in self.selected for r in check.relations())

    def _one(self, check: Check) -> CheckResult:
        store, generation, family = self.store, self.store.generation, self.store.source.about.family
        damaged = f"the file is damaged ({family.damaged})"
        if check.code not in family.always:
            if not self.sound:
                return checks.result(check, Outcome.COULD_NOT_RUN, damaged)
            if generation.taken is None:
                number = max(generation.stamp, generation.implied)
                name = generation_name(family.name, number)
                reason = f"generation {name.removeprefix('v')} is not known, generations {family.known} are"
                return checks.result(check, Outcome.COULD_NOT_RUN, reason)
        elif not self.sound and check.code != family.damaged:
            return checks.result(check, Outcome.COULD_NOT_RUN, damaged)
        if lacking := sorted(self._wanted(check) & self.not_loaded.keys()):
            reason = str(self.not_loaded[lacking[0]]).splitlines()[0]
            return checks.result(check, Outcome.COULD_NOT_RUN, reason)
        return checks.run(check, store, store.views, self.values, self.accepted.get(check.code, ()))

    def _tables(self) -> list[str]:
        store = self.store
        if store.generation.taken is None:
            return []
        wanted: set[str] = set()
        for check in self.selected:
            if not checks.not_applicable(check, store, self.values):
                wanted |= self._wanted(check)
        return sorted(wanted & set(store.rows))

    def _wanted(self, check: Check) -> set[str]:
        """Tables that one check is made from."""
        store = self.store
        wanted = set[str]().union(*(store.views.tables_of(relation) for relation in check.relations()))
        if check.query.header.get("loads") == "all":
            wanted |= {name for name in store.rows if store.state_of(name) != "unknown"}
        return wanted

    def chains(self) -> list[ChainLine] | None:
        """Every chain with its verdict; None where this run did not look at all chains, or could not."""
        store, relation = self.store, "audit.chain_verdicts"
        if not self.sound or store.generation.taken is None or all(c.area != "chains" for c in self.selected):
            return None
        # A few checks of this area need less than every population: the others are not loaded for them.
        # Nor are chains told of a transaction that broke off, though some of their tables were read before.
        if not store.views.tables_of(relation) & set(store.rows) <= set(self.tables) - self.not_loaded.keys():
            return None
        if store.views.missing(relation):
            return []
        try:
            store.views.make(relation, self.values)
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            # A table without a column that chains are made of: the checks over it say so, each by itself.
            return None
        rows = store.con.execute(queries.figure("chains").sql).fetchall()
        return [ChainLine(*row) for row in rows]


def _describe(
    store: Store, messages: Sequence[str], violations: Sequence[ForeignKeyViolation], *, try_guards: bool
) -> None:
    """Fill schema ``source`` with what only an audit finds out: damage, and what the guards refuse."""
    warehouse = store.warehouse
    warehouse.fill("source.integrity", [("message", _TEXT)], [(message,) for message in messages])
    warehouse.fill(
        "source.foreign_keys",
        [("table_name", _TEXT), ("row_key", _TEXT), ("parent", _TEXT)],
        [(v.table, str(v.rowid), v.parent) for v in violations],
    )
    probes = store.source.probes() if try_guards else []
    warehouse.fill(
        "source.probes",
        [("trigger_name", _TEXT), ("table_name", _TEXT), ("action", _TEXT), ("record", _TEXT), ("outcome", _TEXT)],
        [(p.trigger, p.table, p.action, p.record, p.outcome) for p in probes],
    )


def _load(store: Store, tables: Sequence[str]) -> dict[str, AuditError]:
    """Load tables one by one; return those that could not be loaded, with the reason."""
    failed: dict[str, AuditError] = {}
    for table in tables:
        try:
            store.load(table)
        except AuditError as error:
            failed[table] = error
            if store.engine != "sqlite":
                # One transaction shows all tables; once it is broken, nothing that it showed may be half judged.
                store.source.close()
                return dict.fromkeys(tables, error)
    try:
        store.source.finish()
    except AuditError as error:
        return dict.fromkeys(tables, error)
    return failed


def _account(
    store: Store, selected: Sequence[Check], results: Sequence[CheckResult], not_loaded: Collection[str]
) -> list[AccountLine]:
    ran: set[str] = set()
    for check, ended in zip(selected, results, strict=True):
        if ended.outcome in (Outcome.PASS, Outcome.FINDING, Outcome.NOTHING_TO_CHECK):
            for relation in check.relations():
                ran |= store.views.tables_of(relation)
    lines = []
    for name, rows in sorted(store.rows.items()):
        loaded = store.warehouse.loaded.get(name)
        if loaded and name in ran:
            missed = {"rejected": loaded.rejected} if loaded.rejected else {}
            lines.append(AccountLine(name, rows, loaded.rows - loaded.rejected, missed))
        else:
            reason = "could not be loaded" if name in not_loaded else _why_not(store, name)
            lines.append(AccountLine(name, rows, 0, {reason: rows} if rows else {}))
    return lines


def _why_not(store: Store, table: str) -> str:
    if store.generation.taken is None:
        return "generation unknown"
    if store.state_of(table) == "unknown":
        return "table unknown"
    own = (check for check in checks.catalogue() if check.family == store.family)
    if not any(table in store.views.tables_of(relation) for check in own for relation in check.relations()):
        return "no check of this version reads it"
    return "not selected" if table not in store.warehouse.loaded else "its checks did not run"
