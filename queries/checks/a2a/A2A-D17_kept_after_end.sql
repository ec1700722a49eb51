-- code: A2A-D17
-- title: Configurations of finished tasks
-- severity: info
-- applies: a2a postgres 1-14
-- params: as_of hugeint, grace hugeint = 604800
-- examines: audit.config_tasks
-- proves: A task ended (completed, failed, canceled, rejected) longer ago than the grace period and still has
--   configurations.
-- does not prove: That they are not wanted: the SDK never removes them by itself.
-- meaning: Callbacks and secrets are kept after their use.
-- next: Sweep configurations of finished tasks regularly.
SELECT 'a2a_push_notification_configs' AS subject, 'finished tasks' AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configuration(s) of ' || count(DISTINCT task_id) || ' task(s) that ended more than '
    || $grace // 86400 || ' days before' AS detail
FROM audit.config_tasks WHERE class = 'terminal' AND task_updated < $as_of - $grace HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
