"""`busbar-audit evidence`: one check over a store, and what it finds as a case file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from busbar_audit import checks
from busbar_audit.auditing import Progress, audit
from busbar_audit.errors import OutputExists, ReportError, UnknownCheck, UsageError
from busbar_audit.policy import Policy
from busbar_audit.reporting import casefile, desk
from busbar_audit.store import find_stores, open_store
from busbar_audit.text import printable


def evidence(
    target: str,
    code: str,
    out: Path,
    *,
    place: str | None = None,
    each_side: int = 5,
    show_content: bool = False,
    family: str | None = None,
    schema: str | None = None,
    policy: Policy | None = None,
    before: str | None = None,
    export: Path | None = None,
    as_of: datetime | None = None,
    sign_key: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[str]:
    """Run one check and write its findings as a case file; lines for a terminal.

    Parameters
    ----------
    target, family, schema : one store. code : of a check. out : a folder that is not there yet.
    place : only findings of this place. each_side, show_content, sign_key : as for `casefile.write`.
    policy, before, export, as_of : as for `audit`.

    Raises
    ------
    UsageError : several stores. UnknownCheck : no such check. ReportError : it found nothing; nothing is written.
    """
    if code.upper() not in {check.code for check in checks.catalogue()}:
        raise UnknownCheck(
            f"No check {printable(code)}.", "The code of one check.", "`busbar-audit checks` lists them."
        )
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise OutputExists(
            f"{printable(str(out))} is there already.",
            "A new name: evidence is never replaced.",
            "Nothing was changed.",
        )
    found = find_stores(target, family=family, schema=schema)
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} stores are there.", "One, named by --schema or --family.", "A case file is of one store."
        )
    with open_store(found[0], family=family, progress=progress) as store:
        result = audit(store, only=(code,), policy=policy, before=before, export=export, as_of=as_of, progress=progress)
        if not [check for check in result.results if check.code == code.upper()]:
            raise UnknownCheck(
                f"{code.upper()} is not for {store.name}.", "A check of its family.", "`busbar-audit checks`"
            )
        named = desk.find(store.con, result.as_dict(), code, place)
        if not named:
            raise ReportError(f"{named!r}.", "A check that found something there.", "Nothing was written.")
        written = casefile.write(
            named, out, each_side=each_side, show_content=show_content, total=named.total, sign_key=sign_key
        )
        yield f"{store.name} · {printable(store.target.label)}"
        yield f"case      {code.upper()} {named.check['title']}: {named.total:,} finding(s)"
        if len(named) < named.total:
            yield f"          the first {len(named):,} of them are in case.json"
        yield "content   " + (
            "included" if show_content else "withheld: lengths and digests; --show-content includes it"
        )
        yield f"written   {printable(str(written))}"
