"""Ranges of mcp_calls in rowid order, each boiled down to one span per principal.

What makes a row cheap: the parts of a canonical body before and after the request id (which no digest covers) repeat,
so their framed bytes are looked up instead of parsed. Nothing is assumed that is not proven per row: one that is not
exactly the expected next, with the expected link and digest, goes through `records.mcp_call`.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Any

from busbar_audit.chains import recipes, records, streaming
from busbar_audit.chains.outcome import ChainOutcome, Extents
from busbar_audit.chains.records import Record
from busbar_audit.chains.streaming import is_digest, record_faults

COLUMNS = ("principal", "seq", "ts", "prev_hash", "hash", "body")
MAX_SPANS = 200_000  # principals per range
_CACHE_ENTRIES, _CACHE_TEXT = 65_536, 1_024

# The two repeating parts of a canonical body. A text without quotes, backslashes and control characters needs no
# unescaping, so the match is the value, and any request id of the same kind can stand between the two.
_PLAIN = r'([^"\\\x00-\x1f]*)'
_HEAD = re.compile(rf'{{"outcome":"{_PLAIN}","pin_generation":(0|[1-9][0-9]{{0,19}}),"reason":"{_PLAIN}",')
_TAIL = re.compile(rf'","server":"{_PLAIN}","tool":"{_PLAIN}","tool_digest":"{_PLAIN}"}}')
_REQUEST = '"request_id":"'


class NotThisWay(Exception):
    """The table has something that only the streaming verifier judges."""


@dataclass(slots=True)
class Span:
    """Records of one principal that are neighbours in storage order.

    `expected` is the last hash where it is well formed and the seq is positive; only then a successor may take the
    short way (a seq of 1 never does, as it must have no prev_hash).
    """

    principal_frame: bytes
    absent: int  # last_seq minus the number of records, which the short way leaves as it is
    first_seq: int
    first_prev: str | None
    last_seq: int
    last_hash: str | None
    expected: str | None
    first_ts: tuple[int, int] | None  # (seq, ts) of the first record with a time
    ts: int | None  # of the last record with a time
    ascends: bool = True
    extents: Extents = field(default_factory=Extents)

    @classmethod
    def of(cls, record: Record, principal_frame: bytes) -> Span:
        """Return the span of one record, with the faults it shows by itself."""
        seq, stored = record.seq, record.hash
        first_ts = None if record.ts is None else (seq, record.ts)
        expected = stored if stored is not None and seq > 0 and is_digest(stored) else None
        span = cls(principal_frame, seq - 1, seq, record.prev_hash, seq, stored, expected, first_ts, record.ts)
        for about in record_faults(record):
            span.extents.add(about, seq, seq)
        return span

    def join(self, after: Span, tolerance: int) -> None:
        """Add the span that follows in storage order, and judge the border between the two."""
        count = self.count + after.count
        if not (self.ascends and after.ascends) or after.first_seq <= self.last_seq:
            self.ascends = False
            self.absent = self.last_seq - count
            return
        add, seq, prev, expected = self.extents.add, after.first_seq, after.first_prev, self.last_seq + 1
        last_hash = self.hash
        if seq != expected:
            add("gap-inner", expected, seq - 1, seq - expected)
        elif last_hash is not None and prev is not None and prev != last_hash and (prev or seq <= 1):
            add("link", seq, seq)
        if after.first_ts is not None and after.ts is not None:
            if self.ts is None:
                self.first_ts = after.first_ts
            elif after.first_ts[1] < self.ts - tolerance:
                add("order", after.first_ts[0], after.first_ts[0])
            self.ts = after.ts
        self.extents.merge(after.extents)
        self.last_seq, self.last_hash, self.expected = after.last_seq, after.last_hash, after.expected
        self.absent = self.last_seq - count

    @property
    def count(self) -> int:
        """Number of records."""
        return self.last_seq - self.absent

    @property
    def hash(self) -> str | None:
        """The last stored hash; the short way updates only `expected`."""
        return self.last_hash if self.expected is None else self.expected

    def outcome(self, principal: str) -> ChainOutcome:
        """Return the outcome of a whole chain."""
        if self.first_seq > 1:
            self.extents.add("head-missing", 1, self.first_seq - 1, self.first_seq - 1)
        return ChainOutcome(
            "mcp_calls",
            principal,
            self.count,
            self.first_seq,
            self.last_seq,
            self.first_prev,
            self.hash,
            self.extents.sorted(),
        )


Spans = dict[str, Span]


class Scanner:
    """Reads ranges of rowids of one snapshot into spans."""

    def __init__(self, snapshot: Path, tolerance: int) -> None:
        self.tolerance = tolerance
        self.con = streaming.connect(snapshot)
        self.contents: dict[str, dict[str, bytes]] = {}  # digested content of a body by its head and its tail
        self.entries = 0
        self.spans: Spans = {}

    def close(self) -> None:
        """Let go of the snapshot."""
        self.con.close()

    def scan(self, low: int, high: int) -> Spans:
        """Spans of the rows with rowid in low..high, ends included."""
        self.spans = {}
        try:
            self._scan(low, high)
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            # The driver does not go on after invalid UTF-8, so the range is read once more, as bytes.
            self.spans = {}
            self._scan_bytes(low, high)
        spans, self.spans = self.spans, {}
        return spans

    def _scan(self, low: int, high: int) -> None:
        spans, contents, judge = self.spans, self.contents, self._judge
        request, skip, length = _REQUEST, len(_REQUEST), (64).to_bytes(8, "big")
        pack, join, hashed = Struct(">QQQQ").pack, b"".join, sha256
        # Text arrives as str and blobs as bytes, so that wrong storage classes show as wrong types.
        self.con.text_factory = str
        query = f"SELECT {', '.join(COLUMNS)} FROM mcp_calls WHERE rowid BETWEEN ? AND ? ORDER BY rowid"  # noqa: S608
        for principal, seq, ts, prev, stored, body in self.con.execute(query, (low, high)):
            try:
                span = spans[principal]
                if prev == span.expected and seq == span.last_seq + 1 and ts >= span.ts:
                    start = body.index(request)
                    end = body.index('"', start + skip)
                    content = contents[body[:start]][body[end:]]
                    request_id = body[start + skip : end]
                    # Escapes and control characters need the whole parser.
                    if request_id.isprintable() and "\\" not in request_id:
                        place = (length, prev.encode(), span.principal_frame, pack(8, seq, 8, ts), content)
                        if hashed(join(place)).hexdigest() == stored:
                            span.expected = stored
                            span.last_seq = seq
                            span.ts = ts
                            continue
            except (KeyError, ValueError, TypeError, AttributeError, StructError):
                pass  # a new principal or shape of body, or a value of the wrong class
            judge(principal, seq, ts, prev, stored, body)

    def _scan_bytes(self, low: int, high: int) -> None:
        self.con.text_factory = bytes
        values = ", ".join(
            f"CASE typeof({name}) WHEN '{'integer' if name in ('seq', 'ts') else 'text'}' THEN {name} END"
            for name in COLUMNS
        )
        query = f"SELECT {values} FROM mcp_calls WHERE rowid BETWEEN ? AND ? ORDER BY rowid"  # noqa: S608
        for row in self.con.execute(query, (low, high)):
            self._add(records.mcp_call(*row))

    def _judge(self, principal: Any, seq: Any, ts: Any, prev: Any, stored: Any, body: Any) -> None:
        """Judge a row that did not take the short way, by the values' own classes."""
        number = [value if type(value) is int else None for value in (seq, ts)]
        text = [value.encode() if type(value) is str else None for value in (principal, prev, stored, body)]
        if type(body) is str:
            self._learn(body)
        self._add(records.mcp_call(text[0], number[0], number[1], *text[1:]))

    def _learn(self, body: str) -> None:
        """Keep the digested content of a canonical body."""
        start = body.find(_REQUEST)
        end = body.find('"', start + len(_REQUEST))
        if start < 0 or end < 0 or start > _CACHE_TEXT or len(body) - end > _CACHE_TEXT:
            return
        head, tail = _HEAD.fullmatch(body, 0, start), _TAIL.fullmatch(body, end)
        if head is None or tail is None or int(head[2]) > recipes.U64_MAX:
            return
        if self.entries >= _CACHE_ENTRIES:
            self.contents.clear()
            self.entries = 0
        text = recipes.frame_text
        content = text(tail[1]) + text(tail[2]) + text(head[1]) + text(head[3]) + text(tail[3])
        self.contents.setdefault(body[:start], {})[body[end:]] = content + recipes.frame_int(int(head[2]))
        self.entries += 1

    def _add(self, record: Record | None) -> None:
        if record is None:
            raise NotThisWay  # a row without a place
        span = self.spans.get(record.scope)
        if span is not None:
            span.join(Span.of(record, b""), self.tolerance)
        elif len(self.spans) < MAX_SPANS:
            self.spans[record.scope] = Span.of(record, recipes.frame_text(record.scope))
        else:
            raise NotThisWay
