-- code: BUS-D09
-- title: A part of the store stopped while its counterpart goes on
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.write_path
-- proves: Usage windows end and metering goes on, or the reverse, against the habit of the part that ended; or several
--   tasks have no events, several chains of unfinished work have no task, or several approvals were used without a
--   record, all of them after the last write of the part that is silent.
-- does not prove: When it will be noticed elsewhere, nor why: a relay that leaves one method out, a plug-in of another
--   version, or rows deleted by hand.
-- meaning: One way of writing died and the others did not: what it should have recorded is lost.
-- next: Look into the gateway log of that time for BUSBAR-8008 and 7091; compare versions of gateway and plug-in;
--   write one record and look whether it is in the store.
SELECT population AS subject, 'last written' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    verdict || coalesce(' at ' || stopped_at, '') || CASE ground WHEN 'broken' THEN ', ' || other || ' goes on: ' || silence || ' days; ' || active
        || ' active days before, longest pause ' || longest || ' day(s)' ELSE '; traces of later writes: ' || traces END AS detail
FROM audit.write_path
-- Calls and events that fell silent are BUS-D02, tables that are empty against the audit's word BUS-D01, and no use on record BUS-A04.
WHERE (ground = 'outlived' AND NOT (population = 'approvals' AND records = 0)) OR (ground = 'broken' AND population IN ('usage', 'metering'))
ORDER BY subject, place, first_seq, last_seq, detail
