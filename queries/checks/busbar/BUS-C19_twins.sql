-- code: BUS-C19
-- title: Two principals differ only in case, blanks or spelling
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.principals
-- proves: Two principals are equal after case folding, trimming and Unicode composition.
-- does not prove: That they are one person.
-- meaning: On a store that ignores case their records would be one chain, and one could read the other.
-- next: Check who they are before moving to another store engine.
SELECT 'principal' AS subject, min(principal) AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' principals with one folded name' AS detail
FROM audit.principals GROUP BY nfc_normalize(lower(nfc_normalize(trim(principal, chr(32) || chr(9) || chr(10) || chr(13) || chr(160))))) HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
