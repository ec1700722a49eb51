-- Framing and reading of evidence bytes. Text is UTF-8; an integer is unsigned, 64 bit.

-- A text as a frame: its length in eight bytes, big endian, then its bytes. The short form is the common one and twice as fast.
CREATE OR REPLACE MACRO audit.framed_text(t) AS CASE
    WHEN strlen(t) < 128
    THEN encode(chr(0) || chr(0) || chr(0) || chr(0) || chr(0) || chr(0) || chr(0) || chr(CAST(strlen(t) AS INTEGER)) || t)
    ELSE unhex(printf('%016x', strlen(t))) || encode(t)
END;

-- A 64-bit integer (BIGINT or UBIGINT) as a frame of length eight. A negative number stands for the unsigned one with the same bits.
CREATE OR REPLACE MACRO audit.framed_int(i) AS unhex('0000000000000008') || CAST(CAST(i AS BIT) AS BLOB);

-- A signed 64-bit integer as the unsigned one with the same bits.
CREATE OR REPLACE MACRO audit.unsigned(i) AS
    CASE WHEN i >= 0 THEN CAST(i AS UBIGINT) ELSE CAST(CAST(i AS HUGEINT) + 18446744073709551616 AS UBIGINT) END;

-- Little endian, as the task chain's second recipe has it: eight bytes, lowest first.
CREATE OR REPLACE MACRO audit.swapped(h) AS
    substr(h, 15, 2) || substr(h, 13, 2) || substr(h, 11, 2) || substr(h, 9, 2)
    || substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2);
CREATE OR REPLACE MACRO audit.little_int(i) AS unhex(audit.swapped(printf('%016x', i)));
CREATE OR REPLACE MACRO audit.little_text(t) AS unhex(audit.swapped(printf('%016x', strlen(t)))) || encode(t);

-- Whether a text has the form of a digest: 64 lower-case hexadecimal digits.
CREATE OR REPLACE MACRO audit.is_digest(t) AS regexp_full_match(t, '[0-9a-f]{64}');

-- RFC 8259 to the letter. DuckDB's reader also takes a comma before a closing bracket, NaN and Infinity.
CREATE OR REPLACE MACRO audit.outside_strings(t) AS regexp_replace(t, '"(?:[^"\\]|\\.)*"', '""', 'gs');
CREATE OR REPLACE MACRO audit.strict_json(t) AS json_valid(t)
    AND NOT regexp_matches(audit.outside_strings(t), ',\s*[\]}]|(?i:nan|inf)');

-- Whether a text is strict JSON of one object, no member of which has its name twice. TRY: nothing orders the terms of an AND.
CREATE OR REPLACE MACRO audit.members(t) AS TRY(json_keys(t));
CREATE OR REPLACE MACRO audit.sound_object(t) AS coalesce(
    audit.strict_json(t) AND TRY(json_type(t)) = 'OBJECT' AND len(list_distinct(audit.members(t))) = len(audit.members(t)), false);

-- The text with -0 spelled -0.0. DuckDB's reader takes the two for 0 and a float; to the gateway both are floats, and so no u64.
CREATE OR REPLACE MACRO audit.signed_zeros(t) AS CASE
    WHEN regexp_matches(t, '-0\s*[,\]}]')
    THEN array_to_string(list_transform(regexp_extract_all(t, '(?s)"(?:[^"\\]|\\.)*"|[^"]+|"'),
        lambda x: CASE WHEN starts_with(x, '"') THEN x ELSE regexp_replace(x, '-0(\s*[,\]}])', '-0.0\1', 'g') END), '')
    ELSE t
END;

-- The text of a JSON string, given its literal and the value read from it; NULL for any other kind of value.
CREATE OR REPLACE MACRO audit.text_of(literal, value) AS CASE WHEN starts_with(literal, '"') THEN value END;

-- An unsigned 64-bit integer literal, as digits only; NULL for any other value.
CREATE OR REPLACE MACRO audit.u64_of(literal) AS CASE WHEN regexp_full_match(literal, '[0-9]+') THEN TRY_CAST(literal AS UBIGINT) END;

-- Hexadecimal text of a JSON array of byte numbers; NULL where an element is no integer from 0 to 255. TRY(CAST) and not
-- TRY_CAST: that makes only the element NULL, and the join would leave it out.
CREATE OR REPLACE MACRO audit.bytes_hex(j) AS CASE
    WHEN j = '[]' THEN ''
    WHEN regexp_full_match(j, '\[\d{1,3}(,\d{1,3})*\]')
    THEN array_to_string(list_transform(TRY(CAST(j AS UTINYINT[])), lambda x: printf('%02x', x)), '')
END;

-- Frames inside hexadecimal text h: length at position p (one based, in digits), the digits of the value, the next position.
CREATE OR REPLACE MACRO audit.frame_length(h, p) AS
    least(TRY_CAST('0x' || nullif(substr(h, p, 16), '') AS UBIGINT), 100000000)::BIGINT;
CREATE OR REPLACE MACRO audit.frame_value(h, p, n) AS CASE
    WHEN strlen(h) >= p + 15 + 2 * n THEN substr(h, p + 16, 2 * n)
END;
CREATE OR REPLACE MACRO audit.hex_text(h) AS TRY(decode(unhex(h)));
CREATE OR REPLACE MACRO audit.hex_u64(h) AS CASE WHEN strlen(h) = 16 THEN ('0x' || h)::UBIGINT END;
