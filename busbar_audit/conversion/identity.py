"""Ids of converted runs and their events: pure functions of the session and the turn (maka sheet 4.2)."""

from __future__ import annotations

import hashlib

PREFIX = "transcript-"


def run_id(session: str, turn: str) -> str:
    """The run that a converted turn has: 48 hex digits of SHA-256 over session, NUL, turn."""
    text = f"{session}\0{turn}".encode("utf-8", "surrogatepass")
    return PREFIX + hashlib.sha256(text).hexdigest()[:48]


def opening_id(run: str) -> str:
    """The event that opens a converted run."""
    return f"{run}-opened"


def event_id(run: str, number: int) -> str:
    """The event of a converted run with this number, from 1; the ending has the last one."""
    return f"{run}-e{number}"
