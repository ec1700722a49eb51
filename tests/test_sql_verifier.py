"""The verifier in SQL on its own: golden vectors, strict JSON, and every corner where DuckDB reads more than it should."""

import json
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest
from support_sql import SqlVerifier
from test_streaming import Shape, compact

from busbar_audit import queries
from busbar_audit.chains import recipes
from busbar_audit.chains.records import Undecodable, strict_object

GOLDEN = Path(__file__).parent / "golden"
VECTORS = {name: json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
           for name in ("admin_audit", "call", "task_event", "neutral_audit")}  # fmt: skip


def named(vectors):
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


@pytest.fixture(scope="module")
def ask():
    """The answer of one SELECT over the macros."""
    con = duckdb.connect()
    con.execute("CREATE SCHEMA audit")
    con.execute((queries.root() / "macros" / "text.sql").read_text(encoding="utf-8"))
    yield lambda sql, *values: con.execute(f"SELECT {sql}", values).fetchone()[0]
    con.close()


# ---- macros ----------------------------------------------------------------------------------------------------------

CALL = ("prev_hash", "principal", "seq", "ts", "server", "tool", "outcome", "reason", "tool_digest", "pin_generation")


@pytest.mark.parametrize("vector", named(VECTORS["call"]))
def test_call_preimage(ask, vector):
    values = [vector["fields"][name] for name in CALL]
    frames = [f"audit.framed_{'int(?::UBIGINT)' if isinstance(value, int) else 'text(?)'}" for value in values]
    preimage = ask(" || ".join(frames), *values)
    assert preimage == recipes.call_preimage(**vector["fields"])
    assert preimage.hex() == vector.get("preimage_hex", preimage.hex())
    assert ask("sha256(?::BLOB)", preimage) == vector["digest"]


@pytest.mark.parametrize("vector", named(v for v in VECTORS["task_event"] if v["version"] == 2))
def test_event_v2_preimage(ask, vector):
    names = ("prev_hash", "task_id", "seq", "ts", "kind", "context_id", "principal", "agent_id", "state")
    values = [vector["fields"][name] for name in names]
    parts = [f"audit.little_{'int(?::UBIGINT)' if isinstance(value, int) else 'text(?)'}" for value in values]
    preimage = ask(f"encode('busbar.a2a.taskchain.v2' || chr(0)) || {' || '.join(parts)}", *values)
    assert preimage == recipes.event_v2_preimage(**vector["fields"])
    assert sha256(preimage).hexdigest() == vector["digest"]


@pytest.mark.parametrize(
    "text", ["", "a", "nul\0inside", "x" * 127, "x" * 128, "é" * 63, "é" * 64, "x" * 255, "x" * 256, "😀" * 20_000]
)
def test_frames_of_text(ask, text):
    data = text.encode()
    assert ask("audit.framed_text(?)", text) == len(data).to_bytes(8, "big") + data
    assert ask("audit.little_text(?)", text) == len(data).to_bytes(8, "little") + data


@pytest.mark.parametrize("number", [0, 1, 255, 256, 0x0102030405060708, 2**63 - 1, 2**63, 2**64 - 1])
def test_frames_of_integers(ask, number):
    assert ask("audit.framed_int(?::UBIGINT)", number) == recipes.frame_int(number)
    assert ask("audit.little_int(?::UBIGINT)", number) == number.to_bytes(8, "little")
    assert ask("audit.hex_u64(?)", f"{number:016x}") == number


@pytest.mark.parametrize("digits", ["", "00", "00" * 7, "00" * 9])
def test_a_time_is_eight_bytes_long(ask, digits):
    assert ask("audit.hex_u64(?)", digits) is None


@pytest.mark.parametrize(
    ("digits", "length"), [("00" * 7 + "1a", 26), ("ff" * 8, 100_000_000), ("80" + "00" * 7, 100_000_000)]
)
def test_lengths_of_frames(ask, digits, length):
    """A length that no content has may not take the reckoning of positions out of its range."""
    assert ask("audit.frame_length(?, 3)", "ab" + digits + "cd") == length


@pytest.mark.parametrize(
    ("literal", "value", "text"), [('"7"', "7", "7"), ("7", "7", None), ("null", None, None), ('""', "", "")]
)
def test_only_a_string_is_a_text(ask, literal, value, text):
    assert ask("audit.text_of(?, ?)", literal, value) == text


@pytest.mark.parametrize("number", [0, 1, 2**63 - 1, -1, -(2**63)])
def test_negative_columns_have_the_bits_of_an_unsigned_number(ask, number):
    assert ask("audit.framed_int(?::BIGINT)", number) == recipes.frame_int(number)
    assert ask("audit.unsigned(?::BIGINT)", number) == number % 2**64


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ("0123456789abcdef" * 4, True),
        ("0123456789abcdef" * 4 + "\n", False),
        ("0123456789ABCDEF" * 4, False),
        ("a" * 63, False),
        ("a" * 65, False),
        ("g" * 64, False),
        ("", False),
    ],
)
def test_form_of_a_digest(ask, text, true):
    assert ask("audit.is_digest(?)", text) is true


# ---- strict JSON -----------------------------------------------------------------------------------------------------

DEEP = 50
JSON = [
    "", " ", "{", "}", "{}", " \t\r\n{} \n", "\ufeff{}", "{}\ufeff", "\x0b{}", "\x0c{}", "\xa0{}", "\u2028{}",
    "null", "true", "7", '"x"', "[]", "[{}]", "{}{}", "{} x", '{"a":1}\0', "\0{}",
    '{"a":1,}', '{"a":[1,]}', '{"a":[1 ,\n]}', '{"a":1\t,\r}', "{,}", '{"a":1,,"b":2}', '{"a" 1}', '{"a":}', '{"a":1 "b":2}',
    '{"a":",]"}', '{"a":",}","b":"\\",]"}', '{"a":"\\\\","b":[1,]}', '{"a":"\\\\\\"","b":[1,]}',
    '{"a":NaN}', '{"a":nan}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":inf}', '{"a":[-INF]}', '{"NaN":"Infinity"}',
    '{"x":"y\\"","a":[NaN]}', '{"a":"\n","b":NaN}', '{"a":"\u2028\\n","b":NaN}',
    "{}//c", "{/**/}", "{}#c", '{"a":1/**/}', "{'a':1}", "{a:1}", '{"a":tru}', '{"a":True}', '{"a":undefined}', '{"a":null}',
    '{"a":"\n"}', '{"a":"\t"}', '{"a":"\0"}', '{"a":"\x1f"}', '{"a":"\x7f"}', '{"a":"\u2028"}', '{"a":"\ufffe\uffff"}',
    r'{"a":"\u0000"}', r'{"\u0000":1,"\u0000b":2}', r'{"\u0000":1,"\u0000":2}', r'{"a":"\/"}', r'{"a":"\x41"}',
    r'{"a":"\u12"}', r'{"a":"\u000g"}', '{"a":"\\', '{"a":"\\"}',
    r'{"a":"\ud800"}', r'{"a":"\udc00"}', r'{"a":"\ud83d\ude00"}', r'{"a":"\uD83D\uDE00"}', r'{"a":"\ude00\ud83d"}',
    r'{"a":"\ud800x\udc00"}', r'{"a":"\ud800\u0041"}', r'{"a":"\\ud800"}', r'{"a":"\\\ud800"}', r'{"\udfff":1}',
    r'{"a":"\ud7ff\ue000\uffff"}',
    '{"a":1,"a":2}', r'{"a":1,"\u0061":2}', '{"é":1,"\\u00e9":2}', '{"a":{"b":1,"b":2}}', '{"a":[{"b":1,"b":2}]}',
    '{"a":{"a":1}}', '{"a":1,"A":2}', '{"":1}', '{"":1,"":2}', '{"a.b":1,"a":{"b":2},"$.a":3}', '{"a":1,"b":2,"a":1}',
    '{"a":-0}', '{"a":-0.0}', '{"a":1.0}', '{"a":1e2}', '{"a":1E+2}', '{"a":1e}', '{"a":1.}', '{"a":.5}', '{"a":+1}',
    '{"a":--1}', '{"a":01}', '{"a":-01}', '{"a":00}', '{"a":0x1}', '{"a":1_0}', '{"a":1e999}', '{"a":-1e999}', '{"a":1e-999}',
    '{"a":' + "9" * 5_000 + "}", '{"a":0.' + "9" * 5_000 + "}", '{"a":18446744073709551616}',
    '{"a":' + "[" * DEEP + "]" * DEEP + "}", '{"a":' * DEEP + "1" + "}" * DEEP, '{"a":' + "[" * DEEP + "]" * (DEEP - 1) + "}",
]  # fmt: skip


@pytest.mark.parametrize("text", JSON, ids=range(len(JSON)))
def test_strict_json_is_the_same_in_both_verifiers(ask, text):
    try:
        strict_object(text.encode())
        sound = True
    except Undecodable:
        sound = False
    assert ask("audit.sound_object(?)", text) is sound


def test_nothing_is_no_object(ask):
    assert ask("audit.sound_object(NULL)") is False


@pytest.mark.parametrize(
    "data", [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xc3", "é".encode("utf-16")]
)
def test_only_utf8_is_text(ask, data):
    assert ask("audit.hex_text(?)", data.hex()) is None
    assert ask("TRY(decode(?::BLOB))", data) is None


@pytest.mark.parametrize("text", ["", "a\0b", "é😀", "\ufeff", "\uffff"])
def test_all_utf8_is_text(ask, text):
    assert ask("audit.hex_text(?)", text.encode().hex()) == text


U64 = "audit.u64_of(json_extract(audit.signed_zeros(?), '$.n'))"


@pytest.mark.parametrize("number", [0, 7, 2**63, 2**64 - 1])
def test_unsigned_numbers(ask, number):
    assert ask(U64, f'{{"n": {number}}}') == number


@pytest.mark.parametrize(
    "token",
    ["-0", "-1", "0.0", "1.0", "1e0", "1e2", "-0.0", str(2**64), "9" * 25, '"1"', "null", "true", "[1]", "{}", "NaN"],
)
def test_tokens_that_are_no_u64(ask, token):
    """Each in two spellings, as a reader that writes the document again may change what it means."""
    assert ask(U64, f'{{"n":{token}}}') is None
    assert ask(U64, f'{{"n": {token}\n}}') is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a":-0}', '{"a":-0.0}'),
        ('{"a":[-0,-0 ,-0\n]}', '{"a":[-0.0,-0.0 ,-0.0\n]}'),
        ('{"a":"-0,","b":"\\"-0]"}', None),
        ('{"a":"\n-0,","b":-0}', '{"a":"\n-0,","b":-0.0}'),
        ('{"a":"\\\\","b":-0,"c":"-0}"}', '{"a":"\\\\","b":-0.0,"c":"-0}"}'),
        ('{"a":-0.5,"b":1e-0,"c":10}', '{"a":-0.5,"b":1e-0.0,"c":10}'),
        ("", None),
    ],
)
def test_zeros_below_zero_are_told_apart_outside_of_strings(ask, text, told):
    assert ask("audit.signed_zeros(?)", text) == (told or text)


BYTES = "audit.bytes_hex(json_extract(audit.signed_zeros(?), '$.c'))"


@pytest.mark.parametrize(
    ("array", "text"), [("[]", ""), ("[0]", "00"), ("[ 1,\n255 ]", "01ff"), ("[10,9,16]", "0a0910")]
)
def test_arrays_of_bytes(ask, array, text):
    assert ask(BYTES, f'{{"c":{array}}}') == text


@pytest.mark.parametrize(
    "array",
    ["[256]", "[256,1]", "[1,999,1]", "[1,1000]", "[-1]", "[-0]", "[1,-0,2]", "[1.0]", "[1e1]", '["1"]', "[true]", "[null]",
     "[1,null]", "[1,[2]]", "[{}]", "{}", '"x"', "null", "7"],
)  # fmt: skip
def test_arrays_of_something_else(ask, array):
    assert ask(BYTES, f'{{"c":{array}}}') is None


# ---- whole stores ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    with SqlVerifier(tmp_path_factory.mktemp("typed"), 9) as verifier:
        yield verifier


@pytest.fixture(scope="module")
def planes(tmp_path_factory):
    with SqlVerifier(tmp_path_factory.mktemp("planes"), 12) as verifier:
        yield verifier


def records(name, shape, vectors):
    """Golden vectors as records of a population, by the chain they are of."""
    chains = {}
    for n, vector in enumerate(vectors):
        fields = dict(vector["fields"])
        if shape.fields is not Shape("audit_log").fields:
            fields["scope"] = fields.pop("principal" if name == "call" else "task_id")
        else:
            # The recipe covers no scope, so each first record begins a chain of its own.
            fields["scope"] = f"audit {n}" if fields["seq"] == 1 else chains[next(reversed(chains))][0]["scope"]
        if vector.get("version") == 2:
            fields["digest_version"] = 2
        digest = vector.get("digest") or shape.digest(fields)
        assert digest.startswith(vector.get("digest_prefix", digest))
        key = (fields["scope"], vector.get("version"))
        chains.setdefault(key, []).append({**fields, "hash": digest})
    return list(chains.values())


def row(shape, record):
    if shape.table == "mcp_calls":
        body = compact(dict(sorted(shape.body(record).items())))
        return shape.table, shape.row({**record, "ts": record["ts"] - (record["ts"] >> 63 << 64), "body": body})
    return shape.table, shape.row(record)


def turned(record):
    """The record with one digit of its hash changed."""
    first = "0" if record["hash"][0] != "0" else "1"
    return {**record, "hash": first + record["hash"][1:]}


def check(verifier, chains):
    """No fault in the chains as they are; a changed digit shows exactly where it is."""
    assert verifier.fill(row(shape, record) for shape, chain in chains for record in chain).faults() == []
    for at in (-1, 0):
        changed, expected = [], set()
        for shape, chain in chains:
            at_all = at % len(chain)
            changed += [row(shape, turned(r) if n == at_all else r) for n, r in enumerate(chain)]
            place = (shape.population, chain[0]["scope"])
            expected.add((*place, "content", at_all + 1))
            if at_all + 1 < len(chain):
                expected.add((*place, "link", at_all + 2))
        found = verifier.fill(changed).faults()
        assert set(found) == expected
        assert len(found) == len(expected)


def version(number):
    return [vector for vector in VECTORS["task_event"] if vector["version"] == number]


def chains_of(shape_name, source, vectors):
    shape = Shape(shape_name)
    return [(shape, chain) for chain in records(source, shape, vectors)]


def test_golden_calls_and_events_in_their_tables(typed):
    calls = chains_of("mcp_calls", "call", VECTORS["call"])
    events = chains_of("task_events", "task_event", version(1))
    assert (len(calls), len(events)) == (3, 3)
    check(typed, [*calls, *events])


@pytest.mark.parametrize("at", range(4))
def test_golden_audit_chain(typed, at):
    shape, chain = chains_of("audit_log", "admin_audit", VECTORS["admin_audit"])[at]
    check(typed, [(shape, [{**record, "scope": "audit_log"} for record in chain])])


def test_golden_records_in_plane_bodies(planes):
    chains = chains_of("call typed", "call", VECTORS["call"])
    chains += chains_of("audit typed", "admin_audit", VECTORS["admin_audit"])
    chains += chains_of("task_event v1", "task_event", version(1))
    check(planes, chains)


def test_fields_of_calls_are_read_from_either_body(planes):
    """The principal of a neutral call is the parent of its row."""
    chains = [
        *chains_of("call typed", "call", VECTORS["call"][:2]),
        *chains_of("call neutral", "call", VECTORS["call"][2:4]),
    ]
    planes.fill(row(shape, record) for shape, chain in chains for record in chain)
    names = [name for name in CALL if name != "prev_hash"]
    told = planes.store.view("calls").order("principal, seq").select("scope", *names).fetchall()
    vectors = [vector["fields"] for vector in [*VECTORS["call"][2:4], *VECTORS["call"][:2]]]
    assert told == [(fields["principal"], *(fields[name] for name in names)) for fields in vectors]


def test_golden_records_in_neutral_bodies(planes):
    chains = chains_of("call neutral", "call", VECTORS["call"])
    chains += chains_of("task_event v2", "task_event", version(2))
    for n, vector in enumerate(VECTORS["neutral_audit"]):
        ((shape, chain),) = chains_of(f"audit {vector['variant']}", "neutral_audit", [vector])
        chains.append((shape, [{**chain[0], "scope": f"variant {n}"}]))
    # The digests of audit_log stay valid for rows copied out of it, whatever bars they hold.
    chains += chains_of("audit legacy", "admin_audit", VECTORS["admin_audit"])
    assert len(chains) == 3 + 2 + 3 + 4
    check(planes, chains)


def test_event_chain_that_changes_its_recipe(planes):
    first, second = version(1)[0]["fields"], version(2)[1]["fields"]
    shape = Shape("task_event v2")
    chain = [{**first, "scope": "task-1", "hash": version(1)[0]["digest"]}]
    chain.append({**second, "scope": "task-1", "prev_hash": chain[0]["hash"], "digest_version": 2})
    chain[1]["hash"] = shape.digest(chain[1])
    check(planes, [(shape, chain)])


LARGEST = 2**64 - 1


def test_largest_numbers_in_bodies(planes):
    chains = []
    for name in ("call typed", "call neutral", "audit typed", "audit core", "audit kernel", "audit legacy",
                 "task_event v1", "task_event v2"):  # fmt: skip
        shape = Shape(name)
        (record,) = shape.chain(1, scope=name)
        record |= {"ts": LARGEST, **({"pin_generation": LARGEST} if "pin_generation" in shape.fields else {})}
        chains.append((shape, [{**record, "hash": shape.digest(record)}]))
    check(planes, chains)


# ---- where a lenient reader would see nothing ------------------------------------------------------------------------


def one_call(change):
    shape = Shape("mcp_calls")
    (record,) = shape.chain(1)
    body = compact(dict(sorted(shape.body(record).items())))
    changed = change(body)
    assert changed != body
    return shape.table, shape.row({**record, "body": changed})


@pytest.mark.parametrize("value", ["NaN", "-Infinity", '{"a":NaN}', "[Infinity]"])
def test_request_id_that_is_not_json_though_spelled_the_same_again(typed, value):
    typed.fill([one_call(lambda body: body.replace('"request_id":"r"', f'"request_id":{value}'))])
    assert typed.faults() == [("mcp_calls", "x", "undecodable", 1)]


def test_request_id_of_another_kind_is_not_digested(typed):
    assert typed.fill([one_call(lambda body: body.replace('"request_id":"r"', '"request_id":[1]'))]).faults() == []


def test_zero_below_zero_is_no_pin_generation(typed):
    shape = Shape("mcp_calls")
    (record,) = shape.chain(1)
    record["pin_generation"] = 0
    record["hash"] = shape.digest(record)
    body = compact(shape.body(record))
    assert typed.fill([("mcp_calls", shape.row({**record, "body": body}))]).faults() == []
    body = body.replace('"pin_generation":0', '"pin_generation":-0')
    assert typed.fill([("mcp_calls", shape.row({**record, "body": body}))]).faults() == [
        ("mcp_calls", "x", "undecodable", 1)
    ]


@pytest.mark.parametrize("name", ["call neutral", "audit core", "audit kernel", "audit legacy"])
@pytest.mark.parametrize(("old", "new"), [("[", "[256,"), ("]", ",999]"), ("0,", "-0,"), (",1", ",1.0,1")])
def test_content_that_holds_more_than_its_bytes(planes, name, old, new):
    """The bytes that are left when the odd ones are dropped still have the stored digest."""
    shape = Shape(name)
    (record,) = shape.chain(1)
    body = compact(shape.body(record))
    head, content = body[: body.index("[")], body[body.index("[") :]
    if old not in content:
        pytest.skip("a text has no zero byte")
    content = content.replace(old, new, 1)
    planes.fill([("plane_records", shape.row({**record, "body": head + content}))])
    assert planes.faults() == [(shape.population, shape.scope, "undecodable", 1)]


# ---- places ----------------------------------------------------------------------------------------------------------


def test_twin_that_links_to_its_neighbour(planes):
    """prev_hash names the hash of the other record at the same seq: before it stands another."""
    shape = Shape("call typed")
    chain = shape.chain(3)
    twin = {**chain[1], "identity": "y", "tool": "other", "prev_hash": chain[1]["hash"]}
    twin["hash"] = shape.digest(twin)
    planes.fill(row(shape, record) for record in [*chain, twin])
    assert planes.faults() == [("call", "x", "fork", 2), ("call", "x", "link", 2)]


def test_successor_may_link_to_either_twin(planes):
    shape = Shape("call neutral")
    chain = shape.chain(3)
    twin = {**chain[1], "identity": "y", "tool": "other"}
    twin["hash"] = shape.digest(twin)
    for prev in (chain[1]["hash"], twin["hash"]):
        chain[2]["prev_hash"] = prev
        chain[2]["hash"] = shape.digest(chain[2])
        planes.fill(row(shape, record) for record in [*chain, twin])
        assert planes.faults() == [("call", "x", "fork", 2)]


LOWEST, HIGHEST = -(2**63), 2**63 - 1


@pytest.mark.parametrize("name", ["mcp_calls", "audit_log", "task_events"])
def test_numbers_at_both_ends_of_the_column(typed, name):
    shape = Shape(name)
    chain = shape.chain(4)
    for record, seq in zip(chain, (LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST), strict=True):
        record["seq"] = seq
    shape.seal(chain)
    typed.fill(row(shape, record) for record in chain)
    scope = "audit_log" if name == "audit_log" else "x"
    assert typed.extents() == {(name, scope, "gap-inner", LOWEST + 2, HIGHEST - 2, 2**64 - 4)}


def test_single_record_at_either_end(typed):
    shape = Shape("mcp_calls")
    chains = [shape.seal([{**shape.chain(1, scope=str(seq))[0], "seq": seq}]) for seq in (LOWEST, HIGHEST)]
    typed.fill(row(shape, record) for chain in chains for record in chain)
    assert typed.extents() == {
        ("mcp_calls", str(HIGHEST), "head-missing", 1, HIGHEST - 1, HIGHEST - 1),
        ("mcp_calls", str(HIGHEST), "restart", HIGHEST, HIGHEST, 1),
    }


def test_times_at_both_ends_of_the_column(typed):
    shape = Shape("task_events")
    chain = shape.chain(3)
    for record, ts in zip(chain, (HIGHEST, LOWEST, LOWEST + 300), strict=True):
        record["ts"] = ts
    shape.seal(chain)
    assert typed.fill(row(shape, record) for record in chain).faults() == [("task_events", "x", "order", 2)]


@pytest.mark.parametrize(("back", "found"), [(300, []), (301, [("mcp_calls", "x", "order", 3)])])
def test_time_may_go_back_a_little(typed, back, found):
    shape = Shape("mcp_calls")
    chain = shape.chain(3)
    chain[2]["ts"] = chain[1]["ts"] - back
    shape.seal(chain)
    assert typed.fill(row(shape, record) for record in chain).faults() == found


def test_ends_of_a_chain_that_cannot_be_read(planes):
    """A hash that is not known must not be replaced by that of a neighbour."""
    shape = Shape("call typed")
    chain = shape.chain(3)
    rows = [row(shape, {**chain[0], "body": "{"}), row(shape, chain[1]), row(shape, {**chain[2], "body": "{"})]
    (found,) = planes.fill(rows).store.view("chains").select("records", "first_prev_hash", "last_hash").fetchall()
    assert found == (3, None, None)


def test_cleared_chains_are_not_digested_again_and_others_are(typed):
    """What the fast way proved is left out of the work in SQL; this holds for calls only, and only for those chains."""
    shape = Shape("mcp_calls")
    chains = [shape.chain(2, scope="a"), shape.chain(2, scope="b")]
    events = Shape("task_events")
    chains[0][1]["hash"] = chains[1][1]["hash"] = "h"
    ((table, event),) = [row(events, {**events.chain(1, scope="a")[0], "hash": "h"})]
    typed.fill([*(row(shape, record) for chain in chains for record in chain), (table, event)])
    assert typed.store.views  # this makes the empty table of cleared chains
    typed.store.warehouse.fill("source.cleared_calls", [("scope", "VARCHAR")], [("a",)])
    faulty = [("mcp_calls", "b", 2), ("task_events", "a", 1)]
    assert typed.faults() == [(name, scope, about, seq) for name, scope, seq in faulty for about in ("content", "form")]
