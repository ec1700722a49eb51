-- code: BUS-C13
-- title: A field contains the bar that separates fields
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.joined_texts
-- proves: The digest of such a record does not bind where one field ends and the next begins.
-- does not prove: That fields were moved.
-- meaning: These records could be split differently without any digest changing.
-- next: Read them with that in mind; the same text in another column proves nothing here.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s) with a bar inside a digested field' AS detail
FROM audit.joined_texts WHERE contains(text, '|')
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
