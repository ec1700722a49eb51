-- view: import_turns
-- kind: table
-- about: one turn that has legacy rows: its user messages, the version of its session, whether a native run owns it, the run
--   that a conversion made of it, and the row that decides how it ended.
-- applies: maka sqlite 8-18
WITH held AS (
    SELECT session_id, turn_id, count(*) AS rows, min(sequence) AS first_seq, max(sequence) AS last_seq,
        count(*) FILTER (type = 'user' AND steering_event IS NULL) AS users,
        arg_max(sequence, (message_ts, sequence)) FILTER (type = 'turn_state') AS last_state,
        arg_max(sequence, sequence) FILTER (type = 'turn_state' AND status <> 'running') AS last_ending
    FROM audit.legacy_rows WHERE turn_id IS NOT NULL GROUP BY session_id, turn_id
), native AS (
    SELECT i.session_id, i.turn_id, count(DISTINCT i.invocation_id) AS runs, bool_and(t.invocation_id IS NOT NULL OR i.header_ended) AS ended
    FROM audit.import_invocations AS i LEFT JOIN (SELECT DISTINCT invocation_id FROM audit.terminals) AS t ON t.invocation_id = i.invocation_id
    WHERE i.run_id <> i.derived GROUP BY i.session_id, i.turn_id
), made AS (
    -- Where two invocations share the run id, as after a converter of another generation, the one that ended counts.
    SELECT session_id, turn_id, arg_max(invocation_id, (CAST(ended AS INTEGER), events)) AS invocation_id FROM audit.import_runs
    GROUP BY session_id, turn_id
)
SELECT h.*, s.ledger_version AS version, coalesce(s.foreign_origin, false) AS foreign_origin,
    -- Where both are there, as in histories of C0 and C1, what was converted is looked at.
    n.runs IS NOT NULL AND NOT coalesce(r.ended, false) AS native, coalesce(n.ended, false) AS native_ended,
    r.run_id, r.invocation_id, r.generation, r.mode, coalesce(r.ended, false) AS ended, r.ending, r.end_event
FROM held AS h LEFT JOIN audit.sessions AS s ON s.session_id = h.session_id
    LEFT JOIN native AS n ON n.session_id = h.session_id AND n.turn_id = h.turn_id
    LEFT JOIN made AS m ON m.session_id = h.session_id AND m.turn_id = h.turn_id
    LEFT JOIN audit.import_runs AS r ON r.invocation_id = m.invocation_id AND r.session_id = h.session_id AND r.turn_id = h.turn_id
