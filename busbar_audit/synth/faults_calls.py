"""Faults in what call records say; the chain around them is sealed again, so that only the content is wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from busbar_audit.synth.bodies import dumps
from busbar_audit.synth.fault import Fault, Planted, codes
from busbar_audit.synth.faults_chain import Change, Place, at, make, place
from busbar_audit.synth.records import Record, insert, reseal, save

_CALLS = ("mcp_calls", "call", "call_neutral")
_TYPED = ("mcp_calls", "call")


def _says(code: str, **fields: Any) -> Change:
    """Return a change of digested fields, sealed again from there."""

    def change(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
        save(c, r.edit(**fields))
        reseal(c, r.population, r.scope, r.seq)
        return at(r, code)

    return change


def _pin_back(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    server = r.fields["server"]
    last = next(x for x in reversed(chain) if x.fields["server"] == server)
    save(c, last.edit(pin_generation=0))
    reseal(c, last.population, last.scope, last.seq)
    return at(last, "M04")


def _same_request(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    first = chain[1]
    save(c, r.edit(request_id=first.fields["request_id"]))
    return at(r, "M07", first=first.seq, last=r.seq, count=2)


def _text(code: str, rewrite: Callable[[str | bytes], str | bytes]) -> Change:
    """Return a change of the stored body's text or bytes, with nothing sealed again."""

    def change(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
        body = rewrite(r.body())
        if r.population == "mcp_calls":
            value = "CAST(? AS TEXT)" if isinstance(body, bytes) else "?"
            sql = f"UPDATE mcp_calls SET body = {value} WHERE principal = ? AND seq = ?"  # noqa: S608
        else:
            sql = "UPDATE plane_records SET body = ? WHERE kind = 'call' AND parent = ? AND seq = ?"
        c.execute(sql, (body, r.scope, r.seq))
        return at(r, *code.split())

    return change


def _both(edit: Callable[[str], str]) -> Callable[[str | bytes], str | bytes]:
    """Let one edit of JSON text serve text columns and BLOB bodies."""

    def rewrite(body: str | bytes) -> str | bytes:
        return edit(body) if isinstance(body, str) else edit(body.decode()).encode()

    return rewrite


def _without_request(text: str) -> str:
    return dumps({k: v for k, v in json.loads(text).items() if k != "request_id"})


def _with_more(text: str) -> str:
    return dumps(dict(sorted({**json.loads(text), "note": "x"}.items())))


def _twice(text: str) -> str:
    return text[:-1] + ',"server":"github"}'


def _pin_text(text: str) -> str:
    pin = json.loads(text)["pin_generation"]
    return text.replace(f'"pin_generation":{pin}', f'"pin_generation":"{pin}"')


def _pin_nan(text: str) -> str:
    return text.replace(f'"pin_generation":{json.loads(text)["pin_generation"]}', '"pin_generation":NaN')


def _surrogate(text: str) -> str:
    return text.replace('"reason":""', '"reason":"\\ud800"')


def _backwards(text: str) -> str:
    return dumps(dict(reversed(json.loads(text).items())))


def _bad_bytes(body: str | bytes) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    return raw.replace(b'"reason":""', b'"reason":"\xff"')


def _content_too_big(body: str | bytes) -> bytes:
    value = json.loads(body)
    value["content"][5] = 256
    return dumps(value).encode()


def _content_cut(body: str | bytes) -> bytes:
    value = json.loads(body)
    value["content"].pop()
    return dumps(value).encode()


def _foreign(column: str) -> Change:
    def change(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
        c.execute(f"UPDATE mcp_calls SET {column} = 9 WHERE principal = ? AND seq = ?", (r.scope, r.seq))  # noqa: S608
        return at(r, "M06")

    return change


def _stranger(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    first = replace(chain[0], scope="vk_stranger", prev_hash="")
    if "principal" in first.fields:
        first = first.edit(principal="vk_stranger")
    if "request_id" in first.fields:
        first = first.edit(request_id="req-stranger")
    insert(c, replace(first, hash=first.digest()))
    return at(first, "M08")


def _case_twin(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    twin = chain[0].scope.upper()
    first = replace(chain[0], scope=twin, prev_hash="")
    if "principal" in first.fields:
        first = first.edit(principal=twin)
    if "request_id" in first.fields:
        first = first.edit(request_id="req-twin")
    insert(c, replace(first, hash=first.digest()))
    c.execute(
        "INSERT INTO keys (id, name, allowed_pools, generation_hash, created_at, updated_at, revision) "
        "SELECT ?, 'twin', '[]', 'binding:twin:g1', created_at, updated_at, revision FROM keys WHERE id = ?",
        (twin, chain[0].scope),
    )
    return Planted(codes("C19"), "principal", twin, records=2)


def _after_delete(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    c.execute("DELETE FROM credentials WHERE key_id = ?", (r.scope,))
    c.execute("UPDATE keys SET enabled = 0, deleted_at = ? WHERE id = ?", (chain[len(chain) // 2].ts, r.scope))
    return _later(chain)


def _after_denied(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    c.execute("INSERT INTO denylist VALUES (?, 'leaked', ?)", (r.scope, chain[len(chain) // 2].ts))
    return _later(chain)


def _later(chain: list[Record]) -> Planted:
    late = [x for x in chain[len(chain) // 2 + 1 :] if x.fields["outcome"] == "dispatched"]
    return at(late[0], "M09", last=late[-1].seq, count=len(late))


def _demoted(c: sqlite3.Connection, where: Place, chain: list[Record], r: Record) -> Planted:
    ((first,),) = c.execute("SELECT min(created_at) FROM denylist").fetchall()
    when = first - 86_400  # the synthetic denylist entry is from the middle of the store's life
    if where.population == "mcp_calls":
        c.execute("UPDATE mcp_demotions SET recorded_at = ?", (when,))
        table = "mcp_demotions"
    else:
        body = dumps({"server": "sandbox", "reason": "artifact_drifted", "recorded_at": when}).encode()
        c.execute("UPDATE plane_records SET ts = ?, body = ? WHERE kind = 'demotion'", (when, body))
        table = "plane_records"
    return Planted(codes("M10"), table)


_KINDS: tuple[tuple[str, str, tuple[str, ...], Change], ...] = (
    ("outcome_unknown", "an outcome outside the closed set", _CALLS, _says("M03", outcome="allowed")),
    ("reason_unknown", "a reason outside the closed set", _CALLS, _says("M03", reason="because")),
    ("refused_plainly", "refused without a reason", _CALLS, _says("M03", outcome="refused")),
    (
        "refused_upstream",
        "refused with upstream_failed",
        _CALLS,
        _says("M03", outcome="refused", reason="upstream_failed"),
    ),
    ("no_tool_digest", "dispatched without a tool digest", _CALLS, _says("M05", tool_digest="")),
    ("foreign_tool", "a tool that is not of the server", _CALLS, _says("M11", tool="elsewhere_read")),
    ("pin_back", "the pin generation goes back", _CALLS, _pin_back),
    ("request_twice", "one request id at two places", _TYPED, _same_request),
    ("no_request_id", "a member is missing", _TYPED, _text("M01", _both(_without_request))),
    ("one_more_member", "a member too many", _TYPED, _text("M01", _both(_with_more))),
    ("member_twice", "a member name twice", _TYPED, _text("M01", _both(_twice))),
    ("pin_as_text", "the pin generation as a text", _TYPED, _text("M01", _both(_pin_text))),
    ("pin_nan", "NaN, which JSON does not have", _TYPED, _text("M01", _both(_pin_nan))),
    ("lone_surrogate", "half a surrogate pair", _TYPED, _text("M01", _both(_surrogate))),
    ("not_json", "a body that is no JSON", _TYPED, _text("M01", _both(lambda t: t[:-1] + ",}"))),
    ("bad_utf8", "a body that is no UTF-8", ("mcp_calls",), _text("M01 S14", _bad_bytes)),
    ("bad_utf8", "a body that is no UTF-8", ("call",), _text("M01", _bad_bytes)),
    ("byte_256", "a content byte above 255", ("call_neutral",), _text("M01", _content_too_big)),
    ("content_cut", "a content one byte short", ("call_neutral",), _text("M01", _content_cut)),
    ("spaced", "blanks in the body", ("mcp_calls",), _text("M02", _both(lambda t: json.dumps(json.loads(t))))),
    ("reordered", "members in another order", ("mcp_calls",), _text("M02", _both(_backwards))),
    ("expires_set", "expires_at is set", ("mcp_calls",), _foreign("expires_at")),
    ("version_set", "version is set", ("mcp_calls",), _foreign("version")),
    ("stranger", "a principal without a key", _CALLS, _stranger),
    ("case_twin", "two principals that differ by case", _CALLS, _case_twin),
    ("after_delete", "dispatched after the key was deleted", _CALLS, _after_delete),
    ("after_denied", "dispatched after the principal was denied", _CALLS, _after_denied),
)


def _demotion(name: str, generations: tuple[int, ...]) -> Fault:
    where = replace(place(name), generations=generations)
    return make("demoted_serving", "a demoted server went on serving", where, _demoted)


FAULTS: tuple[Fault, ...] = (
    *(make(name, title, place(where), change) for name, title, places, change in _KINDS for where in places),
    _demotion("mcp_calls", (9,)),
    _demotion("call", (10, 11, 12)),
    _demotion("call_neutral", (10, 11, 12)),
)
