-- code: BUS-T16
-- title: A task that was witnessed is gone
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- needs: --witness
-- examines: source.witness
-- proves: A task with events at the time of the witness has neither row nor event now.
-- does not prove: That work was deleted: the witness keeps no state, and a purge takes finished tasks lawfully. One
--   that was not finished had to stay, whatever its age.
-- meaning: The task was purged, or deleted before it was finished.
-- next: Look the task up in an earlier report or a backup: if it was not terminal then, it was deleted work.
SELECT w.population AS subject, w.scope AS place, 1 AS first_seq, w.last_seq, w.last_seq AS records,
    'witnessed up to event ' || w.last_seq || ', now neither row nor event' AS detail
FROM source.witness AS w
ANTI JOIN audit.task_events AS e ON e.task_id = w.scope
ANTI JOIN audit.tasks AS t ON t.task_id = w.scope
WHERE w.population IN ('task_events', 'task_event')
ORDER BY subject, place, first_seq, last_seq, detail
