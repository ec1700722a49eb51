"""What a store's schema looks like: a description that can be read from a file and compared with what is expected."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class ColumnShape:
    """One column: declared type, NOT NULL, default as SQL text, place in the primary key (0 = none, 1 = first)."""

    name: str
    type: str
    notnull: bool
    default: str | None
    pk_position: int

    def __str__(self) -> str:
        words = [self.type or "no type", "NOT NULL" if self.notnull else "NULL allowed"]
        words += [f"DEFAULT {self.default}"] if self.default is not None else []
        return " ".join([*words, f"(place {self.pk_position} of the key)"] if self.pk_position else words)


@dataclass(frozen=True)
class TableShape:
    """One table: its columns in order, and whether it is STRICT and WITHOUT ROWID.

    virtual : its rows, if it has any, are those of other tables or of no file; code of a module would have to make them.
    """

    name: str
    strict: bool
    without_rowid: bool
    columns: tuple[ColumnShape, ...]
    virtual: bool = False


@dataclass(frozen=True)
class IndexShape:
    """One named index. Automatic indexes belong to their primary key and are not listed."""

    name: str
    table: str
    unique: bool
    columns: tuple[str, ...]
    partial: bool

    def __str__(self) -> str:
        kind = f"{'unique ' if self.unique else ''}{'partial ' if self.partial else ''}index"
        return f"{kind} of {self.table} ({', '.join(name or 'an expression' for name in self.columns)})"


@dataclass(frozen=True)
class TriggerShape:
    """One trigger by what it does.

    guard : it must abort the statement.
    when : it may have a WHEN (two of the guards are conditional); any other trigger with a WHEN is weakened.
    tokens : the whole definition as normalised words (`trigger_tokens`); equality means the same effect.
    """

    name: str
    table: str
    timing: str
    event: str
    guard: bool
    when: bool
    effect: Literal["abort", "cascade", "other"]
    tokens: tuple[str, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Shape:
    """The schema of one store.

    tables : tables that must be there; `optional_tables` may be left over from an earlier generation.
    indexes, triggers : those of optional tables included; they are due only where their table exists.
    legacy_tables : names an upgrade drops; their presence is a finding of its own, not a difference of shape.
    """

    tables: Mapping[str, TableShape]
    indexes: Mapping[str, IndexShape]
    triggers: Mapping[str, TriggerShape]
    optional_tables: Mapping[str, TableShape] = field(default_factory=dict)
    legacy_tables: frozenset[str] = frozenset()


DifferenceKind = Literal[
    "table-missing",
    "table-unknown",
    "table-differs",
    "index-missing",
    "index-differs",
    "trigger-missing",
    "trigger-differs",
    "trigger-unknown",
]


@dataclass(frozen=True)
class Difference:
    """One way in which a store's schema is not the expected one."""

    kind: DifferenceKind
    table: str
    name: str
    detail: str


_NO_SUCH = {
    False: "no generation known here has this table",
    True: "no generation known here has this virtual table; its rows are not looked at",
}
_TOKEN = re.compile(
    r"""\s+ | --[^\n]*(?:\n|$) | /\*.*?(?:\*/|$)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\])
    | (?P<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]* | \d+(?:\.\d+)?)
    | (?P<sign><>|!=|<=|>=|==|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
_TRIGGER_HEAD = re.compile(
    r"^create (?:temp |temporary )?trigger (?P<name>\S+) (?:(?P<timing>before|after|instead of) )?"
    r"(?P<event>insert|delete|update(?: of .*?)?) on (?P<table>\S+)(?P<when> when .*?)? begin (?P<body>.*) end$"
)
_ABORT_BODY = re.compile(r"^select raise \( (?:abort|fail|rollback) , '' \) ;$")


def trigger_tokens(sql: str) -> tuple[str, ...]:
    """Normalise a trigger's SQL to its words.

    Case, quoting of names, comments, blanks, IF NOT EXISTS, FOR EACH ROW and the wording of messages carry no effect
    and are dropped; everything else stays, so that `WHEN 0` or `WHERE 0` in a guard shows.
    """
    words: list[str] = []
    for match in _TOKEN.finditer(sql):
        if match["text"] is not None:
            words.append("''")
        elif match["quoted"] is not None:
            words.append(match["quoted"][1:-1].lower())
        elif match["word"] is not None or match["sign"] is not None:
            words.append(match[0].lower())
    flat = " ".join(words)
    flat = flat.replace(" if not exists ", " ", 1).replace(" for each row ", " ", 1)
    return tuple(flat.removesuffix(" ;").split(" "))


def trigger_shape(name: str, table: str, sql: str) -> TriggerShape:
    """Describe a trigger from its definition.

    Parameters
    ----------
    name, table : as the schema table holds them.
    sql : the text of CREATE TRIGGER.

    Returns
    -------
    TriggerShape with effect 'other' where the text is not one of the two known forms.
    """
    tokens = trigger_tokens(sql)
    head = _TRIGGER_HEAD.match(" ".join(tokens))
    if head is None:
        return TriggerShape(name, table, "", "", guard=False, when=False, effect="other", tokens=tokens)
    body = head["body"].strip()
    guard = _ABORT_BODY.match(body) is not None
    effect: Literal["abort", "cascade", "other"] = (
        "abort" if guard else "cascade" if body.startswith("delete from ") and body.count(";") == 1 else "other"
    )
    timing = (head["timing"] or "before").upper()
    return TriggerShape(
        name, table, timing, head["event"].upper(), guard, head["when"] is not None, effect=effect, tokens=tokens
    )


def read(connection: sqlite3.Connection) -> Shape:
    """Read the shape of a SQLite file.

    Parameters
    ----------
    connection : open on a snapshot; nothing is written.

    Returns
    -------
    Shape of every table, index and trigger except SQLite's own (`sqlite_…`).
    """
    tables: dict[str, TableShape] = {}
    indexes: dict[str, IndexShape] = {}
    listed = connection.execute(
        "SELECT name, wr, strict, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'view'"
    )
    for name, without_rowid, strict, kind in listed.fetchall():
        if name.startswith("sqlite_"):
            continue
        if kind == "virtual":
            # Its columns are known to its module only, and no code that a store names is run.
            tables[name] = TableShape(name, False, False, (), virtual=True)
            continue
        columns = connection.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)', (name,))
        tables[name] = TableShape(
            name,
            bool(strict),
            bool(without_rowid),
            tuple(ColumnShape(c, t, bool(n), d, p) for c, t, n, d, p in columns),
        )
        owned = connection.execute('SELECT name, "unique", origin, partial FROM pragma_index_list(?)', (name,))
        for index, unique, origin, partial in owned.fetchall():
            if origin == "c":
                keys = connection.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,))
                # An expression has no column name; "" marks it, and it can never equal an expected column.
                indexes[index] = IndexShape(index, name, bool(unique), tuple(k or "" for (k,) in keys), bool(partial))
    found = connection.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    return Shape(tables, indexes, {name: trigger_shape(name, table, sql) for name, table, sql in found})


def differences(expected: Shape, found: Shape) -> tuple[Difference, ...]:
    """Compare a store's shape with the expected one.

    Returns
    -------
    Differences sorted by kind, table and name; empty when the shapes agree. Left-over tables that the expected shape
    calls optional must agree when present; legacy tables are passed over.
    """
    result: list[Difference] = []
    known = {**expected.optional_tables, **expected.tables}
    for name, table in known.items():
        if name in found.tables:
            result += _table_differences(table, found.tables[name])
        elif name in expected.tables:
            result.append(Difference("table-missing", name, name, "the table is not there"))
    for name in found.tables.keys() - known.keys() - expected.legacy_tables:
        result.append(Difference("table-unknown", name, name, _NO_SUCH[found.tables[name].virtual]))
    for name, index in expected.indexes.items():
        if index.table not in found.tables:
            continue
        there = found.indexes.get(name)
        if there is None:
            result.append(Difference("index-missing", index.table, name, "the index is not there"))
        elif there != index:
            result.append(Difference("index-differs", index.table, name, f"expected {index}, read {there}"))
    for name, trigger in expected.triggers.items():
        if trigger.table not in found.tables:
            continue
        read_one = found.triggers.get(name)
        if read_one is None:
            result.append(Difference("trigger-missing", trigger.table, name, "the trigger is not there"))
        elif read_one.tokens != trigger.tokens:
            result.append(Difference("trigger-differs", trigger.table, name, _trigger_detail(trigger, read_one)))
    for name, other in found.triggers.items():
        if name not in expected.triggers and other.table not in expected.legacy_tables:
            result.append(Difference("trigger-unknown", other.table, name, "no generation known here has this trigger"))
    return tuple(sorted(result, key=lambda d: (d.kind, d.table, d.name)))


def _table_differences(expected: TableShape, found: TableShape) -> list[Difference]:
    details: list[tuple[str, str]] = []
    for flag, want, have in (
        ("STRICT", expected.strict, found.strict),
        ("WITHOUT ROWID", expected.without_rowid, found.without_rowid),
    ):
        if want != have:
            details.append((expected.name, f"{flag} is {'missing' if want else 'unexpected'}"))
    wanted, there = ({c.name: c for c in t.columns} for t in (expected, found))
    details += [(name, f"column {name} is missing") for name in wanted if name not in there]
    details += [(name, f"column {name} is not expected") for name in there if name not in wanted]
    details += [
        (name, f"expected {wanted[name]}, read {there[name]}")
        for name in wanted
        if name in there and wanted[name] != there[name]
    ]
    if not details and expected.columns != found.columns:
        details.append((expected.name, "the columns stand in another order"))
    return [Difference("table-differs", expected.name, name, detail) for name, detail in details]


def _trigger_detail(expected: TriggerShape, found: TriggerShape) -> str:
    if expected.guard and not found.guard:
        return "it no longer aborts the statement"
    if found.when and not expected.when:
        return "it has a condition (WHEN) that it must not have"
    if (found.timing, found.event, found.table) != (expected.timing, expected.event, expected.table):
        have, want = (f"{t.timing} {t.event} on {t.table}" for t in (found, expected))
        return f"it fires {have}, not {want}"
    return "its condition or its statement is not the expected one"
