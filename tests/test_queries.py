"""Every file in queries/: its header, its parameters, its columns, and that it works on the shape of every generation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import duckdb
import pytest
from support_audit import AS_OF, built

from busbar_audit import queries
from busbar_audit.auditing import audit
from busbar_audit.catalogue import page
from busbar_audit.checks import AREAS, Check, catalogue
from busbar_audit.errors import QueryFileError, UsageError
from busbar_audit.findings import COLUMNS, Outcome
from busbar_audit.result import Result
from busbar_audit.retention import comparison
from busbar_audit.store import open_store
from busbar_audit.stores.busbar_shapes import GENERATIONS

ROOT = queries.root()
REPOSITORY = Path(__file__).resolve().parent.parent
CHECK_FILES = sorted((ROOT / "checks").glob("*/*.sql"))
VIEW_FILES = sorted((ROOT / "views").glob("*/*.sql"))
FIGURE_FILES = sorted((ROOT / "figures").glob("*.sql"))
VIEW_KEYS = ("view", "kind", "about", "applies")


def _name(path: Path) -> str:
    return path.stem


def _view(path: Path) -> queries.Query:
    return queries.load(path, keys=VIEW_KEYS, optional=("params",))


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _tree(sql: str) -> dict[str, object]:
    """DuckDB's own parse tree of one SELECT."""
    row = _parser().execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchone()
    assert row is not None
    tree: dict[str, object] = json.loads(row[0])
    assert not tree.get("error"), tree
    return tree


# --- what a file says of itself ---


def test_every_file_is_looked_at() -> None:
    seen = {*CHECK_FILES, *VIEW_FILES, *FIGURE_FILES, *(ROOT / "macros").glob("*.sql")}
    # Held against each other, row by row, in test_retention.
    seen |= {*(ROOT / "predictions").glob("*/*.sql"), *(ROOT / "predictions").glob("*/effects/*.sql")}
    seen |= set((ROOT / "purges").glob("*/*.sql"))
    assert sorted(path for path in ROOT.rglob("*") if path.is_file()) == sorted(seen)
    assert len(catalogue()) == len(CHECK_FILES)


def test_codes_are_unique_and_name_their_files() -> None:
    codes = [check.code for check in catalogue()]
    assert len(set(codes)) == len(codes)
    for check in catalogue():
        assert re.fullmatch(rf"{check.code}_[a-z0-9_]+\.sql", check.query.path.name)
        assert re.fullmatch(r"[A-Z][A-Z0-9]+-[A-Z]\d\d", check.code)
        assert check.area in AREAS[check.family].values()


@pytest.mark.parametrize("check", catalogue(), ids=lambda check: check.code)
def test_a_check_says_everything_its_reader_needs(check: Check) -> None:
    for key in ("title", "proves", "does not prove", "meaning", "next"):
        text = check.query.header[key]
        assert "  " not in text
        assert (text[-1] in ".?!") == (key != "title"), (key, text)
    assert check.query.applies, "applies to nothing"
    assert check.examines.split(".")[0] in ("raw", "audit", "source")
    for relation in check.relations():
        assert relation.split(".")[0] in ("raw", "audit", "source", "expected"), relation


@pytest.mark.parametrize("check", catalogue(), ids=lambda check: check.code)
def test_a_check_is_one_ordered_select(check: Check) -> None:
    """The order is the check's own promise: by place, then by extent."""
    tree = _tree(check.query.sql)
    statements = tree["statements"]
    assert isinstance(statements, list)
    assert len(statements) == 1
    kinds = [modifier["type"] for modifier in statements[0]["node"]["modifiers"]]
    assert "ORDER_MODIFIER" in kinds
    assert re.search(r"\nORDER BY subject, place, first_seq, last_seq, detail$", check.query.sql)


@pytest.mark.parametrize("path", VIEW_FILES, ids=_name)
def test_a_view_says_what_its_rows_are(path: Path) -> None:
    query = _view(path)
    assert path.name.split(".")[0] == query.header["view"]
    assert query.header["kind"] in ("view", "table", "part")
    assert query.header["about"].endswith(".")
    _tree(query.sql)


@pytest.mark.parametrize("path", FIGURE_FILES, ids=_name)
def test_a_figure_loads(path: Path) -> None:
    query = queries.figure(path.stem)
    assert query.header["figure"] == path.stem
    assert query.header["about"].endswith(".")
    assert "ORDER BY" in query.sql
    for relation in query.reads:
        assert relation.split(".")[0] in ("raw", "audit", "source"), relation


def test_a_wrong_header_is_told_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.sql"
    for text, says in (
        ("-- figure: x\nSELECT 1", "header keys missing: \\['about'\\]"),
        ("-- figure: x\n-- about: y\n-- colour: red\nSELECT 1", "unknown: \\['colour'\\]"),
        ("-- figure: x\n-- figure: y\nSELECT 1", "x.sql:2: key 'figure' stands twice"),
        ("-- figure: x\n-- about: y\nSELECT $n", "used but not declared: \\['n'\\]"),
        ("-- figure: x\n-- about: y\n-- params: n bigint = 1\nSELECT 1", "declared but not used: \\['n'\\]"),
        ("-- figure: x\n-- about: y\n-- params: n\nSELECT $n", "is not 'name type'"),
        ("-- figure: x\n-- about: y\n-- params: n bigint\nSELECT '$n' -- $n", "declared but not used: \\['n'\\]"),
    ):
        path.write_text(text)
        with pytest.raises(QueryFileError, match=says):
            queries.load(path, keys=("figure", "about"), optional=("params",))


def test_no_sql_outside_queries_in_notebooks() -> None:
    """An analyst changes a query in one place; the catalogue and the notebooks then say the same."""
    notebooks = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            code = "".join(cell["source"])
            if cell["cell_type"] == "code":
                assert not re.search(r"\b(select|with)\b.*\b(from|as)\b", code, re.IGNORECASE | re.DOTALL), (path, code)
                assert cell["outputs"] == []
                assert cell["execution_count"] is None


def test_the_catalogue_page_is_current() -> None:
    assert (REPOSITORY / "docs/checks.md").read_text(encoding="utf-8") == page(), "run `make docs`"


# --- what it does on every generation ---


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty-shapes")


def _shapes() -> Iterator[tuple[int, str]]:
    for number in GENERATIONS:
        yield number, "typed"
        if number >= 10:
            yield number, "migrated"


@pytest.mark.parametrize(("number", "bodies"), _shapes())
def test_every_query_works_on_the_empty_shape(folder: Path, number: int, bodies: str) -> None:
    """Nothing fails where a table is there but empty, and every check of the generation finds its relations."""
    path = built(folder, number, {"odd": ("empty",), "bodies": bodies})
    with open_store(path) as store:
        result = audit(store, as_of=AS_OF)
        store.load()
        for name in store.views.names():
            store.view(name)
        for check in (check for check in catalogue() if check.family == store.family):
            ended = result.check(check.code)
            assert ended.outcome is not Outcome.COULD_NOT_RUN, (check.code, ended.reason)
            applies = check.query.covers(store.family, "sqlite", number)
            if not applies:
                assert ended.reason == f"not for busbar sqlite v{number}"
                continue
            if ended.outcome is Outcome.NOT_APPLICABLE and not ended.reason.startswith("needs "):
                _is_a_leftover(ended.reason, result)
                continue
            bound = check.query.bind({"as_of": AS_OF})
            found = store.con.execute(f"EXPLAIN {check.query.sql}", bound).fetchall()
            assert found
            names = [c[0] for c in store.con.execute(check.query.sql, bound).description or ()]
            assert tuple(names[: len(COLUMNS)]) == COLUMNS
            assert "severity" not in names[: len(COLUMNS)]
        # What only a comparison with an earlier report fills.
        store.warehouse.fill("source.since", comparison.COLUMNS, ())
        store.warehouse.fill("source.gone", comparison.GONE_COLUMNS, ())
        for path in FIGURE_FILES:
            figure = queries.figure(path.stem)
            if all(store.views.missing(relation) is None for relation in figure.reads):
                store.con.execute(f"EXPLAIN {figure.sql}", {p.name: p.value({}) for p in figure.parameters})


@pytest.mark.parametrize("number", [5, 9, 12])
def test_views_need_no_audit_first(folder: Path, number: int) -> None:
    """An analyst may ask for any view of an opened store; the one that needs an audit says so."""
    told = {}
    with open_store(built(folder, number, {"odd": ("empty",)})) as store:
        for name in store.views.names():
            try:
                store.view(name)
            except UsageError as error:
                told[name] = str(error)
        assert told.keys() == {"dangling_rows"}
        assert "Run audit(store) first." in told["dangling_rows"]
        audit(store, as_of=AS_OF)
        assert store.view("dangling_rows").fetchall() == []


def _is_a_leftover(reason: str, result: Result) -> None:
    """A check may lack a table only where its generation does not have to have it."""
    table = reason.removeprefix("the store has no table ")
    assert table != reason, reason
    expected = result.store.expected
    assert expected is not None
    assert table in expected.optional_tables
