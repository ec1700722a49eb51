"""Faults of chains: the same ways of tampering in every population and form."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from busbar_audit.synth.fault import Fault, OnPostgres, Planted, codes
from busbar_audit.synth.records import Record, delete, insert, load, reseal, save, unguarded

_OTHER = "5ca1ab1e" * 8  # a well-formed hash that belongs to no record


@dataclass(frozen=True)
class Place:
    """A population in one of its forms, and the kind of store that has it."""

    name: str
    population: str
    generations: tuple[int, ...]
    needs: Mapping[str, Any] = field(default_factory=dict)
    version: int | None = None

    @property
    def events(self) -> bool:
        """Whether the chains are short ones of tasks."""
        return self.population in ("task_events", "task_event")


_NEW = (10, 11, 12)
PLACES = (
    Place("audit_log", "audit_log", (5, 6, 7, 8, 9)),
    Place("mcp_calls", "mcp_calls", (7, 8, 9)),
    Place("task_events", "task_events", (8, 9)),
    Place("call", "call", _NEW),
    Place("call_neutral", "call", _NEW, {"bodies": "neutral"}),
    Place("audit", "audit", _NEW, {"odd": ("fresh",)}),
    Place("audit_neutral", "audit", _NEW, {"bodies": "neutral", "odd": ("fresh",)}),
    Place("task_event", "task_event", _NEW, version=1),
    Place("task_event_v2", "task_event", _NEW, {"event_digest": "v2"}, version=2),
)


def chain_of(connection: sqlite3.Connection, place: Place) -> list[Record]:
    """Return the chain to work on: the audit chain, the longest call chain, or a finished task with five steps or more.

    Raises
    ------
    LookupError : the store has no such chain.
    """
    for scope in _scopes(connection, place):
        chain = load(connection, place.population, scope)
        if not place.events:
            if len(chain) >= 20:
                return chain
            break
        versions = {2 if r.fields.get("digest_version") == 2 else 1 for r in chain}
        fits = place.version is None or versions == {place.version}
        if fits and len(chain) >= 4 and chain[-1].fields["kind"] == "task.terminal":
            return chain
    raise LookupError(f"no chain of {place.population} that is long enough")


def _scopes(connection: sqlite3.Connection, place: Place) -> Iterator[str]:
    if place.population == "audit_log":
        return iter(["audit_log"])
    if place.population in ("mcp_calls", "task_events"):
        column = "principal" if place.population == "mcp_calls" else "task_id"
        sql, bound = f"SELECT {column} FROM {place.population} GROUP BY 1 ORDER BY count(*) DESC, 1", ()  # noqa: S608
        return iter([scope for (scope,) in connection.execute(sql, bound)])
    sql = "SELECT parent FROM plane_records WHERE kind = ? AND parent IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1"
    return iter([scope for (scope,) in connection.execute(sql, (place.population,))])


def middle(place: Place, chain: list[Record]) -> Record:
    """Return a record with one before and two after it; of a call chain a plainly dispatched one.

    In a task it is the delegation, which changes no state: nothing else in the task hangs on it.
    """
    if place.events:
        return next(r for r in chain if r.fields["kind"] == "task.delegated")
    return next(r for r in chain[len(chain) // 2 : -2] if r.fields.get("reason", "") == "" and _dispatched(r))


def _dispatched(record: Record) -> bool:
    return record.population not in ("mcp_calls", "call") or record.fields["outcome"] == "dispatched"


def edited(record: Record) -> Record:
    """Return the record with one digested field changed to another valid value."""
    if record.population in ("mcp_calls", "call"):
        return record.edit(tool_digest="sha256:" + "0" * 64)
    if record.population in ("audit_log", "audit"):
        return record.edit(resource=record.fields["resource"] + "x")
    return record.edit(agent_id="stranger")


Change = Callable[[sqlite3.Connection, Place, list[Record], Record], Planted]


def at(record: Record, *short: str, last: int | None = None, first: int | None = None, count: int = 1) -> Planted:
    """Return what was planted at a record, by default one record."""
    begin = record.seq if first is None else first
    return Planted(codes(*short), record.population, record.scope, begin, begin if last is None else last, count)


def _edit(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, edited(r))
    return at(r, "C01")


def _edit_ts(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(r, ts=r.ts + 1))
    return at(r, "C01")


def _edit_two(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    after = chain[chain.index(r) + 1]
    for one in (r, after):
        save(c, edited(one))
    return at(r, "C01", last=after.seq, count=2)


def _delete(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    delete(c, r.population, r.scope, r.seq, r.seq)
    return at(r, *(("C03", "D04") if place.population in ("audit_log", "audit") else ("C03",)))


def _delete_range(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    last = chain[chain.index(r) + 4].seq if len(chain) > chain.index(r) + 5 else r.seq
    delete(c, r.population, r.scope, r.seq - 3, last)
    short = ("C03", "D04") if place.population in ("audit_log", "audit") else ("C03",)
    return at(r, *short, first=r.seq - 3, last=last, count=last - r.seq + 4)


def _head(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    last = 1 if place.events else 3
    delete(c, r.population, r.scope, 1, last)
    return at(r, *(("C04", "T06") if place.events else ("C04",)), first=1, last=last, count=last)


def _relink(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(r, prev_hash=_OTHER))
    return at(r, "C01", "C02")


def _rehash(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(r, hash=_OTHER))
    return at(r, "C01", "C02", last=r.seq + 1, count=2)


def _replace(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    forged = edited(r)
    save(c, replace(forged, hash=forged.digest()))
    return at(r, "C02", first=r.seq + 1)


def _genesis(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(chain[0], prev_hash=_OTHER))
    reseal(c, r.population, r.scope, 1)
    return at(chain[0], "C05")


def _restart(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(r, prev_hash=""))
    reseal(c, r.population, r.scope, r.seq)
    return at(r, "C06")


def _upper(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(r, hash=r.hash.upper()))
    return at(r, "C01", "C02", "C08", last=r.seq + 1, count=2)


def _placeholder(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(chain[-1], hash="h1"))
    return at(chain[-1], "C01", "C08")


def _copied(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(chain[-1], hash=r.hash))
    return at(chain[-1], "C01", "C09")


def _back(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(r, ts=r.ts - 50_000))
    reseal(c, r.population, r.scope, r.seq)
    return at(r, "C10")


def _future(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, replace(chain[-1], ts=4_102_444_800))
    reseal(c, r.population, r.scope, chain[-1].seq)
    return at(chain[-1], *(("C11", "T12") if place.events else ("C11",)))


def _zero_seq(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    early = replace(chain[0], seq=0)
    if "request_id" in early.fields:
        early = early.edit(request_id="req-zero")
    insert(c, replace(early, hash=early.digest()))
    return at(early, "C02", "C07", last=1, count=2)


def _bar(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    save(c, r.edit(agent_id="a|b") if place.events else r.edit(resource="hook:x|rejected"))
    reseal(c, r.population, r.scope, r.seq)
    return at(r, "C13")


def _fork(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    other = edited(r)
    if "request_id" in other.fields:
        other = other.edit(request_id="req-fork")
    insert(c, replace(other, hash=other.digest()), identity=f"{r.scope}/2")
    return at(r, "C21", "T18")


def _sidecar(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    _set(c, r, "ts = ts + 1")
    return at(r, "C16")


def _zero_ts(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    _set(c, r, "ts = 0")
    # A row time of 0 is a case of its own (C17), not one more row that disagrees with its record (C16).
    return at(r, "C17")


def _unreadable(c: sqlite3.Connection, place: Place, chain: list[Record], r: Record) -> Planted:
    _set(c, r, "body = CAST('{\"seq\":' AS BLOB)")
    return at(r, "M01" if place.population == "call" else "C22")


def _set(c: sqlite3.Connection, r: Record, what: str) -> None:
    c.execute(
        f"UPDATE plane_records SET {what} WHERE kind = ? AND parent = ? AND seq = ?",  # noqa: S608 - fixed texts above
        (r.population, r.scope, r.seq),
    )


_ROWS = ("audit_log", "mcp_calls", "task_events")
_ALL = tuple(p.name for p in PLACES)
_PLANE = tuple(n for n in _ALL if n not in _ROWS)
_LONG = tuple(p.name for p in PLACES if not p.events)
_AUDITS = ("audit_log", "audit", "audit_neutral")
_NO_AUDITS = tuple(n for n in _ALL if n not in _AUDITS)
_JOINED = (*_AUDITS[:2], "task_events", "task_event")
_CALLS = ("mcp_calls", "call", "call_neutral")

_KINDS: tuple[tuple[str, str, tuple[str, ...], Change], ...] = (
    ("edited", "a digested field was changed", _ALL, _edit),
    ("ts_edited", "the time was changed by one second", _ALL, _edit_ts),
    ("two_edited", "two neighbours were changed", _ALL, _edit_two),
    ("deleted", "a record in the middle was deleted", _ALL, _delete),
    ("range_deleted", "several records in the middle were deleted", _LONG, _delete_range),
    ("head_deleted", "the first records were deleted", _ALL, _head),
    ("relinked", "prev_hash was replaced by another hash", _ALL, _relink),
    ("rehashed", "the stored hash was replaced by another one", _ALL, _rehash),
    ("replaced", "a record was replaced by a self-consistent one", _ALL, _replace),
    ("false_genesis", "the first record claims one before it, sealed again", _ALL, _genesis),
    ("restarted", "the chain begins anew in the middle, sealed again", _ALL, _restart),
    ("upper_hash", "a hash was written in capitals", _ALL, _upper),
    ("placeholder", "the last hash is a placeholder", _ALL, _placeholder),
    ("hash_copied", "the last hash is a copy of an earlier one", _ALL, _copied),
    ("time_back", "the clock goes back by hours, sealed again", _ALL, _back),
    (
        "future",
        "the last record is of the year 2100, sealed again",
        tuple(n for n in _ALL if n not in _AUDITS),
        _future,
    ),
    ("seq_zero", "a record at seq 0", ("mcp_calls", "call"), _zero_seq),
    ("bar", "a digested text holds the separator, sealed again", _JOINED, _bar),
    ("forked", "two records at one place", _PLANE, _fork),
    ("sidecar_ts", "the row's time differs from the record's", _PLANE, _sidecar),
    ("zero_ts", "the row's time is 0", _PLANE, _zero_ts),
    ("unreadable", "the body is cut off", _PLANE, _unreadable),
)


# There the primary key keeps two records from one place; whoever writes the second one has to drop it.
_WITHOUT_KEY = OnPostgres(
    before=("ALTER TABLE plane_chain DROP CONSTRAINT IF EXISTS plane_chain_pkey",), short="C21 S06"
)


def make(name: str, title: str, place: Place, change: Change) -> Fault:
    """Return a fault that changes a record in the middle of a chain of this place, guards put back afterwards."""

    def apply(connection: sqlite3.Connection) -> Planted:
        chain = chain_of(connection, place)
        with unguarded(connection):
            return change(connection, place, chain, middle(place, chain))

    way = _WITHOUT_KEY if change is _fork else OnPostgres()
    return Fault(f"{place.name}_{name}", f"{place.name}: {title}", place.generations, apply, place.needs, way)


def place(name: str) -> Place:
    """Return a place by its name."""
    return next(p for p in PLACES if p.name == name)


FAULTS: tuple[Fault, ...] = tuple(
    make(name, title, place(where), change) for name, title, places, change in _KINDS for where in places
)
