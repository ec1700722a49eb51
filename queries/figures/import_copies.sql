-- figure: import_copies
-- about: rows of a gateway's store that an upgrade copies, and what became of them: the engine's copy of the admin audit, and, with
--   an earlier store, the plane copy.
-- params: none
WITH records AS (SELECT DISTINCT seq, hash FROM audit.admin_audit WHERE population = 'audit' AND scope = 'admin'),
typed AS (SELECT seq, any_value(hash) AS hash, count(*) AS n FROM audit.admin_audit WHERE population = 'audit_log' GROUP BY seq),
audits AS (
    SELECT t.n, CASE WHEN NOT EXISTS (SELECT 1 FROM records) THEN 'pending' WHEN r.seq IS NULL THEN 'lost' WHEN r.hash <> t.hash THEN 'differs'
        ELSE 'converted' END AS fate, t.seq
    FROM typed AS t LEFT JOIN (SELECT seq, any_value(hash) AS hash FROM records GROUP BY seq) AS r ON r.seq = t.seq
), lines AS (
    SELECT 'engine copy' AS part, 'audit_log' AS kind, fate, CASE fate WHEN 'pending' THEN '8.4 no engine has copied it' WHEN 'lost' THEN '8.4 the copy stopped (C14)'
        WHEN 'differs' THEN '8.4 the two histories differ (C15)' ELSE '8.4' END AS rule, sum(n) AS rows, min(seq) AS first_seq, CAST(NULL AS VARCHAR) AS identity
    FROM audits GROUP BY fate
    UNION ALL
    SELECT part, kind, fate, rule, sum(rows), arg_min(seq, (identity, seq)), min(identity) FROM source.copy_rows GROUP BY part, kind, fate, rule
)
SELECT part, kind, fate, rule, CAST(rows AS BIGINT) AS rows, CASE WHEN fate IN ('lost', 'differs') THEN first_seq END AS first_seq,
    CASE WHEN fate IN ('lost', 'differs') THEN identity END AS identity
FROM lines ORDER BY part, kind, fate, rule
