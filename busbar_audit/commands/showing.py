"""How a command ends: its result as lines or JSON, and one word last."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from busbar_audit import console
from busbar_audit.errors import ReportError


def show_run(run: Mapping[str, Any], as_json: bool, written: Sequence[str]) -> int:
    """Print a run, whatever becomes of the reader of the lines; returns its exit code."""
    code: int = run["exit_code"]
    with written_out():
        _print_run(run, as_json, written)
    return code


@contextlib.contextmanager
def written_out() -> Iterator[None]:
    """Print in this block; that nobody reads on is no fault, and a place without room is told.

    Raises
    ------
    ReportError : standard output cannot be written.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader has seen enough, as `head` does; the verdict stands
    except OSError as error:
        raise ReportError(
            f"The result cannot be written to standard output: {error.strerror}.",
            "A place with room for it.",
            "Run it again; what --out named has been written.",
        ) from None


def _print_run(run: Mapping[str, Any], as_json: bool, written: Sequence[str]) -> None:
    if as_json:
        print(json.dumps(run, indent=1, ensure_ascii=True))
        print(run["verdict"], file=sys.stderr)
        return
    for document in run["stores"]:
        for line in console.document_lines(document):
            print(line)
    for line in (*run.get("incomplete", ()), *written):
        print(line)
    print(run["verdict"])


def show(told: Mapping[str, Any], lines: Iterable[str], code: int, as_json: bool) -> int:
    """Print a document, as JSON or by its lines, and its verdict as the last word; returns the exit code given."""
    with written_out():
        if as_json:
            print(json.dumps(told, indent=1, ensure_ascii=True))
        else:
            for line in lines:
                print(line)
        print(told["verdict"], file=sys.stderr if as_json else sys.stdout)
    return code
