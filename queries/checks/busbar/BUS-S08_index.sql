-- code: BUS-S08
-- title: An index is missing or altered
-- severity: low
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: source.tables
-- proves: An index of this generation is not there or differs.
-- does not prove: That duplicates exist: the unique ones only would have let them in.
-- meaning: Reads are slow; without a unique index on credentials the same public id can be issued twice.
-- next: Recreate the index after checking for duplicates.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    kind || ': ' || detail AS detail, CASE WHEN name IN ('cred_public_id_uq', 'cred_slot_uq', 'credentials_public_id_uniq', 'credentials_slot_uniq') THEN 'high' ELSE 'low' END AS severity
FROM source.differences WHERE kind IN ('index-missing', 'index-differs')
ORDER BY subject, place, first_seq, last_seq, detail
