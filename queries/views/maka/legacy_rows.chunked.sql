-- view: legacy_rows
-- kind: table
-- about: one row of session_messages with what was decoded of it, chunked records joined.
-- applies: maka sqlite 12-18
WITH counted AS (SELECT session_id, sequence, count(*) AS chunks FROM raw.session_message_chunks GROUP BY session_id, sequence)
SELECT m.session_id, m.sequence, m.message_id, m.message_type, m.message_ts, f.* EXCLUDE (session_id, sequence),
    p.record_bytes AS payload_bytes, c.chunks
FROM raw.session_messages AS m JOIN source.row_facts AS f ON f.session_id = m.session_id AND f.sequence = m.sequence
    LEFT JOIN raw.session_message_payloads AS p ON p.session_id = m.session_id AND p.sequence = m.sequence
    LEFT JOIN counted AS c ON c.session_id = m.session_id AND c.sequence = m.sequence
