"""The upgrade of a PostgreSQL store on a restored copy: every path, faults each caught by their own invariant, kills."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support_cli import called
from support_postgres import Server

from busbar_audit.errors import UsageError
from busbar_audit.rehearsal.upgrade_pg import rehearse_upgrade_pg
from busbar_audit.rehearsal.upgrade_pg_emulation import emulate, plan
from busbar_audit.rehearsal.upgrade_pg_rows import Before, compare_pg
from busbar_audit.rehearsal.upgrade_result import Upgrade
from busbar_audit.synth.busbar_pg import write_busbar_pg
from busbar_audit.target import parse_target

SIZES = {"seed": 1, "calls": 12, "tasks": 3, "audits": 6, "days": 2, "principals": 2}
STRANDED = {"mcp_calls": 2, "tasks": 1, "task_events": 3, "mcp_demotions": 1, "spent_ask_states": 1}


@pytest.fixture(scope="module")
def server(postgres: Server) -> Server:
    """Databases gw5, gw6, gw9 and gw10: the fifth has requests that were never billed, the ninth the typed tables."""
    for generation in (6, 10):
        postgres.new(f"gw{generation}")
        write_busbar_pg(postgres.uri(f"gw{generation}"), "busbar", generation=generation, **SIZES)
    for name, statements in (
        (
            "gw5",
            [
                "UPDATE busbar_schema SET version = 5",
                "UPDATE usage_windows SET billable_requests = 0",
                "UPDATE usage_metering SET billable_requests = 0",
            ],
        ),
        (
            "gw9",
            ["INSERT INTO busbar_schema VALUES (9)"]
            + [f"CREATE TABLE {table} (id bigint PRIMARY KEY, body text)" for table in STRANDED]
            + [f"INSERT INTO {table} SELECT n, 'x' FROM generate_series(1, {n}) n" for table, n in STRANDED.items()],
        ),
    ):
        made = postgres.copy_of("gw6")
        with postgres.connect("postgres") as con:
            con.execute(f"ALTER DATABASE {made} RENAME TO {name}".encode())
        postgres.run(name, *statements)
    return postgres


def _rehearsed(server: Server, name: str, command: str | None = None, **options: object) -> Upgrade:
    copy = server.copy_of(name)
    return rehearse_upgrade_pg(parse_target(server.uri(name)), parse_target(server.uri(copy)), command, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "to"), [(5, 10), (5, 11), (6, 10), (6, 11), (10, 11)])
def test_every_path_keeps_everything(before: int, to: int, server: Server) -> None:
    found = _rehearsed(server, f"gw{before}", to=to)
    assert (found.broken, found.warnings, found.unsure) == ([], [], [])
    assert (found.before, found.after, found.upgrader, found.exit_code) == (before, to, "our emulation", 0)
    assert len(found.ran) == 2
    assert min(found.compared[name] for name in ("keys", "audit_log", "usage_windows", "usage_metering")) > 0
    if before == 5:
        told = {line.what: (line.predicted, line.done) for line in found.foretold}
        windows, metering = told.values()
        assert windows[0] == windows[1] > 0
        # The other half of the backfill is not done on this engine.
        assert metering[0] == metering[1] > 0


@pytest.mark.parametrize("to", [10, 11])
def test_work_of_a_development_generation_is_stranded_and_told(to: int, server: Server) -> None:
    found = _rehearsed(server, "gw9", to=to)
    assert (found.broken, found.unsure, found.exit_code) == ([], [], 1)
    assert sorted(found.warnings) == sorted(
        f"R16 {rows} rows that stay and that the new gateway does not read, of {table}"
        for table, rows in STRANDED.items()
    )
    assert "chains (of a development generation)" in found.not_compared


WRONG = [
    ("UPDATE keys SET name = 'x' WHERE id = (SELECT min(id) FROM keys)", "R3 keys"),
    ("UPDATE keys SET minted_by = 'x' WHERE id = (SELECT min(id) FROM keys)", "R3 keys"),
    ("ALTER TABLE keys DROP COLUMN labels", "R3 keys, R12 keys"),
    ("DELETE FROM credentials", "R3 credentials"),
    ("INSERT INTO denylist VALUES ('one more')", "R3 denylist"),
    ("UPDATE audit_log SET principal = 'x' WHERE seq = 1", "R3 audit_log"),
    ("DELETE FROM audit_log WHERE seq = 1", "R3 audit_log"),
    ("UPDATE store_revision SET revision = revision + 1", "R3 store_revision"),
    ("UPDATE usage_windows SET billable_requests = billable_requests + 1 WHERE requests > 0", "R4 usage_windows"),
    ("UPDATE usage_windows SET billable_requests = 0", "R4 usage_windows, R4 windows whose requests become billable"),
    ("DELETE FROM usage_ledger", "R4 usage_ledger"),
    ("UPDATE usage_metering SET tokens_input = tokens_input + 1", "R5 usage_metering"),
    ("UPDATE usage_metering SET billable_requests = requests",
     "R5 usage_metering, R5 metering rows whose requests stay unbilled on this engine"),
    ("UPDATE usage_metering SET priced_from_ms = 5", "R5 usage_metering"),
    ("INSERT INTO plane_tokens VALUES ('ask', 'one more', 1)", "R6 plane_tokens"),
    ("DROP INDEX idx_keys_revision", "R12 keys"),
    ("DROP TABLE plane_chain", "R12 plane_chain"),
    ("DROP TABLE denylist", "R3 denylist, R12 denylist"),
    ("ALTER TABLE usage_metering DROP CONSTRAINT usage_metering_pkey", "R12 usage_metering"),
    ("DELETE FROM busbar_schema WHERE version = 10", "R2 busbar_schema"),
    ("INSERT INTO busbar_schema VALUES (11)", "*"),
]  # fmt: skip


@pytest.fixture(scope="module")
def upgraded(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[psycopg.Connection, Before]]:
    """The fifth as a right upgrade to 10 leaves it, and what it was; each wrong one is rolled back again."""
    with server.connect(server.copy_of("gw5")) as con:
        was = Before.read(con, "busbar", tmp_path_factory.mktemp("pg") / "before.db", 10)
        emulate(con, "busbar", 10)
        con.execute("SET search_path TO busbar")
        yield con, was


@pytest.mark.parametrize(("statement", "codes"), WRONG)
def test_each_wrong_upgrade_breaks_its_invariant_alone(
    statement: str, codes: str, upgraded: tuple[psycopg.Connection, Before]
) -> None:
    con, was = upgraded
    found = Upgrade(5)
    with con.transaction(force_rollback=True):
        con.execute(statement.encode())
        compare_pg(found, con, "busbar", was, 10)
    seen = {f"{b.rule} {b.subject}" for b in found.broken}
    if codes == "*":
        assert {each for each in seen if not each.startswith("R12")} == {"R2 busbar_schema"}
    else:
        assert seen == set(codes.split(", ")), found.broken


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("UPDATE tasks SET body = 'y'", {"R16 tasks"}),
        (
            "DELETE FROM mcp_calls",
            {"R16 mcp_calls", "R16 rows that stay and that the new gateway does not read, of mcp_calls"},
        ),
        ("ALTER TABLE task_events DROP COLUMN body", {"R16 task_events"}),
    ],
)
def test_typed_tables_have_to_stay_as_they_are(statement: str, codes: set[str], server: Server, tmp_path: Path) -> None:
    found = Upgrade(9)
    with server.connect("gw9") as con, con.transaction(force_rollback=True):
        was = Before.read(con, "busbar", tmp_path / "before.db", 10)
        for each in plan(con, "busbar", 10):
            con.execute(each)
        con.execute("SET LOCAL search_path TO busbar")
        con.execute(statement.encode())
        compare_pg(found, con, "busbar", was, 10)
    assert {f"{b.rule} {b.subject}" for b in found.broken} == codes


def test_what_a_command_leaves_on_the_copy_is_ended(server: Server, tmp_path: Path) -> None:
    """A command that hangs in a transaction of its own: its lock would hold up every reader."""
    script = tmp_path / "hang.py"
    script.write_text(
        "import subprocess, sys, time, psycopg\n"
        "con = psycopg.connect(sys.argv[1])\ncon.execute('LOCK TABLE busbar.keys')\n"
        "if sys.argv[2] == 'child':\n    time.sleep(60)\n"
        "con.close()\n"
        "subprocess.Popen([sys.executable, __file__, sys.argv[1], 'child'], start_new_session=True)\n"
        "time.sleep(60 if sys.argv[2] == 'hang' else 0.7)\n"
    )
    words = f"{shlex.quote(sys.executable)} {script} {{dsn}}"
    for how, ended in (("hang", "stopped at its timeout"), ("parent", "")):
        found = _rehearsed(server, "gw6", f"{words} {how}", to=10, timeout=4)
        assert ended in " ".join(b.what for b in found.broken)
        assert ("R2", "busbar_schema") in {(b.rule, b.subject) for b in found.broken}
        assert any("process(es) running, which were killed: python" in each for each in found.unsure), found.unsure


def test_kills_are_rolled_back(server: Server) -> None:
    found = _rehearsed(server, "gw5", to=11, kills=50)
    assert (found.broken, found.exit_code, len(found.kills)) == ([], 0, 50)
    assert {kill.found for kill in found.kills} == {"rolled back"}
    assert len({kill.moment for kill in found.kills}) > 20


# A migrator of an operator: a file of SQL, run once; psycopg is all that it loads.
MIGRATOR = """
import sys, psycopg
with psycopg.connect(sys.argv[1]) as con:
    if con.execute("SELECT max(version) FROM busbar.busbar_schema").fetchone() < (10,):
        con.execute(open(sys.argv[2]).read())
    for statement in sys.argv[3:]:
        con.execute(statement)
"""


def test_an_operators_command_is_held_against_before(server: Server, tmp_path: Path) -> None:
    script, migration = tmp_path / "migrate.py", tmp_path / "v10.sql"
    script.write_text(MIGRATOR)
    with server.connect("gw6") as con:
        planned = plan(con, "busbar", 10)
        migration.write_text(";".join(s.decode() if isinstance(s, bytes) else s.as_string(con) for s in planned))
    words = f"{shlex.quote(sys.executable)} {script} {{dsn}} {migration}"
    where = ("--copy", server.uri(server.copy_of("gw6")), "--command", words, "--to", 10)
    done = called("rehearse", server.uri("gw6"), "--upgrade", *where, "--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert json.loads(done.stdout)["upgrader"] == "the operator's command"
    faults = '"DELETE FROM busbar.denylist" "DELETE FROM busbar.audit_log WHERE seq > 4"'
    wrong = _rehearsed(server, "gw6", f"{words} {faults}", to=10)
    assert {f"{b.rule} {b.subject}" for b in wrong.broken} == {"R3 denylist", "R3 audit_log", "R15 audit_log audit_log"}
    again = _rehearsed(server, "gw6", f'{words} "UPDATE busbar.store_revision SET revision = revision + 1"', to=10)
    assert {f"{b.rule} {b.subject}" for b in again.broken} == {"R3 store_revision", "R13 a second run"}
    nothing = _rehearsed(server, "gw6", "true {dsn}", to=10, kills=2)
    assert {b.rule for b in nothing.broken} == {"R2"}
    assert [each for each in nothing.unsure if "not done" in each]


def test_a_password_is_handed_over_by_environment(server: Server) -> None:
    copy = server.copy_of("gw6")
    server.run("gw6", "CREATE ROLE upgrader LOGIN SUPERUSER")
    target = parse_target(server.uri(copy, "upgrader", "gehe/im"))
    words = 'sh -c "echo $PGPASSWORD, $BUSBAR_AUDIT_DSN, {dsn}; ps -o args= -p $$"'
    found = rehearse_upgrade_pg(parse_target(server.uri("gw6")), target, words, to=10, shell=True)
    assert "gehe" not in found.ran[0].output
    assert found.ran[0].output.startswith("***, ")
    assert "gehe" not in json.dumps(found.as_dict())


def test_a_copy_that_is_another_store_or_the_store_itself_is_refused(server: Server) -> None:
    store = parse_target(server.uri("gw6"))
    with pytest.raises(UsageError, match="the store itself is in"):
        rehearse_upgrade_pg(store, store, to=10)
    copy = server.copy_of("gw6")
    server.run(copy, "DELETE FROM denylist")
    found = rehearse_upgrade_pg(store, parse_target(server.uri(copy)), to=10)
    assert (found.exit_code, found.ran, found.unsure) == (
        3,
        [],
        ["nothing was run: the copy does not hold what the store holds"],
    )
    with pytest.raises(UsageError, match="A generation above its own"):
        _rehearsed(server, "gw10", to=10)
    with pytest.raises(UsageError, match="10 or 11"):
        _rehearsed(server, "gw10", to=12)
