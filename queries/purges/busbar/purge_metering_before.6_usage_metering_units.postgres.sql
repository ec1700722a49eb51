-- verb: purge_metering_before
-- table: usage_metering_units
-- about: what the verb runs on usage_metering_units, in the words of the store.
-- applies: busbar postgres 10-11
-- params: bucket hugeint
DELETE FROM usage_metering_units WHERE bucket = $bucket
