-- view: admissions
-- kind: table
-- about: one admission of a root turn with what was decoded of it.
-- applies: maka sqlite 5-18
SELECT a.admitted_at, f.* FROM raw.core_root_turn_admissions AS a
    JOIN source.admission_facts AS f ON f.session_id = a.session_id AND f.turn_id = a.turn_id
