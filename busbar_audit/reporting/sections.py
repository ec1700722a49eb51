"""What sections of a report about live operation share: why one is not there, and what its reader has to do."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from busbar_audit.reporting.markup import Block, moment, nothing, number, plain_table, sql, table, text, utc
from busbar_audit.reporting.panels import store_name

if TYPE_CHECKING:
    from busbar_audit.queries import Query
    from busbar_audit.reporting.session import Session

NAME = 60


def name_of(value: object) -> str:
    """A name out of the store as HTML: escaped, its hidden characters written out, cut."""
    return '<span class="ba-none">none</span>' if value in (None, "") else f"<code>{text(value, NAME)}</code>"


def shortened(value: object) -> object:
    """The same for a terminal, which writes hidden characters out by itself."""
    return value[:NAME] if isinstance(value, str) else value


def as_of(session: Session) -> int:
    """The clock of all checks in unix seconds."""
    return int(datetime.fromisoformat(session.document["requested"]["as_of"]).timestamp())


def absent(session: Session, what: str, code: str, *relations: str) -> Block | None:
    """Why there is nothing to show, or None if there is.

    Parameters
    ----------
    what : what would be shown, as in "This store keeps no …".
    code : the check that looks at the same rows; its outcome says why they are not there.
    relations : what the section's queries read.

    Returns
    -------
    A Block of one sentence. A table that this run did not look at is never shown as an empty one.
    """
    check = next((check for check in session.document["checks"] if check["code"] == code), None)
    if check is None:
        if all(session.has(relation) for relation in relations):
            return None
        said = f"{what.capitalize()}: not part of this run, its checks ({code} and those beside it) were not selected."
    elif check["outcome"] == "could_not_run":
        said = f"{what.capitalize()}: this run cannot say; {code} could not run: {check['reason']}."
    elif check["outcome"] == "not_applicable":
        said = f"{what.capitalize()}: cannot be told, because {store_name(session.document)} has no rows to tell them from."
    elif all(session.has(relation) for relation in relations):
        return None
    else:
        said = f"{what.capitalize()}: not part of this run, which did not load all that is needed for it."
    return Block(nothing(text(said, 1000)), said)


def listed(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    plain: Sequence[Sequence[object]],
    query: Query,
    values: Mapping[str, Any],
    *,
    means: str,
    do: str,
    empty: str = "",
    total: int | None = None,
    numeric: Sequence[str] = (),
    bad: Sequence[bool] = (),
) -> Block:
    """A table an operator acts on: what its rows mean, what to do about them, and the query behind it.

    Parameters
    ----------
    caption, columns, rows, numeric : as for `markup.table`. plain : the same cells for a terminal.
    means, do : one sentence each. empty : said in place of a table without rows.
    total : rows there are, if more than are shown. bad : which rows to mark.
    """
    beneath = sql(query, values)
    if not rows:
        return Block(nothing(html.escape(empty)) + beneath, empty)
    hidden = (total or len(rows)) - len(rows)
    more = f"{hidden:,} more; the query below, with a higher limit, lists them." if hidden > 0 else ""
    classes = ["ba-bad" if mark else "" for mark in bad]
    made = table(caption, columns, rows, numeric=numeric, classes=classes, more=more)
    advice = f"<dl><dt>Means</dt><dd>{html.escape(means)}</dd><dt>Next</dt><dd>{html.escape(do)}</dd></dl>"
    note = f"\n{hidden:,} more." if hidden > 0 else ""
    return Block(
        f'{made}<div class="ba-advice">{advice}</div>{beneath}', f"{caption}\n{plain_table(columns, plain)}{note}"
    )


def joined(blocks: Sequence[Block]) -> Block:
    """Several blocks of one section, one below the other."""
    return Block("".join(block.html for block in blocks), "\n\n".join(block.plain for block in blocks))


def by_state(session: Session, clock: int, *, means: str, do: str) -> tuple[Block, int]:
    """Tasks by state and by the time since their last change, as of `clock`, and the number of states there are."""
    query, values = session.figure("tasks_by_state"), {"as_of": clock}
    found = session.rows(query, values)
    columns = ("state", "tasks", "under 1 hour", "under 1 day", "under 7 days", "older", "oldest, UTC", "newest, UTC")
    counts = ("tasks", "hour", "day", "week", "older")
    block = listed(
        "Tasks by state, and by the time since their last change",
        columns,
        [[text(r["state"]), *(number(r[c]) for c in counts), moment(r["oldest"]), moment(r["newest"])] for r in found],
        [[r["state"], *(r[c] for c in counts), utc(r["oldest"]), utc(r["newest"])] for r in found],
        query,
        values,
        means=means,
        do=do,
        empty="No task is stored.",
        numeric=columns[1:6],
    )
    return block, len(found)
