"""Pages of query generations Q-A, Q-B and Q-C: walks, the Session view, classes of difference, what a page costs to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support_maka import read_session

from busbar_audit.synth.maka import write_maka
from busbar_audit.transcript import js
from busbar_audit.transcript.compare import compare
from busbar_audit.transcript.event_shape import event_problems
from busbar_audit.transcript.generational import differences
from busbar_audit.transcript.ledger import Opening, Session, Stored
from busbar_audit.transcript.pages import Direction, Pages
from busbar_audit.transcript.selection import GENERATIONS, Generation, standing
from busbar_audit.transcript.view import Refused, session_view
from busbar_audit.transcript.walking import Lost, lost_rows

Part = tuple[str, str]
Told = list[tuple[str, str, int, str, str]]


class _Book:
    """Writes a session event by event: each gets the next place of the session and the next number of its invocation."""

    def __init__(self) -> None:
        self.events: list[Stored] = []
        self.openings: list[Opening] = []
        self._seq: dict[str, int] = {}

    def open(self, invocation: str, source: str = "fresh", lineage: Mapping[str, str] | None = None) -> None:
        # A fact that makes no row stands for the opening's content, which neither reader looks at.
        event_id = self.add(invocation, "system", None, actions={"runtimeProtocol": {}})
        at = len(self.events)
        self.openings.append(
            Opening(invocation, "s", invocation, f"t{invocation}", at, "event", event_id, "m", source, lineage or {})
        )

    def add(self, invocation: str, role: str, content: Mapping[str, Any] | None, **more: Any) -> str:
        seq = self._seq[invocation] = self._seq.get(invocation, 0) + 1
        place = len(self.events) + 1
        authors = {"model": "agent", "user": "user", "tool": "tool"}
        event: dict[str, Any] = {
            **{"id": f"{invocation}-e{seq}", "invocationId": invocation, "runId": invocation, "sessionId": "s"},
            **{"turnId": f"t{invocation}", "ts": place, "partial": False},
            **{"role": role, "author": authors.get(role, "system")},
            **({} if content is None else {"content": dict(content)}),
            **more,
        }
        assert event_problems(event) == [], event
        ids = (event["id"], "s", invocation, invocation, f"t{invocation}")
        size = len(js.stringify(event).encode("utf-8", "surrogatepass"))
        self.events.append(Stored(*ids, seq, place, place, size, event, ()))
        found: str = event["id"]
        return found

    def say(self, invocation: str, part: Part) -> None:
        """One thing of a turn; ids are of the invocation and the number, so no two invocations share any."""
        kind, text = part
        n = self._seq.get(invocation, 0)
        key = {"refs": {"providerEventId": f"{invocation}-m{n}"}}
        if kind == "user":
            self.add(invocation, "user", {"kind": "text", "text": text})
        elif kind == "text":
            self.add(invocation, "model", {"kind": "text", "text": text}, **key)
        elif kind in ("thought", "afterthought"):
            contents = ({"kind": "thinking", "text": text}, {"kind": "text", "text": text[::-1]})
            for content in contents if kind == "thought" else contents[::-1]:
                self.add(invocation, "model", content, **key)
        elif kind == "step":  # a call, then the text of the same message, then thinking about it
            call = {"kind": "function_call", "id": f"{invocation}-u{n}", "name": "n", "args": {"x": text}}
            self.add(invocation, "model", call, refs={"stepId": f"{invocation}-m{n}"})
            self.add(invocation, "model", {"kind": "text", "text": text}, **key)
            self.add(invocation, "model", {"kind": "thinking", "text": text}, **key)
            result = {"kind": "function_response", "id": f"{invocation}-u{n}", "name": "n"}
            self.add(invocation, "tool", result | {"result": {"kind": "text", "text": text}})
        elif kind == "permission":
            asked = {
                "requestId": f"{invocation}-q{n}",
                "toolUseId": f"{invocation}-u{n}",
                "toolName": "n",
                "hint": text,
            }
            self.add(invocation, "system", None, actions={"permissionRequest": asked})
            decided = {"requestId": asked["requestId"], "decision": "allow"}
            self.add(invocation, "system", None, actions={"permissionDecision": decided})
        else:
            self.add(invocation, "system", None, actions={"tokenUsage": {"input": len(text), "output": 1}})

    def close(self, invocation: str) -> None:
        self.add(invocation, "system", None, status="completed")

    def session(self) -> Session:
        return Session(self.events, self.openings)


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["x" * 300, "\U0001f600" * 90, "y" * 5_000]
)
_PARTS = st.tuples(st.sampled_from(["user", "text", "thought", "afterthought", "step", "permission", "usage"]), _TEXTS)


@st.composite
def legal(draw: st.DrawFn) -> Session:
    """A session of ended turns that share nothing, side by side or one after the other."""
    book = _Book()
    waiting = {f"i{n}": list(parts) for n, parts in enumerate(draw(st.lists(st.lists(_PARTS, max_size=4), max_size=4)))}
    begun: set[str] = set()
    while waiting:
        name = draw(st.sampled_from(sorted(waiting)))
        if name not in begun:
            book.open(name)
            begun.add(name)
        elif waiting[name]:
            book.say(name, waiting[name].pop(0))
        else:
            book.close(name)
            del waiting[name]
    return book.session()


def _walked(pages: Pages, direction: Direction, messages: int, size: int) -> list[tuple[int, str]]:
    """Rows that a walk gives, oldest first, put together again from their parts; bounds of each page are looked at."""
    parts: dict[int, list[tuple[int, int, bytes]]] = {}
    for page in pages.walk(direction, messages, size):
        assert len(page.fragments) <= messages
        assert page.served <= size
        assert page.next is None or page.fragments, "a page that does not get on"
        for f in page.fragments:
            parts.setdefault(f.sequence, []).append((f.byte_offset, f.total, f.data))
    order = list(parts)
    assert order == sorted(order, reverse=direction == "older")
    whole = []
    for sequence, own in sorted(parts.items()):
        data = b"".join(piece for _, _, piece in sorted(own))
        assert {total for _, total, _ in own} == {len(data)}
        whole.append((sequence, data.decode("utf-8", "surrogatepass")))
    return whole


@given(legal(), st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_walks_of_every_generation_are_the_session_view(session: Session, data: st.DataObject) -> None:
    """Every page size and byte budget of the issue is met: two of twelve for each session, both directions, all generations."""
    wanted = [js.stringify(row) for row in session_view(session.openings, session.events, {}).rows]
    sizes = [(m, b) for m in (1, 3, 64, 256) for b in (256, 4_096, 524_288)]
    some = data.draw(st.lists(st.sampled_from(sizes), min_size=2, max_size=2, unique=True))
    for generation in GENERATIONS:
        pages = Pages(session, generation)
        for messages, size in some:
            older, newer = (_walked(pages, way, messages, size) for way in ("older", "newer"))  # type: ignore[arg-type]
            assert older == newer
            assert [text for _, text in older] == wanted
        assert differences(session, generation) == []


def test_walks_of_synthetic_sessions_are_those_of_the_verified_generation(tmp_path: Path) -> None:
    path = write_maka(tmp_path / "x.sqlite", sessions=1, turns=10).path
    for name in ("s1", "c1"):
        session = read_session(path, name)
        verified = _walked(Pages(session), "older", 64, 4_096)
        assert len(verified) > 8
        for messages, size in [(m, b) for m in (1, 3, 64, 256) for b in (256, 4_096, 524_288)]:
            for direction in ("older", "newer"):
                for generation in ("Q-A", "Q-B"):
                    assert _walked(Pages(session, generation), direction, messages, size) == verified  # type: ignore[arg-type]
        assert {d.kind for d in differences(session, "Q-A")} == ({"V1"} if name == "s1" else set())
        # The native session ends in a running turn that has only thought so far: V20 is a thing of that moment.
        assert {d.kind for d in differences(session, "Q-C")} == ({"V1", "V20"} if name == "s1" else set())


def _kinds(session: Session, generation: Generation, watermark: int | None = None) -> Told:
    return [(d.kind, d.event_id, d.rows, d.view, d.pages) for d in differences(session, generation, watermark)]


def _one_turn(*parts: Part, source: str = "fresh", lineage: Mapping[str, str] | None = None, end: bool = True) -> _Book:
    book = _Book()
    book.open("a", source, lineage)
    for part in parts:
        book.say("a", part)
    if end:
        book.close("a")
    return book


def test_v2_a_handoff_is_hidden_by_q_a_alone() -> None:
    session = _one_turn(("user", "x"), source="handoff", lineage={"parentRunId": "p"}).session()
    assert _kinds(session, "Q-A") == [("V2", "a-e2", 2, "shown", "hidden")]
    assert _kinds(session, "Q-B") == _kinds(session, "Q-C") == []
    # What all generations know: a continuation of the same parent, and nothing of a subagent.
    again = _one_turn(("user", "x"), source="continuation", lineage={"parentRunId": "p"}).session()
    other = _one_turn(("user", "x"), source="continuation", lineage={"parentRunId": "p", "agentId": "g"}).session()
    for generation in GENERATIONS:
        assert _kinds(again, generation) == _kinds(other, generation) == []
        assert len(_walked(Pages(again, generation), "older", 3, 256)) == 2
        assert _walked(Pages(other, generation), "older", 3, 256) == []


def test_v10_order_of_contents_is_the_same_up_to_the_text_and_whatever_follows() -> None:
    """The sheet's class of Q-A: a call that comes after the text is in the order of neither reader, one before it in both."""
    book = _one_turn(("step", "x"), end=False)
    book.add("a", "model", {"kind": "function_call", "id": "late", "name": "n", "args": 1}, refs={"stepId": "a-m1"})
    book.close("a")
    session = book.session()
    for generation in GENERATIONS:
        assert _kinds(session, generation) == []
    # Where numbers and places disagree Q-A still takes what came before by number, and the view by place.
    call, text = session.events[1], session.events[2]
    call.ordinal, text.ordinal = text.ordinal, call.ordinal
    assert ("V10", "a-e3", 1, "shown", "differs") in _kinds(session, "Q-A")


def test_v11_a_coordination_receipt_is_dropped_by_q_a_alone() -> None:
    book = _one_turn(("user", "x"), end=False)
    receipt = {"actionId": "n", "summary": "s"}
    event = dict(book.events[-1].event or {}) | {"id": "a-e3", "role": "system", "author": "system"}
    del event["content"]
    event["actions"] = {"coordination": receipt}
    book.add("a", "system", None, actions={"runtimeProtocol": {}})
    book.events[-1] = replace(book.events[-1], event=event)
    book.close("a")
    session = book.session()
    assert _kinds(session, "Q-A") == [("V11", "a-e3", 1, "shown", "hidden")]
    assert _kinds(session, "Q-B") == _kinds(session, "Q-C") == []


def test_v20_a_watermark_between_thinking_and_text_closes_pages_of_q_c() -> None:
    session = _one_turn(("user", "x"), ("thought", "y")).session()
    assert _kinds(session, "Q-C", 3) == [("V20", "a-e3", 0, "shown", "refused")]
    with pytest.raises(Refused):
        _walked(Pages(session, "Q-C", 3), "older", 64, 4_096)
    # It passes by itself: with the text, and before the thinking; the others show nothing before the turn has ended.
    assert _kinds(session, "Q-C", 4) == _kinds(session, "Q-C", 2) == _kinds(session, "Q-C") == []
    assert Pages(session, "Q-C", 4).high_water == 39
    for generation in ("Q-A", "Q-B"):
        assert Pages(session, generation, 4).high_water is None  # type: ignore[arg-type]
    # The other way round the text is there, without the thinking that comes later.
    later = _one_turn(("afterthought", "y")).session()
    assert _kinds(later, "Q-C", 2) == [("V20", "a-e2", 1, "shown", "differs")]


def test_v1_an_open_run_is_served_by_q_c_alone() -> None:
    session = _one_turn(("user", "x"), ("text", "y"), end=False).session()
    for generation in ("Q-A", "Q-B"):
        assert _kinds(session, generation) == [("V1", "a-e2", 2, "shown", "hidden")]  # type: ignore[arg-type]
    assert _kinds(session, "Q-C") == []


def test_what_each_generation_reads_for_a_page() -> None:
    """Q-B decodes a whole turn for one row of it; Q-A the event with what it refers to; Q-C each unbroken run once."""
    session = _one_turn(*[("text", "x" * 1_000)] * 50).session()
    total = sum(stored.bytes for stored in session.events)
    read = {}
    for generation in GENERATIONS:
        page = Pages(session, generation).page("older", None, 2, 4_096)
        assert len(page.fragments) == 2
        assert standing(generation) == ("verified" if generation == "Q-B" else "emulated, unverified")
        read[generation] = (page.events, page.read)
    assert read["Q-B"] == read["Q-C"] == (52, total)
    assert read["Q-A"][0] == 3  # one more than it returns: that is how it knows there is another page
    assert read["Q-A"][1] < total / 20


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_turn_too_large_for_a_page(generation: Generation) -> None:
    book = _one_turn(("user", "x"))
    book.events[1] = replace(book.events[1], bytes=17 << 20)
    expected = [] if generation == "Q-A" else [("V17", "a", 0, "shown", "refused")]
    assert _kinds(book.session(), generation) == expected


def test_v16_what_pages_lose_before_a_late_opening_depends_on_their_size() -> None:
    """As the product's own walks have it: a page that gets there from further on has the rows."""
    book = _one_turn(("user", "x"))
    book.add("b", "user", {"kind": "text", "text": "early"})
    book.add("b", "model", {"kind": "text", "text": "early, too"})
    book.open("b")
    book.say("b", ("text", "late"))
    book.close("b")
    session = book.session()
    assert [(d.kind, d.rows, d.pages) for d in differences(session, "Q-B")] == [("V16", 2, "hidden")]
    pages = Pages(session)
    lost = {(m, way): 6 - len(_walked(pages, way, m, 4_096)) for m in (1, 3, 64) for way in ("older", "newer")}  # type: ignore[arg-type]
    assert lost == {(m, way): {(1, "older"): 2, (3, "older"): 1}.get((m, way), 0) for m, way in lost}
    for generation in ("Q-A", "Q-C"):
        assert _kinds(session, generation) == []  # type: ignore[arg-type]


def _apart(session: Session, name: str) -> Stored:
    return next(stored for stored in session.events if stored.event_id == name)


def test_v14_places_that_swap_two_events_are_the_same_in_both_readers() -> None:
    session = _one_turn(("user", "x"), ("text", "y"), ("text", "z")).session()
    one, other = _apart(session, "a-e3"), _apart(session, "a-e4")
    one.ordinal, other.ordinal = other.ordinal, one.ordinal
    for generation in GENERATIONS:
        assert _kinds(session, generation) == []


def test_v15_an_anchor_in_another_run_is_served_by_both() -> None:
    book = _one_turn(("user", "x"))
    book.open("b")
    book.say("b", ("text", "y"))
    book.close("b")
    # The second opening stands on the legacy shelf, and its anchor is the first event of the first run.
    book.openings[1] = replace(book.openings[1], shelf="legacy", event_id="a-e1")
    for generation in GENERATIONS:
        assert _kinds(book.session(), generation) == []
    # A dead anchor is another thing: pages do not find the run at all.
    book.openings[1] = replace(book.openings[1], event_id="nowhere")
    assert [(d.kind, d.pages) for d in differences(book.session(), "Q-B")] == [("V15", "hidden")]


def test_v21_blanks_make_no_difference_in_any_generation_here() -> None:
    session = _one_turn(("user", js.BLANKS), ("text", "\u0085"), ("thought", "\ufeff \u0085")).session()
    for generation in GENERATIONS:
        assert _kinds(session, generation) == []


def test_walks_that_lose_rows_are_told_by_their_size() -> None:
    book = _one_turn(("user", "x"))
    book.add("b", "user", {"kind": "text", "text": "early"})
    book.add("b", "model", {"kind": "text", "text": "early, too"})
    book.open("b")
    book.close("b")
    session = book.session()
    first = session.events[len(_one_turn(("user", "x")).events)].event_id
    assert lost_rows(session, compare(session)) == [Lost("older", 1, 2, first)]  # a page of three has all of the run
    healthy = _one_turn(("user", "x")).session()
    assert lost_rows(healthy, compare(healthy)) == []
