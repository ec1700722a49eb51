-- view: user_rows
-- kind: view
-- about: how many messages of the user a turn has among its legacy rows: n those that are no steering, every all of them.
-- applies: maka sqlite 8-18
SELECT session_id, turn_id, count(*) FILTER (steering_event IS NULL) AS n, count(*) AS every
FROM audit.legacy_rows WHERE type = 'user' GROUP BY session_id, turn_id
