-- code: BUS-M02
-- title: A call body is not spelled as the gateway spells it
-- severity: low
-- applies: busbar sqlite 7-12
-- params: none
-- examines: audit.calls
-- proves: The text differs from the canonical one with the same members.
-- does not prove: A change of content: blanks and order carry no meaning.
-- meaning: Somebody wrote the body by hand, even where the digest fits. request_id is not covered by the digest.
-- next: Compare request_id and the text with the gateway log.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s) not in canonical spelling' AS detail
FROM audit.calls WHERE population = 'mcp_calls' AND members AND NOT canonical
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
