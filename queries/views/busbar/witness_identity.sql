-- view: witness_identity
-- kind: table
-- about: one row: keys and chains that were witnessed here, and how many of each are in the store now (marks_found is NULL where keys were
--   not looked at). replaced: none is.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH counted AS (
    SELECT f.marks, f.marks_found, (SELECT count(*) FROM source.witness) AS chains,
        (SELECT count(*) FROM source.witness AS w SEMI JOIN audit.chain_records AS r
            ON r.scope = w.scope AND r.seq = w.last_seq AND r.hash = w.last_hash) AS chains_found
    FROM source.witness_file AS f
)
SELECT *, coalesce(marks + chains > 0 AND (marks = 0 OR marks_found = 0) AND chains_found = 0, false) AS replaced FROM counted
