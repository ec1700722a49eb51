"""`busbar-audit rehearse TARGET --conversion C4`: all sessions that an upgrade would convert, cut, killed and resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from busbar_audit.conversion.appending import APPEND, INSIDE_APPEND, INSIDE_RESEQUENCE, RESEQUENCE
from busbar_audit.conversion.generations import GENERATIONS, convert_as
from busbar_audit.conversion.migration import migrate
from busbar_audit.conversion.staging import connect, sessions, stage
from busbar_audit.errors import UsageError
from busbar_audit.findings import at_least
from busbar_audit.queries import SEVERITIES
from busbar_audit.rehearsal.crash import PROPERTIES, Broken, Rehearsed, highest, rehearse, state
from busbar_audit.rehearsal.killing import kill_at
from busbar_audit.rehearsal.prediction import predict
from busbar_audit.rehearsal.risks import AT_RISK, Risk, risks
from busbar_audit.rundir import run_directory
from busbar_audit.store import open_store
from busbar_audit.stores import maka
from busbar_audit.text import printable
from busbar_audit.verdict import Verdict

SCHEMA = "busbar-audit/conversion-rehearsal/1"
_SHOWN = 20
# What a known case can make fail; the rest has to hold whatever the rows are.
_EXPLAINED = ("end", "appended", "grew")
_EXPLAINING = ("refused", "unreadable", "half turn", "shifted", "cut", "foreign prefix")
_STEPS = (APPEND, INSIDE_APPEND, INSIDE_RESEQUENCE, RESEQUENCE)

Say = Callable[[str], None]


def rehearse_store(
    target: str,
    *,
    generation: str = "C4",
    most: int | None = 200,
    kills: int = 3,
    only: Sequence[str] = (),
    after: str | None = None,
    fail_on: str = "medium",
    progress: Say | None = None,
) -> dict[str, Any]:
    """Rehearse the conversion of all sessions of a store that are not converted yet, on private copies.

    Parameters
    ----------
    target : the store, or the one before the upgrade. generation : C0 to C5. most : cuts of each session at most.
    kills : conversions of the largest session that are killed in a process of their own. only : these sessions.
    after : the same store after the upgrade: what was foretold is held against it, and nothing is cut.
    fail_on : severity from which a known case makes the verdict `findings`.

    Returns
    -------
    the document: schema, store, generation, sessions, verdict, exit_code.

    Raises
    ------
    UsageError : no such generation or session, or one that cannot be foretold.
    """
    if generation not in GENERATIONS:
        raise UsageError(f"--conversion {printable(generation)}", f"Expected one of {', '.join(GENERATIONS)}.")
    if fail_on not in SEVERITIES:
        raise UsageError(f"--fail-on {printable(fail_on)}", f"Expected one of {', '.join(SEVERITIES)}.")
    if after is not None and generation not in ("C4", "C5"):
        raise UsageError("--after with an early conversion.", "Expected C4 or C5; the ids of the others are random.")
    say = progress or (lambda _text: None)
    with open_store(target, family=maka.NAME, progress=progress) as store, run_directory() as folder:
        if "session_messages" not in store.rows:
            raise UsageError(f"{store.name} has no session_messages.", "A workspace of runtime schema 8 or later.")
        path = store.snapshot.path
        there = sessions(path)
        unknown = set(only) - {session for session, _ in there}
        if unknown:
            named = printable(min(unknown))
            raise UsageError(f"--session {named}", "A session of the store that is not converted yet.")
        chosen = [one for one in there if not only or one[0] in only]
        if after is None:
            told = list(_rehearsed(path, chosen, generation, most, kills, folder, say))
        else:
            with open_store(after, family=maka.NAME, progress=progress) as later:
                told = list(_foretold(path, later.snapshot.path, chosen, generation, say))
        about = {"name": store.name, "target": store.target.label, "sha256": store.snapshot.sha256}
    verdict = _verdict(told, fail_on)
    return {
        "schema": SCHEMA,
        "store": about,
        "generation": generation,
        "what": "rehearsal" if after is None else "prediction",
        "sessions": told,
        "verdict": verdict.value,
        "exit_code": verdict.exit_code,
    }


def _rehearsed(
    path: Path,
    chosen: Sequence[tuple[str, int]],
    generation: str,
    most: int | None,
    kills: int,
    folder: Path,
    say: Say,
) -> Iterator[dict[str, Any]]:
    largest = max(chosen, key=lambda one: one[1], default=("", 0))[0]
    for session, rows in chosen:
        if not rows:
            yield {"session": session, "rows": 0, "outcome": "nothing to convert"}
            continue
        say(f"rehearsing session {printable(session)}")
        with closing(stage(path, session)) as staged:
            if generation in ("C4", "C5"):
                migrate(staged, session)
            known = risks(staged, session, generation)
            done = rehearse(staged, session, generation=generation, most=most)
            broken = list(done.broken)
            killed = 0
            if session == largest and generation in ("C4", "C5"):
                for what, taken in _kills(done, kills):
                    file = folder / f"killed-{killed}.sqlite"
                    with closing(connect(file)) as copy:
                        staged.backup(copy)
                    broken.extend(_killed(file, done, what, taken))
                    killed += 1
        yield _told(done, known, broken, killed)


def _kills(done: Rehearsed, most: int) -> list[tuple[str, int]]:
    """Steps at which a child is killed: in the middle, and in the resequence of a run that comes to it."""
    half = len(done.uninterrupted.emitted) // 2
    steps = [(APPEND, half), (INSIDE_APPEND, half), (INSIDE_RESEQUENCE, done.events)]
    steps += [(step, max(half - at, 0)) for at in range(1, max(half, 1)) for step in (APPEND, INSIDE_APPEND)]
    if done.uninterrupted.error is not None:
        steps = [step for step in steps if step[0] != INSIDE_RESEQUENCE]
    return steps[:most] if done.events else []


def _killed(file: Path, done: Rehearsed, what: str, taken: int) -> Iterator[Broken]:
    """Kill a child there, and convert what it left: the same events as in the uninterrupted run, and no others."""
    kill_at(file, done.session, done.generation, what, taken)
    point = f"killed at {what} {taken}"
    with closing(connect(file)) as con:
        high = highest(con)
        left = state(con, done.session, high)
        present = len(done.uninterrupted.emitted) - len({*done.uninterrupted.emitted} - left.own().keys())
        if present != taken:
            yield Broken("kept", point, f"{present} of {taken} events are durable")
        if left.version == 1:
            yield Broken("last", point, "the session has version 1")
        resumed = convert_as(done.generation, con, done.session, importing=True)
        if state(con, done.session, high).events != done.end:
            yield Broken("end", point, "the end is not the one of the uninterrupted run")
        if len(resumed.emitted) != len(done.uninterrupted.emitted) - taken:
            yield Broken("appended", point, f"{len(resumed.emitted)} event(s) appended")


def _told(done: Rehearsed, known: Sequence[Risk], broken: Sequence[Broken], killed: int) -> dict[str, Any]:
    explaining = any(risk.case in _EXPLAINING for risk in known) or done.generation in ("C0", "C1", "C2", "C3")
    unexplained = [one for one in broken if not (explaining and one.name in _EXPLAINED)]
    outcome = "holds"
    if unexplained:
        outcome = "fails"
    elif broken or any(at_least(risk.severity, "medium") for risk in known):
        outcome = AT_RISK
    return {
        "session": done.session,
        "rows": done.rows,
        "events": done.events,
        "cuts": done.points,
        "kills": killed,
        "outcome": outcome,
        "risks": [asdict(risk) for risk in known],
        "broken": [asdict(one) for one in (unexplained or broken)[:_SHOWN]],
        "broken_in_all": len(broken),
    }


def _foretold(
    before: Path, after: Path, chosen: Sequence[tuple[str, int]], generation: str, say: Say
) -> Iterator[dict[str, Any]]:
    for session, rows in chosen:
        say(f"foretelling session {printable(session)}")
        found = predict(before, after, session, generation=generation)
        if found is None:
            yield {"session": session, "rows": rows, "outcome": "not converted in the store after, or gone"}
            continue
        yield {
            "session": session,
            "rows": rows,
            "events": found.events,
            "outcome": "differs" if found.differences else "as foretold",
            "error": found.error,
            "differences": [asdict(one) for one in found.differences[:_SHOWN]],
            "differences_in_all": len(found.differences),
        }


def _verdict(told: Sequence[Mapping[str, Any]], fail_on: str) -> Verdict:
    seen = [one for one in told if "events" in one]
    bad = any(
        one["outcome"] in ("fails", "differs")
        or (one["outcome"] == AT_RISK and (one["broken_in_all"] or _worst(one, fail_on)))
        for one in seen
    )
    if bad or any(_worst(one, fail_on) for one in seen):
        return Verdict.FINDINGS
    return Verdict.CLEAN if seen else Verdict.INCONCLUSIVE


def _worst(one: Mapping[str, Any], fail_on: str) -> bool:
    return any(at_least(risk["severity"], fail_on) for risk in one.get("risks", ()))


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The document for a terminal, without its verdict; no text of a store is shown but ids."""
    yield f"{document['store']['name']} · {printable(document['store']['target'])} · conversion {document['generation']}"
    for one in document["sessions"]:
        counts = ", ".join(f"{one[key]:,} {key}" for key in ("rows", "events", "cuts", "kills") if one.get(key))
        yield f"session {printable(one['session'])}: {one['outcome']}" + (f" ({counts})" if counts else "")
        for risk in one.get("risks", ()):
            extent = "" if risk["first"] is None else f" rows {risk['first']} to {risk['last']}"
            turn = f" turn {printable(risk['turn'])}" if risk["turn"] else ""
            yield f"  {risk['severity']:6} {risk['case']}{turn}{extent}: {printable(risk['detail'])}"
        for told in one.get("broken", ()):
            yield f"  not so: {PROPERTIES[told['name']]}; {told['point']}: {printable(told['detail'])}"
        for told in one.get("differences", ()):
            yield f"  {printable(told['event']) or 'the session'} {told['what']}"
        more = one.get("broken_in_all", 0) - len(one.get("broken", ()))
        more += one.get("differences_in_all", 0) - len(one.get("differences", ()))
        if more > 0:
            yield f"  and {more:,} more"
    if not document["sessions"]:
        yield "no session is left to convert: nothing was rehearsed"


def write(document: Mapping[str, Any], folder: Path) -> Path:
    """Write the document to a folder as conversion.json, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    part, path = folder / "conversion.json.part", folder / "conversion.json"
    try:
        part.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
        os.replace(part, path)  # noqa: PTH105 - atomic
    finally:
        part.unlink(missing_ok=True)
    return path
