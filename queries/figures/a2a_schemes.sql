-- figure: a2a_schemes
-- about: Callbacks by scheme, and by what secrets stand in them; counts only.
SELECT scheme, count(*) AS configurations, count(DISTINCT host) AS hosts, count(*) FILTER (token) AS tokens, count(*) FILTER (credentials) AS credentials,
    count(*) FILTER (userinfo) AS user_names, count(*) FILTER (secret_query) AS queries
FROM audit.push_configs GROUP BY scheme ORDER BY configurations DESC, scheme
