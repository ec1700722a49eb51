-- figure: a2a_orphans
-- about: Push configurations whose task is not here, by likely cause; counts only.
SELECT cause, CASE WHEN local THEN 'local' WHEN NOT local THEN 'external or unknown' ELSE 'not told' END AS provenance, sum(configurations)::BIGINT AS configurations,
    count(*) AS tasks
FROM audit.orphan_causes GROUP BY ALL ORDER BY configurations DESC, cause, provenance
