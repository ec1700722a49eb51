-- view: user_rows
-- kind: view
-- about: how many messages of the user that are no steering a turn has among its legacy rows.
-- applies: maka sqlite 8-18
SELECT session_id, turn_id, count(*) AS n FROM audit.legacy_rows WHERE type = 'user' AND steering_event IS NULL GROUP BY session_id, turn_id
