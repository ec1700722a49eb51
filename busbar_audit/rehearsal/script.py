"""A file of SQL as statements, so that each can be timed, and the file be cut between any two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from busbar_audit.errors import UsageError
from busbar_audit.text import printable

_MOST = 4 << 20
# What a semicolon may stand in without ending a statement. A quote that does not end goes on to the end of the file.
_TOKEN = re.compile(
    r"""(?P<line>--[^\n]*) | (?P<block>/\*) | (?P<dollar>\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$)
    | (?P<escaped>(?<![A-Za-z0-9_$])[eE]'(?:[^'\\]|''|\\.)*(?:'|\Z)) | (?P<text>'(?:[^']|'')*(?:'|\Z))
    | (?P<name>"(?:[^"]|"")*(?:"|\Z)) | (?P<word>[A-Za-z_][A-Za-z0-9_$]*) | (?P<end>;)""",
    re.VERBOSE | re.DOTALL,
)
_META = re.compile(r"^[ \t]*\\", re.MULTILINE)
_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)


def read_script(path: Path) -> list[str]:
    """Statements of a file, in order, without those that hold comments only.

    Raises
    ------
    UsageError : no such file, not UTF-8, larger than 4 MiB, nothing in it, or it has commands of psql.
    """
    name = printable(path.name)
    try:
        if path.stat().st_size > _MOST:
            raise UsageError(f"{name} is larger than 4 MiB.", "A migration: statements of SQL, not data.")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}.", "A file of SQL that can be read.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8.", "A file of SQL.") from None
    found = list(split(text))
    if not found:
        raise UsageError(f"{name} has no statement.", "A file of SQL.")
    if any(_META.search(_bare(statement)) for statement in found):
        raise UsageError(f"{name} has commands of psql (a line that begins with \\).", "Statements of SQL alone.")
    return found


def split(text: str) -> Iterator[str]:
    """Statements of a text; semicolons in quotes, in dollar quotes and in comments end none."""
    begin = place = 0
    while (token := _TOKEN.search(text, place)) is not None:
        place = token.end()
        if token["block"]:
            place = _after_comment(text, place)
        elif token["dollar"]:
            closing = text.find(token["dollar"], place)
            place = len(text) if closing < 0 else closing + len(token["dollar"])
        elif token["end"]:
            if first_word(text[begin:place]):
                yield text[begin:place].strip()
            begin = place
    if first_word(text[begin:]):
        yield text[begin:].strip()


def first_word(statement: str) -> str:
    """First word of a statement in capitals, comments left out; "" if there is none."""
    rest = statement[_COMMENTS.match(statement).end() :]  # type: ignore[union-attr] # it matches the empty text too
    found = re.match(r"[^\s;(]+", rest)
    return found[0].upper() if found else ""


def _after_comment(text: str, place: int) -> int:
    depth = 1
    for mark in re.finditer(r"/\*|\*/", text[place:]):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return place + mark.end()
    return len(text)


def _bare(statement: str) -> str:
    """The statement without what stands in quotes."""
    kept, place = [], 0
    while (token := _TOKEN.search(statement, place)) is not None:
        kept.append(statement[place : token.start()])
        place = token.end()
        if token["dollar"]:
            closing = statement.find(token["dollar"], place)
            place = len(statement) if closing < 0 else closing + len(token["dollar"])
        elif token["block"]:
            place = _after_comment(statement, place)
        elif token["word"]:
            kept.append(token["word"])
    return "".join([*kept, statement[place:]])
