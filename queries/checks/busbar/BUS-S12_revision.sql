-- code: BUS-S12
-- title: The revision counter is behind its rows
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: raw.store_revision
-- proves: store_revision is lower than the highest revision of a key or credential, or has not exactly one row.
-- does not prove: Which of the two was changed.
-- meaning: The store was restored in part, or edited; other nodes will miss changes of keys.
-- next: Compare keys and credentials with a backup; restart every node after the counter is right.
WITH seen AS (
    SELECT (SELECT count(*) FROM raw.store_revision) AS lines, (SELECT max(revision) FROM raw.store_revision) AS revision,
        (SELECT coalesce(max(revision), 0) FROM raw.keys) AS keys, (SELECT coalesce(max(revision), 0) FROM raw.credentials) AS credentials
)
SELECT 'store_revision' AS subject, 'revision' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    lines || ' row(s), revision ' || coalesce(CAST(revision AS VARCHAR), 'none') || '; highest in keys ' || keys || ', in credentials ' || credentials AS detail
FROM seen WHERE lines <> 1 OR revision IS NULL OR revision < keys OR revision < credentials
ORDER BY subject, place, first_seq, last_seq, detail
