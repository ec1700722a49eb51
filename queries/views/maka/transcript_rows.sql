-- view: transcript_rows
-- kind: table
-- about: one row of a transcript as pages of query Q-B serve it, derived from facts of events alone and not by the projection.
-- applies: maka sqlite 16-18
WITH settled AS (
    -- An invocation from the place of its opening to that of its first ending.
    SELECT i.invocation_id, o.ordinal AS first, t.ordinal AS last
    FROM audit.inline_invocations AS i JOIN audit.ledger_events AS o ON o.event_id = i.at_event AND o.session_id = i.session_id
        JOIN (SELECT invocation_id, arg_min(ordinal, seq) AS ordinal FROM audit.terminals GROUP BY invocation_id) AS t
        ON t.invocation_id = i.invocation_id
), placed AS (
    SELECT e.*, coalesce(nullif(e.stored_id, ''), nullif(e.provider_event_id, ''), e.event_id) AS stable_id
    FROM audit.ledger_events AS e JOIN settled AS s ON s.invocation_id = e.invocation_id AND e.ordinal BETWEEN s.first AND s.last
    WHERE e.valid AND e.partial = 'false'
), made AS (
    SELECT *, [
        CASE WHEN content_kind = 'text' AND role = 'user' THEN {'type': 'user', 'id': stable_id}
            WHEN content_kind = 'text' AND role = 'model' THEN {'type': 'assistant', 'id': stable_id}
            WHEN content_kind = 'function_call' THEN {'type': 'tool_call', 'id': tool_use_id}
            WHEN content_kind = 'function_response' THEN {'type': 'tool_result', 'id': stable_id}
            WHEN content_kind = 'system_note' THEN {'type': 'system_note', 'id': stable_id} END,
        CASE WHEN receipt THEN {'type': 'workhub_coordination', 'id': event_id} END,
        CASE WHEN answered_request IS NOT NULL THEN {'type': 'permission_decision', 'id': answered_request} END,
        CASE WHEN decided_request IS NOT NULL THEN {'type': 'permission_decision', 'id': decided_request} END,
        CASE WHEN usage THEN {'type': 'token_usage', 'id': stable_id} END,
        CASE WHEN NOT handoff AND status IN ('completed', 'failed', 'aborted', 'cancelled') THEN {'type': 'turn_state', 'id': stable_id} END,
        CASE WHEN NOT handoff AND status = 'failed' AND capped
            THEN {'type': 'system_note', 'id': event_id || ':step-limit-notice'} END
    ] AS candidates
    FROM placed
), numbered AS (
    SELECT session_id, turn_id, invocation_id, event_id, ordinal, unnest(list_filter(candidates, lambda c: c IS NOT NULL)) AS r,
        generate_subscripts(list_filter(candidates, lambda c: c IS NOT NULL), 1) - 1 AS nth
    FROM made
)
SELECT session_id, turn_id, invocation_id, event_id, nth AS row_offset, r.type AS type, r.id AS row_id, ordinal * 8 + nth AS sequence
FROM numbered
