"""The recipes of docs/recipes do what they say: run by a shell, read by the programs they are for, or judged by rules."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from support_reports import AS_OF, clean_store, hostile_store

from busbar_audit import cli
from busbar_audit.auditing import audit
from busbar_audit.reporting import notebooks as books
from busbar_audit.reporting.metrics import write_metrics
from busbar_audit.store import open_store

RECIPES = Path(__file__).parent.parent / "docs" / "recipes"


def _text(name: str) -> str:
    return (RECIPES / name).read_text("utf-8")


def _program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def _shell(
    script: str, programs: Path, cwd: Path, seconds: int = 60, **variables: str
) -> subprocess.CompletedProcess[str]:
    shell = ["bash", "-e", "-o", "pipefail", "-c"] if "GITHUB_OUTPUT" in variables else ["sh", "-c"]
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(cwd), **variables}
    return subprocess.run([*shell, script], cwd=cwd, env=environment, capture_output=True, text=True, timeout=seconds)


def test_every_recipe_is_told_of_and_every_command_in_them_is_ours() -> None:
    told = (RECIPES.parent / "recipes.md").read_text("utf-8")
    ours: dict[str, Any] = typer.main.get_group(cli.app).commands
    commands = 0
    for path in sorted(RECIPES.iterdir()):
        assert f"recipes/{path.name}" in told, path.name
        for line in re.findall(r"busbar-audit ((?:report|audit|verify)\b[^\n\"')|]*)", path.read_text("utf-8")):
            name = line.split()[0]
            options = {o for p in ours[name].params for o in p.opts}
            assert set(re.findall(r"(?<=\s)--[a-z-]+", line)) <= options, line
            commands += 1
    assert commands >= 3


# --- cron ---


@pytest.fixture
def lines() -> list[str]:
    """The commands of the crontab, with what cron itself would make of them."""
    rows = [row for row in _text("crontab").splitlines() if re.match(r"[\d*]", row)]
    commands = [row.split(None, 6)[6] for row in rows]
    assert all(row.split()[5] == "audit" for row in rows)
    assert all("%" not in command for command in commands), "cron takes it for the end of the line"
    return commands


def test_cron_is_silent_only_when_clean(lines: list[str], tmp_path: Path) -> None:
    for code, said in ((0, ""), (1, "exit code 1: told"), (3, "exit code 3: told"), (137, "exit code 137: told")):
        _program(tmp_path / "bin", "busbar-audit", f"echo told; exit {code}")
        done = _shell(lines[0], tmp_path / "bin", tmp_path)
        assert (done.stdout.strip(), done.stderr) == (said, ""), code
    (tmp_path / "bin" / "busbar-audit").unlink()
    assert "exit code 127" in _shell(lines[0], tmp_path / "bin", tmp_path, PATH="/usr/bin:/bin").stdout


def test_cron_says_what_was_found_in_a_real_store(lines: list[str], tmp_path: Path) -> None:
    """With an audit in place of the report, which would start kernels."""
    _program(
        tmp_path / "bin", "busbar-audit", f'shift; exec {sys.executable} -m busbar_audit audit "$@" --only BUS-C03'
    )
    store, out = hostile_store(tmp_path / "gateway.db"), tmp_path / "out"
    line = lines[0].replace("/var/lib/busbar/busbar-governance.db", str(store))
    done = _shell(line.replace("/var/lib/audit/gateway", str(out)), tmp_path / "bin", tmp_path, **_own_tree())
    assert done.stdout.startswith("exit code 1: ")
    assert done.stdout.rstrip().endswith("findings")
    watch = lines[1].replace("/var/lib/audit/gateway", str(out))
    assert _shell(watch, tmp_path, tmp_path).stdout == ""
    os.utime(out / "run.json", (time.time() - 31 * 3600,) * 2)
    assert "no report" in _shell(watch, tmp_path, tmp_path).stdout
    shutil.rmtree(out)
    assert "no report" in _shell(watch, tmp_path, tmp_path).stdout


def _own_tree() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


# --- systemd ---


def test_units_are_what_systemd_takes(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on PATH")
    for unit in RECIPES.glob("busbar-audit*"):
        (tmp_path / unit.name).write_text(
            unit.read_text("utf-8").replace("/opt/busbar-audit/bin/busbar-audit", "/bin/true")
        )
    # A word that systemd does not know, to see that it would say so.
    (tmp_path / "bad@.service").write_text("[Service]\nType=oneshot\nExecStart=/bin/true\nNoSuchWord=1\n")
    said = {}
    for name in ("busbar-audit@x.service", "busbar-audit@x.timer", "busbar-audit-failed@x.service", "bad@x.service"):
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(tmp_path / name)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:/usr/lib/systemd/system"},
        )
        said[name] = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "audit" in line]
    if not said.pop("bad@x.service"):
        pytest.skip("systemd-analyze does not work here")
    assert all(lines == [] for lines in said.values()), said


def test_a_unit_that_is_not_clean_fails_and_tells() -> None:
    service = _text("busbar-audit@.service")
    assert "OnFailure=busbar-audit-failed@%i.service" in service
    assert (RECIPES / "busbar-audit-failed@.service").is_file()
    # Exit codes 1 and 3 are failures unless a unit says otherwise, and nothing of the store is in the unit.
    assert not re.search(r"^(SuccessExitStatus|ExecStart=-)", service, re.MULTILINE)
    assert re.search(r"^ExecStart=\S+ report env:STORE ", service, re.MULTILINE)


# --- GitHub Actions ---

GH = """
case "$1 $2" in
  "issue list") cat "$HOME/open" 2>/dev/null; exit 0;;
  "issue create") echo 7 > "$HOME/open";;
  "issue close") rm "$HOME/open";;
esac
echo "$1 $2 $3" >> "$HOME/asked"
"""


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Any]:
    """Runs the workflow's steps as a runner would, with what busbar-audit ends with; returns what GitHub was asked for."""
    flow = yaml.safe_load(_text("github-audit.yml"))
    assert flow[True]["schedule"][0]["cron"]
    assert flow["permissions"] == {"contents": "read", "issues": "write"}
    look, keep, tell = flow["jobs"]["audit"]["steps"]
    assert "cancelled" in keep["if"]
    assert "cancelled" in tell["if"]
    # What comes from outside travels by environment, never into the script.
    assert all("${{" not in step["run"] for step in (look, tell))
    bin_ = tmp_path / "bin"
    _program(bin_, "gh", GH)
    assert keep["with"]["path"] == "report"

    def run(code: int, writes: bool = True, cut: bool = False) -> tuple[int, list[str]]:
        write = 'mkdir -p report; echo "this run" > report/summary.md; ' if writes else ""
        _program(bin_, "busbar-audit", f"{write}exit {code}")
        for name in ("told", "summary", "asked"):
            (tmp_path / name).write_text("")
        own = {"GITHUB_OUTPUT": str(tmp_path / "told"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        ended = 0 if cut else _shell(look["run"], bin_, tmp_path, STORE="gateway.db", **own).returncode
        left = (tmp_path / "told").read_text().strip().removeprefix("code=")
        done = _shell(tell["run"], bin_, tmp_path, TITLE="t", CODE=left, RUN="https://run", **own)
        assert done.returncode == 0, done.stderr
        return ended, (tmp_path / "asked").read_text().splitlines()

    return run


def test_one_issue_for_a_store_however_many_runs(job: Any, tmp_path: Path) -> None:
    assert job(0) == (0, [])
    assert job(1) == (1, ["label create audit", "issue create --title"])
    assert "this run" in (tmp_path / "issue.md").read_text()
    assert job(1) == (1, ["label create audit", "issue comment 7"])
    # Nothing published: the report of an earlier run is not shown as this one's.
    assert job(3, writes=False) == (3, ["label create audit", "issue comment 7"])
    assert "Exit code 3" in (tmp_path / "issue.md").read_text()
    assert "this run" not in (tmp_path / "issue.md").read_text()
    assert "No report was written" in (tmp_path / "summary").read_text()
    assert job(0) == (0, ["issue close 7"])


def test_a_step_that_was_cut_off_is_not_clean(job: Any) -> None:
    assert job(0, cut=True) == (0, ["label create audit", "issue create --title"])


# --- Airflow ---


def test_the_dag_gives_each_notebook_parameters_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[dict[str, Any]] = []

    class Dag:
        def __init__(self, **given: Any) -> None:
            assert {"dag_id", "schedule", "start_date"} <= set(given)

        def __enter__(self) -> Dag:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    for name, member in (
        ("airflow", ("DAG", Dag)),
        ("airflow.providers", None),
        ("airflow.providers.papermill", None),
        ("airflow.providers.papermill.operators", None),
        ("airflow.providers.papermill.operators.papermill", ("PapermillOperator", lambda **given: tasks.append(given))),
    ):
        module = types.ModuleType(name)
        if member:
            setattr(module, *member)
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(RECIPES / "airflow_dag.py"))
    assert len({task["task_id"] for task in tasks}) == len({task["output_nb"] for task in tasks}) == len(tasks) >= 2
    for task in tasks:
        # The operator's own: input_nb, output_nb, parameters. The rest is every operator's.
        assert set(task) == {"task_id", "input_nb", "output_nb", "parameters"}
        [notebook] = books.find([Path(task["input_nb"]).stem])
        assert set(task["parameters"]) <= books.known_parameters(notebook)
        assert task["parameters"]["raise_on"] == "inconclusive"
        assert task["output_nb"].endswith("-{{ ds }}.ipynb")


# --- Prometheus ---

_SELECTOR = r'(?P<name>[a-z_]+)(?:\{(?P<label>[a-z]+)="(?P<value>[a-z]+)"\})?'


def _fires(expression: str, metrics: dict[tuple[str, frozenset[tuple[str, str]]], float], now: float) -> bool:
    """What the expression says of these samples; anything that is not read here fails."""
    if absent := re.fullmatch(rf"absent\({_SELECTOR}\)", expression):
        return not any(name == absent["name"] for name, _ in metrics)
    asked = re.fullmatch(rf"(?P<age>time\(\) - )?{_SELECTOR} (?P<than>==|>) (?P<number>\d+)", expression)
    assert asked, expression
    values = [
        now - value if asked["age"] else value
        for (name, labels), value in metrics.items()
        if name == asked["name"] and (asked["label"] is None or (asked["label"], asked["value"]) in labels)
    ]
    assert values or not metrics, f"no such metric: {expression}"
    bound = float(asked["number"])
    return any(value == bound if asked["than"] == "==" else value > bound for value in values)


def _measured(target: Path, folder: Path) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    from prometheus_client.parser import text_string_to_metric_families

    with open_store(target) as store:
        write_metrics(audit(store, as_of=AS_OF, only=["chains"]).as_dict(), folder / "metrics.prom")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families((folder / "metrics.prom").read_text("utf-8"))
        for sample in family.samples
    }


def test_alerts_fire_for_what_they_are_for_and_for_nothing_else(tmp_path: Path) -> None:
    rules = {
        rule["alert"]: rule["expr"]
        for group in yaml.safe_load(_text("prometheus-rules.yml"))["groups"]
        for rule in group["rules"]
    }

    def firing(metrics: Any, now: float) -> set[str]:
        return {alert for alert, expression in rules.items() if _fires(expression, metrics, now)}

    now = time.time()
    clean = _measured(clean_store(tmp_path / "clean.db"), tmp_path)
    assert firing(clean, now) == set()
    assert firing(clean, now + 31 * 3600) == {"AuditIsOld"}
    found = _measured(hostile_store(tmp_path / "hostile.db"), tmp_path)
    assert firing(found, now) == {"AuditFoundSomething", "AuditFoundSomethingCritical"}
    empty = clean_store(tmp_path / "empty.db", calls=0, tasks=0, audits=0)
    assert firing(_measured(empty, tmp_path), now) == {"AuditCouldNotTell"}
    assert firing({}, now) == {"AuditIsMissing"}


def test_promtool_takes_the_rules() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("no promtool on PATH; the rules are evaluated by the test beside this one")
    done = subprocess.run(["promtool", "check", "rules", str(RECIPES / "prometheus-rules.yml")], timeout=60)
    assert done.returncode == 0


# --- a host without a network ---


@pytest.mark.full
def test_a_wheelhouse_installs_without_a_network(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    _program(programs, "python3", f'exec {sys.executable} "$@"')
    made = _shell(
        f"cd {RECIPES.parent.parent} && sh {RECIPES}/wheelhouse.sh {tmp_path}/wheelhouse", programs, tmp_path, 900
    )
    if "No matching distribution" in made.stderr or "Failed to establish" in made.stderr:
        pytest.skip("no package index can be reached")
    assert made.returncode == 0, made.stderr
    check, make, install = [line.strip() for line in made.stdout.splitlines()[1:]]
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_CONFIG_FILE": "/dev/null"}
    for line in (check, make, install):
        done = _shell(line.replace("/opt/busbar-audit", str(tmp_path / "own")), programs, tmp_path, 300, **nowhere)
        assert done.returncode == 0, done.stderr
    done = _shell(f"{tmp_path}/own/bin/busbar-audit checks BUS-C02", programs, tmp_path)
    assert "BUS-C02" in done.stdout
