-- code: BUS-T07
-- title: A state, direction or kind of event that is not known
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: A word is none of the closed sets.
-- does not prove: Tampering: a newer gateway may have more words.
-- meaning: No purge ever takes a task of an unknown state, and its steps cannot be judged.
-- next: Find out whether a newer gateway wrote it; otherwise compare with a backup.
WITH strange AS (
    SELECT population, task_id, NULL AS seq, 'state ' || left(state, 40) AS word FROM audit.tasks WHERE decodable AND class = 'unknown'
    UNION ALL
    SELECT population, task_id, NULL, 'direction ' || left(direction, 40) FROM audit.tasks WHERE decodable AND direction NOT IN ('inbound', 'outbound')
    UNION ALL
    SELECT population, task_id, seq, 'event kind ' || left(kind, 40) FROM audit.task_events
    WHERE decodable AND kind NOT IN ('task.submitted', 'task.working', 'task.interrupted', 'task.resumed', 'task.delegated', 'task.artifact',
        'task.terminal', 'task.rehydrated', 'task.push_delivered', 'task.push_refused', 'task.push_failed')
    UNION ALL
    SELECT population, task_id, seq, 'event state ' || left(state, 40) FROM audit.task_events
    WHERE decodable AND state NOT IN ('submitted', 'working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected')
)
SELECT population AS subject, task_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, greatest(count(DISTINCT seq), 1) AS records,
    'not known: ' || left(string_agg(DISTINCT word, ', ' ORDER BY word), 160) AS detail
FROM strange GROUP BY population, task_id
ORDER BY subject, place, first_seq, last_seq, detail
