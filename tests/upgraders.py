"""Small upgraders of our own, right and wrong, for `rehearse --upgrade --command`: `python -S upgraders.py KIND COPY AFTER`.

AFTER is a store as the upgrade should leave it; the right one puts its tables into the copy, in one transaction.
"""

import contextlib
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys
import time

kind, copy, after = sys.argv[1:4]


def right(con):
    con.execute("ATTACH ? AS made", (after,))
    con.execute("BEGIN IMMEDIATE")
    if con.execute("PRAGMA main.user_version").fetchone()[0] < 10:
        for what, name in con.execute(
            "SELECT type, name FROM main.sqlite_master WHERE type IN ('trigger', 'table') AND name NOT LIKE 'sqlite_%'"
            " ORDER BY type DESC"
        ).fetchall():
            con.execute(f"DROP {what} {name}")
        rows = con.execute(
            "SELECT type, name, sql FROM made.sqlite_master WHERE sql NOT NULL ORDER BY type = 'trigger'"
        )
        for what, name, made in rows.fetchall():
            if not name.startswith("sqlite_"):
                con.execute(made)
                if what == "table":
                    con.execute(f"INSERT INTO main.{name} SELECT * FROM made.{name}")
        con.execute("PRAGMA main.user_version = 10")
    con.execute("COMMIT")


def torn(con):
    """Two transactions, and the second one does not know of the first: only a kill between them shows it."""
    if con.execute("SELECT 1 FROM sqlite_master WHERE name = 'on_the_way'").fetchone():
        return  # takes what it finds for done
    if con.execute("PRAGMA user_version").fetchone()[0] < 10:
        con.execute("CREATE TABLE on_the_way (x)")
        time.sleep(0.5)
        con.execute("DROP TABLE on_the_way")
    right(con)


con = sqlite3.connect(copy, isolation_level=None)
con.execute("PRAGMA trusted_schema = ON")
if kind == "hangs":
    time.sleep(60)
elif kind == "fails":
    sys.exit(7)
elif kind == "full":
    # A disk on which no file grows any more, for this process: SQLite's own write fails in the middle of the upgrade.
    limit = pathlib.Path(copy).stat().st_size
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    con.execute("PRAGMA cache_size = 5")
    con.execute("BEGIN")
    con.execute("CREATE TABLE filler AS SELECT zeroblob(100000) FROM sqlite_master")
    con.execute("COMMIT")
    right(con)
elif kind == "never commits":
    con.execute("BEGIN IMMEDIATE")
    con.execute("PRAGMA user_version = 10")
    con.execute("DROP TABLE tasks")
    os._exit(0)
elif kind == "stamps down":
    con.execute("PRAGMA user_version = 6")
elif kind == "leaves a file":
    right(con)
    pathlib.Path(copy + ".bak").write_bytes(b"x")
elif kind == "stays":
    right(con)
    # Out of the session, its parent gone: only what it inherited tells whose it is.
    subprocess.Popen(
        ["sleep", "60"],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
elif kind == "again":
    right(con)
    con.execute("UPDATE store_revision SET revision = revision + 1")
elif kind == "torn":
    torn(con)
elif kind == "slow":
    if con.execute("PRAGMA user_version").fetchone()[0] < 10:
        time.sleep(0.3)
    right(con)
else:
    right(con)
    for statement in sys.argv[4:]:
        con.execute(statement)
with contextlib.suppress(sqlite3.Error):
    con.close()
