"""The query files under ``queries/``: where they are, their headers, what they read.

A file holds one SELECT. Comment lines at its top are ``-- key: value``; a line of ``--`` and at least three
spaces continues the value above it. Parameters are bound by name (``$name``), never formatted in, and
each one is declared under ``params`` as ``name type = default``; a parameter without a default has to be
supplied by the run or by a policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from busbar_audit.errors import QueryFileError

_KEY = re.compile(r"^-- ([a-z][a-z ]*): ?(.*)$")
_MORE = re.compile(r"^--   +(.*)$")
_PARAM = re.compile(r"\$([a-z][a-z0-9_]*)")
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_DECLARED = re.compile(r"^([a-z][a-z0-9_]*) ([a-z]+)(?: = (.+))?$")
_APPLIES = re.compile(r"^([a-z0-9-]+) (sqlite|postgres) (\d+)(?:-(\d+))?$")

_INTEGERS = ("bigint", "hugeint", "integer")

SEVERITIES = ("critical", "high", "medium", "low", "info")


def root() -> Path:
    """Folder of the query files: beside a checkout, else inside the installed package."""
    package = Path(__file__).parent
    for candidate in (package.parent / "queries", package / "_data" / "queries"):
        if (candidate / "checks").is_dir():
            return candidate
    raise QueryFileError(
        f"No query files beside {package} or inside it.",
        "The package ships them; a checkout has them at its top.",
        "Install the package again.",
    )


@dataclass(frozen=True)
class Parameter:
    """A bound parameter: its name, its DuckDB type and its default as text (None: has to be supplied)."""

    name: str
    type: str
    default: str | None

    def value(self, given: Mapping[str, Any]) -> Any:
        """The value to bind: the one given, else the default in the declared type."""
        if self.name in given:
            return given[self.name]
        return int(self.default) if self.default is not None and self.type in _INTEGERS else self.default


@dataclass(frozen=True)
class Scope:
    """One ``applies`` item: a family, an engine and an inclusive range of generations."""

    family: str
    engine: str
    first: int
    last: int

    def covers(self, family: str, engine: str, generation: int) -> bool:
        """Whether a store of this family, engine and generation is meant."""
        return (self.family, self.engine) == (family, engine) and self.first <= generation <= self.last

    def __str__(self) -> str:
        return f"{self.family} {self.engine} {self.first}-{self.last}"


@dataclass(frozen=True)
class Query:
    """A query file: header, SQL text, parameters, and the relations it reads."""

    path: Path
    header: Mapping[str, str]
    sql: str
    parameters: tuple[Parameter, ...]
    applies: tuple[Scope, ...]

    def bind(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Values for the query's parameters."""
        return {parameter.name: parameter.value(given) for parameter in self.parameters}

    @property
    def reads(self) -> frozenset[str]:
        """Schema-qualified relations of the SQL, such as ``raw.keys`` or ``audit.calls``."""
        return relations(self.sql, str(self.path))

    def covers(self, family: str, engine: str, generation: int) -> bool:
        """Whether the file applies to a store of this family, engine and generation."""
        return any(scope.covers(family, engine, generation) for scope in self.applies)


def load(path: Path, *, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> Query:
    """Read one query file and check its header.

    Parameters
    ----------
    path : the file.
    keys : header keys it must have.
    optional : further keys it may have.

    Raises
    ------
    QueryFileError : a key missing, unknown, or written twice; a parameter used but not declared, or declared but not used.
    """
    header: dict[str, str] = {}
    lines = path.read_text(encoding="utf-8").splitlines()
    last, at = "", 0
    for at, line in enumerate(lines):
        if match := _KEY.match(line):
            last, value = match.groups()
            if last in header:
                raise QueryFileError(f"{path}:{at + 1}: key '{last}' stands twice.")
            header[last] = value.strip()
        elif last and (match := _MORE.match(line)):
            header[last] = f"{header[last]} {match.group(1).strip()}".strip()
        else:
            break
    missing = [key for key in keys if not header.get(key)]
    unknown = [key for key in header if key not in (*keys, *optional)]
    if missing or unknown:
        raise QueryFileError(
            f"{path}: header keys missing: {missing or 'none'}; unknown: {unknown or 'none'}.",
            f"Expected {', '.join(keys)}; allowed beside them {', '.join(optional) or 'nothing'}.",
        )
    sql = "\n".join(lines[at:]).strip().rstrip(";").rstrip()
    parameters = _parameters(path, header.get("params", "none"))
    used = set(_PARAM.findall(_NOISE.sub(" ", sql)))
    declared = {parameter.name for parameter in parameters}
    if used != declared:
        raise QueryFileError(
            f"{path}: parameters used but not declared: {sorted(used - declared)}; "
            f"declared but not used: {sorted(declared - used)}."
        )
    return Query(path, header, sql, parameters, tuple(_scopes(path, header.get("applies", ""))))


def figure(name: str) -> Query:
    """A query behind a figure or table of a report, ``queries/figures/<name>.sql``."""
    return load(root() / "figures" / f"{name}.sql", keys=("figure", "about"), optional=("params",))


def _parameters(path: Path, text: str) -> tuple[Parameter, ...]:
    if text == "none":
        return ()
    found = []
    for item in text.split(","):
        match = _DECLARED.match(item.strip())
        if not match:
            raise QueryFileError(f"{path}: parameter '{item.strip()}' is not 'name type' or 'name type = default'.")
        found.append(Parameter(*match.groups()))
    return tuple(found)


def _scopes(path: Path, text: str) -> Iterator[Scope]:
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _APPLIES.match(item)
        if not match:
            raise QueryFileError(f"{path}: '{item}' is not 'family engine first-last'.")
        family, engine, first, last = match.groups()
        yield Scope(family, engine, int(first), int(last or first))


@cache
def relations(sql: str, where: str = "query") -> frozenset[str]:
    """Schema-qualified relations that a SELECT names, read from DuckDB's own parse tree.

    Names without a schema are common table expressions and are left out; every relation of ours has a schema.
    """
    row = _parser().execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if tree.get("error"):
        raise QueryFileError(f"{where}: DuckDB cannot parse it: {tree.get('error_message', 'no message')}")
    return frozenset(_base_tables(tree))


@cache
def statements(sql: str) -> tuple[duckdb.Statement, ...]:
    """The statements of a text of our own, parsed once a process: of a small store, parsing is a tenth of an audit."""
    return tuple(duckdb.extract_statements(sql))


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    # One connection for all parses: opening one costs more than a parse.
    return duckdb.connect()


def _base_tables(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("type") == "BASE_TABLE" and node.get("schema_name"):
            yield f"{node['schema_name']}.{node['table_name']}"
        for value in node.values():
            yield from _base_tables(value)
    elif isinstance(node, list):
        for value in node:
            yield from _base_tables(value)
