"""What a notebook shows of imports: where every row went, what is lost, and which sessions are at risk."""

from __future__ import annotations

import html
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting.importfigures import Split, where_rows_went
from busbar_audit.reporting.markup import Block, nothing, number, plain_table, sql, table, text
from busbar_audit.reporting.sections import absent, joined, listed, name_of, shortened

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

_FATES = ("converted", "owned", "skipped", "lost", "pending", "unread")
_COPIES = ("converted", "owned", "lost", "differs", "pending")
_SHOWN = 12
_VERSIONS = {None: "absent", 0: "0, staged", 1: "1"}
_IMPORTS = "This store has no rows that are imported: that is a matter of workspaces with session_messages"
_COPIED = "This store is no gateway's: there is no copy of typed rows to account for"


def _family(session: Session, family: str, said: str) -> Block | None:
    if session.document["store"]["family"] == family:
        return None
    return Block(nothing(f"{html.escape(said)}."), said)


def account(session: Session, limit: int) -> Block:
    """The account over all sessions as a picture and a table, then by rule, then session by session."""
    if other := _family(session, "maka", _IMPORTS):
        return other
    if missing := absent(session, "the account of imports", "MAKA-D21", "audit.import_account", "audit.import_rows"):
        return missing
    return joined([_kinds(session), _rules(session), _sessions(session, limit)])


def _kinds(session: Session) -> Block:
    query = session.figure("import_kinds")
    found = session.rows(query)
    if not found:
        return Block(nothing("session_messages has no row.") + sql(query), "no legacy rows")
    splits = [Split(r["kind"], {fate: int(r[fate]) for fate in _FATES}) for r in found]
    drawn = where_rows_went(splits)
    columns = ("kind", "rows", *_FATES)
    total = {name: sum(int(r[name]) for r in found) for name in ("rows", *_FATES)}
    cells = [[text(r["kind"], 60), *(number(int(r[c])) for c in columns[1:])] for r in found]
    cells.append(["All kinds", *(number(total[c]) for c in columns[1:])])
    classes = ["ba-bad" if r["lost"] or not r["balances"] else "" for r in found]
    made = table(
        "The account: rows = converted + owned by a native run + skipped by a rule + lost; pending and unread are not decided",
        columns,
        cells,
        numeric=columns[1:],
        classes=[*classes, "ba-total"],
    )
    figure = f"<figure>{drawn}<figcaption>What became of the rows of each kind, to its own scale.</figcaption></figure>"
    plain = [[r["kind"], *(int(r[c]) for c in columns[1:])] for r in found]
    return Block(figure + made + sql(query), plain_table(columns, [*plain, ["all", *total.values()]]))


def _rules(session: Session) -> Block:
    query = session.figure("import_rules")
    found = session.rows(query)
    return listed(
        "By rule of the fact sheet",
        ("fate", "rule", "finding", "rows", "sessions", "kinds"),
        [
            [text(r["fate"]), text(r["rule"]), f"MAKA-{r['code']}" if r["code"] else "", number(r["rows"]),
             number(r["sessions"]), text(r["kinds"], 200)]
            for r in found
        ],
        [[r["fate"], r["rule"], r["code"] or "", r["rows"], r["sessions"], r["kinds"]] for r in found],
        query,
        {},
        means="Each row has one rule that decided for it; a lost row has a finding that names it.",
        do="Read the findings of lost rows first; what a rule skipped is owned elsewhere or left out by design.",
        empty="No row was accounted for.",
        numeric=("rows", "sessions"),
        bad=[r["fate"] in ("lost", "unread") for r in found],
    )  # fmt: skip


def _sessions(session: Session, limit: int) -> Block:
    query, values = session.figure("import_sessions"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("session", "version", "rows", *_FATES, "first lost")
    return listed(
        f"Session by session, of {total:,}: what does not balance or loses rows first",
        columns,
        [
            [name_of(r["session_id"]), _version(r), *(number(int(r[c])) for c in ("rows", *_FATES)), _place(r["first_lost"])]
            for r in found
        ],
        [
            [shortened(r["session_id"]), _version(r), *(int(r[c]) for c in ("rows", *_FATES)), r["first_lost"]]
            for r in found
        ],
        query,
        values,
        means="Version absent: the next open converts it; 0: a staged import; 1: nobody converts what is left in its rows.",
        do="Begin with the first lost row of the first session, below.",
        empty="No session has rows.",
        total=total,
        numeric=("rows", *_FATES, "first lost"),
        bad=[bool(r["lost"]) or not r["balances"] for r in found],
    )  # fmt: skip


def _version(row: Mapping[str, Any]) -> str:
    return _VERSIONS.get(row["ledger_version"], "another")


def _place(sequence: object) -> str:
    return "" if sequence is None else number(sequence)


def first_lost(session: Session, limit: int, side: int) -> Block:
    """The first lost row of each session between its neighbours."""
    if other := _family(session, "maka", _IMPORTS):
        return other
    if missing := absent(session, "lost rows", "MAKA-D12", "audit.import_rows", "audit.import_causes"):
        return missing
    query, values = session.figure("import_first_lost"), {"limit": limit, "side": side}
    found = session.rows(query, values)
    if not found:
        return Block(nothing("No row is lost.") + sql(query, values), "no row is lost")
    parts, plain = [], []
    columns = ("sequence", "kind", "row", "turn", "bytes", "fate", "rule", "event")
    for _, rows in groupby(found, key=lambda row: row["place"]):
        near = list(rows)
        head = near[0]
        cause = next((r["cause"] for r in near if r["sequence"] == r["first_lost"] and r["cause"]), None)
        caption = (
            f"Session {head['session_id'][:60]}: {head['lost']:,} row(s) lost, the first is {head['first_lost']:,}"
        )
        parts.append(
            table(
                caption + (f" ({cause})" if cause else ""),
                columns,
                [_cells(r) for r in near],
                numeric=("sequence", "bytes"),
                classes=["ba-bad" if r["fate"] == "lost" else "" for r in near],
            )
        )
        plain += [
            [
                shortened(r["session_id"]),
                r["sequence"],
                r["kind"],
                shortened(r["row_id"]),
                r["bytes"],
                r["fate"],
                r["code"],
            ]
            for r in near
        ]
    hidden = found[0]["total"] - len(parts)
    more = f'<p class="ba-note">{number(hidden)} more sessions lose rows.</p>' if hidden > 0 else ""
    return Block(
        "".join(parts) + more + sql(query, values),
        plain_table(("session", "sequence", "kind", "row", "bytes", "fate", "code"), plain),
    )


def _cells(row: Mapping[str, Any]) -> list[str]:
    event = f"<code>{text(row['event_id'], 80)}</code>" if row["event_id"] else ""
    rule = text(row["rule"]) + (f" <b>MAKA-{html.escape(row['code'])}</b>" if row["code"] else "")
    return [
        number(row["sequence"]), text(row["kind"], 60), name_of(row["row_id"]), name_of(row["turn_id"]),
        number(row["bytes"]), text(row["fate"]), rule, event,
    ]  # fmt: skip


def at_risk(session: Session, limit: int) -> Block:
    """What the conversion to come will fail on, cut, change or leave out."""
    if other := _family(session, "maka", _IMPORTS):
        return other
    if missing := absent(session, "sessions at risk", "MAKA-D22", "audit.import_risks"):
        return missing
    query, values = session.figure("import_risks"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("effect", "session", "turn", "what", "finding", "first", "last", "rows", "detail")
    return listed(
        f"Sessions at risk: {total:,} entries",
        columns,
        [
            [text(r["effect"]), name_of(r["session_id"]), name_of(r["turn_id"]), text(r["risk"]), f"MAKA-{r['code']}",
             _place(r["first_seq"]), _place(r["last_seq"]), number(r["rows"]), text(r["detail"], 300)]
            for r in found
        ],
        [
            [r["effect"], shortened(r["session_id"]), shortened(r["turn_id"]), r["risk"], r["code"], r["first_seq"],
             r["last_seq"], r["rows"], shortened(r["detail"])]
            for r in found
        ],
        query,
        values,
        means="fails: the session cannot be read after the upgrade · cut: rows of the turn come too late and are lost · "
        "changed: converted unlike the rest, or shown twice · costs: minutes in one turn or step · left out: in the rows only.",
        do="Settle what fails or is cut on a copy before the upgrade; keep session_messages for the rest.",
        empty="Nothing is left that the conversion to come would fail on, cut, change or leave out.",
        total=total,
        numeric=("first", "last", "rows"),
        bad=[r["effect"] in ("fails", "cut") for r in found],
    )  # fmt: skip


def copies(session: Session) -> Block:
    """A gateway's own imports: the engine's copy of the admin audit, and the plane copy where there is an earlier store."""
    if other := _family(session, "busbar", _COPIED):
        return other
    if missing := absent(session, "copies of typed rows", "BUS-C14", "audit.admin_audit", "source.copy_rows"):
        return missing
    query = session.figure("import_copies")
    found = session.rows(query)
    kinds: list[tuple[str, Split, list[dict[str, Any]]]] = []
    for (part, kind), rows in groupby(found, key=lambda r: (r["part"], r["kind"])):
        lines = list(rows)
        fates = {fate: sum(int(r["rows"]) for r in lines if r["fate"] == fate) for fate in _COPIES}
        kinds.append((part, Split(kind, fates), lines))
    without = "" if any(part == "plane copy" for part, *_ in kinds) else _WITHOUT
    if not kinds:
        return Block(nothing("audit_log has no row." + without) + sql(query), "no typed rows")
    columns = ("copy", "from", "rows", *_COPIES, "first lost or differing", "rules")
    cells, plain, classes = [], [], []
    for part, split, lines in kinds:
        bad = [r for r in lines if r["fate"] in ("lost", "differs")]
        first = "; ".join(f"{name_of(r['identity'])} {_place(r['first_seq'])}" for r in bad)
        counts = [split.rows, *(split.fates[fate] for fate in _COPIES)]
        rules = "; ".join(r["rule"] for r in lines)
        cells.append([text(part), text(split.label), *map(number, counts), first, text(rules, 300)])
        plain.append([part, split.label, *counts, rules])
        classes.append("ba-bad" if bad else "")
    caption = (
        "The account: typed rows = converted + owned (kept as they are) + lost + differing (or changed since) + pending"
    )
    made = table(caption, columns, cells, numeric=columns[2:8], classes=classes)
    drawn = where_rows_went([split for _, split, _ in kinds[:_SHOWN]])
    note = f'<p class="ba-note">{html.escape(without)}</p>' if without else ""
    figure = f"<figure>{drawn}<figcaption>What became of the typed rows of each table.</figcaption></figure>"
    return Block(figure + made + note + sql(query), plain_table((*columns[:8], "rules"), plain) + without)


_WITHOUT = " The plane copy cannot be told without the store from before the upgrade: give it as before."
