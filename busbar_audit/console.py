"""What a terminal shows: results as lines of text, and progress on stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from busbar_audit import witness_file
from busbar_audit.checks import Check, catalogue
from busbar_audit.errors import WitnessError
from busbar_audit.findings import Outcome
from busbar_audit.origin import origin
from busbar_audit.queries import SEVERITIES
from busbar_audit.store import Store
from busbar_audit.stores import generation_name
from busbar_audit.text import printable

_QUIET_SECONDS = 2.0
_SHOWN = 5


def shown(text: object, limit: int = 200) -> str:
    """Store content for one line: control characters visible, cut with a mark."""
    line = printable(str(text))
    return line if len(line) <= limit else f"{line[:limit]}… ({len(line):,} characters)"


class Progress:
    """Says on stderr what a longer run is doing: a live line on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._last, self._said = "", 0.0
        self._live = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        """Say what is being done; nothing is printed in the first two seconds."""
        seconds = time.monotonic() - self._started
        # A log gets a line now and then; a terminal shows each step in the same place.
        if seconds < _QUIET_SECONDS or text == self._last or (not self._live and seconds - self._said < _QUIET_SECONDS):
            return
        self._last, self._said = text, seconds
        line = f"{seconds:5.0f} s  {shown(text, 90)}"
        print(f"\r\x1b[K{line}" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True)

    def done(self) -> None:
        """Clear the live line."""
        if self._live and self._last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def progress() -> Iterator[Progress]:
    """A Progress that clears its line at the end."""
    bar = Progress()
    try:
        yield bar
    finally:
        bar.done()


def document_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The result of one store (the content of result.json), gravest first; the verdict word is the command's to print."""
    store, snapshot, requested = document["store"], document["snapshot"], document["requested"]
    number = store["generation"]
    name = (
        generation_name(store["family"], number)
        if number is not None
        else f"of unknown generation (stamp {store['stamp']})"
    )
    yield f"{store['family']} {store['engine']} {name} · {shown(store['location'])}"
    yield f"copy      {snapshot['taken_at']} {origin(snapshot)}"
    covered = document["covered"]
    left = f", {len(covered['not_selected'])} left out on request" if covered["not_selected"] else ""
    yield (
        f"requested {covered['checks_selected']} checks as of {requested['as_of']}{left}; "
        f"{covered['checks_run']} of them looked at rows"
    )
    account = document["account"]
    rows, seen = sum(line["rows"] for line in account), sum(line["examined"] for line in account)
    yield f"account   {rows:,} rows in {len(account)} tables = {seen:,} examined + {rows - seen:,} not examined"
    for line in account:
        for reason, count in line["not_examined"].items():
            yield f"          {shown(line['table'])}: {count:,} not examined ({reason})"
    yield from _chain_lines(document["chains"]["totals"])
    found = [check for check in document["checks"] if check["outcome"] == Outcome.FINDING]
    if found:
        total: Counter[str] = Counter()
        for check in found:
            total.update(check["by_severity"])
        yield "findings  " + ", ".join(f"{total[s]:,} {s}" for s in SEVERITIES if total[s])
        for check in sorted(found, key=lambda c: (SEVERITIES.index(c["severity"]), c["code"])):
            yield from _finding_lines(check)
    for each in document["accepted"]:
        yield f"accepted  {each['findings']} of {each['code']} at {shown(each['place'])}: {shown(each['reason'])}"
    yield from _not_checked_lines(document["checks"])
    yield f"verdict   {'; '.join(document['reasons'])}"


def _chain_lines(totals: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, total in totals.items():
        states = ", ".join(f"{count:,} {state}" for state, count in total.items() if state not in ("chains", "records"))
        yield f"chains    {name}: {total['chains']:,} with {total['records']:,} records: {states}"
    if any("intact-unanchored" in total for total in totals.values()):
        yield "          unanchored: nothing outside the store vouches for the end of these chains"


def _finding_lines(check: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {check['severity'].upper():8}  {check['code']}  {check['title']}"
    for sample in check["samples"][:_SHOWN]:
        subject, place = sample["subject"], sample["place"]
        where = shown(subject if place == subject else f"{subject} {place}", 120)
        extent = "" if sample["first_seq"] is None else f" [{sample['first_seq']}..{sample['last_seq']}]"
        yield f"            {where}{extent}: {shown(sample['detail'])}"
    if check["findings"] > _SHOWN:
        yield f"            and {check['findings'] - _SHOWN:,} more"
    if check["reason"]:
        yield f"            in part only: {shown(check['reason'])}"
    runbook = next((c.query.header["next"] for c in catalogue() if c.code == check["code"]), "")
    yield f"            next: {runbook}"


def _not_checked_lines(checks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        if check["outcome"] not in (Outcome.PASS, Outcome.FINDING):
            groups.setdefault((check["outcome"], check["reason"]), []).append(check["code"])
    for (outcome, reason), codes in groups.items():
        names = ", ".join(codes[:8]) + (f" and {len(codes) - 8} more" if len(codes) > 8 else "")
        yield f"not checked ({outcome.replace('_', ' ')}: {shown(reason)}): {names}"


def store_lines(store: Store, checks: list[tuple[Check, str]]) -> Iterator[str]:
    """What a store is, what of it can be audited and what cannot and why.

    Parameters
    ----------
    checks : every check of the family with the reason it does not apply, or an empty text.
    """
    facts, generation = store.source.facts(), store.generation
    yield f"{store.name} · {shown(store.target.label)}"
    yield (
        f"stamp     {store.source.about.family.stamp_name} {_called(store, generation.stamp)}; the tables are of generation "
        f"{_called(store, generation.implied) if generation.implied else 'below 5'} at least"
    )
    if facts["main_bytes"] is None:
        yield f"snapshot  {shown(origin(store.source.document()), 200)}"
    else:
        yield (
            f"file      {facts['main_bytes']:,} bytes, WAL {facts['wal_bytes'] or 0:,} bytes, "
            f"{facts['journal_mode']} mode; copied by {store.snapshot.method}"
        )
    width = max((len(shown(name, 40)) for name in store.rows), default=5)
    for name, rows in sorted(store.rows.items()):
        yield f"table     {shown(name, 40):{width}}  {rows:>12,} rows  {store.state_of(name)}"
    for name, why in sorted(store.source.about.unreadable.items()):
        yield f"table     {shown(name, 40):{width}}  not readable: {shown(why, 200)}"
    for difference in store.differences:
        yield f"shape     {difference.kind}: {shown(difference.table)}.{shown(difference.name)}: {shown(difference.detail)}"
    can = [check for check, reason in checks if not reason]
    yield f"checks    {len(can)} of {len(checks)} apply: {', '.join(sorted({check.area for check in can})) or 'none'}"
    reasons: dict[str, list[str]] = {}
    for check, reason in checks:
        if reason:
            reasons.setdefault(reason, []).append(check.code)
    for reason, codes in reasons.items():
        yield f"          not {', '.join(codes)}: {reason}"


def _called(store: Store, number: int) -> str:
    """A generation in words: its number, or the name it has instead."""
    if store.family == "busbar":
        return str(number)
    return generation_name(store.family, number) if number else "none"


def check_lines(check: Check) -> Iterator[str]:
    """One check in full: text, runbook and SQL."""
    header = check.query.header
    yield f"{check.code}  {check.title}"
    yield f"severity        {check.severity} ({check.area})"
    for key in ("applies", "params", "needs", "examines", "meaning", "proves", "does not prove", "next"):
        if header.get(key):
            yield f"{key:15} {header[key]}"
    yield ""
    yield check.query.sql


def witness_lines(directory: Path, name: str | None) -> Iterator[str]:
    """What witness files say: all of a folder in short, or one with its chains.

    Raises
    ------
    WitnessError : no such folder or file.
    """
    files = sorted(directory.glob(f"*{witness_file.SUFFIX}")) if name is None else [directory / name]
    if not files or not all(file.is_file() for file in files):
        raise WitnessError(
            f"No witness in {printable(str(directory))}.",
            f"Expected {printable(name) if name else 'files *' + witness_file.SUFFIX}.",
            "`busbar-audit audit TARGET --witness DIR` begins one.",
        )
    for file in files:
        try:
            content = witness_file.read(file)
        except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
            yield f"{shown(file.name)}  not as it was left: {shown(str(error))}"
            continue
        at = datetime.fromtimestamp(content.updated, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f"{shown(file.name)}  {len(content.lines):,} chains, last proven {at}, of {shown(content.location)}"
        for each in content.adoptions:
            yield f"  adopted {shown(each.at)}: {shown(each.reason)}"
        for one in content.renewals:
            chain = f"{shown(one.population)} {shown(one.scope)}"
            yield f"  begun anew, seen {shown(one.at)}: {chain}, before that up to {one.last_seq}, {one.last_hash}"
        for line in content.lines.values() if name is not None else ():
            scope = shown(line.scope)
            yield f"  {line.population} {scope}: {line.first_seq}..{line.last_seq}, {line.records:,} records, {line.last_hash}"
