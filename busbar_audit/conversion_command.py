"""The conversion rehearsal as the command runs it: the document written and shown, the verdict as exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from busbar_audit import console
from busbar_audit.rehearsal.conversion import lines, rehearse_store, write
from busbar_audit.text import printable


def run(target: str, *, out: Path | None, as_json: bool, **options: Any) -> int:
    """Rehearse, write, show; returns the exit code. For the options see `rehearse_store`."""
    with console.progress() as say:
        document = rehearse_store(target, progress=say, **options)
    written = None if out is None else write(document, out)
    if as_json:
        print(json.dumps(document, indent=1, ensure_ascii=True))
        print(document["verdict"], file=sys.stderr)
    else:
        for line in lines(document):
            print(line)
        if written is not None:
            print(f"written   {printable(str(written))}")
        print(document["verdict"])
    code: int = document["exit_code"]
    return code
