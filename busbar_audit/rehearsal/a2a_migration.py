"""The v4 migration of an A2A store, given as a file of SQL, rehearsed on a copy that the operator restored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg

from busbar_audit.errors import NotAStore, SnapshotError, UsageError
from busbar_audit.findings import at_least
from busbar_audit.rehearsal import a2a_applied as applying
from busbar_audit.rehearsal import a2a_traps as trapping
from busbar_audit.rehearsal.a2a_applied import Applied
from busbar_audit.rehearsal.a2a_invariants import COMPLETING, NOT_COMPARED, invariants
from busbar_audit.rehearsal.a2a_probes import probes
from busbar_audit.rehearsal.a2a_state import State, read_catalog, read_state, unlike
from busbar_audit.rehearsal.outcomes import Outcome, judged
from busbar_audit.rehearsal.pg_copy import NOTHING, RESTORED, opened, require_another
from busbar_audit.rehearsal.script import first_word
from busbar_audit.snapshot.conninfo import Words
from busbar_audit.store import open_store
from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS
from busbar_audit.target import Target
from busbar_audit.text import printable
from busbar_audit.verdict import Verdict

# The copy is another store than the one that is to be migrated; rows apart, since a store goes on meanwhile.
_MOVING = frozenset({"copy-rows", "copy-sequences"})
# What may follow a migration that is whole: it installs nothing, so that a session killed before it leaves no part.
_AFTERWARDS = frozenset({"ANALYZE", "DISCARD", "NOTIFY", "RESET", "SET", "SHOW", "VACUUM"})


@dataclass
class Rehearsal:
    """What a rehearsal found.

    store, schema, generation : that was read. rows : of tasks and configurations. before : traps and what the copy lost.
    after : invariants, abort, second run, probes. applied, again, waiting : the run, the second one, the one beside a reader.
    reason : why the migration was not run, "" where it was. cuts : points at which a session was killed.
    """

    store: str
    schema: str
    generation: str
    rows: tuple[int, int] = (0, 0)
    before: list[Outcome] = field(default_factory=list)
    after: list[Outcome] = field(default_factory=list)
    applied: Applied | None = None
    again: Applied | None = None
    waiting: Applied | None = None
    cuts: int = 0
    reason: str = ""
    fail_on: str = "medium"
    expect_empty: bool = False

    @property
    def verdict(self) -> Verdict:
        """Findings where anything at or above the threshold did not hold; inconclusive where nothing was there to hold."""
        wrong = [o for o in (*self.before, *self.after) if o.held is False and at_least(o.severity, self.fail_on)]
        unfaithful = any(o.name.startswith("copy-") and o.name not in _MOVING for o in self.before)
        if unfaithful:
            return Verdict.INCONCLUSIVE
        if wrong:
            return Verdict.FINDINGS
        empty = not any(self.rows) and not self.expect_empty
        return Verdict.INCONCLUSIVE if self.reason or empty or self.applied is None else Verdict.CLEAN


def rehearse(
    target: Target,
    copy: Target,
    statements: Sequence[str],
    *,
    accepted: Collection[str] = (),
    role: str | None = None,
    expect_empty: bool = False,
    points: int = 50,
    timeout: float = 120.0,
    lock_timeout: float = 0.5,
) -> Rehearsal:
    """Rehearse. The store is read only; the copy is migrated for good.

    Parameters
    ----------
    copy : a database restored from the store, under the same schema; its role owns the tables.
    accepted, role : of the policy: fingerprints of reviewed helper bodies, the role that the service uses.
    points : at most so many places between statements at which a session is killed.
    timeout, lock_timeout : seconds, of a whole run and of each wait for a lock.

    Raises
    ------
    UsageError : no PostgreSQL, or the copy is the store's own database, or somebody is connected to it.
    NotAStore : the target is no store of the A2A C++ SDK. SnapshotError : a database cannot be reached or read.
    """
    if target.conninfo is None or copy.conninfo is None:
        raise UsageError("--migration is for PostgreSQL.", "TARGET and --copy that are PostgreSQL databases.")
    with open_store(target, family="a2a") as store:
        schema, number = store.target.schema or "", store.generation.taken
        found = Rehearsal(store.target.label, schema, store.name, expect_empty=expect_empty)
    if number is None:
        raise NotAStore(f"{found.store}: its marker is newer than known.", "A generation up to v4.", NOTHING)
    words, other = Words.of(target.conninfo), Words.of(copy.conninfo)
    try:
        with opened(words) as source, opened(other) as con:
            require_another(source, con)
            state, before = read_state(source, schema), read_state(con, schema)
            found.rows = len(state.rows[TASKS]), len(state.rows[CONFIGS])
            found.before = [*trapping.traps(state), *trapping.busy(source, schema), *trapping.copied(state, before)]
        found.reason = _reason(found.before)
        if not found.reason:
            _run(found, partial(opened, other), before, statements, accepted, role, points, timeout, lock_timeout)
    except psycopg.Error as error:
        said = other.masked(words.masked(error))
        raise SnapshotError(f"The rehearsal stopped: {said}.", RESTORED, "The copy may be half changed.") from None
    return found


def _reason(before: Sequence[Outcome]) -> str:
    for each in before:
        if each.name in trapping.STOPS:
            return f"not run: {each.name}"
    lost = [each.name for each in before if each.name.startswith("copy-") and each.name not in _MOVING]
    return f"not run: the copy is not faithful ({', '.join(lost)})" if lost else ""


def _run(
    found: Rehearsal,
    connected: applying.Connect,
    before: State,
    statements: Sequence[str],
    accepted: Collection[str],
    role: str | None,
    points: int,
    timeout: float,
    lock_timeout: float,
) -> None:
    schema, say = found.schema, found.after.append
    apply = partial(applying.apply, connected, schema, statements, timeout=timeout, lock_timeout=lock_timeout)

    def installed() -> bool:
        with connected() as con:
            return read_catalog(con, schema) != catalog

    with connected() as con:
        catalog = read_catalog(con, schema)
    left = []
    whole = list(statements)
    while whole and first_word(whole[-1]) in _AFTERWARDS:
        whole.pop()
    for point in applying.cut(connected, whole, points, timeout=timeout, lock_timeout=lock_timeout):
        found.cuts += 1
        if installed():
            left.append((f"killed after statement {point}", first_word(statements[point - 1])))
    say(judged("abort-leaves-nothing", left, f"{found.cuts} sessions killed between statements, nothing installed"))
    found.waiting = applying.stopped_by_reader(
        connected, schema, statements, timeout=timeout, lock_timeout=lock_timeout
    )
    half = ["part of it stayed"] if found.waiting.failed and not left and installed() else []
    say(judged("lock-timeout-leaves-nothing", half, _waited(found.waiting)))

    done = found.applied = apply()
    if done.failed:
        word = first_word(statements[done.failed - 1])
        say(Outcome("applied", False, f"statement {done.failed} ({printable(word)}) ended with {done.sqlstate}", 1))
        half = ["part of it stayed"] if not left and installed() else []
        say(judged("failure-leaves-nothing", half, "what failed was rolled back"))
    else:
        say(Outcome("applied", True, f"{len(done.steps)} statements"))
    say(
        judged(
            "ends-transaction",
            ["still open at the end"] if done.open_transaction else [],
            "the file ends its transaction",
        )
    )
    with connected() as con:
        after = read_state(con, schema, before)
    if done.failed or done.open_transaction:
        found.after += [o for o in invariants(before, after) if o.name in ("tasks-kept", "configs-kept")]
        return
    found.after += invariants(before, after, accepted=accepted, role=role)
    found.again = apply(reader=False)
    with connected() as con:
        second = read_state(con, schema, before)
    wrong: list[Any] = (
        [f"statement {found.again.failed} ended with {found.again.sqlstate}"] if found.again.failed else []
    )
    wrong += unlike(after, second)
    say(judged("second-run", wrong, "a second run changes nothing"))
    if any(column not in after.catalog.columns(table) for table, column in COMPLETING):
        say(Outcome("probes", None, "need columns that are still missing"))
        return
    found.after += probes(connected, schema)
    with connected() as con:
        say(
            judged(
                "probes-left-nothing",
                unlike(second, read_state(con, schema, before)),
                "as before them",
            )
        )


def _waited(done: Applied) -> str:
    if done.sqlstate == "55P03":
        return f"stopped by its lock timeout at statement {done.failed}, after {done.seconds:.2f} s"
    return (
        "an idle reader did not stop it" if not done.failed else f"beside an idle reader it ended with {done.sqlstate}"
    )


def document(found: Rehearsal) -> dict[str, Any]:
    """For JSON (schema ``busbar-audit/migration/1``); times in seconds."""
    runs = {"applied": found.applied, "again": found.again, "beside_reader": found.waiting}
    return {
        "schema": "busbar-audit/migration/1", "store": found.store, "generation": found.generation,
        "rows": dict(zip(("tasks", "configs"), found.rows, strict=True)), "not_run": found.reason,
        "before": [o.as_dict() for o in found.before], "after": [o.as_dict() for o in found.after], "cuts": found.cuts,
        "runs": {name: None if run is None else applying.as_dict(run) for name, run in runs.items()},
        "not_compared": list(NOT_COMPARED), "verdict": str(found.verdict), "exit_code": found.verdict.exit_code,
    }  # fmt: skip
