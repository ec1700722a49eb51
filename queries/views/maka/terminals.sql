-- view: terminals
-- kind: view
-- about: one event that ends its invocation, by its status or by its action.
-- applies: maka sqlite 4-18
SELECT * FROM audit.ledger_events WHERE ends OR status IN ('completed', 'failed', 'aborted', 'cancelled')
