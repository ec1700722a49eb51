"""The fast way over mcp_calls gives the outcomes of the streaming verifier, whatever the rows are."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from busbar_audit.chains import fast, recipes, spans, streaming

REPOSITORY = Path(__file__).resolve().parent.parent
COLUMNS = "principal TEXT, seq INTEGER, ts INTEGER, prev_hash TEXT, hash TEXT, body TEXT"
UNTYPED = "principal, seq, ts, prev_hash, hash, body"  # such columns keep whatever is put there


def body(call, **extra):
    """The canonical body: seven members in alphabetical order."""
    members = {name: call[name] for name in ("outcome", "pin_generation", "reason", "server", "tool", "tool_digest")}
    members = {"request_id": call.get("request_id", "req-1"), **members, **extra}
    return json.dumps(dict(sorted(members.items())), separators=(",", ":"), ensure_ascii=False)


def chain(principal, count, tools=3):
    """A sealed chain as dicts that hold the columns and the members."""
    calls, prev = [], ""
    for n in range(count):
        call = {"principal": principal, "seq": n + 1, "ts": 1700000000 + n, "prev_hash": prev, "server": "srv",
                "tool": f"srv_{n % tools}", "outcome": "dispatched", "reason": "", "tool_digest": "d" * (n % 2),
                "pin_generation": 7, "request_id": f"req-{n:08x}"}  # fmt: skip
        calls.append(seal(call))
        prev = call["hash"]
    return calls


def seal(call):
    fields = {key: value for key, value in call.items() if key not in ("request_id", "hash", "body")}
    call["hash"] = recipes.call(**fields)
    call["body"] = body(call)
    return call


def woven(*chains):
    """The rows in the order a gateway writes them: principals take turns."""
    longest = max(map(len, chains))
    return [calls[n] for n in range(longest) for calls in chains if n < len(calls)]


def store(path, rows, key=", PRIMARY KEY (principal, seq)", options=" STRICT", columns=COLUMNS):
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA synchronous = OFF")
    con.execute(f"CREATE TABLE mcp_calls ({columns}{key}){options}")
    con.execute("BEGIN")
    con.executemany("INSERT INTO mcp_calls VALUES (:principal, :seq, :ts, :prev_hash, :hash, :body)", rows)
    con.execute("COMMIT")
    con.close()
    return path


def judged(path):
    return [outcome for outcome in streaming.verify(path) if outcome.population == "mcp_calls"]


def faults(outcomes):
    return {(o.scope, e.about, e.first_seq, e.last_seq, e.records) for o in outcomes for e in o.extents}


@pytest.fixture
def no_streaming(monkeypatch):
    """Let a test fail when the fast way leaves a chain to the streaming verifier."""
    monkeypatch.setattr(streaming, "verify_calls", None)


@pytest.fixture
def short_ranges(monkeypatch):
    monkeypatch.setattr(fast, "_ALONE_BELOW", 1)
    monkeypatch.setattr(fast, "_RANGE", 7)


def test_clean_store(tmp_path, no_streaming):
    path = store(tmp_path / "s.db", woven(chain("b", 40), chain("a", 25), chain("é|\0", 1)))
    outcomes = list(fast.verify_calls(path))
    assert [(o.scope, o.records, o.extents) for o in outcomes] == [("a", 25, ()), ("b", 40, ()), ("é|\0", 1, ())]
    assert outcomes == judged(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.db"]


def test_most_rows_take_the_short_way(tmp_path, monkeypatch):
    path = store(tmp_path / "s.db", woven(chain("a", 100), chain("b", 100)))
    calls = []
    monkeypatch.setattr(
        spans.Scanner, "_judge", lambda self, *row, real=spans.Scanner._judge: (calls.append(row), real(self, *row))
    )
    assert faults(fast.verify_calls(path)) == set()
    assert len(calls) <= 2 + 3 * 2  # the first of each principal, and each spelling of a body once or twice


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_chains_across_ranges_and_processes(tmp_path, monkeypatch, processes):
    monkeypatch.setattr(fast, "_ALONE_BELOW", 1)
    monkeypatch.setattr(fast, "_RANGE", 100)
    calls = [chain(f"p{n}", 300) for n in range(4)]
    calls[0][150]["hash"] = "ab" * 32
    del calls[1][100:120], calls[2][:33]
    calls[3][200]["ts"] -= 302
    path = store(tmp_path / "s.db", woven(*calls))
    outcomes = list(fast.verify_calls(path, processes=processes))
    assert outcomes == judged(path)
    assert faults(outcomes) == {
        ("p0", "content", 151, 151, 1),
        ("p0", "link", 152, 152, 1),
        ("p1", "gap-inner", 101, 120, 20),
        ("p2", "head-missing", 1, 33, 33),
        ("p3", "content", 201, 201, 1),
        ("p3", "order", 201, 201, 1),
    }


def test_worker_that_dies_leaves_its_ranges_to_this_process(tmp_path, short_ranges, monkeypatch):
    monkeypatch.setattr(fast, "_BOOT", "import sys; sys.stdin.readline(); sys.exit(1)")
    path = store(tmp_path / "s.db", woven(chain("a", 30), chain("b", 30)))
    assert list(fast.verify_calls(path, processes=2)) == judged(path)


def test_runs_from_a_script_without_a_main_guard(tmp_path):
    path = store(tmp_path / "s.db", woven(chain("a", 30), chain("b", 30)))
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from pathlib import Path\nfrom busbar_audit.chains import fast\n"
        "fast._ALONE_BELOW, fast._RANGE = 1, 7\n"
        f"print([(o.scope, o.records, o.extents) for o in fast.verify_calls(Path({str(path)!r}))])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[('a', 30, ()), ('b', 30, ())]\n"
    assert done.stderr == ""


# ---- faults, one by one ----------------------------------------------------------------------------------------------


def _resealed(calls, index, **changes):
    calls[index] |= changes
    seal(calls[index])
    for before, call in zip(calls[index:], calls[index + 1 :], strict=False):
        call["prev_hash"] = before["hash"]
        seal(call)


FAULTS = {
    "body": (lambda c: c[4].update(body=c[4]["body"].replace("dispatched", "refused")), {("content", 5, 5, 1)}),
    "ts": (lambda c: c[4].update(ts=c[4]["ts"] + 1), {("content", 5, 5, 1)}),
    "hash": (lambda c: c[4].update(hash="ab" * 32), {("content", 5, 5, 1), ("link", 6, 6, 1)}),
    "prev": (lambda c: c[4].update(prev_hash="ab" * 32), {("content", 5, 5, 1), ("link", 5, 5, 1)}),
    "resealed alone": (lambda c: (c[4].update(ts=7), seal(c[4])), {("link", 6, 6, 1), ("order", 5, 5, 1)}),
    "gap": (lambda c: c.__delitem__(slice(4, 6)), {("gap-inner", 5, 6, 2)}),
    "head": (lambda c: c.__delitem__(slice(0, 2)), {("head-missing", 1, 2, 2)}),
    "genesis": (lambda c: _resealed(c, 0, prev_hash="ab" * 32), {("genesis", 1, 1, 1)}),
    "restart": (lambda c: _resealed(c, 4, prev_hash=""), {("restart", 5, 5, 1)}),
    "time back by the tolerance": (lambda c: _resealed(c, 4, ts=c[3]["ts"] - 300), set()),
    "time back by more": (lambda c: _resealed(c, 4, ts=c[3]["ts"] - 301), {("order", 5, 5, 1)}),
    "form": (lambda c: c[4].update(hash="AB" * 32), {("content", 5, 5, 1), ("form", 5, 5, 1), ("link", 6, 6, 1)}),
    "placeholders that link": (
        lambda c: [call.update(hash=f"h{n}", prev_hash=f"h{n - 1}" if n else "") for n, call in enumerate(c)],
        {("content", 1, 10, 10), ("form", 1, 10, 10)},
    ),
    "malformed but linked": (
        lambda c: (c[4].update(hash="h"), _resealed(c, 5, prev_hash="h")),
        {("content", 5, 5, 1), ("form", 5, 6, 2)},
    ),
    "no JSON": (lambda c: c[4].update(body="{"), {("undecodable", 5, 5, 1)}),
    "request id with a control character": (
        lambda c: c[4].update(body=c[4]["body"].replace("req-", "req\n")),
        {("undecodable", 5, 5, 1)},
    ),
    "request id with half an escape": (
        lambda c: c[4].update(body=c[4]["body"].replace("req-", "req\\x")),
        {("undecodable", 5, 5, 1)},
    ),
    "request id with half a pair": (
        lambda c: c[4].update(body=c[4]["body"].replace("req-", "\\ud800")),
        {("undecodable", 5, 5, 1)},
    ),
    "request id that closes itself": (
        lambda c: c[4].update(body=c[4]["body"].replace("req-", 'r","tool":"other')),
        {("undecodable", 5, 5, 1)},
    ),
    "request id that is odd but fine": (
        lambda c: c[4].update(body=c[4]["body"].replace("req-", "é\u2028\\u0022\\\\😀\x7f")),
        set(),
    ),
    "pin above u64": (
        lambda c: c[4].update(body=c[4]["body"].replace(":7,", ":18446744073709551616,")),
        {("undecodable", 5, 5, 1)},
    ),
    "pin with a leading zero": (
        lambda c: c[4].update(body=c[4]["body"].replace(":7,", ":07,")),
        {("undecodable", 5, 5, 1)},
    ),
    "pin above u64 everywhere": (
        lambda c: [call.update(body=call["body"].replace(":7,", ":18446744073709551623,")) for call in c],
        {("undecodable", 1, 10, 10)},
    ),
    "pin with a leading zero everywhere": (
        lambda c: [call.update(body=call["body"].replace(":7,", ":07,")) for call in c],
        {("undecodable", 1, 10, 10)},
    ),
    "gap that is linked over": (
        lambda c: ([call.update(seq=call["seq"] + 1) for call in c[7:]], _resealed(c, 7)),
        {("gap-inner", 8, 8, 1)},
    ),
    "link to another record": (lambda c: _resealed(c, 7, prev_hash="ab" * 32), {("link", 8, 8, 1)}),
    "seq before 1": (
        lambda c: [call.update(seq=call["seq"] - 3, prev_hash="ab" * 32) or seal(call) for call in c],
        {("genesis", 1, 1, 1), ("link", -1, 7, 9)},
    ),
    "negative time": (lambda c: _resealed(c, 4, ts=-1), {("order", 5, 5, 1)}),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("ranges", ["one", "many"])
def test_fault(tmp_path, monkeypatch, no_streaming, name, ranges):
    if ranges == "many":
        monkeypatch.setattr(fast, "_ALONE_BELOW", 1)
        monkeypatch.setattr(fast, "_RANGE", 3)
    edit, expected = FAULTS[name]
    bad = chain("bad", 10)
    edit(bad)
    path = store(tmp_path / "s.db", woven(chain("a", 10), bad, chain("z", 10)))
    outcomes = list(fast.verify_calls(path, processes=1))
    assert faults(outcomes) == {("bad", *fault) for fault in expected}
    assert outcomes == judged(path)


def test_linked_records_before_and_at_one(tmp_path, no_streaming):
    calls = chain("a", 9)
    for n, call in enumerate(calls):
        call |= {"seq": n - 5, "prev_hash": calls[n - 1]["hash"] if n else ""}
        seal(call)
    path = store(tmp_path / "s.db", calls)
    assert faults(fast.verify_calls(path)) == {("a", "genesis", 1, 1, 1)} == faults(judged(path))


# ---- what is left to the streaming verifier --------------------------------------------------------------------------


def test_records_that_do_not_ascend(tmp_path, short_ranges):
    calls = chain("a", 10)
    path = store(tmp_path / "s.db", woven(calls[::-1], chain("b", 100)))
    assert list(fast.verify_calls(path, processes=1)) == judged(path)
    assert faults(judged(path)) == set()


@pytest.mark.parametrize("at", [1, 5, 7, 9])
def test_two_records_swapped(tmp_path, short_ranges, at):
    calls = chain("a", 14)
    calls[at], calls[at + 1] = calls[at + 1], calls[at]
    path = store(tmp_path / "s.db", calls)
    assert list(fast.verify_calls(path, processes=1)) == judged(path)
    assert faults(judged(path)) == set()


@pytest.mark.parametrize("at", range(1, 13))
def test_record_without_a_time_before_one_that_goes_back(tmp_path, monkeypatch, no_streaming, at):
    monkeypatch.setattr(fast, "_ALONE_BELOW", 1)
    monkeypatch.setattr(fast, "_RANGE", 3)
    calls = chain("a", 14)
    _resealed(calls, at + 1, ts=7)
    calls[at]["ts"] = b""
    path = store(tmp_path / "s.db", calls, options="", columns=UNTYPED)
    outcomes = list(fast.verify_calls(path, processes=1))
    assert outcomes == judged(path)
    assert faults(outcomes) == {("a", "order", at + 2, at + 2, 1), ("a", "undecodable", at + 1, at + 1, 1)}


def test_one_chain_is_read_again_and_not_the_table(tmp_path, monkeypatch):
    path = store(tmp_path / "s.db", woven(chain("a", 10)[::-1], chain("b", 100)))
    expected, again, real = judged(path), [], streaming.verify_calls

    def spy(con, **options):
        again.append(options.get("principal"))
        return real(con, **options)

    monkeypatch.setattr(streaming, "verify_calls", spy)
    assert list(fast.verify_calls(path)) == expected
    assert again == ["a"]


def test_most_chains_are_read_again_as_a_table(tmp_path, monkeypatch):
    path = store(tmp_path / "s.db", woven(chain("a", 100)[::-1], chain("b", 100)))
    expected, again, real = judged(path), [], streaming.verify_calls

    def spy(con, **options):
        again.append(options.get("principal"))
        return real(con, **options)

    monkeypatch.setattr(streaming, "verify_calls", spy)
    assert list(fast.verify_calls(path)) == expected
    assert again == [None]


def test_forks(tmp_path, short_ranges):
    calls = chain("a", 10)
    twin = seal(dict(calls[4], ts=1700000005))
    path = store(tmp_path / "s.db", [*calls, twin, *chain("b", 50)], key="")
    assert faults(fast.verify_calls(path, processes=1)) == {("a", "fork", 5, 5, 1)}


@pytest.mark.parametrize("processes", [1, 2])
def test_more_principals_than_fit(tmp_path, short_ranges, monkeypatch, processes):
    monkeypatch.setattr(spans, "MAX_SPANS", 5)
    monkeypatch.setattr(fast, "MAX_SPANS", 5)
    path = store(tmp_path / "s.db", woven(*(chain(f"p{n}", 3) for n in range(40))))
    outcomes = list(fast.verify_calls(path, processes=processes))
    assert len(outcomes) == 40
    assert outcomes == judged(path)


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (principal, seq)"])
@pytest.mark.parametrize("columns", [COLUMNS, UNTYPED], ids=["typed", "untyped"])
@pytest.mark.parametrize("column", ["principal", "seq", "ts", "prev_hash", "hash", "body"])
@pytest.mark.parametrize("value", [b"bytes", 1.5, None, 4.0, "text"])
def test_wrong_storage_class(tmp_path, key, columns, column, value):
    path = store(tmp_path / "s.db", woven(chain("a", 6), chain("b", 6)), key, options="", columns=columns)
    con = sqlite3.connect(path)
    con.execute(f"UPDATE mcp_calls SET {column} = ? WHERE principal = 'a' AND seq = 4", (value,))
    con.commit()
    con.close()
    outcomes = list(fast.verify_calls(path))
    assert outcomes == judged(path)
    assert outcomes != []


@pytest.mark.parametrize("column", ["principal", "prev_hash", "hash", "body"])
def test_invalid_utf8(tmp_path, column, short_ranges, monkeypatch):
    if column != "principal":
        monkeypatch.setattr(streaming, "verify_calls", None)
    path = store(tmp_path / "s.db", woven(chain("a", 20), chain("b", 20)))
    con = sqlite3.connect(path)
    con.execute(f"UPDATE mcp_calls SET {column} = CAST(x'ff' AS TEXT) WHERE principal = 'a' AND seq IN (4, 5, 9)")
    con.commit()
    con.close()
    outcomes = list(fast.verify_calls(path, processes=1))
    assert outcomes == judged(path)
    assert sum(e.records for o in outcomes for e in o.extents if e.about == "undecodable") == 3


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_utf16_store(tmp_path, encoding):
    con = sqlite3.connect(tmp_path / "s.db")
    con.execute(f"PRAGMA encoding = '{encoding}'")
    con.close()
    path = store(tmp_path / "s.db", woven(chain("é😀", 6), chain("b", 6)))
    assert [(o.scope, o.extents) for o in fast.verify_calls(path)] == [("b", ()), ("é😀", ())]
    assert list(fast.verify_calls(path)) == judged(path)


def test_odd_tables(tmp_path):
    rows = woven(chain("a", 6), chain("b", 6))
    path = store(tmp_path / "wr.db", rows, options=" STRICT, WITHOUT ROWID")
    assert list(fast.verify_calls(path)) == judged(path)
    path = store(tmp_path / "rowid.db", rows)
    con = sqlite3.connect(path)
    con.execute("ALTER TABLE mcp_calls ADD COLUMN RowId INTEGER")
    assert len(list(fast.verify_calls(path))) == 2
    con.execute("ALTER TABLE mcp_calls DROP COLUMN ts")
    con.close()
    assert list(fast.verify_calls(path)) == judged(path)
    assert list(fast.verify_calls(store(tmp_path / "empty.db", []))) == []
    sqlite3.connect(tmp_path / "none.db").close()
    assert list(fast.verify_calls(tmp_path / "none.db")) == []


def test_rowids_far_apart(tmp_path, short_ranges):
    path = store(tmp_path / "s.db", woven(chain("a", 12), chain("b", 12)))
    con = sqlite3.connect(path)
    con.execute("UPDATE mcp_calls SET rowid = rowid + 9223372036854775000 WHERE rowid > 20")
    con.execute("UPDATE mcp_calls SET rowid = rowid - 9223372036854775000 WHERE rowid < 4")
    con.commit()
    con.close()
    outcomes = list(fast.verify_calls(path, processes=1))
    assert outcomes == judged(path)
    assert faults(outcomes) == set()


def test_small_cache_of_bodies(tmp_path, monkeypatch):
    monkeypatch.setattr(spans, "_CACHE_ENTRIES", 2)
    path = store(tmp_path / "s.db", woven(chain("a", 60, tools=9), chain("b", 60, tools=7)))
    assert faults(fast.verify_calls(path)) == set()
    scanner = spans.Scanner(path, 300)
    scanner.scan(1, 120)
    scanner.close()
    assert sum(map(len, scanner.contents.values())) <= 2


def test_long_texts(tmp_path):
    calls = chain("p" * 5000, 6)
    for n, call in enumerate(calls):
        call["tool"] = "t" * 3000
        call["prev_hash"] = calls[n - 1]["hash"] if n else ""
        seal(call)
    path = store(tmp_path / "s.db", calls)
    assert list(fast.verify_calls(path)) == judged(path)
    assert faults(judged(path)) == set()


# ---- any rows at all -------------------------------------------------------------------------------------------------

hashes = st.sampled_from(["", "h1", "ab" * 32, "AB" * 32])
texts = st.sampled_from(["", "req-1", "a|b", 'q"q', "back\\slash", "\n", "é", "\0", "\u2028", "😀", '","tool":"x'])
spellings = st.sampled_from(
    [
        lambda b: b,
        lambda b: " " + b,
        lambda b: b[:-1] + ',"x":1}',
        lambda b: b[:-1] + ',"tool":"t"}',
        lambda b: b[:-1] + ",}",
        lambda b: b[:-1],
        lambda b: b.replace('"request_id"', '"request_ie"'),
        lambda b: b.replace('"tool"', '"t\\u006fol"'),
        lambda b: b.replace('"server"', '"request_id":"again","server"'),
        lambda b: b.replace("7", "7.0", 1),
        lambda b: json.dumps(json.loads(b)),
        lambda b: "",
        lambda b: "[]",
    ]
)
edits = st.one_of(
    st.tuples(st.just("prev_hash"), hashes),
    st.tuples(st.just("hash"), hashes),
    st.tuples(st.just("ts"), st.sampled_from([-1, 0, 1700000000 - 400, 1700000400, 2**63 - 1, None, 1.5])),
    st.tuples(st.just("seq"), st.sampled_from([-1, 0, 1, 3, 50, 2**63 - 1, -(2**63), None, 2.0])),
    st.tuples(st.just("principal"), st.sampled_from(["a", "b", "c", "", None, b"a", 5])),
    st.tuples(st.sampled_from(["request_id", "tool", "server", "reason"]), texts),
    st.tuples(st.just("pin_generation"), st.sampled_from([0, 2**63, 2**64 - 1])),
    st.tuples(st.just("spelling"), spellings),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 29), edits, st.booleans()), max_size=8),
    st.sets(st.integers(0, 29), max_size=4),
    st.one_of(st.just(None), st.randoms(use_true_random=False)),
    st.sampled_from([1, 4, 1000]),
    st.sampled_from([COLUMNS, UNTYPED]),
)
def test_agrees_with_streaming(tmp_path_factory, changes, lost, shuffle, step, columns):
    rows = woven(chain("a", 15), chain("b", 10), chain("", 5))
    for index, (name, value), again in changes:
        row = rows[index]
        if name == "spelling":
            row["body"] = value(row["body"])
            continue
        row[name] = value
        if again:
            try:
                seal(row)
            except (TypeError, AttributeError):
                continue
        elif name not in ("ts", "seq", "hash", "prev_hash", "principal"):
            row["body"] = body(row)
    rows = [row for index, row in enumerate(rows) if index not in lost]
    if shuffle is not None:
        shuffle.shuffle(rows)
    path = store(tmp_path_factory.mktemp("any") / "s.db", rows, key="", options="", columns=columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "_ALONE_BELOW", 1)
        patch.setattr(fast, "_RANGE", step)
        assert list(fast.verify_calls(path, processes=1)) == judged(path)
