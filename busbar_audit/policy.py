"""What an operator declares of a store: a TOML file given with ``--policy``.

An unknown key is an error, since a word that is misspelt would silence nothing and be taken for granted. What a policy
silences is counted and listed in the result.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from busbar_audit.errors import PolicyError
from busbar_audit.text import printable

_AGE = re.compile(r"([1-9][0-9]{0,5}) ?(d|h)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HOUR, _DAY = 3600, 86400
# What a purge can take. The admin audit and the denylist are not among them: nothing may ever take these.
KEPT = ("tasks", "calls", "windows", "metering", "tokens", "demotions")
_KEYS = {
    "": {"expect_empty", "gateway", "retention", "hold", "receipt", "accept", "a2a"},
    "a2a": {"helpers", "runtime_role"},
    "gateway": {"pools", "servers"},
    "retention": set(KEPT),
    "hold": {"of", "place", "reason", "since", "until"},
    "receipt": {"when", "of", "cutoff", "count"},
    "accept": {"code", "subject", "place", "reason", "until"},
}


@dataclass(frozen=True)
class Acceptance:
    """A finding that somebody has looked at and lets be.

    subject, place : of the finding, exactly; a subject of None stands for any. until : unix seconds from which it counts
    again, None for never.
    """

    code: str
    subject: str | None
    place: str
    reason: str
    until: int | None = None

    def holds(self, as_of: int) -> bool:
        """Whether it is in force at a time."""
        return self.until is None or as_of < self.until


@dataclass(frozen=True)
class Hold:
    """Something that no purge may take for now: a task, or the calls of a principal.

    since : unix seconds; what was taken before is no breach. until : unix seconds from which it counts no longer.
    """

    of: str
    place: str
    reason: str
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class Receipt:
    """A purge that ran. when, cutoff : unix seconds. of : calls or tasks. count : of calls, or of tasks, that it took."""

    when: int
    of: str
    cutoff: int
    count: int


@dataclass(frozen=True)
class Policy:
    """A policy as read.

    pools, servers : of the gateway's configuration; None where it is not told. cutoffs : by what is kept, unix seconds,
    or an age in seconds as a negative number. holds : what no purge may take. receipts : purges that ran.
    helpers : fingerprints of reviewed helper bodies of an A2A store. runtime_role : the role its service uses.
    sha256 : of the file.
    """

    expect_empty: bool = False
    pools: tuple[str, ...] | None = None
    servers: tuple[str, ...] | None = None
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    helpers: tuple[str, ...] = ()
    runtime_role: str | None = None
    accepted: tuple[Acceptance, ...] = ()
    sha256: str = ""

    def values(self, as_of: int) -> dict[str, Any]:
        """Parameters for the checks of a run whose clock is `as_of`."""
        values: dict[str, Any] = {}
        if self.pools is not None:
            values["pools"] = list(self.pools)
        if self.servers is not None:
            values["servers"] = list(self.servers)
        if self.helpers:
            values["accepted_bodies"] = " ".join(self.helpers)
        if self.runtime_role is not None:
            values["runtime_role"] = self.runtime_role
        cutoffs = self.cutoffs_at(as_of)
        if "tasks" in cutoffs:
            values["cutoff"] = cutoffs["tasks"]
        if "calls" in cutoffs:
            values["calls_cutoff"] = cutoffs["calls"]
        for each in self.receipts:
            if each.when <= as_of:
                values["receipts"] = True
                name = f"receipt_{each.of}"
                values[name] = max(each.cutoff, values.get(name, 0))
        return values

    def cutoffs_at(self, as_of: int) -> dict[str, int]:
        """Cutoffs by what is kept, unix seconds; an age counts from the run's clock back."""
        return {kept: cutoff if cutoff >= 0 else as_of + cutoff for kept, cutoff in self.cutoffs.items()}


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file.

    Raises
    ------
    PolicyError : it cannot be read, is no TOML, or has a key or a value that is not known here.
    """
    file = Path(path)
    name = printable(str(file))
    try:
        content = file.read_bytes()
        told = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise PolicyError(
            f"Policy {name}: {error.strerror}.", "Expected a TOML file.", "Nothing was checked."
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(
            f"Policy {name}: {printable(str(error))}.", "Expected a TOML file.", "Nothing was checked."
        ) from None
    _require_known(name, "", told)
    expect_empty = told.get("expect_empty", False)
    if not isinstance(expect_empty, bool):
        raise _wrong(name, "expect_empty", "true or false")
    gateway, retention, a2a = (_table(name, told, key) for key in ("gateway", "retention", "a2a"))
    return Policy(
        expect_empty,
        _names(name, gateway, "pools"),
        _names(name, gateway, "servers"),
        {key: _cutoff(name, f"retention.{key}", value) for key, value in retention.items()},
        holds=tuple(_hold(name, each) for each in _list(name, told, "hold")),
        receipts=tuple(_receipt(name, each) for each in _list(name, told, "receipt")),
        helpers=_digests(name, a2a),
        runtime_role=_role(name, a2a),
        accepted=tuple(_acceptance(name, each) for each in _list(name, told, "accept")),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _wrong(name: str, key: str, expected: str) -> PolicyError:
    return PolicyError(f"Policy {name}: {key} is not as expected.", f"Expected {expected}.", "Nothing was checked.")


def _require_known(name: str, table: str, told: Mapping[str, Any]) -> None:
    if unknown := sorted(told.keys() - _KEYS[table]):
        place = f" in [{table}]" if table else ""
        raise PolicyError(
            f"Policy {name}: unknown key {printable(unknown[0])}{place}.",
            f"Known there: {', '.join(sorted(_KEYS[table]))}.",
            "Nothing was checked: a key that is misspelt would be taken for granted.",
        )


def _table(name: str, told: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = told.get(key, {})
    if not isinstance(table, dict):
        raise _wrong(name, key, f"a table, [{key}]")
    _require_known(name, key, table)
    return table


def _list(name: str, told: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    listed = told.get(key, [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise _wrong(name, key, f"tables, each [[{key}]]")
    for each in listed:
        _require_known(name, key, each)
    return listed


def _names(name: str, table: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if key not in table:
        return None
    names = table[key]
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise _wrong(name, f"gateway.{key}", "a list of names")
    return tuple(names)


def _digests(name: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    digests = table.get("helpers", [])
    if not isinstance(digests, list) or not all(isinstance(each, str) and _DIGEST.fullmatch(each) for each in digests):
        raise _wrong(name, "a2a.helpers", "a list of SHA-256 digests, 64 hexadecimal digits each")
    return tuple(digests)


def _role(name: str, table: Mapping[str, Any]) -> str | None:
    role = table.get("runtime_role")
    if role is not None and (not isinstance(role, str) or not role):
        raise _wrong(name, "a2a.runtime_role", "the name of a role")
    return role


def _cutoff(name: str, key: str, value: Any) -> int:
    if isinstance(value, str) and (age := _AGE.fullmatch(value)):
        return -int(age[1]) * (_DAY if age[2] == "d" else _HOUR)
    moment = _moment(value)
    if moment is None or moment < 0:
        raise _wrong(name, key, 'an age such as "90d" or "36h", or a time with its zone such as 2026-01-01T00:00:00Z')
    return moment


def _moment(value: Any) -> int | None:
    if isinstance(value, datetime):
        return None if value.tzinfo is None else int(value.timestamp())
    if isinstance(value, date):
        return int(datetime.combine(value, time(), UTC).timestamp())
    return None


def _of(name: str, key: str, told: Mapping[str, Any]) -> str:
    kept = told.get("of")
    if kept not in KEPT:
        raise _wrong(name, f"{key}.of", f"one of {', '.join(KEPT)}")
    return str(kept)


def _time(name: str, key: str, value: Any) -> int:
    moment = _moment(value)
    if moment is None or moment < 0:
        raise _wrong(name, key, "a date, or a time with its zone such as 2026-01-01T00:00:00Z")
    return moment


def _hold(name: str, told: Mapping[str, Any]) -> Hold:
    of = _of(name, "hold", told)
    if of not in ("tasks", "calls"):
        raise _wrong(name, "hold.of", "tasks, with the id of one, or calls, with a principal")
    for key in ("place", "reason"):
        if not isinstance(told.get(key), str) or not told[key].strip():
            raise _wrong(name, f"hold.{key}", "a text")
    since, until = (_time(name, f"hold.{key}", told[key]) if key in told else None for key in ("since", "until"))
    return Hold(of, told["place"], told["reason"], since, until)


def _receipt(name: str, told: Mapping[str, Any]) -> Receipt:
    of = _of(name, "receipt", told)
    if of not in ("tasks", "calls"):
        raise _wrong(
            name, "receipt.of", "tasks or calls: of others nothing is kept that a receipt could be held against"
        )
    when, cutoff = (_time(name, f"receipt.{key}", told.get(key)) for key in ("when", "cutoff"))
    count = told.get("count")
    if type(count) is not int or count < 0:
        raise _wrong(name, "receipt.count", "a number of rows")
    if cutoff > when:
        raise _wrong(name, "receipt.cutoff", "a time before the purge ran")
    return Receipt(when, of, cutoff, count)


def _acceptance(name: str, told: Mapping[str, Any]) -> Acceptance:
    for key in ("code", "place", "reason"):
        if not isinstance(told.get(key), str) or (key != "place" and not told[key].strip()):
            raise _wrong(name, f"accept.{key}", "a text; code, place and reason have to be there")
    if not isinstance(told.get("subject", ""), str):
        raise _wrong(name, "accept.subject", "a text")
    until = None
    if "until" in told and (until := _moment(told["until"])) is None:
        raise _wrong(name, "accept.until", "a date, or a time with its zone")
    return Acceptance(told["code"], told.get("subject"), told["place"], told["reason"], until)
