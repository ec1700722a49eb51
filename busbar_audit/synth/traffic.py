"""Synthetic calls, tasks with their events, and the audit chain, as streams with correct digests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from busbar_audit.chains import recipes
from busbar_audit.chains.recipes import AuditVariant
from busbar_audit.synth.bodies import dumps
from busbar_audit.synth.plan import Plan

EPOCHS = 4  # configuration generations over the life of the store; each raises the pin of every server
_REFUSALS = ("not_granted", "limit_exceeded", "hook_rejected", "egress_denied", "caller_ask_pending")
_ACTIONS = (
    ("key.mint", "key:vk_{n}"),
    ("hook.register", "hook:h{n}"),
    ("hook.delete", "hook:h{n}"),
    ("plugin.install", "plugin:p{n}"),
    ("config.apply", "config:{n}"),
)
_AGENTS = ("planner", "triage", "writer")


@dataclass(frozen=True, slots=True)
class Offer:
    """One way a call can go, with everything that does not change from call to call encoded beforehand."""

    server: str
    tool: str
    outcome: str
    reason: str
    tool_digest: str
    pin_generation: int
    request_id: bool
    framed: bytes  # the digested fields after ts
    mcp_head: str
    mcp_tail: str
    typed: str
    neutral: str


class Call(NamedTuple):
    """One call record. `framed` content is `ts_frame(ts) + offer.framed`."""

    principal: str
    seq: int
    ts: int
    prev_hash: str
    hash: str
    request_id: str
    offer: Offer


class Event(NamedTuple):
    """One task event, in column order; `version` is the digest version."""

    task_id: str
    seq: int
    ts: int
    kind: str
    context_id: str
    principal: str
    agent_id: str
    state: str
    request_id: str
    prev_hash: str
    hash: str
    version: int


class Task(NamedTuple):
    """One task row, in column order."""

    task_id: str
    context_id: str
    principal: str
    direction: str
    state: str
    agent_id: str
    artifact_cursor: int
    push_callback: str
    created_at: int
    updated_at: int


class Audit(NamedTuple):
    """One admin audit record, in column order; `content` is its neutral content, `variant` how it was digested."""

    seq: int
    ts: int
    action: str
    resource: str
    outcome: str
    principal: str
    prev_hash: str
    hash: str
    variant: AuditVariant


def ts_frame(ts: int) -> bytes:
    """Return the framed timestamp that begins the digested content of a call."""
    return b"\0\0\0\0\0\0\0\x08" + ts.to_bytes(8, "big")


def offer(
    server: str, tool: str, outcome: str, reason: str, tool_digest: str, pin: int, *, request_id: bool = True
) -> Offer:
    """Encode one way a call can go."""
    framed = recipes.neutral_call_content(0, server, tool, outcome, reason, tool_digest, pin)[16:]
    o, r, s, t, d = (dumps(x) for x in (outcome, reason, server, tool, tool_digest))
    return Offer(
        server,
        tool,
        outcome,
        reason,
        tool_digest,
        pin,
        request_id,
        framed,
        mcp_head=f'{{"outcome":{o},"pin_generation":{pin},"reason":{r},"request_id":',
        mcp_tail=f',"server":{s},"tool":{t},"tool_digest":{d}}}',
        typed=f',"server":{s},"tool":{t},"outcome":{o},"reason":{r},"tool_digest":{d},"pin_generation":{pin},"request_id":',
        neutral="".join(f",{b}" for b in framed),
    )


def offers(plan: Plan) -> list[list[Offer]]:
    """Return, for each configuration generation, the calls to draw from; repeated entries weigh more."""
    result = []
    base = 2**63 if "u64_pin" in plan.odd else 0
    for epoch in range(EPOCHS):
        drawn: list[Offer] = []
        for place, server in enumerate((*plan.server_names, *(("sandbox",) if epoch < EPOCHS // 2 else ()))):
            pin = base + epoch + place + 1
            tools = ["read", "list", "write"] + (["ツール"] if "unicode" in plan.odd else [])
            tools += ['a|"b"\n\x1b[1m<i>'] if "pipes" in plan.odd else []
            for n, short in enumerate(tools):
                tool = f"{server}_{short}"
                digest = f"sha256:{plan.random(f'{tool}/{pin}').getrandbits(256):064x}"
                drawn += [offer(server, tool, "dispatched", "", digest, pin)] * 14
                drawn.append(offer(server, tool, "dispatched", "upstream_failed", digest, pin))
                reason = _REFUSALS[(n + place) % len(_REFUSALS)]
                drawn.append(offer(server, tool, "refused", reason, digest if n % 2 else "", pin))
        if "empty_texts" in plan.odd:
            drawn += [offer("", "", "refused", "malformed_params", "", base, request_id=False)] * 4
        result.append(drawn)
    return result


def calls(plan: Plan, first: int, last: int) -> Iterator[Call]:
    """Yield the calls numbered first to last-1 of the plan, oldest first, each chain beginning at seq 1.

    Memory does not grow with the number of calls: only the head of each principal's chain is kept.
    """
    rng = plan.random("calls")
    names = plan.principal_names
    weights = [1 / (1 + n) for n in range(len(names))]
    table = rng.choices(names, weights, k=4096) if len(names) <= 50 else [names[i % len(names)] for i in range(65536)]
    palette = offers(plan)
    bits, mask, shift = rng.getrandbits, len(table) - 1, len(table).bit_length() - 1
    heads: dict[str, tuple[int, str]] = {}
    repeated: dict[str, str] = {}
    digest_of = recipes.neutral_call_digest
    slow = plan.odd & {"clock_back_small", "silent_principal", "retry", "big_body"}
    start, span, count, placeholders = plan.start, plan.span, plan.calls, plan.digest_placeholders
    big = (first + last) // 2
    before = (names[0], start)
    for i in range(last):
        draw = bits(48)
        if i < first:
            continue
        ts = start + i * span // count
        principal = table[draw & mask]
        options = palette[i * EPOCHS // count]
        chosen = options[(draw >> shift) % len(options)]
        request = f"req-{draw >> 16:08x}{i:08x}" if chosen.request_id else ""
        if slow:
            if "clock_back_small" in slow:
                if i % 37 == 36:
                    principal, ts = before[0], before[1] - 120
                before = (principal, ts)
            if "silent_principal" in slow and principal == names[0] and count < i * 10 < 9 * count:
                principal = names[-1]
            if "retry" in slow and chosen.request_id:
                if i % 50 == 49 and principal in repeated:
                    request = repeated[principal]
                repeated[principal] = request
            if "big_body" in slow and i == big:
                request = "x" * 300_000
        seq, prev = heads.get(principal, (0, ""))
        seq += 1
        if placeholders:
            digest = f"c{seq}"
        else:
            digest = digest_of(prev, principal, seq, b"\0\0\0\0\0\0\0\x08" + ts.to_bytes(8, "big") + chosen.framed)
        heads[principal] = (seq, digest)
        yield Call(principal, seq, ts, prev, digest, request, chosen)


def tasks(plan: Plan) -> Iterator[tuple[Task, list[Event]]]:
    """Yield tasks with their events, oldest first: finished ones, waiting ones, and some at work at the very end."""
    rng = plan.random("tasks")
    names = plan.principal_names[:50]
    for n in range(plan.tasks):
        recent = n >= plan.tasks - max(1, plan.tasks // 10)
        created = plan.end - 3000 + n % 60 if recent else plan.start + n * (plan.span - 7200) // plan.tasks
        final = "working" if recent else ("input-required" if n % 9 == 4 else "")
        if not final:
            final = ("completed", "completed", "completed", "failed", "canceled", "rejected")[n % 6]
        agent = _AGENTS[n % len(_AGENTS)]
        task_id = f"a2a-{agent}-{rng.getrandbits(64):016x}"
        context = task_id if n % 4 == 1 else f"ctx-{rng.getrandbits(32):08x}"
        if "unicode" in plan.odd and n % 3 == 0:
            context = f"контекст-{n}"
        if "pipes" in plan.odd and n % 3 == 0:
            context = f'ctx|{n}"\n<b>'
        callback = f"https://hooks.example.com/a2a/{n}" if n % 3 == 0 else ""
        yield _task(plan, n, task_id, context, names[n % len(names)], agent, callback, created, final)


def _task(
    plan: Plan, n: int, task_id: str, context: str, principal: str, agent: str, callback: str, created: int, final: str
) -> tuple[Task, list[Event]]:
    artifacts = n % 3 if final == "completed" else 0
    steps = [("task.submitted", "submitted", ""), ("task.delegated", "submitted", agent)]
    if final != "rejected":
        steps.append(("task.working", "working", agent))
    if n % 5 == 2 and final not in ("rejected", "working", "input-required"):
        steps += [("task.interrupted", "auth-required", agent), ("task.resumed", "working", agent)]
    steps += [("task.artifact", "working", agent)] * artifacts
    if final == "input-required":
        steps.append(("task.interrupted", final, agent))
    elif final != "working":
        steps.append(("task.terminal", final, agent))
        if callback:
            steps.append(("task.push_delivered", final, agent))
    events: list[Event] = []
    prev, updated, state = "", created, ""
    for seq, (kind, now, who) in enumerate(steps, start=1):
        ts = created + (seq - 1) * 7
        version = _event_version(plan, n, seq)
        recipe = recipes.event_v2 if version == 2 else recipes.event_v1
        digest = recipe(prev, task_id, seq, ts, kind, context, principal, who, now)
        if plan.digest_placeholders:
            digest = f"e{seq}"
        request = f"req-{n:06d}-{seq}" if seq < 3 else ""
        events.append(Event(task_id, seq, ts, kind, context, principal, who, now, request, prev, digest, version))
        if now != state or kind == "task.artifact":
            updated, state = ts, now
        prev = digest
    direction = "outbound" if n % 7 == 3 else "inbound"
    row = Task(task_id, context, principal, direction, final, agent, artifacts, callback, created, updated)
    return row, events


def _event_version(plan: Plan, task: int, seq: int) -> int:
    """Return the digest version: `mixed` has chains of 1, chains of 2, and chains that change at their third event."""
    scheme = plan.event_digest or ("mixed" if plan.bodies == "neutral" else "v1")
    if scheme != "mixed":
        return 2 if scheme == "v2" else 1
    return (1, 2, 1 if seq < 3 else 2)[task % 3]


def audits(plan: Plan, total: int, *, native_from: int | None = None) -> Iterator[Audit]:
    """Yield the admin audit chain 1..total; from `native_from` on, records carry the plan's neutral variant."""
    rng = plan.random("audit")
    actions = list(_ACTIONS)
    if plan.tasks:
        actions.append(("agent.call", "agent:planner"))
    prev = ""
    for seq in range(1, total + 1):
        action, pattern = actions[rng.randrange(len(actions))]
        resource = pattern.format(n=seq)
        if "pipes" in plan.odd and seq % 5 == 0:
            resource += '|a"b\n\x1b[0m<i>'
        if "unicode" in plan.odd and seq % 5 == 1:
            resource += "-é東"
        ts = plan.start + seq * plan.span // (total + 1)
        outcome = ("applied",) * 8 + ("rejected", "degraded")
        fields = (ts, action, resource, outcome[rng.randrange(10)], "admin" if seq % 4 else "ops@example.com")
        variant: AuditVariant = "legacy"
        if native_from is not None and seq >= native_from:
            variant = _audit_variant(plan, seq)
        digest = audit_digest(variant, prev, seq, fields)
        if plan.digest_placeholders:
            digest = f"h{seq}"
        yield Audit(seq, *fields, prev, digest, variant)
        prev = digest


def audit_digest(variant: AuditVariant, prev: str, seq: int, fields: tuple[int, str, str, str, str]) -> str:
    """Return the digest of an audit record in one of the three variants."""
    if variant == "legacy":
        return recipes.admin_audit(prev, seq, *fields)
    return recipes.neutral_audit_digest(prev, seq, recipes.neutral_audit_content(variant, *fields))


def _audit_variant(plan: Plan, seq: int) -> AuditVariant:
    scheme = plan.audit_variant or ("mixed" if plan.bodies == "neutral" else "legacy")
    if scheme != "mixed":
        return scheme
    in_turn: tuple[AuditVariant, ...] = ("legacy", "core", "kernel")
    return in_turn[seq % 3]
