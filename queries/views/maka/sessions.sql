-- view: sessions
-- kind: table
-- about: one session; readable and own_id tell of its header: a JSON object, and the id in it. ledger_version is NULL where the header does not have the member, created is in milliseconds.
-- applies: maka sqlite 5-18
-- The product writes half a surrogate pair as an escape, which is legal JSON and is refused here; it is replaced, and only where the header is refused.
WITH read AS (
    SELECT session_id, CASE WHEN coalesce(TRY(json_valid(payload_json)), false) THEN payload_json
        ELSE regexp_replace(payload_json, '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g') END AS header
    FROM raw.session_metadata
)
SELECT session_id, coalesce(TRY(json_type(header)) = 'OBJECT', false) AS readable,
    TRY(json_extract_string(header, '$.id')) AS own_id,
    TRY_CAST(TRY(json_extract(header, '$.transcriptLedgerVersion')) AS BIGINT) AS ledger_version,
    TRY_CAST(TRY(json_extract(header, '$.createdAt')) AS DOUBLE) AS created,
    coalesce(TRY(json_type(header, '$.externalOrigin')) = 'OBJECT', false) AS foreign_origin,
    TRY(json_extract_string(header, '$.connectionLocked')) AS connection_locked,
    TRY(json_extract_string(header, '$.hasUnread')) AS unread,
    TRY(json_extract_string(header, '$.lastReadMessageId')) AS last_read
FROM read
