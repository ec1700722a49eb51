"""What the v4 migration of an A2A store has to keep, and what it has to change.

Source: fact sheet sections 2.2, 2.3 and 5.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from busbar_audit.rehearsal.a2a_state import LOCAL, Catalog, State, differing
from busbar_audit.rehearsal.outcomes import Outcome, judged
from busbar_audit.stores import a2a_bodies as bodies
from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS

V4 = 14
# What a store of today has and the first shapes lack: table, column.
COMPLETING = (
    (TASKS, "created_sequence"), (TASKS, "revision"), (TASKS, "has_status_timestamp"), (CONFIGS, "created_sequence"),
)  # fmt: skip
_GONE = ("idx_a2a_push_configs_task", "idx_a2a_push_configs_created_sequence")
_TRIGGERS = {
    bodies.LOCK_TRIGGER: (11, bodies.DELETE_LOCK),
    bodies.DELETE_TRIGGER: (9, bodies.CLEANUP),
    bodies.TRUNCATE_TRIGGER: (32, bodies.CLEANUP),
}
# What nobody compares here; said in every result.
NOT_COMPARED = (
    "objects of other schemas", "functions other than the three helpers", "comments on anything but the helpers",
    "statistics and bloat", "what a process of another release does when it starts",
)  # fmt: skip


def invariants(
    before: State, after: State, *, accepted: Collection[str] = (), role: str | None = None
) -> list[Outcome]:
    """Hold the store after a migration against the one before it.

    Parameters
    ----------
    accepted : fingerprints of reviewed helper bodies beside those of v4. role : that the service uses, if declared.
    """
    return [*_kept(before, after), *_made(after.catalog, accepted), *_served(after.catalog, role)]


def _kept(before: State, after: State) -> Iterator[Outcome]:
    old, new = before.catalog, after.catalog
    for name, table in (("tasks-kept", TASKS), ("configs-kept", CONFIGS)):
        rows = before.rows[table]
        yield judged(name, differing(rows, after.rows[table]), f"all {len(rows)} rows byte for byte")
    expected: dict[Any, Any] = dict(before.local) or dict.fromkeys(before.rows[CONFIGS], False)
    rule = "values as before" if before.local else "false in every row that was there"
    yield judged("provenance-kept", differing(expected, after.local), rule)
    # A file for the oldest shapes may add what they lack. To fill a sequence in, each row has to be written anew.
    columns = differing(_columns(old), _columns(new))
    added = [key for how, key in columns if how == "new" and key in COMPLETING]
    severity = "low" if added else "high"
    yield judged("not-rewritten", differing(old.files, new.files), "the tables' files are the same", severity=severity)
    sequences = differing(old.sequences, new.sequences)
    yield judged("sequences-kept", [s for s in sequences if s[0] != "new"], "positions as before")
    wrong = [(how, key) for how, key in columns if how != "new" or key not in COMPLETING]
    yield judged("columns-kept", wrong, "columns, types and defaults as before, but for those that were missing")
    yield judged("owners-kept", differing(_relations(old), _relations(new)), "owner, kind, row security, rules")
    grants = _grants(old), _grants(new)
    yield judged("grants-kept", sorted(grants[0] - grants[1]), "no right on tables or schema was lost")
    given = {g for g in grants[1] - grants[0] if (g[0], g[2]) != (TASKS, "SELECT")}
    yield judged("no-new-grants", sorted(given), "no right on tables beyond SELECT on the tasks was given")
    yield judged("other-triggers-kept", differing(_triggers(old), _triggers(new)), "triggers of others as before")
    indexes = [each for each in differing(_indexes(old), _indexes(new)) if each[0] != "new" or not added]
    yield judged("other-indexes-kept", indexes, "indexes not meant to go, as before")
    published = [{r["name"]: r for r in each.relations["publications"]} for each in (old, new)]
    yield judged("publications-kept", differing(*published), "publications as before")


def _made(new: Catalog, accepted: Collection[str]) -> Iterator[Outcome]:
    column = new.columns(CONFIGS).get(LOCAL, {})
    found = (column.get("kind"), column.get("required"), column.get("said"))
    wrong = [] if found == ("boolean", True, "false") else [found]
    yield judged("column-made", wrong, "the provenance is boolean, not null, default false")
    yield judged("no-foreign-key", sorted(new.by_name("key_constraints")), "no key from configurations to tasks")
    yield judged(
        "old-indexes-gone", sorted(new.by_name("indexes").keys() & set(_GONE)), "both secondary indexes dropped"
    )
    helpers = new.by_name("functions")
    missing = [name for name in bodies.HELPERS if name not in helpers]
    ours = [helpers[name] for name in bodies.HELPERS if name in helpers]
    wrong_bodies = [f["name"] for f in ours if V4 not in f["generations"] and f["digest"] not in accepted]
    yield judged("helpers-v4", [*missing, *wrong_bodies], "three helpers, each with the body of v4")
    plain = [f["name"] for f in ours if _plainly_wrong(f)]
    yield judged("helpers-safe", [*missing, *plain], "SECURITY DEFINER, volatile, search_path=pg_catalog, plpgsql")
    yield judged("markers-v4", [*missing, *(f["name"] for f in ours if f["marker"] != V4)], "three markers of v4")
    yield judged("no-public-execute", [f["name"] for f in ours if f["public_execute"]], "PUBLIC may call no helper")
    yield judged("helper-owners", sorted(_owners(ours)), "each helper's owner may do what it does")
    keys = {name: helpers[name]["lock_key"] for name in (bodies.PUSH_LOCK, bodies.DELETE_LOCK) if name in helpers}
    unequal = [tuple(keys.values())] if len(set(keys.values())) > 1 else []
    yield judged("lock-keys-equal", unequal, "both lock helpers make one key")
    foreign = [(f["name"], f["foreign_schema"]) for f in ours if f["foreign_schema"] is not None]
    yield judged("own-schema", foreign, "no helper names the tables of another schema")
    yield judged(
        "triggers-v4", list(_wrong_triggers(new)), "three triggers, enabled, plain, calling this schema's helpers"
    )


def _served(new: Catalog, role: str | None) -> Iterator[Outcome]:
    if role is None:
        yield Outcome("role-served", None, "needs a2a.runtime_role in the policy")
        return
    rights = [r["lacking"] for r in new.relations["role_rights"] if r["role"] == role]
    wrong = [lacking for lacking in rights if lacking] if rights else ["no such role"]
    yield judged("role-served", wrong, "the service's role has what it needs")


def _plainly_wrong(function: dict[str, Any]) -> bool:
    pinned = "search_path=pg_catalog" in (function["settings"] or "").split("; ")
    return not (
        function["security_definer"] and function["volatility"] == "v" and function["language"] == "plpgsql" and pinned
    )


def _owners(ours: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for each in ours:
        name = each["name"]
        if not each["owner_usage"]:
            yield name, "USAGE on the schema"
        if name == bodies.PUSH_LOCK and not each["owner_select_tasks"]:
            yield name, "SELECT on tasks"
        if name == bodies.CLEANUP and not (each["owner_select_configs"] and each["owner_delete_configs"]):
            yield name, "SELECT and DELETE on configurations"
        if name == bodies.CLEANUP and each["owner_filtered"]:
            yield name, "row security filters what it deletes"


def _wrong_triggers(new: Catalog) -> Iterator[str]:
    there = {r["name"]: r for r in new.relations["triggers"] if r["table_name"] == TASKS}
    for name, (kind, function) in _TRIGGERS.items():
        found = there.get(name)
        if found is None or (
            (found["type"], found["function_name"], found["function_here"]) != (kind, function, True)
            or found["enabled"] not in ("O", "A")
            or found["conditional"]
            or found["arguments"]
        ):
            yield name


def _columns(catalog: Catalog) -> dict[tuple[str, str], dict[str, Any]]:
    rows = catalog.relations["column_defaults"]
    return {(r["table_name"], r["column_name"]): r for r in rows if r["column_name"] != LOCAL}


def _relations(catalog: Catalog) -> dict[str, dict[str, Any]]:
    return catalog.by_name("relations")


def _grants(catalog: Catalog) -> set[tuple[str, str, str]]:
    rows = catalog.relations["acl"]
    return {(r["object"], r["role"], r["privilege"]) for r in rows if r["object"] in (TASKS, CONFIGS, "schema")}


def _triggers(catalog: Catalog) -> dict[tuple[str, str], dict[str, Any]]:
    rows = catalog.relations["triggers"]
    return {(r["table_name"], r["name"]): r for r in rows if r["name"] not in _TRIGGERS}


def _indexes(catalog: Catalog) -> dict[str, dict[str, Any]]:
    return {name: r for name, r in catalog.by_name("indexes").items() if name not in _GONE}
