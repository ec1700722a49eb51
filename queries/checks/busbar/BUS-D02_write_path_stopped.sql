-- code: BUS-D02
-- title: Calls or task events stopped being written
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.write_times
-- proves: The last call or event is more than 3 days older than the last admin audit or usage, and it had never been
--   silent nearly as long. Neither the end of all traffic nor a purge of finished tasks explains it.
-- does not prove: That there was traffic: the tools or agents may have been taken out of use.
-- meaning: The write path died while the gateway went on.
-- next: Ask whether tools and agents were in use after that time; make one call and look whether it is stored
--   (BUS-D01).
WITH oldest AS (
    SELECT min(updated_at) AS finished FROM audit.tasks WHERE decodable AND class = 'terminal'
)
SELECT population AS subject, 'last written' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'nothing since ' || last_ts || ', ' || other || ' goes on until ' || other_ts || ': ' || silence || ' days; '
    || active || ' active days before, longest pause ' || longest || ' day(s)' AS detail
FROM audit.write_silences, oldest
-- As long as a task finished before the silence is there, no purge has made the silence.
WHERE broken AND (population = 'calls' OR (population = 'task events' AND finished <= last_ts))
ORDER BY subject, place, first_seq, last_seq, detail
