"""The published JSON Schemas: what audits give fits them, what has been tampered with does not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_reports import AS_OF, clean_store, damaged_store, hostile_store, newer_store

from busbar_audit.auditing import audit
from busbar_audit.errors import ReportError
from busbar_audit.reporting.schema import NAMES, validate, validator
from busbar_audit.result import json_schema, run_dict
from busbar_audit.store import open_store
from busbar_audit.synth.busbar import write_busbar

Document = dict[str, Any]


def _audited(path: Path, **options: Any) -> tuple[Document, Document]:
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF, **options)
        return result.as_dict(), run_dict([result])


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, Document]:
    return _audited(hostile_store(tmp_path_factory.mktemp("schema") / "store.db"))


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas_of_2020_12(name: str) -> None:
    assert json_schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    validator(name).check_schema(json_schema(name))


@pytest.mark.parametrize("name", NAMES)
def test_no_object_is_open_by_accident(name: str) -> None:
    open_ones = []

    def walk(node: Any, place: str) -> None:
        if isinstance(node, dict):
            if node.get("type") == "object" and "properties" in node and node.get("additionalProperties") is not False:
                open_ones.append(place)
            for key, inner in node.items():
                walk(inner, f"{place}/{key}")
        elif isinstance(node, list):
            for position, inner in enumerate(node):
                walk(inner, f"{place}/{position}")

    walk(json_schema(name), "")
    assert open_ones == []


@pytest.mark.parametrize("generation", [5, 7, 9, 12])
def test_clean_stores_fit(tmp_path: Path, generation: int) -> None:
    result, run = _audited(clean_store(tmp_path / "s.db", generation))
    validate("result", result)
    validate("run", run)
    assert result["verdict"] == "clean"


def test_a_store_with_findings_fits(documents: tuple[Document, Document]) -> None:
    validate("result", documents[0])
    validate("run", documents[1])
    assert documents[0]["verdict"] == "findings"


def test_what_could_not_be_checked_fits(tmp_path: Path) -> None:
    write_busbar(tmp_path / "empty.db", generation=9, calls=0, principals=1, tasks=0, audits=0)
    for path in (tmp_path / "empty.db", damaged_store(tmp_path / "damaged.db"), newer_store(tmp_path / "newer.db")):
        result, run = _audited(path)
        validate("result", result)
        validate("run", run)
        assert result["verdict"] != "clean"


def test_a_selection_fits(tmp_path: Path) -> None:
    result, _ = _audited(clean_store(tmp_path / "s.db"), only=["chains"], skip=["BUS-C01"])
    validate("result", result)


def test_no_store_at_all_is_inconclusive() -> None:
    validate("run", run_dict([]))


def _finding(document: Document) -> Document:
    return next(check for check in document["checks"] if check["outcome"] == "finding")


def _passed(document: Document) -> Document:
    return next(check for check in document["checks"] if check["outcome"] == "pass")


def _skipped(document: Document) -> Document:
    return next(check for check in document["checks"] if check["outcome"] == "not_applicable")


MUTATIONS: dict[str, Callable[[Document], object]] = {
    "exit code of another verdict": lambda d: d.update(exit_code=0),
    "verdict of another exit code": lambda d: d.update(verdict="clean"),
    "clean although a check could not run": lambda d: (
        d.update(verdict="clean", exit_code=0),
        _skipped(d).update(outcome="could_not_run"),
    ),
    "findings without a finding": lambda d: d.update(checks=[_passed(d)]),
    "unknown verdict": lambda d: d.update(verdict="ok"),
    "unknown member at the top": lambda d: d.update(password="x"),
    "unknown member inside": lambda d: d["snapshot"]["source"].update(path="/x"),
    "member missing": lambda d: d.pop("account"),
    "other schema": lambda d: d.update(schema="busbar-audit/result/2"),
    "unknown outcome": lambda d: _passed(d).update(outcome="skipped"),
    "unknown severity": lambda d: _passed(d).update(severity="fatal"),
    "pass with findings": lambda d: _passed(d).update(findings=1),
    "pass with a reason": lambda d: _passed(d).update(reason="perhaps"),
    "finding with none": lambda d: _finding(d).update(findings=0),
    "finding without a sample": lambda d: _finding(d).update(samples=[]),
    "finding without severities": lambda d: _finding(d).update(by_severity={}),
    "not applicable without a reason": lambda d: _skipped(d).update(reason=""),
    "more samples than are shown": lambda d: _finding(d).update(samples=_finding(d)["samples"][:1] * 21),
    "unknown fault of a chain": lambda d: d["chains"]["not_intact"][0].update(about=["tampered"]),
    "unknown verdict of a chain": lambda d: d["chains"]["not_intact"][0].update(verdict="intact"),
    "a chain that is not intact for nothing": lambda d: d["chains"]["not_intact"][0].update(about=[]),
    "negative count": lambda d: d["account"][0].update(rows=-1),
    "a digest that is none": lambda d: d["snapshot"].update(sha256="abc"),
    "a time without its zone": lambda d: d["requested"].update(as_of="2026-01-01T00:00:00"),
    "no reason": lambda d: d.update(reasons=[]),
    "a number rounded to a float": lambda d: _finding(d).update(examined=1.5),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutated_results_are_refused(documents: tuple[Document, Document], name: str) -> None:
    mutated = copy.deepcopy(documents[0])
    MUTATIONS[name](mutated)
    with pytest.raises(ReportError, match=r"result\.json does not fit"):
        validate("result", mutated)


RUN_MUTATIONS: dict[str, Callable[[Document], object]] = {
    "exit code of another verdict": lambda d: d.update(exit_code=3),
    "clean over a store with findings": lambda d: d.update(verdict="clean", exit_code=0),
    "a store that fits no result": lambda d: d["stores"][0].pop("checks"),
    "findings over no store": lambda d: d.update(stores=[]),
    "clean over no store": lambda d: d.update(stores=[], verdict="clean", exit_code=0),
    "unknown member": lambda d: d.update(host="x"),
    "a notebook that failed for no reason": lambda d: d.update(
        notebooks=[{"store": 0, "name": "n", "completed": False, "reason": "", "seconds": 1}]
    ),
    "a notebook that completed for a reason": lambda d: d.update(
        notebooks=[{"store": 0, "name": "n", "completed": True, "reason": "died", "seconds": 1}]
    ),
}


@pytest.mark.parametrize("name", RUN_MUTATIONS)
def test_mutated_runs_are_refused(documents: tuple[Document, Document], name: str) -> None:
    mutated = copy.deepcopy(documents[1])
    RUN_MUTATIONS[name](mutated)
    with pytest.raises(ReportError, match=r"run\.json does not fit"):
        validate("run", mutated)


def test_a_clean_run_has_no_incomplete_notebook(tmp_path: Path) -> None:
    _, run = _audited(clean_store(tmp_path / "s.db"))
    run["notebooks"] = [{"store": 0, "name": "n", "completed": False, "reason": "the kernel died", "seconds": 1}]
    with pytest.raises(ReportError):
        validate("run", run)


def test_big_numbers_are_text_and_small_ones_are_not(documents: tuple[Document, Document]) -> None:
    mutated = copy.deepcopy(documents[0])
    _finding(mutated)["samples"][0]["first_seq"] = str(2**63 - 1)
    validate("result", mutated)
    _finding(mutated)["samples"][0]["first_seq"] = "12"
    with pytest.raises(ReportError):
        validate("result", mutated)
