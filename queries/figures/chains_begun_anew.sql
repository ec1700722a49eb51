-- figure: chains_begun_anew
-- about: witnessed chains of which nothing is left, and that began anew at 1 since.
SELECT population, scope FROM audit.witnessed WHERE standing = 'anew' ORDER BY population, scope
