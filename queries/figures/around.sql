-- figure: around
-- about: a record with its neighbours in the chain, their hashes, and the faults that show at each.
-- params: population varchar, scope varchar, seq bigint, side bigint = 3
WITH chain AS (
    SELECT seq, row, ts, prev_hash, hash FROM audit.chain_records WHERE population = $population AND scope = $scope
), near AS (
    (SELECT * FROM chain WHERE seq < $seq ORDER BY seq DESC, row DESC LIMIT $side)
    UNION ALL
    (SELECT * FROM chain WHERE seq >= $seq ORDER BY seq, row LIMIT $side + 1)
), faults AS (
    SELECT seq, list(DISTINCT about ORDER BY about) AS about FROM audit.chain_faults
    WHERE population = $population AND scope = $scope GROUP BY seq
)
SELECT n.seq, n.row, n.ts, n.prev_hash, n.hash, coalesce(f.about, []) AS about
FROM near AS n LEFT JOIN faults AS f ON f.seq = n.seq
ORDER BY n.seq, n.row
