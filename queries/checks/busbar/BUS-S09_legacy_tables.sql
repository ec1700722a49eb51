-- code: BUS-S09
-- title: Tables that the upgrade drops are there again
-- severity: high
-- applies: busbar sqlite 10-12
-- params: none
-- examines: source.tables
-- proves: A table that generation 10 no longer has exists beside the plane records.
-- does not prove: Whether its rows are in the plane records as well.
-- meaning: An older plug-in ran after the upgrade; what it wrote there is invisible to the gateway.
-- next: Find when the old plug-in ran; carry its rows over by hand or accept the loss, and keep old binaries away.
SELECT name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, rows AS records,
    'the table has ' || rows || ' rows the gateway does not read' AS detail
FROM source.tables WHERE state = 'legacy'
ORDER BY subject, place, first_seq, last_seq, detail
