-- figure: import_sessions
-- about: the account of each session, those that do not balance or lose rows first.
-- params: limit bigint = 30
WITH told AS (
    SELECT a.session_id, sum(a.rows) AS rows, sum(a.converted) AS converted, sum(a.owned) AS owned, sum(a.skipped) AS skipped, sum(a.lost) AS lost,
        sum(a.pending) AS pending, sum(a.unread) AS unread, min(a.first_lost) AS first_lost, bool_and(a.balances) AS balances
    FROM audit.import_account AS a GROUP BY a.session_id
)
SELECT t.*, s.ledger_version, count(*) OVER () AS total FROM told AS t LEFT JOIN audit.sessions AS s ON s.session_id = t.session_id
ORDER BY t.balances, t.lost DESC, t.unread DESC, t.pending DESC, t.rows DESC, t.session_id LIMIT $limit
