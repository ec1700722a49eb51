-- view: push_configs
-- kind: table
-- about: one row a push configuration with what its payload says beside the columns, the URL's scheme, host and kind of place, and
--   no secret. local: written for a task of this store (provenance); NULL where the generation does not tell. updated: unix seconds.
-- applies: a2a postgres 1-14
WITH stored AS (
    SELECT * FROM raw.a2a_push_notification_configs
    UNION ALL BY NAME
    SELECT CAST(NULL AS BIGINT) AS local_postgres_task, CAST(NULL AS BIGINT) AS created_sequence
    WHERE false
)
SELECT s._row, s.task_id, s.config_id, s.created_sequence, s.local_postgres_task = 1 AS local, length(s.url) AS url_length,
    audit.server_seconds(s.updated_at) AS updated,
    p.* EXCLUDE (_row)
FROM stored AS s LEFT JOIN source.config_payloads AS p ON p._row = s._row
