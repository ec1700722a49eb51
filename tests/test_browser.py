"""Every page of a report in a real browser: offline, quiet, no wider than the window, without a serious accessibility fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_browser import Browser, Tab, axe, browsing
from support_cli import called
from support_pages import write_pages
from support_reports import AS_OF, clean_store, damaged_store, hostile_store

from busbar_audit.reporting.session import open_run
from busbar_audit.synth import KINDS
from busbar_audit.synth.a2a_command import write_python_file
from busbar_audit.synth.maka import write_maka

WIDTHS = (1280, 400)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser") / "profile") as up:
        yield up


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Tab:
    return browser.tab(offline=True)


@pytest.fixture(scope="module")
def folder(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of a gateway, a clean and a damaged one, a workspace and an A2A store, a case file, and a history."""
    stores, out = tmp_path_factory.mktemp("stores"), tmp_path_factory.mktemp("pages")
    hostile_store(stores / "hostile.db")
    damaged_store(stores / "damaged.db")
    clean_store(stores / "clean.db")
    write_maka(stores / "workspace.sqlite", generation=18)
    list(write_python_file(stores / "tasks.db", generation=KINDS["a2a-python"], seed=1, size=12, odd=()))
    seen = set()
    for name, only in (
        ("hostile.db", ""),
        ("damaged.db", "01"),
        ("clean.db", "00"),
        ("workspace.sqlite", "0"),
        ("tasks.db", "06"),
    ):
        seen.update(write_pages(stores / name, out / name.partition(".")[0], as_of=AS_OF, only=only))
    assert len(seen) >= 6, "every notebook of ours has its page"
    with open_run(stores / "hostile.db", as_of=AS_OF) as run:
        run.find("BUS-C03")[0].export(out / "case")
    for store in ("clean", "hostile", "hostile"):
        called(
            "audit",
            stores / f"{store}.db",
            "--as-of",
            "2023-11-23T00:00:00Z",
            "--history",
            out / "history",
            "--only",
            "BUS-C03",
        )
    return out


@pytest.fixture(scope="module")
def pages(folder: Path) -> list[Path]:
    found = [p for p in sorted(folder.rglob("*.html")) if "history" not in p.parts] + [
        folder / "history" / "index.html"
    ]
    assert len(found) > 14
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_load_nothing_say_nothing_and_fit(tab: Tab, pages: list[Path], folder: Path, width: int) -> None:
    for page in pages:
        tab.open(page.as_uri(), width=width)
        name = f"{page.relative_to(folder)} at {width} px"
        assert tab.complaints == [], name
        assert {address.split("#")[0] for address in tab.requests} == {page.as_uri()}, name
        wide, shown = tab.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= shown, f"{name}: {tab.run(WIDEST)}"
        assert tab.run("document.body.innerText.length") > 300, name


# What sticks out, for the message.
WIDEST = """[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth
    && !e.closest('.ba-scroll')).slice(0, 5).map(e => e.tagName + '.' + e.className).join(' ')"""


def test_first_screens_answer_the_three_questions_without_scrolling(tab: Tab, folder: Path) -> None:
    for store, word in (("hostile", "findings"), ("clean", "clean"), ("damaged", "damaged"), ("workspace", "")):
        tab.open((folder / store / "index.html").as_uri())
        seen = tab.run(
            "[...document.querySelectorAll('main *')].filter(e => !e.children.length && e.getBoundingClientRect().bottom < 900)"
            ".map(e => e.textContent).join(' ').toLowerCase()"
        )
        for said in (word, "examined", "checks", "not "):
            assert said in seen, (store, said)


def test_figures_and_tables_are_seen(tab: Tab, folder: Path) -> None:
    tab.open((folder / "hostile" / "01_chain_integrity.html").as_uri())
    boxes = tab.run(
        "[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect()).map(b => [b.width, b.height])"
    )
    assert len(boxes) >= 2
    assert all(width > 300 and height > 60 for width, height in boxes), boxes
    assert tab.run("document.querySelectorAll('.ba-scroll table tr').length") > 5
    assert tab.run("document.querySelectorAll('script, iframe, object, embed').length") == 0


def test_both_schemes_and_print_are_readable(tab: Tab, folder: Path) -> None:
    tab.open((folder / "hostile" / "index.html").as_uri())
    colours = {}
    for scheme in ("light", "dark"):
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours[scheme] = tab.run(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
    assert colours["light"] != colours["dark"]
    tab.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    tab.call("Emulation.setEmulatedMedia", media="", features=[])
    # At 200 % a window of 1280 has room for 640.
    tab.open((folder / "hostile" / "01_chain_integrity.html").as_uri(), width=640)
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(tab: Tab, pages: list[Path], folder: Path, scheme: str) -> None:
    source = axe()
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    # The scheme changes colours alone, and these pages have all of them.
    rules = "" if scheme == "light" else ", runOnly: ['color-contrast']"
    if scheme == "dark":
        pages = [
            page
            for page in pages
            if page.parent.name == "hostile" or page.name in ("02_divergence.html", "06_push_configs.html")
        ]
    faults = []
    for page in pages:
        tab.open(page.as_uri())
        tab.run(source + "; true")
        found = tab.run(
            f"axe.run(document, {{resultTypes: ['violations']{rules}}}).then(r => JSON.stringify(r.violations))"
        )
        faults += [
            f"{page.relative_to(folder)}: {each['impact']} {each['id']} {each['nodes'][0]['html'][:120]}"
            for each in json.loads(found)
            if each["impact"] in ("serious", "critical")
        ]
    tab.call("Emulation.setEmulatedMedia", features=[])
    assert faults == [], "\n".join(faults)


def test_the_check_of_this_file_finds_what_it_is_for(tab: Tab, tmp_path: Path) -> None:
    """A page with one fault of each kind: what finds nothing anywhere proves nothing."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><html><head><title>x</title></head><body><main><h1>bad</h1><img src='http://evil.example/x.png'>"
        "<div style='width:3000px'>wide</div><p style='color:#eee;background:#fff'>faint</p>"
        "<script>console.error('told')</script></main></body></html>"
    )
    tab.open(page.as_uri())
    assert any("told" in each for each in tab.complaints)
    assert "http://evil.example/x.png" in tab.requests
    assert tab.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    tab.run(axe() + "; true")
    told = json.loads(tab.run("axe.run().then(r => JSON.stringify(r.violations.map(v => v.id)))"))
    assert {"html-has-lang", "image-alt", "color-contrast"} <= set(told)
