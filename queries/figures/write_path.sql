-- figure: write_path
-- about: what the traces of the write path add up to, for the store as a whole and for each population, and why.
-- params: as_of hugeint
SELECT place, population, records, active, longest, last_ts, verdict, stopped_at, ground,
    CASE ground
        WHEN 'parts' THEN (SELECT string_agg(verdict || ': ' || names, '; '
            ORDER BY list_position(['stopped', 'never kept anything', 'alive', 'cannot tell'], verdict)) FROM (
            SELECT verdict, string_agg(population, ', ' ORDER BY place) AS names FROM audit.write_path WHERE place > 0 GROUP BY verdict))
        WHEN 'told' THEN traces || ' records of other populations tell of it, the last ' || greatest(ends - traced_at, 0) // 3600
            || ' h before the end of the store, and not one row is stored'
        WHEN 'told long ago' THEN traces || ' records of other populations tell of it; a purge since then would leave the same'
        WHEN 'told before the upgrade' THEN traces || ' records of other populations tell of it, but the upgrade left the rows of its time in tables of their own'
        WHEN 'outlived' THEN traces || CASE population
            WHEN 'task events' THEN ' tasks were begun' || CASE records WHEN 0 THEN '' ELSE ' after the last event' END || ' and have no event'
            WHEN 'tasks' THEN ' chains of events of unfinished work were begun' || CASE records WHEN 0 THEN '' ELSE ' after the last change of a task' END
                || ' and have no task'
            ELSE ' calls were asked for an approval and went through within 300 s, none of that caller and tool went unasked, and no use was recorded' END
        WHEN 'nothing' THEN 'no record, and no trace that there was anything to record'
        WHEN 'hinted' THEN CASE population WHEN 'admin audit' THEN traces || ' keys or denials were changed more than a day after the last record, and '
            || 'changes of keys had been recorded before; that each of them has to be is not known' ELSE traces || ' call(s) waited for an approval and went through, and none is on record; the rule may depend on the call, have been '
            || 'lifted, or the store upgraded since' END
        WHEN 'undated' THEN 'no record has a time up to the audit'
        WHEN 'broken' THEN 'nothing for ' || silence || ' days while ' || other || ' goes on; before that ' || active
            || ' active days and no pause longer than ' || longest || ' day(s)'
        WHEN 'purged' THEN 'nothing for ' || silence || ' days while ' || other || ' goes on, but a purge of finished tasks would leave the same'
        WHEN 'idle' THEN 'the last use on record is ' || silence || ' days older than the end of the store, and there is no trace of a later one'
        WHEN 'traffic ended' THEN 'nothing for ' || silence || ' days, but metering ends as well: the traffic itself may have ended'
        WHEN 'quiet' THEN 'nothing for ' || silence || ' days while other parts go on; ' || active || ' active day(s)'
            || coalesce(' with pauses of up to ' || longest || ' day(s)', '') || ' do not show that this is unusual'
        WHEN 'stale' THEN 'written as long as anything was, but the whole store ends ' || ($as_of - ends) // 86400 || ' days before the audit'
        ELSE 'written up to ' || greatest(ends - last_ts, 0) // 3600 || ' h before the end of the store' END
    || CASE WHEN stuck > 0 AND ground IN ('broken', 'purged', 'quiet', 'outlived') THEN '; ' || stuck || ' task(s) stuck at work' ELSE '' END AS why
FROM audit.write_path
ORDER BY place
