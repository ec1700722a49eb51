"""The source of a snapshot as it was found. Reads it as plain files, so never while this process has it open."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from busbar_audit.target import beside, read_header, size_of


@dataclass(frozen=True)
class SourceState:
    """The source as it was found.

    Attributes
    ----------
    main_bytes, wal_bytes, journal_bytes : sizes; None if there is no such file.
    journal_mode : 'wal' or 'rollback', as the header of the main file says.
    shm_changed : the shared-memory file beside a WAL store was created or changed while the copy was taken, by us or
        by others. Main file and WAL are never changed by us.
    main_mtime_ns : time of last change of the main file.
    identity : real path.
    """

    main_bytes: int
    wal_bytes: int | None
    journal_bytes: int | None
    journal_mode: Literal["wal", "rollback"]
    shm_changed: bool
    main_mtime_ns: int
    identity: str


def observe(source: Path) -> tuple[SourceState, str | None]:
    """Look at a store before it is copied; the second value goes to `with_shm` afterwards."""
    shm = _shm_digest(source)
    state = source.stat()
    header = read_header(source)
    found = SourceState(
        main_bytes=state.st_size,
        wal_bytes=size_of(beside(source, "-wal")),
        journal_bytes=size_of(beside(source, "-journal")),
        journal_mode=header.journal_mode if header is not None else "rollback",
        shm_changed=False,
        main_mtime_ns=state.st_mtime_ns,
        identity=os.fspath(source),
    )
    return found, shm


def with_shm(state: SourceState, shm: str | None) -> SourceState:
    """Say whether the shared memory is another one than `observe` saw."""
    return replace(state, shm_changed=_shm_digest(Path(state.identity)) != shm)


def _shm_digest(source: Path) -> str | None:
    try:
        return hashlib.sha256(beside(source, "-shm").read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError:
        return "unreadable"
