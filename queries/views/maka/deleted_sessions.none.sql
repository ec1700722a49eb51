-- view: deleted_sessions
-- kind: view
-- about: sessions that a user deleted; builds before runtime schema 11 keep no list of them.
-- applies: maka sqlite 5-10
SELECT CAST(NULL AS VARCHAR) AS session_id WHERE false
