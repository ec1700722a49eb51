-- view: identity_marks
-- kind: view
-- about: one mark a key: its id and time of creation, digested. Keys are never deleted, so the oldest tell one store from another.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT sha256(concat(id, '|', created_at)) AS mark, created_at, id FROM raw.keys WHERE id IS NOT NULL AND created_at IS NOT NULL
