-- figure: proven_chains
-- about: witnessed chains in which what was witnessed is there, and those that a purge can have taken whole and that begin anew.
SELECT population, scope, now, standing = 'anew' AS anew FROM audit.witnessed WHERE standing IN ('proven', 'anew') ORDER BY population, scope
