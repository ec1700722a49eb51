"""Kernels of a report: this very Python, everything they write in the run's private directory, no network port."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from busbar_audit import rundir

# A Unix socket's address has 108 bytes; the kernel adds a dash and a number to what we give.
_LONGEST_SOCKET = 96


@contextlib.contextmanager
def socket_directory(private: Path) -> Iterator[Path]:
    """A private directory whose path is short enough for sockets: `private` itself, or one of the system's."""
    if len(os.fsencode(private / "k000-5")) < _LONGEST_SOCKET:
        yield private
        return
    parent = Path(tempfile.gettempdir()) if len(tempfile.gettempdir()) < _LONGEST_SOCKET // 2 else Path("/tmp")  # noqa: S108
    rundir.remove_abandoned(parent)
    short, lock = rundir.create(parent)
    try:
        yield short
    finally:
        rundir.remove(short)
        os.close(lock)


def manager_class(private: Path, sockets: Path, number: int, variables: Mapping[str, str], started: list[Any]) -> type:
    """A class of kernel managers for one notebook.

    Parameters
    ----------
    private : where the kernel may write. sockets : where its sockets go. number : of the notebook, from 0.
    variables : environment beside that of this process.
    started : gets the manager, so that a run that is broken off can end its kernels.
    """
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    own = private / f"kernel-{number}"
    own.mkdir(mode=0o700)
    environment = {
        **variables,
        "IPYTHONDIR": str(own / "ipython"),
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "MPLCONFIGDIR": str(private / "matplotlib"),
        "JUPYTER_NO_CONFIG": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])),
    }
    spec = KernelSpec(
        argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        display_name="Python 3",
        language="python",
        env=environment,
    )

    class PrivateKernel(AsyncKernelManager):
        def __init__(self, **kwargs: Any) -> None:
            kwargs.update(transport="ipc", ip=str(sockets / f"k{number}"), connection_file=str(own / "connection.json"))
            super().__init__(**kwargs)
            started.append(self)

        @property
        def kernel_spec(self) -> KernelSpec:
            return spec

    return PrivateKernel


def kill(started: list[Any]) -> None:
    """End the kernels of a run that is broken off; only processes this run started."""
    for manager in started:
        process = getattr(getattr(manager, "provisioner", None), "process", None)
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGKILL)
