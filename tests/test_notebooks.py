"""Notebooks: call, show, explain; the same in a report, by plain papermill and by hand."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from support_reports import AS_OF, Page, clean_store, hostile_store

from busbar_audit import queries
from busbar_audit.errors import ReportError, UsageError
from busbar_audit.reporting import notebooks as books
from busbar_audit.reporting.session import RUN, TARGET, AuditFailed, Session, open_run

NOTEBOOKS = sorted(books.root().glob("[0-9]*.ipynb"))
# In no report: where an analyst begins.
DESK = books.root() / "desk.ipynb"
PARAMETERS = ["target", "policy", "witness", "as_of", "out", "raise_on"]


def _parameters(path: Path) -> list[str]:
    """Those of every notebook, and the earlier store where imports are shown."""
    return PARAMETERS if path.stem != "03_import_completeness" else [*PARAMETERS[:4], "before", *PARAMETERS[4:]]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_store(tmp_path_factory.mktemp("stores") / "clean.db")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_store(tmp_path_factory.mktemp("stores") / "hostile.db")


def _code(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def test_there_are_the_two() -> None:
    assert [path.stem for path in NOTEBOOKS][:2] == ["00_store_overview", "01_chain_integrity"]
    assert books.find(None) == NOTEBOOKS
    assert books.find(["01", "store_overview"]) == [NOTEBOOKS[1], NOTEBOOKS[0]]


@pytest.mark.parametrize("path", [*NOTEBOOKS, DESK], ids=lambda path: path.stem)
class TestCommitted:
    def test_it_is_valid_and_has_no_outputs(self, path: Path) -> None:
        node = nbformat.read(path, as_version=4)
        nbformat.validate(node)
        assert node.metadata.kernelspec.name == "python3"
        assert "papermill" not in node.metadata
        for cell in _code(path):
            assert cell.outputs == []
            assert cell.execution_count is None

    def test_it_has_one_parameters_cell_typed_and_commented(self, path: Path) -> None:
        tagged = [cell for cell in _code(path) if "parameters" in cell.metadata.get("tags", [])]
        assert len(tagged) == 1
        assert tagged[0] == _code(path)[0]
        lines = [line for line in tagged[0].source.splitlines() if line and not line.startswith("from ")]
        assert [re.match(r"(\w+): \S.* = .+  # \S", line).group(1) for line in lines] == _parameters(path)  # type: ignore[union-attr]
        assert books.known_parameters(path) == set(_parameters(path))

    def test_cells_only_call_and_show(self, path: Path) -> None:
        for cell in _code(path):
            tree = ast.parse(cell.source)
            for node in ast.walk(tree):
                assert not isinstance(node, ast.ClassDef | ast.For | ast.While | ast.Try | ast.Lambda)
                if isinstance(node, ast.FunctionDef):
                    assert (node.end_lineno or 0) - node.lineno < 5
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert not re.search(r"\b(select|from|where|with)\b", node.value, re.IGNORECASE)
            assert len(cell.source.splitlines()) <= 8 + ("parameters" in cell.metadata.get("tags", []))

    def test_the_verdict_comes_first_and_the_exit_last(self, path: Path) -> None:
        cells = _code(path)
        assert cells[1].source.endswith("run.verdict()")
        assert cells[-1].source == "run.finish(raise_on)"


def test_every_figure_query_has_a_header_and_is_used() -> None:
    used = "".join(path.read_text() for path in Path(books.__file__).parents[1].rglob("*.py"))
    for path in sorted((queries.root() / "figures").glob("*.sql")):
        query = queries.figure(path.stem)
        assert query.header["figure"] == path.stem
        assert query.header["about"].endswith(".")
        assert f'figure("{path.stem}")' in used, f"{path.name} is behind no figure"


def test_plain_papermill_audits_by_itself(hostile: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "papermill", "--no-progress-bar", str(NOTEBOOKS[1]), str(tmp_path / "o.ipynb"), "-k", "python3",
         "-p", "target", str(hostile), "-p", "out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False, env=_with_kernel(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    executed = nbformat.read(tmp_path / "o.ipynb", as_version=4)
    shown = [cell.outputs[0].data for cell in executed.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) == len(_code(NOTEBOOKS[1])) - 1, "every cell but the parameters shows something"
    first = shown[0]["text/html"]
    assert first.startswith('<div class="ba"><style>'), "outside a report the first block brings the style"
    assert "findings" in Page(first).text
    assert "findings" in shown[0]["text/plain"]
    assert json.loads((tmp_path / "out/run.json").read_text())["exit_code"] == 1


def _with_kernel(place: Path) -> dict[str, str]:
    """An environment whose kernel `python3` is this Python."""
    import os

    spec = place / "jupyter/kernels/python3"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    return {
        **os.environ,
        "JUPYTER_PATH": str(place / "jupyter"),
        "IPYTHONDIR": str(place / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(place / "runtime"),
        "PYTHONPATH": str(Path(books.__file__).parents[2]),
    }


def test_by_hand_the_same_blocks_are_shown(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN, raising=False)
    monkeypatch.setenv(TARGET, str(hostile))
    run = open_run(as_of=AS_OF)
    assert run.store is not None
    try:
        assert run.word == "findings"
        assert "style" in Page(run.verdict()._repr_html_()).names()
        assert "style" not in Page(run.verdict()._repr_html_()).names(), "once is enough"
        for block in (
            run.snapshot(),
            run.account(),
            run.not_checked(),
            run.findings(),
            run.populations(),
            run.not_intact(),
        ):
            assert repr(block)
            assert "\x1b" not in repr(block)
            assert Page(block.html).loads() == []
        assert "gap-inner" in repr(run.not_intact())
        assert run.rows(run.figure("not_intact"), {"limit": 1})[0]["verdict"] == "broken"
    finally:
        run.store.close()


@pytest.fixture(scope="module")
def sessions(clean: Path, hostile: Path) -> Iterator[tuple[Session, Session]]:
    opened = open_run(clean, as_of=AS_OF), open_run(hostile, as_of=AS_OF)
    yield opened
    for run in opened:
        assert run.store is not None
        run.store.close()


@pytest.mark.parametrize(
    ("raise_on", "clean_fails", "hostile_fails"),
    [
        (None, False, False),
        ("findings", False, True),
        ("inconclusive", False, True),
        ("critical", False, True),
        # Not info: lists such as waiting people and unlimited keys are in every healthy store.
        ("low", False, True),
    ],
)
def test_the_last_cell_raises_only_when_asked(
    sessions: tuple[Session, Session], raise_on: str | None, clean_fails: bool, hostile_fails: bool
) -> None:
    for run, fails in zip(sessions, (clean_fails, hostile_fails), strict=True):
        if fails:
            with pytest.raises(AuditFailed, match="findings"):
                run.finish(raise_on)
        else:
            assert "Verdict" in run.finish(raise_on).html


def test_words_that_mean_nothing_are_refused(clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TARGET, raising=False)
    for wrong in ({"policy": "p.toml"}, {"as_of": "yesterday"}, {"as_of": "2026-01-01T00:00:00"}):
        with pytest.raises(UsageError):
            open_run(clean, **wrong)
    with pytest.raises(UsageError, match="No target"):
        open_run()
    run = open_run(clean, as_of="2026-03-01T00:00:00+01:00")
    assert run.store is not None
    with run.store:
        assert run.document["requested"]["as_of"] == "2026-02-28T23:00:00Z"
        with pytest.raises(UsageError, match="raise_on"):
            run.finish("always")


def test_a_prepared_run_that_is_gone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    with pytest.raises(ReportError, match=RUN):
        open_run("anything")


def test_audit_pays_nothing_for_reports() -> None:
    heavy = [
        "papermill",
        "nbconvert",
        "nbformat",
        "matplotlib",
        "pandas",
        "jupyter_client",
        "jsonschema",
        "prometheus_client",
    ]
    code = f"import sys, busbar_audit.auditing; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(books.__file__).parents[2]
    )
    assert done.stdout.strip() == "[]"
    code = code.replace("busbar_audit.auditing", "busbar_audit.reporting.runner, busbar_audit.reporting.session")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(books.__file__).parents[2]
    )
    assert done.stdout.strip() == "[]"


def test_a_notebook_holds_a_store_against_its_witness(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "witnesses"
    for status, anchored in (("new", "intact-unanchored"), ("read", "intact-anchored")):
        with open_run(clean, witness=str(folder), as_of=AS_OF) as run:
            assert run.document["witness"]["status"] == status
            assert {word for total in run.document["chains"]["totals"].values() for word in total} == {
                "chains",
                "records",
                anchored,
            }


def test_a_notebook_of_a_report_takes_no_witness_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    with pytest.raises(UsageError, match="notebook of a report"):
        open_run(witness="w")
