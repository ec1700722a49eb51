-- view: import_invocations
-- kind: table
-- about: one invocation of a session's own transcript, by its opening or by its events where it has none; derived is the run id that
--   conversion gives its turn; header_ended: where runs have headers, the header says that the run is over.
-- applies: maka sqlite 16-18
SELECT *, 'transcript-' || left(sha256(session_id || chr(0) || turn_id), 48) AS derived, false AS header_ended FROM audit.transcript_invocations
WHERE session_id IS NOT NULL AND turn_id IS NOT NULL AND run_id IS NOT NULL AND invocation_id IS NOT NULL
