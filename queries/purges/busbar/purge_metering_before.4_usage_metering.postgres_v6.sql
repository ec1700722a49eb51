-- verb: purge_metering_before
-- table: usage_metering
-- about: what the verb runs on usage_metering, in the words of the store.
-- applies: busbar postgres 6
-- params: bucket hugeint
DELETE FROM usage_metering WHERE bucket = $bucket
