-- view: import_pairs
-- kind: table
-- about: one fact that a row is due as, beside the event that holds it: by id where it was converted, equal contents first, by
--   content alone where a native run wrote both; event_id is NULL where there is none.
-- applies: maka sqlite 8-18
WITH made AS (
    SELECT d.* FROM audit.import_due AS d JOIN audit.import_turns AS t ON t.session_id = d.session_id AND t.turn_id = d.turn_id
    WHERE NOT t.native AND t.run_id IS NOT NULL
), found AS (SELECT * FROM audit.import_found WHERE converted AND stored_id IS NOT NULL),
equal AS (
    SELECT d.session_id, d.turn_id, d.sequence, d.part, f.event_id
    FROM (SELECT *, row_number() OVER (PARTITION BY session_id, turn_id, message_id, meant, meaning ORDER BY alike) AS nth FROM made) AS d
        JOIN (SELECT *, row_number() OVER (PARTITION BY session_id, turn_id, stored_id, meant, meaning ORDER BY alike) AS nth FROM found) AS f
        ON f.session_id = d.session_id AND f.turn_id = d.turn_id AND f.stored_id = d.message_id AND f.meant = d.meant
            AND f.meaning = d.meaning AND f.nth = d.nth
), rows AS (
    SELECT d.*, row_number() OVER (PARTITION BY d.session_id, d.turn_id, d.message_id, d.meant ORDER BY d.alike) AS nth
    FROM made AS d ANTI JOIN equal AS e ON e.session_id = d.session_id AND e.turn_id = d.turn_id AND e.sequence = d.sequence AND e.part = d.part
), events AS (
    SELECT f.*, row_number() OVER (PARTITION BY f.session_id, f.turn_id, f.stored_id, f.meant ORDER BY f.alike) AS nth
    FROM found AS f ANTI JOIN equal AS e ON e.event_id = f.event_id AND e.session_id = f.session_id AND e.turn_id = f.turn_id
), joined AS (
    SELECT session_id, turn_id, sequence, part, event_id FROM equal
    UNION ALL
    SELECT d.session_id, d.turn_id, d.sequence, d.part, f.event_id
    FROM rows AS d JOIN events AS f ON f.session_id = d.session_id AND f.turn_id = d.turn_id AND f.stored_id = d.message_id
        AND f.meant = d.meant AND f.nth = d.nth
)
SELECT d.session_id, d.turn_id, d.sequence, d.part, d.meant, d.message_ts, f.event_id, f.seq, f.run_id,
    f.meaning <> d.meaning AND d.meant <> 'turn_state' AND NOT starts_with(d.meaning, '~') AS differs
FROM made AS d LEFT JOIN joined AS j ON j.session_id = d.session_id AND j.turn_id = d.turn_id AND j.sequence = d.sequence AND j.part = d.part
    LEFT JOIN found AS f ON f.event_id = j.event_id AND f.session_id = j.session_id AND f.turn_id = j.turn_id
UNION ALL
SELECT d.session_id, d.turn_id, d.sequence, d.part, d.meant, d.message_ts, f.event_id, f.seq, f.run_id, false AS differs
FROM audit.import_due AS d JOIN audit.import_turns AS t ON t.session_id = d.session_id AND t.turn_id = d.turn_id
    LEFT JOIN audit.import_found AS f ON NOT f.converted AND f.session_id = d.session_id AND f.turn_id = d.turn_id
    AND f.meant = d.meant AND f.meaning = d.meaning AND f.same = d.same
WHERE t.native AND d.meant <> 'thinking' AND (d.meant <> 'turn_state' OR d.sequence = t.last_ending)
