"""Batches put into DuckDB by one statement: all of them or none, whoever fails, and never a wait without an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from busbar_audit import stream, warehouse
from busbar_audit.payloads.batch import Batch
from busbar_audit.warehouse import Warehouse


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("CREATE TABLE kept (n TINYINT)")
        con.execute("CREATE TABLE more AS SELECT range AS n FROM range(50)")
        yield con


def _batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(numbers, pa.int64())})


def _kept(con: duckdb.DuckDBPyConnection) -> list[tuple[int, int]]:
    return con.execute("SELECT count(*), coalesce(sum(n), 0) FROM kept").fetchall()


def test_every_batch_arrives_though_the_making_reads_the_same_database(con: duckdb.DuckDBPyConnection) -> None:
    def made() -> Iterator[pa.RecordBatch]:
        with con.cursor() as reading:
            yield from reading.sql("FROM more").to_arrow_reader(7)

    assert stream.put(con, "INSERT INTO kept FROM arriving", made()) == 50
    assert _kept(con) == [(50, sum(range(50)))]
    assert stream.put(con, "INSERT INTO kept FROM arriving", iter(())) == 0


def test_nothing_is_kept_when_a_batch_cannot_be_made(con: duckdb.DuckDBPyConnection) -> None:
    def made() -> Iterator[pa.RecordBatch]:
        yield _batch(1)
        yield _batch(2)
        raise OSError("the server is gone")

    with pytest.raises(OSError, match="gone"):
        stream.put(con, "INSERT INTO kept FROM arriving", made())
    assert _kept(con) == [(0, 0)]
    assert stream.put(con, "INSERT INTO kept FROM arriving", iter([_batch(3)])) == 1


def test_the_making_ends_when_the_statement_fails(con: duckdb.DuckDBPyConnection) -> None:
    made = (_batch(n) for n in range(100_000))
    with pytest.raises(duckdb.ConversionException):
        stream.put(con, "INSERT INTO kept FROM arriving", made)
    assert _kept(con) == [(0, 0)]
    assert next(made)["n"][0].as_py() < 1000, "a batch that nobody takes is not made"
    with pytest.raises(duckdb.CatalogException):
        stream.put(con, "INSERT INTO absent FROM arriving", iter([_batch(1)]))
    other = pa.record_batch({"other": pa.array(["x"])})
    with pytest.raises(duckdb.Error):
        stream.put(con, "INSERT INTO kept FROM arriving", iter([_batch(1), other]))
    assert _kept(con) == [(0, 0)]


def test_rows_and_batches_may_be_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "_AT_ONCE", 3)
    rows = [Batch([pa.array([1, 2])]), (3,), Batch([pa.array([4])]), (5,), (6,), (7,), Batch([pa.array([8])]), (9,)]
    store = Warehouse(tmp_path)
    store.fill("raw.mixed", [("n", "BIGINT")], rows)
    assert store.con.execute("SELECT n FROM raw.mixed ORDER BY n").fetchall() == [(n,) for n in range(1, 10)]
    store.fill("raw.mixed", [("n", "BIGINT")], [])
    assert store.con.execute("SELECT count(*) FROM raw.mixed").fetchall() == [(0,)]
    store.close()
