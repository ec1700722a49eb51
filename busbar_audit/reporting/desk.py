"""The analyst's desk: from a verdict to the rows behind it in one call.

`run.find("BUS-C01")` gives the findings of a check; each has `around`, `sql`, `explain` and `export`. A check without
findings says how it ended: no row is not the same as no fault.
"""

from __future__ import annotations

import difflib
import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import duckdb

from busbar_audit import queries
from busbar_audit.errors import ReportError, UnknownCheck
from busbar_audit.findings import COLUMNS, Finding, Outcome, exact
from busbar_audit.reporting import panels
from busbar_audit.reporting.beside import Beside, beside
from busbar_audit.reporting.markup import Block, badge, digest, moment, nothing, number, plain_table, table, text
from busbar_audit.reporting.panels import header
from busbar_audit.text import printable

if TYPE_CHECKING:
    import pandas as pd

LISTED = 1000
_SHOWN = 20
_TERMS = (
    ("Means", "meaning"),
    ("Proves", "proves"),
    ("Does not prove", "does not prove"),
    ("Next", "next"),
)


@dataclass(frozen=True)
class Found:
    """One finding, with all that can be asked of it.

    finding : what the check returned. document : the content of result.json of its run.
    """

    finding: Finding
    document: Mapping[str, Any] = field(repr=False)
    con: duckdb.DuckDBPyConnection = field(repr=False, compare=False)

    @property
    def code(self) -> str:
        """The check."""
        return self.finding.code

    @property
    def sql(self) -> str:
        """The query of the check, as it ran."""
        return str(_ended(self.document, self.code)["query"])

    def around(self, each_side: int = 3, *, show_content: bool = False) -> Block:
        """The records that the finding names, marked, and `each_side` on either side of each.

        Parameters
        ----------
        show_content : show texts that are not names; else each is its length and the start of its SHA-256.
        """
        return self.around_block(beside(self.con, self.finding, each_side, content=show_content))

    def around_block(self, near: Beside) -> Block:
        """The same of records that were looked up already."""
        if not near.rows:
            return Block(nothing(text(near.about) + "."), near.about)
        columns = near.columns
        rows = [["▶" if row["_of"] else "", *(_cell(name, row[name]) for name in columns)] for row in near.rows]
        classes = ["ba-bad" if row["_of"] else "" for row in near.rows]
        place = printable(self.finding.place)
        title = f"{self.code} {self.finding.subject} {place[:80]}: {near.about}"
        plain = [["this" if row["_of"] else "", *(_plain(row[name]) for name in columns)] for row in near.rows]
        return Block(
            table(title, ("of it", *columns), rows, classes=classes),
            plain_table(("of it", *columns), plain),
        )

    def explain(self) -> Block:
        """What the finding is, what it proves, what it does not, and what to do now."""
        finding, about = self.finding, header(self.code)
        items = [("Where", _where(finding)), ("What", finding.detail)]
        items += [(term, about[key]) for term, key in _TERMS if about.get(key)]
        inner = "".join(f"<dt>{html.escape(term)}</dt><dd>{text(said, 2000)}</dd>" for term, said in items)
        head = f"{badge(finding.severity)} <b>{html.escape(self.code)}</b> {html.escape(about.get('title', ''))}"
        plain = "\n".join(
            [f"{self.code} {about.get('title', '')}", *(f"{term}: {printable(said)}" for term, said in items)]
        )
        return Block(f'<p>{head}</p><div class="ba-facts"><dl>{inner}</dl></div>', plain)

    def export(self, out: str | os.PathLike[str], *, each_side: int = 5, show_content: bool = False) -> Path:
        """Write a case file of this finding: a folder that verifies by itself, without the store; see `casefile.write`."""
        from busbar_audit.reporting import casefile

        return casefile.write([self], out, each_side=each_side, show_content=show_content)

    def __repr__(self) -> str:
        return f"<{self.code} {self.finding.severity}: {printable(_where(self.finding))}: {printable(self.finding.detail)}>"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()


class Findings(Sequence[Found]):
    """The findings of one check: a sequence, a table in a notebook, a `frame()` for pandas.

    At most `LISTED` are held; `total` is the number there is.
    """

    def __init__(self, check: Mapping[str, Any], held: Sequence[Found]) -> None:
        self.check, self._held = check, list(held)

    @property
    def total(self) -> int:
        """How many the check found."""
        return int(self.check["findings"])

    @overload
    def __getitem__(self, index: int) -> Found: ...
    @overload
    def __getitem__(self, index: slice) -> list[Found]: ...
    def __getitem__(self, index: int | slice) -> Found | list[Found]:
        if not self._held:
            raise IndexError(self._ended())
        return self._held[index]

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Found]:
        return iter(self._held)

    def around(self, each_side: int = 3, *, show_content: bool = False) -> Block:
        """`Found.around` of the first, or how the check ended."""
        return self._held[0].around(each_side, show_content=show_content) if self._held else self._none()

    def explain(self) -> Block:
        """`Found.explain` of the first, or how the check ended."""
        return self._held[0].explain() if self._held else self._none()

    def _none(self) -> Block:
        return Block(nothing(text(self._ended()) + "."), self._ended())

    def frame(self) -> pd.DataFrame:
        """A row a finding: code, severity, subject, place, first_seq, last_seq, records, detail, the check's own columns."""
        import pandas as pd

        rows = [
            {"code": f.code, "severity": f.severity}
            | {name: getattr(f, name) for name in COLUMNS}
            | {name: exact(value) for name, value in f.evidence.items()}
            for f in (each.finding for each in self._held)
        ]
        made = pd.DataFrame(rows, columns=None if rows else ["code", "severity", *COLUMNS])
        return made.astype({"first_seq": "Int64", "last_seq": "Int64"})

    def live(self) -> Any:
        """The same as a table that can be searched and sorted, in a notebook (extra ``lab``).

        Raises
        ------
        ReportError : itables is not installed.
        """
        try:
            import itables
        except ImportError:
            raise ReportError(
                "A live table needs the package itables, which is not installed.", "pip install 'busbar-audit[lab]'"
            ) from None
        itables.init_notebook_mode(connected=False)
        return itables.show(self.frame().map(lambda value: printable(value) if isinstance(value, str) else value))

    def _ended(self) -> str:
        outcome = str(self.check["outcome"]).replace("_", " ")
        why = f" ({printable(self.check['reason'])})" if self.check["reason"] else ""
        return f"{self.check['code']} has no finding: {outcome}{why}, {int(self.check['examined']):,} rows examined"

    def __repr__(self) -> str:
        if not self._held:
            return self._ended()
        lines = [repr(each) for each in self._held[:_SHOWN]]
        if self.total > len(lines):
            lines.append(f"and {self.total - len(lines):,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self._held:
            return self._none()._repr_html_()
        columns = ("", "severity", "in", "place", "first", "last", "records", "what")
        rows = [
            [
                str(i),
                badge(f.severity),
                text(f.subject),
                f"<code>{text(f.place, 80)}</code>",
                *map(number, (f.first_seq, f.last_seq, f.records)),
                text(f.detail),
            ]
            for i, f in enumerate(each.finding for each in self._held[:_SHOWN])
        ]
        hidden = self.total - len(rows)
        more = (
            f"{number(hidden)} more; find(…, place=…) narrows, frame() has {number(len(self._held))}."
            if hidden > 0
            else ""
        )
        title = f"{self.check['code']} {self.check['title']}"
        return Block(table(title, columns, rows, numeric=("", "first", "last", "records"), more=more), "")._repr_html_()


def find(
    con: duckdb.DuckDBPyConnection, document: Mapping[str, Any], code: str | None = None, place: str | None = None
) -> Findings:
    """Findings of a check, or the one finding with this identity.

    Parameters
    ----------
    con, document : of one run. code : such as ``BUS-C01``, or the identity of a finding; by default the gravest check that
        found something. place : only findings of this place.

    Raises
    ------
    UnknownCheck : this run had no such check, and no finding of that identity.
    """
    codes = [check["code"] for check in document["checks"]]
    if code is None:
        code = next((check["code"] for check in panels.found(document)), None)
        if code is None:
            nothing_found = {
                "code": "This run",
                "title": "",
                "outcome": document["verdict"],
                "reason": "",
                "findings": 0,
            }
            return Findings(nothing_found | {"examined": sum(line["examined"] for line in document["account"])}, [])
    if code.upper() not in codes:
        named = [
            f
            for c in document["checks"]
            if c["outcome"] == Outcome.FINDING
            for f in _listed(con, c, place)
            if f.identity == code
        ]
        if not named:
            close = difflib.get_close_matches(code.upper(), codes, n=3)
            raise UnknownCheck(
                f"This run had no check {printable(code)}, and has no finding of that identity.",
                "The code of a check that was selected, such as "
                + (", ".join(close or codes[:3]) or "none: no check ran")
                + ".",
            )
        return Findings(_ended(document, named[0].code), [Found(f, document, con) for f in named])
    check = _ended(document, code.upper())
    if check["outcome"] != Outcome.FINDING:
        return Findings(check, [])
    found = [Found(f, document, con) for f in _listed(con, check, place)]
    if place is not None and not found:
        return Findings({**check, "outcome": f"nothing at {place}", "findings": 0}, [])
    return Findings(check if place is None else {**check, "findings": len(found)}, found)


def _listed(con: duckdb.DuckDBPyConnection, check: Mapping[str, Any], place: str | None) -> Iterator[Finding]:
    sql = f'SELECT * FROM findings."{check["code"]}" WHERE $place IS NULL OR place = $place ORDER BY ALL LIMIT {LISTED}'  # noqa: S608 - our code
    done = con.execute(sql, {"place": place})
    names = [column[0] for column in done.description or []]
    for row in done.fetchall():
        values = dict(zip(names, row, strict=True))
        yield Finding.of(check["code"], values.pop("severity", check["severity"]), values)


def _ended(document: Mapping[str, Any], code: str) -> Mapping[str, Any]:
    return next(check for check in document["checks"] if check["code"] == code)


def tables(con: duckdb.DuckDBPyConnection, family: str) -> pd.DataFrame:
    """What there is to query in a run: columns schema, name, rows (of tables), about (what a row of a view is)."""
    import pandas as pd

    found = con.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_schema IN ('raw', 'audit', 'findings') ORDER BY ALL"
    ).fetchall()
    told = _abouts(family)
    lines: list[tuple[str, str, Any, str]] = []
    for schema, name in found:
        about = (
            told.get(name, "")
            if schema == "audit"
            else "as the store has it"
            if schema == "raw"
            else header(name).get("title", "")
        )
        count: Any = pd.NA
        if schema != "audit":
            row = con.execute(f'SELECT count(*) FROM {schema}."{name.replace(chr(34), chr(34) * 2)}"').fetchone()  # noqa: S608
            count = row[0] if row else pd.NA
        lines.append((schema, name, count, about))
    return pd.DataFrame(lines, columns=["schema", "name", "rows", "about"])


def _abouts(family: str) -> dict[str, str]:
    """What a row of each view is, by the view's name."""
    found: dict[str, str] = {}
    for path in sorted((queries.root() / "views" / family).glob("*.sql")):
        query = queries.load(path, keys=("view", "kind", "about", "applies"), optional=("params",))
        found.setdefault(query.header["view"], query.header["about"])
    return found


def _where(finding: Finding) -> str:
    extent = ""
    if finding.first_seq is not None:
        same = finding.last_seq in (None, finding.first_seq)
        extent = f", sequence {finding.first_seq}" + ("" if same else f" to {finding.last_seq}")
    place = "" if finding.place in ("", finding.subject) else f" {finding.place}"
    return f"{finding.subject}{place}{extent}, {finding.records} record(s)"


def _cell(name: str, value: object) -> str:
    if value is None:
        return '<span class="ba-none">none</span>'
    if name == "ts" and isinstance(value, int):
        return moment(value)
    if name.endswith(("hash", "digest")) and isinstance(value, str):
        return digest(value)
    if isinstance(value, list):
        return text(", ".join(map(str, value)))
    return text(exact(value), 120)


def _plain(value: object) -> str:
    told = exact(value)
    return printable(", ".join(map(str, told)) if isinstance(told, list) else "" if told is None else told)[:120]
