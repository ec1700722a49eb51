"""Helpers of the tests of A2A stores: synthetic ones of every generation, and an audit that accepts their helpers."""

from __future__ import annotations

from typing import Any

from support_audit import AS_OF
from support_postgres import Server

from busbar_audit.auditing import audit
from busbar_audit.findings import Finding
from busbar_audit.policy import Policy
from busbar_audit.result import Result
from busbar_audit.store import open_store
from busbar_audit.synth import a2a_helpers
from busbar_audit.synth.a2a import write_a2a

DATABASE = "a2a"
OWNER, SERVICE = "a2a_owner", "a2a_service"
# name: generation, variant of v3
BASES: dict[str, tuple[int, str]] = {
    "first": (1, "b"), "sequence": (2, "b"), "legacy": (3, "b"), "push": (4, "b"), "v1": (11, "b"), "v2": (12, "b"),
    "v3a": (13, "a"), "v3b": (13, "b"), "v4": (14, "b"),
}  # fmt: skip
# Every fingerprint of ours: what a policy file beside synthetic stores lists.
ACCEPTED = tuple(
    digest
    for generation, variant in BASES.values()
    if generation >= 11
    for quoted in (False, True)
    for digest in a2a_helpers.digests("any", generation, variant=variant, quoted=quoted)
)
POLICY = Policy(helpers=ACCEPTED, runtime_role=SERVICE)


def prepare(server: Server) -> None:
    """Roles, and one database with a schema for each generation; to copy a database would take longer than an audit."""
    with server.connect("postgres") as con:
        for role in (f"{OWNER} NOLOGIN", f"{SERVICE} LOGIN", "a2a_poor NOLOGIN"):
            con.execute(f"CREATE ROLE {role}".encode())
        for setting in ("lock_timeout = '5s'", "idle_in_transaction_session_timeout = '60s'"):
            con.execute(f"ALTER ROLE {SERVICE} SET {setting}".encode())
    server.new(DATABASE)
    for name in BASES:
        written(server, name, name)


def written(server: Server, base: str, schema: str, **options: Any) -> None:
    """Write a store of a base's generation into a schema of its own."""
    generation, variant = BASES[base]
    words = {"generation": generation, "variant": variant, "role": SERVICE, "owner": OWNER, **options}
    write_a2a(server.uri(DATABASE), schema, **words)


def judged(server: Server, schema: str, role: str = "postgres", **options: Any) -> tuple[Result, list[Finding]]:
    """Audit the store in a schema: the result, and all findings; the store is closed again."""
    with open_store(server.uri(DATABASE, role), family="a2a", schema=schema) as store:
        result = audit(store, **{"as_of": AS_OF, "policy": POLICY, **options})
        return result, list(result.findings())


def codes(result: Result) -> set[str]:
    """Codes of findings without their family; legal states that are worth a look are left out."""
    return {code.removeprefix("A2A-") for code in result.codes() if result.check(code).severity != "info"}
