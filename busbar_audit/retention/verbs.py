"""The verbs by which rows leave a store: which a generation has, what they go by, and their two query files.

A verb has files of two kinds: ``queries/purges/<family>/`` holds the statements of the store's own engine, to be run on a
private copy; ``queries/predictions/<family>/`` says in DuckDB which rows they take. They share no text, so that each is
held against the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from busbar_audit import queries
from busbar_audit.queries import Query

_KEYS = ("verb", "table", "about", "applies")
DAY = 86_400
# Which retention of a policy a verb carries out; the others are never due by age and want a cutoff of their own.
_OF = {
    "purge_tasks_before": "tasks",
    "purge_mcp_calls_before": "calls",
    "purge_windows_before": "windows",
    "purge_metering_before": "metering",
    "redeem_ask_state": "tokens",
    "redeem_plane_token": "tokens",
    "delete_finished_before": "tasks",
}
_OF_KIND = {"task": "tasks", "call": "calls", "demotion": "demotions"}
_BY_KIND = ("purge_plane_records_before", "redeem_plane_token")


@dataclass(frozen=True)
class Verb:
    """One way in which rows leave a store, on one engine and in one generation.

    name : as the store calls it. kind : of plane records or tokens, where it goes by kind. of : the retention of a policy it
    carries out, or nothing. predictions, purges : its query files, the purges in the order in which they run.
    """

    name: str
    kind: str
    of: str
    predictions: tuple[Query, ...]
    purges: tuple[Query, ...]

    @property
    def label(self) -> str:
        """The verb with its kind."""
        return f"{self.name}({self.kind})" if self.kind else self.name

    @property
    def takes(self) -> frozenset[str]:
        """Names of its parameters."""
        return frozenset(p.name for query in (*self.predictions, *self.purges) for p in query.parameters)

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables it may take rows from, each once."""
        return tuple(dict.fromkeys(query.header["table"] for query in self.predictions))

    def values(self, cutoff: int | None, now: int) -> dict[str, Any]:
        """Values to bind. A bucket of metering is one day exactly: the one the cutoff lies in."""
        day = (cutoff or 0) // DAY * DAY
        textual = any(p.name == "bucket" and p.type == "varchar" for query in self.purges for p in query.parameters)
        return {"cutoff": cutoff, "now": now, "kind": self.kind, "bucket": str(day) if textual else day}


@cache
def _files(folder: str, family: str) -> tuple[Query, ...]:
    return tuple(
        queries.load(path, keys=_KEYS, optional=("params", "needs"))
        for path in sorted((queries.root() / folder / family).glob("*.sql"))
    )


def verbs(family: str, engine: str, generation: int, kinds: Mapping[str, tuple[str, ...]]) -> Iterator[Verb]:
    """Every verb of a generation, in the order of their names.

    Parameters
    ----------
    kinds : kinds there are in the store, by the table that holds them: a verb that goes by kind is there once for each.
    """

    def there(folder: str) -> list[Query]:
        return [query for query in _files(folder, family) if query.covers(family, engine, generation)]

    purges, predictions = there("purges"), there("predictions")
    for name in sorted({query.header["verb"] for query in purges}):
        mine = tuple(query for query in predictions if query.header["verb"] == name)
        run = tuple(query for query in purges if query.header["verb"] == name)
        by_kind = name in _BY_KIND and any(p.name == "kind" for query in run for p in query.parameters)
        for kind in kinds.get(run[0].header["table"], ()) if by_kind else ("",):
            yield Verb(name, kind, _OF_KIND.get(kind, "") if name == _BY_KIND[0] else _OF.get(name, ""), mine, run)
