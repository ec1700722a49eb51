"""`busbar-audit lab` in a real browser: JupyterLab opens the desk, runs a notebook, and shows verdict and figure."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support_browser import Tab, browsing, program
from support_reports import hostile_store

from busbar_audit.reporting import notebooks as books

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/lab\S*token=\w+")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program()
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def tab(folder: Path) -> Iterator[Tab]:
    """JupyterLab over a gateway with faults, open in a browser."""
    store = hostile_store(folder / "gateway.db")
    own = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    log = folder / "lab.log"
    command = [
        sys.executable,
        "-m",
        "busbar_audit",
        "lab",
        str(store),
        "--dir",
        str(folder / "notebooks"),
        "--",
        "--no-browser",
    ]
    command += ["--ServerApp.port=0", "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None"]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, *(["--allow-root"] if os.geteuid() == 0 else [])],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                **os.environ,
                **own,
                "IPYTHONDIR": str(folder / "ipython"),
                "MPLCONFIGDIR": str(folder / "matplotlib"),
            },
        )
    try:
        address = None
        ends = time.monotonic() + 60
        while address is None and time.monotonic() < ends and process.poll() is None:
            address = _ADDRESS.search(log.read_text("utf-8", "replace"))
            time.sleep(0.1)
        assert address is not None, log.read_text("utf-8", "replace")
        assert "/lab/tree/desk.ipynb" in address[0], "the desk is what an analyst sees first"
        with browsing(folder / "profile") as browser:
            opened = browser.tab(offline=False)
            opened.open(address[0])
            opened.until("window.jupyterapp && jupyterapp.restored.then(() => true)", 60)
            # The address names the desk, which comes to the front some time after that.
            opened.until("jupyterapp.shell.currentWidget?.context?.path === 'desk.ipynb'", 60)
            yield opened
    finally:
        # The server, and the kernels it has started: the group is of this test alone.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)


def _outputs(tab: Tab) -> list[dict[str, str]]:
    """What each cell shows, from the notebook itself: JupyterLab draws only cells that are in sight."""
    told = tab.run(
        "JSON.stringify([...opened.content.model.cells].map(c => c.type === 'code' ? c.toJSON().outputs : []))"
    )
    return [
        {kind: "".join(value) for output in cell for kind, value in output.get("data", {}).items()}
        | {"error": json.dumps([o for o in cell if o["output_type"] == "error"])[:2000]}
        for cell in json.loads(told)
    ]


def _run_all(tab: Tab, notebook: str) -> list[dict[str, str]]:
    tab.run(
        f"jupyterapp.commands.execute('docmanager:open', {{path: '{notebook}', kernel: {{name: 'python3'}}}})"
        ".then(w => { window.opened = w; return w.context.ready }).then(() => true)"
    )
    tab.until("opened.sessionContext.session?.kernel?.status === 'idle'", 60)
    tab.until("jupyterapp.shell.activateById(opened.id), jupyterapp.shell.currentWidget === opened", 20)
    tab.run("jupyterapp.commands.execute('notebook:run-all-cells').then(() => true)")
    ends = time.monotonic() + 60
    shown = _outputs(tab)
    while not (_through(shown) or _failed(shown)) and time.monotonic() < ends:
        time.sleep(0.2)
        shown = _outputs(tab)
    assert not _failed(shown), _failed(shown)
    assert _through(shown), shown
    return shown


def _through(shown: list[dict[str, str]]) -> bool:
    return any("Every cell of this notebook ran" in each.get("text/html", "") for each in shown)


def _failed(shown: list[dict[str, str]]) -> list[str]:
    return [each["error"] for each in shown if each["error"] != "[]"]


def _seen(tab: Tab, cell: int, what: str) -> list[float]:
    tab.run(f"opened.content.scrollToItem({cell}, 'start').then(() => true)")
    box: list[float] = tab.until(
        f"(() => {{ const e = [...document.querySelectorAll({what!r})].filter(e => e.offsetParent || e.tagName === 'svg')"
        ".map(e => e.getBoundingClientRect()).find(b => b.width > 20 && b.bottom > 0 && b.top < innerHeight);"
        " return e && [e.width, e.height]; })()",
        20,
    )
    return box


def test_a_notebook_runs_and_shows_verdict_and_figure(tab: Tab, folder: Path) -> None:
    shown = _run_all(tab, "01_chain_integrity.ipynb")
    assert "findings" in shown[2]["text/plain"]
    assert _seen(tab, 0, ".jp-OutputArea .ba-verdict")[0] > 300
    figure = next(
        number
        for number, each in enumerate(shown)
        if "<svg" in each.get("text/html", "") and "<figure" in each["text/html"]
    )
    assert _seen(tab, figure, ".jp-OutputArea figure svg")[0] > 300
    assert not [each for each in tab.requests if not re.match(r"(http|ws)://127\.0\.0\.1:|data:|blob:", each)], (
        "nothing leaves"
    )
    kept = (folder / "notebooks" / "01_chain_integrity.ipynb").read_text()
    assert str(folder / "gateway.db") not in kept, "the target travels by environment only"


def test_the_desk_runs_and_goes_to_the_rows(tab: Tab) -> None:
    shown = _run_all(tab, "desk.ipynb")
    assert any("this" in each.get("text/plain", "") and "of it" in each.get("text/plain", "") for each in shown)
    assert _seen(tab, 0, ".jp-OutputArea .ba-verdict")[0] > 300


@pytest.mark.full
@pytest.mark.parametrize("path", books.find(None), ids=lambda path: path.stem)
def test_every_notebook_runs(tab: Tab, path: Path) -> None:
    assert "findings" in _run_all(tab, path.name)[2]["text/plain"]
