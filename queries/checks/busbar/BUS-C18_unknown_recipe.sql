-- code: BUS-C18
-- title: An unknown digest version
-- severity: medium
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.plane_chain
-- proves: digest_version is neither absent nor 1 nor 2.
-- does not prove: Tampering: a newer gateway may know more.
-- meaning: The digest was recomputed by the first recipe, as the gateway does.
-- next: Update busbar-audit if a newer gateway wrote it.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'digest_version ' || left(string_agg(DISTINCT digest_version, ', ' ORDER BY digest_version), 60) AS detail
FROM audit.plane_chain WHERE digest_version IS NOT NULL AND digest_version NOT IN ('1', '2')
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
