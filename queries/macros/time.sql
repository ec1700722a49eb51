-- Moments as other programs write them.

-- What a PostgreSQL server at UTC writes of a moment, as unix seconds. Infinity and years beyond 9999 are the end of that year, so that
-- every program here can hold them; what was before our era is not told.
CREATE OR REPLACE MACRO audit.server_seconds(t) AS CASE
    WHEN t = 'infinity' OR position('-' IN t) > 5 THEN 253402300799
    WHEN ends_with(t, '+00') THEN CAST(floor(epoch(TRY_CAST(left(t, length(t) - 3) AS TIMESTAMP))) AS BIGINT)
END;
