"""The check catalogue: which checks there are, which of them a run selects, and running one."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb

from busbar_audit import queries
from busbar_audit.errors import AuditError, QueryFileError, UnknownCheck
from busbar_audit.findings import COLUMNS, Accepted, CheckResult, Finding, Outcome
from busbar_audit.policy import Acceptance
from busbar_audit.queries import Query
from busbar_audit.store import Store
from busbar_audit.views import Views

SAMPLES = 20
_KEYS = (
    "code",
    "title",
    "severity",
    "applies",
    "params",
    "examines",
    "proves",
    "does not prove",
    "meaning",
    "next",
)
AREAS = {
    "a2a": {
        "G": "identity",
        "M": "migration",
        "F": "rights",
        "L": "locks",
        "D": "data",
        "S": "callbacks",
        "K": "java",
    },
    "a2a-js": {"J": "peer"},
    "a2a-python": {"P": "peer"},
    "busbar": {
        "S": "store",
        "C": "chains",
        "M": "calls",
        "T": "tasks",
        "A": "approvals",
        "K": "keys",
        "U": "usage",
        "D": "durability",
    },
    "maka": {
        "A": "file",
        "B": "ledger",
        "L": "rows",
        "D": "conversion",
        "R": "recovery",
        "T": "transcript",
    },
}


@dataclass(frozen=True)
class Check:
    """A check file: the rule as a query that returns the rows breaking it, and what to make of them."""

    query: Query

    @property
    def code(self) -> str:
        """The check's code, kept for ever, such as BUS-C02."""
        return self.query.header["code"]

    @property
    def family(self) -> str:
        """The family it is for."""
        return self.query.path.parent.name

    @property
    def area(self) -> str:
        """What it is about, by the letter of its code."""
        return AREAS[self.family][self.code.split("-", 1)[1][0]]

    @property
    def title(self) -> str:
        """What is wrong where it finds something."""
        return self.query.header["title"]

    @property
    def severity(self) -> str:
        """Its severity; a column of that name overrides it row by row."""
        return self.query.header["severity"]

    @property
    def examines(self) -> str:
        """The relation whose rows it looks at."""
        return self.query.header["examines"]

    @property
    def needs(self) -> str:
        """An optional input without which it does not apply, or nothing."""
        return self.query.header.get("needs", "")

    def relations(self) -> frozenset[str]:
        """All relations it needs directly."""
        return self.query.reads | {self.examines}


@cache
def catalogue() -> tuple[Check, ...]:
    """Every check, in the order of its code."""
    found = [
        Check(queries.load(path, keys=_KEYS, optional=("needs", "loads", "outcome")))
        for path in sorted((queries.root() / "checks").glob("*/*.sql"))
    ]
    for check in found:
        if check.severity not in queries.SEVERITIES:
            raise QueryFileError(f"{check.query.path}: severity '{check.severity}' is none of {queries.SEVERITIES}.")
    return tuple(sorted(found, key=lambda check: check.code))


def select(store: Store, only: Collection[str] = (), skip: Collection[str] = ()) -> tuple[list[Check], list[Check]]:
    """Checks of the store's family, split into selected and left out by request.

    Raises
    ------
    UnknownCheck : a word in `only` or `skip` is neither a code nor an area.
    """
    checks = [check for check in catalogue() if check.family == store.family]
    known = {check.code for check in checks} | {check.area for check in checks}
    for word in (*only, *skip):
        if _named(word) not in known:
            close = difflib.get_close_matches(_named(word), known, n=3)
            raise UnknownCheck(
                f"No check or area '{word}'.",
                f"Areas: {', '.join(sorted({check.area for check in checks}))}.",
                f"Did you mean {' or '.join(close)}?" if close else "`busbar-audit checks` lists the codes.",
            )

    def chosen(check: Check) -> bool:
        names = {check.code, check.area}
        wanted = not only or any(_named(word) in names for word in only)
        return wanted and not any(_named(word) in names for word in skip)

    return [c for c in checks if chosen(c)], [c for c in checks if not chosen(c)]


def _named(word: str) -> str:
    return word.upper() if "-" in word else word.lower()


def run(
    check: Check, store: Store, views: Views, values: Mapping[str, Any], accepted: Sequence[Acceptance] = ()
) -> CheckResult:
    """Run one check; what it found, if anything, is afterwards in the table ``findings."<code>"``.

    Parameters
    ----------
    values : parameters of the run by name; a query's own default stands in for the others.
    accepted : findings of this check that a policy lets be; they are counted apart and left out of the table.
    """
    started = time.perf_counter()

    def ended(outcome: Outcome, reason: str = "", examined: int = 0, **more: Any) -> CheckResult:
        return result(check, outcome, reason, examined=examined, seconds=time.perf_counter() - started, **more)

    if reason := not_applicable(check, store, values):
        return ended(Outcome.NOT_APPLICABLE, reason)
    for relation in sorted(check.relations()):
        if (absent := views.missing(relation)) is not None:
            if lacking := _lacking(store, views.tables_of(relation)):
                return ended(Outcome.COULD_NOT_RUN, lacking)
            return ended(Outcome.NOT_APPLICABLE, absent)
    try:
        for relation in sorted(check.relations()):
            views.make(relation, values)
        examined = views.count(check.examines)
        found = _findings(check, store.con, values, accepted)
    except duckdb.InterruptException:
        raise  # somebody stopped the run; that is no answer of this check
    except (duckdb.Error, AuditError) as error:
        return ended(Outcome.COULD_NOT_RUN, f"the query failed: {_without_values(error)}")
    gone = _lacking(store, frozenset().union(*(views.tables_of(r) for r in check.relations())))
    if found["findings"] and check.query.header.get("outcome") == Outcome.COULD_NOT_RUN:
        return ended(Outcome.COULD_NOT_RUN, found["samples"][0].detail, examined)
    if found["findings"]:
        return ended(Outcome.FINDING, gone, examined, **found)
    if gone:
        return ended(Outcome.COULD_NOT_RUN, gone, examined)
    if not examined:
        return ended(Outcome.NOTHING_TO_CHECK, f"{check.examines} has no row")
    return ended(Outcome.PASS, "", examined, accepted=found["accepted"])


def result(check: Check, outcome: Outcome, reason: str, **more: Any) -> CheckResult:
    """A CheckResult with the texts of the check's header."""
    header = check.query.header
    samples: Sequence[Finding] = more.get("samples", ())
    counts: Mapping[str, int] = more.get("counts", {})
    gravest = next((severity for severity in queries.SEVERITIES if counts.get(severity)), check.severity)
    return CheckResult(
        check.code,
        check.title,
        gravest,
        outcome,
        reason,
        more.get("examined", 0),
        more.get("findings", 0),
        tuple(samples),
        counts,
        more.get("seconds", 0.0),
        check.query.sql,
        header["meaning"],
        header["proves"],
        header["next"],
        tuple(more.get("accepted", ())),
    )


def _without_values(error: Exception) -> str:
    """The first line of what was said, without what it quotes of a value: that is content of the store."""
    first = next(iter(str(error).splitlines()), "")
    # These two speak of names.
    of_names = isinstance(error, (AuditError, duckdb.BinderException, duckdb.CatalogException))
    return first if of_names else re.sub(r"""['"].*(?:['"]|$)""", "…", first)


def not_applicable(check: Check, store: Store, values: Mapping[str, Any]) -> str:
    """Why a check does not apply to this store, or nothing."""
    number = store.generation.taken
    if number is not None and not check.query.covers(store.family, store.engine, number):
        return f"not for {store.name}"
    if check.needs and check.needs not in values:
        return f"needs {check.needs}"
    unbound = [p.name for p in check.query.parameters if p.default is None and p.name not in values]
    return f"needs {', '.join(unbound)} (policy)" if unbound else ""


def _lacking(store: Store, tables: Collection[str]) -> str:
    """Which of these tables are due and were not there to be looked at, and why; or nothing."""
    absent = store.absent()
    reasons: dict[str, list[str]] = {}
    for name in sorted(set(tables) & absent.keys()):
        reasons.setdefault(absent[name], []).append(name)
    return "; ".join(f"not checked: {', '.join(names)}, {why}" for why, names in reasons.items())


def _findings(
    check: Check, con: duckdb.DuckDBPyConnection, values: Mapping[str, Any], accepted: Sequence[Acceptance]
) -> dict[str, Any]:
    table, bound = f'findings."{check.code}"', check.query.bind(values)
    (statement,) = queries.statements(check.query.sql)
    found = con.execute(statement, bound)
    names = [column[0] for column in found.description or ()]
    if tuple(names[: len(COLUMNS)]) != COLUMNS:
        raise QueryFileError(f"{check.query.path}: columns {names}", f"Expected {COLUMNS} first.")
    if found.fetchone() is None:
        return {"findings": 0, "counts": {}, "samples": [], "accepted": ()}
    # Only now is it worth a table: most checks find nothing, and a table costs a commit.
    con.execute(f"CREATE OR REPLACE TABLE {table} AS {check.query.sql}", bound)
    let_be = tuple(_let_be(con, table, each) for each in accepted)
    severity = "severity" if "severity" in names else f"'{check.severity}'"
    counts = dict(
        con.execute(f"SELECT {severity}, count(*) FROM {table} GROUP BY 1 ORDER BY 1").fetchall()  # noqa: S608
    )
    # The table keeps no order: the rows are sorted again by what places them.
    order = "subject, place, first_seq NULLS FIRST, last_seq NULLS FIRST, detail"
    rows = con.execute(f"SELECT * FROM {table} ORDER BY {order} LIMIT {SAMPLES}").fetchall()  # noqa: S608
    samples = []
    for row in rows:
        told = dict(zip(names, row, strict=True))
        samples.append(Finding.of(check.code, told.pop("severity", check.severity), told))
    return {"findings": sum(counts.values()), "counts": counts, "samples": samples, "accepted": let_be}


def _let_be(con: duckdb.DuckDBPyConnection, table: str, accepted: Acceptance) -> Accepted:
    """Take out of the findings what is accepted, and count it."""
    sql = f"DELETE FROM {table} WHERE place = $place AND ($subject IS NULL OR subject = $subject)"  # noqa: S608 - our code
    row = con.execute(sql, {"place": accepted.place, "subject": accepted.subject}).fetchone()
    return Accepted(accepted, int(row[0]) if row else 0)
