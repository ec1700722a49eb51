-- code: BUS-T16
-- title: A task that was witnessed is gone and had not ended
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- needs: --witness
-- examines: audit.witnessed
-- proves: A task with events at the time of the witness has neither row nor event now, and was in no terminal state then.
-- does not prove: Who removed it. It may have ended after the witness was written, and been purged since, if the purge keeps finished
--   tasks for a shorter time than lies between two runs.
-- meaning: Work was deleted before it had ended, or purged soon after.
-- next: Look the task up in an earlier report or a backup. Run the audit more often than the purge's age.
SELECT w.population AS subject, w.scope AS place, w.first_seq, w.last_seq, w.records,
    'witnessed up to event ' || w.last_seq || ' and not ended, now neither row nor event' AS detail
FROM audit.witnessed AS w
ANTI JOIN audit.tasks AS t ON t.task_id = w.scope
WHERE w.standing = 'gone' AND w.population IN ('task_events', 'task_event') AND NOT w.finished
ORDER BY subject, place, first_seq, last_seq, detail
