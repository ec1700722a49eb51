"""How the merged converter (C4) cuts the rows of a session into pages, and so into the parts of turns it converts at once.

Maka sheet 4.6: a page is at most 256 rows and 4 MiB, the first row always fits; rows are grouped by turn in first-seen
order; the last group is carried into the next page and all others are converted; a page without rows flushes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

PAGE_ROWS, PAGE_UNITS = 256, 4 << 20
COLUMNS = (("session_id", "VARCHAR"), ("sequence", "BIGINT"), ("page", "BIGINT"), ("part", "BIGINT"))


def page_facts(con: Any) -> tuple[tuple[tuple[str, str], ...], Iterator[tuple[str, int, int, int | None]]]:
    """Columns and rows of ``source.page_facts``: the page of each row, and which part of its turn it is converted with.

    `part` counts from 1 within a turn; NULL for a row of no turn, and for steering. ``audit.legacy_rows`` has to be there.
    """
    reading = con.cursor()
    reading.execute("USE warehouse")
    reading.execute(
        """SELECT session_id, sequence, turn_id, coalesce(units, 0), steering_event IS NOT NULL
        FROM audit.legacy_rows ORDER BY session_id, sequence"""
    )
    return COLUMNS, _all(_each(reading))


def _each(reading: Any) -> Iterator[tuple[Any, ...]]:
    while rows := reading.fetchmany(4096):
        yield from rows


def _all(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, int, int, int | None]]:
    for session, own in groupby(rows, key=lambda row: row[0]):
        for sequence, page, part in parts(row[1:] for row in own):
            yield session, sequence, page, part


def parts(
    rows: Iterable[tuple[int, str | None, int, bool]], most_rows: int = PAGE_ROWS, most_units: int = PAGE_UNITS
) -> Iterator[tuple[int, int, int | None]]:
    """Sequence, page and part of each row of one session.

    Parameters
    ----------
    rows : sequence, turn, size and whether it is steering, by sequence.
    most_rows, most_units : of a page.
    """
    done: dict[str, int] = {}  # parts of turns that were converted already
    carried: str | None = None
    for page, own in enumerate(_pages(rows, most_rows, most_units), start=1):
        groups = dict.fromkeys([carried] if carried is not None else [])
        for sequence, turn, _, steering in own:
            if turn is None or steering:
                yield sequence, page, None
                continue
            groups.setdefault(turn)
            yield sequence, page, done.get(turn, 0) + 1
        seen = list(groups)
        carried = seen.pop() if seen else None
        for turn in seen:
            done[turn] = done.get(turn, 0) + 1


def _pages(
    rows: Iterable[tuple[int, str | None, int, bool]], most_rows: int, most_units: int
) -> Iterator[list[tuple[int, str | None, int, bool]]]:
    page: list[tuple[int, str | None, int, bool]] = []
    held = 0
    for row in rows:
        if page and (len(page) >= most_rows or held + row[2] > most_units):
            yield page
            page, held = [], 0
        page.append(row)
        held += row[2]
    if page:
        yield page
