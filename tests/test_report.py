"""A report folder: what is in it, that it appears whole or not at all, and that a failed notebook is never green."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pyarrow.parquet as pq
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support_reports import AS_OF, HOSTILE, clean_store, hostile_store

from busbar_audit import rundir
from busbar_audit.auditing import audit
from busbar_audit.errors import OutputExists, ReportError, UsageError
from busbar_audit.reporting import parquet, publish
from busbar_audit.reporting.outputs import write_outputs
from busbar_audit.reporting.publish import published
from busbar_audit.reporting.runner import report, write_report
from busbar_audit.reporting.schema import validate
from busbar_audit.reporting.summary import code, summary
from busbar_audit.store import open_store

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_store(tmp_path_factory.mktemp("stores") / "hostile.db")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_store(tmp_path_factory.mktemp("stores") / "clean.db")


@pytest.fixture(scope="module")
def folder(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """Outputs of the hostile store without notebooks, its store still open."""
    place = tmp_path_factory.mktemp("outputs")
    with open_store(hostile) as store:
        result = audit(store, as_of=AS_OF)
        write_outputs(result, place)
        yield place, result


def _document(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return loaded


# --- outputs ---


def test_every_file_is_there_and_fits_its_schema(folder: tuple[Path, Any]) -> None:
    place, _ = folder
    names = {path.name for path in place.iterdir()}
    assert names == {
        "chains.parquet", "findings.parquet", "index.html", "junit.xml", "manifest.json", "metrics.prom", "result.json",
        "run.json", "summary.md",
    }  # fmt: skip
    validate("result", _document(place))
    validate("run", json.loads((place / "run.json").read_text()))


def test_findings_parquet_holds_every_finding_once(folder: tuple[Path, Any]) -> None:
    place, result = folder
    rows = pq.read_table(place / "findings.parquet").to_pylist()
    assert tuple(rows[0]) == parquet.FINDINGS
    assert [(r["code"], r["identity"], r["place"], r["first_seq"], r["records"], r["detail"]) for r in rows] == [
        (f.code, f.identity, f.place, f.first_seq, f.records, f.detail) for f in result.findings()
    ]
    assert len(rows) == sum(result.by_severity().values()) > 4
    assert all(isinstance(json.loads(row["evidence"]), dict) for row in rows)
    assert HOSTILE in {row["place"] for row in rows}, "parquet holds what the store holds"


def test_findings_parquet_is_not_capped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    path = clean_store(tmp_path / "many.db", principals=3, calls=90)
    import sqlite3

    with sqlite3.connect(path) as con:
        guards = con.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            con.execute(f'DROP TRIGGER "{name}"')
        con.execute("UPDATE mcp_calls SET hash = upper(hash)")
    con.close()
    with open_store(path) as store:
        result = audit(store)
        malformed = result.check("BUS-C08")
        total = parquet.write_findings(result, tmp_path / "f.parquet")
    written = pq.read_table(tmp_path / "f.parquet")
    assert written.num_rows == total == sum(result.by_severity().values())
    assert written.column("code").to_pylist().count("BUS-C08") == malformed.findings


def test_chains_parquet_holds_every_chain(folder: tuple[Path, Any]) -> None:
    place, result = folder
    rows = pq.read_table(place / "chains.parquet").to_pylist()
    assert len(rows) == len(result.chains) > 5
    assert [(r["scope"], r["last_seq"], r["verdict"], r["about"]) for r in rows] == [
        (c.scope, c.last_seq, c.verdict, c.about) for c in result.chains
    ]
    assert all(int(row["first_ts"]) > 1_600_000_000 for row in rows)


def test_summary_is_bounded_and_holds_no_active_text(folder: tuple[Path, Any]) -> None:
    place, _ = folder
    written = (place / "summary.md").read_text()
    assert len(written) < 16_000
    assert "# busbar-audit: findings" in written
    outside = re.sub(r"`[^`\n]*`", "", written)
    assert not re.search(r"<script|http:|!\[|\u202e|\x1b", outside)
    assert not re.search("[\u202e\x1b]", written)
    assert "\\u202e\\x1b[31m\\x60x\\x60\\n!" in written


def test_summary_stays_bounded_with_many_and_long_findings(folder: tuple[Path, Any]) -> None:
    document = _document(folder[0])
    found = next(check for check in document["checks"] if check["outcome"] == "finding")
    found["samples"] = [{**found["samples"][0], "place": "x" * 100_000, "detail": "`|" * 50_000}] * 20
    document["checks"] = [found] * 300
    assert len(summary(document)) < 64_000


@pytest.mark.parametrize("text", ["`", "``", "a`b", "|", "\n", "", " ", "\\"])
def test_a_code_span_cannot_be_ended_from_inside(text: str) -> None:
    span = code(text)
    assert span == "(empty)" or (span.count("`") == 2 and span[0] == span[-1] == "`")
    assert "\n" not in span
    assert "|" not in span


def test_junit_has_a_case_for_each_check(folder: tuple[Path, Any]) -> None:
    place, result = folder
    suite = ET.parse(place / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert [case.get("classname") for case in cases] == [f"busbar.{r.code}" for r in result.results]
    ended = {case.get("classname"): (case[0].tag if len(case) else "pass") for case in cases}
    tags = {
        "pass": "pass", "finding": "failure", "could_not_run": "error", "not_applicable": "skipped",
        "nothing_to_check": "skipped",
    }  # fmt: skip
    assert ended == {f"busbar.{r.code}": tags[str(r.outcome)] for r in result.results}
    assert all(case[0].get("message") for case in cases if len(case))
    assert suite.get("failures") == str(len(result.codes()))
    assert suite.get("tests") == str(len(cases))


def test_metrics_are_readable_and_have_no_sentinel(folder: tuple[Path, Any]) -> None:
    place, result = folder
    families = {f.name: f.samples for f in text_string_to_metric_families((place / "metrics.prom").read_text())}
    assert all(sample.value >= 0 for samples in families.values() for sample in samples)
    verdicts = {s.labels["verdict"]: s.value for s in families["busbar_audit_verdict"]}
    assert verdicts == {"clean": 0, "findings": 1, "inconclusive": 0}
    found = {s.labels["severity"]: s.value for s in families["busbar_audit_findings"]}
    assert found == result.by_severity()
    rows = {s.labels["state"]: s.value for s in families["busbar_audit_rows"]}
    assert rows["examined"] + rows["not_examined"] == sum(line.rows for line in result.account)
    chains = sum(s.value for s in families["busbar_audit_chains"])
    assert chains == len(result.chains)
    assert families["busbar_audit_last_run_timestamp_seconds"][0].value == int(result.started.timestamp())


def test_the_manifest_names_every_file_and_its_digest(folder: tuple[Path, Any]) -> None:
    place, result = folder
    manifest = json.loads((place / "manifest.json").read_text())
    there = {path.name for path in place.iterdir()} - {"manifest.json"}
    assert set(manifest["files"]) == there
    for name, said in manifest["files"].items():
        content = (place / name).read_bytes()
        assert said == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert manifest["inputs"][0]["sha256"] == result.store.snapshot.sha256
    assert {"python", "duckdb", "sqlite", "papermill"} <= set(manifest["versions"])


def test_a_result_that_does_not_fit_its_schema_is_not_published(
    clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(clean) as store:
        result = audit(store, as_of=AS_OF)
        document = {**result.as_dict(), "password": "x"}
        monkeypatch.setattr(type(result), "as_dict", lambda self: document)
        with pytest.raises(ReportError, match="does not fit"):
            write_report([result], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_several_stores_have_a_folder_each(clean: Path, hostile: Path, tmp_path: Path) -> None:
    outcome = report([clean, hostile], tmp_path / "out", notebooks=[], as_of=AS_OF)
    assert outcome.exit_code == 1
    out = tmp_path / "out"
    assert sorted(p.name for p in (out / "stores").iterdir()) == ["1-busbar", "2-busbar"]
    run = json.loads((out / "run.json").read_text())
    assert [store["verdict"] for store in run["stores"]] == ["clean", "findings"]
    assert run["stores"][1] == json.loads((out / "stores/2-busbar/result.json").read_text())
    page = (out / "index.html").read_text()
    for address in re.findall(r'<a href="([^"#]+)"', page):
        assert (out / address).is_file(), address
    assert {"stores/1-busbar/result.json", "run.json", "index.html"} <= set(
        json.loads((out / "manifest.json").read_text())["files"]
    )


# --- publishing ---


def _write(place: Path, word: str, *more: str) -> None:
    with published(place) as directory:
        (directory / "result.json").write_text(word)
        for name in more:
            (directory / name).write_text(word)
        publish.manifest.write_manifest(directory, [])


def _left(parent: Path) -> list[str]:
    return sorted(path.name for path in parent.iterdir())


def test_a_report_appears_and_is_replaced_whole(tmp_path: Path) -> None:
    _write(tmp_path / "out", "one", "only-in-the-first.md")
    _write(tmp_path / "out", "two")
    assert (tmp_path / "out/result.json").read_text() == "two"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["manifest.json", "result.json"]
    assert _left(tmp_path) == ["out"]


def test_replacing_works_where_names_cannot_be_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "_exchange", lambda one, other: False)
    test_a_report_appears_and_is_replaced_whole(tmp_path)


def test_folders_above_are_made_and_a_link_keeps_being_one(tmp_path: Path) -> None:
    _write(tmp_path / "a/b/out", "one")
    (tmp_path / "latest").symlink_to(tmp_path / "a/b/out")
    _write(tmp_path / "latest", "two")
    assert (tmp_path / "latest").is_symlink()
    assert (tmp_path / "a/b/out/result.json").read_text() == "two"


def test_the_report_is_as_readable_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        _write(tmp_path / "out", "one")
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750


def test_an_empty_directory_may_be_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    _write(tmp_path / "out", "one")
    assert (tmp_path / "out/result.json").read_text() == "one"


def _is_file(place: Path) -> None:
    place.write_text("mine")


def _is_foreign(place: Path) -> None:
    place.mkdir()
    (place / "thesis.txt").write_text("mine")


def _is_foreign_with_manifest(place: Path) -> None:
    place.mkdir()
    (place / "manifest.json").write_text('{"schema": "other/1", "files": {}}')


def _is_report_with_more(place: Path) -> None:
    _write(place, "one")
    (place / "notes.txt").write_text("mine")


def _is_broken_link(place: Path) -> None:
    _is_foreign(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


@pytest.mark.parametrize(
    "make", [_is_file, _is_foreign, _is_foreign_with_manifest, _is_report_with_more, _is_broken_link]
)
def test_what_is_not_ours_is_not_touched(tmp_path: Path, make: Any, clean: Path) -> None:
    place = tmp_path / "out"
    make(place)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(OutputExists) as refused:
        report(clean, place, notebooks=[])
    assert refused.value.exit_code == 2
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert _left(tmp_path) in (["out"], ["elsewhere", "out"])


def test_a_failure_while_writing_leaves_the_earlier_report(tmp_path: Path) -> None:
    _write(tmp_path / "out", "one")

    def write_half() -> None:
        with published(tmp_path / "out") as directory:
            (directory / "result.json").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert (tmp_path / "out/result.json").read_text() == "one"
    assert _left(tmp_path) == ["out"]


def test_a_full_disk_leaves_the_earlier_report(tmp_path: Path, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "out", "one")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("busbar_audit.reporting.outputs.write_json", full)
    with pytest.raises(ReportError, match="No space left"):
        report(hostile, tmp_path / "out", notebooks=[])
    assert (tmp_path / "out/result.json").read_text() == "one"
    assert _left(tmp_path) == ["out"]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a small disk needs root")
def test_a_disk_that_is_really_full(tmp_path: Path, hostile: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs here: {mounted.stderr.decode().strip()}")
    try:
        _write(disk / "out", "one")
        with pytest.raises(ReportError):
            report(hostile, disk / "out", notebooks=[])
        assert (disk / "out/result.json").read_text() == "one"
        assert _left(disk) == ["out"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_failed_rename_puts_the_earlier_report_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    _write(tmp_path / "out", "one")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name == "report":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    def fail(one: Path, other: Path) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "rename", refuse)
    monkeypatch.setattr(publish, "_exchange", fail if exchange else lambda one, other: False)
    with pytest.raises(ReportError):
        _write(tmp_path / "out", "two")
    assert (tmp_path / "out/result.json").read_text() == "one"
    assert _left(tmp_path) == ["out"]


def test_a_report_put_aside_by_a_killed_run_comes_back(tmp_path: Path) -> None:
    _write(tmp_path / "out", "one")
    (tmp_path / "out").rename(tmp_path / ".out.previous-0123456789abcdef")
    with pytest.raises(ZeroDivisionError), published(tmp_path / "out"):
        raise ZeroDivisionError
    assert (tmp_path / "out/result.json").read_text() == "one"
    assert _left(tmp_path) == ["out"]


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    killed = textwrap.dedent("""
        import os, signal, sys
        from busbar_audit.reporting.publish import published
        with published(sys.argv[1]) as directory:
            (directory / "result.json").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    _write(tmp_path / "out", "one")
    done = subprocess.run(
        [sys.executable, "-c", killed, str(tmp_path / "out")], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "out/result.json").read_text() == "one"
    lock, private, out = _left(tmp_path)
    assert (lock, private[:13], out) == (".out.lock", "busbar-audit-", "out")
    _write(tmp_path / "out", "two")
    assert _left(tmp_path) == ["out"]


def test_a_run_that_is_alive_is_left_alone(tmp_path: Path) -> None:
    with published(tmp_path / "one") as first:
        _write(tmp_path / "two", "two")
        assert first.is_dir()
        publish.manifest.write_manifest(first, [])
    assert _left(tmp_path) == ["one", "two"]


@pytest.mark.plain_user
def test_a_read_only_place_is_an_error_of_the_report(tmp_path: Path) -> None:
    from support_users import open_to_all, run_as_plain_user

    code = """
        import busbar_audit.reporting.publish as publish
        from busbar_audit.errors import ReportError
        try:
            with publish.published(sys.argv[1]):
                pass
        except ReportError as error:
            print(type(error).__name__, error.exit_code, "Permission denied" in str(error))
    """
    tmp_path.chmod(0o755)
    open_to_all(tmp_path / "out")
    head = "import busbar_audit.reporting.publish"
    printed = run_as_plain_user(f"{head}\n{textwrap.dedent(code)}", tmp_path / "out")
    assert printed.split() == ["ReportError", "3", "True"]
    assert _left(tmp_path) == []


# --- notebooks ---


def _notebook(path: Path, *cells: str, parameters: str = "") -> Path:
    made = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
    )
    if parameters:
        made.cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    made.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    nbformat.write(made, path)
    return path


FAILING = {
    "leaves": ["import sys; sys.exit(0)", "print('after')"],
    "fails": ["1 / 0", "print('after')"],
    "dies": ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "print('after')"],
    "hangs": ["import time; time.sleep(120)", "print('after')"],
    "leaves_at_the_end": ["print('before')", "import sys; sys.exit(0)"],
    "empty": [],
}
PROBE = """
import os, sys
from ipykernel.kernelapp import IPKernelApp
from busbar_audit.reporting.session import open_run
app = IPKernelApp.instance()
run = open_run(target)
assert app.transport == "ipc", app.transport
assert sys.executable == os.environ["THE_PYTHON"], sys.executable
private = os.environ["BUSBAR_AUDIT_RUN"]
for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
    assert os.environ[name].startswith(private), name
assert app.connection_file.startswith(private) and os.getcwd().startswith(private)
try:
    run.con.execute("CREATE TABLE main.x (y INTEGER)")
except Exception as error:
    assert "read-only" in str(error), error
else:
    raise AssertionError("the run can be written to")
print(private, app.connection_file, run.document["verdict"], extra)
"""


@pytest.fixture(scope="module")
def ran(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """One report over notebooks that fail in every way, and one that looks around."""
    books = tmp_path_factory.mktemp("books {0} $x")  # braces: papermill formats paths
    paths = [_notebook(books / f"{name}.ipynb", *cells) for name, cells in FAILING.items()]
    paths.insert(0, _notebook(books / "probe.ipynb", PROBE, parameters='target = None\nextra = "default"'))
    os.environ["THE_PYTHON"] = sys.executable
    out = tmp_path_factory.mktemp("ran") / "out"
    outcome = report(clean, out, notebooks=paths, as_of=AS_OF, cell_timeout=6)
    return out, outcome


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("leaves", "code cell 1 of 2 ended with SystemExit: 0"),
        ("fails", "ZeroDivisionError"),
        ("dies", "the kernel died"),
        ("hangs", "longer than 6 s"),
        ("leaves_at_the_end", "code cell 2 of 2 ended with SystemExit: 0"),
        ("empty", "no code cell"),
    ],
)
def test_a_notebook_that_did_not_complete_is_never_green(ran: tuple[Path, Any], name: str, reason: str) -> None:
    out, outcome = ran
    ended = {notebook.name: notebook for notebook in outcome.notebooks[0]}[name]
    assert not ended.completed
    assert reason in ended.reason
    assert name in (out / "index.html").read_text()
    assert "incomplete" in (out / f"{name}.html").read_text()


def test_incomplete_notebooks_make_a_clean_run_inconclusive(ran: tuple[Path, Any]) -> None:
    out, outcome = ran
    assert (outcome.verdict, outcome.exit_code) == ("inconclusive", 3)
    run = json.loads((out / "run.json").read_text())
    assert (run["verdict"], run["exit_code"], run["stores"][0]["verdict"]) == ("inconclusive", 3, "clean")
    assert sum(not notebook["completed"] for notebook in run["notebooks"]) == len(FAILING)
    assert "notebook dies did not complete" in (out / "summary.md").read_text()
    assert 'verdict="inconclusive"} 1.0' in (out / "metrics.prom").read_text()
    suite = ET.parse(out / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("errors") == str(len(FAILING))


def test_kernels_are_private_and_read_only(ran: tuple[Path, Any]) -> None:
    """The probe asserts: transport ipc, this Python, private directories, a run that cannot be written to."""
    probe = ran[1].notebooks[0][0]
    assert (probe.completed, probe.reason) == (True, "")


def test_published_notebooks_do_not_tell_of_the_run_directory(ran: tuple[Path, Any], clean: Path) -> None:
    out, _ = ran
    for path in out.iterdir():
        written = path.read_bytes()
        assert b"busbar-audit-" not in re.sub(rb"busbar-audit/(result|run|manifest)/", b"", written), path.name
        assert sys.prefix.encode() not in written, path.name
    probe = nbformat.read(out / "probe.ipynb", as_version=4)
    assert not {"input_path", "output_path"} & set(probe.metadata["papermill"])
    assert "(run)" in probe.cells[-1].outputs[0].text
    injected = next(cell for cell in probe.cells if "injected-parameters" in cell.metadata.get("tags", []))
    assert str(clean) in injected.source, "run by hand it finds the same store"


def test_parameters_are_checked_before_anything_runs(clean: Path, tmp_path: Path) -> None:
    book = _notebook(tmp_path / "book.ipynb", "pass", parameters="extra = 1")
    with pytest.raises(UsageError, match="no parameter extr"):
        report(clean, tmp_path / "out", notebooks=[book], parameters={"extr": 2})
    with pytest.raises(UsageError, match="No notebook"):
        report(clean, tmp_path / "out", notebooks=["99"])
    assert not (tmp_path / "out").exists()


def test_a_deep_private_directory_still_gets_sockets(
    clean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.setenv(rundir.VARIABLE, str(deep))
    book = _notebook(tmp_path / "book.ipynb", "assert extra == '1e5', extra", parameters="extra = ''")
    outcome = report(clean, tmp_path / "out", notebooks=[book], parameters={"extra": "1e5"})
    assert outcome.notebooks[0][0].reason == ""
    assert outcome.exit_code == 0
    assert list(deep.iterdir()) == []


def test_exchange_is_what_this_system_has(tmp_path: Path) -> None:
    if not hasattr(ctypes.CDLL(None), "renameat2"):
        pytest.skip("no renameat2 here")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/x").touch()
    if publish._exchange(tmp_path / "a", tmp_path / "b"):
        assert (tmp_path / "b/x").exists()
        assert (tmp_path / "a").is_dir()
