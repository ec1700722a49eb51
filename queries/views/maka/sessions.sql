-- view: sessions
-- kind: table
-- about: one session; ledger_version is NULL where its header does not have the member, created is in milliseconds.
-- applies: maka sqlite 5-18
SELECT session_id, coalesce(TRY(json_valid(payload_json)), false) AS valid,
    TRY_CAST(TRY(json_extract(payload_json, '$.transcriptLedgerVersion')) AS BIGINT) AS ledger_version,
    TRY_CAST(TRY(json_extract(payload_json, '$.createdAt')) AS DOUBLE) AS created,
    coalesce(TRY(json_type(payload_json, '$.externalOrigin')) = 'OBJECT', false) AS foreign_origin,
    TRY(json_extract_string(payload_json, '$.connectionLocked')) AS connection_locked,
    TRY(json_extract_string(payload_json, '$.hasUnread')) AS unread,
    TRY(json_extract_string(payload_json, '$.lastReadMessageId')) AS last_read
FROM raw.session_metadata
