"""What the next purge of a store would take, verb by verb, and whether a purge of a private copy takes just that."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from busbar_audit.errors import ReportError, UsageError
from busbar_audit.policy import Policy
from busbar_audit.retention.rehearsal import Copy, PostgresCopy, SqliteCopy, differences
from busbar_audit.retention.simulation import Prediction, keys, simulate, store_verbs
from busbar_audit.store import Store
from busbar_audit.text import printable

FORMAT = "busbar-audit-retention/1"
_WORDS = {0: "clean", 1: "findings", 3: "inconclusive"}
_SHOWN = 5
# Which running server, and which database of it.
_WHICH = "SELECT pg_postmaster_start_time(), oid FROM pg_database WHERE datname = current_database()"
_EFFECTS = {
    "purge_at_risk": "work that has not ended or is younger than the cutoff",
    "purge_younger": "records younger than the cutoff",
    "purge_held": "held by the policy",
    "purge_heads": "chains that lose their head",
    "purge_orphans": "rows left without what they belong to",
}


@dataclass(frozen=True)
class Trial:
    """A verb run on a copy and taken back. apart : rows that were predicted or taken alone, as `differences` gives them."""

    rows: int
    seconds: float
    apart: list[tuple[str, str, tuple[str, ...]]]


@dataclass(frozen=True)
class Plan:
    """All verbs of one store.

    Attributes
    ----------
    predictions : one for each verb that has a cutoff or needs none. trials : by verb, where they were confirmed.
    without : verbs that nothing is said of, since no cutoff was given for them.
    """

    store: Mapping[str, Any]
    as_of: int
    predictions: list[Prediction]
    without: tuple[str, ...] = ()
    trials: Mapping[str, Trial] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """1 where something is at risk or a copy was purged otherwise than predicted, 3 where something cannot be told."""
        if any(trial.apart for trial in self.trials.values()) or any(each.risks for each in self.predictions):
            return 1
        unread = any(each.unreadable for each in self.predictions)
        return 3 if unread or self._unasked else 0

    @property
    def _unasked(self) -> bool:
        """Whether verbs that go by a cutoff are there and none was given, so that next to nothing was looked at."""
        return not self.predictions or (bool(self.without) and all(each.cutoff is None for each in self.predictions))

    @property
    def reason(self) -> str:
        """Why the exit code is not 0, in words."""
        apart = [verb for verb, trial in self.trials.items() if trial.apart]
        if apart:
            return f"a purge of the copy took other rows than predicted: {', '.join(apart)}"
        if any(each.risks for each in self.predictions):
            return f"{sum(each.risks for each in self.predictions)} place(s) to look at before a purge"
        if self._unasked:
            return "no verb with a cutoff was looked at: give --cutoff, or ages under [retention] in the policy"
        unread = sum(each.unreadable for each in self.predictions)
        return f"{unread} row(s) cannot be read, and nothing can be said of them" if unread else ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "format": FORMAT,
            "store": dict(self.store),
            "as_of": self.as_of,
            "verdict": _WORDS[self.exit_code],
            "reason": self.reason,
            "predictions": [each.as_dict() for each in self.predictions],
            "without_cutoff": list(self.without),
            "trials": {
                verb: {"rows": t.rows, "seconds": round(t.seconds, 6), "apart": len(t.apart), "first": t.apart[:20]}
                for verb, t in self.trials.items()
            },
        }


def plan(
    store: Store,
    *,
    as_of: int,
    cutoff: int | None = None,
    policy: Policy | None = None,
    only: Collection[str] = (),
    confirm: bool = False,
    database: str | None = None,
) -> Plan:
    """Predict what the next purge would take; with `confirm`, purge a private copy and hold both against each other.

    Parameters
    ----------
    as_of, cutoff : unix seconds. only : verbs by name, or by name and kind as in ``purge_plane_records_before(task)``.
    database : of a PostgreSQL store, a restored copy that nobody uses. The purge runs there, in a transaction that is
        rolled back.

    Raises
    ------
    UsageError : no such verb; none goes by the cutoff that is given; a copy of a PostgreSQL store is to be purged, and
        none is named.
    """
    every = store_verbs(store)
    if unknown := sorted({word for word in only if not any(word in (v.name, v.label) for v in every)}):
        there = ", ".join(sorted({verb.label for verb in every})) or "none"
        raise UsageError(f"No verb {printable(', '.join(unknown))}.", f"This store has: {there}.")
    if confirm and store.engine == "postgres" and database is None:
        raise UsageError(
            "--confirm of a PostgreSQL store needs --copy TARGET.",
            "A database that nobody uses, restored from this store (pg_dump | psql).",
            "The store itself is never written; without --confirm the prediction stands alone.",
        )
    if confirm and store.source.about.renamed:
        raise UsageError("--confirm: the tables of this store have names of their own.", "Names that the verbs know.")
    found = simulate(store, as_of=as_of, cutoff=cutoff, policy=policy, only=only)
    if cutoff is not None and found and all(each.cutoff is None for each in found):
        raise UsageError(
            f"--cutoff: {', '.join(each.verb.label for each in found)} goes by the clock, not by a cutoff.",
            "A verb that has one, or no --cutoff.",
        )
    said = {each.verb.label for each in found}
    chosen = [verb.label for verb in every if not only or {verb.name, verb.label} & set(only)]
    trials = dict(_trials(store, found, as_of, database)) if confirm and found else {}
    about = {"family": store.family, "engine": store.engine, "generation": store.generation.taken}
    return Plan(about, as_of, found, tuple(sorted(set(chosen) - said)), trials)


def _trials(store: Store, found: list[Prediction], as_of: int, database: str | None) -> Iterator[tuple[str, Trial]]:
    if store.engine == "sqlite":
        place = store.snapshot.path.with_name("purged.db")
        copy = SqliteCopy.of(store.snapshot.path, place)
        try:
            yield from _tried(copy, store, found, as_of)
        finally:
            copy.connection.close()
            for name in (place, Path(f"{place}-wal"), Path(f"{place}-shm")):
                name.unlink(missing_ok=True)
        return
    # A verb that truncates would wait for the transaction in which the store was read, were they of one server.
    store.source.finish()
    try:
        with psycopg.connect(database or "", autocommit=True) as con:
            _refuse_itself(con, store)
            yield from _tried(PostgresCopy(con, store.target.schema or ""), store, found, as_of)
    except psycopg.Error as error:
        raise ReportError(
            f"The purge of the copy ended: {printable(str(error).splitlines()[0])}.",
            "A database restored from this store, under the same schema, and a role that owns its tables.",
        ) from None


def _refuse_itself(con: psycopg.Connection[Any], store: Store) -> None:
    with psycopg.connect(store.target.conninfo or "", autocommit=True) as own:
        same = [each.execute(_WHICH).fetchone() for each in (con, own)]
    if same[0] == same[1]:
        raise UsageError(
            "--copy names the database that the store itself is in.",
            "A database that nobody uses, restored from this store (pg_dump | psql).",
        )


def _tried(copy: Copy, store: Store, found: list[Prediction], as_of: int) -> Iterator[tuple[str, Trial]]:
    for each in found:
        taken = copy.purge(each.verb, each.verb.values(each.cutoff, as_of))
        apart = differences(keys(store.con, each.verb), taken.keys)
        yield each.verb.label, Trial(sum(map(len, taken.keys.values())), taken.seconds, apart)


def write(made: Plan, out: Path) -> None:
    """Write a plan as JSON, as a whole or not at all.

    Raises
    ------
    ReportError : it cannot be written.
    """
    part = out.with_name(out.name + ".part")
    try:
        part.write_text(json.dumps(made.as_dict(), indent=1, ensure_ascii=True) + "\n", encoding="ascii")
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ReportError(f"{printable(str(out))}: {error.strerror}.", "A file that can be written.") from error


def lines(made: Plan) -> Iterator[str]:
    """A plan for a terminal; the last line but the word says why it is not clean."""
    yield f"clock     {_time(made.as_of)}"
    for each in made.predictions:
        label = each.verb.label
        at = "by the clock alone" if each.cutoff is None else f"before {_time(each.cutoff)}"
        rows = ", ".join(f"{table} {count:,}" for table, count in each.rows.items() if count) or "nothing"
        yield f"{label:38} {at}: {rows}"
        if trial := made.trials.get(label):
            same = "the same rows" if not trial.apart else f"{len(trial.apart):,} row(s) otherwise"
            yield f"{'':4} purged on a copy in {trial.seconds:.3f} s: {trial.rows:,} row(s), {same}"
            for table, who, key in trial.apart[:_SHOWN]:
                yield f"{'':6} {printable(table)} {printable('/'.join(key)[:80])}: {who} alone"
        if each.unreadable:
            yield f"{'':4} {each.unreadable:,} row(s) cannot be read: nothing is said of them"
        for note in each.notes:
            yield f"{'':4} {printable(note)}"
        for name, told in _EFFECTS.items():
            places = each.effects.get(name, [])
            if places:
                yield f"{'':4} {told}: {len(places):,}"
                for place in places[:_SHOWN]:
                    yield f"{'':6} {_place(place)}"
    if made.without:
        yield f"not said  {', '.join(made.without)}: no cutoff was given"
    if made.reason:
        yield made.reason


def _place(told: Mapping[str, Any]) -> str:
    head = f"{told.get('subject', '')} {told.get('place', '')}".strip()
    rest = [f"{key} {told[key]}" for key in told if key not in ("subject", "place", "class") and told[key] is not None]
    return printable(f"{head[:100]}: {', '.join(rest)}"[:240])


def _time(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return str(seconds)
