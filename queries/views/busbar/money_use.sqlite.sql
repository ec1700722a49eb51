-- view: money_use
-- kind: part
-- about: one row a money slot with what was used of it and its cap, NULL where there is none.
-- applies: busbar sqlite 11-12
SELECT u.slot, u.used, c.cap FROM raw.money_used AS u LEFT JOIN raw.money_caps AS c ON c.slot = u.slot
