"""Small stores for tests of reports, and pages taken apart."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from busbar_audit.synth.busbar import write_busbar

AS_OF = 1_700_700_000
# Everything a page, a terminal, Markdown or XML could take for its own: tags, a bidi override, an escape, a link, a pipe.
HOSTILE = "<script>alert(1)</script>|\u202e\x1b[31m`x`\n![i](http://evil.example/x.png)'\"&amp;\ufffe"


def clean_store(path: Path, generation: int = 9, **more: Any) -> Path:
    sizes = {"calls": 120, "principals": 3, "tasks": 4, "audits": 12, **more}
    write_busbar(path, generation=generation, **sizes)
    return path


def hostile_store(path: Path) -> Path:
    """A store with faults of several kinds, in it a principal whose name is an attack."""
    clean_store(path)
    with closing(sqlite3.connect(path)) as con, con:
        guards = con.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            con.execute(f'DROP TRIGGER "{name}"')
        first, second, third = (
            row[0]
            for row in con.execute("SELECT principal FROM mcp_calls GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 3")
        )
        con.execute("UPDATE mcp_calls SET principal = ? WHERE principal = ?", (HOSTILE, first))
        con.execute("DELETE FROM mcp_calls WHERE principal = ? AND seq IN (5, 6, 7)", (second,))
        con.execute("UPDATE mcp_calls SET prev_hash = ? WHERE principal = ? AND seq = 4", ("ab" * 32, third))
        con.execute("UPDATE audit_log SET outcome = ? WHERE seq = 3", (HOSTILE,))
        for _, sql in guards:
            con.execute(sql)
    return path


def damaged_store(path: Path) -> Path:
    clean_store(path, calls=600, journal="delete")
    content = bytearray(path.read_bytes())
    for page in range(len(content) // 4096 // 2, len(content) // 4096 // 2 + 3):
        content[page * 4096 : page * 4096 + 200] = b"\xa5" * 200
    path.write_bytes(bytes(content))
    return path


def newer_store(path: Path) -> Path:
    clean_store(path, generation=12)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("PRAGMA user_version = 14")
    return path


class Page(HTMLParser):
    """Tags with their attributes, ids, and the text a reader sees."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.seen: list[str] = []
        self.styles: list[str] = []
        self._inside: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag in ("style", "script"):
            self._inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        (self.styles if "style" in self._inside else self.seen).append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.seen))

    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def loads(self) -> list[str]:
        """Addresses the page would fetch when it is opened, or that leave the folder when followed."""
        found = []
        for tag, attributes in self.tags:
            for name in ("src", "srcset", "data", "poster", "action", "formaction", "background", "xlink:href", "href"):
                value = attributes.get(name)
                if value is None or (name == "href" and value.startswith("#")) or value.startswith("data:image/"):
                    continue
                if name == "href" and tag == "a" and not re.match(r"[a-z][a-z0-9+.-]*:|//", value, re.IGNORECASE):
                    continue  # a link within the folder
                found.append(f"{tag} {name}={value}")
            found += re.findall(r"(?:url\((?!#)[^)]*\)|@import[^;]*|image-set\([^)]*\))", attributes.get("style", ""))
        for style in self.styles:
            found += re.findall(r"(?:url\((?!#)[^)]*\)|@import[^;]*|image-set\([^)]*\)|https?:[^ ;]*)", style)
        return found
