-- code: A2A-M05
-- title: A helper's body is not the one of its generation
-- severity: critical
-- applies: a2a postgres 11-14
-- params: accepted_bodies varchar = none
-- examines: source.functions
-- proves: The normalised text of the helper has another digest than any known of the generation its marker names.
-- does not prove: Malice: an edit by hand looks the same. Digests of v1 to v3 were taken from their manuals and are
--   unverified here, so there it is high.
-- meaning: Behind a right marker the SDK compares the text as well and refuses to start; whoever can replace a helper
--   decides what is deleted.
-- next: Read the function (pg_get_functiondef), compare it with the migration of your SDK version, and run that again.
WITH g AS (SELECT greatest(stamp, implied) AS number FROM source.store), said AS (
    SELECT f.*, coalesce(f.marker, g.number) AS due FROM source.functions AS f, g WHERE f.intended
)
SELECT 'functions' AS subject, s.name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'the body is ' || CASE WHEN s.called = '' THEN 'not known (digest ' || s.digest || ')' ELSE 'that of ' || s.called END
    || ', the marker or the other objects say v' || s.due - 10 AS detail,
    CASE WHEN s.due = 14 THEN 'critical' ELSE 'high' END AS severity
FROM said AS s
WHERE NOT list_contains(s.generations, s.due)
    AND NOT contains($accepted_bodies, s.digest)
ORDER BY subject, place, first_seq, last_seq, detail
