-- figure: a2a_startup
-- about: Every rule of the newest SDK's validation at start-up, and whether this store passes it.
SELECT rule, about, holds FROM audit.startup_rules ORDER BY rule
