"""findings.parquet and chains.parquet: all findings and all chains, uncapped and exact, written in batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from busbar_audit.findings import exact
from busbar_audit.result import Result

BATCH_ROWS = 10_000
FINDINGS = (
    "code",
    "identity",
    "severity",
    "subject",
    "place",
    "first_seq",
    "last_seq",
    "records",
    "detail",
    "evidence",
)
CHAINS = (
    "population",
    "scope",
    "records",
    "first_seq",
    "last_seq",
    "first_prev_hash",
    "last_hash",
    "first_ts",
    "last_ts",
    "verdict",
    "about",
    "first_bad",
    "last_bad",
)


def write_findings(result: Result, path: Path) -> int:
    """Write every finding of an audit whose store is still open; return how many.

    Columns are those of `FINDINGS`: sequence numbers int64, records uint64 (a gap can be wider than int64 counts),
    evidence as JSON text of the further columns of the check.
    """
    import pyarrow as pa

    types = {"first_seq": pa.int64(), "last_seq": pa.int64(), "records": pa.uint64()}
    return _write(path, FINDINGS, types, _finding_rows(result))


def write_chains(result: Result, path: Path) -> int:
    """Write every chain; return how many. Times are unix seconds as decimal(38, 0): a u64 has no other exact home."""
    import pyarrow as pa

    wide, number = pa.decimal128(38, 0), pa.int64()
    types = {
        "records": number,
        "first_seq": number,
        "last_seq": number,
        "first_ts": wide,
        "last_ts": wide,
        "about": pa.list_(pa.string()),
        "first_bad": number,
        "last_bad": number,
    }
    rows = ([getattr(chain, name) for name in CHAINS] for chain in result.chains)
    return _write(path, CHAINS, types, rows)


def _finding_rows(result: Result) -> Iterator[list[Any]]:
    for f in result.findings():
        evidence = json.dumps(
            {key: exact(value) for key, value in f.evidence.items()}, ensure_ascii=True, sort_keys=True
        )
        place = [f.subject, f.place, f.first_seq, f.last_seq, f.records, f.detail]
        yield [f.code, f.identity, f.severity, *place, evidence]


def _write(path: Path, names: Iterable[str], types: dict[str, Any], rows: Iterable[list[Any]]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
    total = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        waiting = iter(rows)
        while batch := list(islice(waiting, BATCH_ROWS)):
            columns = [pa.array([row[i] for row in batch], type=field.type) for i, field in enumerate(schema)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            total += len(batch)
    return total
