"""The streaming verifier on small stores built here: every kind of fault with its exact extent, in every population."""

import json
import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from busbar_audit.chains import recipes
from busbar_audit.chains.outcome import ChainExtent, ChainOutcome
from busbar_audit.chains.records import Undecodable, strict_object
from busbar_audit.chains.streaming import verify

TABLES = {
    "audit_log": "seq INTEGER, ts INTEGER, action TEXT, resource TEXT, outcome TEXT, principal TEXT, prev_hash TEXT, "
    "hash TEXT",
    "mcp_calls": "principal TEXT, seq INTEGER, ts INTEGER, prev_hash TEXT, hash TEXT, body TEXT, expires_at INTEGER, "
    "version INTEGER DEFAULT 0",
    "task_events": "task_id TEXT, seq INTEGER, ts INTEGER, kind TEXT, context_id TEXT, principal TEXT, agent_id TEXT, "
    "state TEXT, request_id TEXT DEFAULT '', prev_hash TEXT, hash TEXT",
    "plane_records": "kind TEXT, identity TEXT, seq INTEGER, id TEXT, parent TEXT, ts INTEGER, disposition TEXT, "
    "body BLOB",
}
KEYS = {
    "audit_log": "seq",
    "mcp_calls": "principal, seq",
    "task_events": "task_id, seq",
    "plane_records": "kind, identity, seq",
}


def create(path, *, keys=True, strict=True):
    """An empty store with the four tables, with or without primary keys and enforced types."""
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA synchronous = OFF")
    for table, columns in TABLES.items():
        key = f", PRIMARY KEY ({KEYS[table]})" if keys else ""
        options = ["STRICT"] * strict + ["WITHOUT ROWID"] * (keys and table == "plane_records")
        con.execute(f"CREATE TABLE {table} ({columns}{key}) {', '.join(options)}")
    return con


def insert(con, table, row):
    names = ", ".join(row)
    con.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


CALL = {
    "server": "srv",
    "tool": "srv_do",
    "outcome": "dispatched",
    "reason": "",
    "tool_digest": "d",
    "pin_generation": 7,
}
AUDIT = {"action": "hook.register", "resource": "hook:x", "outcome": "applied", "principal": "admin"}
EVENT = {"kind": "task.working", "context_id": "c", "principal": "p", "agent_id": "a", "state": "working"}
POPULATIONS = (
    "audit_log",
    "mcp_calls",
    "task_events",
    "call typed",
    "call neutral",
    "audit typed",
    "audit legacy",
    "audit core",
    "audit kernel",
    "task_event v1",
    "task_event v2",
)


class Shape:
    """How one population digests and stores a record {scope, seq, ts, prev_hash, hash, **fields}."""

    def __init__(self, name):
        self.name, _, self.form = name.partition(" ")
        self.table = self.name if self.name in TABLES else "plane_records"
        self.fields = {"c": CALL, "m": CALL, "a": AUDIT, "t": EVENT}[name[0]]
        self.population = self.name
        self.scope = {"audit_log": "audit_log", "audit": "admin"}.get(self.name, "x")

    def content(self, record):
        fields = {key: record[key] for key in self.fields}
        if self.fields is CALL:
            return recipes.neutral_call_content(record["ts"], **fields)
        return recipes.neutral_audit_content(self.form, record["ts"], **fields)

    def digest(self, record):
        place = {key: record[key] for key in ("prev_hash", "seq", "ts")}
        fields = {key: record[key] for key in self.fields}
        if self.fields is AUDIT and self.form not in ("", "typed"):
            return recipes.neutral_audit_digest(record["prev_hash"], record["seq"], self.content(record))
        if self.fields is AUDIT:
            return recipes.admin_audit(**place, **fields)
        if self.fields is CALL:
            return recipes.call(**place, principal=record["scope"], **fields)
        recipe = recipes.event_v2 if repr(record.get("digest_version")) == "2" else recipes.event_v1
        return recipe(**place, task_id=record["scope"], **fields)

    def body(self, record):
        fields = {key: record[key] for key in self.fields}
        hashes = {key: record[key] for key in ("prev_hash", "hash")}
        if self.table == "mcp_calls":
            return {**fields, "request_id": "r"}
        if self.form in ("neutral", "legacy", "core", "kernel"):
            return {"seq": record["seq"], **hashes, "content": list(self.content(record))}
        scope = {"call": "principal", "task_event": "task_id"}.get(self.name)
        version = {key: record[key] for key in ("digest_version",) if key in record}
        return {**({scope: record["scope"]} if scope else {}), "seq": record["seq"], "ts": record["ts"], **fields,
                **hashes, **version}  # fmt: skip

    def row(self, record):
        place = {key: record[key] for key in ("seq", "ts", "prev_hash", "hash")}
        if self.table == "audit_log":
            return place | {key: record[key] for key in AUDIT}
        if self.table == "mcp_calls":
            return place | {"principal": record["scope"], "body": record.get("body", compact(self.body(record)))}
        if self.table == "task_events":
            return place | {"task_id": record["scope"]} | {key: record[key] for key in EVENT}
        body = record.get("body", compact(self.body(record)))
        return {
            "kind": self.name,
            "identity": record.get("identity", record["scope"]),
            "seq": record.get("row_seq", record["seq"]),
            "id": "i",
            "parent": record["scope"],
            "ts": 1,
            "disposition": "active",
            "body": body.encode() if isinstance(body, str) else body,
        }

    def chain(self, count, scope=None):
        version = {"digest_version": 2} if self.form == "v2" else {}
        records = [
            {"scope": scope or self.scope, "seq": n + 1, "ts": 1700000000 + 60 * n, **self.fields, **version}
            for n in range(count)
        ]
        return self.seal(records)

    def seal(self, records, start=0):
        """Link and digest the records from index `start` on; a prev_hash set as `keep` stays."""
        for index, record in enumerate(records):
            if index >= start:
                if "keep" not in record:
                    record["prev_hash"] = records[index - 1]["hash"] if index else ""
                record["hash"] = self.digest(record)
        return records

    def store(self, path, records, **options):
        con = create(path, **options)
        for record in records:
            insert(con, self.table, self.row(record))
        con.close()
        return path


@pytest.fixture(params=POPULATIONS)
def shape(request):
    return Shape(request.param)


def found(path, **options):
    """Extents of the only chain, as {about: (first, last, records)}."""
    (outcome,) = verify(path, **options)
    return {e.about: (e.first_seq, e.last_seq, e.records) for e in outcome.extents}


def test_clean_chain(tmp_path, shape):
    records = shape.chain(8)
    path = shape.store(tmp_path / "s.db", records)
    assert list(verify(path)) == [ChainOutcome(shape.population, shape.scope, 8, 1, 8, "", records[-1]["hash"], ())]
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.db"]


def test_changed_field(tmp_path, shape):
    records = shape.chain(8)
    records[2][next(iter(shape.fields))] += "!"
    records[4][next(iter(shape.fields))] += "!"
    assert found(shape.store(tmp_path / "s.db", records)) == {"content": (3, 5, 2)}


def test_changed_hash(tmp_path, shape):
    records = shape.chain(8)
    records[2]["hash"] = "ab" * 32
    assert found(shape.store(tmp_path / "s.db", records)) == {"content": (3, 3, 1), "link": (4, 4, 1)}


def test_replaced_and_resealed_record(tmp_path, shape):
    records = shape.chain(8)
    records[2]["ts"] += 1
    records[2]["hash"] = shape.digest(records[2])
    assert found(shape.store(tmp_path / "s.db", records)) == {"link": (4, 4, 1)}


def test_inner_gaps(tmp_path, shape):
    records = shape.chain(12)
    del records[7:10], records[2]
    assert found(shape.store(tmp_path / "s.db", records)) == {"gap-inner": (3, 10, 4)}


def test_missing_head(tmp_path, shape):
    records = shape.chain(8)[3:]
    (outcome,) = verify(shape.store(tmp_path / "s.db", records))
    assert outcome.extents == (ChainExtent("head-missing", 1, 3, 3),)
    assert (outcome.records, outcome.first_seq, outcome.last_seq) == (5, 4, 8)
    assert (outcome.first_prev_hash, outcome.last_hash) == (records[0]["prev_hash"], records[-1]["hash"])


def test_forged_genesis(tmp_path, shape):
    records = shape.chain(4)
    records[0] |= {"prev_hash": "cd" * 32, "keep": True}
    assert found(shape.store(tmp_path / "s.db", shape.seal(records))) == {"genesis": (1, 1, 1)}


def test_restart_is_not_a_broken_link(tmp_path, shape):
    records = shape.chain(8)
    records[4] |= {"prev_hash": "", "keep": True}
    assert found(shape.store(tmp_path / "s.db", shape.seal(records))) == {"restart": (5, 5, 1)}


def test_restart_as_the_first_record_left(tmp_path, shape):
    records = shape.chain(4)
    records[2] |= {"prev_hash": "", "keep": True}
    path = shape.store(tmp_path / "s.db", shape.seal(records)[2:])
    assert found(path) == {"head-missing": (1, 2, 2), "restart": (3, 3, 1)}


@pytest.mark.parametrize(("back", "faults"), [(300, {}), (301, {"order": (5, 5, 1)})])
def test_time_goes_back(tmp_path, shape, back, faults):
    records = shape.chain(6)
    records[4]["ts"] = records[3]["ts"] - back
    path = shape.store(tmp_path / "s.db", shape.seal(records))
    assert found(path) == faults
    assert found(path, order_tolerance=1000) == {}
    assert found(path, order_tolerance=299) == {"order": (5, 5, 1)}


def test_fork(tmp_path, shape):
    records = shape.chain(6)
    twins = [dict(records[2], ts=records[2]["ts"] + n, identity=f"twin{n}") for n in (1, 2)]
    for twin in twins:
        twin["hash"] = shape.digest(twin)
    records[3] |= {"prev_hash": twins[1]["hash"], "keep": True}  # goes on from the second twin
    path = shape.store(tmp_path / "s.db", shape.seal(records) + twins, keys=False)
    assert found(path) == {"fork": (3, 3, 2)}


def test_fork_that_no_successor_links_to(tmp_path, shape):
    records = shape.chain(5)
    twin = dict(records[2], prev_hash="ef" * 32)
    twin["hash"] = shape.digest(twin)
    records[3] |= {"prev_hash": "ab" * 32, "keep": True}
    path = shape.store(tmp_path / "s.db", [*shape.seal(records), twin], keys=False)
    assert found(path) == {"fork": (3, 3, 1), "link": (3, 4, 2)}


def test_records_of_one_seq_stay_in_storage_order(tmp_path, shape):
    records = shape.chain(4)
    twin = dict(records[2], ts=records[2]["ts"] + 1000)
    twin["hash"] = shape.digest(twin)
    path = shape.store(tmp_path / "s.db", [*records, twin], keys=False)
    assert found(path) == {"fork": (3, 3, 1), "order": (4, 4, 1)}


def test_placeholder_hashes(tmp_path, shape):
    records = shape.chain(4)
    for n, record in enumerate(records):
        record |= {"prev_hash": f"h{n}" if n else "", "hash": f"h{n + 1}"}
    assert found(shape.store(tmp_path / "s.db", records)) == {"content": (1, 4, 4), "form": (1, 4, 4)}


def test_uppercase_hash(tmp_path, shape):
    records = shape.chain(3)
    records[1]["hash"] = records[2]["prev_hash"] = records[1]["hash"].upper()
    records[2]["hash"] = shape.digest(records[2])
    assert found(shape.store(tmp_path / "s.db", records)) == {"content": (2, 2, 1), "form": (2, 3, 2)}


@pytest.mark.parametrize("text", ["a|b", "nul\0inside", "", "é\u2028'\"\\\n\x1b[31m<b>", "😀"])
def test_hostile_text(tmp_path, shape, text):
    records = shape.chain(3)
    for record in records:
        record |= dict.fromkeys([k for k, v in shape.fields.items() if isinstance(v, str)], text)
        if shape.scope == "x":
            record["scope"] = "s" + text
    (outcome,) = verify(shape.store(tmp_path / "s.db", shape.seal(records)))
    assert (outcome.scope, outcome.extents) == (records[0]["scope"], ())


def test_hash_with_a_newline_at_its_end_is_malformed(tmp_path):
    shape = Shape("mcp_calls")
    records = shape.chain(1)
    records[0]["hash"] += "\n"
    assert found(shape.store(tmp_path / "s.db", records)) == {"content": (1, 1, 1), "form": (1, 1, 1)}


# ---- integers --------------------------------------------------------------------------------------------------------


def test_negative_columns_of_calls_are_u64(tmp_path):
    shape = Shape("mcp_calls")
    records = shape.chain(3)
    for n, record in enumerate(records):
        record |= {"seq": n - 1, "ts": -5 + n, "pin_generation": 2**64 - 1}
    assert found(shape.store(tmp_path / "s.db", shape.seal(records))) == {"genesis": (1, 1, 1)}
    records[2]["ts"] = -305  # times compare as they are stored, signed
    assert found(shape.store(tmp_path / "t.db", shape.seal(records))) == {"genesis": (1, 1, 1), "order": (1, 1, 1)}


@pytest.mark.parametrize("name", ["audit_log", "task_events"])
def test_negative_columns_of_joined_recipes_are_signed_text(tmp_path, name):
    shape = Shape(name)
    records = shape.chain(2)
    records[0] |= {"seq": -1, "ts": -7}
    records[1] |= {"seq": 0, "ts": -6}
    assert found(shape.store(tmp_path / "s.db", shape.seal(records))) == {}


@pytest.mark.parametrize("name", POPULATIONS[3:])
def test_u64_in_bodies(tmp_path, name):
    shape = Shape(name)
    records = shape.chain(2)
    for n, record in enumerate(records):
        record |= {"seq": 2**64 - 2 + n, "row_seq": n + 1, "ts": 2**64 - 1}
    assert found(shape.store(tmp_path / "s.db", shape.seal(records))) == {}


@pytest.mark.parametrize("name", ["audit_log", "mcp_calls", "task_events"])
def test_record_before_the_first(tmp_path, name):
    shape = Shape(name)
    records = shape.chain(3)
    for n, record in enumerate(records):
        record["seq"] = n
    records[1] |= {"prev_hash": "", "keep": True}  # right for a first record, wrong after another one
    path = shape.store(tmp_path / "s.db", shape.seal(records), strict=False)
    assert found(path) == {"link": (1, 1, 1)}
    con = sqlite3.connect(path)
    con.execute(f"UPDATE {shape.table} SET prev_hash = x'00' WHERE seq = 1")
    con.commit()
    con.close()
    assert found(path) == {"undecodable": (1, 1, 1)}


# ---- plane bodies ----------------------------------------------------------------------------------------------------


def test_digest_version_changes_in_the_middle(tmp_path):
    shape = Shape("task_event v1")
    records = shape.chain(6)
    for record, version in zip(records, (None, 2.0, 3, 2, 2, "2"), strict=True):
        if version is not None:
            record["digest_version"] = version
    assert found(shape.store(tmp_path / "s.db", shape.seal(records))) == {}
    records[3]["digest_version"] = 1
    assert found(shape.store(tmp_path / "t.db", records)) == {"content": (4, 4, 1)}


def test_audit_variants_mix_in_one_chain(tmp_path):
    shape = Shape("audit typed")
    records = shape.chain(8)
    con = create(tmp_path / "s.db")
    for n, record in enumerate(records):
        shape.form = ("typed", "legacy", "core", "kernel")[n % 4]
        shape.seal(records[: n + 1], n)
        insert(con, "plane_records", shape.row(record))
    con.close()
    assert found(tmp_path / "s.db") == {}


def test_typed_and_neutral_calls_mix_in_one_chain(tmp_path):
    shape = Shape("call typed")
    records = shape.chain(6)
    con = create(tmp_path / "s.db")
    for n, record in enumerate(records):
        shape.form = ("typed", "neutral")[n % 2]
        insert(con, "plane_records", shape.row(record))
    con.close()
    assert found(tmp_path / "s.db") == {}


def test_neutral_call_digests_the_parent_and_typed_its_own_principal(tmp_path):
    neutral, typed = Shape("call neutral"), Shape("call typed")
    for path, shape, faults in (("s.db", neutral, {"content": (1, 3, 3)}), ("t.db", typed, {})):
        records = shape.chain(3)
        bodies = [compact(shape.body(record)) for record in records]
        records = [record | {"body": body, "scope": "other"} for record, body in zip(records, bodies, strict=True)]
        assert found(shape.store(tmp_path / path, records)) == faults


def test_body_seq_is_digested_and_row_seq_places(tmp_path):
    for n, name in enumerate(POPULATIONS[3:]):
        shape = Shape(name)
        records = [record | {"row_seq": record["seq"] + 1} for record in shape.chain(3)]
        path = shape.store(tmp_path / f"{n}.db", records)
        assert found(path) == {"head-missing": (1, 1, 1), "restart": (2, 2, 1)}


def _swap(text, old, new):
    assert old in text
    return text.replace(old, new)


BAD_BODIES = {
    "not JSON": lambda body: "{",
    "empty": lambda body: "",
    "array": lambda body: f"[{body}]",
    "trailing comma": lambda body: body[:-1] + ",}",
    "NaN": lambda body: body[:-1] + ',"x":NaN}',
    "Infinity": lambda body: body[:-1] + ',"x":-Infinity}',
    "half a surrogate pair": lambda body: body[:-1] + ',"x":"\\ud800"}',
    "member twice": lambda body: body[:-1] + ',"seq":1,"seq":1,"server":"","server":""}',
    "member twice by escape": lambda body: body[:-1] + ',"x":1,"\\u0078":1}',
    "text after the end": lambda body: body + "x",
    "byte order mark": lambda body: "\ufeff" + body,
    "invalid UTF-8": lambda body: body.encode()[:-1] + b',"x":"\xff"}',
    "raw control character": lambda body: body[:-1] + ',"x":"\n"}',
    "comment": lambda body: body[:-1] + "/**/}",
}


def _break(shape, path, body, **options):
    records = shape.chain(6)
    records[3]["body"] = body(compact(shape.body(records[3])))
    con = create(path, **options)
    for record in records:
        row = shape.row(record)
        if shape.table == "mcp_calls" and isinstance(row["body"], bytes):
            bad, row["body"] = row["body"], ""
            insert(con, "mcp_calls", row)
            con.execute("UPDATE mcp_calls SET body = CAST(? AS TEXT) WHERE seq = 4", (bad,))
        else:
            insert(con, shape.table, row)
    con.close()
    return path


@pytest.mark.parametrize(
    "name", ["mcp_calls", "call typed", "call neutral", "audit typed", "audit core", "task_event v2"]
)
@pytest.mark.parametrize("body", BAD_BODIES)
def test_body_that_is_no_strict_json(tmp_path, name, body):
    path = _break(Shape(name), tmp_path / "s.db", BAD_BODIES[body])
    assert found(path) == {"undecodable": (4, 4, 1)}


FINE_BODIES = {
    "blanks": lambda body: " \t\r\n" + body + "\n",
    "extra member": lambda body: body[:-1] + ',"x":{"a":[1e999,-0,0.5,null,true]}}',
    "nested member twice": lambda body: body[:-1] + ',"x":{"a":1,"a":2}}',
    "whole surrogate pair": lambda body: body[:-1] + ',"x":"\\uD83D\\uDE00 \\\\ud800"}',
    "other order": lambda body: compact(dict(reversed(json.loads(body).items()))),
    "escapes": lambda body: body.replace('"seq"', '"s\\u0065q"').replace('"outcome"', '"\\u006futcome"'),
    "huge number": lambda body: body[:-1] + ',"x":' + "9" * 10_000 + "}",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["mcp_calls", "call typed", "call neutral", "audit typed", "audit core", "task_event v2"]
)
@pytest.mark.parametrize("body", FINE_BODIES)
def test_body_in_another_spelling(tmp_path, name, body):
    assert found(_break(Shape(name), tmp_path / "s.db", FINE_BODIES[body])) == {}


@pytest.mark.parametrize(
    "number",
    ["-1", "-0", "18446744073709551616", "7.0", "7e0", "true", "null", '"7"', "[7]", "99999999999999999999999"],
)
@pytest.mark.parametrize(
    ("name", "member"),
    [("mcp_calls", "pin_generation"), ("call typed", "seq"), ("audit core", "seq"), ("task_event v1", "ts")],
)
def test_number_that_is_no_u64(tmp_path, name, member, number):
    shape = Shape(name)
    value = {"pin_generation": 7, "seq": 4, "ts": 1700000180}[member]
    path = _break(shape, tmp_path / "s.db", lambda body: _swap(body, f'"{member}":{value}', f'"{member}":{number}'))
    assert found(path) == {"undecodable": (4, 4, 1)}


@pytest.mark.parametrize("name", POPULATIONS[1:2] + POPULATIONS[3:])
def test_each_digested_member_is_needed_as_text(tmp_path, name):
    shape = Shape(name)
    body = shape.body(shape.chain(4)[3])
    spare = {"request_id", "digest_version"}
    for n, member in enumerate(body.keys() - spare):
        for value in (None, 1.5):
            path = tmp_path / f"{n}{value}.db"
            assert found(_break(shape, path, lambda _, m=member, v=value: compact(body | {m: v}))) == {
                "undecodable": (4, 4, 1)
            }
    for n, member in enumerate(body.keys() - spare - {"content"}):
        rest = {key: body[key] for key in body if key != member}
        assert found(_break(shape, tmp_path / f"no{n}.db", lambda _, r=rest: compact(r))) == {"undecodable": (4, 4, 1)}


def test_task_event_with_a_content_member_is_typed(tmp_path):
    path = _break(Shape("task_event v2"), tmp_path / "s.db", lambda body: body[:-1] + ',"content":[0]}')
    assert found(path) == {}


@pytest.mark.parametrize("name", ["call neutral", "audit kernel"])
def test_true_is_not_the_byte_one(tmp_path, name):
    shape = Shape(name)
    for record in (records := shape.chain(4)):
        record |= dict.fromkeys([k for k, v in shape.fields.items() if isinstance(v, str)], "x")
    shape.seal(records)
    shape.chain = lambda count: records
    path = _break(shape, tmp_path / "s.db", lambda body: _swap(body, "0,0,1,120", "0,0,true,120"))
    assert found(path) == {"undecodable": (4, 4, 1)}


@pytest.mark.parametrize("content", [[], [256], [-1], [1.0], [True], ["1"], "x", {}, [0, 0, 0]])
@pytest.mark.parametrize("name", ["call neutral", "audit kernel"])
def test_content_that_is_none_of_the_forms(tmp_path, name, content):
    path = _break(Shape(name), tmp_path / "s.db", lambda body: compact(json.loads(body) | {"content": content}))
    assert found(path) == {"undecodable": (4, 4, 1)}


def test_hashes_of_an_undecodable_call_row_still_link(tmp_path):
    shape = Shape("mcp_calls")
    records = shape.chain(6)
    records[3] |= {"body": "x", "hash": "00" * 32, "prev_hash": "11" * 32}
    path = shape.store(tmp_path / "s.db", records)
    assert found(path) == {"link": (4, 5, 2), "undecodable": (4, 4, 1)}


def test_time_of_an_undecodable_call_row_is_known_by_its_column(tmp_path):
    shape = Shape("mcp_calls")
    records = shape.chain(6)
    records[3] |= {"body": "x", "ts": 5}
    path = shape.store(tmp_path / "s.db", records)
    assert found(path) == {"order": (4, 4, 1), "undecodable": (4, 4, 1)}


def test_undecodable_plane_record_takes_no_part_in_links_nor_order(tmp_path):
    shape = Shape("call typed")
    records = shape.chain(6)
    records[4] |= {"prev_hash": "11" * 32, "keep": True, "ts": records[2]["ts"] - 301}
    shape.seal(records)
    records[3]["body"] = "x"
    path = shape.store(tmp_path / "s.db", records)
    assert found(path) == {"order": (5, 5, 1), "undecodable": (4, 4, 1)}


def test_undecodable_ends_of_a_plane_chain(tmp_path):
    shape = Shape("audit typed")
    records = shape.chain(3)
    records[0]["body"] = records[2]["body"] = "x"
    (outcome,) = verify(shape.store(tmp_path / "s.db", records))
    assert (outcome.records, outcome.first_prev_hash, outcome.last_hash) == (3, None, None)
    assert outcome.extents == (ChainExtent("undecodable", 1, 3, 2),)


def test_text_in_place_of_a_body_blob(tmp_path):
    shape = Shape("call typed")
    con = create(tmp_path / "s.db", strict=False)
    for record in shape.chain(3):
        row = shape.row(record)
        insert(con, "plane_records", row | ({"body": row["body"].decode()} if record["seq"] == 2 else {}))
    con.close()
    assert found(tmp_path / "s.db") == {"undecodable": (2, 2, 1)}


# ---- damaged tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [b"bytes", 1.5, None])
@pytest.mark.parametrize("name", ["audit_log", "mcp_calls", "task_events"])
def test_wrong_storage_class(tmp_path, name, value):
    shape = Shape(name)
    scope = {"audit_log": "seq", "mcp_calls": "principal", "task_events": "task_id"}[name]
    columns = [column for column in shape.row(shape.chain(1)[0]) if column not in (scope, "seq")]
    for column in columns:
        path = shape.store(tmp_path / f"{column}.db", shape.chain(4), strict=False, keys=False)
        con = sqlite3.connect(path)
        # Affinity turns a real in a text column into text, which is then another, decodable content.
        con.execute(f"UPDATE {shape.table} SET {column} = ? WHERE seq = 2", (value,))
        con.commit()
        con.close()
        faults = found(path)
        text = isinstance(value, float) and column != "ts"
        if not text:
            assert faults == {"undecodable": (2, 2, 1)}, column
        elif column != "body":
            assert faults["content"] == (2, 2, 1), column


@pytest.mark.parametrize("name", ["audit_log", "mcp_calls", "task_events"])
def test_invalid_utf8_in_a_column(tmp_path, name):
    shape = Shape(name)
    for column in ("prev_hash", "hash"):
        path = shape.store(tmp_path / f"{column}.db", shape.chain(4))
        con = sqlite3.connect(path)
        con.execute(f"UPDATE {shape.table} SET {column} = CAST(x'ff' AS TEXT) WHERE seq = 2")
        con.commit()
        con.close()
        assert found(path) == {"undecodable": (2, 2, 1)}


def test_rows_without_a_place_are_only_counted(tmp_path):
    shape = Shape("mcp_calls")
    path = shape.store(tmp_path / "s.db", shape.chain(4), strict=False, keys=False)
    con = sqlite3.connect(path)
    row = "SELECT {}, {}, ts, 'x', 'y', body FROM mcp_calls WHERE seq = 2"
    places = [("principal", "1.5"), ("principal", "NULL"), ("x'78'", "9"), ("CAST(x'ff' AS TEXT)", "7"), ("NULL", "5")]
    for place in places:
        con.execute("INSERT INTO mcp_calls (principal, seq, ts, prev_hash, hash, body) " + row.format(*place))
    con.commit()
    con.close()
    outcomes = {(o.scope, o.records, o.first_seq, o.last_seq, o.extents) for o in verify(path)}
    assert outcomes == {
        ("", 1, 0, 0, (ChainExtent("undecodable", 5, 5, 1),)),
        ("x", 6, 1, 4, (ChainExtent("undecodable", 0, 0, 2),)),
        ("\ufffd", 1, 0, 0, (ChainExtent("undecodable", 7, 7, 1),)),
        ("x", 1, 0, 0, (ChainExtent("undecodable", 9, 9, 1),)),
    }


def test_scope_of_the_same_bytes_in_another_class(tmp_path):
    shape = Shape("mcp_calls")
    path = shape.store(tmp_path / "s.db", shape.chain(2), strict=False)
    con = sqlite3.connect(path)
    con.execute("UPDATE mcp_calls SET principal = x'78' WHERE seq = 2")
    con.commit()
    con.close()
    assert [(o.scope, o.records, o.last_seq) for o in verify(path)] == [("x", 1, 1), ("x", 1, 0)]


def test_table_without_a_column(tmp_path):
    shape = Shape("mcp_calls")
    path = shape.store(tmp_path / "s.db", shape.chain(3))
    con = sqlite3.connect(path)
    con.execute("ALTER TABLE mcp_calls DROP COLUMN body")
    con.close()
    assert found(path) == {"undecodable": (1, 3, 3)}


def test_empty_and_absent_tables(tmp_path):
    create(tmp_path / "empty.db").close()
    assert list(verify(tmp_path / "empty.db")) == []
    con = sqlite3.connect(tmp_path / "bare.db")
    con.execute("CREATE VIEW mcp_calls AS SELECT 1 AS principal")
    con.close()
    assert list(verify(tmp_path / "bare.db")) == []


def test_plane_rows_without_a_parent_or_of_another_kind_are_no_chain(tmp_path):
    shape = Shape("call typed")
    path = shape.store(tmp_path / "s.db", shape.chain(2))
    con = sqlite3.connect(path)
    for kind, parent in (("task", None), ("call", None), ("demotion", "srv")):
        con.execute("INSERT INTO plane_records VALUES (?, 'other', 0, 'i', ?, 1, 'active', x'7b')", (kind, parent))
    con.commit()
    con.close()
    assert [(o.population, o.records) for o in verify(path)] == [("call", 2)]


def test_snapshot_in_wal_mode_stays_alone_in_its_directory(tmp_path):
    shape = Shape("mcp_calls")
    path = shape.store(tmp_path / "a #?%20 name.db", shape.chain(2))
    con = sqlite3.connect(path)
    assert con.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    con.close()
    before = path.read_bytes()
    assert [o.extents for o in verify(path)] == [()]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_committed_rows_in_a_wal_are_read(tmp_path):
    shape = Shape("mcp_calls")
    path = shape.store(tmp_path / "s.db", shape.chain(2))
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA journal_mode = WAL")
    insert(con, "mcp_calls", shape.row(shape.chain(3)[2]))
    assert [o.records for o in verify(path)] == [3]
    con.close()


# ---- order of outcomes, batches --------------------------------------------------------------------------------------


def everything(path, count, edit=lambda records: None):
    con = create(path)
    for name in POPULATIONS[:4] + POPULATIONS[5:6] + POPULATIONS[10:]:
        shape = Shape(name)
        for scope in ("b", "a|", "a") if shape.scope == "x" else (None,):
            records = shape.chain(count, scope)
            edit(records)
            for record in records:
                insert(con, shape.table, shape.row(record))
    con.close()
    return path


def test_outcomes_come_by_population_and_scope(tmp_path):
    keys = [(o.population, o.scope) for o in verify(everything(tmp_path / "s.db", 3))]
    scopes = ("a", "a|", "b")
    assert keys == [
        ("audit_log", "audit_log"),
        *(("mcp_calls", scope) for scope in scopes),
        *(("task_events", scope) for scope in scopes),
        ("audit", "admin"),
        *(("call", scope) for scope in scopes),
        *(("task_event", scope) for scope in scopes),
    ]


@pytest.mark.parametrize("batch", [1, 2, 999, 1001])
def test_batch_size_does_not_matter(tmp_path, batch):
    def edit(records):
        for index in (0, 500, 998, 999, 1000, 1001):
            records[index]["hash"] = "ab" * 32
        del records[997], records[3]

    path = everything(tmp_path / "s.db", 1005, edit)
    expected = list(verify(path))
    assert all({e.about for e in o.extents} == {"content", "gap-inner", "link"} for o in expected)
    assert list(verify(path, batch=batch)) == expected


EDITS = {
    "ts": lambda r: r.update(ts=r["ts"] - 1000),
    "hash": lambda r: r.update(hash="ab" * 32),
    "prev": lambda r: r.update(prev_hash="cd" * 32),
    "restart": lambda r: r.update(prev_hash=""),
    "form": lambda r: r.update(hash="h1"),
    "seq": lambda r: r.update(seq=r["seq"] + 1),
    "body": lambda r: r.update(body="{"),
    "scope": lambda r: r.update(scope="y"),
}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(POPULATIONS),
    st.lists(st.tuples(st.integers(0, 11), st.sampled_from(sorted(EDITS))), max_size=6),
    st.sets(st.integers(0, 11)),
)
def test_batch_size_does_not_matter_for_damaged_chains(tmp_path_factory, name, edits, lost):
    shape = Shape(name)
    records = shape.chain(12)
    for index, edit in edits:
        if name != "audit_log" or edit != "scope":
            EDITS[edit](records[index])
    records = [record for index, record in enumerate(records) if index not in lost]
    path = shape.store(tmp_path_factory.mktemp("batch") / "s.db", records, keys=False)
    expected = list(verify(path))
    assert sum(outcome.records for outcome in expected) == len(records)
    for batch in (1, 2, 3, 11):
        assert list(verify(path, batch=batch)) == expected


def test_large_bodies_end_a_batch_early(tmp_path, monkeypatch):
    monkeypatch.setattr("busbar_audit.chains.streaming._BATCH_BYTES", 1)
    assert all(not outcome.extents for outcome in verify(everything(tmp_path / "s.db", 4)))


# ---- strict JSON -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        r'{"a":"\ud800"}',
        r'{"a":"\uDC00"}',
        r'{"a":"\ud800\ud800"}',
        r'{"a":"\udc00\ud800"}',
        r'{"a":"\ud800\\udc00"}',
        r'{"a":"\ud800x\udc00"}',
        r'{"\udfff":1}',
        r'{"a":[{"b":"\\\ud800"}]}',
        '{"a":01}',
        '{"a":+1}',
        '{"a":.5}',
        "{'a':1}",
        '{"a":1}\0',
        '{"a":1} {}',
        "null",
        "7",
        '"x"',
        '{"a":1,}',
        '{"a":[1,]}',
        '{"a":1,"b":2,"a":1}',
        "[" * 100_000,
        '{"a":"\t"}',
        '{"a":"\\x41"}',
    ],
)
def test_strict_object_refuses(text):
    with pytest.raises(Undecodable):
        strict_object(text.encode())


@pytest.mark.parametrize("data", [b"\xff{}", '{"a":1}'.encode("utf-16"), b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc0\x80"}'])
def test_strict_object_refuses_other_encodings(data):
    with pytest.raises(Undecodable):
        strict_object(data)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a":"\ud83d\ude00\uD83D\uDE00"}', {"a": "😀😀"}),
        (r'{"a":"\\ud800"}', {"a": "\\ud800"}),
        (r'{"a":"\u0000\u00e9\/\ud7ff\ue000"}', {"a": "\0é/\ud7ff\ue000"}),
        ("{}", {}),
        ('{"a":18446744073709551615}', {"a": 2**64 - 1}),
    ],
)
def test_strict_object_accepts(text, value):
    assert strict_object(text.encode()) == value


def test_integers_no_field_can_hold_are_floats():
    value = strict_object(b'{"a":-0,"b":-7,"c":100000000000000000000000,"d":1e400}')
    assert {type(v) for v in value.values()} == {float}


# ---- stores written by the real products -----------------------------------------------------------------------------


@pytest.mark.real_stores
@pytest.mark.parametrize(
    ("name", "chains"),
    [
        ("v6_fixture", 1),
        ("v8_fixture", 3),
        ("v8_realistic", 504),
        ("v9_fixture", 3),
        ("v10_from_v9_fixture", 3),
        ("v12_from_v9_fixture", 3),
    ],
)
def test_real_stores_are_intact(tmp_path, name, chains):
    import gzip

    folder = Path(os.environ.get("BUSBAR_AUDIT_SAMPLES") or Path(__file__).resolve().parents[2] / "shared" / "stores")
    packed = next(iter(folder.rglob(f"{name}.db.gz")), None)
    if packed is None:
        pytest.skip(f"no {name}.db.gz under {folder}")
    (tmp_path / "s.db").write_bytes(gzip.decompress(packed.read_bytes()))
    outcomes = list(verify(tmp_path / "s.db"))
    assert len(outcomes) == chains
    assert [outcome for outcome in outcomes if outcome.extents] == []
