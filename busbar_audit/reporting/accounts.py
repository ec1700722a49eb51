"""Keys and usage in a report: who may do what, who did after being revoked, and what was used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from busbar_audit.reporting.markup import Block, moment, number, text, utc
from busbar_audit.reporting.sections import absent, as_of, joined, listed, name_of, shortened

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session


def keys(session: Session, limit: int) -> Block:
    """Keys and credentials by state; live keys without a limit; activity after revocation."""
    if missing := absent(session, "keys", "BUS-K04", "audit.keys"):
        return missing
    query, values = session.figure("keys_by_state"), {"as_of": as_of(session)}
    found = session.rows(query, values)
    columns = ("state", "keys", "may use everything", "never expire", "oldest made, UTC", "newest made, UTC")
    counts = ("keys", "wildcard", "endless")
    summary = listed(
        "Keys by state",
        columns,
        [[text(r["state"]), *(number(r[c]) for c in counts), moment(r["oldest"]), moment(r["newest"])] for r in found],
        [[r["state"], *(r[c] for c in counts), utc(r["oldest"]), utc(r["newest"])] for r in found],
        query,
        values,
        means="Who can call the gateway. A deleted key stays as a row, without credentials, for ever.",
        do="Delete keys that expired and that nobody renews.",
        empty="No key is stored.",
        numeric=columns[1:4],
    )
    return joined([summary, _credentials(session), _wildcard(session, limit), _revoked(session, limit)])


def _credentials(session: Session) -> Block:
    if missing := absent(session, "credentials", "BUS-K01", "raw.credentials"):
        return missing
    query, values = session.figure("credentials_by_state"), {"as_of": as_of(session)}
    found = session.rows(query, values)
    return listed(
        "Signing credentials by state",
        ("state", "credentials", "keys"),
        [[text(r["state"]), number(r["credentials"]), number(r["keys"])] for r in found],
        [[r["state"], r["credentials"], r["keys"]] for r in found],
        query,
        values,
        means="With a live credential of a live key requests can be signed.",
        do="Revoke what is no longer in use; BUS-K01 names deleted keys that still have one, BUS-K08 secrets in clear text.",
        empty="No credential is stored.",
        numeric=("credentials", "keys"),
    )


def _wildcard(session: Session, limit: int) -> Block:
    if missing := absent(session, "live wildcard keys", "BUS-K04", "audit.keys", "audit.metering"):
        return missing
    query, values = session.figure("keys_wildcard"), {"as_of": as_of(session), "limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("key", "group", "made, UTC", "expires, UTC", "requests metered", "last day of use, UTC")
    return listed(
        f"Live keys that may use everything: {total:,}",
        columns,
        [
            [name_of(r["id"]), name_of(r["key_group"]), moment(r["created_at"]), moment(r["expires_at"]) or "never",
             number(r["requests"]), moment(r["last_day"])]
            for r in found
        ],
        [
            [shortened(r["id"]), shortened(r["key_group"]), utc(r["created_at"]), utc(r["expires_at"]) or "never",
             r["requests"], utc(r["last_day"])]
            for r in found
        ],
        query,
        values,
        means="Nothing limits what these keys may use. That is legal, and seldom meant.",
        do="Ask the owner of each; give it a list of pools, or delete it if it was never used.",
        empty="No live key may use everything.",
        total=total,
        numeric=("requests metered",),
    )  # fmt: skip


def _revoked(session: Session, limit: int) -> Block:
    relations = ("audit.calls", "audit.keys", "raw.denylist")
    if missing := absent(session, "calls after revocation", "BUS-M09", *relations):
        return missing
    query, values = session.figure("after_revocation"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("caller", "revoked by", "since, UTC", "calls after", "servers", "last call, UTC")
    return listed(
        f"Callers that went on after they were revoked: {total:,}",
        columns,
        [
            [name_of(r["principal"]), "deletion" if r["how"] == "deleted" else "denial", moment(r["since"]),
             number(r["calls"]), number(r["servers"]), moment(r["last_ts"])]
            for r in found
        ],
        [
            [shortened(r["principal"]), r["how"], utc(r["since"]), r["calls"], r["servers"], utc(r["last_ts"])] for r in found
        ],
        query,
        values,
        means="A call was let through more than 300 s after its key was deleted or denied: revocation was not enforced.",
        do="Find the node that did not learn of it; treat what these calls did as done by somebody without a right to it.",
        empty="No call was let through after its caller was revoked.",
        total=total,
        numeric=("calls after", "servers"),
        bad=[True] * len(found),
    )  # fmt: skip


def usage(session: Session, limit: int) -> Block:
    """The last windows of usage, and who used most in the last week of metering."""
    if missing := absent(session, "usage", "BUS-U01", "audit.usage_windows"):
        return missing
    query, values = session.figure("usage_windows"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("window from, UTC", "buckets", "requests", "billable", "tokens in", "tokens out", "tokens cached")
    counts = ("buckets", "requests", "billable", "tokens_input", "tokens_output", "tokens_cached")
    windows = listed(
        f"Usage of the last windows, of {total:,}",
        columns,
        [[moment(r["window_start"]), *(number(r[c]) for c in counts)] for r in found],
        [[utc(r["window_start"]), *(r[c] for c in counts)] for r in found],
        query,
        values,
        means="What limits and budgets count. Windows of several lengths may stand side by side.",
        do="Compare the last complete window with the one before; a fall to nothing with traffic going on is lost usage.",
        empty="No usage window is stored.",
        total=total,
        numeric=columns[1:],
    )
    return joined([windows, _users(session, limit)])


def _users(session: Session, limit: int) -> Block:
    if missing := absent(session, "metering", "BUS-K09", "audit.metering"):
        return missing
    query, values = session.figure("usage_keys"), {"limit": limit}
    found = session.rows(query, values)
    total = found[0]["total"] if found else 0
    columns = ("key", "requests", "billable", "tokens", "last day, UTC")
    counts = ("requests", "billable", "tokens")
    return listed(
        f"Keys with usage in the last seven days of metering: {total:,}",
        columns,
        [[name_of(r["key_id"]), *(number(r[c]) for c in counts), moment(r["last_day"])] for r in found],
        [[shortened(r["key_id"]), *(r[c] for c in counts), utc(r["last_day"])] for r in found],
        query,
        values,
        means="Who is billed for most.",
        do="Ask about a key that nobody expects here; BUS-K09 names usage of keys that do not exist.",
        empty="No usage is metered.",
        total=total,
        numeric=columns[1:4],
    )  # fmt: skip
