"""Push configurations of the A2A SDKs' stores: would it start, what loses its cleanup, what lost its task, who is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from busbar_audit.reporting.a2a import codes, is_a2a
from busbar_audit.reporting.markup import Block, nothing, number, plain_table, table, text
from busbar_audit.reporting.sections import absent, joined, listed
from busbar_audit.text import printable

if TYPE_CHECKING:
    from busbar_audit.reporting.session import Session

# Checks of what the SDK's own validation at start-up asks as well; all others of these areas it never looks at.
_ASKED = frozenset(
    f"A2A-{code}"
    for code in (
        "M01",
        "M02",
        "M03",
        "M04",
        "M05",
        "F01",
        "F02",
        "F03",
        "F04",
        "F05",
        "F06",
        "F07",
        "F08",
        "F10",
        "F11",
    )
) | {"A2A-G09"}
_AREAS = frozenset("GMFL")


def startup(session: Session) -> Block:
    """Whether a process of the newest SDK generation would accept the store, by which rule not, and what it never looks at."""
    if not is_a2a(session):
        return _other(session)
    if missing := absent(session, "start-up rules", "A2A-G09", "audit.startup_rules"):
        return missing
    query = session.figure("a2a_startup")
    found = session.rows(query)
    said = [(r["rule"], r["about"], "holds" if r["holds"] else "does not hold") for r in found]
    broken = [r["rule"] for r in found if not r["holds"]]
    word = f"It would refuse the store: {', '.join(broken)}." if broken else "It would accept the store."
    if not broken and len(found) == 2:
        word = "It would accept the store for push configurations only: no helper and no trigger is there."
    rules = listed(
        f"Rules by which the newest SDK accepts a store when it starts. {word}",
        ("rule", "what it asks", "here"),
        [[text(cell) for cell in row] for row in said],
        said,
        query,
        {},
        means="If one does not hold, a process of the newest generation refuses the store at its start.",
        do="Rehearse the migration on a copy; the findings name what is missing.",
        empty="No rule could be tried.",
        bad=[not r["holds"] for r in found],
    )
    return joined([rules, _unseen(session)])


def _unseen(session: Session) -> Block:
    """Findings of this run about what the SDK does not look at when it starts."""
    rows = [
        (check["code"], check["severity"], check["title"], check["findings"])
        for check in session.document["checks"]
        if check["code"].removeprefix("A2A-")[0] in _AREAS and check["code"] not in _ASKED
        if check["outcome"] == "finding" and check["severity"] != "info"
    ]
    if not rows:
        said = "Of what the SDK does not look at when it starts, nothing was found that is more than information."
        return Block(nothing(text(said, 200)), said)
    columns = ("check", "severity", "what was found", "findings")
    caption = "Found here, and not looked at by the SDK when it starts"
    made = table(caption, columns, [[*(text(str(cell)) for cell in row[:3]), number(row[3])] for row in rows],
                 numeric=("findings",), classes=["ba-bad"] * len(rows))  # fmt: skip
    return Block(made, f"{caption}\n{plain_table(columns, rows)}")


def provenance(session: Session) -> Block:
    """Push configurations by provenance, and how many lose their automatic cleanup."""
    if not is_a2a(session):
        return _other(session)
    if missing := absent(session, "push configurations", codes(session)[1], "audit.config_tasks"):
        return missing
    query = session.figure("a2a_provenance")
    tasks = {True: "here", False: "not here"}
    rows = [
        (r["provenance"], tasks.get(r["has_task"], "not told"), number(r["configurations"]), number(r["tasks"]))
        for r in session.rows(query)
    ]
    shown = listed(
        "Push configurations by provenance",
        ("provenance", "task", "configurations", "tasks"),
        [[text(a), text(b), c, d] for a, b, c, d in rows],
        rows,
        query,
        {},
        means="Only local ones are removed with their task; a migration leaves those that were there before as they are.",
        do="Decide which of the others belong to tasks of this store before you adopt any.",
        empty="No push configuration is stored.",
        numeric=("configurations", "tasks"),
    )
    return joined([shown, _cleanup(session)]) if rows else shown


def _cleanup(session: Session) -> Block:
    query = session.figure("a2a_cleanup")
    (r,) = session.rows(query)
    found = [
        ("removed with their task", r["removed"]),
        ("kept when their task is deleted: not local, and the task is here", r["lost"]),
        ("lose their cleanup with the migration: written before it, and the task is here", r["would_lose"]),
        ("not local and without a task here: of another store, or abandoned", r["external"]),
    ]
    rows = [(what, count) for what, count in found if count]
    return listed(
        "What a delete of their task does to push configurations",
        ("push configurations", "how many"),
        [[text(what, 100), number(count)] for what, count in rows],
        rows,
        query,
        {},
        means=f"{r['tasks']:,} task(s) here have configurations that no delete removes, now or after the migration.",
        do="Adoption is a step of its own, after a look at where the tasks live: it is never safe to take all.",
        empty="No push configuration has a provenance.",
        numeric=("how many",),
        bad=["lose" in what or "kept" in what for what, _ in rows],
    )


def orphans(session: Session) -> Block:
    """Push configurations whose task is gone, by their likely cause."""
    if not is_a2a(session):
        return _other(session)
    if missing := absent(session, "orphans and their causes", "A2A-D01", "audit.orphan_causes"):
        return missing
    query = session.figure("a2a_orphans")
    found = session.rows(query)
    counts = ("configurations", "tasks")
    return listed(
        "Push configurations without their task, by likely cause",
        ("likely cause", "provenance", *counts),
        [[text(r["cause"], 400), text(r["provenance"]), *(number(r[c]) for c in counts)] for r in found],
        [[r["cause"], r["provenance"], *(r[c] for c in counts)] for r in found],
        query,
        {},
        means="Callback, token and credentials of each are kept, and nothing will remove them.",
        do="Remove the cause first, then the configurations.",
        empty="Every push configuration has its task here.",
        numeric=counts,
        bad=[r["provenance"] == "local" for r in found],
    )


def callbacks(session: Session, limit: int) -> Block:
    """Callbacks by scheme and by host, and how many carry which kind of secret; counts only."""
    if not is_a2a(session):
        return _other(session)
    if missing := absent(session, "callbacks", codes(session)[2], "audit.push_configs"):
        return missing
    return joined([_schemes(session), _hosts(session, limit)])


def _schemes(session: Session) -> Block:
    query = session.figure("a2a_schemes")
    found = session.rows(query)
    counts = ("configurations", "hosts", "tokens", "credentials", "user_names", "queries")
    names = ("scheme", "configurations", "hosts", "tokens", "credentials", "user names in URLs", "secrets in queries")
    return listed(
        "Callbacks by scheme",
        names,
        [[text(r["scheme"] or "not told"), *(number(r[c]) for c in counts)] for r in found],
        [[r["scheme"] or "not told", *(r[c] for c in counts)] for r in found],
        query,
        {},
        means="How many secrets are stored in clear, and how many would be sent in clear.",
        do="Have http replaced by https, and secrets in URLs by the authentication fields.",
        empty="No callback is stored.",
        numeric=names[1:],
        bad=[r["scheme"] not in ("https", None) for r in found],
    )


def _hosts(session: Session, limit: int) -> Block:
    query = session.figure("a2a_callbacks")
    found = session.rows(query)
    names, counts = ("scheme", "host", "reach"), ("configurations", "tasks", "tokens", "credentials", "user_names")
    shown, told = found[:limit], (*counts[:-1], "user names in URLs")
    return listed(
        "Callbacks by host",
        (*names, *told),
        [[*(text(r[n] or "") for n in names), *(number(r[c]) for c in counts)] for r in shown],
        [[*(printable(r[n] or "") for n in names), *(r[c] for c in counts)] for r in shown],
        query,
        {},
        means="Where results of tasks are sent, and how many carry a secret that is stored in clear.",
        do="Look at hosts you do not know, at plain http, and at private addresses.",
        empty="No callback is stored.",
        total=len(found),
        numeric=told,
    )


def _other(session: Session) -> Block:
    said = f"This page is about stores of the A2A SDKs; this one is {session.document['store']['family']}."
    return Block(nothing(text(said, 200)), said)
