-- code: A2A-P19
-- title: Another table of the same kind beside
-- severity: low
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: source.namesakes
-- proves: A table of another name has the columns of the SDK's tasks or configurations; its rows were not looked at.
-- does not prove: That a service uses it: it may be a copy that somebody made.
-- meaning: If it is a store as well, nothing here says anything of it; if it is a copy, secrets are kept twice.
-- next: Give each store a schema of its own, or drop the copy.
SELECT kind AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'it has the columns of ' || kind || ' and was not looked at' AS detail
FROM source.namesakes WHERE NOT taken
ORDER BY subject, place, first_seq, last_seq, detail
