-- view: money_use
-- kind: part
-- about: one row a money slot with what was used of it and its cap, NULL where there is none.
-- applies: busbar postgres 11
SELECT slot, used, cap FROM raw.money_slots
