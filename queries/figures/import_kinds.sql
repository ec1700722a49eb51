-- figure: import_kinds
-- about: what became of the rows of each kind, over all sessions.
-- params: none
SELECT kind, sum(rows) AS rows, sum(converted) AS converted, sum(owned) AS owned, sum(skipped) AS skipped, sum(lost) AS lost, sum(pending) AS pending,
    sum(unread) AS unread, bool_and(balances) AS balances
FROM audit.import_account GROUP BY kind ORDER BY rows DESC, kind
