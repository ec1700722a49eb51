-- code: A2A-G04
-- title: The two tables are of different generations
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.classes
-- proves: The columns of one table are those of another generation than the columns of the other.
-- does not prove: Who changed it, or when.
-- meaning: A migration was run over an older shape than it was made for. Listing and writing fail on the columns that are
--   missing.
-- next: Let the SDK's own initialiser (auto_create_schema) bring a copy up to date and compare, before it is done here.
SELECT 'a2a_tasks' AS subject, 'columns' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'tasks: ' || tasks || '; push configurations: ' || configs AS detail
FROM source.classes WHERE NOT fit AND tasks <> 'unknown' AND configs <> 'unknown'
ORDER BY subject, place, first_seq, last_seq, detail
