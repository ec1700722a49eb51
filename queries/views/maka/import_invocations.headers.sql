-- view: import_invocations
-- kind: table
-- about: one invocation of a session's own transcript, by its opening or by its events where it has none; derived is the run id that
--   conversion gives its turn; header_ended: where runs have headers, the header says that the run is over.
-- applies: maka sqlite 11-15
SELECT k.*, 'transcript-' || left(sha256(k.session_id || chr(0) || k.turn_id), 48) AS derived,
    coalesce(h.status IN ('completed', 'failed', 'aborted', 'cancelled'), false) AS header_ended
FROM audit.transcript_invocations AS k LEFT JOIN source.header_facts AS h ON h.session_id = k.session_id AND h.run_id = k.run_id AND h.invocation_id = k.invocation_id
WHERE k.session_id IS NOT NULL AND k.turn_id IS NOT NULL AND k.run_id IS NOT NULL AND k.invocation_id IS NOT NULL
