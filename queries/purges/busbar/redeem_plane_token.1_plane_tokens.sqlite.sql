-- verb: redeem_plane_token
-- table: plane_tokens
-- about: what the verb runs on plane_tokens, in the words of the store.
-- applies: busbar sqlite 10-12
-- params: now hugeint
DELETE FROM plane_tokens WHERE expires_at < $now
