-- view: import_runs
-- kind: table
-- about: one run that a conversion made, with its events, how it ended, and the converter generation that its ids and clocks show;
--   mode is full, or text where conversation text alone is converted (maka sheet 0.3, 4.2, 4.4).
-- applies: maka sqlite 8-18
WITH counted AS (
    SELECT e.session_id, e.turn_id, e.run_id, e.invocation_id, count(*) AS events,
        count(*) FILTER (e.kind <> 'invocation_opened') AS told,
        count(*) FILTER (NOT starts_with(e.event_id, e.run_id || '-') AND NOT starts_with(e.event_id, 'invocation_')) AS random,
        bool_or(starts_with(e.event_id, 'invocation_opened:')) AS migrated,
        bool_or(e.kind = 'invocation_opened') AS opened,
        bool_or(e.meant = 'user') AS user_text,
        count(*) FILTER (starts_with(e.event_id, e.run_id || '-e')) AS numbered,
        max(TRY_CAST(nullif(regexp_extract(e.event_id, '-e([0-9]{1,9})$', 1), '') AS BIGINT)) FILTER (starts_with(e.event_id, e.run_id || '-e')) AS highest,
        count(*) FILTER (e.meant IS NOT NULL AND e.meant <> 'turn_state') AS facts,
        arg_min(e.opened_at, e.seq) AS opened_at, min(e.generated_at) AS generated_first, max(e.generated_at) AS generated_last,
        bool_or(ends_with(e.event_id, '-abandoned')) AS abandoned
    FROM audit.ledger_events AS e
    WHERE starts_with(e.run_id, 'transcript-') GROUP BY e.session_id, e.turn_id, e.run_id, e.invocation_id
), ended AS (
    SELECT invocation_id, arg_min(event_id, seq) AS event_id, arg_min(coalesce(status, ''), seq) AS status, min(seq) AS seq, arg_min(committed_at, seq) AS end_at,
        arg_min(meaning, seq) AS ending, arg_min(recovered, seq) AS recovered, arg_min(missing_end, seq) AS missing_end
    FROM audit.terminals GROUP BY invocation_id
), joined AS (
    SELECT i.session_id, i.turn_id, i.run_id, i.invocation_id, coalesce(c.events, 0) AS events, coalesce(c.told, 0) AS told,
        coalesce(c.random, 0) AS random, coalesce(c.numbered, 0) AS numbered, coalesce(c.highest, 0) AS highest, coalesce(c.migrated, false) AS migrated, coalesce(c.user_text, false) AS user_text,
        coalesce(c.facts, 0) AS facts, coalesce(c.abandoned, false) AS abandoned, c.opened_at, c.generated_first, c.generated_last,
        coalesce(c.opened, false) AS opened, e.event_id AS end_event, e.end_at, e.status, e.ending,
        coalesce(e.recovered, false) AS recovered, coalesce(e.missing_end, false) AS missing_end, e.event_id IS NOT NULL AS ended,
        s.ledger_version AS version, coalesce(s.foreign_origin, false) AS foreign_origin
    FROM audit.import_invocations AS i LEFT JOIN counted AS c ON c.invocation_id = i.invocation_id AND c.run_id = i.run_id
        LEFT JOIN ended AS e ON e.invocation_id = i.invocation_id LEFT JOIN audit.sessions AS s ON s.session_id = i.session_id
    WHERE i.run_id = i.derived
), named AS (
    SELECT *, CASE WHEN invocation_id = 'invocation-' || run_id THEN 'C0'
        WHEN migrated AND facts = 0 THEN 'header'
        WHEN abandoned THEN 'C3 over C1'
        WHEN random > 0 AND random >= events THEN 'C1'
        WHEN random > 0 AND random = events - CAST(opened AS INTEGER) AND NOT ended THEN 'C1'
        WHEN random > 0 THEN 'C1, resumed'
        WHEN generated_last > opened_at THEN 'C2'
        ELSE 'C3 or C4' END AS generation
    FROM joined
)
SELECT *, CASE WHEN foreign_origin OR generation IN ('C0', 'C1') THEN 'text' ELSE 'full' END AS mode FROM named
