-- code: A2A-M04
-- title: A helper does not carry its generation's marker
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The comment of a helper is not the marker of the generation that the other objects have.
-- does not prove: That the body is wrong: a restore without comments loses only the marker.
-- meaning: The SDK refuses to start. A lower marker means that an older process has started since and put its own helpers
--   back.
-- next: Look for processes of an older SDK version, stop them, then run the migration again.
WITH g AS (SELECT greatest(stamp, implied) AS number FROM source.store)
SELECT 'functions' AS subject, f.name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN f.comment IS NULL THEN 'no marker' WHEN f.marker IS NULL THEN 'another comment (' || length(f.comment) || ' characters)'
        ELSE 'marked as v' || f.marker - 10 END || ', expected v' || g.number - 10
    || CASE WHEN f.marker < g.number THEN ': an older process has put its helper back' ELSE '' END AS detail
FROM source.functions AS f, g
WHERE f.intended AND f.marker IS DISTINCT FROM g.number
    AND (f.name = 'a2a_lock_task_for_push_config' OR (f.name = 'a2a_delete_task_push_configs' AND g.number >= 12) OR g.number >= 13)
ORDER BY subject, place, first_seq, last_seq, detail
