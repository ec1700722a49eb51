-- code: BUS-M03
-- title: An outcome and reason that do not go together
-- severity: medium
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: The outcome is unknown, the reason is unknown, a refusal has no reason, or an upstream failure is called
--   refused.
-- does not prove: An edit: a newer gateway may know more words.
-- meaning: The record was edited, or written by a newer gateway.
-- next: Compare with the gateway version of that time.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'outcome ' || left(outcome, 40) || ', reason ' || CASE WHEN reason = '' THEN '(none)' ELSE left(reason, 40) END AS detail
FROM audit.calls WHERE decodable AND (outcome NOT IN ('dispatched', 'refused')
    OR reason NOT IN ('', 'upstream_failed', 'not_granted', 'egress_denied', 'caller_ask_pending', 'task_created', 'limit_exceeded',
        'malformed_params', 'hook_rejected', 'no_upstream_left', 'not_interchangeable', 'not_repeatable', 'identity_not_live', 'not_serving',
        'artifact_drifted', 'generation_moved')
    OR (outcome = 'refused' AND reason IN ('', 'upstream_failed')))
GROUP BY population, scope, outcome, reason
ORDER BY subject, place, first_seq, last_seq, detail
