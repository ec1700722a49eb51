"""The conversion against the real one: every answer of the post-cutover code, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_conversion import Killed, held, loaded, pages, rows_digest, same_error, stop, told
from support_maka import unpacked

from busbar_audit.conversion.appending import read_header
from busbar_audit.conversion.engine import convert
from busbar_audit.conversion.pages import Memo
from busbar_audit.transcript import js

pytestmark = pytest.mark.real_stores


def _answers(samples: Path, folder: Path, archive: str, wanted: str) -> Iterator[tuple[dict[str, Any], Path]]:
    files = list(unpacked(samples / "maka" / f"{archive}.tar.xz", folder, rf"golden/{wanted}", rf"db/{wanted}"))
    for path in sorted(file for file in files if file.suffix == ".json"):
        told_there = json.loads(path.read_text(encoding="utf-8"))
        yield told_there, path.parent.parent / "db" / f"{path.stem}.sqlite"


def _not_converted(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header of a session before its conversion, where the answer tells the one after it."""
    return {key: value for key, value in header.items() if key != "transcriptLedgerVersion"}


def _after(case: Mapping[str, Any]) -> str:
    return js.stringify(case["headerAfter"])


@pytest.mark.parametrize(
    ("archive", "wanted", "number"), [("c4-conversion", r"c(?!18)", 21), ("c4-states-and-pages", r"d0", 3)]
)
def test_a_conversion_and_each_interruption_of_it_are_the_real_ones(
    samples: Path, tmp_path: Path, archive: str, wanted: str, number: int
) -> None:
    seen = 0
    for case, file in _answers(samples, tmp_path, archive, wanted):
        seen += 1
        session, there = case["sessionId"], (case["eventsBefore"], case["legacyOpenings"])
        with closing(loaded(case["header"], case["sessionMessages"], *there, file=file)) as con:
            before = rows_digest(con)
            done, real = convert(con, session, importing=True), case["conversion"]
            assert same_error(done, real["error"]), case["case"]
            assert (done.emitted, len(done.emitted)) == (real["emittedInOrder"], real["appends"]), case["case"]
            assert pages(done) == real["pages"], case["case"]
            assert done.resequenced == (real["resequences"] == 1)
            whole = told(case["events"])
            assert held(con, session) == whole, case["case"]
            assert rows_digest(con) == before
            assert js.stringify(read_header(con, session)) == _after(case)
        memo = Memo()
        for cut in case["interrupted"]:
            with closing(loaded(case["header"], case["sessionMessages"], *there, file=file)) as con:
                try:
                    first = convert(con, session, importing=True, watch=stop(cut["after"]), memo=memo)
                    assert same_error(first, cut["first"]["error"]), (case["case"], cut["after"])
                except Killed:
                    assert cut["first"]["error"]["name"] == "InjectedStop"
                left = [[event[0], event[5], event[9]] for event in held(con, session)]
                assert sorted(left) == sorted(cut["eventIdsAtStop"])
                second = convert(con, session, importing=True, memo=memo)
                assert same_error(second, cut["second"]["error"]), (case["case"], cut["after"])
                assert len(second.emitted) == cut["second"]["appends"], (case["case"], cut["after"])
                final = cut["finalEvents"]
                assert held(con, session) == (whole if final == "same as events" else told(final))
                assert rows_digest(con) == before
    assert seen == number


def test_a_prefix_of_another_build_is_resumed_or_refused_as_the_real_one_does(samples: Path, tmp_path: Path) -> None:
    seen = 0
    for case, _ in _answers(samples, tmp_path, "c4-states-and-pages", r"d1\d"):
        for run in case["runs"]:
            seen += 1
            header = run.get("headerBeforeResume") or case["header"]
            rows = run.get("sessionMessagesBeforeResume") or case["sessionMessages"]
            with closing(loaded(header, rows, run["prefix"])) as con:
                for attempt in ("second", "third"):
                    done = convert(con, header["id"])
                    assert same_error(done, run[attempt]["error"]), (case["case"], run["k"], attempt)
                    assert len(done.emitted) == run[attempt]["appends"], (case["case"], run["k"], attempt)
                assert held(con, header["id"]) == told(run["events"]), (case["case"], run["k"])
    assert seen > 40


def test_a_damaged_row_stops_its_page_as_it_does_the_real_one(samples: Path, tmp_path: Path) -> None:
    seen = 0
    for case, file in _answers(samples, tmp_path, "c4-states-and-pages", r"e\d"):
        seen += 1
        session = case["header"]["id"]
        with closing(loaded(_not_converted(case["header"]), case["sessionMessages"], file=file)) as con:
            for attempt in ("first", "second"):
                done = convert(con, session)
                assert same_error(done, case[attempt]["error"]), (case["case"], attempt)
                assert len(done.emitted) == case[attempt]["appends"], (case["case"], attempt)
                if done.error is not None:
                    assert f"message {done.error.sequence} for" in done.error.message
            assert held(con, session) == told(case["events"]), case["case"]
    assert seen == 7


def test_a_late_second_user_fails_once_and_is_lost_by_the_retry(samples: Path, tmp_path: Path) -> None:
    ((case, _),) = _answers(samples, tmp_path, "c4-conversion", r"c18")
    session = case["header"]["id"]
    with closing(loaded(_not_converted(case["header"]), case["sessionMessages"])) as con:
        for attempt in case["attempts"]:
            done = convert(con, session)
            assert same_error(done, attempt["error"])
            assert (len(done.emitted), read_header(con, session).get("transcriptLedgerVersion")) == (
                attempt["appends"],
                attempt["version"],
            )
        assert held(con, session) == told(case["events"])


def test_sessions_of_real_stores_convert_as_they_did(samples: Path, tmp_path: Path) -> None:
    seen = failed = 0
    for case, file in _answers(samples, tmp_path, "c4-on-real-stores", r"real-"):
        for one in case.get("sessions", []):
            real, session = one["conversion"], one["sessionId"]
            if not isinstance(real, dict):
                continue
            # Told shortly: the ordinal that each event had before is its last member.
            ordinals = {event[0]: event[-1] for event in one["eventsBefore"]}
            before = [{**e, "ordinal": ordinals[e["event_id"]]} for e in one["events"] if e["event_id"] in ordinals]
            there = (one["sessionMessages"], before, one["legacyOpenings"])
            with closing(loaded(_not_converted(one["header"]), *there, file=file)) as con:
                done = convert(con, session, importing=True)
                seen += 1
                failed += done.error is not None
                assert same_error(done, real["error"]), (case["case"], session)
                assert (len(done.emitted), pages(done)) == (real["appends"], real["pages"]), (case["case"], session)
                assert held(con, session) == told(one["events"]), (case["case"], session)
    assert seen >= 15
    assert failed == 3
