-- figure: import_rules
-- about: rows by what became of them and by which rule of the fact sheet; code is the finding that names lost ones.
-- params: none
SELECT fate, rule, code, count(*) AS rows, count(DISTINCT session_id) AS sessions, string_agg(DISTINCT kind, ', ' ORDER BY kind) AS kinds
FROM audit.import_rows GROUP BY fate, rule, code
ORDER BY fate = 'lost' DESC, fate = 'unread' DESC, fate, rows DESC, rule, code
