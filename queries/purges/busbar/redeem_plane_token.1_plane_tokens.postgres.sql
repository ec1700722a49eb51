-- verb: redeem_plane_token
-- table: plane_tokens
-- about: what the verb runs on plane_tokens, in the words of the store.
-- applies: busbar postgres 10-11
-- params: kind varchar, now hugeint
DELETE FROM plane_tokens WHERE kind = $kind AND expires_at < $now
