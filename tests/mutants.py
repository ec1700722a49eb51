"""Breaks the verifiers on purpose, one place at a time, and requires a test to turn red at each.

Run by `make mutants`, not by pytest; a word as an argument runs those of the files whose names contain it. Each mutant
names the file, the exact text and what to put there, and the tests that have to see it. Text that is not found exactly
once is an error, so the list cannot rot; so are a selection of tests that is red without a mutant, and a mutant that
only keeps the tests from starting. One that no input can tell from the original is listed with the reason, and run all
the same.
"""

# The exact texts of the sources stand here in one line each.
# ruff: noqa: E501

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import SimpleQueue

REPOSITORY = Path(__file__).resolve().parent.parent
COPIED = ("busbar_audit", "queries", "tests", "pyproject.toml")
AT_ONCE = 2
SECONDS = 180  # a mutant may hang; the selections take a tenth of this

Tests = tuple[str, ...]
# Properties tried on random data are left out: they shrink what they find, and everything here is to fail at once.
MACROS: Tests = ("tests/test_sql_verifier.py", "tests/test_agreement.py", "-k", "not all_verifiers")
SQL: Tests = ("tests/test_agreement.py", "tests/test_sql_verifier.py", "-k", "not all_verifiers")
CLEARED: Tests = ("tests/test_sql_verifier.py", "-k", "cleared")
BODIES: Tests = ("tests/test_agreement.py", "-k", "content or spelling or member or spelled")
PLACES: Tests = ("tests/test_agreement.py", "-k", "place or successors or number or time")
RECIPES: Tests = ("tests/test_recipes.py", "tests/test_agreement.py", "-k", "recipes or every_content")
STREAMING: Tests = (
    "tests/test_streaming.py",
    "tests/test_agreement.py",
    "-k",
    "not damaged_chains and not all_verifiers",
)
FAST: Tests = ("tests/test_fast.py", "tests/test_agreement.py", "-k", "not agrees and not all_verifiers")
FOLD: Tests = (
    "tests/test_projection_rules.py",
    "tests/test_transcript.py",
    "-k",
    "not sample and not a_printed and not quick_way",
)


@dataclass(frozen=True)
class Mutant:
    """One change: `old` text of `file`, what stands there instead, and why no test can see it, if none can."""

    file: str
    old: str
    new: str
    tests: Tests
    equivalent: str = ""


def _in(file: str, tests: Tests, *changes: tuple[str, ...]) -> list[Mutant]:
    return [Mutant(file, old, new, tests, *why) for old, new, *why in changes]


def _view(name: str, *changes: tuple[str, ...]) -> list[Mutant]:
    return _in(f"queries/views/busbar/{name}.sql", SQL, *changes)


MUTANTS = [
    # Each rule of the fold, in the order in which it takes them.
    *_in(
        "busbar_audit/transcript/projection.py",
        FOLD,
        ('        if content and event["role"] == "model":', '        if content:'),
        ('            self._say(event, "partial_skipped", "a live text is passed over")\n            return', '            self._say(event, "partial_skipped", "a live text is passed over")'),
        ('        if kind == "text" or kind == "thinking":', '        if kind == "text":'),
        ('            key, kind = event["refs"]["stepId"], "tools"', '            key = event["refs"]["stepId"]'),
        ('        elif kind not in seen:\n            seen.append(kind)', '        else:\n            seen.append(kind)'),
        ('refs.get("storedMessageId") or refs.get("providerEventId") or event["id"]\n    return found\n\n\ndef thinking_key', 'refs.get("providerEventId") or refs.get("storedMessageId") or event["id"]\n    return found\n\n\ndef thinking_key'),
        ('refs.get("providerEventId") or refs.get("storedMessageId") or event["id"]\n    return found\n\n\ndef is_terminal', 'refs.get("storedMessageId") or refs.get("providerEventId") or event["id"]\n    return found\n\n\ndef is_terminal'),
        ('            row["steeringEventId"] = event["id"]', '            pass'),
        ('            row["origin"] = _first(content["origin"], "kind")', '            pass'),
        ('(key == "displayText" and value == content["text"])', 'False'),
        ('        if value != [] or key == "inlineReferences":', '        if value != []:'),
        ('        if run is None:\n            self._say(event, "incomplete_event", "an answer without an opening that names its model")\n            return', '        if run is None:\n            run = Run("")'),
        ('        if len(seen) > 1 and seen != [kind for kind in _ORDER if kind in seen]:', '        if len(seen) > 1:'),
        ('        if len(seen) > 1 and seen != [kind for kind in _ORDER if kind in seen]:', '        if False:'),
        ('        row["modelId"] = run.model', '        row["modelId"] = content["text"]'),
        ('            row["providerOptions"] = content["providerOptions"]', '            pass'),
        ('        for waiting in self.parked.pop(row["id"], ()):', '        for waiting in self.parked.get(row["id"], ()):'),
        ('            _attach(row, waiting)', '            pass'),
        ('f"text of role {event[\'role\']} makes no row")\n                return False', 'f"text of role {event[\'role\']} makes no row")'),
        ('        row = self.answers.get((event["turnId"], key))\n        if row', '        row = None\n        if row'),
        ('        self.answers[event["turnId"], row["id"]] = row', '        self.answers.setdefault((event["turnId"], row["id"]), row)'),
        ('{"text": old["text"] + new["text"], "parts"', '{"text": old["text"], "parts"'),
        ('[*old.get("parts", [old]), new]', '[old, new]'),
        ('        for waiting in self.parked.values():', '        for waiting in ():'),
        ('content["id"] or (event.get("refs") or {}).get("toolCallId")', 'content["id"]'),
        ('        if found != content["id"]:', '        if False:'),
        ('            if delta.get("activityKind") in _ACTIVITIES:', '            if delta.get("activityKind"):'),
        ('("displayName", "intent") if', '("displayName",) if'),
        ('        row |= _present(event.get("refs") or _NONE, ("stepId",))', '        pass'),
        ('        row |= _identity(event)\n        row["args"]', '        row["args"]'),
        ('        row |= _present(content, ("providerOptions", "providerExecuted"))', '        row |= _present(content, ("providerOptions",))'),
        ('        row = self._row(event, "tool_call", used)', '        row = self._row(event, "tool_call")'),
        ('        self.tools[used] = content["name"]\n        delta', '        delta'),
        ('        if kind in OLD_PLANS:\n            result = {"kind": "json", "value": result}\n        elif', '        if kind in OLD_PLANS:\n            pass\n        elif'),
        ('            self._say(event, "incomplete_event", "tool result is of no known kind")\n            return', '            self._say(event, "incomplete_event", "tool result is of no known kind")'),
        ('            "isError": content.get("isError") is True,', '            "isError": False,'),
        ('        if content.get("providerExecuted"):', '        if True:'),
        ('            row["durationMs"] = duration', '            pass'),
        ('        self._push(event, row | _identity(event))', '        self._push(event, row)'),
        ('            self._use(_TOOL, used, event)\n            self.tools[used] = content["name"]\n        row', '            self._use(_TOOL, used, event)\n        row'),
        ('row | _present(content, ("data",)))', 'row)'),
        ('            self._say(event, "unsupported_event", "an error inside a run that goes on")\n            return False', '            return True'),
        ('        elif kind == "error" and not is_terminal(event):', '        elif kind == "error":'),
        ('            row = self._row(event, "workhub_coordination", event["id"])', '            row = self._row(event, "workhub_coordination")'),
        ('{"kind": "action_receipt", "schemaVersion": 1, **', '{"kind": "action_receipt", **'),
        ('            self._use(_REQUEST, request_id, event)\n            self.requests[request_id] = (event, request)', '            self._use(_REQUEST, request_id, event)'),
        ('            self.tools[used] = tool', '            pass'),
        ('        if outcome is None or used is None:\n            self._say(', '        if outcome is None:\n            return\n        if used is None:\n            self._say('),
        ('            agreed = there == own[:3] and (', '            agreed = ('),
        ('(asked.get("toolUseId"), asked.get("toolName")) == (used, tool)', 'True'),
        ('        agreed = own == (', '        agreed = True or own == ('),
        ('        row = self._row(event, "permission_decision", request_id, told["committedAt"])', '        row = self._row(event, "permission_decision", request_id)'),
        ('        self._push(event, row | _present(asked or {}, ("hint",)))', '        self._push(event, row)'),
        ('        row |= _present(told, ("rememberForTurn", "reviewer", "rationale", "riskLevel"))', '        pass'),
        ('.get("toolCallId") or asked.get("toolUseId")', '.get("toolCallId")'),
        ('        if asked.get("toolUseId", used) != used:', '        if False:'),
        ('            named.append(self.tools.get(used))', '            pass'),
        ('[decision.get("toolName"), asked.get("toolName")]', '[decision.get("toolName")]'),
        ('        if not told or any(one != told[0] for one in told):', '        if not told:'),
        ('(_present(asked, ("hint",)) or _present(decision, ("hint",)))', '_present(decision, ("hint",))'),
        ('(_present(asked, ("hint",)) or _present(decision, ("hint",)))', '_present(asked, ("hint",))'),
        ('        row |= _present(decision, ("rememberForTurn", "reviewer", "rationale", "riskLevel"))', '        pass'),
        ('_present(event.get("refs") or {}, ("providerRequestTraceId",))', '_present(actions["tokenUsage"], ("providerRequestTraceId",))'),
        ('self._row(event, "token_usage") | _present(actions["tokenUsage"], USAGE)', 'self._row(event, "token_usage")'),
        (' and "handoffPause" not in actions:', ':'),
        ('        if run is None or status not in TERMINAL:', '        if run is None:'),
        ('"aborted" if status in ("aborted", "cancelled") else status', '"aborted" if status == "aborted" else status'),
        ('        row |= {name: run.lineage[name] for name in LINEAGE if run.lineage.get(name)}', '        pass'),
        ('            row["abortedAt"] = event["ts"]', '            pass'),
        ('                row["abortSource"] = source', '                pass'),
        ('cause or "unknown"', 'cause'),
        ('                row["failureMessage"] = content["message"]', '                pass'),
        ('                row |= _present(content, ("retry",))', '                pass'),
        ('        if status == "failed" and cause == CAPPED:', '        if status == "failed" and False:'),
        ('            return "context_overflow" if found == "context_budget_exhausted" else found', '            return found'),
        ('("failureClass", "errorClass", "reason", "code")]\n    for', '("errorClass", "failureClass", "reason", "code")]\n    for'),
        ('(*named, error.get("reason"), error.get("code"))', 'named'),
        ('("abortSource", "source")]', '("source", "abortSource")]'),
        ('        if any(key in actions for key in _CLAIMED) or', '        if'),
        (' or delta.get("continuationStart") is True:', ':'),
        ('        if event["role"] != "system":\n            return False', '        pass'),
        ('isinstance(delta.get("planId"), str) and isinstance(delta.get("title"), str)', 'isinstance(delta.get("planId"), str)'),
        ('        return bool(refs.get("toolCallId")) and (', '        return ('),
        ('                self._say(event, "unclaimed_control_fact", "a fact that is not known")', '                pass'),
        ('                    "unsupported_event",\n                    "content that makes no row",', '                    "partial_skipped",\n                    "content that makes no row",'),
    ),
    *_in(
        "queries/macros/text.sql",
        MACROS,
        ("WHEN strlen(t) < 128", "WHEN strlen(t) <= 128"),
        ("chr(CAST(strlen(t) AS INTEGER))", "chr(CAST(length(t) AS INTEGER))"),
        ("ELSE unhex(printf('%016x', strlen(t)))", "ELSE unhex(printf('%016x', length(t)))"),
        ("unhex('0000000000000008')", "unhex('0000000000000800')"),
        ("18446744073709551616 AS UBIGINT", "18446744073709551615 AS UBIGINT"),
        ("substr(h, 15, 2) || substr(h, 13, 2)", "substr(h, 13, 2) || substr(h, 15, 2)"),
        ("audit.swapped(printf('%016x', strlen(t)))", "audit.swapped(printf('%016x', length(t)))"),
        ("audit.swapped(printf('%016x', i))", "printf('%016x', i)"),
        ("'[0-9a-f]{64}'", "'[0-9a-fA-F]{64}'"),
        ("'[0-9a-f]{64}'", "'[0-9a-f]{63,64}'"),
        ("regexp_full_match(t, '[0-9a-f]{64}')", "regexp_matches(t, '[0-9a-f]{64}')"),
        ("|(?i:nan|inf)'", "'"),
        ("(?i:nan|inf)", "(?:NaN|Infinity)"),
        (r"',\s*[\]}]|(?i", "'(?i"),
        (r"',\s*[\]}]|(?i", r"',[\]}]|(?i"),
        (r"""'"(?:[^"\\]|\\.)*"', '""', 'gs'""", r"""'"[^"]*"', '""', 'gs'"""),
        ("audit.outside_strings(t), ',", "t, ',"),
        (" AND TRY(json_type(t)) = 'OBJECT'", ""),
        ("len(list_distinct(audit.members(t))) = len(audit.members(t))", "true"),
        (r"regexp_matches(t, '-0\s*[,\]}]')", r"regexp_matches(t, '-0[,\]}]')"),
        (r"regexp_replace(x, '-0(\s*[,\]}])', '-0.0\1', 'g')", "x"),
        (r"'-0.0\1', 'g')", r"'-0.0\1')"),
        ("CASE WHEN starts_with(x, '\"') THEN x ELSE", "CASE WHEN x IS NULL THEN x ELSE"),
        ("CASE WHEN starts_with(literal, '\"') THEN value END", "value"),
        ("regexp_full_match(literal, '[0-9]+')", "literal IS NOT NULL"),
        ("TRY(CAST(j AS UTINYINT[]))", "TRY_CAST(j AS UTINYINT[])"),
        ("WHEN j = '[]' THEN ''", "WHEN j = '[]' THEN NULL"),
        ("printf('%02x', x)", "printf('%x', x)"),
        (", '') AS UBIGINT), 100000000)::BIGINT", ", '') AS UBIGINT))::BIGINT"),
        ("TRY(decode(unhex(h)))", "decode(unhex(h))"),
        ("CASE WHEN strlen(h) = 16 THEN", "CASE WHEN strlen(h) <= 16 THEN"),
    ),
    *_view(
        "chain_content.audit",
        ("digest_seq || '|' || digest_ts", "digest_ts || '|' || digest_seq"),
        ("sha256(prev_hash || '|' || digest_seq || '|'", "sha256(prev_hash || '|' || seq || '|'"),
        ("|| outcome || '|' || principal)", "|| outcome || principal)"),
        ("encode(prev_hash || '|' || digest_seq) ||", "encode(prev_hash || digest_seq) ||"),
        ("(NOT decodable OR digest <> hash)", "digest <> hash"),
        ("digest <> hash", "digest <> lower(hash)"),
    ),
    *_view(
        "chain_content.events",
        ("digest_version = '2'", "digest_version IS NOT NULL"),
        (" || chr(0))", ")"),
        ("digest_seq::UBIGINT", "digest_ts::UBIGINT"),
        ("|| principal || '|' || agent_id || '|' || state", "|| principal || '|' || agent_id || state"),
        ("'|' || digest_seq || '|'", "'|' || seq || '|'"),
        ("(NOT decodable OR digest <> hash)", "NOT decodable"),
    ),
    *_view(
        "chain_content.mcp_calls",
        ("audit.framed_text(c.tool) || audit.framed_text(c.outcome)", "audit.framed_text(c.outcome) || audit.framed_text(c.tool)"),
        ("audit.framed_int(r.seq)", "audit.framed_int(r.ts)"),
        ("audit.framed_text(r.prev_hash) || ", ""),
        (" || audit.framed_int(c.pin_generation)", ""),
        ("(NOT decodable OR digest <> hash)", "digest <> hash"),
    ),
    *_view(
        "chain_content.plane_calls",
        ("audit.framed_text(principal)", "audit.framed_text(scope)"),
        ("audit.framed_int(digest_seq) || unhex(content)", "audit.framed_int(seq) || unhex(content)"),
        ("audit.framed_text(scope) || ", ""),
        ("digest <> hash", "false"),
    ),
    *_view(
        "chain_extents",
        ("min(first_seq)", "min(last_seq)"),
        ("max(last_seq)", "max(first_seq)"),
        ("sum(records)", "count(*)"),
    ),
    *_view(
        "chain_faults",
        ("candidates > 0 AND matches = 0", "matches = 0"),
        ("candidates > 0 AND matches = 0", "matches < candidates"),
        ("count(r.hash) AS candidates", "count(*) AS candidates"),
        ("CAST(f.seq AS HUGEINT) - 1", "f.seq - 1"),
        ("CAST(f.seq AS HUGEINT) - 1", "CAST(f.seq AS HUGEINT)"),
        (" AND f.prev_hash IS NOT NULL", ""),
        ("GROUP BY f.population, f.scope, f.seq, f.row", "GROUP BY f.population, f.scope, f.seq"),
        ("'gap-inner', previous_seq + 1", "'gap-inner', previous_seq"),
        ("CAST(seq AS HUGEINT) - previous_seq - 1", "CAST(seq AS HUGEINT) - previous_seq"),
        ("CAST(seq AS HUGEINT) - previous_seq - 1", "seq - previous_seq - 1"),
        ("'head-missing', 1, seq - 1,", "'head-missing', 1, seq,"),
        ("digest IS NULL THEN", "digest IS NOT NULL THEN"),
    ),
    *_view(
        "chain_flags",
        ("ORDER BY seq, row", "ORDER BY seq, row DESC"),
        ("lag(ts IGNORE NULLS)", "lag(ts)"),
        ("ts < previous_ts - $tolerance", "ts <= previous_ts - $tolerance"),
        ("tolerance hugeint = 300", "tolerance hugeint = 299"),
        ("previous_seq < CAST(seq AS HUGEINT) - 1, false) AS gap", "previous_seq < seq - 1, false) AS gap"),
        ("previous_seq IS NULL AND seq > 1", "previous_seq IS NULL AND seq <> 1"),
        ("coalesce(seq = 1 AND prev_hash <> '', false)", "coalesce(previous_seq IS NULL AND prev_hash <> '', false)"),
        ("coalesce(prev_hash = '' AND seq > 1, false)", "coalesce(prev_hash = '' AND previous_seq IS NOT NULL, false)"),
        ("previous_seq = seq AS fork", "previous_hash = hash AS fork"),
        ("NOT audit.is_digest(hash) OR NOT", "NOT"),
        ("NOT (prev_hash = '' OR audit.is_digest(prev_hash))", "false"),
        ("NOT (prev_hash = '' AND seq > 1) AND", "true AND"),
        ("NOT (prev_hash = '' AND seq > 1) AND", "prev_hash <> '' AND"),
        ("(previous_seq = seq\n            OR (", "(false\n            OR ("),
        ("prev_hash IS DISTINCT FROM previous_hash", "prev_hash <> previous_hash"),
        ("PARTITION BY population, scope", "PARTITION BY scope"),
    ),
    *_view(
        "chains",
        ("arg_min_null", "arg_min"),
        ("arg_max_null(hash, (seq, row))", "arg_max(hash, (seq, row))"),
        ("arg_max_null(hash, (seq, row))", "arg_max_null(hash, (seq, -row))"),
    ),
    *_view(
        "call_fields.mcp_calls",
        ("coalesce(body = spelling AND starts_with(j[4], '\"'), false)", "coalesce(body = spelling, false)"),
        ("ELSE audit.sound_object(body) END AS sound", "ELSE json_valid(body) END AS sound"),
        ("audit.u64_of(TRY(json_extract(audit.signed_zeros(body), '$.pin_generation')))", "audit.u64_of(j[2])"),
        ("AND outcome IS NOT NULL AND reason", "AND reason"),
        ("\n        AND tool_digest IS NOT NULL AND pin_generation IS NOT NULL) AS readable", ") AS readable"),
        (" AND ts IS NOT NULL AND prev_hash IS NOT NULL AND hash IS NOT NULL) AS decodable", ") AS decodable"),
        ("audit.text_of(j[5], t[5]) AS server, audit.text_of(j[6], t[6]) AS tool,", "t[5] AS server, t[6] AS tool,"),
    ),
    *_view(
        "call_fields.plane",
        ("audit.signed_zeros(TRY(decode(body)))", "TRY(decode(body))"),
        ("TRY(decode(body))", "decode(body)"),
        ("j[13] IS NOT NULL AS neutral", "audit.bytes_hex(j[13]) IS NOT NULL AS neutral"),
        ("strlen(h) + 1 = p7 + 16 + 2 * n7 AS whole", "strlen(h) + 1 >= p7 + 16 + 2 * n7 AS whole"),
        ("sound AND (NOT neutral OR whole)", "sound"),
        ("CASE WHEN neutral THEN parent ELSE", "CASE WHEN neutral THEN '' ELSE"),
        ("CASE WHEN decodable THEN hash END AS hash", "hash"),
        ("CASE WHEN decodable THEN prev_hash END AS prev_hash", "prev_hash"),
        ("CASE WHEN decodable THEN CAST(digest_ts AS HUGEINT) END AS ts", "CAST(digest_ts AS HUGEINT) AS ts"),
    ),
    *_view(
        "audit_fields.plane",
        ("audit.signed_zeros(TRY(decode(body)))", "TRY(decode(body))"),
        ("WHEN j[9] IS NULL THEN 'typed'", "WHEN h IS NULL THEN 'typed'"),
        ("len(parts) >= 6", "len(parts) >= 5"),
        ("len(parts) >= 6", "len(parts) = 6"),
        ("audit.u64_of(nullif(parts[2], ''))", "TRY_CAST(parts[2] AS UBIGINT)"),
        ("636861696e2e7632') THEN 'core'", "636861696e2e76') THEN 'core'"),
        ("ELSE strlen(h) + 1 = p5 + 16 + 2 * n5 END", "ELSE strlen(h) + 1 >= p5 + 16 + 2 * n5 END"),
        ("CASE WHEN decodable THEN hash END AS hash", "hash"),
        ("CASE WHEN sound AND whole AND", "CASE WHEN whole AND"),
    ),
    *_view(
        "event_fields.plane",
        ("audit.signed_zeros(TRY(decode(body)))", "TRY(decode(body))"),
        ("CAST(j[12] AS VARCHAR) AS digest_version", "t[12] AS digest_version"),
        ("AND agent_id IS NOT NULL AND state IS NOT NULL", "AND agent_id IS NOT NULL"),
        ("CASE WHEN sound AND task_id", "CASE WHEN task_id"),
        ("parent AS scope, task_id", "task_id AS scope, task_id"),
    ),
    *_view("event_fields.task_events", ("AND state IS NOT NULL AND prev_hash", "AND prev_hash")),
    *_view("audit_fields.audit_log", (" AND outcome IS NOT NULL AND principal IS NOT NULL", "")),
    *_in(
        "queries/views/busbar/chain_content.mcp_calls.sql",
        CLEARED,
        (" AS a ANTI JOIN source.cleared_calls AS w ON w.scope = a.scope", " AS a"),
        ("ON w.scope = a.scope", "ON true"),
    ),
    *_in(
        "queries/views/busbar/chain_flags.sql",
        CLEARED,
        (" OR scope NOT IN (SELECT scope FROM source.cleared_calls)", ""),
        ("population <> 'mcp_calls' OR scope", "scope"),
    ),
    *_in("queries/macros/text.sql", BODIES,
        ("""'""', 'gs'""", """'""', 'g'""", "a backslash before a line break is no JSON in any case"),
        (
            "WHEN strlen(h) >= p + 15 + 2 * n THEN",
            "WHEN strlen(h) >= p THEN",
            "the last frame has to end where the content ends, so all before it are inside",
        ),
    ),
    *_in("queries/views/busbar/audit_fields.plane.sql", BODIES,
        (
            "WHEN starts_with(h, '000000000000000008') THEN 'kernel'",
            "WHEN starts_with(h, '00') THEN 'kernel'",
            "the time is eight bytes long, so the digits that are no longer compared are those",
        ),
        (
            "WHEN 'unknown' THEN false",
            "WHEN 'unknown' THEN true",
            "what is of no known variant has no first frame and so no time, without which nothing is decodable",
        ),
    ),
    *_in("queries/views/busbar/chain_flags.sql", PLACES,
        (
            "previous_seq = CAST(seq AS HUGEINT) - 1 AND prev_hash",
            "prev_hash",
            "a candidate after a gap finds no record before it when chain_faults looks for one by its number",
        ),
    ),
    *_in(
        "busbar_audit/chains/recipes.py",
        RECIPES,
        ('len(data).to_bytes(8, "big")', 'len(data).to_bytes(8, "little")'),
        ("return frame(text.encode())", 'return frame(text.encode("latin-1", "replace"))'),
        ("(value & U64_MAX)", "abs(value)"),
        ('"|".join(map(str, parts))', '"|".join(filter(None, map(str, parts)))'),
        ("return _joined(prev_hash, seq, ts, action,", "return _joined(prev_hash, ts, seq, action,"),
        ("return _joined(prev_hash, task_id, seq, ts, kind,", "return _joined(prev_hash, task_id, ts, seq, kind,"),
        ('(seq & U64_MAX).to_bytes(8, "little")', '(seq & U64_MAX).to_bytes(8, "big")'),
        ('return len(data).to_bytes(8, "little") + data', "return frame(data)"),
        (r'b"busbar.a2a.taskchain.v2\0"', 'b"busbar.a2a.taskchain.v2"'),
        ("texts + frame_int(pin_generation)", "frame_int(pin_generation) + texts"),
        ("frame(AUDIT_CORE_DOMAIN) if variant", "AUDIT_CORE_DOMAIN if variant"),
        ("if at + 8 > end:", "if at + 8 >= end:"),
        ("if at > end:", "if at > end + 1:", "what begins past the end has no length, and the end is compared at the end"),
        ("return fields if at == end else None", "return fields"),
        ("or len(fields[0]) != 8 or len(fields[6]) != 8", "or len(fields[6]) != 8"),
        ("or len(fields[6]) != 8", ""),
        ("if fields is None or len(fields[0]) != 8:", "if fields is None:"),
        (r'elif content[:1] != b"\0":', "elif not content:"),
        ("if len(parts) >= 6 else", "if len(parts) == 6 else"),
        ("or int(digits[1]) > U64_MAX", ""),
        ('r"0*([0-9]{1,20})"', r'r"0*(\d{1,20})"'),
        ('"|".join(parts[3:-2])', "parts[3]"),
    ),
    *_in(
        "busbar_audit/chains/records.py",
        STREAMING,
        ("members if len(members) == len(pairs) else _Twice(members)", "members"),
        ('len(token) <= 20 and token[0] != "-"', "len(token) <= 20"),
        ("parse_constant=_constant", "parse_constant=float"),
        ("if type(value) is not dict:", "if not isinstance(value, dict):"),
        (r'''if "\\u" in text and "\\" in _ESCAPE.sub("", text):''', "if False:"),
        ("(?![dD][89a-fA-F])", "(?![dD][8-9])"),
        ("or value > U64_MAX", "or value > 2 * U64_MAX"),
        ("type(value) is not int or", "not isinstance(value, int) or"),
        ("if type(body.get(name)) is not str:", "if body.get(name) is None:"),
        ("except UnicodeDecodeError:\n        return None", 'except UnicodeDecodeError:\n        return ""'),
        ('version = members.get("digest_version")\n', 'version = members.get("digest_version", 2)\n'),
        ("type(version) is int and version == 2", "version == 2"),
        ("type(version) is int and version == 2", "type(version) is int and version >= 2"),
        ('"content" in members and kind != "task_event"', '"content" in members'),
        ("type(n) is int and n <= 255", "isinstance(n, int) and n <= 255"),
        ("return Record(kind, scope, seq, None, None, None, None)", 'return Record(kind, scope, seq, None, "", None, None)'),
        ("neutral_call_digest(prev, parent, seq, content)", 'neutral_call_digest(prev, "", seq, content)'),
        ('("principal", *_CALL_TEXTS, "prev_hash")', '("principal", *_CALL_TEXTS[:4], "prev_hash")'),
        ('"call": ("seq", "ts", "pin_generation"),', '"call": ("ts", "pin_generation"),'),
        (
            'return Record("mcp_calls", scope, seq, ts, prev, stored, recomputed)',
            'return Record("mcp_calls", scope, seq, ts, prev, recomputed and stored, recomputed)',
        ),
        ("if ts is None or prev is None or stored is None or None in fields:", "if ts is None or None in fields:"),
    ),
    *_in(
        "busbar_audit/chains/streaming.py",
        STREAMING,
        ("[0-9a-f]{64}\").fullmatch", "[0-9a-f]{64}$\").match"),
        ("ORDER_TOLERANCE = 300", "ORDER_TOLERANCE = 301"),
        ("record.ts < self.ts - self.tolerance", "record.ts <= self.ts - self.tolerance"),
        ("            self.ts = record.ts\n", "            self.ts = max(self.ts or record.ts, record.ts)\n"),
        ("elif record.recomputed != stored:", "elif stored and record.recomputed != stored.lower():"),
        ("if prev and seq == 1:", "if prev and seq <= 1:"),
        ('if prev == "" and seq > 1:', 'if prev == "" and seq >= 1:'),
        ("or (prev and not is_digest(prev))", ""),
        ("if seq > 1:\n                add(\"head-missing\"", "if seq >= 1:\n                add(\"head-missing\""),
        ('add("head-missing", 1, seq - 1, seq - 1)', 'add("head-missing", 1, seq - 1)'),
        ("elif seq == self.last.seq:", "elif seq == self.last.seq and record.hash == self.last.hash:"),
        ("self.before = self.here if seq == expected else set()", "self.before = self.here"),
        ("            self.here = set()\n        ", "        "),
        ("prev not in self.before and (prev or seq <= 1)", "prev not in self.before and prev"),
        ("prev not in self.before and (prev or seq <= 1)", "prev not in self.before"),
        ("if self.before and prev is not None", "if prev is not None"),
        ('add("gap-inner", expected, seq - 1, seq - expected)', 'add("gap-inner", expected, seq - 1)'),
        ('where, values = ["kind = ?", "parent IS NOT NULL"], [kind]', 'where, values = ["kind = ?"], [kind]'),
        ("if chain is None or at != (is_text, scope):", "if chain is None or at[1] != scope:"),
        ('self.extents.add("undecodable", seq, seq)', "pass"),
        ('keys += ["rowid"] if has_rowid', 'keys += ["rowid DESC"] if has_rowid'),
        ("            yield rows\n            rows, size = [], 0", "            yield rows[:-1]\n            rows, size = [], 0"),
    ),
    *_in(
        "busbar_audit/chains/spans.py",
        FAST,
        ("seq > 0 and is_digest(stored)", "is_digest(stored)"),
        ("seq > 0 and is_digest(stored)", "seq > 0"),
        ("after.first_seq <= self.last_seq", "after.first_seq < self.last_seq"),
        ("if not (self.ascends and after.ascends) or", "if not self.ascends or"),
        ('add("gap-inner", expected, seq - 1, seq - expected)', 'add("gap-inner", expected, seq - 1)'),
        ("prev != last_hash and (prev or seq <= 1)", "prev != last_hash and prev"),
        ("after.first_ts[1] < self.ts - tolerance", "after.first_ts[1] <= self.ts - tolerance"),
        ("                self.first_ts = after.first_ts\n", "                pass\n"),
        ("self.extents.merge(after.extents)", "pass"),
        ("if self.first_seq > 1:", "if self.first_seq >= 1:"),
        ("prev == span.expected and seq == span.last_seq + 1", "prev == span.expected"),
        ("if prev == span.expected and", "if"),
        (" and ts >= span.ts:", ":"),
        ("hashed(join(place)).hexdigest() == stored", "True"),
        ('request_id.isprintable() and "\\\\" not in request_id', "True"),
        (' and "\\\\" not in request_id', ""),
        ("request_id.isprintable() and ", ""),
        ("pack(8, seq, 8, ts)", "pack(8, seq, 8, span.ts)"),
        ("                            span.expected = stored\n", ""),
        ("or int(head[2]) > recipes.U64_MAX", ""),
        ("content = text(tail[1]) + text(tail[2])", "content = text(tail[2]) + text(tail[1])"),
        ("(0|[1-9][0-9]{{0,19}})", "([0-9]{{1,20}})"),
        (r"""[^"\\\x00-\x1f]*""", r"""[^"\x00-\x1f]*"""),
        (r"""[^"\\\x00-\x1f]*""", r"""[^"\\]*"""),
        ("raise NotThisWay  # a row without a place", "return"),
        ("self.absent = self.last_seq - count\n\n", "\n"),
    ),
    *_in(
        "busbar_audit/chains/fast.py",
        FAST,
        ("while self.order and self.order[0] in self.done:", "while self.order and self.done:"),
        ("self.joined[principal].join(span, self.tolerance)", "self.joined[principal] = span"),
        ("(low, min(low + step - 1, high))", "(low, min(low + step - 2, high))"),
        ("if part is not None:\n            ranges.give_back(part)", "if part is None:\n            ranges.give_back(part)"),
        ("            if span.ascends:", "            if True:"),
        ("sorted(ranges.joined)", "list(ranges.joined)"),
        ("if ranges is None or ranges.given_up:", "if ranges is None:"),
        ('and "rowid" not in map(str.lower, columns)', ""),
        ("has_rowid and set(COLUMNS)", "set(COLUMNS)"),
        ("again * 4 <= sum", "again * 400 <= sum"),
    ),
]  # fmt: skip


class Spoilt(Exception):
    """The list or the tests are not as they have to be, whatever the mutants say."""


def listed(word: str) -> list[Mutant]:
    """The mutants of the files whose names contain `word`, each proven to change its file in one place."""
    chosen = [mutant for mutant in MUTANTS if word in mutant.file]
    wrong = []
    for mutant in chosen:
        found = (REPOSITORY / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        if found != 1 or mutant.old == mutant.new:
            wrong.append(f"{mutant.file}: found {found} times, expected once: {mutant.old!r}")
    if len(set(MUTANTS)) != len(MUTANTS):
        wrong.append("a mutant stands in the list twice")
    if wrong:
        raise Spoilt("\n".join(wrong))
    return chosen


def tree(parent: Path, number: int) -> Path:
    """A private copy to change."""
    copy = parent / f"tree-{number}"
    copy.mkdir()
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    return copy


def outcome(copy: Path, tests: Tests) -> str:
    """`green`, `red`, `hung`, or what kept the tests from running."""
    env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONHASHSEED": "0"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hung"
    known = {0: "green", 1: "red"}
    return (
        known.get(done.returncode) or f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-500:]}"
    )


_times = count(int(time.time()) + 1)


def _write(file: Path, text: str) -> None:
    """Write with a time of its own: byte code is told stale by time and length only, and mutants come within a second."""
    file.write_text(text, encoding="utf-8")
    stamp = next(_times)
    os.utime(file, (stamp, stamp))


def judged(copy: Path, mutant: Mutant) -> str:
    """Run one mutant in a copy, and put the copy right again."""
    file = copy / mutant.file
    text = file.read_text(encoding="utf-8")
    _write(file, text.replace(mutant.old, mutant.new))
    try:
        said = outcome(copy, mutant.tests)
    finally:
        _write(file, text)
    if said == "green":
        return "equivalent" if mutant.equivalent else "SURVIVED"
    if said not in ("red", "hung"):
        return said
    return "KILLED THOUGH CALLED EQUIVALENT" if mutant.equivalent else "killed"


def line(mutant: Mutant, verdict: str, seconds: float) -> str:
    """One row of the table."""
    change = f"{' '.join(mutant.old.split())[:48]} -> {' '.join(mutant.new.split())[:48]}"
    return f"{verdict:<10} {seconds:5.1f} s  {Path(mutant.file).name}: {change}"


def run(word: str = "") -> int:
    """Run the list and print the table; 1 when a mutant got through, 2 when the list or the tests are wrong."""
    started = time.monotonic()
    chosen = listed(word)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name, ThreadPoolExecutor(AT_ONCE) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(AT_ONCE):
            copies.put(tree(Path(name), number))

        def bare(tests: Tests) -> str:
            copy = copies.get()
            try:
                return outcome(copy, tests)
            finally:
                copies.put(copy)

        def one(mutant: Mutant) -> str:
            copy = copies.get()
            begun = time.monotonic()
            try:
                verdict = judged(copy, mutant)
            finally:
                copies.put(copy)
            print(line(mutant, verdict, time.monotonic() - begun), flush=True)
            return verdict

        selections = sorted({mutant.tests for mutant in chosen})
        for tests, said in zip(selections, pool.map(bare, selections), strict=True):
            if said != "green":
                raise Spoilt(f"Without a mutant, {' '.join(tests)}: {said}")
        verdicts = list(pool.map(one, chosen))
    counts = {verdict: verdicts.count(verdict) for verdict in ("killed", "SURVIVED", "equivalent")}
    other = len(verdicts) - sum(counts.values())
    for mutant in chosen:
        if mutant.equivalent:
            print(f"equivalent: {Path(mutant.file).name}: {mutant.new!r}: {mutant.equivalent}.")
    print(
        f"{len(verdicts)} mutants: {counts['killed']} killed, {counts['SURVIVED']} survived, "
        f"{counts['equivalent']} equivalent, {other} without a verdict; {time.monotonic() - started:.0f} s"
    )
    return 1 if counts["SURVIVED"] or other else 0


if __name__ == "__main__":
    try:
        sys.exit(run(*sys.argv[1:2]))
    except Spoilt as error:
        print(error, file=sys.stderr)
        sys.exit(2)
