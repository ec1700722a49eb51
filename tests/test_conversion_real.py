"""The conversion is the product's own: ids, payloads byte for byte, places, times, errors, after any interruption."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support_conversion import EVENT, events_of, loaded, told_error, told_pages
from support_maka import shortened, unpacked

from busbar_audit.conversion.converter import MARK, RESEQUENCE, Conversion, Stopped, convert
from busbar_audit.conversion.ledger import Ledger

Answer = Mapping[str, Any]


@pytest.fixture(scope="module")
def answers(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    for name in ("c4-conversion", "c4-states-and-pages", "c4-on-real-stores"):
        list(unpacked(samples / "maka" / f"{name}.tar.xz", folder, r"/golden/.*\.json$", r"/db/.*\.sqlite$"))
    return folder


def _read(answers: Path, archive: str, prefix: str) -> list[tuple[str, Answer, Path]]:
    found = []
    for path in sorted((answers / archive / "golden").glob(f"{prefix}*.json")):
        found.append(
            (path.stem, json.loads(path.read_text(encoding="utf-8")), answers / archive / "db" / f"{path.stem}.sqlite")
        )
    assert found
    return found


def _same(got: list[dict[str, Any]], due: list[Answer]) -> bool:
    """Event for event, long payloads by their digest."""
    told = [{**event, "payload_json": shortened(event["payload_json"])} for event in got]
    for event, other in zip(told, sorted(due, key=lambda event: (event["ordinal"], event["event_id"])), strict=False):
        if isinstance(other["payload_json"], dict) and "sha256" in other["payload_json"]:
            long = event["payload_json"]
            event["payload_json"] = {"sha256": long["$sha256"][:24], "length": long["$length"]}
    wanted = [{name: event[name] for name in (*EVENT, "ordinal")} for event in due]
    return told == sorted(wanted, key=lambda event: (event["ordinal"], event["event_id"]))


def _stop_at(where: int | str) -> Any:
    def before(done: Conversion, what: str) -> None:
        if (what == "append" and done.appends == where) or what == where:
            raise Stopped

    return before


def test_a_conversion_writes_what_the_product_wrote(answers: Path) -> None:
    cases = [case for case in _read(answers, "c4-conversion", "c") if "conversion" in case[1]]
    cases += _read(answers, "c4-states-and-pages", "d0")
    assert len(cases) >= 24
    for name, answer, database in cases:
        session = answer["sessionId"]
        con = loaded(answer, database, answer["eventsBefore"])
        rows = con.execute("SELECT * FROM session_messages").fetchall()
        done = convert(Ledger(con), session)
        due = answer["conversion"]
        error = due["error"] and {key: value for key, value in due["error"].items() if key != "cause"}
        assert told_error(done) == error, name
        assert (done.appends, done.emitted) == (due["appends"], due["emittedInOrder"]), name
        assert (int(done.resequenced), told_pages(done)) == (due["resequences"], due["pages"]), name
        assert _same(events_of(con, session), answer["events"]), name
        assert con.execute("SELECT * FROM session_messages").fetchall() == rows
        assert Ledger(con).header(session) == answer["headerAfter"], name
        if answer["secondConversion"]:
            again = convert(Ledger(con), session, now=86_400_000)
            assert (again.appends, _same(events_of(con, session), answer["events"])) == (0, True), name


def test_an_interrupted_conversion_ends_where_the_product_ended(answers: Path) -> None:
    """At every point that the answers have for small sessions, and at some of large ones, the clock a day later."""
    seen = 0
    cases = [case for case in _read(answers, "c4-conversion", "c") if case[1].get("interrupted")]
    for name, answer, database in cases + _read(answers, "c4-states-and-pages", "d0"):
        session, points = answer["sessionId"], answer["interrupted"]
        if len(answer["events"]) > 100:
            points = [*points[1:3], points[-1]]
        for point in points:
            con = loaded(answer, database, answer["eventsBefore"])
            where = {"before_resequence": RESEQUENCE, "before_header_patch": MARK}.get(point["after"], point["after"])
            try:
                first = convert(Ledger(con), session, before=_stop_at(where))
            except Stopped:
                first = None
            else:
                # The product had refused a row before it came so far.
                assert told_error(first) == point["first"]["error"], (name, where)
            there = [[e["event_id"], e["event_seq"], e["ordinal"]] for e in events_of(con, session)]
            assert sorted(there) == sorted(point["eventIdsAtStop"]), (name, where)
            second = convert(Ledger(con), session, now=86_400_000)
            error = point["second"]["error"]
            assert told_error(second) == error, (name, where)
            assert second.appends == point["second"]["appends"], (name, where)
            final = answer["events"] if point["finalEvents"] == "same as events" else point["finalEvents"]
            assert _same(events_of(con, session), final), (name, where)
            assert Ledger(con).header(session).get("transcriptLedgerVersion") == point["finalVersion"], (name, where)
            seen += 1
    assert seen > 100


def test_prefixes_of_other_builds_and_rows_in_between_are_resumed_as_the_product_does(answers: Path) -> None:
    for name, answer, database in _read(answers, "c4-states-and-pages", "d1"):
        for run in answer["runs"]:
            rows = run.get("sessionMessagesBeforeResume", answer["sessionMessages"])
            con = loaded({**answer, "sessionMessages": rows}, database, run["prefix"])
            second = convert(Ledger(con), answer["sessionId"])
            assert told_error(second) == run["second"]["error"], (name, run["k"])
            assert second.appends == run["second"]["appends"], (name, run["k"])
            third = convert(Ledger(con), answer["sessionId"])
            assert told_error(third) == run["third"]["error"], (name, run["k"])
            assert third.appends == run["third"]["appends"], (name, run["k"])
            assert _same(events_of(con, answer["sessionId"]), run["events"]), (name, run["k"])


def test_a_row_that_cannot_be_read_keeps_its_page_from_being_converted(answers: Path) -> None:
    for name, answer, database in _read(answers, "c4-states-and-pages", "e"):
        session = answer["header"]["id"]
        con = loaded(answer, database, ())
        for attempt in ("first", "second"):
            done = convert(Ledger(con), session)
            due = answer[attempt]
            error = due["error"] and {key: value for key, value in due["error"].items() if key != "cause"}
            assert told_error(done) == error, (name, attempt)
            # A page that throws is not among those that were read.
            assert (done.appends, told_pages(done)) == (due["appends"], due["pages"]), (name, attempt)
        assert _same(events_of(con, session), answer["events"]), name


def test_a_retry_after_a_late_second_prompt_succeeds_and_loses_the_tail(answers: Path) -> None:
    ((name, answer, database),) = _read(answers, "c4-conversion", "c18")
    session = answer["header"]["id"]
    header = {key: value for key, value in answer["header"].items() if key != "transcriptLedgerVersion"}
    con = loaded({**answer, "header": header}, database, ())
    for attempt in answer["attempts"]:
        done = convert(Ledger(con), session)
        assert told_error(done) == attempt["error"], name
        assert (done.appends, int(done.resequenced)) == (attempt["appends"], attempt["resequences"])
        assert Ledger(con).header(session).get("transcriptLedgerVersion") == attempt["version"]
    assert _same(events_of(con, session), answer["events"])


def test_real_stores_are_converted_as_the_product_converted_them(answers: Path) -> None:
    converted = 0
    for name, answer, database in _read(answers, "c4-on-real-stores", "real-"):
        for told in answer.get("sessions", ()):
            if not isinstance(told["conversion"], dict):
                continue
            there = {one[0] for one in told["eventsBefore"]}
            after = told["events"] if isinstance(told["events"], list) else []
            if any(isinstance(e["payload_json"], dict) for e in after if e["event_id"] in there):
                continue  # a payload of before is known by its digest only
            places = {one[0]: one[-1] for one in told["eventsBefore"]}
            before = [{**e, "ordinal": places[e["event_id"]]} for e in after if e["event_id"] in there]
            if len(before) != len(there):
                continue
            con = loaded(told, database, before)
            done = convert(Ledger(con), told["sessionId"])
            due = told["conversion"]
            error = due["error"] and {key: value for key, value in due["error"].items() if key != "cause"}
            assert told_error(done) == error, (name, told["sessionId"])
            assert (done.appends, told_pages(done)) == (due["appends"], due["pages"]), (name, told["sessionId"])
            assert _same(events_of(con, told["sessionId"]), after), (name, told["sessionId"])
            converted += done.appends
    assert converted > 150
