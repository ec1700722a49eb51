# ruff: noqa: E501 - a table: one wrong migration a line
"""The v4 migration of A2A stores rehearsed from every generation; wrong migrations, poor copies and traps are each named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support_a2a import ACCEPTED, BASES, DATABASE, OWNER, SERVICE, prepare
from support_cli import called, last
from support_postgres import Server, running

from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.a2a_invariants import invariants
from busbar_audit.rehearsal.a2a_migration import Rehearsal, document, rehearse
from busbar_audit.rehearsal.a2a_probes import probes
from busbar_audit.rehearsal.a2a_state import read_state, state_here, unlike
from busbar_audit.rehearsal.a2a_traps import traps as list_traps
from busbar_audit.rehearsal.script import first_word, read_script, split
from busbar_audit.stores import a2a_bodies as bodies
from busbar_audit.synth import a2a_helpers
from busbar_audit.synth.a2a import write_a2a
from busbar_audit.target import parse_target

T, P = "a2a_tasks", "a2a_push_notification_configs"
_NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as up:
        prepare(up)
        yield up


@pytest.fixture(scope="module")
def copy(server: Server) -> str:
    """One copy of every generation; each test has schemas of its own in it."""
    return server.copy_of(DATABASE)


def v4(schema: str, *, begin: bool = True) -> list[str]:
    """The migration, as its manual describes it; with our own helpers."""
    place = f'"{schema}".'
    made = [
        f"ALTER TABLE {place}{P} ADD COLUMN IF NOT EXISTS local_postgres_task boolean NOT NULL DEFAULT false",
        f"ALTER TABLE {place}{P} DROP CONSTRAINT IF EXISTS a2a_push_configs_task_fk",
        f"DROP INDEX IF EXISTS {place}idx_a2a_push_configs_task",
        f"DROP INDEX IF EXISTS {place}idx_a2a_push_configs_created_sequence",
        *(each.as_string(None) for each in (*a2a_helpers.helpers(schema, 14), *a2a_helpers.triggers(schema, 14))),
        f"GRANT SELECT ON {place}{T} TO {SERVICE}",
        f"GRANT EXECUTE ON FUNCTION {place}{bodies.PUSH_LOCK}(text) TO {SERVICE}",
    ]
    return ["BEGIN", *made, "COMMIT"] if begin else made


def rehearsed(server: Server, copy: str, schema: str, statements: list[str], **options: Any) -> Rehearsal:
    target = parse_target(server.uri(DATABASE)).in_schema(schema)
    words = {"accepted": ACCEPTED, "role": SERVICE, "points": 3, "lock_timeout": 0.1, **options}
    return rehearse(target, parse_target(server.uri(copy)), statements, **words)


def wrong(found: Rehearsal) -> set[str]:
    return {each.name for each in found.after if each.held is False}


def traps(found: Rehearsal) -> dict[str, int]:
    return {each.name: each.extent for each in found.before}


def store(server: Server, copy: str, base: str, *statements: str, **options: Any) -> str:
    """A store of its own in both databases."""
    schema = f"s{next(_NUMBERS)}"
    for database in (DATABASE, copy):
        generation, variant = BASES[base]
        words = {"generation": generation, "variant": variant, "role": SERVICE, "owner": OWNER, "tasks": 12, **options}
        write_a2a(server.uri(database), schema, **words)
        with server.connect(database) as con:
            for statement in statements:
                con.execute(statement.replace("{s}", schema).encode())
    return schema


@pytest.mark.parametrize("base", BASES)
def test_the_migration_from_every_generation(server: Server, copy: str, base: str) -> None:
    generation, _ = BASES[base]
    found = rehearsed(server, copy, base, v4(base), points=50 if base == "legacy" else 2)
    assert wrong(found) == set(), [each for each in found.after if each.held is False]
    assert found.cuts == (len(v4(base)) - 1 if base == "legacy" else 2)
    assert found.applied is not None
    assert found.applied.steps[-1].word == "COMMIT"
    assert not found.applied.failed
    # A table is closed to readers from the drop of the index, or of the triggers, to the end.
    assert 0 < found.applied.exclusive < found.applied.seconds
    assert "AccessExclusiveLock" in found.applied.steps[-2].locks.values()
    assert found.applied.steps[-1].locks == {}
    assert found.waiting is not None
    assert found.waiting.sqlstate == "55P03"
    told = {each.name: each.held for each in found.after}
    if generation < 3:
        assert told["probes"] is None
        assert traps(found)["columns-missing"] == {1: 4, 2: 2}[generation]
    else:
        assert told["delete-cleans"] is told["truncate-cleans"] is told["no-select-refused"] is True
        # Push-only stores have no task to try the waiting on.
        assert told["delete-excludes"] is (None if generation == 4 else True)
    if generation <= 3:
        assert traps(found)["loses-cleanup"] == found.rows[1] > 0
    assert str(found.verdict) == ("findings" if generation <= 3 else "clean")
    assert json.loads(json.dumps(document(found)))["runs"]["again"]["failed_at"] == 0


# What a wrong migration does beside the right one, and the invariants that have to see it.
WRONG: dict[str, tuple[set[str], str]] = {
    "loses a task": ({"tasks-kept"}, "SET LOCAL session_replication_role = replica; DELETE FROM {s}.{T} WHERE created_sequence = 3"),
    "adds a task": ({"tasks-kept"}, "INSERT INTO {s}.{T} SELECT 'new', {rest} FROM {s}.{T} WHERE created_sequence = 3"),
    "changes a task's body": ({"tasks-kept"}, "UPDATE {s}.{T} SET task_proto = task_proto || '\\x00' WHERE created_sequence = 2"),
    "touches a task's time": ({"tasks-kept"}, "UPDATE {s}.{T} SET updated_at = updated_at + interval '1 microsecond' WHERE created_sequence = 2"),
    "loses a configuration": ({"configs-kept", "provenance-kept"}, "DELETE FROM {s}.{P} WHERE created_sequence = 2"),
    "changes a URL": ({"configs-kept"}, "UPDATE {s}.{P} SET url = url || '/' WHERE created_sequence = 2"),
    "renumbers": ({"configs-kept"}, "UPDATE {s}.{P} SET created_sequence = created_sequence + 100"),
    "adopts without being asked": ({"provenance-kept"}, "UPDATE {s}.{P} SET local_postgres_task = true"),
    "rewrites a table": ({"not-rewritten"}, "CLUSTER {s}.{T} USING a2a_tasks_pkey"),
    "adds a column": ({"columns-kept"}, "ALTER TABLE {s}.{T} ADD COLUMN more text"),
    "drops a default": ({"columns-kept"}, "ALTER TABLE {s}.{P} ALTER COLUMN created_sequence DROP DEFAULT"),
    "nullable provenance": ({"column-made"}, "ALTER TABLE {s}.{P} ALTER COLUMN local_postgres_task DROP NOT NULL"),
    "default true": ({"column-made"}, "ALTER TABLE {s}.{P} ALTER COLUMN local_postgres_task SET DEFAULT true"),
    "changes the owner": ({"owners-kept", "grants-kept", "no-new-grants"}, "ALTER TABLE {s}.{T} OWNER TO postgres; GRANT SELECT ON {s}.{T} TO {owner}"),
    "row security": ({"owners-kept"}, "ALTER TABLE {s}.{T} ENABLE ROW LEVEL SECURITY"),
    "takes a right": ({"grants-kept", "role-served"}, "REVOKE DELETE ON {s}.{P} FROM {role}"),
    "gives PUBLIC the secrets": ({"no-new-grants"}, "GRANT SELECT ON {s}.{P} TO PUBLIC"),
    "a trigger of its own": ({"other-triggers-kept"}, "CREATE TRIGGER more AFTER DELETE ON {s}.{T} FOR EACH ROW EXECUTE FUNCTION {s}.{CLEAN}()"),
    "drops another index": ({"other-indexes-kept"}, "DROP INDEX {s}.idx_a2a_tasks_context"),
    "keeps an old index": ({"old-indexes-gone"}, "CREATE INDEX idx_a2a_push_configs_task ON {s}.{P} (task_id)"),
    "publishes": ({"publications-kept"}, "CREATE PUBLICATION more FOR TABLE {s}.{T}"),
    "keeps a foreign key": ({"no-foreign-key"}, "ALTER TABLE {s}.{P} ADD CONSTRAINT other FOREIGN KEY (task_id) REFERENCES {s}.{T} (id)"),
    "no marker": ({"markers-v4"}, "COMMENT ON FUNCTION {s}.{CLEAN}() IS NULL"),
    "stamps down": ({"markers-v4"}, "COMMENT ON FUNCTION {s}.{PUSH}(text) IS 'task-aware-push-config-v3'"),
    "PUBLIC may call": ({"no-public-execute"}, "GRANT EXECUTE ON FUNCTION {s}.{LOCK}() TO PUBLIC"),
    "caller's rights": ({"helpers-safe"}, "ALTER FUNCTION {s}.{PUSH}(text) SECURITY INVOKER"),
    "no search path": ({"helpers-safe"}, "ALTER FUNCTION {s}.{CLEAN}() RESET search_path"),
    "stable helper": ({"helpers-safe"}, "ALTER FUNCTION {s}.{PUSH}(text) STABLE"),
    "poor owner": ({"helper-owners"}, "ALTER FUNCTION {s}.{CLEAN}() OWNER TO a2a_poor"),
    "no truncate trigger": ({"triggers-v4"}, "DROP TRIGGER a2a_truncate_task_push_configs_trigger ON {s}.{T}"),
    "trigger disabled": ({"triggers-v4"}, "ALTER TABLE {s}.{T} DISABLE TRIGGER a2a_lock_task_for_delete_trigger"),
    "no helper": ({"helpers-v4", "helpers-safe", "markers-v4", "triggers-v4"}, "DROP FUNCTION {s}.{LOCK}() CASCADE"),
    "empty helper": ({"helpers-v4"}, "CREATE OR REPLACE FUNCTION {s}.{CLEAN}() RETURNS trigger LANGUAGE plpgsql VOLATILE SECURITY DEFINER "
                     "SET search_path = pg_catalog AS $$BEGIN RETURN OLD; END$$"),
    "right withheld": ({"role-served"}, "REVOKE EXECUTE ON FUNCTION {s}.{PUSH}(text) FROM {role}"),
    # Not rolled back, so the last one.
    "moves a sequence": ({"sequences-kept"}, "SELECT nextval('{s}.a2a_tasks_created_sequence')"),
}  # fmt: skip


def test_each_wrong_migration_is_seen_by_its_invariant_and_no_other(server: Server, copy: str) -> None:
    schema = store(server, copy, "legacy")
    words = {
        "s": schema, "T": T, "P": P, "PUSH": bodies.PUSH_LOCK, "LOCK": bodies.DELETE_LOCK, "CLEAN": bodies.CLEANUP,
        "role": SERVICE, "owner": OWNER,
    }  # fmt: skip
    found: dict[str, set[str]] = {}
    with server.connect(copy) as con:
        before = read_state(con, schema)
        columns = ", ".join(sorted(before.catalog.columns(T).keys() - {"id"}))
        order = con.execute(
            "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = %s::regclass "
            "AND attnum > 1 AND NOT attisdropped", (f"{schema}.{T}",),
        ).fetchone()  # fmt: skip
        assert order is not None
        assert sorted(order[0].split(", ")) == columns.split(", ")
        for name, (_, fault) in {"nothing": (set(), ""), **WRONG}.items():
            with con.transaction(force_rollback=True):
                for statement in v4(schema, begin=False):
                    con.execute(statement.encode())
                for statement in filter(
                    None, fault.format(**words, rest=order[0]).split("; ", 1 if "$$" not in fault else 0)
                ):
                    con.execute(statement.encode())
                after = state_here(con, schema, before)
            told = invariants(before, after, accepted=ACCEPTED, role=SERVICE)
            assert len(told) == 24
            found[name] = {each.name for each in told if not each.held}
    expected = {"nothing": set(), **{name: codes for name, (codes, _) in WRONG.items()}}
    assert {name: codes for name, codes in found.items() if codes != expected[name]} == {}
    assert len(found) == len(expected) > 35


def test_lock_helpers_with_unequal_keys_and_bodies_of_another_schema(server: Server, copy: str) -> None:
    schema = store(server, copy, "v3b")
    for statements, names in (
        ([*a2a_helpers.helpers(schema, 14, only=(bodies.DELETE_LOCK,), quoted=True)], {"lock-keys-equal"}),
        ([*a2a_helpers.helpers("elsewhere", 14, only=(bodies.CLEANUP,))], {"own-schema"}),
    ):
        with server.connect(copy) as con:
            before = read_state(con, schema)
            with con.transaction(force_rollback=True):
                for statement in (*v4(schema, begin=False), *(s.as_string(None) for s in statements)):
                    con.execute(statement.replace('"elsewhere"."a2a_delete', f'"{schema}"."a2a_delete').encode())
                after = state_here(con, schema, before)
        told = invariants(before, after, accepted=ACCEPTED, role=SERVICE)
        assert {each.name for each in told if not each.held} - {"helpers-v4"} == names


# A whole migration that goes wrong, and what is said of it after the run.
def _without_transaction(schema: str) -> list[str]:
    return v4(schema, begin=False)


def _fails_late(schema: str) -> list[str]:
    return [*v4(schema)[:-1], "SELECT 1 / 0", "COMMIT"]


def _never_ends(schema: str) -> list[str]:
    return v4(schema)[:-1]


def _hangs(schema: str) -> list[str]:
    return ["SET statement_timeout = 0", *v4(schema)[:-1], "SELECT pg_sleep(600)", "COMMIT"]


def _drops_everything(schema: str) -> list[str]:
    return [f"DROP SCHEMA {schema} CASCADE"]


def _not_again(schema: str) -> list[str]:
    return [*v4(schema)[:-1], f"CREATE TABLE {schema}.done ()", "COMMIT"]


def _not_idempotent(schema: str) -> list[str]:
    return [*v4(schema)[:-1], f"UPDATE {schema}.{P} SET url = url || '/'", "COMMIT"]


def test_what_follows_the_commit_is_no_part_that_stays(server: Server, copy: str) -> None:
    schema = store(server, copy, "v3b")
    found = rehearsed(server, copy, schema, [*v4(schema), f"VACUUM {schema}.{P}", "ANALYZE", "RESET ALL"])
    assert (wrong(found), str(found.verdict)) == (set(), "clean")


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (_without_transaction, {"abort-leaves-nothing"}),
        (_fails_late, {"applied"}),
        (_never_ends, {"ends-transaction"}),
        (_hangs, {"applied"}),
        (_drops_everything, {"columns-kept", "configs-kept", "tasks-kept"}),
        (_not_again, {"second-run"}),
        (_not_idempotent, {"second-run", "configs-kept"}),
    ],
)
def test_a_file_that_goes_wrong_as_a_whole(
    server: Server, copy: str, make: Callable[[str], list[str]], names: set[str]
) -> None:
    schema = store(server, copy, "legacy", most_configs=1)
    with server.connect(copy) as con:
        before = read_state(con, schema)
    found = rehearsed(server, copy, schema, make(schema), timeout=1.0 if make is _hangs else 60.0)
    if make is _drops_everything:
        assert wrong(found) > names
        return
    assert wrong(found) == names, [each for each in found.after if each.held is False]
    assert (str(found.verdict), found.verdict.exit_code) == ("findings", 1)
    if make in (_fails_late, _never_ends, _hangs):
        with server.connect(copy) as con:
            assert unlike(before, read_state(con, schema)) == []
    applied = next(each for each in found.after if each.name == "applied")
    if make is _fails_late:
        assert applied.detail == f"statement {len(v4(schema))} (SELECT) ended with 22012"
    if make is _hangs:
        assert applied.detail.endswith(("timeout", "57014"))


TRAPS: dict[str, tuple[str, str, int, str]] = {
    "other-foreign-key": ("v4", "ALTER TABLE {s}.a2a_push_notification_configs ADD CONSTRAINT other FOREIGN KEY (task_id) "
                          "REFERENCES {s}.a2a_tasks (id) NOT VALID", 1, "high"),
    "row-security": ("v4", "ALTER TABLE {s}.a2a_tasks ENABLE ROW LEVEL SECURITY", 1, "high"),
    "local-orphans": ("v4", "UPDATE {s}.a2a_push_notification_configs SET local_postgres_task = true "
                      "WHERE task_id NOT IN (SELECT id FROM {s}.a2a_tasks)", 3, "medium"),
    "trigger-off": ("v3b", "ALTER TABLE {s}.a2a_tasks DISABLE TRIGGER a2a_lock_task_for_delete_trigger", 1, "low"),
}  # fmt: skip


def test_traps_are_named_before_anything_runs(server: Server, copy: str) -> None:
    for name, (base, statement, extent, severity) in TRAPS.items():
        schema = store(server, copy, base, statement)
        with server.connect(copy) as con:
            told = {each.name: (each.extent, each.severity) for each in list_traps(read_state(con, schema))}
        assert told == {name: (extent, severity), **({"older-release": (1, "info")} if base == "v3b" else {})}
    for base in ("push", "v4"):
        schema = store(server, copy, base)
        with server.connect(copy) as con:
            assert list_traps(read_state(con, schema)) == []


def test_settings_that_bite_are_traps(server: Server, copy: str) -> None:
    schema = store(server, copy, "v4")
    with server.connect(copy) as con:
        for setting, name in (
            ("default_transaction_isolation = 'serializable'", "isolation"),
            ("session_replication_role = 'replica'", "replica-role"),
        ):
            with con.transaction(force_rollback=True):
                con.execute(f"ALTER ROLE {SERVICE} IN DATABASE {copy} SET {setting}".encode())
                assert [each.name for each in list_traps(state_here(con, schema))] == [name]


def test_tables_of_another_sdk_are_not_migrated(server: Server, copy: str) -> None:
    schema = store(server, copy, "legacy")
    for database in (DATABASE, copy):
        with server.connect(database) as con:
            con.execute(f"DROP TABLE {schema}.{P}, {schema}.{T}".encode())
            con.execute(f"CREATE TABLE {schema}.{T} (task_id text PRIMARY KEY, task_data text)".encode())
            con.execute(
                f"CREATE TABLE {schema}.{P} (task_id text, config_id text, task_data text, "
                f"PRIMARY KEY (task_id, config_id))".encode()
            )
    found = rehearsed(server, copy, schema, v4(schema))
    assert found.reason == "not run: other-product"
    assert "other-product" in traps(found)
    assert (found.applied, found.after, found.verdict.exit_code) == (None, [], 1)


POOR: dict[str, tuple[str, str]] = {
    "copy-comments": ("v4", "COMMENT ON FUNCTION {s}.a2a_lock_task_for_delete() IS NULL"),
    "copy-public": ("v4", "GRANT EXECUTE ON FUNCTION {s}.a2a_lock_task_for_delete() TO PUBLIC"),
    "copy-rights": ("legacy", "REVOKE SELECT ON {s}.a2a_tasks FROM a2a_service"),
    "copy-triggers": ("v4", "DROP TRIGGER a2a_delete_task_push_configs_trigger ON {s}.a2a_tasks"),
    "copy-indexes": ("legacy", "DROP INDEX {s}.idx_a2a_tasks_context"),
    "copy-keys": ("legacy", "ALTER TABLE {s}.a2a_push_notification_configs DROP CONSTRAINT a2a_push_configs_task_fk"),
}


def test_what_a_copy_lost_is_named_and_nothing_is_rehearsed_on_it(server: Server, copy: str) -> None:
    for name, (base, statement) in POOR.items():
        schema = store(server, copy, base)
        with server.connect(copy) as con:
            con.execute(statement.replace("{s}", schema).encode())
        found = rehearsed(server, copy, schema, v4(schema))
        assert {each for each in traps(found) if each.startswith("copy-")} == {name}
        assert (found.reason, found.verdict.exit_code) == (f"not run: the copy is not faithful ({name})", 3)


def test_a_store_that_went_on_is_said_to_have(server: Server, copy: str) -> None:
    schema = store(server, copy, "v4")
    with server.connect(copy) as con:
        con.execute(f"DELETE FROM {schema}.{P} WHERE created_sequence = 1".encode())
    found = rehearsed(server, copy, schema, v4(schema))
    assert traps(found) == {"copy-rows": 1}
    assert (wrong(found), found.verdict.exit_code) == (set(), 1)


def test_a_copy_that_is_the_store_or_in_use_is_refused(server: Server, copy: str) -> None:
    schema = store(server, copy, "v4")
    with pytest.raises(UsageError, match="the store itself"):
        rehearsed(server, DATABASE, schema, v4(schema))
    with server.connect(copy), pytest.raises(UsageError, match="1 other sessions"):
        rehearsed(server, copy, schema, v4(schema))


def test_the_command(server: Server, copy: str, tmp_path: Path) -> None:
    schema = store(server, copy, "v4")
    file, policy = tmp_path / "v4.sql", tmp_path / "policy.toml"
    file.write_text(";\n".join(v4(schema)) + ";\n-- end\n", encoding="utf-8")
    accepted = ", ".join(f'"{digest}"' for digest in ACCEPTED)
    policy.write_text(f'[a2a]\nhelpers = [{accepted}]\nruntime_role = "{SERVICE}"\n', encoding="utf-8")
    words = ("rehearse", server.uri(DATABASE), "--schema", schema, "--migration", file, "--points", 2)
    ended = called(*words, "--copy", server.uri(copy), "--policy", policy)
    assert (ended.returncode, last(ended.stdout)) == (0, "clean"), ended.stdout + ended.stderr
    assert "nobody could read a table for" in ended.stdout
    assert "not compared: " in ended.stdout
    without = called(*words, "--copy", server.uri(copy), "--json")
    # Bodies that nobody has reviewed are not those of v4.
    told = json.loads(without.stdout)
    assert [each["name"] for each in told["after"] if each["held"] is False] == ["helpers-v4"]
    assert (without.returncode, last(without.stderr)) == (1, "findings")
    assert called(*words).returncode == 2


def test_a_script_is_split_as_the_server_reads_it(tmp_path: Path) -> None:
    text = """-- a; comment
    SELECT 'a;''b', E'c\\';d', "e;f" /* g; /* h; */ i; */; ;
    CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $x$ SELECT 1; $$;$$ $x$;
    /* only; a comment */
    SELECT $1a$ + a$b;c"""
    found = list(split(text))
    assert [first_word(each) for each in found] == ["SELECT", "CREATE", "SELECT", "C"]
    assert found[1].endswith("$x$;")
    file = tmp_path / "x.sql"
    for content, said in (("", "no statement"), ("-- x", "no statement"), ("\\set a b\nSELECT 1;", "commands of psql")):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=said):
            read_script(file)
    file.write_text("SELECT '\n\\set';", encoding="utf-8")
    assert len(read_script(file)) == 1


# Bodies that somebody accepted though they do not do it, and the probes that see so: what to replace in which helper.
MISLED: dict[str, tuple[str, str, str, set[str]]] = {
    "cleans up what is not its own": (bodies.CLEANUP, "c.local_postgres_task AND c.task_id", "c.task_id", {"delete-cleans"}),
    "cleans up nothing at TRUNCATE": (bodies.CLEANUP, "WHERE c.local_postgres_task;", "WHERE false;", {"truncate-cleans"}),
    "TRUNCATE takes all": (bodies.CLEANUP, "WHERE c.local_postgres_task;", ";", {"truncate-cleans"}),
    "says yes always": (bodies.PUSH_LOCK, "RETURN EXISTS", "RETURN true OR EXISTS", {"missing-task"}),
    "says no always": (bodies.PUSH_LOCK, "RETURN EXISTS", "RETURN false AND EXISTS", {"present-task"}),
    "takes repeatable read": (bodies.PUSH_LOCK, "(repeatable read|", "(", {"isolation-refused"}),
    "takes serializable": (bodies.PUSH_LOCK, "|serializable)", ")", {"serializable-refused"}),
    "TRUNCATE under any isolation": (bodies.CLEANUP, "'0A000'", "'P0001'", {"truncate-refused"}),
    "takes row security": (bodies.PUSH_LOCK, "c.relrowsecurity", "false", {"row-security-refused"}),
    "asks for no right": (bodies.PUSH_LOCK, "IF NOT has_table_privilege", "IF false AND NOT has_table_privilege", {"no-select-refused"}),
    "locks another key": (bodies.DELETE_LOCK, "OLD.id,", "repeat(OLD.id, 2),", {"delete-excludes"}),
}  # fmt: skip


def test_helpers_that_misbehave_are_seen_by_the_probes(server: Server, copy: str) -> None:
    schema = store(server, copy, "v4")
    right = {
        name: each.as_string(None)
        for name in bodies.HELPERS
        for each in [next(a2a_helpers.helpers(schema, 14, only=(name,)))]
    }

    def connected() -> Any:
        return server.connect(copy)

    found = {"nothing": {each.name for each in probes(connected, schema) if not each.held}}
    for name, (helper, old, new, _) in MISLED.items():
        assert old in right[helper]
        server.run(copy, right[helper].replace(old, new))
        found[name] = {each.name for each in probes(connected, schema) if not each.held}
        server.run(copy, right[helper])
    server.run(copy, f"GRANT EXECUTE ON FUNCTION {schema}.{bodies.PUSH_LOCK}(text) TO PUBLIC")
    found["anybody calls"] = {each.name for each in probes(connected, schema) if not each.held}
    assert found == {
        "nothing": set(),
        "anybody calls": {"no-execute-refused"},
        **{n: case[3] for n, case in MISLED.items()},
    }


def test_a_file_that_completes_an_old_shape(server: Server, copy: str) -> None:
    schema = store(server, copy, "sequence")
    statements = [
        "BEGIN",
        f"ALTER TABLE {schema}.{T} ADD COLUMN IF NOT EXISTS revision bigint NOT NULL DEFAULT 1",
        f"CREATE SEQUENCE IF NOT EXISTS {schema}.a2a_push_configs_created_sequence",
        f"ALTER TABLE {schema}.{P} ADD COLUMN IF NOT EXISTS created_sequence bigint NOT NULL DEFAULT "
        f"nextval('{schema}.a2a_push_configs_created_sequence')",
        *v4(schema)[1:-1],
        f"GRANT USAGE ON SEQUENCE {schema}.a2a_push_configs_created_sequence TO {SERVICE}",
        "COMMIT",
    ]
    found = rehearsed(server, copy, schema, statements)
    assert traps(found)["columns-missing"] == 2
    told = {each.name: (each.severity, each.extent) for each in found.after if each.held is False}
    assert told == {"not-rewritten": ("low", 1)}
    assert {each.name: each.held for each in found.after}["delete-cleans"] is True
