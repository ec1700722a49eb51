-- verb: purge_metering_before
-- table: usage_metering_units
-- about: what the verb runs on usage_metering_units, in the words of the store.
-- applies: busbar sqlite 10-12
-- params: bucket varchar
DELETE FROM usage_metering_units WHERE bucket = $bucket
