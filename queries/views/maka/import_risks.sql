-- view: import_risks
-- kind: table
-- about: one thing that the conversion to come does to a turn (or that happened to it and conversion will not mend): effect is
--   fails, cut, changed, left out or costs; code names the finding, D22 where it has none of its own.
-- applies: maka sqlite 8-18
WITH open AS (
    -- Turns that will be converted: of sessions that are not, with a user message, and owned by no run (maka sheet 4.6).
    SELECT * FROM audit.import_turns WHERE version IS DISTINCT FROM 1 AND users > 0 AND NOT native AND NOT ended
        AND session_id <> 'maka_workhub_coordination'
), taken AS (
    -- The part of the turn that is converted: the first that has a user message.
    SELECT p.session_id, p.turn_id, min(p.part) FILTER (p.says) AS part, max(p.part) AS parts
    FROM audit.import_parts AS p JOIN open AS o ON o.session_id = p.session_id AND o.turn_id = p.turn_id
    WHERE p.part IS NOT NULL GROUP BY p.session_id, p.turn_id
), rows AS (
    SELECT r.session_id, r.turn_id, r.sequence, r.message_id, r.message_ts, r.type, r.tool_use_id, r.bytes, r.units, p.part, t.part AS taken,
        p.says, len(coalesce(r.meant, [])) AS facts, o.foreign_origin
    FROM audit.legacy_rows AS r JOIN open AS o ON o.session_id = r.session_id AND o.turn_id = r.turn_id
        JOIN audit.import_parts AS p ON p.session_id = r.session_id AND p.sequence = r.sequence AND p.part IS NOT NULL
        JOIN taken AS t ON t.session_id = r.session_id AND t.turn_id = r.turn_id
), tools AS (
    SELECT *, count(*) FILTER (type = 'tool_call') OVER before AS calls, count(*) FILTER (type = 'tool_result') OVER before AS results
    FROM rows WHERE part = taken AND type IN ('tool_call', 'tool_result') AND NOT foreign_origin
    WINDOW before AS (PARTITION BY session_id, turn_id, tool_use_id ORDER BY message_ts, sequence ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), refused AS (
    SELECT *, CASE WHEN type = 'tool_call' THEN CASE WHEN calls > 0 THEN 'duplicate_call' END
        WHEN calls = 0 THEN 'orphan_response' WHEN results > 0 THEN 'duplicate_response' END AS why
    FROM tools
), sizes AS (
    SELECT session_id, turn_id, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS rows, sum(facts) + 2 AS events, sum(bytes) AS bytes,
        count(*) FILTER (type IN ('tool_call', 'tool_result')) AS tools
    FROM rows WHERE part = taken AND (NOT foreign_origin OR type IN ('user', 'assistant')) GROUP BY session_id, turn_id
), priced AS (
    -- Seconds by what was measured of the real converter: the check of each append reads all of the turn before it.
    SELECT *, (CASE WHEN tools * 2 > rows THEN 7e-6 ELSE 2.2e-6 END) * events * events + 1.5e-3 * events AS seconds FROM sizes
), sessions AS (
    SELECT session_id, min(first_seq) AS first_seq, max(last_seq) AS last_seq, sum(rows) AS rows, sum(events) AS events,
        31e-9 * sum(events) * sum(events) AS seconds
    FROM sizes GROUP BY session_id
), texts AS (
    SELECT session_id, count(DISTINCT turn_id) AS turns, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS rows
    FROM audit.import_rows WHERE rule = '4.4 not of the conversation text' AND generation IN ('C0', 'C1') GROUP BY session_id
), unread AS (
    SELECT r.session_id, r.turn_id, r.sequence, CASE WHEN r.chunk_fault LIKE '%its digest says' THEN 'L04' WHEN r.chunk_fault IS NOT NULL THEN 'L03'
        WHEN NOT r.valid OR r.misfiled IS NOT NULL THEN 'L02' WHEN r.type = 'other' THEN 'L05' WHEN r.note_kind = 'other' THEN 'L06' ELSE 'L07' END AS code
    FROM audit.legacy_rows AS r LEFT JOIN audit.sessions AS s ON s.session_id = r.session_id
    WHERE (NOT r.valid OR r.problems > 0 OR r.misfiled IS NOT NULL OR r.chunk_fault IS NOT NULL) AND s.ledger_version IS DISTINCT FROM 1
)
SELECT session_id, turn_id, 'fails' AS effect, 'the store refuses a tool row' AS risk, 'D22' AS code, sequence AS first_seq, sequence AS last_seq,
    1 AS rows, why || ' at row ' || message_id AS detail
FROM refused WHERE why IS NOT NULL
UNION ALL
SELECT o.session_id, o.turn_id, 'fails', 'half a turn of an earlier converter', 'D22', o.first_seq, o.last_seq, o.rows,
    'run ' || o.run_id || ' is of invocation ' || o.invocation_id || ', C4 opens it as itself: run identity conflict'
FROM open AS o JOIN audit.import_runs AS r ON r.invocation_id = o.invocation_id AND r.session_id = o.session_id
WHERE o.generation = 'C0' AND r.events > 0
UNION ALL
SELECT o.session_id, o.turn_id, 'cut', 'a run that ended without content', 'D22', o.first_seq, o.last_seq, o.rows,
    'run ' || o.run_id || ' has a header and no event: the migration to 16 ends it, and its turn is taken for converted'
FROM open AS o JOIN audit.import_runs AS r ON r.invocation_id = o.invocation_id AND r.session_id = o.session_id
WHERE o.generation = 'C0' AND r.events = 0
UNION ALL
SELECT session_id, turn_id, 'cut', 'a turn crosses the edge of a conversion page', 'D22', min(sequence), max(sequence), count(*),
    count(*) || ' row(s) come in part ' || min(part) || ' of the turn, ' || min(taken) || ' is converted'
        || CASE WHEN bool_or(says AND part > taken) THEN '; a user message among them: the first attempt fails, too' ELSE '' END
FROM rows WHERE part <> taken AND facts > 0 GROUP BY session_id, turn_id
UNION ALL
SELECT session_id, turn_id, 'fails', 'a row that cannot be decoded', code, sequence, sequence, 1, 'its page throws, what is before it is converted'
FROM unread
UNION ALL
SELECT t.session_id, NULL, 'changed', 'turns of two converters', 'D22', t.first_seq, t.last_seq, t.rows,
    t.turns || ' turn(s) stand as conversation text alone, the others are converted in full'
FROM texts AS t SEMI JOIN open AS o ON o.session_id = t.session_id AND NOT o.foreign_origin
UNION ALL
SELECT session_id, turn_id, 'left out', 'a turn without a user message', 'L11', min(sequence), max(sequence), count(*), count(*) || ' row(s)'
FROM audit.import_rows WHERE rule = '4.6 a turn without a user message' GROUP BY session_id, turn_id
UNION ALL
SELECT session_id, turn_id, 'left out', any_value(rule), code, min(sequence), max(sequence), count(*), count(*) || ' row(s), the first ' || arg_min(kind, sequence)
FROM audit.import_rows WHERE fate = 'lost' AND code NOT IN ('D06', 'D07', 'D12') GROUP BY session_id, turn_id, code
UNION ALL
SELECT c.session_id, c.turn_id, 'changed', 'a turn that was converted twice', 'D11', c.first_lost, c.last_lost, c.lost, c.generation || ': ' || c.cause
FROM audit.import_causes AS c WHERE c.cause LIKE 'C0 was killed inside the turn and%' OR c.cause LIKE 'converted by two%'
UNION ALL
SELECT session_id, turn_id, 'costs', 'a turn that takes long', 'D22', first_seq, last_seq, rows, events || ' events, about ' || CAST(round(seconds) AS BIGINT) || ' s'
FROM priced WHERE seconds >= 60
UNION ALL
SELECT session_id, NULL, 'costs', 'a session whose last step takes long', 'D22', first_seq, last_seq, rows, events || ' events, about ' || CAST(round(seconds) AS BIGINT) || ' s in one transaction'
FROM sessions WHERE seconds >= 60
UNION ALL
SELECT session_id, turn_id, 'fails', 'a turn too large for a page', 'D22', first_seq, last_seq, rows, events || ' events, ' || bytes || ' bytes of rows: pages will refuse it'
FROM sizes WHERE events > 8192 OR bytes > 16777216
