"""What a notebook shows of room: how large the store is, what comes in a day, and when its disk is full at this rate."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting.markup import Block, nothing, plain_table, table, text
from busbar_audit.reporting.retention import other_family
from busbar_audit.reporting.sections import as_of

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session
    from busbar_audit.store import Store

_SERVER = "the store is on a server, whose disk cannot be asked: ask the server"


def room(store: Store) -> dict[str, Any]:
    """Free bytes of the disk that a store is on now: ``free``, or None with the reason as ``why``."""
    path = store.target.path
    if path is None:
        return {"free": None, "why": _SERVER}
    try:
        return {"free": shutil.disk_usage(path.parent if path.is_file() else path).free, "why": ""}
    except OSError as error:
        return {"free": None, "why": f"the disk cannot be asked: {error.strerror}"}


def disk(session: Session) -> Block:
    """Sizes of the store's files in bytes, bytes that come in a day, and the days until the disk is full.

    A day's bytes are its chained records times what such a record takes of the file, all tables and indexes counted in.
    """
    if other := other_family(session, "growth"):
        return other
    source = session.document["snapshot"].get("source")
    asked = (session.purges or {}).get("disk")
    free = None if asked is None else asked["free"]
    why = "this run did not ask for the room on the disk" if asked is None else asked["why"]
    if source is None:
        said = f"When the disk is full cannot be told: {why}."
        return Block(nothing(text(said, 400)), said)
    found = session.rows(session.figure("retention_growth"), {"as_of": as_of(session)})
    held, a_day = sum(int(r["held"]) for r in found), sum(float(r["a_day"]) for r in found)
    size = int(source["main_bytes"])
    grows = size / held * a_day if held else 0.0
    rows = [
        ("database file, bytes", f"{size:,}"),
        ("write-ahead log (-wal), bytes", f"{int(source['wal_bytes'] or 0):,}"),
        ("chained records", f"{held:,}"),
        ("bytes of the file a chained record", f"{size / held:,.0f}" if held else "none is held"),
        ("grows by, bytes a day", f"{grows:,.0f}" if held else "not known"),
        ("free on its disk, bytes", f"not known: {why}" if free is None else f"{free:,}"),
        ("full in, days", _days(free, grows)),
    ]
    columns = ("what", "value")
    note = (
        '<p class="ba-note">At the rate of the last 14 days, if nothing is purged and nothing else writes to that disk. '
        "A purge leaves free pages that later records take; the file itself does not get smaller. The log grows while a "
        "reader holds it.</p>"
    )
    cells = [[text(name), text(value, 300)] for name, value in rows]
    return Block(table("Room", columns, cells, numeric=columns[1:]) + note, plain_table(columns, rows))


def _days(free: int | None, grows: float) -> str:
    if free is None:
        return "not known"
    return "not at this rate: nothing came" if grows <= 0 else f"{free / grows:,.0f}"
