"""A ladder of synthetic sessions in the shape of a store's own, and what is told of that shape without converting anything."""

from __future__ import annotations

import sqlite3
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busbar_audit.conversion.schema import in_memory
from busbar_audit.rehearsal.cost import MEBIBYTE, Turns
from busbar_audit.transcript import js

SESSION = "rung"
_HEADER = {"id": SESSION, "cwd": "/w", "createdAt": 10**12, "backend": "ai-sdk", "llmConnectionSlug": "c"}
_HEADER |= {"model": "m", "permissionMode": "ask"}
# Rows of a turn beside those in its middle: prompt and ending; and its opening, which is an event alone.
_ENDS = 2
# Inline texts end there.
_LARGEST_ROW = 60_000


@dataclass(frozen=True)
class Shape:
    """What rungs are made like. events : of an ordinary turn. tools : part of the rows, calls and results. row : bytes."""

    events: int
    tools: float
    row: int


@dataclass(frozen=True)
class Rung:
    """One session of the ladder. held : not used for the fit, but to try it."""

    name: str
    turns: Turns
    held: bool = False


def told(path: Path, session: str) -> list[Turns]:
    """Turns of a session that is not converted yet, by its rows.

    A turn has an event for each row, and its opening. Rows in chunks say nothing of their turn without being joined: they are
    counted to the turn of the row before them. Rows without a turn are not converted and not counted.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as con:
        chunked = con.execute("SELECT 1 FROM sqlite_master WHERE name = 'session_message_payloads'").fetchone()
        sizes = dict(
            con.execute("SELECT sequence, record_bytes FROM session_message_payloads WHERE session_id = ?", (session,))
            if chunked
            else ()
        )
        counts: Counter[Any] = Counter()
        tools: Counter[Any] = Counter()
        size: Counter[Any] = Counter()
        turn: Any = None
        for sequence, kind, length, named in con.execute(
            "SELECT sequence, message_type, length(CAST(record_json AS BLOB)), "
            "CASE WHEN json_valid(record_json) THEN json_extract(record_json, '$.turnId') END "
            "FROM session_messages WHERE session_id = ? ORDER BY sequence",
            (session,),
        ):
            turn = turn if sequence in sizes else named
            if turn is not None:
                counts[turn] += 1
                tools[turn] += kind in ("tool_call", "tool_result")
                size[turn] += sizes.get(sequence, length)
    return [Turns(1, rows + 1, tools[each], size[each] / MEBIBYTE) for each, rows in counts.items()]


def shape(turns: Sequence[Turns]) -> Shape:
    """The shape of a store's turns: medians of them, and means of their rows."""
    rows = sum(each.events - 1 for each in turns)
    events = int(statistics.median(each.events for each in turns))
    size = int(sum(each.mebibytes for each in turns) * MEBIBYTE / rows)
    tools = sum(each.tools for each in turns) / rows
    return Shape(min(max(events, _ENDS + 2), 200), tools, min(max(size, 150), _LARGEST_ROW))


def ladder(like: Shape, scale: float = 1.0) -> list[Rung]:
    """Long sessions, large turns and heavy turns; of the first two, one more of three times the size to try the model."""

    def rung(kind: str, count: int, events: int, row: int, held: bool = False) -> Rung:
        rows = events - 1
        tools = 2 * int((rows - _ENDS) * like.tools / 2)
        return Rung(f"{kind} {count * rows:,} rows", Turns(count, events, tools, count and rows * row / MEBIBYTE), held)

    ordinary = [max(1, round(scale * rows / (like.events - 1))) for rows in (500, 1_500, 4_500, 13_500)]
    large = [max(like.events, round(scale * rows)) for rows in (250, 500, 1_000, 3_000)]
    heavy = [max(10, round(scale * rows)) for rows in (60, 180)]
    found = [rung("session of", each, like.events, like.row, each == ordinary[-1]) for each in ordinary]
    found += [rung("one turn of", 1, each + 1, min(like.row, 4_000), each == large[-1]) for each in large]
    return found + [rung("one heavy turn of", 1, each + 1, _LARGEST_ROW) for each in heavy]


def write(path: Path, turns: Turns) -> None:
    """A store with one session of so many such turns."""
    with closing(in_memory()) as memory, closing(sqlite3.connect(path)) as file:
        memory.execute(
            "INSERT INTO session_metadata (session_id, payload_json) VALUES (?, ?)", (SESSION, js.stringify(_HEADER))
        )
        memory.executemany(
            "INSERT INTO session_messages VALUES (?, ?, ?, ?, ?, ?)",
            ((SESSION, n, row["id"], row["type"], row["ts"], js.stringify(row)) for n, row in enumerate(_rows(turns))),
        )
        memory.backup(file)


def _rows(turns: Turns) -> Iterator[dict[str, Any]]:
    middle = turns.events - 1 - _ENDS
    # A row has about a hundred bytes beside its text.
    text = "x" * max(1, int(turns.mebibytes * MEBIBYTE / (turns.events - 1)) - 110)
    at = 10**12
    for turn in range(turns.count):
        name = f"t{turn}"
        yield {"type": "user", "id": f"u{turn}", "turnId": name, "ts": at, "text": text}
        for n in range(middle):
            at += 1
            base = {"turnId": name, "ts": at}
            if n >= turns.tools:
                yield {"type": "assistant", "id": f"a{turn}-{n}", **base, "text": text, "modelId": "m"}
            elif n % 2 == 0:
                yield {"type": "tool_call", "id": f"c{turn}-{n}", **base, "toolName": "Read", "args": {"path": text}}
            else:
                content = {"kind": "text", "text": text}
                use = f"c{turn}-{n - 1}"
                yield {"type": "tool_result", "id": f"r{turn}-{n}", **base, "toolUseId": use, "isError": False} | {
                    "content": content
                }
        at += 1
        yield {"type": "turn_state", "id": f"s{turn}", "turnId": name, "ts": at, "status": "completed"}
        at += 1
