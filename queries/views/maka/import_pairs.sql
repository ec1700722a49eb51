-- view: import_pairs
-- kind: table
-- about: one fact that a row is due as, beside the event that holds it, by id where it was converted and by content where a
--   native run wrote both; event_id is NULL where there is none.
-- applies: maka sqlite 8-18
SELECT d.session_id, d.turn_id, d.sequence, d.part, d.meant, d.message_ts, f.event_id, f.seq, f.run_id,
    f.meaning <> d.meaning AND d.meant <> 'turn_state' AND NOT starts_with(d.meaning, '~') AS differs
FROM audit.import_due AS d JOIN audit.import_turns AS t ON t.session_id = d.session_id AND t.turn_id = d.turn_id
    LEFT JOIN audit.import_found AS f ON f.converted AND f.session_id = d.session_id AND f.turn_id = d.turn_id
    AND f.stored_id = d.message_id AND f.meant = d.meant AND f.alike = d.alike
WHERE NOT t.native AND t.run_id IS NOT NULL
UNION ALL
SELECT d.session_id, d.turn_id, d.sequence, d.part, d.meant, d.message_ts, f.event_id, f.seq, f.run_id, false AS differs
FROM audit.import_due AS d JOIN audit.import_turns AS t ON t.session_id = d.session_id AND t.turn_id = d.turn_id
    LEFT JOIN audit.import_found AS f ON NOT f.converted AND f.session_id = d.session_id AND f.turn_id = d.turn_id
    AND f.meant = d.meant AND f.meaning = d.meaning AND f.same = d.same
WHERE t.native AND d.meant <> 'thinking' AND (d.meant <> 'turn_state' OR d.sequence = t.last_ending)
