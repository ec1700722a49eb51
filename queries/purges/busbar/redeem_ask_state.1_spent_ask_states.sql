-- verb: redeem_ask_state
-- table: spent_ask_states
-- about: what the verb runs on spent_ask_states, in the words of the store.
-- applies: busbar sqlite 9
-- params: now hugeint
DELETE FROM spent_ask_states WHERE expires_at < $now
