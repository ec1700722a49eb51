"""What a synthetic store is to hold: sizes, times, names, and the legal oddities asked for."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from busbar_audit.errors import UsageError

Bodies = Literal["typed", "neutral", "migrated"]
EventDigest = Literal["v1", "v2", "mixed"]
AuditScheme = Literal["legacy", "core", "kernel", "mixed"]

# Legal odd shapes. None of them is tampering; where the sheet's own checks speak up at medium or above all the same,
# the third column names the codes to expect. Codes in brackets are below medium.
ODD: dict[str, tuple[str, tuple[str, ...]]] = {
    "purged_head": ("calls older than a quarter of the time purged by ts, for all principals (4.8)", ("BUS-C04",)),
    "audit_gap": ("three audit rows never stored after an outage, BUSBAR-1005 (4.9)", ("BUS-C03", "BUS-D04")),
    "clock_back_small": ("now and then a clock 120 s behind, within the tolerance of 300 s", ()),
    "unicode": ("names outside ASCII, in composed and decomposed form", ()),
    "pipes": ("names with bars, quotes, line breaks, terminal escapes and HTML", ("BUS-C13",)),
    "many_principals": ("two thousand principals, most with a handful of calls", ()),
    "big_body": ("one call whose request id has 300 000 characters", ()),
    "retry": ("requests repeated under a new seq with the same request id [BUS-M07]", ()),
    "empty_texts": ("refused calls without server, tool, digest or request id", ()),
    "u64_pin": ("pin generations above 2^63", ()),
    "u64_money": ("a money cap above 2^63, stored as a negative number (generation 11 and later)", ()),
    "silent_principal": ("one busy principal says nothing for most of the time", ()),
    "audit_copy": ("a late engine has copied audit_log into kind audit (8.4; with bodies='migrated')", ()),
    "fresh": ("generation 10 and later: never upgraded, audit_log empty, kind audit from its first record", ()),
    "empty": ("schema only, no rows but the revision", ()),
}

_SERVERS = ("github", "jira", "slack", "search", "files", "calendar", "wiki", "deploy")
_PEOPLE = ("alice", "bob", "ci", "dana", "erin", "farid", "grace", "heidi", "ivan", "judy")
_UNICODE = ("vk_clé-ß", "vk_東京", "vk_cafe\u0301", "vk_🦀")
_PIPES = ("vk_a|b\"c'd", "vk_line\nbreak\ttab", "vk_\x1b[31mred\x1b[0m", "vk_<script>alert(1)</script>&amp;")


@dataclass(frozen=True)
class Plan:
    """All choices of one synthetic store; the same plan always gives the same rows."""

    generation: int
    seed: int = 0
    calls: int = 1000
    principals: int = 5
    tasks: int = 20
    audits: int = 50
    days: int = 7
    servers: int = 4
    start: int = 1_700_000_000
    digest_placeholders: bool = False
    odd: frozenset[str] = field(default_factory=frozenset)
    bodies: Bodies = "typed"
    event_digest: EventDigest | None = None
    audit_variant: AuditScheme | None = None

    @property
    def span(self) -> int:
        """Seconds from the first to the last record."""
        return self.days * 86_400

    @property
    def end(self) -> int:
        """Time of the last record; the natural `as of` of the store."""
        return self.start + self.span

    @property
    def half(self) -> int:
        """Time at which one server is demoted."""
        return self.start + self.span // 2

    @cached_property
    def principal_names(self) -> tuple[str, ...]:
        """Key ids that have traffic; the odd ones come first so that small stores have them too."""
        names: list[str] = []
        if "unicode" in self.odd:
            names += _UNICODE
        if "pipes" in self.odd:
            names += _PIPES
        count = max(self.principals, len(names) + 1, 2000 if "many_principals" in self.odd else 0)
        for n in range(count - len(names)):
            names.append(f"vk_{_PEOPLE[n]}" if n < len(_PEOPLE) else f"vk_user{n:05d}")
        return tuple(names)

    @cached_property
    def server_names(self) -> tuple[str, ...]:
        """Servers in use for the whole time; `sandbox` is in use for the first half only."""
        return tuple(_SERVERS[n] if n < len(_SERVERS) else f"srv{n}" for n in range(self.servers))

    def random(self, part: str) -> random.Random:
        """Return a generator for one part of the store, so that sizes of other parts do not change it."""
        return random.Random(f"{self.seed}/{part}")  # noqa: S311 - test data, not secrets


def make_plan(odd: Collection[str], **options: object) -> Plan:
    """Check the options and return the plan.

    Raises
    ------
    UsageError : an unknown oddity, a size below zero, or an option that this generation cannot have.
    """
    plan = Plan(odd=frozenset(odd), **options)  # type: ignore[arg-type]
    unknown = sorted(plan.odd - ODD.keys())
    if unknown:
        raise UsageError(f"oddities {', '.join(unknown)}", f"expected some of {', '.join(ODD)}", "drop the others")
    if not 5 <= plan.generation <= 12:
        raise UsageError(f"generation {plan.generation}", "expected 5 to 12", "name a generation this version knows")
    if min(plan.calls, plan.tasks, plan.audits) < 0 or min(plan.principals, plan.days, plan.servers) < 1:
        raise UsageError("sizes of the store", "expected at least 0, and 1 principal, day and server", "raise them")
    late = {"fresh", "audit_copy"} & plan.odd or plan.bodies != "typed" or plan.event_digest in ("v2", "mixed")
    if plan.generation < 10 and late:
        raise UsageError(
            f"generation {plan.generation} with bodies={plan.bodies}, odd={sorted(plan.odd)}",
            "expected generation 10 or later for plane records",
            "raise the generation or drop the option",
        )
    if plan.audit_variant not in (None, "legacy") and plan.bodies != "neutral":
        raise UsageError(
            f"audit variant {plan.audit_variant} with bodies={plan.bodies}",
            "expected neutral bodies: a typed audit record has one recipe only",
            "ask for bodies='neutral'",
        )
    if "fresh" in plan.odd and plan.bodies == "migrated":
        raise UsageError("a store both fresh and migrated", "expected one of the two", "drop one of them")
    return plan
