-- figure: write_traces
-- about: the traces of the write path that were weighed beside the times of the last writes.
SELECT population, trace, records, first_at, last_at
FROM audit.write_traces
ORDER BY population, trace
