"""Pages of a report: nothing loaded, nothing run, store content shown as text, the same bytes for the same store."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support_reports import AS_OF, HOSTILE, Page, clean_store, damaged_store, hostile_store

from busbar_audit.auditing import audit
from busbar_audit.reporting import figures
from busbar_audit.reporting.html import POLICY, render_index
from busbar_audit.reporting.markup import text, utc
from busbar_audit.reporting.runner import report
from busbar_audit.store import open_store
from busbar_audit.text import printable

PAGES = ("index.html", "00_store_overview.html", "01_chain_integrity.html")
_RUN = re.compile(r'<span [^>]*data-run=""[^>]*>.*?</span>')


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two reports of one hostile store."""
    store = hostile_store(tmp_path_factory.mktemp("stores") / "hostile.db")
    places = tmp_path_factory.mktemp("reports")
    for name in ("one", "two"):
        assert report(store, places / name, as_of=AS_OF, notebooks=["00", "01"]).exit_code == 1
    return places / "one", places / "two"


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, two: tuple[Path, Path]) -> tuple[str, Page]:
    source = (two[0] / request.param).read_text(encoding="utf-8")
    return source, Page(source)


def test_nothing_is_loaded_from_anywhere(page: tuple[str, Page]) -> None:
    assert page[1].loads() == []


@pytest.mark.parametrize(
    "source",
    [
        '<img src="http://x/y.png">',
        '<img src="y.png">',
        '<link rel="stylesheet" href="//cdn.example/x.css">',
        "<style>@import 'x.css';</style>",
        "<style>a { background: url(https://x/y) }</style>",
        '<p style="background: url(y.png)">',
        '<script src="x.js"></script>',
        '<a href="https://x/">x</a>',
        '<a href="javascript:alert(1)">x</a>',
        '<svg><image xlink:href="http://x/y"/></svg>',
        '<iframe src="data:text/html,x"></iframe>',
    ],
)
def test_the_test_of_loads_finds_loads(source: str) -> None:
    assert Page(source).loads()


def test_no_script_and_a_policy_that_forbids_one(page: tuple[str, Page]) -> None:
    source, parsed = page
    assert not {"script", "iframe", "object", "embed", "form", "link", "base"} & parsed.names()
    policies = [
        a["content"] for tag, a in parsed.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [POLICY]
    assert POLICY.startswith("default-src 'none';")
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert "<b>" not in HOSTILE or "<script>alert" not in source


def test_hostile_text_is_seen_as_text(page: tuple[str, Page]) -> None:
    source, parsed = page
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]", source)
    assert "<script>alert(1)</script>" in parsed.text.replace(" ", "")
    assert "\\u202e\\x1b" in parsed.text


def test_ids_are_unique_and_links_within_a_page_lead_somewhere(page: tuple[str, Page]) -> None:
    ids = [attributes["id"] for _, attributes in page[1].tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page[1].tags:
        for name in ("href", "xlink:href"):
            if attributes.get(name, "").startswith("#"):
                assert attributes[name][1:] in ids
    for used in re.findall(r"url\(#([^)]+)\)", page[0]):
        assert used in ids


def test_links_between_pages_lead_somewhere(page: tuple[str, Page], two: tuple[Path, Path]) -> None:
    links = [a["href"] for tag, a in page[1].tags if tag == "a" and not a["href"].startswith("#")]
    assert links
    for link in links:
        assert (two[0] / link).is_file(), link


def test_structure_for_readers_who_do_not_see(page: tuple[str, Page]) -> None:
    source, parsed = page
    assert source.startswith('<!DOCTYPE html>\n<html lang="en">')
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    for tag, attributes in parsed.tags:
        if tag == "th":
            assert attributes.get("scope") in ("col", "row")
        if "ba-scroll" in attributes.get("class", "").split():
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or (
                attributes.get("role") == "img" and attributes["aria-label"]
            )
    assert tags.count("table") == tags.count("caption")


def test_severity_is_said_by_shape_and_word_too(two: tuple[Path, Path]) -> None:
    source = (two[0] / "00_store_overview.html").read_text()
    badges = re.findall(r'<span class="ba-badge ba-is-(\w+)"><svg [^>]*>(.+?)</svg>(\w+)</span>', source)
    assert {word for word, _, shown in badges} >= {"critical"}
    assert all(word == shown for word, _, shown in badges)
    assert len({shape for _, shape, _ in badges}) == len({word for word, _, _ in badges})


def test_the_first_screen_answers_the_three_questions(two: tuple[Path, Path]) -> None:
    document = json.loads((two[0] / "result.json").read_text())
    for name in PAGES:
        seen = Page((two[0] / name).read_text()).text
        at = [
            seen.index(words)
            for words in ("findings", "exit code 1", "What was found", "What was looked at", "What was not")
        ]
        assert max(at) < 1200, "it comes first"
        for reason in document["reasons"]:
            assert reason in seen


def test_the_same_store_gives_the_same_pages(two: tuple[Path, Path]) -> None:
    for name in PAGES:
        one, other = ((place / name).read_text() for place in two)
        assert _RUN.sub("", one) == _RUN.sub("", other)
        assert one.count('data-run=""') > 0
    assert (two[0] / "findings.parquet").read_bytes() == (two[1] / "findings.parquet").read_bytes()


def test_every_figure_has_its_query_beside_it(two: tuple[Path, Path]) -> None:
    source = (two[0] / "01_chain_integrity.html").read_text()
    for name in ("populations", "not_intact", "timeline", "breaks", "break_places", "around"):
        assert f"queries/figures/{name}.sql" in source
    assert source.count("<figure>") == 2
    assert "time, UTC" in source


def test_figures_follow_the_scheme_of_the_page(two: tuple[Path, Path]) -> None:
    source = (two[0] / "01_chain_integrity.html").read_text()
    figure = re.findall(r'<div [^>]*class="ba-figure".*?</svg>', source, re.DOTALL)
    assert len(figure) == 2
    for drawn in figure:
        assert "var(--ba-" in drawn
        assert not re.search(r"#0[1-7]0[1-7]0[1-7]|<metadata|xmlns|DejaVu", drawn)
        assert not re.search(r"\d{4}-\d\d-\d\dT", drawn), "no date"


def test_the_broken_chains_are_on_the_map_and_their_neighbours_shown(two: tuple[Path, Path]) -> None:
    seen = Page((two[0] / "01_chain_integrity.html").read_text()).text
    assert "3 records are missing" in seen
    assert "does not hold" in seen
    assert "gap-inner" in seen
    for term in ("Ends of chains", "Fields outside the digests", "request_id"):
        assert term in seen


def test_a_damaged_file_says_so_on_every_page(tmp_path: Path) -> None:
    outcome = report(damaged_store(tmp_path / "damaged.db"), tmp_path / "out", as_of=AS_OF, notebooks=["00", "01"])
    assert outcome.exit_code == 1
    assert all(notebook.completed for notebook in outcome.notebooks[0])
    seen = Page((tmp_path / "out/01_chain_integrity.html").read_text()).text
    assert "There is no chain to show: the file is damaged" in seen
    assert "could not run" in seen
    assert Page((tmp_path / "out/01_chain_integrity.html").read_text()).loads() == []


def test_the_index_can_be_made_of_results_and_of_documents(tmp_path: Path) -> None:
    with open_store(clean_store(tmp_path / "s.db")) as store:
        result = audit(store, as_of=AS_OF)
        assert render_index([result]) == render_index([result.as_dict()])
        both = Page(render_index([result, result], word="clean", exit_code=0))
    assert both.loads() == []
    assert "Stores of this target" in both.text
    assert "holds no store" in Page(render_index([])).text


@pytest.mark.parametrize("value", [HOSTILE, "a\x00b", "\ud800", "\u2028", "plain", 12, None])
def test_text_is_escaped_and_visible(value: Any) -> None:
    shown = text(value)
    assert html.unescape(shown) == printable(value)
    assert not set(shown) & set("<>\"'\x00\x1b\u2028\u202e")
    shown.encode("utf-8")


def test_long_text_is_cut_and_says_how_long_it_was() -> None:
    assert text("x" * 1000, 10) == "x" * 10 + "… (1,000 characters)"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "1970-01-01 00:00:00"), (2**64 - 1, f"{2**64 - 1} s"), (None, "")])
def test_times_no_calendar_holds(seconds: int | None, shown: str) -> None:
    assert utc(seconds) == shown


@pytest.mark.parametrize("span", [1, 59, 3600, 86_400, 10**7, 10**9, 2**62])
def test_an_interval_fits_any_range(span: int) -> None:
    step = figures.step_for(span)
    assert step >= 1
    assert span / step <= 146


def test_figures_are_the_same_each_time_and_have_no_markup_of_a_name() -> None:
    bars = [figures.Bar(figures.label("calls", HOSTILE), 1, 10, [(kind, 2, 4) for kind in figures.MARKS])]
    drawn = figures.break_map(bars)
    assert drawn == figures.break_map(bars)
    assert "<script" not in drawn
    panel = [figures.Panel("calls: 3", [(0, 2, 0), (5, 1, 1)])]
    assert figures.timeline(panel, 1_700_000_000, 60) == figures.timeline(panel, 1_700_000_000, 60)
