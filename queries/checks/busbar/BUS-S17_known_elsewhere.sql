-- code: BUS-S17
-- title: The store was witnessed at another place
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: source.witness_file
-- proves: Keys of this store are marked in the witness of another place, and this place has no witness.
-- does not prove: That it was moved: it may be a copy of a store that is still in use there.
-- meaning: A copy was restored or moved, or the wrong file is being audited. Its end is not held against the witness.
-- next: If this is the store now, `busbar-audit witness adopt` begins a witness for this place.
SELECT 'store' AS subject, '' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, detail
FROM source.witness_file WHERE status = 'elsewhere'
ORDER BY subject, place, first_seq, last_seq, detail
