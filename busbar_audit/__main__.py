"""The command's way in: an installation that lacks a library must not end with Python's 1, which reads as findings."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> None:
    """Run the command `busbar-audit`; 3 where it cannot be loaded."""
    try:
        from busbar_audit.cli import main as run
    except Exception as error:  # a library that is missing, of another release, or broken
        _lacking(error)
    run()


def _lacking(error: Exception) -> NoReturn:
    # With what Python brings alone: nothing else can be relied on here.
    name = getattr(error, "name", None) or type(error).__name__
    print(
        f"busbar-audit: this installation is not complete: {name}: {str(error)!a}\n"
        "Expected every library that busbar-audit needs.\n"
        "Install it again: `pip install --force-reinstall busbar-audit`. Nothing was checked.",
        file=sys.stderr,
    )
    print("inconclusive", file=sys.stderr if "--json" in sys.argv else sys.stdout)
    sys.exit(3)


if __name__ == "__main__":
    main()
