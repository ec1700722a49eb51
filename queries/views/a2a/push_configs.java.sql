-- view: push_configs
-- kind: table
-- about: one row a push configuration of the Java SDK: its form (json, unreadable), scheme, host and kind of place of its callback, no secret.
-- applies: a2a postgres 20
SELECT s.task_id, s.config_id, p.* EXCLUDE (_row)
FROM raw.a2a_push_notification_configs AS s LEFT JOIN source.java_configs AS p ON p._row = s._row
