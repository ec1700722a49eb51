-- view: legacy_rows
-- kind: table
-- about: one row of session_messages with what was decoded of it, chunked records joined.
-- applies: maka sqlite 8-11
SELECT m.session_id, m.sequence, m.message_id, m.message_type, m.message_ts, f.* EXCLUDE (session_id, sequence),
    CAST(NULL AS BIGINT) AS payload_bytes, CAST(NULL AS BIGINT) AS chunks
FROM raw.session_messages AS m JOIN source.row_facts AS f ON f.session_id = m.session_id AND f.sequence = m.sequence
