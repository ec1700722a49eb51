-- figure: divergence_refused
-- about: sessions that the Session view refuses, and the event and reason it names.
-- params: limit bigint = 20
WITH hard AS (
    SELECT session_id, arg_min(event_id, coalesce(event_id, '')) AS event_id, arg_min(message, coalesce(event_id, '')) AS reason
    FROM audit.transcript_facts WHERE fact = 'diagnostic' AND view = 'hard' GROUP BY session_id
)
SELECT s.session_id, s.message AS refusal, h.event_id, h.reason, count(*) OVER () AS total
FROM audit.transcript_facts AS s LEFT JOIN hard AS h ON h.session_id = s.session_id
WHERE s.fact = 'session' AND s.view = 'refused' ORDER BY s.session_id LIMIT $limit
