-- code: BUS-U09
-- title: Tokens that are counted twice
-- severity: high
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.usage_units
-- proves: A unit table has one of the units that have columns of their own (input, output, cache_read, cache_write).
-- does not prove: Which program wrote it.
-- meaning: Whoever adds both up counts these tokens twice.
-- next: Find the writer; correct what was billed.
SELECT subject, coalesce(place, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    'reserved: ' || string_agg(DISTINCT unit, ', ' ORDER BY unit) || '; ' || sum(amount) || ' in all' AS detail
FROM audit.usage_units WHERE unit IN ('input', 'output', 'cache_read', 'cache_write')
GROUP BY subject, place
ORDER BY subject, place, first_seq, last_seq, detail
