"""From targets to a published report: audited once, shown by notebooks, in its place as a whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from busbar_audit.auditing import audit
from busbar_audit.errors import UsageError
from busbar_audit.policy import read_policy
from busbar_audit.reporting import manifest, signature
from busbar_audit.reporting import notebooks as books
from busbar_audit.reporting.outputs import Audited, folder_of, verdict_over, write_folder, write_tables
from busbar_audit.reporting.publish import published
from busbar_audit.reporting.session import PURGES, RESULT, next_purges
from busbar_audit.result import Result
from busbar_audit.store import Store, find_stores, open_store
from busbar_audit.verdict import Verdict
from busbar_audit.witnessing import advance, open_witness

Progress = Callable[[str], None]
Named = str | os.PathLike[str]
# The notebook that shows what the next purge would take; without it nothing is predicted.
_RETENTION = "04"


@dataclass(frozen=True)
class RunOutcome:
    """A published report.

    path : its folder. verdict, exit_code : of all stores and notebooks. run : the content of run.json.
    notebooks : for each store, its notebooks and whether they completed.
    """

    path: Path
    verdict: Verdict
    run: Mapping[str, Any]
    notebooks: Sequence[Sequence[books.NotebookRun]]

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 3 inconclusive."""
        return self.verdict.exit_code


def report(
    targets: Named | Sequence[Named],
    out: Named,
    *,
    notebooks: Sequence[Named] | None = None,
    parameters: Mapping[str, Any] | None = None,
    family: str | None = None,
    schema: str | None = None,
    policy: Named | None = None,
    witness: Named | None = None,
    before: Named | None = None,
    earlier: Named | None = None,
    only: Collection[str] = (),
    skip: Collection[str] = (),
    as_of: datetime | int | None = None,
    fail_on: str = "medium",
    start_timeout: int = books.START_TIMEOUT,
    cell_timeout: int = books.CELL_TIMEOUT,
    sign_key: Path | None = None,
    progress: Progress | None = None,
) -> RunOutcome:
    """Audit stores, run notebooks over the results, publish the folder.

    Parameters
    ----------
    targets : one store or several, each audited once. out : the folder; an earlier report there is replaced.
    notebooks : by number, name or path; all of ours by default, none for an empty list.
    parameters : for notebooks; each name has to be a parameter of every notebook that runs.
    family, schema, only, skip, as_of, fail_on : as for `find_stores`, `open_store` and `audit`.
    policy : a file for `read_policy`. witness : a folder for `open_witness`; it is advanced when the report is in its place.
    before : as for `audit`. earlier : folder of the report before this one, by default what is at `out`.
    start_timeout, cell_timeout : seconds for a kernel to start, and for each cell.
    sign_key : a private Ed25519 key to sign the manifest with.
    progress : called with a line of text at each longer step.

    Returns
    -------
    RunOutcome; a notebook that did not complete makes a run inconclusive that had no findings.

    Raises
    ------
    UsageError : no target, an unknown notebook or parameter. OutputExists, ReportError : see `published`.
    AuditError : a store could not be opened; nothing is published then.
    """
    say = progress or (lambda _: None)
    named = [targets] if isinstance(targets, str | os.PathLike) else list(targets)
    if not named:
        raise UsageError("No target.", "Expected at least one store.")
    declared = read_policy(policy) if policy is not None else None
    key = None if sign_key is None else signature.private_key(sign_key)
    paths = books.find(notebooks)
    _require_known(paths, parameters or {})
    every = [each for target in named for each in find_stores(target, family=family, schema=schema)]
    stores: list[Audited] = []
    results: list[Result] = []
    with ExitStack() as stack:
        with published(out) as directory, ThreadPoolExecutor(1) as beside:
            if paths:
                warm = beside.submit(books.warm_up)
            for number, target in enumerate(every, start=1):
                with open_store(target, family=family, progress=progress) as store:
                    folder = folder_of(number, len(every), store.family)
                    kept = (
                        stack.enter_context(closing(open_witness(witness, store, earlier=earlier or out)))
                        if witness
                        else None
                    )
                    result = audit(
                        store,
                        only=only,
                        skip=skip,
                        as_of=as_of,
                        fail_on=fail_on,
                        progress=progress,
                        policy=declared,
                        witness=kept,
                        before=before,
                    )
                    results.append(result)
                    write_tables(result, directory / folder)
                    document = result.as_dict()
                    given = {**_own_parameters(store, document, as_of, policy, before), **(parameters or {})}
                    ran: list[books.NotebookRun] = []
                    # Asked for by name, a notebook runs whatever it is about.
                    chosen = paths if notebooks is not None else books.fitting(paths, store.family)
                    if chosen:
                        say(f"running {len(chosen)} notebook(s)")
                        if any(path.stem.startswith(_RETENTION) for path in chosen):
                            purges = next_purges(result, declared)
                            (store.directory / PURGES).write_text(
                                json.dumps(purges, ensure_ascii=True), encoding="utf-8"
                            )
                        prepare(result, document)
                        warm.result()
                        ran = books.run(
                            chosen, store.directory, given, start_timeout=start_timeout, cell_timeout=cell_timeout
                        )
                    stores.append(Audited(document, ran, folder))
            say("writing the report")
            run = write_folder(stores, directory)
            if key is not None:
                signature.write_signature(directory, directory / manifest.NAME, key)
        advance(results)
    return RunOutcome(Path(out).resolve(), verdict_over(stores), run, [store.notebooks for store in stores])


def write_report(
    results: Sequence[Result], out: Named, sign_key: Path | None = None, *, is_claimed: bool = False
) -> Mapping[str, Any]:
    """Publish the folder of audits without notebooks, their stores still open; return the content of run.json.

    Parameters
    ----------
    sign_key : a private Ed25519 key to sign the manifest with. is_claimed : the caller holds `claimed` over `out`.

    Raises
    ------
    OutputExists, ReportError : see `published`. UsageError : the key is none.
    """
    key = None if sign_key is None else signature.private_key(sign_key)
    with published(out, is_claimed=is_claimed) as directory:
        stores = []
        for number, result in enumerate(results, start=1):
            folder = folder_of(number, len(results), result.store.family)
            write_tables(result, directory / folder)
            stores.append(Audited(result.as_dict(), (), folder))
        run = write_folder(stores, directory)
        if key is not None:
            signature.write_signature(directory, directory / manifest.NAME, key)
        return run


def prepare(result: Result, document: Mapping[str, Any]) -> Path:
    """Leave a run in the store's private directory for notebooks to open, and close it here; return the directory.

    DuckDB lets many processes read a file only while none has it open for writing.
    """
    store = result.store
    (store.directory / RESULT).write_text(json.dumps(document, ensure_ascii=True), encoding="utf-8")
    store.warehouse.save()
    store.warehouse.close()
    return store.directory


def _own_parameters(
    store: Store,
    document: Mapping[str, Any],
    as_of: datetime | int | None,
    policy: Named | None,
    before: Named | None,
) -> dict[str, Any]:
    """What makes the published notebook do the same again when it is run by hand: nothing secret, `given` is safe."""
    own: dict[str, Any] = {"target": store.target.given or store.target.label}
    if policy is not None:
        own["policy"] = str(policy)
    if before is not None:
        own["before"] = str(before)
    if as_of is not None:
        own["as_of"] = document["requested"]["as_of"]
    return own


def _require_known(paths: Sequence[Path], parameters: Mapping[str, Any]) -> None:
    for path in paths if parameters else []:
        known = books.known_parameters(path)
        if unknown := sorted(set(parameters) - known):
            raise UsageError(
                f"Notebook {path.stem} has no parameter {', '.join(unknown)}.",
                f"Its parameters: {', '.join(sorted(known)) or 'none'}.",
            )
