"""The check catalogue as a Markdown page, generated from the files in queries/."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from busbar_audit.checks import Check, catalogue
from busbar_audit.stores import generation_name


def page() -> str:
    """The text of docs/checks.md; a test holds the committed page against it."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    checks = sorted(catalogue(), key=lambda c: (c.family, c.area, c.code))
    yield "# Checks"
    yield ""
    yield f"{len(checks)} checks. Each is one file in `queries/checks/`; `busbar-audit checks CODE` shows its SQL."
    yield "A code is kept for ever."
    yield "This page is generated (`make docs`)."
    for (family, area), group in groupby(checks, key=lambda c: (c.family, c.area)):
        listed = list(group)
        yield ""
        yield f"## {family}: {area}"
        yield ""
        yield "| code | finds | severity | generations |"
        yield "| --- | --- | --- | --- |"
        for check in listed:
            yield f"| [{check.code}](#{check.code.lower()}) | {check.title} | {check.severity} | {_generations(check)} |"
        for check in listed:
            yield from _entry(check)


def _generations(check: Check) -> str:
    def called(number: int) -> str:
        name = generation_name(check.family, number)
        return name.removeprefix("v") if check.family == "busbar" else name

    return ", ".join(f"{s.engine} {called(s.first)}–{called(s.last)}" for s in check.query.applies)


def _entry(check: Check) -> Iterator[str]:
    header = check.query.header
    yield ""
    yield f"### {check.code}"
    yield ""
    yield f"**{check.title}.** {header['meaning']}"
    yield ""
    yield f"- proves: {header['proves']}"
    yield f"- does not prove: {header['does not prove']}"
    yield f"- next: {header['next']}"
    if check.needs:
        yield f"- needs: `{check.needs}`"
    if check.query.parameters:
        yield "- parameters: " + ", ".join(
            f"`{p.name}`" + (f" (default {p.default})" if p.default is not None else "") for p in check.query.parameters
        )
