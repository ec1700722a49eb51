"""A real browser, driven over its own protocol by a pipe: no port, no driver program, no library.

`BUSBAR_AUDIT_BROWSER` names the program; ``auto`` takes the Chromium on PATH, ``required`` fails without
one. Without
the variable these tests are skipped, and say so: they cost half a minute. CI sets it.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new --disable-gpu --no-first-run --no-default-browser-check --disable-extensions --disable-sync "
    "--disable-background-networking --disable-component-update --disable-default-apps --disable-dev-shm-usage "
    "--metrics-recording-only --no-pings --password-store=basic --hide-scrollbars --remote-debugging-pipe"
)
AXE = Path(__file__).resolve().parent.parent / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"


def required() -> bool:
    return os.environ.get("BUSBAR_AUDIT_BROWSER") == "required"


def program() -> str:
    """The browser; without one the test is skipped, and the skip says how to have it."""
    named = os.environ.get("BUSBAR_AUDIT_BROWSER", "")
    if not named:
        pytest.skip("a browser is used where BUSBAR_AUDIT_BROWSER=auto, or =/path/to/it, says so")
    found = named if named not in ("auto", "required") else next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        why = "no Chromium on PATH: apt-get install chromium, or BUSBAR_AUDIT_BROWSER=/path/to/it"
        pytest.fail(why) if required() else pytest.skip(why)
    return str(found)


def axe() -> str:
    """Source of axe-core, or a skip that says how to have it."""
    place = Path(os.environ.get("BUSBAR_AUDIT_AXE") or AXE)
    if not place.is_file():
        why = f"no axe-core in {place}: make browser-tools, or BUSBAR_AUDIT_AXE=/path/to/axe.min.js"
        pytest.fail(why) if required() else pytest.skip(why)
    return place.read_text(encoding="utf-8")


@dataclass
class Tab:
    """One page: what it asked for and what it complained of since it was opened."""

    browser: Browser
    session: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def call(self, method: str, **params: Any) -> Any:
        return self.browser.call(method, params, self.session)

    def open(self, address: str, width: int = 1280, height: int = 900) -> None:
        self.requests.clear()
        self.complaints.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        # Of the page that was asked for, not of the one before it.
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'", 30)

    def run(self, script: str) -> Any:
        """The value of an expression, waited for if it is a promise."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, condition: str, seconds: float) -> Any:
        """Wait until an expression is true."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            with suppress(AssertionError):  # the page is just being replaced
                if value := self.run(condition):
                    return value
            time.sleep(0.1)
        raise AssertionError(
            f"not within {seconds} s: {condition}\n{self.complaints}\n{self.run('document.body.innerText')[:2000]}"
        )

    def shot(self, path: Path) -> None:
        """Keep a picture of what is seen."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


class Browser:
    """Chromium at the other end of two pipes."""

    def __init__(self, process: subprocess.Popen[bytes], writes: int, reads: int) -> None:
        self._process, self._writes, self._reads = process, writes, reads
        self._number, self._left = 0, b""
        self._tabs: dict[str, Tab] = {}

    def call(self, method: str, params: dict[str, Any], session: str | None = None) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writes, data) :]
        return self._answer(self._number)

    def _answer(self, number: int) -> Any:
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            message = self._next(ends)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]
            self._event(message)
        raise AssertionError("the browser does not answer")

    def _next(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._reads], [], [], max(0.1, ends - time.monotonic()))
            more = os.read(self._reads, 1 << 20) if ready else b""
            assert more, f"the browser ended: {self._process.poll()}"
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def _event(self, message: dict[str, Any]) -> None:
        tab = self._tabs.get(message.get("sessionId", ""))
        if tab is None:
            return
        method, params = message["method"], message["params"]
        if method == "Network.requestWillBeSent":
            tab.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            tab.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            tab.complaints.append(str([each.get("value", each.get("description")) for each in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            tab.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def tab(self, *, offline: bool) -> Tab:
        """A new page; offline : nothing can be fetched from a network, files can."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        tab = self._tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        if offline:
            tab.call(
                "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
            )
        return tab


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own; only the processes that it started are ended."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    to_child, from_child = os.pipe(), os.pipe()
    # The protocol is spoken over descriptors 3 and 4.
    script = (
        "import os, sys; reads, writes = map(int, sys.argv[1:3]); writes = os.dup(writes) if writes == 3 else writes; "
        "os.dup2(reads, 3) if reads != 3 else os.set_inheritable(3, True); "
        "os.dup2(writes, 4) if writes != 4 else os.set_inheritable(4, True); os.execv(sys.argv[3], sys.argv[3:])"
    )
    command = [sys.executable, "-c", script, str(to_child[0]), str(from_child[1])]
    command += [program(), *_FLAGS.split(), *sandbox, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        command,
        pass_fds=(to_child[0], from_child[1]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(profile.parent / "browser.log").open("wb"),
        start_new_session=True,
        env={**os.environ, "HOME": str(profile), "XDG_CONFIG_HOME": str(profile), "XDG_CACHE_HOME": str(profile)},
    )
    os.close(to_child[0])
    os.close(from_child[1])
    browser = Browser(process, to_child[1], from_child[0])
    try:
        yield browser
    finally:
        with suppress(AssertionError, OSError):
            browser.call("Browser.close", {})
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(to_child[1])
        os.close(from_child[0])
