# ruff: noqa: E501 - a table: one fault a line
"""Faults of A2A stores by name: what is done to a healthy store, and exactly what an audit must find."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from busbar_audit.synth import a2a_helpers
from busbar_audit.synth import a2a_payloads as payload

Con = psycopg.Connection[Any]
T, P = "a2a_tasks", "a2a_push_notification_configs"
PUSH, LOCK, CLEAN = "a2a_lock_task_for_push_config", "a2a_lock_task_for_delete", "a2a_delete_task_push_configs"


@dataclass(frozen=True)
class Fault:
    """apply : to the store in a schema. found : code to a text that stands in its place or detail. alone : not beside others.

    low : codes of which nothing graver than low is told, for one reason or the other.
    """

    name: str
    base: str
    apply: Callable[[Con, str], None]
    found: Mapping[str, str]
    alone: bool = False
    low: frozenset[str] = frozenset()


FAULTS: list[Fault] = []
LOW = frozenset({"D05", "D18", "D19", "D22", "D23", "M07"})


def by_sql(
    name: str,
    found: Mapping[str, str],
    *statements: str,
    base: str = "v4",
    alone: bool = False,
    low: Collection[str] = LOW,
) -> None:
    """`{s}` in a statement is the schema."""

    def apply(con: Con, schema: str) -> None:
        for statement in statements:
            con.execute(statement.replace("{s}", schema).encode())

    by_rows(name, found, apply, base=base, alone=alone, low=low)


def by_rows(
    name: str,
    found: Mapping[str, str],
    apply: Callable[[Con, str], None],
    *,
    base: str = "v4",
    alone: bool = False,
    low: Collection[str] = LOW,
) -> None:
    FAULTS.append(Fault(name, base, apply, found, alone, frozenset(low) & found.keys()))


def task(con: Con, s: str, n: int, *, state: int | None = None, moment: Any = 0, **words: Any) -> None:
    """Write task number n anew, columns and payload alike but for what is given; `id` and `context` are of the payload alone."""
    ((i, c, st, sec, nan),) = con.execute(
        f"SELECT id, context_id, state, status_seconds, status_nanos FROM {s}.{T} WHERE created_sequence = {n}".encode()
    ).fetchall()
    st, (sec, nan) = st if state is None else state, (sec, nan) if moment == 0 else moment or (0, 0)
    body = payload.task(
        words.pop("id", i), words.pop("context", c), st, moment if moment is None else (sec, nan), **words
    )
    con.execute(
        f"UPDATE {s}.{T} SET state = %s, status_seconds = %s, status_nanos = %s, task_proto = %s WHERE created_sequence = {n}".encode(),
        (st, sec, nan, body),
    )


def config(con: Con, s: str, n: int, url: str = "https://hooks.example.com/x", **words: Any) -> None:
    """Write configuration number n anew, columns and payload alike."""
    ((t, c),) = con.execute(f"SELECT task_id, config_id FROM {s}.{P} WHERE created_sequence = {n}".encode()).fetchall()
    con.execute(
        f"UPDATE {s}.{P} SET url = %s, config_proto = %s WHERE created_sequence = {n}".encode(),
        (url, payload.config(t, c, url, **words)),
    )


def helpers(generation: int, *only: str, **words: Any) -> Callable[[Con, str], None]:
    """Install our helpers of a generation again."""

    def apply(con: Con, s: str) -> None:
        place = words.get("of", s)
        for statement in a2a_helpers.helpers(
            place, generation, only=only or (PUSH, LOCK, CLEAN), quoted=words.get("quoted", False)
        ):
            con.execute(statement)

    return apply


def foreign_cleanup(con: Con, s: str) -> None:
    """The cleanup as it is after a copied or renamed schema: its body names the old one."""
    for statement in a2a_helpers.helpers("v4", 14, only=(CLEAN,)):
        text = statement.as_string(con).replace(f'FUNCTION "v4"."{CLEAN}"', f'FUNCTION "{s}"."{CLEAN}"')
        con.execute(text.encode())


def first_shape_with_migration(con: Con, s: str) -> None:
    """The manual's migration over the first shape: what it adds, and nothing of what the shape lacks."""
    con.execute(f"ALTER TABLE {s}.{P} ADD COLUMN local_postgres_task boolean NOT NULL DEFAULT false".encode())
    con.execute(f"DROP INDEX {s}.idx_a2a_push_configs_task".encode())
    for statement in (*a2a_helpers.helpers(s, 14), *a2a_helpers.triggers(s, 14)):
        con.execute(statement)
    for name in (PUSH + "(text)", LOCK + "()", CLEAN + "()"):
        con.execute(f"ALTER FUNCTION {s}.{name} OWNER TO a2a_owner".encode())
    con.execute(f"GRANT EXECUTE ON FUNCTION {s}.{PUSH} TO a2a_service".encode())


def gone_task(con: Con, s: str) -> None:
    """Delete a task that has configurations as a replica would: no trigger fires."""
    con.execute(b"SET session_replication_role = replica")
    con.execute(
        f"DELETE FROM {s}.{T} WHERE id = (SELECT task_id FROM {s}.{P} WHERE local_postgres_task ORDER BY created_sequence DESC LIMIT 1)".encode()
    )
    con.execute(b"SET session_replication_role = origin")


def many_configs(con: Con, s: str) -> None:
    ((task_id,),) = con.execute(f"SELECT id FROM {s}.{T} WHERE created_sequence = 30".encode()).fetchall()
    for n in range(101):
        url = f"https://many.example.com/{n}"
        con.execute(
            f"INSERT INTO {s}.{P} (task_id, config_id, url, config_proto, local_postgres_task, updated_at) "
            "VALUES (%s, %s, %s, %s, true, '2023-11-20')".encode(),
            (task_id, f"many{n}", url, payload.config(task_id, f"many{n}", url)),
        )


def old_config(con: Con, s: str) -> None:
    ((t, c, u),) = con.execute(
        f"SELECT task_id, config_id, url FROM {s}.{P} WHERE created_sequence = 9".encode()
    ).fetchall()
    con.execute(
        f"UPDATE {s}.{P} SET config_proto = %s WHERE created_sequence = 9".encode(), (payload.old_config(t, c, u),)
    )


def tenants(con: Con, s: str) -> None:
    config(con, s, 10, tenant="one")
    config(con, s, 11, tenant="two")


_NEW = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$ BEGIN {} END $$"

# ---- identity and migration
by_sql("column added", {"G03": "note"}, f"ALTER TABLE {{s}}.{T} ADD COLUMN note text")
by_sql(
    "column type",
    {"G03": "context_id"},
    f"ALTER TABLE {{s}}.{T} ALTER COLUMN context_id TYPE varchar(36)",
    base="legacy",
)
by_sql("primary key gone", {"G03": "id"}, f"ALTER TABLE {{s}}.{T} DROP CONSTRAINT a2a_tasks_pkey", base="sequence")
by_sql("revision dropped", {"G04": "v1 or later"}, f"ALTER TABLE {{s}}.{T} DROP COLUMN revision", alone=True)
by_rows("migration over the first shape", {"G04": "first shape", "M09": "missing", "M08": "other columns", "D02": "not local"},
        first_shape_with_migration, base="first")  # fmt: skip
by_sql("child table", {"G06": "inheritance"}, f"CREATE TABLE {{s}}.child () INHERITS ({{s}}.{P})")
by_sql(
    "deletes do nothing",
    {"G06": "1 rewrite rule"},
    f"CREATE RULE keep AS ON DELETE TO {{s}}.{T} DO INSTEAD NOTHING",
    base="legacy",
)
by_sql("unlogged", {"G07": T}, f"ALTER TABLE {{s}}.{T} SET UNLOGGED", base="v3b")
by_sql("provenance may be null", {"M01": "NULL"}, f"ALTER TABLE {{s}}.{P} ALTER local_postgres_task DROP NOT NULL")
by_sql(
    "provenance true by default",
    {"M01": "true"},
    f"ALTER TABLE {{s}}.{P} ALTER local_postgres_task SET DEFAULT true",
    base="v1",
)
by_sql("provenance dropped", {"M01": "missing"}, f"ALTER TABLE {{s}}.{P} DROP COLUMN local_postgres_task", base="v2")
by_sql(
    "foreign key",
    {"M02": "back"},
    f"ALTER TABLE {{s}}.{P} ADD CONSTRAINT back FOREIGN KEY (task_id) REFERENCES {{s}}.{T} (id) NOT VALID",
)
by_sql("no delete trigger", {"M03": CLEAN + "_trigger"}, f"DROP TRIGGER {CLEAN}_trigger ON {{s}}.{T}")
by_sql("no delete lock", {"M03": LOCK}, f"DROP FUNCTION {{s}}.{LOCK}() CASCADE", base="v3b", alone=True)
by_sql("no triggers at all", {"M03": "truncate"}, *(f"DROP TRIGGER {name} ON {{s}}.{T}" for name in (
    f"{CLEAN}_trigger", f"{LOCK}_trigger", "a2a_truncate_task_push_configs_trigger")), base="v4", alone=True)  # fmt: skip
by_sql("comment gone", {"M04": "no marker"}, f"COMMENT ON FUNCTION {{s}}.{CLEAN}() IS NULL")
by_sql(
    "another comment", {"M04": "another comment"}, f"COMMENT ON FUNCTION {{s}}.{CLEAN}() IS 'secret words'", base="v3b"
)
by_sql("restored without comments", {"M04": "no marker"}, *(f"COMMENT ON FUNCTION {{s}}.{name} IS NULL" for name in (
    f"{CLEAN}()", f"{LOCK}()", f"{PUSH}(text)")), alone=True)  # fmt: skip
by_rows("older process came back", {"M04": "marked as v3"}, helpers(13), alone=True)
by_sql(
    "delete lock does nothing",
    {"M05": LOCK},
    f"CREATE OR REPLACE FUNCTION {{s}}.{LOCK}() RETURNS trigger {_NEW.format('RETURN OLD;')}",
)
by_sql(
    "cleanup does nothing",
    {"M05": CLEAN},
    f"CREATE OR REPLACE FUNCTION {{s}}.{CLEAN}() RETURNS trigger {_NEW.format('RETURN OLD;')}",
    base="v1",
)
by_sql(
    "push lock says yes",
    {"M05": PUSH},
    f"CREATE OR REPLACE FUNCTION {{s}}.{PUSH}(requested_task_id text) RETURNS boolean {_NEW.format('RETURN true;')}",
    base="v2",
)
by_sql(
    "old index", {"M07": "idx_a2a_push_configs_task"}, f"CREATE INDEX idx_a2a_push_configs_task ON {{s}}.{P} (task_id)"
)
by_sql("descending index", {"M08": "idx_a2a_tasks_state"}, "DROP INDEX {s}.idx_a2a_tasks_state",
       f"CREATE INDEX idx_a2a_tasks_state ON {{s}}.{T} (state, status_seconds DESC)")  # fmt: skip
by_sql(
    "index of the first shape",
    {"M08": "idx_a2a_tasks_updated"},
    f"CREATE INDEX idx_a2a_tasks_updated ON {{s}}.{T} (status_seconds)",
    base="legacy",
)
# The initialiser makes a missing index at the next start; one of other columns it keeps.
by_sql("index gone", {"M08": "not there"}, "DROP INDEX {s}.idx_a2a_tasks_context", base="sequence", low=["M08"])
by_sql(
    "no sequence default",
    {"M09": "created_sequence"},
    f"ALTER TABLE {{s}}.{P} ALTER created_sequence DROP DEFAULT",
    base="v1",
)
by_sql("sequence downwards", {"M09": "counts by -1"},
       "ALTER SEQUENCE {s}.a2a_tasks_created_sequence INCREMENT BY -1 MINVALUE -100", base="v3b")  # fmt: skip
by_sql("another sequence", {"M09": "a2a_tasks_created_sequence"}, "CREATE SEQUENCE {s}.mine",
       f"ALTER TABLE {{s}}.{T} ALTER created_sequence SET DEFAULT nextval('{{s}}.mine')", base="legacy")  # fmt: skip
by_sql(
    "overload",
    {"M10": "integer"},
    f"CREATE FUNCTION {{s}}.{PUSH}(i integer) RETURNS boolean {_NEW.format('RETURN true;')}",
)
by_rows("copied schema", {"M11": "its body names schema v4", "M05": CLEAN}, foreign_cleanup, base="v4", alone=True)
by_sql("trigger into another schema", {"M11": "calls it in schema v4", "M05": LOCK, "L04": "with v4"}, f"DROP TRIGGER {LOCK}_trigger ON {{s}}.{T}",
       f"CREATE TRIGGER {LOCK}_trigger BEFORE DELETE ON {{s}}.{T} FOR EACH ROW EXECUTE FUNCTION v4.{LOCK}()", alone=True)  # fmt: skip

# ---- functions, triggers, rights
by_sql("caller's rights", {"F01": PUSH}, f"ALTER FUNCTION {{s}}.{PUSH}(text) SECURITY INVOKER")
by_sql("stable", {"F02": "stable"}, f"ALTER FUNCTION {{s}}.{PUSH}(text) STABLE")
by_sql("further setting", {"F03": "work_mem"}, f"ALTER FUNCTION {{s}}.{LOCK}() SET work_mem = '8MB'")
by_sql("no search path", {"F03": "none"}, f"ALTER FUNCTION {{s}}.{CLEAN}() RESET search_path", base="v1")
by_sql("public executes", {"F04": LOCK}, f"GRANT EXECUTE ON FUNCTION {{s}}.{LOCK}() TO PUBLIC")
by_sql("restored without privileges", {"F04": CLEAN}, f"GRANT EXECUTE ON FUNCTION {{s}}.{CLEAN}() TO PUBLIC", base="v2")  # fmt: skip
by_sql("poor owner of the push lock", {"F05": "no SELECT"}, f"ALTER FUNCTION {{s}}.{PUSH}(text) OWNER TO a2a_poor")
by_sql("poor owner of the cleanup", {"F06": "no DELETE"}, f"ALTER FUNCTION {{s}}.{CLEAN}() OWNER TO a2a_poor")
by_sql("poor owner of the delete lock", {"F07": "USAGE"}, f"ALTER FUNCTION {{s}}.{LOCK}() OWNER TO a2a_poor")
by_sql(
    "cleanup filtered",
    {"F08": "row-level"},
    f"ALTER TABLE {{s}}.{P} ENABLE ROW LEVEL SECURITY",
    f"ALTER TABLE {{s}}.{P} FORCE ROW LEVEL SECURITY",
    base="v3b",
)
by_sql("trigger with a condition", {"F10": "condition"}, f"DROP TRIGGER {LOCK}_trigger ON {{s}}.{T}",
       f"CREATE TRIGGER {LOCK}_trigger BEFORE DELETE ON {{s}}.{T} FOR EACH ROW WHEN (OLD.state > 3) EXECUTE FUNCTION {{s}}.{LOCK}()")  # fmt: skip
by_sql("trigger at another moment", {"F10": "type"}, f"DROP TRIGGER {CLEAN}_trigger ON {{s}}.{T}",
       f"CREATE TRIGGER {CLEAN}_trigger BEFORE DELETE ON {{s}}.{T} FOR EACH ROW EXECUTE FUNCTION {{s}}.{CLEAN}()", base="v2")  # fmt: skip
by_sql(
    "trigger disabled",
    {"F11": "disabled"},
    f"ALTER TABLE {{s}}.{T} DISABLE TRIGGER a2a_truncate_task_push_configs_trigger",
)
by_sql(
    "trigger for replicas",
    {"F11": "replicas"},
    f"ALTER TABLE {{s}}.{T} ENABLE REPLICA TRIGGER {CLEAN}_trigger",
    base="v1",
)
by_sql("a trigger before deletes", {"F12": "before delete"}, f"CREATE FUNCTION {{s}}.keep() RETURNS trigger {_NEW.format('RETURN NULL;')}",
       f"CREATE TRIGGER keep BEFORE DELETE ON {{s}}.{T} FOR EACH ROW EXECUTE FUNCTION {{s}}.keep()")  # fmt: skip
by_sql("a trigger before the cleanup", {"F12": "before delete"}, f"CREATE FUNCTION {{s}}.keep() RETURNS trigger {_NEW.format('RETURN NULL;')}",
       f"CREATE TRIGGER keep BEFORE DELETE ON {{s}}.{P} FOR EACH ROW EXECUTE FUNCTION {{s}}.keep()", base="v3b")  # fmt: skip
by_sql(
    "nobody creates",
    {"F13": "not log in", "F15": "EXECUTE"},
    f"REVOKE EXECUTE ON FUNCTION {{s}}.{PUSH}(text) FROM a2a_service",
    base="v2",
)
by_sql(
    "caller without select", {"F14": "a2a_poor"}, f"GRANT EXECUTE ON FUNCTION {{s}}.{PUSH}(text) TO a2a_poor", base="v1"
)
by_sql("service may not insert", {"F15": f"INSERT on {P}"}, f"REVOKE INSERT ON {{s}}.{P} FROM a2a_service")
by_sql("service may not use a sequence", {"F15": "USAGE on a2a_tasks_created_sequence"},
       "REVOKE USAGE ON SEQUENCE {s}.a2a_tasks_created_sequence FROM a2a_service", base="legacy")  # fmt: skip
by_sql("everybody reads secrets", {"F16": "PUBLIC", "S05": "token"}, f"GRANT SELECT ON {{s}}.{P} TO PUBLIC")
by_sql(
    "everybody reads one column",
    {"F16": "PUBLIC", "S05": "token"},
    f"GRANT SELECT (config_proto) ON {{s}}.{P} TO PUBLIC",
    base="v1",
)
by_sql("everybody creates", {"F17": "PUBLIC"}, "GRANT CREATE ON SCHEMA {s} TO PUBLIC")
by_sql("tasks filtered", {"F18": "on"}, f"ALTER TABLE {{s}}.{T} ENABLE ROW LEVEL SECURITY")

# ---- locks and settings
by_sql("serializable by default", {"L01": "role {s}_iso"}, "CREATE ROLE {s}_iso LOGIN", f"GRANT DELETE ON {{s}}.{T} TO {{s}}_iso",
       "ALTER ROLE {s}_iso SET default_transaction_isolation = 'Serializable'")  # fmt: skip
by_sql("replica by default", {"L02": "role in this database {s}_rep"}, "CREATE ROLE {s}_rep LOGIN", f"GRANT DELETE ON {{s}}.{T} TO {{s}}_rep",
       "ALTER ROLE {s}_rep IN DATABASE a2a SET session_replication_role = 'replica'")  # fmt: skip
by_sql("half published", {"L03": "only the tasks"}, f"CREATE PUBLICATION half_{{s}} FOR TABLE {{s}}.{T}")
by_rows("two spellings of the key", {"L04": "a2a_tasks"}, helpers(13, LOCK, quoted=True), base="v3b")

# ---- rows
by_rows("orphan", {"D01": "without their task"}, gone_task)
by_sql(
    "provenance lost",
    {"D02": "1 configuration"},
    f"UPDATE {{s}}.{P} SET local_postgres_task = false WHERE created_sequence = 1",
)
by_sql("unknown state", {"D04": "99", "D08": "state 99"}, f"UPDATE {{s}}.{T} SET state = 99 WHERE created_sequence = 1")
by_rows("no state", {"D05": "0"}, lambda c, s: task(c, s, 2, state=0))
by_sql(
    "task cut short", {"D06": "ends inside"}, f"UPDATE {{s}}.{T} SET task_proto = '\\x0aff' WHERE created_sequence = 3"
)
by_sql(
    "config no message",
    {"D06": "UTF-8"},
    f"UPDATE {{s}}.{P} SET config_proto = '\\x0a01ff' WHERE created_sequence = 3",
    base="v1",
)
by_rows("payload of another", {"D07": "other"}, lambda c, s: task(c, s, 4, id="other"))
by_sql(
    "context changed",
    {"D08": "context_id"},
    f"UPDATE {{s}}.{T} SET context_id = 'x' WHERE created_sequence = 5",
    base="legacy",
)
by_sql(
    "nanos changed",
    {"D09": "status time"},
    f"UPDATE {{s}}.{T} SET status_nanos = (status_nanos + 1) % 1000 WHERE created_sequence = 6",
)
by_sql(
    "time lost",
    {"D09": "0.0"},
    f"UPDATE {{s}}.{T} SET has_status_timestamp = false, status_seconds = 0, status_nanos = 0 WHERE created_sequence = 6",
    base="v2",
)
by_sql(
    "seconds changed in the first shape",
    {"D09": "status time"},
    f"UPDATE {{s}}.{T} SET status_seconds = status_seconds - 5",
    base="first",
)
by_sql(
    "upgraded from the first shape",
    {"D10": "40 task"},
    f"UPDATE {{s}}.{T} SET has_status_timestamp = false",
    base="sequence",
)
by_sql(
    "time not marked",
    {"D10": "1 task"},
    f"UPDATE {{s}}.{T} SET has_status_timestamp = false WHERE created_sequence = 7",
)
by_rows("year 2100", {"D11": "4102444800"}, lambda c, s: task(c, s, 8, moment=(4102444800, 1)))
by_rows("negative nanoseconds", {"D11": "-5"}, lambda c, s: task(c, s, 8, moment=(1699999999, -5)), base="legacy")
by_sql(
    "url changed", {"D12": "url"}, f"UPDATE {{s}}.{P} SET url = 'https://other.example.com' WHERE created_sequence = 4"
)
by_sql(
    "config of another",
    {"D12": "id"},
    f"UPDATE {{s}}.{P} SET config_id = 'moved' WHERE created_sequence = 4",
    base="legacy",
)
by_sql("sequence twice", {"D13": "2 rows"}, f"UPDATE {{s}}.{T} SET created_sequence = 12 WHERE created_sequence = 13")
by_sql("sequence behind", {"D14": "the sequence is at 5,"}, "SELECT setval('{s}.a2a_tasks_created_sequence', 5)")
by_sql(
    "sequence not called",
    {"D14": "not yet given"},
    "SELECT setval('{s}.a2a_tasks_created_sequence', 40, false)",
    base="legacy",
)
by_sql("revision 0", {"D15": "revision 0"}, f"UPDATE {{s}}.{T} SET revision = 0 WHERE created_sequence = 14")
by_rows("no url", {"D16": "url"}, lambda c, s: config(c, s, 5, url=""))
by_rows("fan-out", {"D18": "configurations"}, many_configs)
by_rows("stuck", {"D19": "not written"}, lambda c, s: (
    task(c, s, 15, state=2), c.execute(f"UPDATE {s}.{T} SET updated_at = '2023-01-01' WHERE created_sequence = 15".encode()), None)[-1])  # fmt: skip
by_rows(
    "artifact twice", {"D20": "artifact id"}, lambda c, s: task(c, s, 16, artifacts=[payload.artifact("a", "x")] * 2)
)
by_rows(
    "message twice",
    {"D20": "message id"},
    lambda c, s: task(c, s, 16, history=[payload.said("m", "x")] * 2),
    base="legacy",
    # Without deduplication a retried append is kept: legal.
    low=["D20"],
)
by_rows(
    "mixed up", {"D21": "1 message"}, lambda c, s: task(c, s, 17, history=[payload.said("m", "x", task_id="other")])
)
by_rows(
    "status of another",
    {"D21": "1 message"},
    lambda c, s: task(c, s, 17, status_message=payload.said("m", "x", context_id="other")),
    base="legacy",
)
by_rows("two tenants", {"D22": "2 tenants"}, tenants)
by_sql(
    "written tomorrow",
    {"D23": "seconds after"},
    f"UPDATE {{s}}.{T} SET updated_at = '2030-01-01' WHERE created_sequence = 18",
)
by_sql(
    "written for ever",
    {"D23": "seconds after"},
    f"UPDATE {{s}}.{P} SET updated_at = 'infinity' WHERE created_sequence = 18",
    base="v3b",
)
by_rows("old numbering", {"D25": "endpoint"}, old_config)

# ---- callbacks
by_rows(
    "credentials over http",
    {"S01": "1 of them"},
    lambda c, s: config(c, s, 6, "http://plain.example.com/x", scheme="Bearer", credentials="hunter2"),
)
by_rows("not http", {"S02": "ftp"}, lambda c, s: config(c, s, 7, "ftp://files.example.com/x"))
by_rows("no url at all", {"S02": "unreadable"}, lambda c, s: config(c, s, 7, "call me, hunter2"), base="legacy")
by_rows("user in the url", {"S03": "user name"}, lambda c, s: config(c, s, 8, "https://me:hunter2@user.example.com/x"))
by_rows(
    "secret in the query",
    {"S03": "parameter"},
    lambda c, s: config(c, s, 8, "https://query.example.com/x?api_key=hunter2"),
    base="legacy",
)
by_rows("metadata service", {"S04": "metadata"}, lambda c, s: config(c, s, 12, "https://169.254.169.254/latest"))
by_rows("password in clear", {"S07": "basic.example.com", "S01": "1 of them"},
        lambda c, s: config(c, s, 6, "http://basic.example.com/", scheme="Basic", credentials="hunter2"), base="v1")  # fmt: skip

assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def batches() -> list[list[Fault]]:
    """Faults that can stand in one store: of one base, and no two with a code in common. Each code then has one cause."""
    made: list[list[Fault]] = []
    for fault in FAULTS:
        for batch in made:
            used = {code for each in batch for code in each.found}
            if not fault.alone and not batch[0].alone and batch[0].base == fault.base and not used & fault.found.keys():
                batch.append(fault)
                break
        else:
            made.append([fault])
    return made
