-- figure: proven_chains
-- about: witnessed chains in which what was witnessed is there.
SELECT population, scope, now FROM audit.witnessed WHERE standing = 'proven' ORDER BY population, scope
