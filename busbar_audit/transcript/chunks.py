"""Legacy rows that are stored in chunks: joined again, and their digests checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

MARK = "session-message-chunks-v1"
CHUNK = 65_536
# Of records so large at most that many are joined at once.
_AT_ONCE = 16 << 20
_THESE = """WITH these AS (SELECT unnest(CAST(? AS VARCHAR[])) AS session_id, unnest(CAST(? AS BIGINT[])) AS sequence)
"""

Key = tuple[str, int]


class Chunks:
    """The chunks in schema ``raw``.

    Parameters
    ----------
    con : a connection of their own.
    """

    def __init__(self, con: Any) -> None:
        self._con = con

    def joined(self, keys: Sequence[Key]) -> Iterator[tuple[Key, str | None, str | None]]:
        """Join some records.

        Parameters
        ----------
        keys : session and sequence of rows that say they are in chunks.

        Returns
        -------
        key, and the text or what is wrong with it, of each; some megabytes of them are read at a time.
        """
        told = {
            (session, sequence): (size, digest)
            for session, sequence, size, digest in self._ask(
                """SELECT session_id, sequence, record_bytes, sha256
                FROM raw.session_message_payloads SEMI JOIN these USING (session_id, sequence)""",
                keys,
            )
        }
        sizes = {
            (session, sequence): int(size)
            for session, sequence, size in self._ask(
                """SELECT session_id, sequence, coalesce(sum(octet_length(data)), 0)
                FROM raw.session_message_chunks SEMI JOIN these USING (session_id, sequence)
                GROUP BY session_id, sequence""",
                keys,
            )
        }
        some: list[Key] = []
        held = 0
        for key in keys:
            size = sizes.get(key, 0)
            if some and held + size > _AT_ONCE:
                yield from self._join(some, told)
                some, held = [], 0
            some.append(key)
            held += size
        yield from self._join(some, told)

    def _join(
        self, keys: Sequence[Key], told: dict[Key, tuple[int | None, str]]
    ) -> Iterator[tuple[Key, str | None, str | None]]:
        parts: dict[Key, list[tuple[int, bytes, str]]] = {}
        for session, sequence, index, data, digest in self._ask(
            """SELECT session_id, sequence, chunk_index, data, sha256
            FROM raw.session_message_chunks SEMI JOIN these USING (session_id, sequence)
            ORDER BY session_id, sequence, chunk_index""",
            keys,
        ):
            parts.setdefault((session, sequence), []).append((index, data or b"", digest))
        for key in keys:
            yield (key, *_whole(told.get(key), parts.get(key, ())))

    def _ask(self, query: str, keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        values = [[session for session, _ in keys], [sequence for _, sequence in keys]]
        found: list[tuple[Any, ...]] = self._con.execute(_THESE + query, values).fetchall()
        return found


def _whole(
    told: tuple[int | None, str] | None, parts: Sequence[tuple[int, bytes, str]]
) -> tuple[str | None, str | None]:
    if told is None or told[0] is None:
        return None, "the record is in chunks, and nothing says how long it is"
    size, digest = told[0], told[1]
    due = -(-size // CHUNK)
    if [index for index, *_ in parts] != list(range(due)):
        return None, f"{len(parts)} chunks, {due} are due for {size} bytes"
    bad = [index for index, data, own in parts if hashlib.sha256(data).hexdigest() != own]
    if bad:
        return None, f"chunk {bad[0]} is not what its digest says"
    whole = b"".join(data for _, data, _ in parts)
    if len(whole) != size:
        return None, f"{len(whole)} bytes in chunks, {size} are due"
    if hashlib.sha256(whole).hexdigest() != digest:
        return None, "the joined record is not what its digest says"
    try:
        return whole.decode(), None
    except UnicodeDecodeError:
        return None, "the joined record is not UTF-8"
