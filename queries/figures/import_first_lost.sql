-- figure: import_first_lost
-- about: the first lost row of each session with its neighbours: numbers, kinds, ids, lengths and fates, never texts.
-- params: limit bigint = 8, side bigint = 3
WITH first AS (
    SELECT session_id, min(sequence) AS sequence, count(*) AS lost, count(*) OVER () AS total FROM audit.import_rows WHERE fate = 'lost' GROUP BY session_id
), picked AS (SELECT *, row_number() OVER (ORDER BY lost DESC, session_id) AS place FROM first),
numbered AS (
    SELECT i.*, l.bytes, l.message_ts, row_number() OVER (PARTITION BY i.session_id ORDER BY i.sequence) AS nth
    FROM audit.import_rows AS i JOIN picked AS p ON p.session_id = i.session_id AND p.place <= $limit
        JOIN audit.legacy_rows AS l ON l.session_id = i.session_id AND l.sequence = i.sequence
), middle AS (
    SELECT p.place, p.session_id, p.sequence, p.lost, p.total, n.nth FROM picked AS p
        JOIN numbered AS n ON n.session_id = p.session_id AND n.sequence = p.sequence
), causes AS (
    SELECT session_id, turn_id, any_value(generation || ': ' || cause) AS cause FROM audit.import_causes WHERE cause IS NOT NULL GROUP BY session_id, turn_id
)
SELECT m.place, m.session_id, m.sequence AS first_lost, m.lost, m.total, n.sequence, n.kind, n.row_id, n.turn_id, n.bytes, n.message_ts, n.fate, n.rule, n.code,
    n.event_id, c.cause
FROM middle AS m JOIN numbered AS n ON n.session_id = m.session_id AND n.nth BETWEEN m.nth - $side AND m.nth + $side
    LEFT JOIN causes AS c ON c.session_id = n.session_id AND c.turn_id = n.turn_id
ORDER BY m.place, n.sequence
