"""A case file: findings with all that shows them, in a folder that verifies by itself, without the store.

``case.json`` holds the findings, the records they name with their neighbours, and of chained records the digest recomputed
by the reference recipes; ``query.sql`` the check; ``index.html`` the same to read; ``manifest.json`` the digest of each
file. Content of the store is left out unless it is asked for: then each digest can be computed again from the file alone.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from busbar_audit.errors import OutputExists, UsageError
from busbar_audit.findings import exact
from busbar_audit.reporting import digests, manifest, panels, signature
from busbar_audit.reporting.beside import Beside, beside
from busbar_audit.reporting.html import frame
from busbar_audit.reporting.markup import digest, folded, nothing, number, table, text
from busbar_audit.reporting.publish import published
from busbar_audit.reporting.schema import validate
from busbar_audit.result import version
from busbar_audit.text import printable

if TYPE_CHECKING:
    from busbar_audit.reporting.desk import Found

SCHEMA = "busbar-audit/case/1"
NAME = "case.json"
SHOWN = 50
_CHAIN = "audit.chain_records"


def write(
    found: Sequence[Found],
    out: str | os.PathLike[str],
    *,
    each_side: int = 5,
    show_content: bool = False,
    total: int | None = None,
    sign_key: Path | None = None,
) -> Path:
    """Write the case file of findings of one check.

    Parameters
    ----------
    found : at least one. out : a folder that is not there yet, or empty.
    each_side : how many records on either side. show_content : put content of the store in, too.
    total : how many findings the check has, where these are not all. sign_key : a private Ed25519 key for the manifest.

    Returns
    -------
    The folder.

    Raises
    ------
    UsageError : no finding, or of several checks. OutputExists : `out` is there. ReportError : it cannot be written.
    """
    if len({each.code for each in found}) != 1:
        raise UsageError("A case file is of one check.", "At least one finding, all of the same check.")
    place = Path(out).resolve()
    if os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir())):
        raise OutputExists(
            f"{printable(place)} is there already.", "A new name: evidence is never replaced.", "Nothing was changed."
        )
    key = None if sign_key is None else signature.private_key(sign_key)
    near = [beside(each.con, each.finding, each_side, content=show_content) for each in found[:SHOWN]]
    document = _document(found, near, show_content, len(found) if total is None else total)
    validate("case", document)
    with published(place) as directory:
        manifest.write_json(directory / NAME, document)
        (directory / "query.sql").write_text(found[0].sql + "\n", encoding="utf-8")
        (directory / "index.html").write_text(_page(found, near, document), encoding="utf-8")
        manifest.write_manifest(directory, [found[0].document])
        if key is not None:
            signature.write_signature(directory, directory / manifest.NAME, key)
    return place


def _document(found: Sequence[Found], near: Sequence[Beside], content: bool, total: int) -> dict[str, Any]:
    run, about = found[0].document, panels.header(found[0].code)
    return {
        "schema": SCHEMA,
        "tool": {"name": "busbar-audit", "version": version()},
        "code": found[0].code,
        "title": about.get("title", ""),
        "meaning": about.get("meaning", ""),
        "proves": about.get("proves", ""),
        "does_not_prove": about.get("does not prove", ""),
        "next": about.get("next", ""),
        "as_of": run["requested"]["as_of"],
        "store": run["store"],
        "snapshot": run["snapshot"],
        "content": "included" if content else "withheld",
        "findings_total": total,
        "findings": [each.finding.as_dict() for each in found],
        "records": _records(found, near, content),
        "beside": [
            {
                "identity": each.finding.identity,
                "relation": there.relation,
                "about": printable(there.about),
                "rows": [{name: exact(value) for name, value in row.items()} for row in there.rows],
            }
            for each, there in zip(found, near, strict=False)
        ],
    }


def _records(found: Sequence[Found], near: Sequence[Beside], content: bool) -> list[dict[str, Any]]:
    """Every chained record that is shown, once, with its digest recomputed, by chain."""
    kept: dict[tuple[str, str, int], dict[str, Any]] = {}
    for each, there in zip(found, near, strict=False):
        population, scope = each.finding.subject, each.finding.place
        if there.relation != _CHAIN or not digests.knows(population):
            continue
        for row in there.rows:
            again, stored = digests.recomputed(each.con, population, row["row"])
            record: dict[str, Any] = {"population": population, "scope": scope}
            record |= {name: row[name] for name in ("seq", "row", "ts", "prev_hash", "hash")}
            kept[(population, scope, row["row"])] = (
                record | {"recomputed": again} | ({"stored": stored} if content else {})
            )
    listed = []
    for chain in digests.by_chain(kept.values()).values():
        for shown, said in zip(chain, digests.shows(chain), strict=True):
            listed.append({**{name: exact(value) for name, value in shown.items()}, "shows": said})
    return listed


def _page(found: Sequence[Found], near: Sequence[Beside], document: Mapping[str, Any]) -> str:
    code = found[0].code
    hidden = document["findings_total"] - min(len(found), SHOWN)
    parts = [
        f'<div class="ba-title"><h1>Case {html.escape(code)}</h1><p>{text(document["title"])}</p></div>',
        f'<h2 id="finding">What was found</h2>{found[0].explain().html}',
        nothing(f"{number(hidden)} more findings of this check are not shown on this page.") if hidden > 0 else "",
        '<h2 id="records">The records</h2>',
        _recomputed(document["records"]),
        *(each.around_block(there).html for each, there in zip(found, near, strict=False)),
        '<h2 id="query">The query</h2>'
        + folded("SQL of this check", f"<pre><code>{html.escape(found[0].sql)}</code></pre>", "ba-sql"),
        f'<h2 id="copy">The copy</h2>{panels.snapshot(found[0].document).html}',
        '<h2 id="verify">Is this file as it was written?</h2>'
        "<p><code>busbar-audit verify FOLDER</code> compares every file with its digest in manifest.json and holds the records "
        "of case.json against each other again: which digest differs, which link does not hold. It needs no store. Content of "
        f"the store is {document['content']}"
        + (": each digest is computed again from the stored fields." if document["content"] == "included" else ".")
        + "</p>",
    ]
    return frame(f"Case {code}: {printable(document['store']['location'])}", "\n".join(parts), home=None)


def _recomputed(listed: Sequence[Mapping[str, Any]]) -> str:
    if not listed:
        return ""
    rows = [
        [number(r["seq"]), digest(r["prev_hash"]), digest(r["hash"]), digest(r["recomputed"]), _said(r["shows"])]
        for r in listed
    ]
    bad = ["ba-bad" if {"content", "link", "undecodable"} & set(r["shows"]) else "" for r in listed]
    columns = ("seq", "prev_hash", "hash", "recomputed from its fields", "result")
    return table(
        "Digests of these records, recomputed", columns, rows, numeric=("seq",), classes=bad, kind="ba-records"
    )


# In words; a record whose digest and link are right has none of them.
_SAID = {
    "content": "digest differs",
    "undecodable": "cannot be decoded",
    "link": "does not link to the record before",
    "begins": "begins the chain",
    "not shown": "digest right; the record before is not in this file",
}


def _said(shows: Sequence[str]) -> str:
    if "content" in shows or "undecodable" in shows:
        shows = [each for each in shows if each != "not shown"]
    return "; ".join(_SAID[each] for each in shows) or "right"
