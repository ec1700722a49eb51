"""Chain records of a finished store, to be changed on purpose: read, edit, seal again, write back.

This is what a forger would do, and it exists only to make synthetic faults. Nothing that audits a store imports it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from busbar_audit.chains import recipes
from busbar_audit.synth.bodies import EVENT_MEMBERS, dumps, neutral

_CALL = ("server", "tool", "outcome", "reason", "tool_digest", "pin_generation")
_AUDIT = ("action", "resource", "outcome", "principal")
_EVENT = ("kind", "context_id", "principal", "agent_id", "state")
_COLUMNS = {
    "audit_log": ("seq", "ts", *_AUDIT, "prev_hash", "hash"),
    "mcp_calls": ("principal", "seq", "ts", "prev_hash", "hash", "body"),
    "task_events": EVENT_MEMBERS,
}
_SCOPES = {"mcp_calls": "principal", "task_events": "task_id"}


@dataclass(frozen=True)
class Record:
    """One chain record.

    fields : everything the digest covers beside scope, seq and ts, and what else the record carries (request_id).
    form : `row` (typed table), `typed` or `neutral` (plane record).
    variant : content variant of a neutral audit record.
    """

    population: str
    scope: str
    seq: int
    ts: int
    prev_hash: str
    hash: str
    form: str
    fields: Mapping[str, Any]
    variant: str = ""

    def edit(self, **fields: Any) -> Record:
        """Return the record with digested fields changed and its stored hash left as it was."""
        return replace(self, fields={**self.fields, **fields})

    def digest(self) -> str:
        """Return the digest of the record's own fields."""
        f = self.fields
        if self.population in ("mcp_calls", "call"):
            return recipes.call(self.prev_hash, self.scope, self.seq, self.ts, *(f[n] for n in _CALL))
        if self.population in ("audit_log", "audit"):
            values = [f[n] for n in _AUDIT]
            if self.form != "neutral":
                return recipes.admin_audit(self.prev_hash, self.seq, self.ts, *values)
            return recipes.neutral_audit_digest(self.prev_hash, self.seq, self.content())
        recipe = recipes.event_v2 if f.get("digest_version") == 2 else recipes.event_v1
        return recipe(self.prev_hash, self.scope, self.seq, self.ts, *(f[n] for n in _EVENT))

    def content(self) -> bytes:
        """Return the content bytes of the neutral form."""
        if self.population == "call":
            return recipes.neutral_call_content(self.ts, *(self.fields[n] for n in _CALL))
        variant: Any = self.variant
        return recipes.neutral_audit_content(variant, self.ts, *(self.fields[n] for n in _AUDIT))

    def body(self) -> str | bytes:
        """Return the body as the engine would write it."""
        if self.population == "mcp_calls":
            return dumps(dict(sorted(self.fields.items())))
        if self.form == "neutral":
            return neutral(self.seq, self.prev_hash, self.hash, self.content())
        own: dict[str, Any] = {"seq": self.seq, "ts": self.ts, "prev_hash": self.prev_hash, "hash": self.hash}
        # `fields` keeps the member order of the body it was read from; the placeholders are filled in place.
        return dumps({name: own.get(name, value) for name, value in self.fields.items()}).encode()


def load(connection: sqlite3.Connection, population: str, scope: str) -> list[Record]:
    """Return the records of one chain in order of seq."""
    if population not in _COLUMNS:
        sql = "SELECT body FROM plane_records WHERE kind = ? AND parent = ? ORDER BY seq"
        return [_from_body(population, scope, body) for (body,) in connection.execute(sql, (population, scope))]
    names = _COLUMNS[population]
    where = f" WHERE {_SCOPES[population]} = ?" if population in _SCOPES else ""
    found = connection.execute(
        f"SELECT {', '.join(names)} FROM {population}{where} ORDER BY seq",  # noqa: S608 - names from a fixed list
        (scope,) if where else (),
    )
    return [_from_row(population, scope, dict(zip(names, row, strict=True))) for row in found]


def _from_row(population: str, scope: str, row: dict[str, Any]) -> Record:
    seq, ts, prev, digest = (row.pop(n) for n in ("seq", "ts", "prev_hash", "hash"))
    row.pop(_SCOPES.get(population, ""), None)
    fields = json.loads(row["body"]) if population == "mcp_calls" else row
    return Record(population, scope, seq, ts, prev, digest, "row", fields)


def _from_body(population: str, scope: str, blob: bytes) -> Record:
    body = json.loads(blob)
    if "content" not in body:
        return Record(population, scope, body["seq"], body["ts"], body["prev_hash"], body["hash"], "typed", fields=body)
    content = bytes(body["content"])
    if population == "call":
        call = recipes.parse_neutral_call(content)
        assert call is not None
        fields, variant, ts = dict(zip(_CALL, call[1:], strict=True)), "", call.ts
    else:
        parsed = recipes.parse_neutral_audit(content)
        assert parsed is not None
        variant, audit = parsed
        fields, ts = dict(zip(_AUDIT, audit[1:], strict=True)), audit.ts
    return Record(population, scope, body["seq"], ts, body["prev_hash"], body["hash"], "neutral", fields, variant)


def save(connection: sqlite3.Connection, record: Record) -> None:
    """Write a record over the one at its place."""
    if record.population in _COLUMNS:
        values = _row(record)
        where = [n for n in (_SCOPES.get(record.population), "seq") if n]
        rest = [n for n in values if n not in where]
        sql = (
            f"UPDATE {record.population} SET {', '.join(f'{n} = :{n}' for n in rest)} "  # noqa: S608
            f"WHERE {' AND '.join(f'{n} = :{n}' for n in where)}"
        )
        connection.execute(sql, values)
        return
    connection.execute(
        "UPDATE plane_records SET ts = ?, body = ? WHERE kind = ? AND parent = ? AND seq = ?",
        (record.ts, record.body(), record.population, record.scope, record.seq),
    )


def insert(connection: sqlite3.Connection, record: Record, *, identity: str | None = None) -> None:
    """Add a record; `identity` other than the scope is what a plane record can only have by foul play."""
    if record.population in _COLUMNS:
        values = _row(record)
        sql = f"INSERT INTO {record.population} ({', '.join(values)}) VALUES ({', '.join(f':{n}' for n in values)})"  # noqa: S608
        connection.execute(sql, values)
        return
    connection.execute(
        "INSERT INTO plane_records (kind, identity, seq, id, parent, ts, disposition, body) VALUES (?,?,?,?,?,?,?,?)",
        (
            record.population,
            identity or record.scope,
            record.seq,
            record.scope,
            record.scope,
            record.ts,
            "active",
            record.body(),
        ),
    )


def delete(connection: sqlite3.Connection, population: str, scope: str, first: int, last: int) -> None:
    """Remove the records first to last of one chain."""
    if population in _COLUMNS:
        where = f" AND {_SCOPES[population]} = ?" if population in _SCOPES else ""
        connection.execute(
            f"DELETE FROM {population} WHERE seq BETWEEN ? AND ?{where}",  # noqa: S608
            (first, last, *((scope,) if where else ())),
        )
        return
    connection.execute(
        "DELETE FROM plane_records WHERE kind = ? AND parent = ? AND seq BETWEEN ? AND ?",
        (population, scope, first, last),
    )


def reseal(connection: sqlite3.Connection, population: str, scope: str, from_seq: int) -> None:
    """Recompute digests and links from `from_seq` to the end, as a forger with the recipe would.

    The record at `from_seq` keeps its prev_hash; each later one gets the hash of the record before it.
    """
    prev: str | None = None
    for record in load(connection, population, scope):
        if record.seq < from_seq:
            continue
        again = record if prev is None else replace(record, prev_hash=prev)
        again = replace(again, hash=again.digest())
        save(connection, again)
        prev = again.hash


@contextmanager
def unguarded(connection: sqlite3.Connection) -> Iterator[None]:
    """Drop all triggers, and put back exactly the same ones at the end."""
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    yield
    for _, sql in triggers:
        connection.execute(sql)


def _row(record: Record) -> dict[str, Any]:
    own: dict[str, Any] = {
        "seq": record.seq,
        "ts": record.ts,
        "prev_hash": record.prev_hash,
        "hash": record.hash,
    }
    if record.population in _SCOPES:
        own[_SCOPES[record.population]] = record.scope
    return {**own, "body": record.body()} if record.population == "mcp_calls" else {**record.fields, **own}
