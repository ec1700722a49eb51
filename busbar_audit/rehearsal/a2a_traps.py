"""What a v4 migration of this A2A store will trip over, lose or leave, told before it runs.

Source: fact sheet sections 2.2, 2.3, 3.4, 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from busbar_audit.rehearsal.a2a_invariants import COMPLETING
from busbar_audit.rehearsal.a2a_state import LOCAL, Catalog, Con, State, differing
from busbar_audit.rehearsal.outcomes import Outcome, shown
from busbar_audit.stores import a2a_bodies as bodies
from busbar_audit.stores.a2a_shapes import CONFIGS, FOREIGN_KEY, TASKS

# A migration over these leaves a store that takes no delete or has no tasks to guard: it is not run.
STOPS = frozenset({"other-product", "no-tasks-table", "no-configs-table"})
_BUSY = """
SELECT count(DISTINCT l.pid) FILTER (WHERE l.pid IS NOT NULL), count(*) FILTER (WHERE l.pid IS NULL)
FROM pg_catalog.pg_locks l WHERE l.relation = ANY (ARRAY(
    SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = ANY (%s)))
AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
"""


def traps(state: State) -> list[Outcome]:
    """Every trap that the store as it is holds for the migration, gravest first."""
    found = [*_shape(state.catalog), *_rows(state), *_environment(state.catalog)]
    order = ("high", "medium", "low", "info")
    return sorted(found, key=lambda each: (order.index(each.severity), each.name))


def busy(con: Con, schema: str) -> Iterator[Outcome]:
    """Sessions and prepared transactions that hold a lock on one of the tables now: the migration would wait for them."""
    row = con.execute(_BUSY, (schema, [TASKS, CONFIGS])).fetchone()
    sessions, prepared = row if row is not None else (0, 0)
    if sessions:
        yield Outcome(
            "sessions-hold-locks", False, "each is waited for, and every later reader behind it", sessions, "low"
        )
    if prepared:
        yield Outcome(
            "prepared-hold-locks", False, "a prepared transaction is waited for until somebody ends it", prepared
        )


def copied(source: State, copy: State) -> Iterator[Outcome]:
    """What the way the copy was made lost: it is not the store, and what is rehearsed on it is not what will happen."""
    for table in (TASKS, CONFIGS):
        wrong = differing(source.rows[table], copy.rows[table])
        if wrong:
            detail = f"rows of {table} are not those of the store; first: {shown(wrong[0])}"
            yield Outcome("copy-rows", False, detail, len(wrong))
    wrong = differing(source.local, copy.local)
    if wrong:
        yield Outcome("copy-rows", False, f"provenance is not that of the store; first: {shown(wrong[0])}", len(wrong))
    old, new = source.catalog, copy.catalog
    for name, why in (
        ("columns", "columns"), ("comments", "markers (a dump without comments?)"),
        ("public", "PUBLIC may call a helper (a dump without privileges?)"), ("rights", "rights (a dump without privileges?)"),
        ("owners", "owners (a dump without owners?)"), ("triggers", "triggers (a dump without its last section?)"),
        ("indexes", "indexes (a dump without its last section?)"), ("bodies", "helper bodies"),
        ("keys", "foreign keys (a dump without its last section?)"), ("sequences", "positions of sequences (data only?)"),
    ):  # fmt: skip
        here, there = _part(old, name), _part(new, name)
        if here != there:
            first = differing(here, there)
            detail = f"the copy has other {why}; first: {shown(first[0])}"
            yield Outcome(f"copy-{name}", False, detail, len(first))


def _part(catalog: Catalog, name: str) -> dict[Any, Any]:
    functions = catalog.by_name("functions")
    relations = catalog.relations
    if name == "columns":
        return {(r["table_name"], r["column_name"]): r for r in relations["column_defaults"]}
    if name == "comments":
        return {key: f["comment"] for key, f in functions.items()}
    if name == "public":
        return {key: f["public_execute"] for key, f in functions.items()}
    if name == "bodies":
        return {key: (f["digest"], f["settings"], f["security_definer"]) for key, f in functions.items()}
    if name == "owners":
        both = {**catalog.by_name("relations"), **functions}
        return {key: each["owner"] for key, each in both.items()}
    if name == "rights":
        return {(r["object"], r["role"], r["privilege"]): True for r in relations["acl"] if r["role"] != "PUBLIC"}
    if name == "triggers":
        return {(r["table_name"], r["name"]): r for r in relations["triggers"]}
    if name == "indexes":
        return dict(catalog.by_name("indexes"))
    return dict(catalog.by_name("key_constraints")) if name == "keys" else dict(catalog.sequences)


def _shape(catalog: Catalog) -> Iterator[Outcome]:
    tasks, configs = catalog.columns(TASKS), catalog.columns(CONFIGS)
    if tasks and "id" not in tasks:
        yield Outcome(
            "other-product", False, "the tasks are another SDK's: after the migration no task could be deleted", 1
        )
    if not tasks:
        yield Outcome("no-tasks-table", False, "the helpers and triggers have no table of tasks to stand on", 1)
    if not configs:
        yield Outcome("no-configs-table", False, "there is no table of push configurations to migrate", 1)
    there = {TASKS: tasks, CONFIGS: configs}
    missing = [(table, column) for table, column in COMPLETING if there[table] and column not in there[table]]
    if missing:
        detail = (
            f"without them the SDK accepts the store and then fails; the manual adds none; first: {shown(missing[0])}"
        )
        yield Outcome("columns-missing", False, detail, len(missing))
    keys = [name for name in sorted(catalog.by_name("key_constraints")) if name != FOREIGN_KEY]
    if keys:
        detail = f"a foreign key of another name stays, and the SDK refuses the store; first: {shown(keys[0])}"
        yield Outcome("other-foreign-key", False, detail, len(keys))
    for relation in catalog.relations["relations"]:
        name = relation["name"]
        if relation["kind"] != "r" or relation["partition"] or relation["inherits"]:
            yield Outcome("not-a-plain-table", False, f"{shown(name)} is a view, a partition or inherits", 1)
        if relation["row_security"] and name == TASKS:
            yield Outcome(
                "row-security", False, "row-level security on the tasks: creation for a task is refused (0A000)", 1
            )


def _rows(state: State) -> Iterator[Outcome]:
    there = {key for (key,) in state.rows[TASKS]}
    # Without the column every row will get false, and false is never cleaned up.
    now = {key: state.local.get(key, False) for key in state.rows[CONFIGS]}
    if LOCAL not in state.catalog.columns(CONFIGS):
        lost = sorted(key for key in now if key[0] in there)
        if lost:
            detail = "these go with their task today and will stay after the migration; adopt them in a step of its own"
            yield Outcome("loses-cleanup", False, f"{detail}; first: {shown(lost[0])}", len(lost), "medium")
    orphans = sorted(key for key, local in now.items() if local and key[0] not in there)
    if orphans:
        detail = f"local configurations without a task stay for ever; first: {shown(orphans[0])}"
        yield Outcome("local-orphans", False, detail, len(orphans), "medium")


def _environment(catalog: Catalog) -> Iterator[Outcome]:
    for setting in catalog.relations["settings"]:
        if not setting["concerned"]:
            continue
        name, value = setting["name"], setting["value"]
        if name == "default_transaction_isolation" and value in ("repeatable read", "serializable"):
            detail = (
                f"{setting['level']}: {value}; the helper and TRUNCATE are refused (0A000), deletes can leave orphans"
            )
            yield Outcome("isolation", False, detail, 1, "medium")
        if name == "session_replication_role" and value == "replica":
            yield Outcome("replica-role", False, f"{setting['level']}: triggers do not run, deletes leave orphans", 1)
    enabled = {r["name"]: r["enabled"] for r in catalog.relations["triggers"] if r["table_name"] == TASKS}
    off = sorted(name for name in bodies.TRIGGERS if enabled.get(name) in ("D", "R"))
    if off:
        yield Outcome(
            "trigger-off", False, f"disabled today, enabled by the migration; first: {off[0]}", len(off), "low"
        )
    if any(f["marker"] in (11, 12, 13) for f in catalog.by_name("functions").values()):
        detail = "a process of an older release that starts later puts its own helpers back: stop all of them first"
        yield Outcome("older-release", False, detail, 1, "info")
