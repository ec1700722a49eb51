"""summary.md: a bounded page for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from busbar_audit.origin import identity
from busbar_audit.queries import SEVERITIES
from busbar_audit.reporting.panels import has_chains
from busbar_audit.text import printable

CHECKS = 20
SAMPLES = 3
_LONGEST = 160
_WORDS = {"sha256": "SHA-256"}


def summary(document: Mapping[str, Any], incomplete: Sequence[str] = (), verdict: str | None = None) -> str:
    """Markdown of a result.json.

    Parameters
    ----------
    document : content of result.json. incomplete : notebooks that did not complete, with their reasons.
    verdict : of the whole run, where notebooks are part of it.

    Text from the store stands in code spans only, so nothing in it can be a link, an image or HTML.
    """
    store, covered, snapshot = document["store"], document["covered"], document["snapshot"]
    generation = f"v{store['generation']}" if store["generation"] is not None else "of unknown generation"
    lines = [
        f"# busbar-audit: {verdict or document['verdict']}",
        "",
        f"- Store: {store['family']} {store['engine']} {generation}, {code(store['location'])}",
        f"- Copy: taken {snapshot['taken_at']} by {snapshot['method']}, "
        + ", ".join(f"{_WORDS.get(name, name)} `{value}`" for name, value in identity(snapshot)),
        *(f"- {code(reason)}" for reason in (*document["reasons"], *incomplete)),
        f"- Checks with an answer: {covered['checks_run']} of {covered['checks_selected']} selected"
        + (f", {len(covered['not_selected'])} not selected" if covered["not_selected"] else ""),
        f"- Rows examined: {sum(int(line['examined']) for line in document['account'])} of "
        f"{sum(int(line['rows']) for line in document['account'])}",
        *([f"- Chained records: {covered['chained_records']}"] if has_chains(document) else ()),
        "",
        "| severity | findings |",
        "|---|---:|",
        *(f"| {severity} | {_total(document, severity)} |" for severity in SEVERITIES),
        "",
    ]
    found = [check for check in document["checks"] if check["outcome"] == "finding"]
    found.sort(key=lambda check: (SEVERITIES.index(check["severity"]), check["code"]))
    if found:
        lines += ["## Findings", ""]
    for check in found[:CHECKS]:
        lines.append(f"- **{check['code']}** {check['title']} ({check['severity']}, {check['findings']})")
        lines += [
            f"  - {code(sample['subject'])} {code(sample['place'])}: {code(sample['detail'])}"
            for sample in check["samples"][:SAMPLES]
        ]
    if len(found) > CHECKS:
        lines.append(f"- and {len(found) - CHECKS} more checks with findings")
    blind = [check for check in document["checks"] if check["outcome"] == "could_not_run"]
    if blind:
        lines += ["", "## Could not run", "", *(f"- **{c['code']}** {code(c['reason'])}" for c in blind[:CHECKS])]
        if len(blind) > CHECKS:
            lines.append(f"- and {len(blind) - CHECKS} more")
    return "\n".join(lines) + "\n"


def code(value: object) -> str:
    """A code span that nothing inside can end."""
    plain = printable(value)
    if len(plain) > _LONGEST:
        plain = plain[:_LONGEST] + "…"
    plain = plain.replace("`", "\\x60").replace("|", "\\x7c").strip()
    return f"`{plain}`" if plain else "(empty)"


def _total(document: Mapping[str, Any], severity: str) -> int:
    return sum(int(check["by_severity"].get(severity, 0)) for check in document["checks"])
