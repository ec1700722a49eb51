"""Write a synthetic busbar store of any SQLite generation: healthy, in normal use, with correct digests.

The legal oddities are listed in `busbar_audit.synth.plan.ODD`; single faults are in `busbar_audit.synth.faults`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from busbar_audit.chains import recipes
from busbar_audit.errors import OutputExists
from busbar_audit.stores.busbar_shapes import create
from busbar_audit.synth import traffic
from busbar_audit.synth.bodies import AUDIT_MEMBERS, EVENT_MEMBERS, TASK_MEMBERS, dumps, encode, neutral
from busbar_audit.synth.governance import write_keys, write_ledger, write_usage
from busbar_audit.synth.plan import AuditScheme, Bodies, EventDigest, Plan, make_plan
from busbar_audit.synth.traffic import Audit, Call, Event, Task, ts_frame

Progress = Callable[[int, int], None]
_TERMINAL = ("completed", "failed", "canceled", "rejected")
_PLANE_INSERT = (
    "INSERT INTO plane_records (kind, identity, seq, id, parent, ts, disposition, body) VALUES (?,?,?,?,?,?,?,?)"
)
_REPORT_EVERY = 16_384


@dataclass(frozen=True)
class Head:
    """One chain as it was written: where it begins and ends."""

    first_seq: int
    first_prev_hash: str
    last_seq: int
    last_hash: str
    records: int


@dataclass(frozen=True)
class SynthStore:
    """What was written.

    counts : rows per table, and per kind as `plane_records/KIND`.
    heads : chains by (population, scope); populations are audit_log, mcp_calls, task_events, audit, call, task_event.
    start, end : unix seconds of the first and last record; `end` is the natural `as of` of an audit.
    """

    path: Path
    generation: int
    seed: int
    bodies: Bodies
    odd: frozenset[str]
    start: int
    end: int
    counts: dict[str, int]
    heads: dict[tuple[str, str], Head]


def write_busbar(
    path: str | Path,
    *,
    generation: int,
    seed: int = 0,
    calls: int = 1000,
    principals: int = 5,
    tasks: int = 20,
    audits: int = 50,
    days: int = 7,
    servers: int = 4,
    start: int = 1_700_000_000,
    digest_placeholders: bool = False,
    odd: Collection[str] = (),
    bodies: Bodies = "typed",
    event_digest: EventDigest | None = None,
    audit_variant: AuditScheme | None = None,
    journal: Literal["wal", "delete"] = "wal",
    progress: Progress | None = None,
) -> SynthStore:
    """Write one store; the same arguments always give the same rows.

    Parameters
    ----------
    path : file to make; it must not exist.
    generation : 5 to 12.
    seed : chooses names, digests and outcomes.
    calls, principals, tasks, audits, days, servers : sizes; calls stream, so ten million need no more memory than ten.
    start : unix seconds of the beginning; records end `days` later.
    digest_placeholders : write h1, e1, c1 … in place of digests, as the project's own fixtures do.
    odd : names of legal odd shapes, see `busbar_audit.synth.plan.ODD`.
    bodies : from generation 10 on. `typed` and `neutral` are stores whose audit_log a late engine has copied into kind
        audit and continued there; `migrated` is a generation 9 store after the upgrade: left-over mcp_calls, and chains
        of kind call that begin again at seq 1.
    event_digest : recipe of task events; by default v1, and for neutral bodies a mixture with chains that change.
    audit_variant : content of audit records after the copied ones; by default all three in turn (neutral bodies).
    journal : journal mode of the finished file.
    progress : called with (calls written, calls in all).

    Returns
    -------
    SynthStore.

    Raises
    ------
    OutputExists : the file is there already.
    UsageError : an option that is unknown or that this generation cannot have.
    """
    path = Path(path)
    plan = make_plan(
        odd,
        generation=generation,
        seed=seed,
        calls=calls,
        principals=principals,
        tasks=tasks,
        audits=audits,
        days=days,
        servers=servers,
        start=start,
        digest_placeholders=digest_placeholders,
        bodies=bodies,
        event_digest=event_digest,
        audit_variant=audit_variant,
    )
    if path.exists():
        raise OutputExists(f"{path} is there already", "expected a new file", "remove it or name another one")
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            writer = _Writer(connection, plan, progress)
            writer.write()
            connection.execute(f"PRAGMA journal_mode = {journal}")
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return SynthStore(
        path,
        generation,
        seed,
        bodies,
        plan.odd,
        plan.start,
        plan.end,
        writer.counts,
        dict(sorted(writer.heads.items())),
    )


class _Writer:
    """Fills one empty database."""

    def __init__(self, connection: sqlite3.Connection, plan: Plan, progress: Progress | None) -> None:
        self.connection, self.plan, self.progress = connection, plan, progress
        self.heads: dict[tuple[str, str], Head] = {}
        self.counts: dict[str, int] = {}
        self.planes = plan.generation >= 10
        self.migrated = plan.bodies == "migrated"

    def write(self) -> None:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536", "locking_mode = EXCLUSIVE"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("BEGIN")
        create(self.connection, self.plan.generation, leftovers=self.migrated)
        if "empty" not in self.plan.odd:
            if not self.connection.in_transaction:
                self.connection.execute("BEGIN")
            write_keys(self.connection, self.plan)
            write_usage(self.connection, self.plan)
            self._audits()
            self._calls()
            self._tasks()
            self._small()
            if self.plan.generation >= 11:
                write_ledger(self.connection, self.plan)
            self.connection.execute("COMMIT")
        self._count()

    def _count(self) -> None:
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        ).fetchall()
        for (name,) in names:
            (self.counts[name],) = self.connection.execute(f"SELECT count(*) FROM {name}").fetchone()  # noqa: S608
        if self.planes:
            kinds = self.connection.execute("SELECT kind, count(*) FROM plane_records GROUP BY kind")
            self.counts.update({f"plane_records/{kind}": n for kind, n in kinds})

    def _head(self, population: str, scope: str, seq: int, prev_hash: str, digest: str) -> None:
        old = self.heads.get((population, scope))
        first = (old.first_seq, old.first_prev_hash, old.records) if old else (seq, prev_hash, 0)
        self.heads[population, scope] = Head(first[0], first[1], seq, digest, first[2] + 1)

    # ---- audit ---------------------------------------------------------------------------------------------------

    def _audits(self) -> None:
        plan = self.plan
        copied = plan.audits if self.planes and (not self.migrated or "audit_copy" in plan.odd) else 0
        in_log = 0 if "fresh" in plan.odd else plan.audits
        total = plan.audits + (copied // 2 if not self.migrated else 0)
        native_from = in_log + 1 if self.planes and not self.migrated else None
        middle = plan.audits // 2
        hole = range(middle, middle + 3) if "audit_gap" in plan.odd and plan.audits >= 8 else range(0)
        log, plane = [], []
        for record in traffic.audits(plan, total, native_from=native_from):
            if record.seq in hole:
                continue
            if record.seq <= in_log:
                log.append(record[:8])
                self._head("audit_log", "audit_log", record.seq, record.prev_hash, record.hash)
            if copied:
                plane.append(self._audit_row(record, copy=record.seq <= in_log))
                self._head("audit", "admin", record.seq, record.prev_hash, record.hash)
        self.connection.executemany("INSERT INTO audit_log VALUES (?,?,?,?,?,?,?,?)", log)
        if plane:
            self.connection.executemany(_PLANE_INSERT, plane)

    def _audit_row(self, record: Audit, *, copy: bool) -> tuple[object, ...]:
        seq, ts, action, resource, outcome, principal, prev, digest, variant = record
        if self.plan.bodies == "neutral" or (copy and self.migrated):
            content = recipes.neutral_audit_content(variant, ts, action, resource, outcome, principal)
            body = neutral(seq, prev, digest, content)
        else:
            body = encode(AUDIT_MEMBERS, record[:8])
        return ("audit", "admin", seq, "admin", "admin", ts, "active", body)

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _calls(self) -> None:
        plan = self.plan
        if plan.generation < 7:
            return
        crossing = plan.calls * 7 // 10 if self.migrated else (0 if self.planes else plan.calls)
        if crossing:
            self.connection.executemany(
                "INSERT INTO mcp_calls (principal, seq, ts, prev_hash, hash, body) VALUES (?,?,?,?,?,?)",
                self._mcp_rows(traffic.calls(plan, 0, crossing)),
            )
        if self.planes:
            form = _neutral_call if plan.bodies == "neutral" else _typed_call
            rows = self._plane_calls(traffic.calls(plan, crossing, plan.calls), form)
            self.connection.executemany(_PLANE_INSERT, rows)

    def _mcp_rows(self, stream: Iterable[Call]) -> Iterator[tuple[object, ...]]:
        for call in self._kept("mcp_calls", stream):
            principal, seq, ts, prev, digest, request, offer = call
            # Request ids are plain ASCII, so quoting them is all that JSON asks for.
            yield principal, seq, ts, prev, digest, f'{offer.mcp_head}"{request}"{offer.mcp_tail}'

    def _plane_calls(self, stream: Iterable[Call], form: Callable[[Call], bytes]) -> Iterator[tuple[object, ...]]:
        for call in self._kept("call", stream):
            yield "call", call.principal, call.seq, call.principal, call.principal, call.ts, "active", form(call)

    def _kept(self, population: str, stream: Iterable[Call]) -> Iterator[Call]:
        """Pass on the calls that stay in the store, and note their chains; purged ones are left out."""
        plan = self.plan
        cutoff = plan.start + plan.span // 4 if "purged_head" in plan.odd else None
        opened: dict[str, tuple[int, str]] = {}
        latest: dict[str, tuple[int, str, int]] = {}
        done = 0
        for call in stream:
            if cutoff is not None and call.ts < cutoff:
                continue
            name = call.principal
            if name not in opened:
                opened[name] = (call.seq, call.prev_hash)
                latest[name] = (0, "", 0)
            latest[name] = (call.seq, call.hash, latest[name][2] + 1)
            yield call
            done += 1
            if self.progress and done % _REPORT_EVERY == 0:
                self.progress(done, plan.calls)
        for name, (seq, prev) in opened.items():
            self.heads[population, name] = Head(seq, prev, *latest[name])

    # ---- tasks ---------------------------------------------------------------------------------------------------

    def _tasks(self) -> None:
        if self.plan.generation < 8:
            return
        rows: list[tuple[object, ...]] = []
        event_rows: list[tuple[object, ...]] = []
        for task, events in traffic.tasks(self.plan):
            population = "task_event" if self.planes else "task_events"
            for e in events:
                self._head(population, e.task_id, e.seq, e.prev_hash, e.hash)
            rows.append(_task_row(task) if self.planes else task)
            event_rows += [_event_row(e) for e in events] if self.planes else [e[:11] for e in events]
            if len(event_rows) > _REPORT_EVERY:
                self._flush_tasks(rows, event_rows)
        self._flush_tasks(rows, event_rows)

    def _flush_tasks(self, rows: list[tuple[object, ...]], event_rows: list[tuple[object, ...]]) -> None:
        if self.planes:
            self.connection.executemany(_PLANE_INSERT, rows + event_rows)
        else:
            self.connection.executemany("INSERT INTO tasks VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
            self.connection.executemany("INSERT INTO task_events VALUES (?,?,?,?,?,?,?,?,?,?,?)", event_rows)
        rows.clear()
        event_rows.clear()

    # ---- demotions and approvals -----------------------------------------------------------------------------------

    def _small(self) -> None:
        plan = self.plan
        if plan.generation < 9:
            return
        demotion = ("sandbox", "artifact_drifted", plan.half + 1)
        rng = plan.random("approvals")
        approvals = [(f"nonce_{rng.getrandbits(64):016x}", plan.end + 60 * n) for n in range(1, 4)]
        if self.planes:
            body = encode(("server", "reason", "recorded_at"), demotion)
            self.connection.execute(
                _PLANE_INSERT, ("demotion", demotion[0], 0, demotion[0], None, demotion[2], "active", body)
            )
            self.connection.executemany("INSERT INTO plane_tokens VALUES ('approval', ?, ?)", approvals)
        else:
            self.connection.execute("INSERT INTO mcp_demotions VALUES (?,?,?)", demotion)
            self.connection.executemany("INSERT INTO spent_ask_states VALUES (?,?)", approvals)


def _typed_call(call: Call) -> bytes:
    principal, seq, ts, prev, digest, request, offer = call
    return (
        f'{{"principal":{dumps(principal)},"seq":{seq},"ts":{ts}{offer.typed}"{request}",'
        f'"prev_hash":"{prev}","hash":"{digest}"}}'
    ).encode()


def _neutral_call(call: Call) -> bytes:
    content = ",".join(map(str, ts_frame(call.ts)))
    return (
        f'{{"seq":{call.seq},"prev_hash":"{call.prev_hash}","hash":"{call.hash}",'
        f'"content":[{content}{call.offer.neutral}]}}'
    ).encode()


def _task_row(task: Task) -> tuple[object, ...]:
    disposition = "terminal" if task.state in _TERMINAL else "active"
    return ("task", task.task_id, 0, task.task_id, None, task.updated_at, disposition, encode(TASK_MEMBERS, task))


def _event_row(event: Event) -> tuple[object, ...]:
    version: dict[str, object] = {"digest_version": 2} if event.version == 2 else {}
    body = encode(EVENT_MEMBERS, event[:11], **version)
    return ("task_event", event.task_id, event.seq, event.task_id, event.task_id, event.ts, "active", body)
