-- view: task_transitions
-- kind: view
-- about: one row a legal change of a task's state.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
SELECT * FROM (VALUES
    ('submitted', 'working'), ('submitted', 'input-required'), ('submitted', 'auth-required'), ('submitted', 'completed'),
    ('submitted', 'failed'), ('submitted', 'canceled'), ('submitted', 'rejected'),
    ('working', 'input-required'), ('working', 'auth-required'), ('working', 'completed'), ('working', 'failed'),
    ('working', 'canceled'), ('working', 'rejected'),
    ('input-required', 'working'), ('input-required', 'auth-required'), ('input-required', 'completed'), ('input-required', 'failed'),
    ('input-required', 'canceled'), ('input-required', 'rejected'),
    ('auth-required', 'working'), ('auth-required', 'input-required'), ('auth-required', 'completed'), ('auth-required', 'failed'),
    ('auth-required', 'canceled'), ('auth-required', 'rejected')
) AS legal (before, after)
