"""Faults of the ledger, its admissions and its sessions."""

from __future__ import annotations

import sqlite3

from busbar_audit.synth.maka_planting import (
    MakaFault,
    actions,
    append,
    by_sql,
    content,
    edit,
    on_event,
    remove,
    to,
    without,
)


def _reuse(con: sqlite3.Connection, session: str) -> None:
    """Give a call and its result the id of another tool's call."""
    for event_id in (f"{session}-i4-e3", f"{session}-i4-e6"):
        edit(con, event_id, content(id=f"{session}-t3-call"))


FAULTS = (
    MakaFault(
        "payload-cut",
        ("A05", "B35"),
        "{s}-i1-e3",
        by_sql("UPDATE runtime_events SET payload_json = substr(payload_json, 1, 40) WHERE event_id = :s || '-i1-e3'"),
    ),
    MakaFault(
        "payload-list",
        ("A05", "B35"),
        "{s}-i1-e3",
        by_sql("UPDATE runtime_events SET payload_json = '[]' WHERE event_id = :s || '-i1-e3'"),
    ),
    MakaFault("other-id", ("A06", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(id="else"))),
    MakaFault("other-session", ("A06", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(sessionId="else"))),
    MakaFault("other-turn", ("A06", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(turnId="else"))),
    MakaFault("other-run", ("A06", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(runId="else"))),
    MakaFault("other-invocation", ("A06", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(invocationId="else"))),
    MakaFault("partial-fact", ("A07",), "{s}-i1-e3", on_event("{s}-i1-e3", to(partial=True))),
    MakaFault("partial-missing", ("A07", "B35"), "{s}-i1-e4", on_event("{s}-i1-e4", without("partial"))),
    MakaFault(
        "label-wrong",
        ("A08",),
        "{s}-i1-e3",
        by_sql("UPDATE runtime_events SET event_kind = 'thinking' WHERE event_id = :s || '-i1-e3'"),
    ),
    MakaFault("member-unknown", ("A09", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(extra=1))),
    MakaFault("content-member", ("A09", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", content(extra=1))),
    MakaFault("role-unknown", ("A09", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(role="robot"))),
    MakaFault("author-unknown", ("A09", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(author="robot"))),
    MakaFault("action-unknown", ("A09", "B35"), "{s}-i1-e4", on_event("{s}-i1-e4", actions(newAction={}))),
    MakaFault(
        "ref-unknown", ("A09", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", to(refs={"providerEventId": "{s}", "x": "y"}))
    ),
    MakaFault("time-missing", ("A09", "B35"), "{s}-i1-e3", on_event("{s}-i1-e3", without("ts"))),
    MakaFault(
        "usage-text",
        ("A09", "B35"),
        "{s}-i1-e4",
        on_event("{s}-i1-e4", actions(tokenUsage={"input": "1", "output": 2})),
    ),
    MakaFault("note-unknown", ("A09", "B35"), "{s}-i8-e3", on_event("{s}-i8-e3", content(note="new_note"))),
    MakaFault("steering-false", ("A09", "B35", "R01"), "{s}-i5-e3", on_event("{s}-i5-e3", content(steering=False))),
    MakaFault(
        "not-canonical",
        ("A10",),
        "{s}",
        by_sql(
            "UPDATE runtime_events SET payload_json = replace(payload_json, '\"partial\":false', "
            "'\"partial\": false') WHERE event_id = :s || '-i1-e3'"
        ),
    ),
    MakaFault("event-removed", ("B01", "B05"), "{s}-i1", lambda con, s: remove(con, f"{s}-i1-e4")),
    MakaFault(
        "event-renumbered",
        ("B01",),
        "{s}-i1",
        by_sql("UPDATE runtime_events SET event_seq = 9 WHERE event_id = :s || '-i1-e5'"),
    ),
    MakaFault(
        "ordinal-removed",
        ("B02", "B05", "T05"),
        "{s}-i1-e3",
        by_sql("DELETE FROM runtime_session_event_ordinals WHERE event_id = :s || '-i1-e3'"),
    ),
    MakaFault(
        "ordinals-swapped",
        ("B06",),
        "{s}-i1",
        by_sql(
            "UPDATE runtime_session_event_ordinals SET ordinal = -ordinal WHERE event_id IN (:s "
            "|| '-i1-e3', :s || '-i1-e4')",
            "UPDATE runtime_session_event_ordinals SET ordinal = 4 WHERE event_id = :s || '-i1-e3'",
            "UPDATE runtime_session_event_ordinals SET ordinal = 3 WHERE event_id = :s || '-i1-e4'",
        ),
    ),
    MakaFault("ordinal-dangling", ("B04", "B01"), "{s}", lambda con, s: remove(con, f"{s}-i1-e4", place=False)),
    MakaFault("opening-removed", ("B09", "B01", "B05", "R06"), "{s}-i10", lambda con, s: remove(con, f"{s}-i10-e1")),
    MakaFault(
        "opening-late",
        ("B12", "T05", "T06"),
        "{s}-i1-e1",
        by_sql(
            "UPDATE runtime_events SET event_seq = -event_seq WHERE event_id IN (:s || '-i1-e1', :s || '-i1-user')",
            "UPDATE runtime_events SET event_seq = 2 WHERE event_id = :s || '-i1-e1'",
            "UPDATE runtime_events SET event_seq = 1 WHERE event_id = :s || '-t1-user'",
            "UPDATE runtime_session_event_ordinals SET ordinal = -ordinal WHERE event_id IN (:s "
            "|| '-i1-e1', :s || '-t1-user')",
            "UPDATE runtime_session_event_ordinals SET ordinal = 2 WHERE event_id = :s || '-i1-e1'",
            "UPDATE runtime_session_event_ordinals SET ordinal = 1 WHERE event_id = :s || '-t1-user'",
        ),
    ),
    MakaFault("opening-protocol", ("B14", "B35"), "{s}-i1", on_event("{s}-i1-e1", content(protocol="v2"))),
    MakaFault("opening-route", ("B14", "B35"), "{s}-i1", on_event("{s}-i1-e1", content(route={"provenance": "guess"}))),
    MakaFault(
        "ended-twice",
        ("B15", "B16", "B35", "T05"),
        "{s}-i1",
        lambda con, s: append(con, f"{s}-i1-e5", f"{s}-i1-e9", to()),
    ),
    MakaFault("straggler", ("B16", "T05"), "{s}-i1", lambda con, s: append(con, f"{s}-i1-e4", f"{s}-i1-e9", to())),
    MakaFault("no-outcome", ("B17", "B35", "A08"), "{s}-i1-e5", on_event("{s}-i1-e5", without("status"))),
    MakaFault(
        "handoff-pause",
        ("B18", "B35", "T05", "A08"),
        "{s}-i1-e5",
        on_event("{s}-i1-e5", lambda e: (e.pop("status"), e["actions"].update(handoffPause={}))),
    ),
    MakaFault(
        "live-text-left",
        ("B20",),
        "{s}-live",
        by_sql(
            "INSERT INTO runtime_partial_snapshots VALUES (:s || '-live', :s, :s || '-i1', :s || "
            "'-r1', :s || '-t1', NULL, '{}', '', 1)"
        ),
    ),
    MakaFault(
        "live-text-orphan",
        ("B21",),
        "{s}-live",
        by_sql("INSERT INTO runtime_partial_snapshots VALUES (:s || '-live', :s, 'i', 'r', 't', NULL, '{}', '', 1)"),
    ),
    MakaFault(
        "tool-unknown",
        ("B22",),
        "{s}-t3-op",
        by_sql(
            "UPDATE tool_operations SET current_state = 'prepared', result_event_id = NULL WHERE "
            "operation_id = :s || '-t3-op'"
        ),
    ),
    MakaFault(
        "tool-call-gone",
        ("B23",),
        "{s}-t3-op",
        by_sql("UPDATE tool_operations SET call_event_id = 'gone' WHERE operation_id = :s || '-t3-op'"),
    ),
    MakaFault(
        "tool-result-elsewhere",
        ("B23",),
        "{s}-t3-op",
        by_sql("UPDATE tool_operations SET result_event_id = :s || '-i1-e3' WHERE operation_id = :s || '-t3-op'"),
    ),
    MakaFault("result-removed", ("B24", "B23", "B01", "B05"), "{s}-i3-e3", lambda con, s: remove(con, f"{s}-i3-e5")),
    MakaFault("call-renamed", ("B24", "B25"), "{s}-i3-e3", on_event("{s}-i3-e3", content(id="other-call"))),
    MakaFault(
        "tool-id-empty",
        ("B26", "B24", "B25", "B35"),
        "{s}-i3-e3",
        on_event("{s}-i3-e3", lambda e: (e["content"].update(id=""), e["refs"].pop("toolCallId"))),
    ),
    MakaFault("orphan-thinking", ("B27", "B35"), "{s}", on_event("{s}-i2-e3", to(refs={"providerEventId": "nobody"}))),
    MakaFault(
        "error-inside",
        ("B28", "B35", "A08"),
        "{s}-i1-e3",
        on_event("{s}-i1-e3", to(content={"kind": "error", "message": "m"})),
    ),
    MakaFault("fact-unknown", ("B29",), "{s}", on_event("{s}-i1-e4", to(actions={"stateDelta": {"x": 1}}))),
    MakaFault(
        "outcome-removed",
        ("B30", "B35"),
        "{s}-i10-e5",
        by_sql("DELETE FROM core_interaction_outcomes WHERE request_id = :s || '-t10-ask'"),
    ),
    MakaFault(
        "result-kind",
        ("B31", "B35"),
        "{s}-i3-e5",
        on_event("{s}-i3-e5", lambda e: e["content"]["result"].update(kind="hologram")),
    ),
    MakaFault(
        "steered-twice", ("B32", "B16", "T05"), "{s}", lambda con, s: append(con, f"{s}-i5-e3", f"{s}-i5-e9", to())
    ),
    MakaFault("role-of-text", ("B35",), "{s}", on_event("{s}-i1-e3", to(role="system"))),
    MakaFault(
        "compaction-silent",
        ("B34",),
        "{s}-i1-e5",
        on_event("{s}-i1-e5", actions(stateDelta={"contextCompactionOutcome": {"kind": "compacted"}})),
    ),
    MakaFault(
        "claim-start",
        ("B33",),
        "{s}-claim",
        by_sql(
            """INSERT INTO runtime_continuation_claims
            VALUES (:s || '-claim', :s, :s || '-r1', :s, :s || '-i2', :s || '-r2', :s || '-t2',
        :s || '-i1-e3', 'runtime_admission')"""
        ),
    ),
    MakaFault(
        "claim-half",
        ("B33",),
        "{s}-claim",
        by_sql(
            """INSERT INTO runtime_continuation_claims
            VALUES (:s || '-claim', :s, :s || '-r1', :s, :s || '-i2', :s || '-r2', :s || '-t2',
        NULL, 'claim_repair')"""
        ),
    ),
    MakaFault(
        "shelf-double",
        ("B11",),
        "{s}-i1",
        by_sql(
            """INSERT INTO runtime_legacy_invocation_openings SELECT invocation_id, session_id, run_id, turn_id, 1,
        json_extract(payload_json, '$.content'), event_id FROM runtime_events WHERE event_id = :s || '-i1-e1'"""
        ),
    ),
    MakaFault(
        "shelf-anchor-gone",
        ("B13", "B11"),
        "{s}-i1",
        by_sql(
            """INSERT INTO runtime_legacy_invocation_openings SELECT invocation_id, session_id, run_id, turn_id, 1,
        json_extract(payload_json, '$.content'), 'gone' FROM runtime_events WHERE event_id = :s || '-i1-e1'"""
        ),
    ),
    MakaFault(
        "run-of-two-turns",
        ("B08", "B07", "A06", "B35"),
        "{s} / {s}-r1",
        by_sql("UPDATE runtime_events SET turn_id = 'else' WHERE event_id = :s || '-i1-e4'"),
    ),
    MakaFault(
        "run-of-two-invocations",
        ("B08", "B07", "A06", "B35"),
        "{s} / {s}-r1",
        by_sql("UPDATE runtime_events SET run_id = :s || '-r1' WHERE event_id = :s || '-i2-e5'"),
    ),
    MakaFault("prompt-changed", ("R05",), "{s}", on_event("{s}-t1-user", content(text="something else"))),
    MakaFault(
        "prompt-twice",
        ("R01",),
        "{s}",
        on_event("{s}-i1-e3", lambda e: (e.update(role="user", author="user"), e.pop("refs"))),
    ),
    MakaFault(
        "prompt-pair",
        ("R02", "R01", "B16", "T05"),
        "{s}-r1-admitted-prompt",
        lambda con, s: append(con, f"{s}-t1-user", f"{s}-r1-admitted-prompt", to()),
    ),
    MakaFault("prompt-removed", ("R03", "B01", "B05"), "{s}", lambda con, s: remove(con, f"{s}-t1-user")),
    MakaFault(
        "prompt-id-old",
        ("R04",),
        "{s}",
        by_sql(
            "UPDATE core_root_turn_admissions SET record_json = json_set(record_json, "
            "'$.userMessageId', 'random') WHERE turn_id = :s || '-t1'"
        ),
    ),
    MakaFault(
        "run-not-admitted",
        ("R07",),
        "{s}",
        by_sql(
            "UPDATE core_root_turn_admissions SET record_json = json_set(record_json, '$.runId', "
            "'else') WHERE turn_id = :s || '-t1'"
        ),
    ),
    MakaFault(
        "chain-two-roots",
        ("R08",),
        "{s}",
        by_sql(
            "UPDATE core_root_turn_admissions SET record_json = json_set(record_json, "
            "'$.previousRootTurnId', NULL) WHERE turn_id = :s || '-t10'"
        ),
    ),
    MakaFault(
        "chain-forked",
        ("R08",),
        "{s}",
        by_sql(
            "UPDATE core_root_turn_admissions SET record_json = json_set(record_json, "
            "'$.previousRootTurnId', :s || '-t1') WHERE turn_id = :s || '-t10'"
        ),
    ),
    MakaFault(
        "chain-cut", ("R08",), "{s}", by_sql("DELETE FROM core_root_turn_admissions WHERE turn_id = :s || '-t4'")
    ),
    MakaFault(
        "admitted-not-run",
        ("R06",),
        "{s}",
        by_sql(
            """INSERT INTO core_root_turn_admissions SELECT session_id, :s || '-t99', admitted_at,
        json_set(record_json, '$.turnId', :s || '-t99', '$.previousRootTurnId', :s || '-t10')
        FROM core_root_turn_admissions WHERE turn_id = :s || '-t10'"""
        ),
    ),
    MakaFault(
        "proof-removed",
        ("R10",),
        "{s}",
        by_sql("DELETE FROM core_root_source_message_proofs WHERE message_id = :s || '-t9-q1'"),
    ),
    MakaFault(
        "proof-orphan",
        ("R09",),
        "{s}",
        by_sql("INSERT INTO core_root_source_message_proofs VALUES (:s, 'm', :s || '-t1')"),
    ),
    MakaFault(
        "tool-id-reused",
        ("T08",),
        "{s}",
        _reuse,
    ),
    MakaFault(
        "not-locked",
        ("T11",),
        "{s}",
        by_sql(
            "UPDATE session_metadata SET payload_json = json_set(payload_json, "
            "'$.connectionLocked', json('false')) WHERE session_id = :s"
        ),
    ),
    MakaFault("tombstone", ("T12",), "{s}", by_sql("INSERT INTO session_metadata_tombstones VALUES (:s, 1, 0)")),
    MakaFault(
        "session-removed",
        ("T13",),
        "{s}",
        by_sql(
            "DELETE FROM session_metadata WHERE session_id = :s",
            "DELETE FROM session_catalog_projection WHERE session_id = :s",
        ),
    ),
    MakaFault(
        "unread-stuck",
        ("T09",),
        "{s}",
        by_sql(
            """UPDATE session_metadata SET payload_json = json_set(payload_json, '$.hasUnread', json('true'),
        '$.lastReadMessageId', :s || '-t10-answer') WHERE session_id = :s"""
        ),
    ),
    MakaFault(
        "preview-old",
        ("T10",),
        "{s}",
        by_sql("UPDATE session_catalog_projection SET last_message_preview = 'old' WHERE session_id = :s"),
    ),
    MakaFault(
        "handoff-hidden",
        ("T07",),
        "{s}-r11",
        on_event(
            "{s}-i11-e1",
            content(
                source={
                    "kind": "handoff",
                    "rootRunId": "r",
                    "sourceInvocationId": "i",
                    "sourceRunId": "r",
                    "sourceTurnId": "t",
                    "sourceRuntimeEventHighWater": 1,
                    "claimId": "c",
                    "boundaryDigest": "d",
                }
            ),
        ),
    ),
)
