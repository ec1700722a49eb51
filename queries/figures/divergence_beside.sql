-- figure: divergence_beside
-- about: rows around the first difference of each session, as both readers have them: types, ids and places, never texts.
-- params: limit bigint = 8
WITH picked AS (
    SELECT session_id, string_agg(DISTINCT code, ', ' ORDER BY code) AS classes, count(*) OVER () AS total,
        row_number() OVER (ORDER BY max(CASE WHEN code = 'unexplained' THEN 1 ELSE 0 END) DESC, session_id) AS place
    FROM audit.transcript_facts WHERE fact = 'divergence' AND code <> 'V1' AND NOT (view = 'refused' AND pages = 'refused')
    GROUP BY session_id
), members AS (
    SELECT session_id, records, any_value(message) AS members FROM audit.transcript_facts WHERE fact = 'members' GROUP BY session_id, records
)
SELECT p.place, p.session_id, p.classes, p.total, f.records AS nth, f.turn_id, f.event_id, f.code AS type, f.message AS row_id, f.view, f.pages, m.members
FROM picked AS p JOIN audit.transcript_facts AS f ON f.session_id = p.session_id AND f.fact = 'beside'
    LEFT JOIN members AS m ON m.session_id = f.session_id AND m.records = f.records
WHERE p.place <= $limit ORDER BY p.place, f.records
