"""What every report says first, made from a result.json: verdict, account, findings, what was not checked, the copy."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from busbar_audit import checks
from busbar_audit.origin import identity
from busbar_audit.queries import SEVERITIES
from busbar_audit.reporting.markup import (
    Block,
    badge,
    folded,
    icon,
    moment,
    nothing,
    number,
    plain_table,
    table,
    text,
    volatile,
)
from busbar_audit.text import printable

Document = Mapping[str, Any]
SAMPLES = 5
_ALL = "All checks of the family."
_SAYS = {
    "clean": "Every check that was asked for ran, and none found anything of severity {fail_on} or above.",
    "findings": "There is something in this store that somebody has to look at.",
    "inconclusive": "This run can say neither that the store is fine nor that it is not: "
    "part of what was asked for could not be checked.",
}
_UNANSWERED = {
    "not_applicable": "not applicable",
    "could_not_run": "could not run",
    "nothing_to_check": "nothing to check",
}


@cache
def header(code: str) -> Mapping[str, str]:
    """The header of a check's file; empty for a code this version does not have."""
    return next((check.query.header for check in checks.catalogue() if check.code == code), {})


def store_name(document: Document) -> str:
    """Family, engine and generation in words."""
    store = document["store"]
    generation = store["generation"]
    return f"{store['family']} {store['engine']} " + (
        f"v{generation}" if generation is not None else "of unknown generation"
    )


def found(document: Document) -> list[Mapping[str, Any]]:
    """The checks with findings, gravest first."""
    with_findings = [check for check in document["checks"] if check["outcome"] == "finding"]
    return sorted(with_findings, key=lambda check: (SEVERITIES.index(check["severity"]), check["code"]))


def by_severity(document: Document) -> dict[str, int]:
    """Findings by severity, gravest first."""
    total: Counter[str] = Counter()
    for check in document["checks"]:
        total.update({severity: int(count) for severity, count in check["by_severity"].items()})
    return {severity: total[severity] for severity in SEVERITIES}


def verdict(
    document: Document, *, word: str | None = None, exit_code: int | None = None, more: Sequence[str] = ()
) -> Block:
    """The first screen: is it fine, what was looked at, what was not.

    Parameters
    ----------
    word, exit_code, more : verdict of the whole run and further reasons, where more than the audit belongs to it.
    """
    shown = word or document["verdict"]
    code = document["exit_code"] if exit_code is None else exit_code
    said = _SAYS[shown].format(fail_on=document["requested"]["fail_on"])
    reasons = [*([] if shown == "clean" else document["reasons"] if document["verdict"] != "clean" else []), *more]
    listed = (
        f'<ul class="ba-reasons">{"".join(f"<li>{text(reason)}</li>" for reason in reasons)}</ul>' if reasons else ""
    )
    hero = (
        f'<section class="ba-verdict ba-is-{shown}" aria-label="Verdict"><div class="ba-word">{icon(shown)}'
        f'<strong>{shown}</strong><span class="ba-exit">exit code {code}</span></div>'
        f'<p class="ba-says">{html.escape(said)}</p>{listed}</section>'
    )
    cards = "".join(
        f'<section class="ba-card"><h3>{title}</h3>{inner}</section>'
        for title, inner in (
            ("What was found", _severities(document)),
            ("What was looked at", _list(_looked_at(document))),
            ("What was not", _list(_not_looked_at(document))),
        )
    )
    counts = ", ".join(f"{n} {severity}" for severity, n in by_severity(document).items() if n) or "no findings"
    plain = f"{shown} (exit code {code}): {store_name(document)}; {counts}; {'; '.join([*document['reasons'], *more])}"
    return Block(f'{hero}<div class="ba-cards">{cards}</div>', printable(plain))


def _severities(document: Document) -> str:
    threshold = document["requested"]["fail_on"]
    rows = []
    for severity, count in by_severity(document).items():
        quiet = "" if count else " ba-zero"
        rows.append(
            f'<li class="ba-is-{severity}{quiet}">{icon(severity)}<span>{severity}</span><b>{number(count)}</b></li>'
        )
        if severity == threshold and severity != SEVERITIES[-1]:
            rows.append(f'<li class="ba-threshold"><span>from {threshold} up, findings decide the verdict</span></li>')
    return f'<ul class="ba-severities">{"".join(rows)}</ul>'


def _list(items: Sequence[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{html.escape(term)}</dt><dd>{inner}</dd>" for term, inner in items) + "</dl>"


def _looked_at(document: Document) -> list[tuple[str, str]]:
    covered, snapshot = document["covered"], document["snapshot"]
    rows = sum(int(line["rows"]) for line in document["account"])
    examined = sum(int(line["examined"]) for line in document["account"])
    chains = sum(int(total["chains"]) for total in document["chains"]["totals"].values())
    spans = (
        "none dated"
        if covered["first_ts"] is None
        else f"{moment(covered['first_ts'])}<br>to {moment(covered['last_ts'])} UTC"
    )
    chained = [
        ("Chains", f"{number(chains)} with {number(covered['chained_records'])} records"),
        ("Records from", spans),
    ]
    return [
        ("Copy taken", f"{volatile(snapshot['taken_at'].replace('T', ' ').rstrip('Z'))} UTC"),
        ("Checks", f"{number(covered['checks_run'])} of {number(covered['checks_selected'])} selected gave an answer"),
        ("Rows", f"{number(examined)} of {number(rows)} examined"),
        *(chained if has_chains(document) else ()),
    ]


def has_chains(document: Document) -> bool:
    """Whether stores of the family keep hash chains: of others nothing is said of chains and their ends."""
    return bool(document["store"]["family"] == "busbar")


def _not_looked_at(document: Document) -> list[tuple[str, str]]:
    outcomes = Counter(check["outcome"] for check in document["checks"])
    items = [(_UNANSWERED[kind].capitalize(), _checks(outcomes[kind])) for kind in _UNANSWERED if outcomes[kind]]
    left_out = document["covered"]["not_selected"]
    if left_out:
        items.append(("Not selected", _checks(len(left_out))))
    for each in document["accepted"]:
        where = f"{number(each['findings'])} of {each['code']} at {text(each['place'])}: {text(each['reason'])}"
        items.append(("Accepted by the policy", where))
    reasons: Counter[str] = Counter()
    for line in document["account"]:
        reasons.update({reason: int(count) for reason, count in line["not_examined"].items()})
    items.append(("Rows", _reasons(reasons, always=True) or "none left out"))
    if not has_chains(document):
        return items
    if (kept := document["witness"]) is None:
        unseen = "records cut off a chain's end, or a chain written anew with every digest, leave no trace"
        items.append(("Chain ends", f"no witness: {unseen}"))
    elif not kept["chains"]:
        items.append(("Chain ends", "the witness begins with this run: ends are held against it from the next one on"))
    return items


def _reasons(counts: Mapping[str, int], *, always: bool = False) -> str:
    """Reasons, each after its number of rows where there are several or `always`."""
    some = {reason: count for reason, count in sorted(counts.items()) if count}
    return "; ".join((f"{number(n)}: " if always or len(some) > 1 else "") + text(r) for r, n in some.items())


def _checks(count: int) -> str:
    return f"{number(count)} check{'' if count == 1 else 's'}"


def account(document: Document) -> Block:
    """Every table of the store: rows are examined or not, and why not."""
    rows, plain, classes = [], [], []
    lines = document["account"]
    for line in lines:
        missed = {reason: int(count) for reason, count in line["not_examined"].items()}
        why = _reasons(missed)
        settled = int(line["rows"]) == int(line["examined"]) + sum(missed.values())
        rows.append(
            [
                f"<code>{text(line['table'])}</code>",
                number(line["rows"]),
                number(line["examined"]),
                number(sum(missed.values())),
                why if settled else f"{why} <b>does not add up</b>",
            ]
        )
        classes.append("" if settled else "ba-bad")
        plain.append([line["table"], line["rows"], line["examined"], sum(missed.values()), "; ".join(missed)])
    total = [sum(int(line[part]) for line in lines) for part in ("rows", "examined")]
    rows.append(
        [
            "All tables",
            number(total[0]),
            number(total[1]),
            number(sum(row[3] for row in plain if isinstance(row[3], int))),
            "",
        ]
    )
    classes.append("ba-total")
    columns = ("table", "rows", "examined", "not examined", "because")
    made = table(
        "The account: rows in the copy = examined + not examined", columns, rows, numeric=columns[1:4], classes=classes
    )
    return Block(made, plain_table(columns, plain))


def findings(document: Document, *, samples: int = SAMPLES, codes: str = "") -> Block:
    """Findings check by check: what it means, what it proves and what not, what to do, and the first places.

    Parameters
    ----------
    samples : places shown of each check. codes : only checks whose code begins so.
    """
    shown = [check for check in found(document) if check["code"].startswith(codes)]
    if not shown:
        return Block(
            nothing("No check found anything." if not codes else "None of these checks found anything."), "no findings"
        )
    parts = [_finding(check, samples) for check in shown]
    plain = [[c["code"], c["severity"], c["findings"], c["title"]] for c in shown]
    return Block("".join(parts), plain_table(("code", "severity", "findings", "title"), plain))


def _finding(check: Mapping[str, Any], samples: int) -> str:
    about = header(check["code"])
    terms = [
        (term, html.escape(about[key]))
        for term, key in (
            ("Means", "meaning"),
            ("Proves", "proves"),
            ("Does not prove", "does not prove"),
            ("Next", "next"),
        )
        if key in about
    ]
    if check["reason"]:
        terms.insert(0, ("In part only", text(check["reason"])))
    rows = [
        [
            badge(s["severity"]),
            text(s["subject"]),
            f"<code>{text(s['place'], 80)}</code>",
            _extent(s),
            number(s["records"]),
            text(s["detail"]),
        ]
        for s in check["samples"][:samples]
    ]
    hidden = int(check["findings"]) - len(rows)
    more = f"{number(hidden)} more: all are in findings.parquet." if hidden > 0 else ""
    columns = ("severity", "in", "place", "sequence", "records", "what")
    places = table(f"{check['code']}: first places", columns, rows, numeric=("sequence", "records"), more=more)
    query = folded("SQL of this check", f"<pre><code>{html.escape(check['query'])}</code></pre>", "ba-sql")
    plural = "" if check["findings"] == 1 else "s"
    total = f"{number(check['findings'])} finding{plural} in {number(check['examined'])} rows"
    return (
        f'<article class="ba-finding ba-is-{check["severity"]}" id="{html.escape(check["code"])}"><header>'
        f'{badge(check["severity"])}<h3><span class="ba-code">{html.escape(check["code"])}</span> '
        f'{html.escape(check["title"])}</h3><span class="ba-count">{total}</span></header>'
        f"{_list(terms)}{places}{query}</article>"
    )


def _extent(sample: Mapping[str, Any]) -> str:
    first, last = sample["first_seq"], sample["last_seq"]
    if first is None:
        return ""
    return number(first) if first == last or last is None else f"{number(first)} – {number(last)}"


def _first_place(sample: Mapping[str, Any]) -> str:
    return f"{text(sample['subject'], 40)} <code>{text(sample['place'], 40)}</code> {_extent(sample)}"


def finding_list(document: Document) -> Block:
    """Findings in one table, a line a check, for the index page."""
    shown = found(document)
    if not shown:
        return Block(nothing("No check found anything."), "no findings")
    rows = [
        [
            f'<span class="ba-code">{html.escape(c["code"])}</span>',
            badge(c["severity"]),
            html.escape(c["title"]),
            number(c["findings"]),
            _first_place(c["samples"][0]),
        ]
        for c in shown
    ]
    columns = ("check", "severity", "title", "findings", "first place")
    made = table("Findings by check, gravest first", columns, rows, numeric=("findings",))
    return Block(made, plain_table(columns[:4], [[c["code"], c["severity"], c["title"], c["findings"]] for c in shown]))


def not_checked(document: Document) -> Block:
    """What gave no answer, and why: checks in one table, those not selected in a line."""
    shown = [check for check in document["checks"] if check["outcome"] in _UNANSWERED]
    order = ["could_not_run", "nothing_to_check", "not_applicable"]
    shown.sort(key=lambda check: (order.index(check["outcome"]), check["code"]))
    rows = [
        [
            f'<span class="ba-code">{html.escape(c["code"])}</span>',
            _UNANSWERED[c["outcome"]],
            html.escape(c["title"]),
            text(c["reason"]),
        ]
        for c in shown
    ]
    classes = ["ba-bad" if check["outcome"] == "could_not_run" else "" for check in shown]
    left_out = document["covered"]["not_selected"]
    columns = ("check", "outcome", "looks for", "because")
    parts = (
        table("Checks without an answer", columns, rows, classes=classes)
        if rows
        else nothing("Every selected check gave an answer.")
    )
    if left_out:
        parts += nothing(f"Not selected by this run: {text(', '.join(left_out), 2000)}.")
    plain = [[c["code"], c["outcome"], c["title"], c["reason"]] for c in shown]
    return Block(parts, plain_table(columns, plain))


def snapshot(document: Document) -> Block:
    """The copy that was audited, and the run."""
    store, copy, run, asked = (document[part] for part in ("store", "snapshot", "run", "requested"))
    source = copy.get("source")
    shape = "" if store["stamp"] == store["generation"] else f"; its shape is at least that of v{store['implied']}"
    selection = " ".join(
        f"{word} {', '.join(asked[key])}." for word, key in (("Only", "only"), ("Without", "skip")) if asked[key]
    )
    items = [
        ("Store", f"<code>{text(store['location'])}</code>"),
        ("Recognised as", f"{text(store_name(document))} (stamp {number(store['stamp'])}{shape})"),
        (
            "Copied",
            f"{volatile(copy['taken_at'].replace('T', ' ').rstrip('Z'))} UTC, by {text(copy['method'])}; "
            "the store itself was only read",
        ),
        *_copied(copy),
        ("As of", f"{_as_of(document)} UTC, the clock of all checks"),
        ("Asked for", f"findings from severity {text(asked['fail_on'])} up decide. {text(selection or _ALL)}"),
        (
            "Run",
            f"{volatile(run['id'])}, {volatile(str(run['seconds']))} s, "
            f"busbar-audit {text(document['tool']['version'])}",
        ),
    ]
    if source is not None and source["shm_changed"]:
        items.insert(
            4,
            (
                "Beside it",
                "the shared-memory file was created or changed while the copy was taken; it holds no data of the store",
            ),
        )
    return Block(
        f'<div class="ba-facts">{_list(items)}</div>',
        plain_table(("fact", "value"), [*map(list, identity(copy)), ["taken at", copy["taken_at"]]]),
    )


def _copied(copy: Document) -> list[tuple[str, str]]:
    """What the snapshot is of, and what tells it from any other; ids of one moment are set apart from what repeats."""
    if "sha256" in copy:
        source = copy["source"]
        return [
            (
                "Source",
                f"{number(source['main_bytes'])} bytes, {number(source['wal_bytes'] or 0)} in the write-ahead log, "
                f"journal mode {text(source['journal_mode'])}",
            ),
            ("Copy", f"{number(copy['bytes'])} bytes, SHA-256 <code class='ba-long'>{text(copy['sha256'])}</code>"),
        ]
    system = f", system {text(copy['system_identifier'])}" if copy["system_identifier"] is not None else ""
    return [
        (
            "Source",
            f"PostgreSQL {text(copy['server_version'])}{' (a replica)' if copy['replica'] else ''}{system}, database "
            f"<code>{text(copy['database'])}</code>, schema <code>{text(copy['schema'])}</code>",
        ),
        ("Snapshot", f"{volatile(copy['snapshot'])}, write-ahead log at {volatile(copy['lsn'])}"),
    ]


def _as_of(document: Document) -> str:
    asked, taken = document["requested"]["as_of"], document["snapshot"]["taken_at"]
    shown = asked.replace("T", " ").rstrip("Z")
    return volatile(shown) if asked == taken else text(shown)
