-- figure: sound_chains
-- about: chains that are intact in themselves, whatever a witness says.
SELECT population, scope FROM audit.chain_verdicts WHERE own = 'intact' ORDER BY population, scope
