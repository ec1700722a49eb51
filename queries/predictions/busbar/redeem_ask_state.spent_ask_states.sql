-- verb: redeem_ask_state
-- table: spent_ask_states
-- about: rows of spent_ask_states that go, each by its key.
-- applies: busbar sqlite 9
-- params: now hugeint
SELECT 'spent_ask_states' AS table_name, [nonce] AS key, 'spent_ask_states' AS population, '' AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(expires_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.spent_ask_states WHERE expires_at < $now
