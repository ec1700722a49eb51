"""Write a synthetic maka workspace of any generation: sessions in normal use, with what is legal but odd among them.

Ids are plain and fixed (session ``s1``, turn ``s1-t2``, run ``s1-r2``, invocation ``s1-i2``, event ``s1-i2-e3``), so
that a fault can be planted, and found, by name. Texts are a few neutral words. Single
faults are in `busbar_audit.synth.maka_faults`.
"""

from __future__ import annotations

import hashlib
import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busbar_audit.errors import OutputExists, UsageError
from busbar_audit.stores import maka_shapes
from busbar_audit.transcript import js
from busbar_audit.transcript.chunks import CHUNK, MARK

START = 1_700_000_000_000
# Events of a session of ten turns, about.
EVENTS_A_SESSION = 63
_WORDS = ("plan", "file", "test", "build", "note", "check", "read", "list", "step", "done")
_METADATA = {5: 17, 6: 18, 7: 19, 8: 21, 9: 21, 10: 21, 11: 22, 12: 28, 18: 39}
_TURNS = ("plain", "thinking", "tools", "permission", "steering", "failed", "aborted", "note", "batch", "answered")


@dataclass(frozen=True)
class SynthMaka:
    """What was written: the file, its generation, rows by table, and the last moment in unix milliseconds."""

    path: Path
    generation: int
    counts: Mapping[str, int]
    end: int


def write_maka(
    path: str | Path,
    *,
    generation: int = 18,
    seed: int = 0,
    sessions: int = 2,
    turns: int = 10,
    converted: int = 1,
    large: bool = False,
    imports: int = 0,
) -> SynthMaka:
    """Write one workspace file; the same arguments always give the same rows.

    Parameters
    ----------
    path : file to make; it must not exist.
    generation : runtime schema, 4 to 18. Up to 12 native turns are written twice, as events and as rows (from 8 on).
    sessions, turns : native sessions (s1, s2 …), and turns in each.
    converted : sessions whose rows were converted (c1, c2 …), from 16 on; an imported one (x1) comes beside them.
    imports : sessions with every kind of row, so many converted in full (f1, f2 …) and as many not yet (l1, l2 …), from 16 on.
    large : with records above 64 KiB (chunked from 12 on) and above 512 KiB.

    Raises
    ------
    OutputExists : the file is there already. UsageError : no such generation.
    """
    path = Path(path)
    if generation not in maka_shapes.GENERATIONS:
        raise UsageError(f"Generation {generation}.", "Expected 4 to 18.")
    if path.exists():
        raise OutputExists(f"{path} is there already", "expected a new file", "remove it or name another one")
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as con:
            con.execute("PRAGMA synchronous = OFF")
            con.execute("BEGIN")
            writer = _Writer(con, generation, seed)
            writer.store(sessions, turns, converted, large)
            if imports and generation >= 16:
                # It is built on this module.
                from busbar_audit.synth.maka_imports import write_imports

                write_imports(writer, imports)
            writer.catalog()
            con.execute("COMMIT")
            con.execute(f"PRAGMA user_version = {generation}")
            con.execute("PRAGMA journal_mode = wal")
            names = [n for (n,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            counts = {n: con.execute(f"SELECT count(*) FROM {n}").fetchone()[0] for n in names}  # noqa: S608
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return SynthMaka(path, generation, counts, writer.now)


def transcript_run(session: str, turn: str) -> str:
    """The run id that conversion derives for a turn."""
    return "transcript-" + hashlib.sha256(f"{session}\0{turn}".encode()).hexdigest()[:48]


class _Writer:
    """Fills one empty database."""

    def __init__(self, con: sqlite3.Connection, generation: int, seed: int) -> None:
        self.con, self.generation = con, generation
        self.random = random.Random(f"maka/{seed}")  # noqa: S311 - words, not secrets
        self.now = START
        self.seqs: dict[str, int] = {}
        self.ordinals: dict[str, int] = {}
        self.rows: dict[str, int] = {}
        maka_shapes.create(con, generation)

    def store(self, sessions: int, turns: int, converted: int, large: bool) -> None:
        self._versions()
        for n in range(1, sessions + 1):
            session = f"s{n}"
            self._session(session)
            before = None
            for k in range(1, turns + 1):
                kind = _TURNS[(k - 1) % len(_TURNS)]
                self.turn(session, k, kind, before, "x" * 700_000 if large and k == 3 else "")
                before = f"{session}-t{k}"
            self._subagent(session, turns + 1)
        self._open_run("s1", turns + 2)
        if self.generation >= 16:
            for n in range(1, converted + 1):
                self._converted(f"c{n}", foreign=False, large=large)
            self._converted("x1", foreign=True, large=False)

    def _versions(self) -> None:
        registry = {"runtime": self.generation, "core_execution": 9 if self.generation > 12 else 4, "operational": 2}
        metadata = _METADATA.get(self.generation, 30)
        if self.generation >= 5:
            self.put("session_metadata_schema", scope="session_metadata", version=metadata)
        if self.generation >= 11:
            for scope, version in {**registry, "session_metadata": metadata}.items():
                self.put("operational_schema_migrations", scope=scope, version=version, applied_at=START)

    def put(self, table: str, **values: Any) -> None:
        """Insert a row."""
        marks = ", ".join("?" * len(values))
        self.con.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", [*values.values()])  # noqa: S608

    def tick(self, ms: int = 7) -> int:
        """The clock, a little later."""
        self.now += ms
        return self.now

    def words(self, n: int = 5) -> str:
        """A few neutral words."""
        return " ".join(self.random.choice(_WORDS) for _ in range(n))

    # --- the two places a turn is written to ---

    def event(self, at: tuple[str, str, str, str], role: str, author: str, key: str = "", **members: Any) -> str:
        """Append an event to an invocation (session, turn, run, invocation); returns its id."""
        session, turn, run, invocation = at
        seq = self.seqs[invocation] = self.seqs.get(invocation, 0) + 1
        event_id = key or f"{invocation}-e{seq}"
        ts = members.pop("ts", None) or self.tick()
        event = {
            "id": event_id,
            "invocationId": invocation,
            "runId": run,
            "sessionId": session,
            "turnId": turn,
            "ts": ts,
            "partial": False,
            "role": role,
            "author": author,
            **members,
        }
        self.put(
            "runtime_events",
            event_id=event_id,
            session_id=session,
            invocation_id=invocation,
            run_id=run,
            turn_id=turn,
            event_seq=seq,
            event_kind=_label(event),
            payload_json=js.stringify(event, ordered=True),
            committed_at=ts,
        )
        if self.generation >= 11:
            ordinal = self.ordinals[session] = self.ordinals.get(session, 0) + 1
            self.put("runtime_session_event_ordinals", session_id=session, ordinal=ordinal, event_id=event_id)
        return event_id

    def row(self, session: str, type_: str, key: str, turn: str | None, **members: Any) -> None:
        """Append a legacy row, in chunks where it is large; nothing in generations that have none."""
        if self.generation < 8:
            return
        sequence = self.rows[session] = self.rows.get(session, -1) + 1
        ts = members.pop("ts", None) or self.now
        record = {"type": type_, "id": key, **({"turnId": turn} if turn else {}), "ts": ts, **members}
        text = js.stringify(record)
        data = text.encode()
        chunked = len(data) > CHUNK and self.generation >= 12
        self.put(
            "session_messages",
            session_id=session,
            sequence=sequence,
            message_id=key,
            message_type=type_,
            message_ts=ts,
            record_json=js.stringify({"$maka": MARK}) if chunked else text,
        )
        if chunked:
            self.put(
                "session_message_payloads",
                session_id=session,
                sequence=sequence,
                record_bytes=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
            )
            for index in range(0, len(data), CHUNK):
                piece = data[index : index + CHUNK]
                self.put(
                    "session_message_chunks",
                    session_id=session,
                    sequence=sequence,
                    chunk_index=index // CHUNK,
                    data=piece,
                    sha256=hashlib.sha256(piece).hexdigest(),
                )

    def _twin(self, session: str, type_: str, key: str, turn: str | None, **members: Any) -> None:
        """The row that stands beside an event before the cut."""
        if self.generation <= 12:
            self.row(session, type_, key, turn, **members)

    # --- sessions and turns ---

    def begin(self, session: str, **header: Any) -> int:
        """Make a session some time later; a header member of None is left out. Returns its time of creation."""
        created = self.tick(1000)
        self._session(session, **header)
        self.tick(1000)
        return created

    def _session(self, session: str, **header: Any) -> None:
        if self.generation < 5:
            return
        told = {
            "id": session,
            "createdAt": self.now,
            "backend": "ai-sdk",
            "llmConnectionSlug": "conn",
            "model": "model-1",
            "cwd": "/w",
            "permissionMode": "ask",
            "connectionLocked": True,
            "hasUnread": False,
            "isArchived": False,
            "schemaVersion": 1,
            **({"transcriptLedgerVersion": 1} if self.generation >= 13 else {}),
            **header,
        }
        told = {key: value for key, value in told.items() if value is not None}
        self.put(
            "session_metadata",
            session_id=session,
            payload_json=js.stringify(told),
            created_at=told["createdAt"],
            last_message_at=None,
            is_archived=0,
            has_unread=0,
            committed_at=self.now,
        )

    def open(self, at: tuple[str, str, str, str], key: str = "", **more: Any) -> None:
        """Begin an invocation: an event from 16 on, before that the header of a run."""
        session, turn, run, invocation = at
        lineage = more.get("lineage")
        if self.generation >= 16:
            content = {
                "kind": "invocation_opened",
                "protocol": "invocation_opened_v1",
                "route": {
                    "provenance": "unknown",
                    "backendKind": "ai-sdk",
                    "llmConnectionSlug": "conn",
                    "modelId": "model-1",
                },
                "configuration": {
                    "cwd": "/w",
                    "permissionMode": "ask",
                    "collaborationMode": "agent",
                    "orchestrationMode": "default",
                    "orchestrationSource": "session",
                    "toolMode": "direct",
                },
                "root": {"kind": "user"},
                "source": more.get("source", {"kind": "fresh"}),
                **({"lineage": lineage} if lineage else {}),
            }
            hidden = {"modelVisibility": "hidden", "content": content}
            self.event(at, "system", "system", key, ts=more.get("ts"), **hidden)
        elif self.generation >= 11:
            header = {
                "runId": run,
                "invocationId": invocation,
                "sessionId": session,
                "turnId": turn,
                "status": more.get("status", "completed"),
                "modelId": "model-1",
                "createdAt": self.tick(),
                **(lineage or {}),
            }
            text = js.stringify(header)
            self.put("core_agent_runs", session_id=session, run_id=run, created_at=self.now, record_json=text)

    def turn(self, session: str, k: int, kind: str, before: str | None, more: str = "") -> None:
        """One native turn."""
        turn = f"{session}-t{k}"
        at = (session, turn, f"{session}-r{k}", f"{session}-i{k}")
        prompt, said = self.words(), f"{turn}-user"
        self._admit(at, said, prompt, before, kind == "batch")
        self.open(at)
        key = f"{at[2]}-admitted-prompt" if kind == "batch" else said
        self.event(at, "user", "user", key, content={"kind": "text", "text": prompt})
        self._twin(session, "user", key, turn, text=prompt)
        self._twin(session, "turn_state", f"{turn}-running", turn, status="running", partialOutputRetained=False)
        if kind == "tools":
            self._tool(at, more)
        if kind == "permission":
            self._permission(at)
        if kind == "answered" and self.generation >= 11:
            self._answered(at)
        if kind == "steering":
            steered = self.event(
                at,
                "user",
                "user",
                content={"kind": "text", "text": self.words(), "steering": True},
                refs={"providerEventId": f"{turn}-steer", "sourceMessageDigest": "d"},
            )
            self._twin(session, "user", f"{turn}-steer", turn, text="one more", steeringEventId=steered)
        if kind == "note":
            note = self.event(
                at,
                "system",
                "system",
                modelVisibility="hidden",
                content={"kind": "system_note", "note": "context_compacted", "data": {"before": 9, "after": 3}},
            )
            self._twin(session, "system_note", note, turn, kind="context_compacted", data={"before": 9, "after": 3})
        if kind not in ("failed", "aborted"):
            self._answer(at, kind == "thinking")
            usage = self.event(at, "system", "system", actions={"tokenUsage": {"input": 10, "output": 20}})
            self._twin(session, "token_usage", usage, turn, input=10, output=20)
        self.close(at, kind if kind in ("failed", "aborted") else "completed")
        self._twin(session, "system_note", f"{turn}-resume", turn, kind="session_resume", ts=self.tick())

    def _answer(self, at: tuple[str, str, str, str], thinking: bool) -> None:
        message, text = f"{at[1]}-answer", self.words(9)
        refs = {"providerEventId": message}
        if thinking:
            self.event(at, "model", "agent", content={"kind": "thinking", "text": self.words(3)}, refs=refs)
        self.event(at, "model", "agent", content={"kind": "text", "text": text}, refs=refs)
        extra = {"thinking": {"text": "so"}} if thinking else {}
        self._twin(at[0], "assistant", message, at[1], text=text, modelId="model-1", **extra)

    def _tool(self, at: tuple[str, str, str, str], more: str) -> None:
        used, operation = f"{at[1]}-call", f"{at[1]}-op"
        refs = {"toolCallId": used, "operationId": operation}
        call = self.event(
            at,
            "model",
            "agent",
            content={"kind": "function_call", "id": used, "name": "Read", "args": {"path": "a.txt"}},
            actions={"stateDelta": {"activityKind": "read"}},
            refs=refs,
        )
        self._twin(at[0], "tool_call", used, at[1], toolName="Read", activityKind="read", args={"path": "a.txt"})
        dispatch = self.event(
            at,
            "system",
            "host",
            actions={
                "toolDispatch": {
                    "protocol": "t1_after_preflight_v1",
                    "operationId": operation,
                    "providerToolCallId": used,
                    "toolName": "Read",
                    "canonicalArgsHash": "h",
                    "recoveryMode": "none",
                }
            },
            refs=refs,
        )
        content = {"kind": "text", "text": "content " + more}
        result = self.event(
            at,
            "tool",
            "tool",
            content={"kind": "function_response", "id": used, "name": "Read", "result": content},
            actions={"stateDelta": {"durationMs": 5}},
            refs=refs,
        )
        self._twin(at[0], "tool_result", result, at[1], toolUseId=used, isError=False, content=content, durationMs=5)
        self.put(
            "tool_operations",
            operation_id=operation,
            invocation_id=at[3],
            run_id=at[2],
            turn_id=at[1],
            provider_tool_call_id=used,
            tool_name="Read",
            current_state="outcome_committed",
            call_event_id=call,
            dispatch_event_id=dispatch,
            result_event_id=result,
        )

    def _permission(self, at: tuple[str, str, str, str]) -> None:
        used, request = f"{at[1]}-call", f"{at[1]}-ask"
        call = {"kind": "function_call", "id": used, "name": "Bash", "args": {}}
        self.event(at, "model", "agent", content=call, refs={"toolCallId": used})
        asked = {"requestId": request, "toolUseId": used, "toolName": "Bash", "kind": "tool", "hint": "why"}
        self.event(at, "system", "system", actions={"permissionRequest": asked}, refs={"toolCallId": used})
        decided = {"requestId": request, "decision": "allow", "reviewer": "user"}
        self.event(at, "system", "user", actions={"permissionDecision": decided}, refs={"toolCallId": used})
        result = {"kind": "json", "value": {"ok": True}}
        told = {"kind": "function_response", "id": used, "name": "Bash", "result": result}
        answer = self.event(at, "tool", "tool", content=told, refs={"toolCallId": used})
        self._twin(at[0], "tool_call", used, at[1], toolName="Bash", args={})
        self._twin(
            at[0], "permission_decision", request, at[1], toolUseId=used, toolName="Bash", decision="allow", hint="why"
        )
        self._twin(at[0], "tool_result", answer, at[1], toolUseId=used, isError=False, content=result)

    def _answered(self, at: tuple[str, str, str, str]) -> None:
        """A permission whose decision is a canonical outcome."""
        session, turn, run, _ = at
        used, request = f"{turn}-call", f"{turn}-ask"
        call = {"kind": "function_call", "id": used, "name": "Edit", "args": {}}
        self.event(at, "model", "agent", content=call, refs={"toolCallId": used})
        asked = {"requestId": request, "toolUseId": used, "toolName": "Edit", "kind": "tool"}
        self.event(at, "system", "system", actions={"permissionRequest": asked}, refs={"toolCallId": used})
        self.event(
            at,
            "system",
            "user",
            actions={"permissionAnswerAccepted": {"requestId": request}},
            refs={"toolCallId": used},
        )
        result = {"kind": "json", "value": 1}
        told = {"kind": "function_response", "id": used, "name": "Edit", "result": result}
        self.event(at, "tool", "tool", content=told, refs={"toolCallId": used})
        ids = {"sessionId": session, "turnId": turn, "runId": run, "requestId": request}
        question = {"kind": "permission", "toolUseId": used, "prompt": {"toolName": "Edit"}}
        outcome = {"kind": "permission_decision", "decision": "allow", "committedAt": self.now}
        self.put(
            "core_interaction_requests",
            request_id=request,
            session_id=session,
            turn_id=turn,
            run_id=run,
            request_kind="permission",
            created_at=self.now,
            record_json=js.stringify({**ids, "createdAt": self.now, "request": question}),
        )
        record = js.stringify({**ids, "outcome": outcome})
        self.put("core_interaction_outcomes", request_id=request, record_json=record)

    def close(self, at: tuple[str, str, str, str], status: str, key: str = "", **more: Any) -> None:
        """End an invocation."""
        actions: dict[str, Any] = {"endInvocation": True}
        members: dict[str, Any] = {"status": status, "actions": actions}
        extra: dict[str, Any] = {}
        if status == "failed":
            actions["stateDelta"] = {"failureClass": "auth"}
            members["content"] = {"kind": "error", "message": "no", "code": "auth", "reason": "auth"}
            extra = {"errorClass": "auth"}
        if status == "aborted":
            actions["stateDelta"] = {"abortSource": "stop_button"}
            extra = {"abortSource": "stop_button", "abortedAt": self.now}
        ended = self.event(at, "system", "system", key, **members, **more)
        self._twin(at[0], "turn_state", ended, at[1], status=status, partialOutputRetained=True, **extra)

    def _admit(self, at: tuple[str, str, str, str], said: str, prompt: str, before: str | None, batch: bool) -> None:
        if self.generation < 11:
            return
        session, turn, run, _ = at
        sources = [f"{turn}-q1", f"{turn}-q2"] if batch else []
        record = {
            "schemaVersion": 1,
            "sessionId": session,
            "turnId": turn,
            "runId": run,
            "userMessageId": None if batch else said,
            "execution": {"kind": "external_message"},
            "previousRootTurnId": before,
            "normalizedInput": {"text": prompt},
            "sourceMessages": [
                {"messageId": one, "content": {"text": "q"}, "placement": "next_turn", "disposition": "followup"}
                for one in sources
            ],
            "admittedAt": self.tick(),
        }
        self.put(
            "core_root_turn_admissions",
            session_id=session,
            turn_id=turn,
            admitted_at=self.now,
            record_json=js.stringify(record),
        )
        for one in sources:
            self.put("core_root_source_message_proofs", session_id=session, message_id=one, turn_id=turn)

    def _subagent(self, session: str, k: int) -> None:
        """A run of a subagent: not part of the session's own transcript."""
        at = (session, f"{session}-t{k}", f"{session}-r{k}", f"{session}-i{k}")
        self.open(at, lineage={"parentRunId": f"{session}-r1", "agentId": "local"})
        self.event(at, "model", "agent", content={"kind": "text", "text": self.words()})
        self.event(at, "system", "system", status="completed", actions={"endInvocation": True})

    def _open_run(self, session: str, k: int) -> None:
        """A turn that is running: thinking without its text yet, and live text."""
        turn = f"{session}-t{k}"
        at = (session, turn, f"{session}-r{k}", f"{session}-i{k}")
        prompt = self.words()
        self._admit(at, f"{turn}-user", prompt, f"{session}-t{k - 2}", False)
        self.open(at, status="running")
        self.event(at, "user", "user", f"{turn}-user", content={"kind": "text", "text": prompt})
        self._twin(session, "user", f"{turn}-user", turn, text=prompt)
        refs = {"providerEventId": f"{turn}-answer"}
        last = self.event(at, "model", "agent", content={"kind": "thinking", "text": "so"}, refs=refs)
        live = {
            "id": f"{turn}-live",
            "invocationId": at[3],
            "runId": at[2],
            "sessionId": session,
            "turnId": turn,
            "ts": self.tick(),
            "partial": True,
            "role": "model",
            "author": "agent",
            "content": {"kind": "text", "text": ""},
            "refs": refs,
        }
        text = js.stringify(live, ordered=True)
        ids = {"session_id": session, "invocation_id": at[3], "run_id": at[2], "turn_id": turn}
        whole = "" if self.generation >= 10 else "half a"
        self.put(
            "runtime_partial_snapshots",
            stream_key=f"{turn}-live",
            after_event_id=last,
            payload_json=text,
            text_content=whole,
            updated_at=self.now,
            **ids,
        )
        if self.generation >= 10:
            row = {"segment_seq": 1, "text_content": "half a", "updated_at": self.now}
            self.put("runtime_partial_segments", stream_key=f"{turn}-live", **row)

    def _converted(self, session: str, *, foreign: bool, large: bool) -> None:
        """A session whose rows were converted by the merged converter: derived ids, ordinals after a resequence."""
        header = {"externalOrigin": {"adapterId": "a", "sourceSessionId": "x"}} if foreign else {}
        created = self.tick(1000)
        self._session(session, **header)
        rows: list[tuple[str, str, str, dict[str, Any]]] = []
        for k in range(1, 4):
            turn = f"{session}-t{k}"
            told = self.words() + ("y" * 80_000 if large and k == 2 else "")
            self.row(session, "user", f"{turn}-u", turn, text=told, ts=self.tick())
            self.row(session, "assistant", f"{turn}-a", turn, text="done", modelId="model-0", ts=self.tick())
            self.row(session, "turn_state", f"{turn}-s", turn, status="completed", ts=self.tick())
            rows.append((turn, f"{turn}-u", told, {}))
        for k, (turn, user, told, _) in enumerate(rows):
            run = transcript_run(session, turn)
            at = (session, turn, run, run)
            opened = created - 10 + k
            self.open(at, f"{run}-opened", ts=opened)
            self.event(
                at, "user", "user", f"{run}-e1", content={"kind": "text", "text": told}, refs={"storedMessageId": user}
            )
            refs = {"storedMessageId": f"{turn}-a"}
            self.event(at, "model", "agent", f"{run}-e2", content={"kind": "text", "text": "done"}, refs=refs)
            self.close(at, "completed", f"{run}-e3", refs={"storedMessageId": f"{turn}-s"})

    def catalog(self) -> None:
        """Fill the projection that lists sessions."""
        if self.generation < 11:
            return
        found = self.con.execute("SELECT session_id FROM session_metadata ORDER BY session_id").fetchall()
        for (session,) in found:
            ids = {"activity_at": self.now, "last_message_at": self.now, "is_archived": 0}
            self.put("session_catalog_projection", session_id=session, last_message_preview=None, **ids)


def _label(event: Mapping[str, Any]) -> str:
    content, actions = event.get("content") or {}, event.get("actions") or {}
    for told in (content.get("kind"), event.get("status")):
        if told:
            return str(told)
    if "toolDispatch" in actions:
        return "tool_dispatch"
    return "invocation_end" if actions.get("endInvocation") else "runtime_fact"
