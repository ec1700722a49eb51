-- code: BUS-S15
-- title: The version rows do not fit the tables
-- severity: medium
-- applies: busbar postgres 6-11
-- params: none
-- examines: source.store
-- proves: the highest row of busbar_schema is missing, or names another generation than the tables are of.
-- does not prove: which of the two is right.
-- meaning: Rows of busbar_schema were lost or added by hand, an upgrade stopped half way, or an older copy was restored over a newer one.
-- next: Compare with a backup before the gateway starts again: it upgrades by this number, and takes a higher one for its own without a word.
WITH seen AS (
    SELECT (SELECT max(version) FROM raw.busbar_schema) AS highest, (SELECT implied FROM source.store) AS implied
)
SELECT 'busbar_schema' AS subject, 'version' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN highest IS NULL THEN 'there is no version row' ELSE 'the highest version is ' || highest END
        || ', the tables are of generation ' || implied AS detail
FROM seen WHERE highest IS DISTINCT FROM implied
ORDER BY subject, place, first_seq, last_seq, detail
