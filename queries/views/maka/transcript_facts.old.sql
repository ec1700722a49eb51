-- view: transcript_facts
-- kind: view
-- about: one fact about how a session's transcript is read: of the session, a turn, a diagnostic or a difference of the readers.
-- applies: maka sqlite 11-15
SELECT * FROM source.older_transcript_facts
