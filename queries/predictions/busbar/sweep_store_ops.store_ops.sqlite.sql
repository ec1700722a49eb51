-- verb: sweep_store_ops
-- table: store_ops
-- about: rows of store_ops that go, each by its key.
-- applies: busbar sqlite 11-12
-- params: now hugeint
SELECT 'store_ops' AS table_name, [lower(hex(op_id))] AS key, 'store_ops' AS population, '' AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(recorded_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.store_ops WHERE recorded_at <= $now - 86400
