-- figure: marks
-- about: marks of the keys, oldest first.
SELECT mark FROM audit.identity_marks ORDER BY created_at, id
