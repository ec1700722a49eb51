"""What every test gets: private directories that are its own, and the folder of sample stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support_postgres import Server

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the full matrix are skipped, and counted as skipped, in the ordinary suite."""
    if not os.environ.get("BUSBAR_AUDIT_FULL"):
        for item in items:
            if item.get_closest_marker("full"):
                item.add_marker(pytest.mark.skip(reason="of the full matrix: make test-full"))


@pytest.fixture(scope="session", autouse=True)
def _own_private_directories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Copies of stores go where pytest cleans up, and the user's own settings do not reach the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUSBAR_AUDIT_TMPDIR", str(tmp_path_factory.mktemp("private")))
        patch.delenv("BUSBAR_AUDIT_TARGET", raising=False)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for all tests of a session."""
    from support_postgres import running

    with running() as up:
        yield up


@pytest.fixture(scope="session")
def samples() -> Path:
    """Folder of the stores written by the real products; the test is skipped where it is not there."""
    folder = Path(os.environ.get("BUSBAR_AUDIT_SAMPLES") or REPOSITORY.parent / "shared" / "stores")
    if not folder.is_dir():
        pytest.skip(f"no sample stores in {folder}; set BUSBAR_AUDIT_SAMPLES")
    return folder
