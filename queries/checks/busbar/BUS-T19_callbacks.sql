-- code: BUS-T19
-- title: Callbacks that are not plain https to a public host
-- severity: info
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: push_callback is no https URL, carries a user name, or names this host or a private network.
-- does not prove: Misuse: test and inside deployments do so on purpose.
-- meaning: The gateway can be made to call inside the network, or tells results unencrypted.
-- next: Check that these hosts are meant; the gateway drops what its rules forbid (BUSBAR-7090).
WITH split AS (
    SELECT population, task_id, lower(regexp_extract(push_callback, '^([A-Za-z][A-Za-z0-9+.-]*)://', 1)) AS scheme,
        regexp_extract(push_callback, '^[A-Za-z][A-Za-z0-9+.-]*://([^/?#\\]*)', 1) AS authority
    FROM audit.tasks WHERE decodable AND push_callback <> ''
), named AS (
    -- Only scheme and host are shown: user name, path and query may hold secrets.
    SELECT population, task_id, scheme, contains(authority, '@') AS with_user,
        lower(rtrim(regexp_replace(regexp_replace(authority, '^.*@', ''), ':\d*$', ''), '.')) AS host
    FROM split
), judged AS (
    SELECT *, CASE WHEN scheme <> 'https' THEN true ELSE false END AS plain,
        host = '' OR host = 'localhost' OR regexp_matches(host, '\.(localhost|local|internal|lan|home|corp|intranet)$')
        OR regexp_matches(host, '^(0|10|127)\.|^192\.168\.|^169\.254\.|^172\.(1[6-9]|2\d|3[01])\.|^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.')
        OR regexp_matches(host, '^\[(::1?|::ffff:.*|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$')
        -- A name without a dot, and numbers that stand for an address, such as 2130706433 or 0x7f000001.
        OR (NOT contains(host, '.') AND NOT starts_with(host, '[')) OR regexp_matches(host, '(^|\.)0[x0-9][0-9a-f]*(\.|$)') AS inside
    FROM named
)
SELECT population AS subject, scheme || '://' || left(host, 80) AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' task(s) call back: ' || concat_ws(', ', CASE WHEN plain THEN 'not https' END, CASE WHEN inside THEN 'this host or a private network' END,
        CASE WHEN bool_or(with_user) THEN 'with a user name' END) || '; the first is ' || left(min(task_id), 60) AS detail
FROM judged WHERE plain OR inside OR with_user
GROUP BY population, scheme, host, plain, inside
ORDER BY subject, place, first_seq, last_seq, detail
