"""Captured answers of the application against both readers: equal, equal to one, to none, absent; odd files."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support_maka import read_session
from typer.testing import CliRunner

from busbar_audit.auditing import audit
from busbar_audit.cli import app
from busbar_audit.errors import UsageError
from busbar_audit.findings import Outcome
from busbar_audit.store import Store, open_store
from busbar_audit.synth.maka import write_maka
from busbar_audit.transcript import js
from busbar_audit.transcript.exported import read_answers
from busbar_audit.transcript.ledger import Session
from busbar_audit.transcript.pages import Pages
from busbar_audit.transcript.view import session_view

CODE = "MAKA-T16"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_maka(tmp_path_factory.mktemp("export") / "runtime.sqlite", sessions=1).path


@pytest.fixture(scope="module")
def store(workspace: Path) -> Any:
    with open_store(workspace) as opened:
        yield opened


def _rows(session: Session) -> list[dict[str, Any]]:
    return session_view(session.openings, session.events, session.outcomes, session.partials).rows


def _pages(session: Session, direction: str = "older", generation: str = "Q-B") -> list[dict[str, Any]]:
    return [
        {
            "fragments": [
                {
                    **{"sequence": f.sequence, "byteOffset": f.byte_offset, "totalBytes": f.total},
                    "data": base64.b64encode(f.data).decode(),
                }
                for f in page.fragments
            ]
        }
        for page in Pages(session, generation).walk(direction, 3, 100)  # type: ignore[arg-type]
    ]


def _found(store: Store, folder: Path, *answers: Any) -> list[tuple[str, str, str, int]]:
    """Findings of the check by place: what it says, how severe, how many rows."""
    path = folder / "answer.json"
    path.write_text(js.stringify(list(answers)), encoding="utf-8")
    result = audit(store, only=[CODE], export=path)
    (one,) = [r for r in result.results if r.code == CODE]
    assert one.outcome in (Outcome.PASS, Outcome.FINDING), one
    assert all(line.adds_up for line in result.account)
    return [(f.place, f.detail, f.severity, f.records) for f in result.findings()]


def test_an_answer_that_is_what_both_readers_show_is_no_finding(workspace: Path, store: Store, tmp_path: Path) -> None:
    session = read_session(workspace, "c1")
    assert _found(store, tmp_path, {"sessionId": "c1", "rows": _rows(session)}) == []
    assert _found(store, tmp_path, {"sessionId": "c1", "messages": _rows(session)}) == []
    for direction in ("older", "newer"):
        assert _found(store, tmp_path, {"sessionId": "c1", "pages": _pages(session, direction)}) == []


def test_a_page_captured_twice_and_a_session_that_says_nothing_yet_are_no_alarm(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    pages = _pages(read_session(workspace, "c1"))
    assert _found(store, tmp_path, {"sessionId": "c1", "pages": [*pages, pages[0]]}) == []
    with open_store(_with_new_session(workspace, tmp_path)) as opened:
        found = _found(opened, tmp_path, *({"sessionId": each, "rows": []} for each in ("new", "l1", "nowhere")))
    assert {(place, severity) for place, _, severity, _ in found} == {("l1", "high"), ("nowhere", "high")}


def _with_new_session(workspace: Path, folder: Path) -> Path:
    path = Path(shutil.copy(workspace, folder / "runtime.sqlite"))
    with closing(sqlite3.connect(path)) as con:
        columns = [name for _, name, *_ in con.execute("PRAGMA table_info(session_metadata)")]
        told = ", ".join(
            {"session_id": "'new'", "payload_json": '\'{"id":"new"}\''}.get(name, name) for name in columns
        )
        con.execute(f"INSERT INTO session_metadata SELECT {told} FROM session_metadata WHERE session_id = 's1'")
        con.commit()
    return path


def test_half_a_surrogate_pair_as_an_id_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="half a surrogate pair"):
        _found(store, tmp_path, {"sessionId": "\ud800", "rows": []})


def test_an_answer_of_one_reader_says_of_which(workspace: Path, store: Store, tmp_path: Path) -> None:
    """The running turn of the native session is in the Session view, and not yet in pages: legal, and told."""
    session = read_session(workspace, "s1")
    ((place, detail, severity, _),) = _found(store, tmp_path, {"sessionId": "s1", "rows": _rows(session)})
    assert (place, severity) == ("s1", "info")
    assert detail.startswith("captured rows: Session view equal; pages differs in ")
    assert detail.endswith("is in the answer alone) (these two differ by V1)")
    ((_, detail, severity, _),) = _found(store, tmp_path, {"sessionId": "s1", "pages": _pages(session)})
    assert severity == "info"
    assert detail.startswith("captured pages: Session view differs in ")
    assert "; pages equal" in detail


def test_an_answer_of_neither_is_told_by_its_first_row_and_never_by_its_text(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    session = read_session(workspace, "c1")
    rows = json.loads(js.stringify(_rows(session)))
    rows[1]["text"] = "a secret <script>"
    rows[3]["text"] = "another secret"
    ((place, detail, severity, records),) = _found(store, tmp_path, {"sessionId": "c1", "rows": rows})
    assert (place, severity, records) == ("c1", "high", 2)
    assert detail == (
        f"captured rows: Session view differs in 2 row(s), first row 1 (assistant {rows[1]['id']}: text); "
        f"pages differs in 2 row(s), first row 1 (assistant {rows[1]['id']}: text)"
    )
    short = _rows(session)[:-1]
    ((_, detail, _, records),) = _found(store, tmp_path, {"sessionId": "c1", "rows": short})
    assert (records, f"first row {len(short)} (turn_state" in detail, "is not in the answer" in detail) == (
        1,
        True,
        True,
    )
    hidden = [{"type": "\x1b[2J", "id": "x" * 500}, *_rows(session)]
    ((_, detail, severity, _),) = _found(store, tmp_path, {"sessionId": "c1", "rows": hidden})
    assert (severity, "\x1b" in detail, "x" * 81 in detail) == ("high", False, False)


def test_pages_with_a_hole_or_at_another_place_are_told(workspace: Path, store: Store, tmp_path: Path) -> None:
    session = read_session(workspace, "c1")
    holed = _pages(session)
    holed[1]["fragments"].pop()
    assert [f[2] for f in _found(store, tmp_path, {"sessionId": "c1", "pages": holed})] == ["high"]
    moved = _pages(session)
    for page in moved:
        for fragment in page["fragments"]:
            fragment["sequence"] += 8
    ((_, detail, severity, _),) = _found(store, tmp_path, {"sessionId": "c1", "pages": moved})
    assert severity == "info"  # the rows are those of the view; that pages have them elsewhere is said
    assert "first row 0 (the same row at another sequence)" in detail


def test_pages_of_another_generation_are_held_against_its_own_and_marked(
    workspace: Path, store: Store, tmp_path: Path
) -> None:
    session = read_session(workspace, "s1")
    for generation in ("Q-A", "Q-C"):
        answer = {
            "sessionId": "c1",
            "generation": generation,
            "pages": _pages(read_session(workspace, "c1"), "newer", generation),
        }
        assert _found(store, tmp_path, answer) == []
    early = {"sessionId": "s1", "generation": "Q-A", "pages": _pages(session, "older", "Q-A")}
    ((_, detail, severity, _),) = _found(store, tmp_path, early)
    assert (severity, "; pages Q-A (emulated, unverified) equal" in detail) == ("info", True)


def test_a_session_that_the_store_has_not_is_a_finding(store: Store, tmp_path: Path) -> None:
    found = _found(store, tmp_path, {"sessionId": "gone", "rows": [{"type": "user", "id": "u"}]})
    assert found == [("gone", "the store has no events of this session", "high", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"sessionId": "c1"}',
        '{"sessionId": "c1", "rows": [], "pages": []}',
        '{"sessionId": 7, "rows": []}',
        '{"sessionId": "c1", "rows": [], "generation": "Q-Z"}',
        '{"sessionId": "c1", "pages": [{"fragments": [{"sequence": 1}]}]}',
        '{"sessionId": "c1", "pages": [3]}',
        '[{"sessionId": "c1", "rows": []}, {"sessionId": "c1", "rows": []}]',
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="--export"):
        read_answers(tmp_path / "x.json")


def test_without_an_answer_the_check_does_not_apply_and_other_stores_refuse_one(store: Store, tmp_path: Path) -> None:
    (one,) = audit(store, only=[CODE]).results
    assert (one.outcome, one.reason) == (Outcome.NOT_APPLICABLE, "needs --export")
    older = write_maka(tmp_path / "older.sqlite", generation=12, sessions=1).path
    (tmp_path / "x.json").write_text('{"sessionId": "c1", "rows": []}', encoding="utf-8")
    done = CliRunner().invoke(app, ["audit", str(older), "--export", str(tmp_path / "x.json")])
    assert isinstance(done.exception, UsageError)
    assert "schema 16 to 18" in str(done.exception)
