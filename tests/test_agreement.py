"""Both verifiers, and the fast way over calls, say the same of any small store, however it was mutilated."""

import os
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support_sql import Invalid, SqlVerifier
from test_streaming import BAD_BODIES, FINE_BODIES, POPULATIONS, Shape, compact

from busbar_audit.chains import fast, recipes, streaming
from busbar_audit.chains.outcome import ABOUT

FULL = bool(os.environ.get("BUSBAR_AUDIT_FULL"))
TABLES = POPULATIONS[:3]  # those with a column for every hash and time
TYPED = {8: TABLES, 9: TABLES}
PLANES = ("mcp_calls", *POPULATIONS[3:])
GENERATIONS = {**TYPED, 10: PLANES, 11: PLANES, 12: PLANES}
SCOPES = {"audit_log": None, "mcp_calls": "principal", "task_events": "task_id"}
LOWEST, HIGHEST = -(2**63), 2**63 - 1


@pytest.fixture(scope="module")
def verifiers(tmp_path_factory):
    """A verifier in SQL by generation, opened when first asked for."""
    opened = {}

    def verifier(generation):
        if generation not in opened:
            opened[generation] = SqlVerifier(tmp_path_factory.mktemp("sql"), generation)
        return opened[generation]

    yield verifier
    for each in opened.values():
        each.store.close()


def extents(outcomes):
    return {(o.population, o.scope, e.about, e.first_seq, e.last_seq, e.records) for o in outcomes for e in o.extents}


def ends(outcomes):
    return {(o.population, o.scope, o.records, o.first_seq, o.last_seq, o.first_prev_hash, o.last_hash)
            for o in outcomes}  # fmt: skip


def agreed(verifier, rows):
    """What all verifiers say of these rows, having compared it."""
    verifier.fill(rows)
    streamed = list(streaming.verify(verifier.path))
    said = extents(streamed)
    assert verifier.extents() == said
    columns = ("population", "scope", "records", "first_seq", "last_seq", "first_prev_hash", "last_hash")
    assert set(verifier.store.view("chains").select(*columns).fetchall()) == ends(streamed)
    calls = [outcome for outcome in streamed if outcome.population == "mcp_calls"]
    assert list(fast.verify_calls(verifier.path, processes=1)) == calls
    return said


# ---- what can be done to a chain ------------------------------------------------------------------------------------

HASHES = ["", "h1", "ab" * 32, "AB" * 32, "ab" * 32 + "\n", "0" * 63]
TEXTS = ["", "a|b", "nul\0inside", "é\u2028'\"\\\n<b>", "😀", "x" * 127, "y" * 128, "é" * 64, "[1,]", "NaN"]
NUMBERS = [LOWEST, LOWEST + 1, -1, 0, 1, 2, 3, 4, 7, HIGHEST - 1, HIGHEST]
SHIFTS = [-10_000, -361, -360, 301, 10_000]
TIMES = [LOWEST, -301, -1, 0, HIGHEST, 2**64 - 1]
TWINS = ["equal", "linked to its neighbour", "unlinked", "resealed"]


def _swap(body, old, new):
    return body.replace(old, new, 1)


SPELLINGS = {
    **BAD_BODIES,
    **FINE_BODIES,
    "number in the NaN way": lambda body: _swap(body, '"request_id":"r"', '"request_id":NaN'),
    "request id of another kind": lambda body: _swap(body, '"request_id":"r"', '"request_id":[1]'),
    "number below zero": lambda body: _swap(_swap(body, '"pin_generation":7', '"pin_generation":-0'), '"seq":1', '"seq":-0'),
    "zero below zero in the content": lambda body: _swap(body, "[0,", "[-0,"),
    "byte too large": lambda body: _swap(body, "[", "[256,"),
    "byte as a float": lambda body: _swap(body, "[0,", "[0.0,"),
    "bytes too many": lambda body: _swap(body, "]", ",0]"),
    "bytes too few": lambda body: _swap(body, "0,0,0,0,0,0,0,8,", ""),
    "content is null": lambda body: body[:-1] + ',"content":null}',
    "content is empty": lambda body: body[:-1] + ',"content":[]}',
    "version as text": lambda body: _swap(body, '"digest_version":2', '"digest_version":"2"'),
    "version as a float": lambda body: _swap(body, '"digest_version":2', '"digest_version":2.0'),
    "version unknown": lambda body: _swap(body, '"digest_version":2', '"digest_version":3'),
    "float": lambda body: _swap(body, '"pin_generation":7', '"pin_generation":7.0'),
    "too large": lambda body: _swap(body, '"pin_generation":7', '"pin_generation":18446744073709551616'),
    "null": lambda body: _swap(body, '"outcome":"', '"outcome":null,"x":"'),
    "number in place of a text": lambda body: _swap(body, '"outcome":"', '"outcome":7,"x":"'),
    "nothing": lambda body: "",
}  # fmt: skip

operations = st.one_of(
    st.tuples(st.just("edit"), st.sampled_from(TEXTS), st.booleans()),
    st.tuples(st.just("number"), st.sampled_from([0, 8, 2**63, 2**64 - 1]), st.booleans()),
    st.tuples(st.just("extra"), st.sampled_from(TEXTS)),
    st.tuples(st.just("lose")),
    st.tuples(st.just("twin"), st.sampled_from(TWINS)),
    st.tuples(st.just("swap hashes")),
    st.tuples(st.just("hash"), st.sampled_from(HASHES)),
    st.tuples(st.just("prev_hash"), st.sampled_from(HASHES), st.booleans()),
    st.tuples(st.just("shift"), st.sampled_from(SHIFTS), st.booleans()),
    st.tuples(st.just("time"), st.sampled_from(TIMES), st.booleans()),
    st.tuples(st.just("renumber"), st.sampled_from(NUMBERS), st.booleans()),
    st.tuples(st.just("place"), st.sampled_from(NUMBERS)),
    st.tuples(st.just("upper")),
    st.tuples(st.just("spelling"), st.sampled_from(sorted(SPELLINGS))),
    st.tuples(st.just("invalid"), st.integers(0, 6)),
    st.tuples(st.just("reseal")),
)


class Chain:
    """One chain of dicts, as `Shape` has them, and what is done to it."""

    def __init__(self, name, scope, count):
        self.shape = Shape(name)
        self.scope = self.shape.scope if name == "audit_log" else scope
        self.records = self.shape.seal([{**r, "scope": self.scope} for r in self.shape.chain(count)])

    def seal(self, index):
        """Digest one record again and leave the links as they are."""
        self.records[index]["hash"] = self.shape.digest(self.records[index])

    def change(self, index, what, value=None, again=False):
        if not self.records:
            return
        index %= len(self.records)
        record = self.records[index]
        own = self.shape.table in TABLES
        if what == "lose":
            del self.records[index]
        elif what == "twin":
            if own:
                return  # the primary key forbids it
            twin = record | {"identity": f"{self.scope}/{len(self.records)}"}
            if value == "linked to its neighbour":
                twin["prev_hash"] = record["hash"]
            elif value != "equal":
                twin["prev_hash"] = "cd" * 32 if value == "unlinked" else twin["prev_hash"]
                twin |= {next(iter(self.shape.fields)): "other"}
            if value != "equal":
                twin["hash"] = self.shape.digest(twin)
            self.records.insert(index + 1, twin)
        elif what == "swap hashes":
            other = self.records[index - 1]
            record["hash"], other["hash"] = other["hash"], record["hash"]
        elif what == "upper":
            record["hash"] = record["hash"].upper()
        elif what == "reseal":
            self.shape.seal(self.records, index)
        elif what in ("spelling", "extra", "invalid"):
            record[what] = value
        else:
            if what == "place":
                record["row_seq" if not own else "seq"] = value
            elif what in ("renumber", "time"):
                # The columns are signed, the bodies are not.
                record["seq" if what == "renumber" else "ts"] = min(value, HIGHEST) if own else value % 2**64
            elif what == "shift":
                record["ts"] += value
                record["ts"] = max(min(record["ts"], HIGHEST), LOWEST) if own else record["ts"] % 2**64
            elif what in ("edit", "number"):
                names = [name for name, there in self.shape.fields.items() if type(there) is type(value)]
                if not names:
                    return
                record[names[index % len(names)]] = value
            else:
                record[what] = value
            if again:
                self.seal(index)

    def rows(self):
        for record in self.records:
            place = {"row_seq": record["seq"]} if "row_seq" not in record and record["seq"] <= HIGHEST else {}
            if self.shape.table == "plane_records" and "row_seq" not in record and not place:
                place = {"row_seq": record["seq"] - 2**64}
            row = dict(self.shape.row(record | place))
            if "body" in row:
                row["body"] = self._body(record)
            if "invalid" in record and self.shape.table in TABLES:
                # Any text but the scope: a row without a place is in no chain.
                names = sorted(name for name in row if isinstance(row[name], str) and name != SCOPES[self.shape.table])
                name = names[record["invalid"] % len(names)]
                row[name] = Invalid(row[name].encode() + b"\xff")
            yield self.shape.table, row

    def _body(self, record):
        members = self.shape.body(record)
        if self.shape.table == "mcp_calls":
            members = dict(sorted({**members, "request_id": record.get("extra", "r")}.items()))
        elif "extra" in record:
            members["extra"] = record["extra"]
        body = compact(members)
        if "spelling" in record:
            body = SPELLINGS[record["spelling"]](body)
        if self.shape.table != "mcp_calls":
            return body.encode() if isinstance(body, str) else body
        return body if isinstance(body, str) else Invalid(body)


@st.composite
def mutilated(draw):
    """A generation and the chains of a store of it, after some operations."""
    generation = draw(st.sampled_from(sorted(GENERATIONS)))
    chains = {}
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(GENERATIONS[generation]))
        scope = draw(st.sampled_from(["x", "é|\0", ""]))
        chain = Chain(name, scope, draw(st.integers(1, 8)))
        chains[chain.shape.population, chain.scope] = chain
    chains = list(chains.values())
    for _ in range(draw(st.integers(0, 6))):
        draw(st.sampled_from(chains)).change(draw(st.integers(0, 7)), *draw(operations))
    return generation, chains


def each_way(names, ways):
    """Every way to change a chain done once to the first, an inner and the last record of six, in a chain of its own."""
    chains = []
    for name, (n, way), at in product(names, enumerate(ways), (0, 3, 5)):
        chain = Chain(name, f"{name} {n} {at}", 6)
        chain.change(at, *way)
        chains.append(chain)
    return [row for chain in chains for row in chain.rows()]


@pytest.mark.parametrize("generation", [9, 12])
def test_every_spelling_of_a_body(verifiers, generation):
    names = [name for name in GENERATIONS[generation] if name not in ("audit_log", "task_events")]
    said = agreed(verifiers(generation), each_way(names, [("spelling", spelling) for spelling in SPELLINGS]))
    assert "undecodable" in {about for _, _, about, *_ in said}


@pytest.mark.parametrize("generation", [9, 12])
def test_successors_of_a_malformed_hash(verifiers, generation):
    rows = []
    for name, text in product([name for name in GENERATIONS[generation] if name != "audit_log"], HASHES):
        chain = Chain(name, f"{name} {text}", 6)
        chain.records[2]["hash"] = text
        chain.shape.seal(chain.records, 3)
        rows += chain.rows()
    said = agreed(verifiers(generation), rows)
    assert {about for _, _, about, *_ in said} == {"content", "form", "restart"}


@pytest.mark.parametrize("linked", [True, False])
def test_records_before_the_first_number(verifiers, linked):
    rows = []
    for name, start in product(("mcp_calls", "task_events"), (-3, -1, 0)):
        chain = Chain(name, f"{name} {start}", 6)
        for n, record in enumerate(chain.records):
            record |= {"seq": start + n}
            if n and not linked:
                record["prev_hash"] = record["keep"] = ""
        chain.shape.seal(chain.records)
        rows += chain.rows()
    said = agreed(verifiers(9), rows)
    assert {about for _, _, about, *_ in said} == ({"genesis"} if linked else {"link", "restart"})


def test_rows_before_the_first_number(verifiers):
    """Places of plane records are those of the rows, at both ends of the column, whatever the bodies count."""
    rows = []
    for name, start, unread in product(PLANES[1:], (LOWEST, -4, -1, 0, HIGHEST - 5), (None, 0, 1, 3)):
        chain = Chain(name, f"{name} {start} {unread}", 6)
        if unread is not None:
            chain.change(unread, "spelling", "not JSON")
        chain.records.insert(1, chain.records[0] | {"identity": f"{name} {start} {unread} twin"})
        for n, record in enumerate(chain.records):
            record["row_seq"] = start + max(n - 1, 0)
        rows += chain.rows()
    said = agreed(verifiers(12), rows)
    assert {about for _, _, about, *_ in said} == {"fork", "genesis", "head-missing", "restart", "undecodable"}


def test_time_goes_back_over_a_record_that_cannot_be_read(verifiers):
    """Its time is not known, even where the member that holds it is the only one that can be read."""
    rows = []
    for name, member in product(PLANES[1:], ("prev_hash", "hash", "seq")):
        chain = Chain(name, f"{name} {member}", 6)
        chain.change(2, "shift", 10_000, True)
        chain.shape.seal(chain.records, 2)
        chain.records[3]["spelling"] = "not JSON"
        placed = list(chain.rows())
        placed[3][1]["body"] = compact({**chain.shape.body(chain.records[3]), member: None}).encode()
        rows += placed
    said = agreed(verifiers(12), rows)
    assert {first for _, _, about, first, *_ in said if about == "order"} == {5}
    assert {about for _, _, about, *_ in said} == {"order", "undecodable"}


ODD = (None, True, 7, 7.0, -1, "", "7", "text", [], [7], {}, {"a": 1})


@pytest.mark.parametrize("generation", [9, 12])
def test_every_member_of_a_body_in_another_kind(verifiers, generation):
    rows = []
    for name in GENERATIONS[generation]:
        if name in ("audit_log", "task_events"):
            continue
        shape = Shape(name)
        for member in shape.body(shape.chain(1)[0]):
            for n, value in enumerate((*ODD, ...)):
                chain = Chain(name, f"{name} {member} {n}", 3)
                placed = list(chain.rows())
                body = shape.body(chain.records[1])
                if value is ...:
                    del body[member]
                else:
                    body[member] = value
                text = compact(dict(sorted(body.items())))
                placed[1][1]["body"] = text if shape.table == "mcp_calls" else text.encode()
                rows += placed
    agreed(verifiers(generation), rows)


@pytest.mark.parametrize("names", [TABLES, ("mcp_calls", "call typed", "audit core", "task_event v2")])
def test_one_scope_in_every_population(verifiers, names):
    chains = [Chain(name, "audit_log", 3 + n) for n, name in enumerate(names)]
    rows = [row for chain in chains for row in chain.rows()]
    assert agreed(verifiers(9 if names is TABLES else 12), rows) == set()


def test_admin_audit_whose_texts_cannot_be_read(verifiers):
    chain = Chain("audit_log", "", 13)
    for n in range(6):
        chain.change(2 * n + 1, "invalid", n)
    said = agreed(verifiers(9), list(chain.rows()))
    assert said == {("audit_log", "audit_log", "undecodable", 2, 12, 6)}


@pytest.mark.parametrize("generation", [9, 12])
def test_digest_of_a_text_as_it_is_spelled(verifiers, generation):
    """The digest is that of the characters between the quotes, which a reader that does not unescape them accepts."""
    rows = []
    names = [
        name for name in GENERATIONS[generation] if name in ("mcp_calls", "call typed", "audit typed", "task_event v1")
    ]
    for name, spelled in product(names, ("\n", "\x1f", "a\\u0041", "\\n", "\\/", "\\\\", '\\"', "\x7f")):
        chain = Chain(name, f"{name} {spelled!r}", 6)
        field = {"server": "server", "action": "action", "kind": "kind"}[next(iter(chain.shape.fields))]
        for record in chain.records:
            record[field] = spelled
        chain.shape.seal(chain.records)
        for record in chain.records:
            record[field] = "spelled"
        for table, row in chain.rows():
            old, new = '"spelled"', f'"{spelled}"'
            if isinstance(row["body"], bytes):
                old, new = old.encode(), new.encode()
            assert old in row["body"]
            rows.append((table, row | {"body": row["body"].replace(old, new)}))
    said = agreed(verifiers(generation), rows)
    assert {(first, last) for _, _, about, first, last, _ in said if about in ("content", "undecodable")} == {(1, 6)}
    assert {about for _, _, about, *_ in said} == {"content", "undecodable"}


@pytest.mark.parametrize("at", range(6))
def test_calls_of_one_number_in_a_table_without_a_key(tmp_path, at):
    shape = Shape("mcp_calls")
    records = shape.chain(6)
    records.insert(at, records[at] | {"tool": "other"})
    shape.seal(records[at : at + 1])
    path = shape.store(tmp_path / "s.db", records, keys=False)
    assert list(fast.verify_calls(path, processes=1)) == list(streaming.verify(path))
    assert ("mcp_calls", "x", "fork", at + 1, at + 1, 1) in extents(streaming.verify(path))


CALL = recipes.neutral_call_content(1700000120, "s", "t", "o", "r", "d", 7)
CORE = recipes.neutral_audit_content("core", 1700000120, "a", "r", "o", "p")
KERNEL = recipes.neutral_audit_content("kernel", 1700000120, "a", "r", "o", "p")
EVIL = b"\xff" * 8
CONTENTS = [
    b"", b"\0", b"x", CALL, CALL + b"\0", CALL[:-1], CALL[:7], CALL[:-16], CALL[:24], CALL.replace(b"\x01s", b"\x01\xff"),
    CALL.replace(b"\x01s", b"\x01\0"), recipes.frame(b"\1") + CALL[16:], recipes.frame(b"") + CALL[16:],
    recipes.frame(b"\0" * 9) + CALL[16:], CALL[:-16] + recipes.frame(b"\1"), EVIL + CALL[8:], CALL[:16] + EVIL + CALL[24:],
    CALL[:-16] + EVIL, CALL + CALL, (2**40).to_bytes(8, "big") + CALL[8:],
    b"|1|a|r|o|p", b"|1|a|r|o|p|q||", b"x|1|a|r|o|p", b"|1|a|r|o", b"|-1|a|r|o|p", b"|-0|a|r|o|p", b"||a|r|o|p", b"|1 |a|r|o|p",
    b"|007|a|r|o|p", b"|" + b"0" * 50 + b"7|a|r|o|p", b"|18446744073709551615|a|r|o|p", b"|18446744073709551616|a|r|o|p",
    "|١|a|r|o|p".encode(), b"|1|a|r|o|\xff", b"|1|||||", b"|1||||", b"|1\n|a|r|o|p", b"|1|a\0|r|o|p", b"|", b"|||||", b"||||||",
    CORE, CORE + b"\0", CORE[:-1], CORE.replace(b"chain.v2", b"chain.v3"), CORE[:34], CORE[:40], CORE[1:], b"\0" + CORE,
    KERNEL, KERNEL + b"\0", KERNEL[:-1], KERNEL[1:], KERNEL.replace(b"\x01a", b"\x01\xff"), b"\1" + KERNEL[1:],
    b"\0" + recipes.frame(b"1") + KERNEL[17:], KERNEL[:17] + EVIL + KERNEL[25:], KERNEL[:9], KERNEL[:17],
    b"\0" * 41, b"\0" * 56,
]  # fmt: skip


READABLE = 2 + 10  # calls and audit records among them


def test_every_content_of_a_neutral_body(verifiers):
    rows = []
    for kind, (n, content) in product(("call", "audit"), enumerate(CONTENTS)):
        chain = Chain(f"{kind} neutral" if kind == "call" else "audit core", f"{kind} {n}", 3)
        middle = chain.records[1]
        if kind == "call":
            middle["hash"] = recipes.neutral_call_digest(middle["prev_hash"], chain.scope, 2, content)
        else:
            middle["hash"] = recipes.neutral_audit_digest(middle["prev_hash"], 2, content)
        chain.shape.seal(chain.records, 2)
        placed = list(chain.rows())
        members = {"seq": 2, "prev_hash": middle["prev_hash"], "hash": middle["hash"], "content": list(content)}
        placed[1][1]["body"] = compact(members).encode()
        rows += placed
    said = agreed(verifiers(12), rows)
    # All digests hold, so what is not out of order by its time can be read, or it cannot and is said so.
    unread = {scope for _, scope, about, *_ in said if about == "undecodable"}
    assert {about for _, _, about, *_ in said} == {"undecodable", "order"}
    assert {f"call {n}" for n, content in enumerate(CONTENTS) if recipes.parse_neutral_call(content) is None} <= unread
    assert len(unread) == 2 * len(CONTENTS) - READABLE


def records_at_one_place():
    """Chains in which more than one record has the number 2, in ways that one operation does not reach."""
    changes = {
        "later": {"ts": 1700000060 + 1000},
        "earlier": {"ts": 1700000060 - 1000},
        "unreadable": {"spelling": "not JSON"},
        "unlinked": {"prev_hash": "cd" * 32},
        "restarted": {"prev_hash": ""},
        "linked to its neighbour": {},
        "malformed": {"hash": "h"},
        "linked to either": {},
    }
    names = ("call typed", "call neutral", "audit core", "task_event v2")
    for name, (how, change), identity, twins in product(names, changes.items(), ("a", "z"), (1, 2)):
        chain = Chain(name, f"{name} {how} {identity} {twins}", 4)
        for n in range(twins):
            twin = chain.records[1] | change | {"identity": f"{identity} {how} {n} {name} {twins}"}
            if how == "linked to its neighbour":
                twin["prev_hash"] = chain.records[1]["hash"]
            if "hash" not in change:
                twin |= {next(iter(chain.shape.fields)): f"other {n}"}
                twin["hash"] = chain.shape.digest(twin)
            chain.records.append(twin)
        if how == "linked to either":
            chain.records[2]["prev_hash"] = chain.records[-1]["hash"]
            chain.records[2]["hash"] = chain.shape.digest(chain.records[2])
        elif how == "unreadable":
            chain.records[2]["prev_hash"] = "cd" * 32
            chain.records[2]["hash"] = chain.shape.digest(chain.records[2])
        yield from chain.rows()


def test_records_at_one_place(verifiers):
    said = agreed(verifiers(12), records_at_one_place())
    assert {about for _, _, about, *_ in said} >= {"fork", "link", "restart", "order", "undecodable", "form"}


def test_scope_and_number_of_a_body_are_digested_and_those_of_the_row_are_the_place(verifiers):
    rows = []
    for name, other in product(PLANES[1:], ({"scope": "another"}, {"seq": 9}, {"seq": 2**64 - 1})):
        chain = Chain(name, f"{name} {other}", 3)
        record = chain.records[1] | other
        record |= {"hash": chain.shape.digest(record), "row_seq": 2}
        chain.records[1] = record
        rows += [(table, row | {"parent": chain.scope, "identity": chain.scope}) for table, row in chain.rows()]
    said = agreed(verifiers(12), rows)
    # A neutral call has no principal of its own: the parent is digested, and that is not the one the hash was made with.
    assert {(scope, about) for _, scope, about, *_ in said if about != "link"} == {
        ("call neutral {'scope': 'another'}", "content")
    }


WAYS = [
    *[("edit", text, again) for text in TEXTS for again in (False, True)],
    *[("number", number, again) for number in (0, 2**63, 2**64 - 1) for again in (False, True)],
    *[(what, value, again) for what, values in (("hash", HASHES), ("prev_hash", HASHES), ("time", TIMES), ("shift", SHIFTS))
      for value in values for again in (False, True)],
    *[("renumber", number, again) for number in NUMBERS for again in (False, True)],
    *[("place", number) for number in NUMBERS],
    *[("twin", how) for how in TWINS],
    *[("invalid", n) for n in range(7)],
    ("extra", "other"), ("lose",), ("swap hashes",), ("upper",), ("reseal",),
]  # fmt: skip


@pytest.mark.parametrize("generation", [9, 12])
def test_every_operation_once(verifiers, generation):
    names = [name for name in GENERATIONS[generation] if name != "audit_log"]  # which has room for one chain
    said = agreed(verifiers(generation), each_way(names, WAYS))
    assert {about for _, _, about, *_ in said} == set(ABOUT) - ({"fork"} if generation == 9 else set())


@settings(
    max_examples=2000 if FULL else 30,
    deadline=None,
    derandomize=not FULL,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(mutilated())
def test_all_verifiers_say_the_same(verifiers, store):
    generation, chains = store
    agreed(verifiers(generation), [row for chain in chains for row in chain.rows()])
