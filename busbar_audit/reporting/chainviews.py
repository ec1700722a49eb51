"""What a notebook shows of hash chains: tables and figures, each with the query behind it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting import figures
from busbar_audit.reporting.markup import (
    Block,
    badge,
    digest,
    moment,
    nothing,
    number,
    plain_table,
    sql,
    table,
    text,
    utc,
)

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

_DAY = 86400
MARKS = 60
_LIMITS = {
    "Ends of chains": "A chain whose last records were cut off is as intact as one that was never longer. Only a witness kept "
    "outside the store can tell, and this run had none.",
    "Whole chains": "A principal's or a task's whole chain can be gone without a trace in the others.",
    "Whoever can write can reseal": "The digests have no secret in them. Whoever can write to the file can change a record and "
    "compute every digest after it anew; what a witness has seen cannot be changed so.",
    "Missing heads": "A chain that begins after record 1 may have lost its head to retention. From there on it is proven; "
    "before it nothing is.",
    "Fields outside the digests": "request_id of calls and task events, expires_at and version are in no digest: they can "
    "change without a fault showing here. Keys, usage, tasks and approvals are in no chain at all.",
    "Joined texts": "Admin audit and task events of the first recipe join their fields with a bar, so a record whose fields "
    "hold a bar can be split anew under the same digest (BUS-C13 lists those).",
    "Truth": "A digest says that a record is as it was written, not that what it says had happened, nor that everything that "
    "happened was written.",
}
_NO_CHAINS = "There is no chain to show"


def _absent(session: Session) -> Block | None:
    """Why there is nothing about chains, or None if there is."""
    document = session.document
    if session.has("audit.chain_verdicts"):
        if document["chains"]["totals"]:
            return None
        why = "the store holds no chained record, so there was no evidence to check and this run proves nothing"
        return Block(nothing(f"{_NO_CHAINS}: {why}."), f"{_NO_CHAINS}: {why}")
    if not any("-C" in code for code in document["requested"]["checks"]):
        why = "no check of chains was selected for this run"
    elif any(check["code"].endswith("-S01") and check["outcome"] == "finding" for check in document["checks"]):
        why = "the file is damaged, and nothing read from a damaged file can be trusted"
    elif document["store"]["generation"] is None:
        why = f"the store is of a generation this version does not know (stamp {document['store']['stamp']})"
    else:
        why = "the checks of chains could not run; the reasons are below, under what was not checked"
    return Block(nothing(f"{_NO_CHAINS}: {text(why)}."), f"{_NO_CHAINS}: {why}")


def populations(session: Session) -> Block:
    """Chains and records of each population, by verdict."""
    if absent := _absent(session):
        return absent
    query = session.figure("populations")
    found = session.rows(query)
    rows, classes = [], []
    for row in found:
        note = "no digest can be reproduced: placeholders or an unknown recipe" if row["unreproducible"] else ""
        if row["remarked"]:
            note = f"{number(row['remarked'])} intact with a remark (head missing, order or form)"
        rows.append([
            f"<code>{text(row['population'])}</code>", number(row["chains"]), number(row["records"]),
            _count("intact-unanchored", row["intact"]), _count("broken", row["broken"]),
            _count("unverifiable", row["unverifiable"]),
            moment(row["first_ts"]), moment(row["last_ts"]), note,
        ])  # fmt: skip
        classes.append("ba-bad" if row["broken"] else "")
    columns = (
        "population",
        "chains",
        "records",
        "intact",
        "broken",
        "unverifiable",
        "first record, UTC",
        "last record, UTC",
        "remark",
    )
    made = table("Hash chains by population", columns, rows, numeric=columns[1:6], classes=classes)
    plain = [
        [row[name] for name in ("population", "chains", "records", "intact", "broken", "unverifiable")] for row in found
    ]
    return Block(made + sql(query), plain_table(columns[:6], plain))


def _count(verdict: str, count: int) -> str:
    return badge(verdict, label=number(count)) if count else '<span class="ba-none">0</span>'


def not_intact(session: Session, limit: int) -> Block:
    """Chains of which something is to be said, with their ranges."""
    if absent := _absent(session):
        return absent
    query, values = session.figure("not_intact"), {"limit": limit}
    found = session.rows(query, values)
    if not found:
        return Block(
            nothing(
                "There is no such chain: every digest, link and number that can be checked from inside the store holds."
            )
            + sql(query, values),
            "all chains intact",
        )
    rows = [
        [
            f"<code>{text(row['population'])}</code> {text(row['scope'], 60)}",
            badge(row["verdict"]), " ".join(f'<span class="ba-tag">{html.escape(kind)}</span>' for kind in row["about"]),
            number(row["first_bad"]), number(row["last_bad"]),
            number(row["records"]), f"{number(row['first_seq'])} – {number(row['last_seq'])}", digest(row["last_hash"]),
        ]
        for row in found
    ]  # fmt: skip
    hidden = found[0]["total"] - len(found)
    more = f"{number(hidden)} more chains: all are in chains.parquet." if hidden > 0 else ""
    columns = ("chain", "verdict", "about", "first bad", "last bad", "records", "range", "last hash")
    made = table(
        f"Chains with something to say: {number(found[0]['total'])}",
        columns,
        rows,
        numeric=("first bad", "last bad", "records", "range"),
        more=more,
    )
    plain = [
        [r["population"], r["scope"], r["verdict"], ", ".join(r["about"]), r["first_bad"], r["last_bad"]] for r in found
    ]
    return Block(
        made + sql(query, values),
        plain_table(("population", "scope", "verdict", "about", "first bad", "last bad"), plain),
    )


def timeline(session: Session) -> Block:
    """Records over time, a panel a population."""
    if absent := _absent(session):
        return absent
    as_of = int(datetime.fromisoformat(session.document["requested"]["as_of"]).timestamp())
    ranges = session.rows(session.figure("timeline_range"), {"until": as_of + _DAY})
    dated = [row for row in ranges if row["first_ts"] is not None]
    if not dated:
        return Block(nothing("No chained record has a time that can be drawn."), "no dated record")
    first, last = (int(pick(row[key] for row in dated)) for pick, key in ((min, "first_ts"), (max, "last_ts")))
    step = figures.step_for(max(1, last - first))
    query = session.figure("timeline")
    values = {"start": first - first % step, "until": last, "step": step}
    counts = {key: list(rows) for key, rows in groupby(session.rows(query, values), key=lambda row: row["population"])}
    panels = [
        figures.Panel(
            f"{row['population']}: {row['records']:,} records",
            [(c["bucket"], c["records"], c["faults"]) for c in counts.get(row["population"], [])],
        )
        for row in dated
    ]
    drawn = figures.timeline(panels, values["start"], step)
    faults = any(count["faults"] for rows in counts.values() for count in rows)
    caption = "Records per interval." + (
        " An arrow marks intervals with records that show a fault."
        if faults
        else " No interval holds a record that shows a fault."
    )
    left = [
        f"{row['population']}: {_left_out(row)}" for row in ranges if row["undated"] or row["before"] or row["after"]
    ]
    if left:
        caption += f" Not drawn: {'; '.join(left)}."
    plain = [[row["population"], row["records"], utc(row["first_ts"]), utc(row["last_ts"])] for row in dated]
    return Block(
        _figure(drawn, caption) + sql(query, values), plain_table(("population", "records", "first", "last"), plain)
    )


def _left_out(row: dict[str, Any]) -> str:
    parts = [
        ("undated", "without a readable time"),
        ("before", "dated 1970 or before"),
        ("after", "dated after the audit"),
    ]
    return ", ".join(f"{number(row[key])} {words}" for key, words in parts if row[key])


def breaks(session: Session, limit: int) -> Block:
    """The worst chains as bars, with a mark at each fault."""
    if absent := _absent(session):
        return absent
    query, values = session.figure("breaks"), {"limit": limit, "marks": MARKS}
    found = session.rows(query, values)
    if not found:
        return Block(nothing("No chain has a fault, so there is nothing to map.") + sql(query, values), "no breaks")
    bars, hidden = [], 0
    for _, rows in groupby(found, key=lambda row: row["place"]):
        marks = list(rows)
        head = marks[0]
        hidden += head["runs"] - len(marks)
        name = figures.label(head["population"], head["scope"])
        places = [(m["about"], m["from_seq"], m["to_seq"]) for m in marks]
        bars.append(figures.Bar(name, head["first_seq"], head["last_seq"], places))
    caption = f"{number(len(bars))} of {number(found[0]['total'])} chains with faults, the broken ones first."
    if hidden:
        caption += (
            f" Not drawn: {number(hidden)} further places in these chains, beyond the first {MARKS} of each kind."
        )
    plain = [[bar.label, len(bar.marks)] for bar in bars]
    shown = _figure(figures.break_map(bars), caption) + sql(query, values)
    return Block(shown, plain_table(("chain", "places drawn"), plain))


def _figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{text(caption, 2000)}</figcaption></figure>"


def around(session: Session, each_side: int, limit: int) -> Block:
    """The records beside each of the first faults, without their bodies."""
    if absent := _absent(session):
        return absent
    places, query = session.figure("break_places"), session.figure("around")
    found = session.rows(places, {"limit": limit})
    if not found:
        return Block(nothing("No chain has a fault, so there is no record to show."), "no breaks")
    parts = []
    for place in found:
        values = {"population": place["population"], "scope": place["scope"], "seq": place["seq"], "side": each_side}
        parts.append(_neighbours(place, session.rows(query, values)))
    total = found[0]["total"]
    if total > len(found):
        parts.append(
            f'<p class="ba-note">{number(len(found))} of {number(total)} records with a fault are shown, '
            "of each chain the first and the next one well apart.</p>"
        )
    plain = [[p["population"], p["scope"], p["seq"], ", ".join(p["about"])] for p in found]
    return Block(
        "".join(parts) + sql(places, {"limit": limit}) + sql(query),
        plain_table(("population", "scope", "seq", "about"), plain),
    )


def _neighbours(place: dict[str, Any], records: Sequence[dict[str, Any]]) -> str:
    rows, classes = [], []
    before: dict[str, Any] | None = None
    for record in records:
        if before is not None and record["seq"] > before["seq"] + 1:
            missing = record["seq"] - before["seq"] - 1
            rows.append(
                [
                    f"{number(before['seq'] + 1)} – {number(record['seq'] - 1)}",
                    "",
                    "",
                    "",
                    "",
                    f"{number(missing)} record{'s are' if missing > 1 else ' is'} missing",
                ]
            )
            classes.append("ba-gap")
        tags = " ".join(f'<span class="ba-tag">{html.escape(kind)}</span>' for kind in record["about"])
        rows.append(
            [
                number(record["seq"]),
                moment(record["ts"]),
                digest(record["prev_hash"]),
                _link(before, record),
                digest(record["hash"]),
                tags,
            ]
        )
        classes.append("ba-bad" if record["about"] else "")
        before = record
    columns = ("seq", "time, UTC", "prev_hash", "link", "hash", "fault")
    name = figures.label(place["population"], place["scope"], 60)
    caption = f"{name}, record {place['seq']:,}: {', '.join(place['about'])}"
    return table(caption, columns, rows, numeric=("seq",), classes=classes, kind="ba-records")


def _link(before: dict[str, Any] | None, record: dict[str, Any]) -> str:
    if record["prev_hash"] == "":
        return "begins" if record["seq"] == 1 else "begins again"
    if before is None or record["seq"] > before["seq"] + 1 or None in (record["prev_hash"], before["hash"]):
        return (
            '<span class="ba-none">not shown</span>'
            if before is None
            else '<span class="ba-none">cannot be told</span>'
        )
    return "holds" if record["prev_hash"] == before["hash"] else "<b>does not hold</b>"


def limits(session: Session) -> Block:
    """What a report about chains does not prove."""
    inner = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(said)}</dd>" for term, said in _LIMITS.items())
    return Block(
        f'<div class="ba-facts"><dl>{inner}</dl></div>', "\n".join(f"{term}: {said}" for term, said in _LIMITS.items())
    )
