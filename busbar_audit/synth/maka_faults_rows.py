"""Faults of legacy rows, of older stores, and of conversions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from busbar_audit.synth.maka import transcript_run
from busbar_audit.synth.maka_planting import (
    NEWER,
    WRITTEN_TWICE,
    Change,
    MakaFault,
    append,
    by_sql,
    edit,
    edit_row,
    on_event,
    on_row,
    remove,
    to,
    without,
)
from busbar_audit.transcript import js


def _rename_run(con: sqlite3.Connection, session: str) -> None:
    """Give a converted run an id that is not derived from its turn."""
    old = transcript_run(session, f"{session}-t1")
    new = f"transcript-{session}"
    for (event_id,) in con.execute("SELECT event_id FROM runtime_events WHERE run_id = ?", (old,)).fetchall():
        edit(con, event_id, to(runId=new, invocationId=new))
    con.execute("UPDATE runtime_events SET run_id = ?, invocation_id = ? WHERE run_id = ?", (new, new, old))


def _rename_event(con: sqlite3.Connection, session: str) -> None:
    """Give an event of a converted run a random id, as the early converters did."""
    old = transcript_run(session, f"{session}-t1") + "-e2"
    new = f"random-{session}"
    edit(con, old, to(id=new))
    con.execute("UPDATE runtime_events SET event_id = ? WHERE event_id = ?", (new, old))
    con.execute("UPDATE runtime_session_event_ordinals SET event_id = ? WHERE event_id = ?", (new, old))


def _run_event(k: int, tail: str, change: Change) -> Callable[[sqlite3.Connection, str], None]:
    return lambda con, s: edit(con, f"{transcript_run(s, f'{s}-t{k}')}-{tail}", change)


def _truncated(con: sqlite3.Connection, session: str) -> None:
    """End a converted turn as one whose ending was not found."""
    ending = f"{transcript_run(session, f'{session}-t1')}-e3"
    edit(
        con, ending, lambda e: (e.update(status="failed"), e["actions"].update(stateDelta={"failureClass": "missing"}))
    )
    con.execute("UPDATE runtime_events SET event_kind = 'failed' WHERE event_id = ?", (ending,))


def _opened_late(con: sqlite3.Connection, session: str) -> None:
    opening = f"{transcript_run(session, f'{session}-t3')}-opened"
    edit(con, opening, lambda event: event.update(ts=event["ts"] + 60_000))


def _left_out(con: sqlite3.Connection, session: str) -> None:
    """Take a whole converted run out of the ledger."""
    run = transcript_run(session, f"{session}-t3")
    for (event_id,) in con.execute("SELECT event_id FROM runtime_events WHERE run_id = ?", (run,)).fetchall():
        remove(con, event_id)


def _native_run(con: sqlite3.Connection, session: str) -> None:
    """Give a converted turn a native run beside it."""
    old = transcript_run(session, f"{session}-t3")
    run, invocation, turn = f"{session}-r", f"{session}-i", f"{session}-t3"
    for seq, tail in enumerate(("opened", "e3"), start=1):
        kind, text = con.execute(
            "SELECT event_kind, payload_json FROM runtime_events WHERE event_id = ?", (f"{old}-{tail}",)
        ).fetchone()
        event_id, at = f"{invocation}-e{seq}", 9_000_000_000_000 + seq
        event = json.loads(text) | {"id": event_id, "invocationId": invocation, "runId": run, "ts": at, "refs": {}}
        payload = js.stringify(event, ordered=True)
        con.execute(
            "INSERT INTO runtime_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (event_id, session, invocation, run, turn, seq, kind, payload, at),
        )
        con.execute(
            """INSERT INTO runtime_session_event_ordinals
            SELECT session_id, max(ordinal) + 1, ? FROM runtime_session_event_ordinals WHERE session_id = ?""",
            (event_id, session),
        )


def _note(con: sqlite3.Connection, session: str) -> None:
    """A retained note that stands among the rows only."""
    record = {"type": "system_note", "id": f"{session}-n", "turnId": f"{session}-t3", "ts": 4_000_000_000_000}
    text = js.stringify({**record, "kind": "context_window_overrun"})
    con.execute(
        """INSERT INTO session_messages SELECT ?, max(sequence) + 1, ?, 'system_note', 4000000000000, ?
        FROM session_messages WHERE session_id = ?""",
        (session, f"{session}-n", text, session),
    )


def _renumbered(con: sqlite3.Connection, session: str) -> None:
    """Give an event of a converted run a number that is too high."""
    old = transcript_run(session, f"{session}-t1") + "-e2"
    edit(con, old, to(id=f"{old}9"))
    con.execute("UPDATE runtime_events SET event_id = ? WHERE event_id = ?", (f"{old}9", old))
    con.execute("UPDATE runtime_session_event_ordinals SET event_id = ? WHERE event_id = ?", (f"{old}9", old))


def _late_rows(con: sqlite3.Connection, session: str) -> None:
    later = 4_000_000_000_000
    for n, kind in enumerate(("user", "assistant")):
        extra = {"modelId": "m"} if kind == "assistant" else {}
        record = {
            "type": kind,
            "id": f"{session}-late{n}",
            "turnId": f"{session}-t9",
            "ts": later,
            "text": "x",
            **extra,
        }
        con.execute(
            "INSERT INTO session_messages SELECT ?, max(sequence) + 1, ?, ?, ?, ? FROM "
            "session_messages WHERE session_id = ?",
            (session, record["id"], kind, later, js.stringify(record), session),
        )


def _both(message_id: str, column: str, value: str, change: Change) -> Callable[[sqlite3.Connection, str], None]:
    """Change a record and its column alike."""

    def apply(con: sqlite3.Connection, s: str) -> None:
        edit_row(con, s, message_id.format(s=s), change)
        told = (value.format(s=s), s, message_id.format(s=s))
        con.execute(f"UPDATE session_messages SET {column} = ? WHERE session_id = ? AND message_id = ?", told)  # noqa: S608

    return apply


ROWS = tuple(
    MakaFault(name, codes, place, apply, WRITTEN_TWICE)
    for name, codes, place, apply in (
        ("row-removed", ("L01",), "{s}", by_sql("DELETE FROM session_messages WHERE message_id = :s || '-t1-answer'")),
        (
            "row-cut",
            ("L02",),
            "{s}",
            by_sql("UPDATE session_messages SET record_json = '{' WHERE message_id = :s || '-t1-answer'"),
        ),
        ("row-other-id", ("L02",), "{s}", on_row("{s}-t1-answer", to(id="else"))),
        ("row-other-time", ("L02",), "{s}", on_row("{s}-t1-answer", to(ts=5))),
        (
            "row-other-type",
            ("L02",),
            "{s}",
            on_row("{s}-t1-answer", lambda r: (r.update(type="user"), r.pop("modelId"))),
        ),
        ("row-type-unknown", ("L05",), "{s}", _both("{s}-t1-answer", "message_type", "poem", to(type="poem"))),
        ("note-kind-unknown", ("L06",), "{s}", on_row("{s}-i8-e2", to(kind="poem"))),
        ("row-member", ("L07",), "{s}", on_row("{s}-t1-answer", to(extra=1))),
        ("row-member-missing", ("L07",), "{s}", on_row("{s}-t1-answer", without("modelId"))),
        ("row-status-unknown", ("L07",), "{s}", on_row("{s}-t1-running", to(status="dreaming"))),
        ("row-result-unknown", ("L07",), "{s}", on_row("{s}-i3-e4", lambda r: r["content"].update(kind="hologram"))),
        ("row-thinking-part", ("L07",), "{s}", on_row("{s}-t2-answer", to(thinking={"words": "x"}))),
        (
            "row-id-twice",
            ("L08",),
            "{s}",
            _both("{s}-t2-answer", "message_id", "{s}-t1-answer", lambda r: r.update(id=r["id"].replace("t2", "t1"))),
        ),
        (
            "row-time-back",
            ("L09",),
            "{s}",
            _both("{s}-t2-answer", "message_ts", "1700000000000", to(ts=1_700_000_000_000)),
        ),
        (
            "rows-interleaved",
            ("L10", "D19"),
            "{s}",
            on_row("{s}-t1-answer", lambda r: r.update(turnId=r["turnId"].replace("t1", "t2"))),
        ),
        (
            "user-row-removed",
            ("L11", "L01"),
            "{s}",
            by_sql("DELETE FROM session_messages WHERE message_id = :s || '-t1-user'"),
        ),
        ("note-without-turn", ("L12",), "{s}", on_row("{s}-i8-e2", without("turnId"))),
        ("steering-lost", ("L13",), "{s}", on_row("{s}-t5-steer", to(steeringEventId="gone"))),
        (
            "header-cut",
            ("B14", "B09", "R06"),
            "{s}-r1",
            by_sql("UPDATE core_agent_runs SET record_json = '{' WHERE run_id = :s || '-r1'"),
        ),
        ("header-removed", ("B09", "R06"), "{s}-i1", by_sql("DELETE FROM core_agent_runs WHERE run_id = :s || '-r1'")),
        ("older-orphan-thinking", ("B27",), "{s}", on_event("{s}-i2-e2", to(refs={"providerEventId": "nobody"}))),
        ("older-ended-twice", ("B15", "B16"), "{s}-i1", lambda con, s: append(con, f"{s}-i1-e4", f"{s}-i1-e9", to())),
        ("older-prompt-removed", ("R03", "B01", "B05"), "{s}", lambda con, s: remove(con, f"{s}-t1-user")),
    )
)
CONVERTED = tuple(
    MakaFault(name, codes, place, apply, NEWER, "c")
    for name, codes, place, apply in (
        ("run-id-foreign", ("D05", "D09"), "transcript-{s}", _rename_run),
        (
            "conversion-open",
            ("D06", "B19", "B05"),
            "{run}",
            lambda con, s: remove(con, transcript_run(s, f"{s}-t1") + "-e3"),
        ),
        ("conversion-truncated", ("D07",), "{run}-e3", _truncated),
        (
            "conversion-abandoned",
            ("D08", "B15", "B16", "B35", "T05"),
            "{run}-abandoned",
            lambda con, s: append(
                con, transcript_run(s, f"{s}-t1") + "-e3", transcript_run(s, f"{s}-t1") + "-abandoned", to()
            ),
        ),
        ("conversion-random-id", ("D09",), "{run}", _rename_event),
        (
            "import-staged",
            ("D01",),
            "{s}",
            by_sql(
                "UPDATE session_metadata SET payload_json = json_set(payload_json, '$.transcriptLedgerVersion', 0) "
                "WHERE session_id = :s"
            ),
        ),
        (
            "conversion-pending",
            ("D02",),
            "{s}",
            by_sql(
                "UPDATE session_metadata SET payload_json = json_remove(payload_json, '$.transcriptLedgerVersion') "
                "WHERE session_id = :s"
            ),
        ),
        ("turn-left-out", ("D03",), "{s}", _left_out),
        ("native-run-beside", ("D04",), "{s}", _native_run),
        ("numbered-high", ("D10",), "{run}", _renumbered),
        ("note-left-behind", ("D14",), "{s}", _note),
        ("opened-late", ("D16",), "{run3}", _opened_late),
        (
            "not-resequenced",
            ("D17",),
            "{s}",
            by_sql(
                "UPDATE runtime_session_event_ordinals SET ordinal = -ordinal WHERE session_id = :s",
                "UPDATE runtime_session_event_ordinals SET ordinal = CASE WHEN ordinal >= -4 "
                "THEN 8 - ordinal ELSE -ordinal - 4 END WHERE session_id = :s",
            ),
        ),
        ("late-rows", ("D18", "D03"), "{s}", _late_rows),
        (
            "prompt-converted-twice",
            ("D11", "R01", "B16", "T05", "D10"),
            "{s}",
            lambda con, s: append(
                con, transcript_run(s, f"{s}-t1") + "-e1", transcript_run(s, f"{s}-t1") + "-e9", to()
            ),
        ),
        ("text-role", ("B35",), "{s}", _run_event(1, "e2", to(role="tool"))),
    )
)
LARGE = tuple(
    MakaFault(name, codes, "{s}", by_sql(statement), NEWER, "c", large=True)
    for name, codes, statement in (
        (
            "chunk-removed",
            ("L03", "L11"),
            "DELETE FROM session_message_chunks WHERE session_id = :s AND chunk_index = 1",
        ),
        (
            "chunk-changed",
            ("L04", "L11"),
            "UPDATE session_message_chunks SET data = x'41' WHERE session_id = :s AND chunk_index = 1",
        ),
        (
            "chunk-added",
            ("L03", "L11"),
            "INSERT INTO session_message_chunks SELECT session_id, sequence, 2, data, sha256 "
            "FROM session_message_chunks WHERE session_id = :s AND chunk_index = 1",
        ),
        (
            "record-digest",
            ("L04", "L11"),
            "UPDATE session_message_payloads SET sha256 = printf('%064d', 0) WHERE session_id = :s",
        ),
        (
            "record-length",
            ("L03", "L11"),
            "UPDATE session_message_payloads SET record_bytes = record_bytes + 1 WHERE session_id = :s",
        ),
        ("record-unknown", ("L03", "L11"), "DELETE FROM session_message_payloads WHERE session_id = :s"),
        ("record-doubled", ("L03",), "INSERT INTO session_message_payloads VALUES (:s, 0, 70000, printf('%064d', 0))"),
    )
)

FAULTS = (*ROWS, *CONVERTED, *LARGE)
