"""The server that the system has on its PATH reads as the packaged one does; BUSBAR_AUDIT_SERVER=system runs all on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support_postgres import Server, running_system, system_programs
from test_postgres import (
    BASES,
    SIZE,
    auditor,
    test_a_clean_store_is_clean,
    test_catalog_and_rows_are_of_one_moment,
    test_shape_read_back_is_the_expected_one,
    test_the_documented_role_is_enough,
    test_the_server_refuses_our_writes_and_counts_none,
    test_values_are_exact,
)

from busbar_audit.synth.busbar_pg import write_busbar_pg

# Collected here, they take the fixture `server` of this module.
__all__ = [
    "auditor",
    "test_a_clean_store_is_clean",
    "test_catalog_and_rows_are_of_one_moment",
    "test_shape_read_back_is_the_expected_one",
    "test_the_documented_role_is_enough",
    "test_the_server_refuses_our_writes_and_counts_none",
    "test_values_are_exact",
]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if system_programs() is None:
        pytest.skip("no PostgreSQL server on PATH")
    with running_system() as up:
        for name, (generation, bodies) in BASES.items():
            more = {"bodies": bodies} if generation >= 10 else {}
            write_busbar_pg(up.uri(up.new(name)), "busbar", generation=generation, **SIZE, **more)
        yield up
