-- view: import_rows
-- kind: table
-- about: one row of session_messages and what became of it. fate: converted, owned (by a native run), skipped, lost, or, not
--   decided yet, pending and unread; rule says by which rule of the maka sheet, code which finding names a lost row.
-- applies: maka sqlite 8-18
WITH matched AS (
    SELECT session_id, sequence, count(*) AS due, count(event_id) AS found, arg_min(event_id, part) AS event_id,
        count(*) FILTER (part = 1 AND event_id IS NOT NULL) AS first_found, coalesce(bool_or(differs), false) AS differs
    FROM audit.import_pairs GROUP BY session_id, sequence
), prompts AS (
    SELECT DISTINCT session_id, turn_id FROM audit.import_found WHERE meant = 'user'
), thoughts AS (SELECT DISTINCT session_id, turn_id, message_key FROM audit.import_named WHERE code = 'B27'),
admitted AS (SELECT DISTINCT session_id, turn_id FROM audit.import_named WHERE code = 'R03'), latest AS (SELECT session_id, max(committed_at) AS at FROM audit.ledger_events GROUP BY session_id),
unread AS (
    SELECT DISTINCT session_id FROM audit.legacy_rows WHERE NOT valid OR problems > 0 OR misfiled IS NOT NULL OR chunk_fault IS NOT NULL
), steered AS (SELECT DISTINCT session_id, event_id FROM audit.ledger_events WHERE steering),
told AS (
    SELECT r.session_id, r.sequence, r.message_id, r.turn_id, r.type, r.note_kind, r.status, r.blank, r.steering_event,
        r.valid AND r.problems = 0 AND r.misfiled IS NULL AND r.chunk_fault IS NULL AS readable,
        r.type = 'system_note' AND r.note_kind IN ('session_start', 'session_resume', 'mode_change', 'model_change', 'error', 'abort') AS retired,
        m.due, m.found, m.first_found, m.event_id, m.differs, t.users, t.version, coalesce(t.native, false) AS native, t.native_ended,
        t.run_id, t.invocation_id, t.generation, t.mode, t.ended, t.ending, t.end_event, t.last_state, t.last_ending,
        p.session_id IS NOT NULL AS prompted, a.session_id IS NOT NULL AS admitted, h.session_id IS NOT NULL AS thought, s.event_id AS steered, r.message_ts > l.at AS late,
        u.session_id IS NOT NULL AS blocked
    FROM audit.legacy_rows AS r LEFT JOIN audit.import_turns AS t ON t.session_id = r.session_id AND t.turn_id = r.turn_id
        LEFT JOIN matched AS m ON m.session_id = r.session_id AND m.sequence = r.sequence
        LEFT JOIN prompts AS p ON p.session_id = r.session_id AND p.turn_id = r.turn_id
        LEFT JOIN admitted AS a ON a.session_id = r.session_id AND a.turn_id = r.turn_id
        LEFT JOIN thoughts AS h ON h.session_id = r.session_id AND h.turn_id = r.turn_id AND h.message_key = r.message_id
        LEFT JOIN latest AS l ON l.session_id = r.session_id
        LEFT JOIN unread AS u ON u.session_id = r.session_id
        LEFT JOIN steered AS s ON s.session_id = r.session_id AND s.event_id = r.steering_event
), judged AS (
    SELECT *, CASE
        WHEN session_id = 'maka_workhub_coordination' THEN ['skipped', '4.1 a session that keeps its rows', '']
        WHEN NOT readable THEN ['unread', '3 a row that cannot be decoded', 'L07']
        WHEN type LIKE 'workhub%' THEN ['skipped', '3.1 a row of WorkHub', '']
        WHEN retired THEN ['skipped', '3.3 a retired note', '']
        WHEN steering_event IS NOT NULL AND steered IS NOT NULL THEN ['skipped', '3.2 steering, the run that took it has it', '']
        WHEN steering_event IS NOT NULL THEN ['lost', '3.2 steering that no run kept', 'L13']
        WHEN turn_id IS NULL AND type = 'system_note' THEN ['skipped', '4.8 a note without a turn', '']
        WHEN turn_id IS NULL THEN ['skipped', '4.6 a row without a turn', '']
        -- A turn that a native run owns: its writer wrote both.
        WHEN native AND type = 'turn_state' AND sequence IS DISTINCT FROM last_ending THEN ['skipped', '3.2 a turn_state before the last', '']
        WHEN native AND first_found > 0 THEN ['owned', '4.6 a native run owns the turn', '']
        WHEN native AND NOT native_ended THEN ['pending', '9.3 its run has not ended', '']
        WHEN native AND type = 'system_note' THEN ['lost', '3.3 a retained note of a native run, accepted', 'D14']
        WHEN native AND type = 'user' AND admitted AND NOT prompted THEN ['lost', '9.1 the prompt of a sealed run', 'R03']
        WHEN native AND type = 'assistant' AND thought THEN ['lost', '15 an answer whose thinking alone was written', 'B27']
        WHEN native THEN ['lost', '8 a native run without what its row says', 'D19']
        -- A turn that was converted, or is being.
        WHEN run_id IS NOT NULL AND type = 'turn_state' AND found > 0 THEN ['converted', '4.5 its ending', '']
        WHEN run_id IS NOT NULL AND type = 'turn_state' AND sequence IS DISTINCT FROM last_state THEN ['skipped', '3.2 a turn_state before the last', '']
        WHEN run_id IS NOT NULL AND type = 'turn_state' AND ended AND generation = 'C0' THEN ['skipped', '15 a turn_state of an unfinished turn', '']
        WHEN run_id IS NOT NULL AND type = 'turn_state' AND ended AND (status = ending OR (status = 'running' AND ending = 'failed'))
            THEN ['converted', '4.5 its ending', '']
        WHEN run_id IS NOT NULL AND mode = 'text' AND type NOT IN ('user', 'assistant', 'turn_state') THEN ['skipped', '4.4 not of the conversation text', '']
        WHEN run_id IS NOT NULL AND mode = 'text' AND type = 'assistant' AND blank THEN ['skipped', '4.4 an answer without text', '']
        WHEN run_id IS NOT NULL AND (found >= due OR (mode = 'text' AND first_found > 0)) THEN ['converted', '4.4 as its kind of row is', '']
        WHEN run_id IS NOT NULL AND NOT ended AND version = 1 THEN ['lost', '4.1 a conversion that nobody will end', 'D06']
        WHEN run_id IS NOT NULL AND NOT ended THEN ['pending', '4.6 a conversion that is not finished', '']
        WHEN run_id IS NOT NULL AND version = 1 AND note_kind LIKE 'context%' AND sequence > last_state
            THEN ['lost', '3.3 a retained note written after the conversion, accepted', 'D14']
        WHEN run_id IS NOT NULL AND type = 'turn_state' THEN ['lost', '4.5 an ending that is another', 'D07']
        WHEN run_id IS NOT NULL THEN ['lost', '8 a converted turn without it', 'D12']
        -- A turn without a run.
        WHEN coalesce(version, 2) <> 1 AND blocked THEN ['pending', '3 its session has a row that cannot be decoded', '']
        WHEN users = 0 THEN ['skipped', '4.6 a turn without a user message', '']
        WHEN version = 1 AND late THEN ['lost', '4.1 written after the conversion', 'D18']
        WHEN version = 1 THEN ['lost', '4.1 a turn that was not converted', 'D03']
        WHEN version = 0 THEN ['pending', '4.1 a staged import', '']
        ELSE ['pending', '4.1 not converted yet', ''] END AS verdict
    FROM told
)
SELECT session_id, sequence, message_id AS row_id, turn_id,
    CASE WHEN NOT readable OR type IS NULL THEN 'unreadable' WHEN type = 'system_note' THEN 'system_note ' || coalesce(note_kind, 'other') ELSE type END AS kind,
    verdict[1] AS fate, verdict[2] AS rule, CASE WHEN verdict[1] = 'lost' THEN verdict[3] END AS code,
    CASE WHEN verdict[1] = 'skipped' THEN steered WHEN verdict[1] = 'converted' THEN coalesce(event_id, end_event) ELSE event_id END AS event_id,
    coalesce(due, 0) AS due, coalesce(found, 0) AS found, coalesce(differs, false) AS differs, run_id, invocation_id, generation, native
FROM judged
