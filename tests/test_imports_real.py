"""Imports of the real product: accounts balance on its stores, and what its converter did is what the pre-flight foretells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_imports import Answer, answers, put
from support_maka import unpacked

from busbar_audit.store import open_store

pytestmark = pytest.mark.real_stores
Risk = tuple[Any, ...]
_RISKS = (
    "SELECT session_id, turn_id, effect, code, first_seq, last_seq, rows, detail FROM audit.import_risks ORDER BY ALL"
)
_LOST = "SELECT session_id, sequence, code FROM audit.import_rows WHERE fate = 'lost' ORDER BY ALL"
_DIFFER = "SELECT session_id, sequence FROM audit.import_rows WHERE differs ORDER BY ALL"


def _read(path: Path) -> tuple[list[Risk], list[Risk], list[Risk]]:
    """Risks, lost rows and rows whose event says something else; the account is shown to balance."""
    with open_store(path) as store:
        if "session_messages" not in store.rows:
            assert (store.generation.taken or 0) < 8  # transcripts were files then
            return [], [], []
        store.view("import_account")
        store.view("import_risks")
        con = store.con
        assert con.execute("SELECT coalesce(bool_and(balances), true) FROM audit.import_account").fetchone() == (True,)
        held = con.execute("SELECT count(*) FROM raw.session_messages").fetchone()
        assert con.execute("SELECT coalesce(sum(rows), 0) FROM audit.import_account").fetchone() == held
        return con.execute(_RISKS).fetchall(), con.execute(_LOST).fetchall(), con.execute(_DIFFER).fetchall()


# --- each conversion of which the answer is known ---


@pytest.fixture(scope="module")
def told(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Answer], list[Risk], list[Risk]]:
    """The cases, the risks seen before, and the rows lost after."""
    folder = tmp_path_factory.mktemp("answers")
    cases = list(answers(samples / "maka", folder))
    assert len(cases) >= 28
    risks, _, _ = _read(put(folder / "before.sqlite", cases, after=False))
    _, lost, differ = _read(put(folder / "after.sqlite", cases, after=True))
    assert differ == []
    return cases, risks, lost


def test_a_conversion_fails_where_it_was_foretold_and_nowhere_else(
    told: tuple[list[Answer], list[Risk], list[Risk]],
) -> None:
    cases, risks, _ = told
    failing = {case.case for case in cases if case.error is not None}
    assert len(failing) >= 10
    assert {risk[0] for risk in risks if risk[2] == "fails" or "first attempt fails" in risk[7]} == failing
    for case in cases:
        first = next((risk for risk in risks if risk[0] == case.case and risk[2] == "fails"), None)
        code = (case.error or {}).get("code")
        if code == "stored_session_message_incompatible":
            assert first is not None
            assert (first[3][0], first[4]) == ("L", (case.error or {})["sequence"])
        elif code is not None:
            assert first is not None
            assert (first[3], first[7].split()[0]) == ("D22", code)


def test_rows_are_lost_where_it_was_foretold_and_nowhere_else(
    told: tuple[list[Answer], list[Risk], list[Risk]],
) -> None:
    _, risks, lost = told
    cut = {(risk[0], n) for risk in risks if risk[2] == "cut" for n in range(risk[4], risk[5] + 1)}
    assert len(cut) >= 5
    assert {(session, sequence) for session, sequence, code in lost if code in ("D07", "D12", "D06", "D03")} == cut


# --- stores ---

B1, LATE = "turn-12-orphans", "turn-07-no-state-assistant"
STEERED, NO_USER = ("turn-13-two-users", "left out", "L13", 56), ("turn-17-assistant-only", "left out", "L11", 88)
OTHER = ("b5-t", "left out", "L11", 0)
# Turn, effect, code and first row of every risk; turns with random ids as None.
FORETOLD: dict[str, set[tuple[str | None, str, str, int | None]]] = {
    "b-legacy/checkpointed": {(B1, "fails", "D22", 49), STEERED, NO_USER, OTHER},
    "e-b-kill-event-20/checkpointed": {
        (LATE, "fails", "D22", 36),
        (B1, "fails", "D22", 49),
        (None, "changed", "D22", 4),
        STEERED,
        NO_USER,
        OTHER,
    },
    "e-b-kill-event-5-resumed/checkpointed": {
        ("turn-02-completed-thinking-tools", "changed", "D11", None),
        STEERED,
        NO_USER,
        OTHER,
    },
    "d-commit-05/checkpointed": set(),
    "d-commit-05/recovered": {(None, "left out", "R03", 9)},
    "d-commit-31/checkpointed": set(),
    "d-commit-31/recovered": {(None, "left out", "B27", 11)},
    # What their builds' own rules lose: two notes that were written past the ledger.
    "c2-long-dual/checkpointed": {(None, "left out", "D14", 4504), (None, "left out", "D14", 4516)},
    "old-v018/checkpointed": set(),
    "m-legacy-250/checkpointed": set(),
}


@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in FORETOLD}))
def test_risks_of_sample_stores_are_those_that_are_known(name: str, samples: Path, tmp_path: Path) -> None:
    for path in unpacked(samples / "maka" / f"{name}.tar.xz", tmp_path, r"/(checkpointed|recovered)/runtime\.sqlite$"):
        risks, _, differ = _read(path)
        seen = {(turn if "turn-" in turn or turn == "b5-t" else None, *rest) for turn, *rest in _short(risks)}
        assert (seen, differ) == (FORETOLD[f"{name}/{path.parent.name}"], []), path.parent.name


def _short(risks: list[Risk]) -> list[tuple[str, str, str, int | None]]:
    return [(turn or "", effect, code, first) for _, turn, effect, code, first, *_ in risks]


@pytest.mark.full
def test_every_sample_store_balances_and_a_session_that_was_not_converted_was_named(
    samples: Path, tmp_path: Path
) -> None:
    """After the real converter: sessions that it refused are those that had a risk of it, the others lost nothing more."""
    for archive in sorted((samples / "maka").glob("*.tar.xz")):
        for path in unpacked(archive, tmp_path, r"\.sqlite$"):
            _, lost, differ = _read(path)
            assert differ == [], path
            if archive.name.startswith("c4-on-real"):
                assert {code for _, _, code in lost} <= {"L13"}, path
    name = "e-b-kill-event-20"
    (before,) = unpacked(samples / "maka" / f"{name}.tar.xz", tmp_path, r"checkpointed/runtime\.sqlite$")
    (after,) = unpacked(samples / "maka" / "c4-on-real-stores.tar.xz", tmp_path, rf"db/real-{name}\.sqlite$")
    failing = {risk[0] for risk in _read(before)[0] if risk[2] == "fails"}
    with open_store(after) as store:
        store.view("sessions")
        still = store.con.execute("SELECT session_id FROM audit.sessions WHERE ledger_version IS NULL").fetchall()
    assert {session for (session,) in still} == failing
