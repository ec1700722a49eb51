"""A command over a workspace that is ended from outside: the workspace is as it was, and no half report is anywhere."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from busbar_audit.rehearsal.ledgerstate import sessions
from busbar_audit.reporting.verification import verify
from busbar_audit.synth.maka import write_maka


def _files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An older workspace, with sessions that are not converted."""
    path = tmp_path_factory.mktemp("workspace") / "runtime.sqlite"
    write_maka(path, generation=12, sessions=30)
    assert len(sessions(path)) > 20
    return path


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "asked to end"])
@pytest.mark.parametrize(
    ("words", "after"),
    [
        (("rehearse", "--conversion", "--kills", "3"), 0.9),
        (("report", "--notebook", "03"), 1.2),
        (("report", "--notebook", "03"), 3.0),
    ],
    ids=["rehearsal", "report while it reads", "report while notebooks run"],
)
def test_nothing_is_changed_and_nothing_is_half(
    words: tuple[str, ...], after: float, number: signal.Signals, workspace: Path, tmp_path: Path
) -> None:
    before, out, private = _files(workspace.parent), tmp_path / "out", tmp_path / "private"
    private.mkdir()
    command = [sys.executable, "-m", "busbar_audit", words[0], str(workspace), *words[1:]]
    command += ["--out", str(out)] if words[0] == "report" else []
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BUSBAR_AUDIT_TMPDIR": str(private)},
        start_new_session=True,
    )
    time.sleep(after)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    if number is signal.SIGTERM and process.returncode == 3:
        assert said.splitlines()[-1] == "inconclusive"
        assert not any(private.iterdir()), "what it had made for itself is gone"
    elif process.returncode != -number:
        # It had ended by itself; a report is then whole.
        assert process.returncode in (0, 1), said
    assert _files(workspace.parent) == before
    if out.exists():
        assert not verify(out).differences
