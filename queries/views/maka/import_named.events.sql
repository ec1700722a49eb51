-- view: import_named
-- kind: view
-- about: one turn of which a row can be missing that a check of another area names: none, the checks begin with generation 11.
-- applies: maka sqlite 8-10
SELECT CAST(NULL AS VARCHAR) AS session_id, CAST(NULL AS VARCHAR) AS turn_id, CAST(NULL AS VARCHAR) AS code, CAST(NULL AS VARCHAR) AS message_key
WHERE false
