-- view: deleted_sessions
-- kind: view
-- about: sessions that a user deleted; builds before runtime schema 11 keep no list of them.
-- applies: maka sqlite 11-18
SELECT session_id FROM raw.session_metadata_tombstones
