"""Events to transcript rows: JavaScript's values, the projection rule by rule, both readers, and the product's own answers."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_maka import read_session, shortened, unpacked

from busbar_audit.synth.maka import write_maka
from busbar_audit.synth.maka_planting import edit
from busbar_audit.transcript import js
from busbar_audit.transcript.compare import compare
from busbar_audit.transcript.event_shape import event_problems
from busbar_audit.transcript.ledger import Opening, Session, Stored
from busbar_audit.transcript.pages import Direction, Fragment, Page, Pages
from busbar_audit.transcript.projection import LINEAGE, Projection, Run, project
from busbar_audit.transcript.row_shape import row_problems
from busbar_audit.transcript.view import Refused, page_rows, session_view

Event = dict[str, Any]

# --- values ---


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-8, "1.25e-8"),
        (0.000465, "0.000465"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (math.inf, "null"),
        (2**53 + 1, "9007199254740992"),
    ],
)
def test_numbers_are_printed_as_javascript_prints_them(value: float, text: str) -> None:
    assert js.number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_a_printed_number_is_read_back(value: float) -> None:
    assert float(js.number(value)) == value


def test_members_are_sorted_by_utf16_and_numbers_come_first() -> None:
    value = {"\U0001f600": 1, "\uff5e": 2, "b": 3, "10": 4, "9": 5, "01": 6}
    assert js.stringify(value, ordered=True) == '{"9":5,"10":4,"01":6,"b":3,"\U0001f600":1,"\uff5e":2}'
    assert js.is_canonical(js.stringify(value, ordered=True), value)
    assert not js.is_canonical(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True), value)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**60), 2**60)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=12,
    )
)
@settings(max_examples=60, deadline=None)
def test_the_quick_way_to_tell_canonical_text_agrees_with_the_slow_one(value: Any) -> None:
    text = js.stringify(value, ordered=True)
    again = js.parse(text)
    assert js.stringify(again, ordered=True) == text
    assert js.is_canonical(text, again)
    assert js.same(again, js.parse(json.dumps(again)))
    loose = json.dumps(again, ensure_ascii=False)
    assert js.is_canonical(loose, again) == (loose == text)


def test_texts_are_measured_cut_and_trimmed_in_utf16() -> None:
    assert (js.length("a\U0001f600"), js.part("a\U0001f600b", 1, 3)) == (3, "\U0001f600")
    assert js.trim("\ufeff\u2003 x\u0085\u00a0") == "x\u0085"
    assert js.stringify("\ud800") == '"\\ud800"'
    assert not js.same(True, 1)
    assert js.same(1, 1.0)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "[" * 100_000, '{"a":1,}'])
def test_what_is_no_json_says_so(text: str) -> None:
    with pytest.raises(js.NotJson):
        js.parse(text)


# --- shapes ---


def test_inline_references_stand_where_they_say_in_utf16_units() -> None:
    event = _event("e", "user", {"kind": "text", "text": "\U0001f600 @a"}, author="user")
    reference = {"kind": "file", "value": "@a", "start": 3}
    event["content"]["inlineReferences"] = [reference]
    assert event_problems(event) == []
    for wrong in ([reference | {"start": 2}], [reference, reference], [reference | {"start": 3.5}]):
        event["content"]["inlineReferences"] = wrong
        assert [p.path for p in event_problems(event)] == ["content.inlineReferences"]


def test_a_closure_is_the_only_action() -> None:
    event = _event(
        "e", "system", None, actions={"permissionClosureAccepted": {"requestId": "r", "reason": "timed_out"}}
    )
    assert event_problems(event) == []
    event["actions"]["stateDelta"] = {}
    assert [p.path for p in event_problems(event)] == ["actions.permissionClosureAccepted"]


def test_problems_name_members_and_words_shortened_and_printable() -> None:
    event = _event("e", "model", {"kind": "text", "text": "x"}) | {"\x1b[2J" + "k" * 99: 1}
    assert [str(p) for p in event_problems(event)] == ["the whole: unknown member '\\x1b[2J" + "k" * 36 + "…'"]
    row = {"type": "system_note", "id": "n", "ts": 1, "kind": "poem"}
    assert [str(p) for p in row_problems(row)] == ["kind: unknown value 'poem'"]
    assert [str(p) for p in event_problems([])] == ["the whole: not an object"]


# --- the projection ---


def _event(event_id: str, role: str, content: Mapping[str, Any] | None, **more: Any) -> Event:
    ids = {"id": event_id, "invocationId": "i", "runId": "r", "sessionId": "s", "turnId": "t"}
    told: Event = {**ids, "ts": 5, "partial": False, "role": role, "author": {"model": "agent"}.get(role, "system")}
    return told | ({"content": dict(content)} if content is not None else {}) | more


def _fold(*events: Event, outcomes: Mapping[str, Any] | None = None) -> Projection:
    for event in events:
        assert event_problems(event) == [], event
    return project(events, {"i": Run("m", {"parentTurnId": "p"})}, outcomes)


def _text(event_id: str, text: str = "x", key: str = "k", **more: Any) -> Event:
    return _event(event_id, "model", {"kind": "text", "text": text}, refs={"providerEventId": key}, **more)


def _thinking(event_id: str, text: str, key: str = "k", **more: Any) -> Event:
    content = {"kind": "thinking", "text": text, **more}
    return _event(event_id, "model", content, refs={"providerEventId": key})


def _codes(told: Projection) -> list[tuple[str, str | None]]:
    return [(d.code, d.event_id) for d in told.diagnostics]


def test_thinking_is_attached_before_and_after_its_text() -> None:
    for events in ([_thinking("a", "T"), _text("b")], [_text("b"), _thinking("a", "T")]):
        told = _fold(*events)
        assert [row.get("thinking") for row in told.rows] == [{"text": "T"}]
        assert told.sources == ["b"]
        assert told.diagnostics == []


def test_a_second_thinking_makes_parts_and_joins_the_texts() -> None:
    (row,) = _fold(_thinking("a", "T", signature="s"), _text("b"), _thinking("c", "U")).rows
    assert row["thinking"] == {"text": "TU", "parts": [{"text": "T", "signature": "s"}, {"text": "U"}]}


def test_thinking_of_another_turn_or_message_is_left_over() -> None:
    told = _fold(_thinking("a", "T", key="other"), _text("b"))
    assert _codes(told) == [("unsupported_event", "a")]
    assert told.refused


def test_ids_prefer_the_stored_message_and_thinking_the_providers() -> None:
    refs = {"storedMessageId": "stored", "providerEventId": "given"}
    text = _event("b", "model", {"kind": "text", "text": "x"}, refs=refs)
    thinking = _event("a", "model", {"kind": "thinking", "text": "T"}, refs=refs)
    told = _fold(thinking, text)
    assert [row["id"] for row in told.rows] == ["stored"]
    assert told.refused  # the pair never meets


def test_the_order_of_contents_is_told_where_it_is_unusual() -> None:
    call = _event("c", "model", {"kind": "function_call", "id": "u", "name": "n", "args": 1}, refs={"stepId": "k"})
    assert "contentOrder" not in _fold(_thinking("a", "T"), _text("b"), call).rows[0]
    assert _fold(call, _text("b")).rows[1]["contentOrder"] == ["tools", "text"]


def test_users_texts_are_normalised_and_steering_says_so() -> None:
    content = {"kind": "text", "text": "x", "displayText": "x", "attachments": [], "inlineReferences": []}
    steering = content | {"steering": True, "displayText": "y", "origin": {"goalId": "g", "kind": "goal"}}
    first, second = _fold(_event("a", "user", content), _event("b", "user", steering)).rows
    assert first == {"type": "user", "id": "a", "turnId": "t", "ts": 5, "text": "x", "inlineReferences": []}
    assert (second["steeringEventId"], second["displayText"]) == ("b", "y")
    assert list(second["origin"]) == ["kind", "goalId"]


def test_tool_calls_and_results() -> None:
    refs = {"toolCallId": "u", "stepId": "k", "parentToolCallId": "p"}
    call = _event(
        "a",
        "model",
        {"kind": "function_call", "id": "u", "name": "Bash", "args": {}, "providerExecuted": True},
        refs=refs,
        origin="provider",
        actions={"stateDelta": {"activityKind": "command", "displayName": "D", "intent": "I"}},
    )
    result = _event(
        "b",
        "tool",
        {"kind": "function_response", "id": "u", "name": "", "result": {"kind": "plan_submitted"}, "providerOutput": 1},
        author="tool",
        actions={"stateDelta": {"durationMs": 7}},
    )
    one, two = _fold(call, result).rows
    assert list(one) == [
        *("type", "id", "turnId", "ts", "toolName", "activityKind", "displayName", "intent", "stepId", "origin"),
        *("parentToolCallId", "args", "providerExecuted"),
    ]
    assert two["content"] == {"kind": "json", "value": {"kind": "plan_submitted"}}
    assert (two["isError"], two["durationMs"], "providerOutput" in two) == (False, 7, False)
    odd = _event("c", "model", {"kind": "function_call", "id": "v", "name": "n", "args": 1},
                 actions={"stateDelta": {"activityKind": "dance"}})  # fmt: skip
    assert "activityKind" not in _fold(odd).rows[0]


@pytest.mark.parametrize(
    ("event", "codes"),
    [
        (_event("a", "model", {"kind": "function_call", "id": "", "name": "n", "args": 1}), ["incomplete_event"]),
        (
            _event("a", "model", {"kind": "function_call", "id": "", "name": "n", "args": 1}, refs={"toolCallId": "u"}),
            ["tool_use_id_mismatch"],
        ),
        (_event("a", "tool", {"kind": "function_response", "id": "u", "name": "n", "result": 3}), ["incomplete_event"]),
        (_event("a", "tool", {"kind": "text", "text": "x"}), ["unsupported_event", "unsupported_event"]),
        (_event("a", "system", {"kind": "error", "message": "x"}), ["unsupported_event", "unsupported_event"]),
        (_event("a", "system", None, actions={"stateDelta": {"x": 1}}), ["unclaimed_control_fact"]),
        (_event("a", "system", None, actions={"endInvocation": True}), ["incomplete_event"]),
        (_event("a", "model", {"kind": "text", "text": "x"}, partial=True), ["partial_skipped"]),
        (_event("a", "system", None, actions={"permissionAnswerAccepted": {"requestId": "q"}}), ["incomplete_event"]),
        (
            _event("a", "system", None, actions={"permissionDecision": {"requestId": "q", "decision": "deny"}}),
            ["incomplete_event"],
        ),
    ],
)
def test_what_makes_no_row_says_why(event: Event, codes: list[str]) -> None:
    told = _fold(event)
    assert [d.code for d in told.diagnostics] == codes
    assert told.rows == []


@pytest.mark.parametrize(
    "actions",
    [
        {"toolDispatch": None},
        {"runtimeProtocol": {}},
        {"handoffPause": {}},
        {"continuationStart": {}},
        {"workspaceFact": {}},
    ],
)
def test_known_facts_make_no_row_and_no_noise(actions: dict[str, Any]) -> None:
    if "toolDispatch" in actions:
        names = ("operationId", "providerToolCallId", "toolName", "canonicalArgsHash", "recoveryMode")
        actions = {"toolDispatch": dict.fromkeys(names, "x") | {"protocol": "t1_after_preflight_v1"}}
    told = _fold(_event("a", "system", None, actions=actions))
    assert (told.rows, told.diagnostics) == ([], [])


def test_permission_decisions_take_their_tool_from_all_that_name_it() -> None:
    asked = {"requestId": "q", "toolUseId": "u", "toolName": "Bash", "hint": "why"}
    request = _event("a", "system", None, actions={"permissionRequest": asked})
    decision = _event("b", "system", None, actions={"permissionDecision": {"requestId": "q", "decision": "allow"}})
    (row,) = _fold(request, decision).rows
    assert (row["id"], row["toolUseId"], row["toolName"], row["hint"]) == ("q", "u", "Bash", "why")
    decision["actions"]["permissionDecision"]["toolName"] = "Edit"
    assert _codes(_fold(request, decision)) == [("incomplete_event", "b")]
    other = _event("b", "system", None, refs={"toolCallId": "v"},
                   actions={"permissionDecision": {"requestId": "q", "decision": "allow"}})  # fmt: skip
    assert _codes(_fold(request, other)) == [("tool_use_id_mismatch", "b")]


def test_an_answer_needs_its_canonical_outcome() -> None:
    accepted = _event(
        "b", "system", None, refs={"toolCallId": "u"}, actions={"permissionAnswerAccepted": {"requestId": "q"}}
    )
    outcome = {
        **{"sessionId": "s", "runId": "r", "turnId": "t", "requestId": "q"},
        "request": {"toolUseId": "u", "prompt": {"toolName": "Bash"}},
        "outcome": {"decision": "deny", "committedAt": 99},
    }
    (row,) = _fold(accepted, outcomes={"q": outcome}).rows
    assert (row["ts"], row["decision"]) == (99, "deny")
    assert _fold(accepted, outcomes={"q": outcome | {"runId": "else"}}).refused


def test_endings() -> None:
    failed = {"kind": "error", "message": "m", "retry": 1}
    cases = [
        (_event("a", "system", None, status="completed"), {"status": "completed"}),
        (_event("a", "system", None, status="cancelled"), {"status": "aborted", "abortedAt": 5}),
        (
            _event("a", "system", failed, status="failed", actions={"stateDelta": {"code": "context_budget_exhausted"}}),
            {"status": "failed", "errorClass": "context_overflow", "failureMessage": "m", "retry": 1},
        ),
        (_event("a", "system", failed | {"code": "c"}, status="failed"),
         {"status": "failed", "errorClass": "c", "failureMessage": "m", "retry": 1}),
        (_event("a", "system", None, status="failed"), {"status": "failed", "errorClass": "unknown"}),
    ]  # fmt: skip
    for event, members in cases:
        (row,) = _fold(event).rows
        assert row == {"type": "turn_state", "id": "a", "turnId": "t", "ts": 5, "parentTurnId": "p", **members}
    capped = _event(
        "a", "system", None, status="failed", actions={"stateDelta": {"failureClass": "tool_step_cap_reached"}}
    )
    assert [(row["type"], row["id"]) for row in _fold(capped).rows][1] == ("system_note", "a:step-limit-notice")


# --- the two readers ---


def _stored(n: int, event: Event, ordinal: int | None = None) -> Stored:
    ids = (event["id"], "s", event["invocationId"], event["runId"], event["turnId"])
    return Stored(*ids, n, event["ts"], n if ordinal is None else ordinal, 100, event, ())


def test_both_readers_agree_on_healthy_sessions(tmp_path: Path) -> None:
    for seed in range(3):
        path = write_maka(tmp_path / f"{seed}.sqlite", seed=seed, sessions=1, turns=20).path
        session = read_session(path, "s1")
        done = compare(session)
        assert {d.kind for d in done.divergences} == {"V1"}  # the running turn
        assert done.view is not None
        ended = [row for row in done.view.rows if row["turnId"] != "s1-t22"]
        assert ended == [row.row for row in done.served]
        assert len(ended) > 60


def test_a_record_keeps_its_place_whatever_is_around_it(tmp_path: Path) -> None:
    session = read_session(write_maka(tmp_path / "x.sqlite", sessions=1).path, "c1")
    rows = page_rows(session.openings, session.events, session.outcomes)
    assert [(row.sequence, row.row["type"]) for row in rows][:4] == [
        (16, "user"),
        (24, "assistant"),
        (32, "turn_state"),
        (48, "user"),
    ]


def test_the_readers_differ_over_thinking_apart_from_its_text() -> None:
    openings, events, n = [], [], 0
    for invocation, told in (("i1", [_thinking("a", "T")]), ("i2", [_text("b")])):
        run = {"invocationId": invocation, "runId": invocation}
        opening = _event(f"{invocation}-o", "system", None, actions={"runtimeProtocol": {}}, ts=n) | run
        ended = _event(f"{invocation}-z", "system", None, status="completed") | run
        for event in (opening, *(e | run for e in told), ended):
            n += 1
            events.append(_stored(n, event))
        openings.append(Opening(invocation, "s", invocation, "t", n, "event", f"{invocation}-o", "m"))
    done = compare(Session(events, openings))
    assert [(d.kind, d.view, d.pages) for d in done.divergences] == [
        ("V6", "shown", "refused"),
        ("V6", "shown", "differs"),
    ]


@pytest.mark.parametrize("direction", ["older", "newer"])
@pytest.mark.parametrize("size", [256, 4_096, 524_288])
@pytest.mark.parametrize("messages", [1, 3, 64, 256])
def test_walks_of_every_size_give_each_row_once_and_whole(
    direction: Direction, size: int, messages: int, sessions: list[Session]
) -> None:
    for session in sessions:
        rows = page_rows(session.openings, session.events, session.outcomes)
        whole: dict[int, list[Fragment]] = {}
        pages = list(Pages(session).walk(direction, messages, size))
        for page in pages:
            assert 1 <= len(page.fragments) <= messages
            assert sum(len(fragment.data) for fragment in page.fragments) <= size
            for fragment in page.fragments:
                whole.setdefault(fragment.sequence, []).append(fragment)
        order = [row.sequence for row in rows]
        assert list(whole) == (order if direction == "newer" else order[::-1])
        for row in rows:
            parts = sorted(whole[row.sequence], key=lambda fragment: fragment.byte_offset)
            assert js.parse(b"".join(part.data for part in parts).decode()) == row.row
            assert parts[0].byte_offset == 0
        assert pages[-1].next is None


def test_a_walk_goes_on_where_a_record_was_cut(sessions: list[Session]) -> None:
    pages = Pages(sessions[0])
    first = pages.page("newer", None, 9, 100)
    assert first.next is not None
    again = pages.page("newer", first.next, 9, 100)
    assert (again.fragments[0].sequence, again.fragments[0].byte_offset) == (
        first.next.position,
        first.next.byte_offset or 0,
    )


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    """A native and a converted session."""
    path = write_maka(tmp_path_factory.mktemp("pages") / "x.sqlite", sessions=1, turns=10).path
    return [read_session(path, "s1"), read_session(path, "c1")]


def test_pages_open_until_they_reach_a_turn_that_is_refused(tmp_path: Path) -> None:
    path = write_maka(tmp_path / "x.sqlite", sessions=1).path
    with closing(sqlite3.connect(path)) as con:
        edit(con, "s1-i2-e3", lambda event: event.update(refs={"providerEventId": "nobody"}))
        con.commit()
    pages = Pages(read_session(path, "s1"))
    assert pages.page("newer", None, 2, 4_096).next is not None
    with pytest.raises(Refused):
        pages.page("newer", None, 256, 524_288)
    assert len(pages.page("older", None, 8, 524_288).fragments) == 8


# --- the product's own answers ---


@pytest.mark.real_stores
@pytest.mark.parametrize("name", ["a-normal", "d-commit-31", "e-b-converted", "old-v018", "b-chunks"])
def test_the_projection_before_the_cut_is_the_products(name: str, samples: Path, tmp_path: Path) -> None:
    archive = samples / "maka" / f"{name}.tar.xz"
    wanted = r"golden-[^/]+/[^/]+/(projected-messages|runtime-events-projection-order|agent-runs)\.json$"
    compared = 0
    for folder in sorted({path.parent for path in unpacked(archive, tmp_path, wanted)}):
        golden, events, runs = (
            json.loads((folder / f"{part}.json").read_text())
            for part in ("projected-messages", "runtime-events-projection-order", "agent-runs")
        )
        told = project(
            events,
            {run["invocationId"]: Run(run["modelId"], {k: run[k] for k in LINEAGE if k in run}) for run in runs},
            rules="B",
        )
        assert [js.stringify(row) for row in told.rows] == [js.stringify(row) for row in golden["messages"]]
        assert _codes(told) == [(d["code"], d.get("eventId")) for d in golden["diagnostics"]]
        compared += 1
    assert compared >= 1


@pytest.mark.real_stores
@pytest.mark.parametrize("name", ["c4-states-and-pages", "c4-conversion"])
def test_both_readers_after_the_cut_are_the_products(name: str, samples: Path, tmp_path: Path) -> None:
    goldens, stores = {}, {}
    for path in unpacked(samples / "maka" / f"{name}.tar.xz", tmp_path, r"/(golden|db)/[cdl]\d"):
        (goldens if path.suffix == ".json" else stores)[path.stem] = path
    compared = 0
    for case in sorted(goldens.keys() & stores.keys()):
        golden = json.loads(goldens[case].read_text())
        if "view" not in golden.get("reads", {}) or "sessionId" not in golden:
            continue
        session = read_session(stores[case], golden["sessionId"])
        outcomes = dict(golden.get("permissionOutcomes") or []) or session.outcomes
        _is_the_view(case, session, outcomes, golden["reads"]["view"])
        _are_the_pages(case, session, outcomes, golden["reads"]["pageRows"])
        session.outcomes.update(outcomes)
        _are_the_walks(case, session, golden["reads"])
        compared += 1
    assert compared >= 17


def _is_the_view(case: str, session: Session, outcomes: Mapping[str, Any], golden: Mapping[str, Any]) -> None:
    said = [(d["code"], d.get("eventId")) for d in (golden["error"] or golden)["diagnostics"]]
    if golden["error"]:
        with pytest.raises(Refused) as refused:
            session_view(session.openings, session.events, outcomes, session.partials)
        assert [(d.code, d.event_id) for d in refused.value.diagnostics] == said, case
        return
    view = session_view(session.openings, session.events, outcomes, session.partials)
    assert js.stringify(shortened(view.rows)) == js.stringify(golden["messages"]), case
    assert view.turns == golden["turns"], case
    assert view.order == golden["foldOrder"], case
    assert [(d.code, d.event_id) for d in view.diagnostics] == said, case


def _are_the_pages(case: str, session: Session, outcomes: Mapping[str, Any], golden: list[Any] | None) -> None:
    if golden is None:
        with pytest.raises(Refused):
            page_rows(session.openings, session.events, outcomes)
        return
    rows = page_rows(session.openings, session.events, outcomes)
    assert [(row.sequence, shortened(js.stringify(row.row))) for row in rows] == [
        (row["sequence"], row["json"]) for row in golden
    ], case


def _are_the_walks(case: str, session: Session, golden: Mapping[str, Any]) -> None:
    pages = Pages(session)
    assert pages.high_water == golden["highWater"], case
    for walk in golden["walks"]:
        seen: list[Page] = []
        try:
            seen.extend(pages.walk(walk["direction"], walk["maxMessages"], walk["maxBytes"]))
        except Refused:
            assert walk["error"], case
        else:
            assert not walk["error"], case
            told = [
                (
                    [(f.sequence, f.byte_offset, f.total, sha256(f.data).hexdigest()[:16]) for f in page.fragments],
                    {"position": page.next.position, "byteOffset": page.next.byte_offset} if page.next else None,
                )
                for page in seen
            ]
            assert told == [
                (
                    [(f["sequence"], f["byteOffset"], f["totalBytes"], f["sha256"]) for f in page["fragments"]],
                    page["next"],
                )
                for page in walk["pages"]
            ], case
