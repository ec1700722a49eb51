-- figure: a2a_callbacks
-- about: Callbacks by scheme and host, counts only; no user name, path, query, token or credential is in it.
SELECT scheme, host, reach, count(*) AS configurations, count(DISTINCT task_id) AS tasks, count(*) FILTER (token) AS tokens,
    count(*) FILTER (credentials) AS credentials, count(*) FILTER (userinfo) AS user_names
FROM audit.push_configs GROUP BY scheme, host, reach ORDER BY configurations DESC, scheme, host, reach
