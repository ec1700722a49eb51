-- view: import_causes
-- kind: table
-- about: one converted turn that is not whole, doubled or not ended: what its run looks like and which accident leaves that
--   (end of section 8 of the maka sheet); generation is of the converter that wrote it.
-- applies: maka sqlite 8-18
WITH lost AS (
    SELECT i.session_id, i.turn_id, count(*) AS rows, min(i.sequence) AS first_lost, max(i.sequence) AS last_lost, min(r.message_ts) AS lost_at
    FROM audit.import_rows AS i JOIN audit.legacy_rows AS r ON r.session_id = i.session_id AND r.sequence = i.sequence
    WHERE i.fate = 'lost' AND i.run_id IS NOT NULL AND i.code IN ('D06', 'D07', 'D12') GROUP BY i.session_id, i.turn_id
), cut AS (SELECT session_id, turn_id, max(part) AS parts FROM audit.import_parts WHERE part IS NOT NULL GROUP BY session_id, turn_id),
due AS (SELECT session_id, message_id, meant, count(*) AS n FROM audit.import_due GROUP BY session_id, message_id, meant),
twice AS (
    SELECT DISTINCT f.session_id, f.turn_id FROM audit.import_found AS f
        LEFT JOIN due AS d ON d.session_id = f.session_id AND d.message_id = f.stored_id AND d.meant = f.meant
    WHERE f.converted AND f.meant <> 'turn_state' AND f.stored_id IS NOT NULL AND f.alike > greatest(1, coalesce(d.n, 0))
        AND (d.n IS NOT NULL OR f.meant <> 'thinking')
), runs AS (
    SELECT r.*, l.rows AS lost, l.first_lost, l.last_lost, l.lost_at, coalesce(c.parts, 1) AS parts, w.turn_id IS NOT NULL AS doubled,
        t.last_state IS NOT NULL AS told_end
    FROM audit.import_runs AS r LEFT JOIN lost AS l ON l.session_id = r.session_id AND l.turn_id = r.turn_id
        LEFT JOIN cut AS c ON c.session_id = r.session_id AND c.turn_id = r.turn_id
        LEFT JOIN twice AS w ON w.session_id = r.session_id AND w.turn_id = r.turn_id
        LEFT JOIN audit.import_turns AS t ON t.session_id = r.session_id AND t.turn_id = r.turn_id
)
SELECT session_id, turn_id, run_id, generation,
    CASE WHEN facts = 0 THEN 'opening' WHEN user_text AND facts = 1 THEN 'opening and user' ELSE 'opening and ' || facts || ' fact(s)' END
        || CASE WHEN ended THEN ', ' || coalesce(nullif(status, ''), 'ended') ELSE ', open' END AS shape,
    CASE WHEN generation = 'header' THEN 'a run header without content, ended by the migration to 16'
        WHEN abandoned THEN 'a converter of the C3 kind sealed the prefix of another'
        WHEN facts = 0 AND ended THEN 'a start that failed, sealed before the prompt'
        WHEN recovered AND generation <> 'C0' THEN 'generic recovery sealed an unfinished conversion'
        WHEN doubled AND generation = 'C0' THEN 'C0 was killed inside the turn and resumed'
        WHEN doubled THEN 'converted by two attempts that did not see each other'
        WHEN ended AND lost > 0 AND parts > 1 THEN 'its rows cross the edge of a conversion page'
        WHEN ended AND lost > 0 AND highest > numbered THEN 'event(s) are gone that were written: the numbers have gaps'
        WHEN ended AND lost > 0 AND missing_end AND generation = 'C2' THEN 'generic recovery sealed a conversion of the C2 kind'
        WHEN ended AND lost > 0 AND lost_at > end_at THEN 'rows written after the turn was converted'
        WHEN ended AND lost > 0 AND missing_end THEN 'sealed before its rows were converted'
        WHEN ended AND lost > 0 THEN 'not known'
        WHEN ended THEN NULL
        WHEN generation = 'C0' THEN 'C0 was killed inside the turn'
        WHEN generation = 'C1' AND facts = 0 THEN 'C1 was killed at once'
        WHEN generation = 'C1' THEN 'C1 was killed inside the turn'
        ELSE 'a conversion was interrupted inside the turn' END AS cause,
    coalesce(lost, 0) AS lost, first_lost, last_lost
FROM runs
WHERE NOT ended OR lost > 0 OR doubled OR abandoned OR (recovered AND generation <> 'C0') OR (facts = 0 AND ended)
