"""Whether a case file says of its records what these show: nothing is taken from it that can be computed again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from busbar_audit.reporting import digests
from busbar_audit.text import printable

NAME = "case.json"
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def contradictions(directory: Path) -> Iterator[str]:
    """Each way in which a case file contradicts itself; nothing where there is no case file."""
    place = directory / NAME
    if not place.exists():
        return
    try:
        case = json.loads(place.read_text(encoding="utf-8"))
        listed = [dict(record) for record in case["records"]]
        for chain in digests.by_chain(listed).values():
            for record, said in zip(chain, digests.shows(chain), strict=True):
                yield from _of_record(record, said)
    except _UNREADABLE as error:
        yield f"cannot be read as a case file: {printable(str(error))[:100]}"


def _of_record(record: Mapping[str, Any], said: list[str]) -> Iterator[str]:
    name = printable(f"{record['population']} {record['scope']} {record['seq']}")[:120]
    if record["shows"] != said:
        yield f"says of record {name} {record['shows']}, its digests show {said}"
    stored = record.get("stored")
    if stored is not None and digests.digest(record["population"], _numbers(stored)) != record["recomputed"]:
        yield f"names a digest of record {name} that is not that of its stored fields"
    if (
        stored is not None
        and "hash" in stored
        and (stored["hash"], stored["prev_hash"]) != (record["hash"], record["prev_hash"])
    ):
        yield f"names hashes of record {name} that are not its stored ones"


def _numbers(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Integers above 2**53 are text in JSON."""
    return {
        name: int(value) if name in ("seq", "ts") and value is not None else value for name, value in stored.items()
    }
