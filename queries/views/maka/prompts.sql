-- view: prompts
-- kind: view
-- about: one message of the user in the ledger that is no steering.
-- applies: maka sqlite 4-18
SELECT * FROM audit.ledger_events WHERE content_kind = 'text' AND role = 'user' AND NOT steering
