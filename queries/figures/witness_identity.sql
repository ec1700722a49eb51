-- figure: witness_identity
-- about: whether the store that was witnessed at this place has been replaced by another.
SELECT replaced FROM audit.witness_identity ORDER BY replaced DESC
