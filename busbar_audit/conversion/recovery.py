"""The product's recovery of runs that a crash left open (maka sheet 9.3): each gets an ending, converted runs do not.

Before a conversion could be told from a crash, converted runs were sealed too.
"""

from __future__ import annotations

import sqlite3

from busbar_audit.conversion import identity
from busbar_audit.conversion.events import envelope
from busbar_audit.conversion.ledger import Ledger
from busbar_audit.transcript import js
from busbar_audit.transcript.projection import is_terminal

RECOVERED = "-recovered"
_INTERRUPTED = "app_restarted"


def recover(con: sqlite3.Connection, session: str, at: int, *, spare: bool = True) -> int:
    """End what is open.

    Parameters
    ----------
    at : milliseconds now. spare : leave converted runs alone, as builds since C4 do.

    Returns
    -------
    the number of runs that were ended.
    """
    ledger, ended = Ledger(con), 0
    runs = con.execute(
        "SELECT DISTINCT invocation_id, run_id, turn_id FROM runtime_events WHERE session_id = ?", [session]
    ).fetchall()
    for invocation, run, turn in runs:
        if (spare and run == identity.run_id(session, turn)) or _ended(con, invocation):
            continue
        body = {
            "role": "system",
            "author": "system",
            "status": "failed",
            "ts": at,
            "content": {"kind": "error", "code": _INTERRUPTED, "reason": _INTERRUPTED, "message": "interrupted"},
            "actions": {
                "endInvocation": True,
                "stateDelta": {"recovered": True, "recoveryReason": _INTERRUPTED, "failureClass": _INTERRUPTED},
            },
        }
        ledger.append(envelope(f"{invocation}{RECOVERED}", session, invocation, run, turn, body))
        ended += 1
    return ended


def _ended(con: sqlite3.Connection, invocation: str) -> bool:
    found = con.execute(
        "SELECT payload_json FROM runtime_events WHERE invocation_id = ? ORDER BY event_seq DESC", [invocation]
    )
    return any(is_terminal(js.parse(text)) for (text,) in found)
