-- code: A2A-D26
-- title: A sequence that this role may not read
-- severity: medium
-- applies: a2a postgres 2-14
-- params: none
-- outcome: could_not_run
-- examines: source.sequences
-- proves: The role lacks SELECT on a sequence of the store.
-- does not prove: Anything about the sequence.
-- meaning: Whether the next rows repeat values (A2A-D14) was not looked at.
-- next: Grant the right that is named.
SELECT 'sequences' AS subject, 'rights' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    'permission denied; GRANT SELECT ON SEQUENCE ' || string_agg(place, ', ' ORDER BY place) || ' TO the role of the audit' AS detail
FROM source.sequences WHERE NOT readable HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
