-- view: import_account
-- kind: table
-- about: the account of one session and kind of row: rows are counted in session_messages and nowhere else, each fate in
--   import_rows; first_lost is the sequence of the first lost row, skipped_by and lost_by name the rules.
-- applies: maka sqlite 8-18
WITH fates AS (
    SELECT session_id, kind, count(*) FILTER (fate = 'converted') AS converted, count(*) FILTER (fate = 'owned') AS owned,
        count(*) FILTER (fate = 'skipped') AS skipped, count(*) FILTER (fate = 'lost') AS lost,
        count(*) FILTER (fate = 'pending') AS pending, count(*) FILTER (fate = 'unread') AS unread,
        min(sequence) FILTER (fate = 'lost') AS first_lost,
        list_sort(list(DISTINCT rule) FILTER (fate = 'skipped')) AS skipped_by, list_sort(list(DISTINCT rule) FILTER (fate = 'lost')) AS lost_by
    FROM audit.import_rows GROUP BY session_id, kind
), held AS (
    SELECT m.session_id, coalesce(r.kind, 'unreadable') AS kind, count(*) AS rows
    FROM raw.session_messages AS m LEFT JOIN (SELECT session_id, sequence, any_value(kind) AS kind FROM audit.import_rows GROUP BY session_id, sequence) AS r
        ON r.session_id = m.session_id AND r.sequence = m.sequence
    GROUP BY 1, 2
)
SELECT h.session_id, h.kind, h.rows, coalesce(f.converted, 0) AS converted, coalesce(f.owned, 0) AS owned, coalesce(f.skipped, 0) AS skipped,
    coalesce(f.lost, 0) AS lost, coalesce(f.pending, 0) AS pending, coalesce(f.unread, 0) AS unread, f.first_lost, f.skipped_by, f.lost_by,
    h.rows = coalesce(f.converted + f.owned + f.skipped + f.lost + f.pending + f.unread, 0) AS balances
FROM held AS h LEFT JOIN fates AS f ON f.session_id = h.session_id AND f.kind = h.kind
