"""The baseline: the loop a user would write. Reads mcp_calls in key order, parses each body, recomputes each digest."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def number(value: int) -> bytes:
    return frame(value.to_bytes(8, "big"))


def main(path: str) -> int:
    bad, last = 0, {}
    con = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = con.execute("SELECT principal, seq, ts, prev_hash, hash, body FROM mcp_calls ORDER BY principal, seq")
    for principal, seq, ts, prev_hash, stored, body in rows:
        call = json.loads(body)
        preimage = (
            frame(prev_hash.encode())
            + frame(principal.encode())
            + number(seq)
            + number(ts)
            + frame(call["server"].encode())
            + frame(call["tool"].encode())
            + frame(call["outcome"].encode())
            + frame(call["reason"].encode())
            + frame(call["tool_digest"].encode())
            + number(call["pin_generation"])
        )
        bad += hashlib.sha256(preimage).hexdigest() != stored
        bad += last.get(principal, (0, "")) != (seq - 1, prev_hash)
        last[principal] = (seq, stored)
    return bad


if __name__ == "__main__":
    print(main(sys.argv[1]))
