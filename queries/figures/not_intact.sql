-- figure: not_intact
-- about: chains of which something is to be said, the broken ones first, each with its range and its first and last bad record.
-- params: limit bigint = 50
SELECT population, scope, records, first_seq, last_seq, last_hash, verdict, about, first_bad, last_bad, count(*) OVER () AS total
FROM audit.chain_verdicts
WHERE len(about) > 0
ORDER BY verdict = 'broken' DESC, verdict = 'unverifiable' DESC, records DESC, population, scope
LIMIT $limit
