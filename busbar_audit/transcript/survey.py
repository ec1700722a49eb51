"""The ledger read once: facts of events, and what both readers make of each session, from the same decoded payloads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from busbar_audit.garbage import uncollected
from busbar_audit.payloads.batch import Batch
from busbar_audit.transcript import event_facts, transcripts
from busbar_audit.transcript.ledger import Ledger, loaded
from busbar_audit.transcript.values import Columns, Table

# Rows kept as they are; beyond them they go to a file in batches of so many.
_KEPT = 20_000


def survey(con: Any) -> tuple[Table, Table]:
    """Facts of every event, and facts of every transcript; the rows of the first have to be taken before the second's."""
    ledger, beside = loaded(con), Spill(transcripts.COLUMNS)
    return (event_facts.COLUMNS, _read(ledger, beside)), (transcripts.COLUMNS, beside.rows())


def _read(ledger: Ledger, beside: Spill) -> Iterator[Any]:
    with uncollected():
        events = event_facts.EventFacts()
        for name, session in ledger.each():
            yield from events.add(session.events)
            beside.add(transcripts.session_facts, name, session, ledger.newer)
        yield from events.add(ledger.unowned())
        yield from events.rest()


class Spill:
    """Rows that are wanted later: kept where they are few, else in a file of Arrow batches that has no name."""

    def __init__(self, columns: Columns) -> None:
        self._names = [name for name, _ in columns]
        self._kinds = [kind for _, kind in columns]
        self._few: list[Sequence[Any]] = []
        self._file: Any = None
        self._writer: Any = None
        self._failed: Exception | None = None

    def add(self, make: Callable[..., Iterable[Sequence[Any]]], *given: Any) -> None:
        """Keep some rows; where they cannot be made, `rows` says why, and what else is read is not lost for it."""
        if self._failed is not None:
            return
        try:
            self._few.extend(make(*given))
        except Exception as error:
            self._failed = error
        if len(self._few) >= _KEPT:
            self._write()

    def rows(self) -> Iterator[Any]:
        """All rows and batches, once."""
        if self._failed is not None:
            raise self._failed
        if self._writer is not None:
            import pyarrow as pa

            self._writer.close()
            self._file.seek(0)
            with self._file, pa.ipc.open_stream(self._file) as reader:
                for batch in reader:
                    yield Batch(batch.columns)
        yield from self._few

    def _write(self) -> None:
        import pyarrow as pa

        kinds: Mapping[str, Any] = {"VARCHAR": pa.string(), "BIGINT": pa.int64()}
        schema = pa.schema([(name, kinds[kind]) for name, kind in zip(self._names, self._kinds, strict=True)])
        columns = [list(column) for column in zip(*self._few, strict=True)]
        if self._writer is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has been read, gone with the process
            self._writer = pa.ipc.new_stream(self._file, schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=schema))
        self._few = []
