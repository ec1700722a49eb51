-- code: BUS-U10
-- title: Metering under more than one rate card
-- severity: info
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.metering
-- proves: priced_from_ms is set: the row was priced by a card valid from then.
-- does not prove: A fault: rate cards change.
-- meaning: A day has several rows of one key, one a rate card; they have to be added up.
-- next: Check that rate cards changed at these times.
SELECT 'usage_metering' AS subject, CAST(priced_from_ms AS VARCHAR) AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' row(s) priced by the card valid from ' || priced_from_ms || ' ms' AS detail
FROM audit.metering WHERE priced_from_ms <> 0
GROUP BY priced_from_ms
ORDER BY subject, place, first_seq, last_seq, detail
