"""What the next purge would take: predicted row by row over the tables of an audit, before anything is deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from busbar_audit import queries
from busbar_audit.policy import Hold, Policy
from busbar_audit.retention.verbs import Verb, verbs
from busbar_audit.store import Store
from busbar_audit.warehouse import quoted

Key = tuple[str, ...]
ROWS = "source.purge_rows"
COLUMNS = [
    ("verb", "VARCHAR"),
    ("cutoff", "HUGEINT"),
    ("table_name", "VARCHAR"),
    ("key", "VARCHAR[]"),
    ("population", "VARCHAR"),
    ("scope", "VARCHAR"),
    ("seq", "HUGEINT"),
    ("ts", "HUGEINT"),
    ("why", "VARCHAR"),
]
_HOLDS = [("kept", "VARCHAR"), ("place", "VARCHAR"), ("since", "BIGINT")]
# Tables that hold records of several kinds.
_KINDS = ("plane_records", "plane_chain", "plane_tokens")
# What a purge does beside taking rows, each a query of queries/figures over `ROWS` and the views it reads.
EFFECTS = ("purge_at_risk", "purge_younger", "purge_held", "purge_heads", "purge_orphans")


@dataclass(frozen=True)
class Prediction:
    """What one verb would do with one cutoff.

    verb : with its kind. cutoff : unix seconds, None where the verb goes by the clock alone or takes everything.
    rows : by table. unreadable : rows of these tables with a value that could not be read, which nothing can be said of.
    notes : why the real purge may do otherwise. effects : by name of `EFFECTS`, each a list of rows.
    """

    verb: Verb
    cutoff: int | None
    rows: Mapping[str, int]
    unreadable: int = 0
    notes: tuple[str, ...] = ()
    effects: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Rows that would go."""
        return sum(self.rows.values())

    @property
    def risks(self) -> int:
        """Places that somebody has to look at before: work that has not ended, records younger than the cutoff, held ones."""
        return sum(len(self.effects.get(name, ())) for name in EFFECTS[:3])

    def as_dict(self) -> dict[str, Any]:
        """For JSON: numbers, and the first places of each effect."""
        return {
            "verb": self.verb.label,
            "cutoff": self.cutoff,
            "rows": dict(self.rows),
            "unreadable": self.unreadable,
            "notes": list(self.notes),
            "effects": {name: {"places": len(found), "first": found[:20]} for name, found in self.effects.items()},
        }


def store_verbs(store: Store) -> list[Verb]:
    """Every verb of a store, one for each kind of record it holds. Tables of kinds are loaded for that.

    A store of an unknown generation has none.
    """
    number = store.generation.taken
    if number is None:
        return []
    there = [name for name in _KINDS if name in store.rows]
    if there:
        store.load(*there)
    kinds: dict[str, set[str]] = {name: set() for name in _KINDS}
    for name in there:
        rows = store.con.execute(f"SELECT DISTINCT kind FROM raw.{quoted(name)} WHERE kind IS NOT NULL").fetchall()  # noqa: S608
        kinds[name] |= {kind for (kind,) in rows}
    # On PostgreSQL a kind may have chained records only; the verb takes both tables.
    both = tuple(sorted(kinds["plane_records"] | kinds["plane_chain"]))
    listed = {"plane_records": both, "plane_chain": both, "plane_tokens": tuple(sorted(kinds["plane_tokens"]))}
    return [
        verb
        for verb in verbs(store.family, store.engine, number, listed)
        if all(table in store.rows for table in verb.tables)
    ]


def cascades(store: Store) -> frozenset[str]:
    """Names of the triggers and foreign keys of the store that delete further rows when one is deleted."""
    found = {name for name, trigger in store.found.triggers.items() if trigger.effect == "cascade"}
    told = store.source.about.facts
    if "triggers" in told:
        names = [name for name, _ in told["triggers"].columns]
        for row in told["triggers"].rows:
            each = dict(zip(names, row, strict=True))
            # Enabled as ordinary sessions meet it, always or on origin; a condition could leave rows out.
            if each["enabled"] in ("O", "A") and not each["conditional"]:
                found.add(each["name"])
    if "key_constraints" in told:
        names = [name for name, _ in told["key_constraints"].columns]
        each_row = (dict(zip(names, row, strict=True)) for row in told["key_constraints"].rows)
        found |= {each["name"] for each in each_row if str(each["on_delete"]).lower() in ("c", "cascade")}
    return frozenset(found)


def predict(con: Any, verb: Verb, cutoff: int | None, now: int, active: Collection[str]) -> dict[str, int]:
    """Put the rows one verb would take into `ROWS`, which `begin` has made; return their numbers by table.

    Parameters
    ----------
    con : DuckDB connection whose schema ``raw`` has the verb's tables. cutoff, now : unix seconds.
    active : triggers and foreign keys that delete further rows.
    """
    values, counts = verb.values(cutoff, now), dict.fromkeys(verb.tables, 0)
    for query in verb.predictions:
        needs = query.header.get("needs")
        if needs and needs not in active:
            continue
        bound = {**query.bind(values), "verb": verb.label, "at": cutoff}
        done = con.execute(
            f"INSERT INTO {ROWS} SELECT $verb, $at, * FROM ({query.sql})",  # noqa: S608 - a query file
            bound,
        ).fetchone()
        counts[query.header["table"]] += int(done[0]) if done else 0
    return counts


def begin(con: Any) -> None:
    """Make `ROWS`, empty."""
    declared = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
    con.execute(f"CREATE OR REPLACE TABLE {ROWS} ({declared})")


def keys(con: Any, verb: Verb) -> dict[str, set[Key]]:
    """Keys of the rows that a verb was predicted to take, by table."""
    found: dict[str, set[Key]] = {table: set() for table in verb.tables}
    query = f"SELECT table_name, key FROM {ROWS} WHERE verb = $verb"  # noqa: S608 - our own name
    for table, key in con.execute(query, {"verb": verb.label}).fetchall():
        found[table].add(tuple(key))
    return found


def simulate(
    store: Store, *, as_of: int, cutoff: int | None = None, policy: Policy | None = None, only: Collection[str] = ()
) -> list[Prediction]:
    """Predict every verb of a store; the rows are afterwards in `ROWS`.

    Parameters
    ----------
    as_of : the clock, unix seconds. cutoff : of every verb; without it those of the policy apply, each to its verbs.
    only : verbs by name or label; all by default.

    Returns
    -------
    One Prediction for each verb that a cutoff was given for, and for those that need none.
    """
    policy = policy or Policy()
    declared, found = policy.cutoffs_at(as_of), []
    active = cascades(store)
    chosen = [verb for verb in store_verbs(store) if not only or {verb.name, verb.label} & set(only)]
    if any(name in store.rows for verb in chosen for name in verb.tables):
        store.load(
            *{name for verb in chosen for query in verb.predictions for name in _reads(query) if name in store.rows}
        )
    begin(store.con)
    store.warehouse.fill("source.purge_holds", _HOLDS, _holds(policy.holds, as_of))
    for verb in chosen:
        at = cutoff if cutoff is not None else declared.get(verb.of)
        if "now" in verb.takes or not verb.takes & {"cutoff", "bucket"}:
            at = None
        elif at is None:
            continue
        rows = predict(store.con, verb, at, as_of, active)
        lost = sum(store.warehouse.loaded[name].rejected for name in verb.tables)
        notes = list(_notes(store, verb, active))
        if at is not None and at > as_of:
            notes.append(
                "the cutoff is later than the clock: whatever has ended by then goes, what was written last, too"
            )
        found.append(Prediction(verb, at, rows, lost, tuple(notes)))
    made = _effects(store)
    return [
        Prediction(p.verb, p.cutoff, p.rows, p.unreadable, p.notes, {n: made[n].get(p.verb.label, []) for n in made})
        for p in found
    ]


def _reads(query: queries.Query) -> Iterator[str]:
    for relation in query.reads:
        schema, _, name = relation.partition(".")
        if schema == "raw":
            yield name


def _holds(holds: Iterable[Hold], as_of: int) -> list[tuple[str, str, int | None]]:
    return [(each.of, each.place, each.since) for each in holds if each.until is None or as_of < each.until]


def _notes(store: Store, verb: Verb, active: Collection[str]) -> Iterator[str]:
    for query in verb.predictions:
        needs = query.header.get("needs")
        if needs and needs not in active:
            yield f"{needs} is not in force: what should go with these rows stays"
    tables = set(verb.tables)
    for difference in store.differences:
        if difference.table in tables and difference.kind in ("trigger-unknown", "trigger-differs", "trigger-missing"):
            yield f"{difference.kind} {difference.name} on {difference.table}: what it does is not predicted"
    if verb.name == "purge_metering_before":
        yield "takes one bucket exactly and nothing older; nothing may schedule it"
    if verb.kind in ("task_event", "audit"):
        yield "cuts chains that nothing may cut; no retention has a use for it"


def _effects(store: Store) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Rows of each effect by verb; effects that this family or generation cannot have are left out."""
    made: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in EFFECTS:
        path = queries.root() / "predictions" / store.family / "effects" / f"{name}.sql"
        if not path.exists():
            continue
        query = queries.load(path, keys=("effect", "about"))
        views = [relation for relation in query.reads if relation.startswith("audit.")]
        if any(store.views.missing(relation) for relation in views):
            continue
        for relation in views:
            store.load(*(table for table in store.views.tables_of(relation) if table in store.rows))
            store.views.make(relation, {})
        done = store.con.execute(query.sql)
        names = [column[0] for column in done.description or ()]
        by_verb = made.setdefault(name, {})
        for row in done.fetchall():
            told = dict(zip(names, row, strict=True))
            by_verb.setdefault(told.pop("verb"), []).append(told)
    return made
