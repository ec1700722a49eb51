"""The demo: sample stores, audited and reported, with the verdict each of them has to get."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busbar_audit.errors import AuditError, OutputExists
from busbar_audit.synth import KINDS, plant, workspace, write_busbar
from busbar_audit.synth.a2a_command import write_python_file
from busbar_audit.synth.server import installed, private_server
from busbar_audit.text import printable
from busbar_audit.verdict import Verdict


@dataclass(frozen=True)
class Sample:
    """A store of the demo: what it shows, how it is written, which faults it gets, the verdict it has to get."""

    name: str
    shows: str
    options: dict[str, Any]
    faults: tuple[str, ...]
    verdict: Verdict
    on_postgres: bool = False
    kind: str = "busbar"


_SIZE: dict[str, Any] = {"seed": 7, "calls": 3000, "tasks": 60, "audits": 300}
_SCHEMA = "busbar"

SAMPLES = (
    Sample("healthy", "a gateway of generation 9 in normal use", {"generation": 9}, (), Verdict.CLEAN),
    Sample(
        "tampered",
        "the same, with calls deleted, an audit record edited, a task event re-hashed, and a guard dropped",
        {"generation": 9},
        ("mcp_calls_range_deleted", "audit_log_edited", "task_events_rehashed", "no_audit_log_no_delete"),
        Verdict.FINDINGS,
    ),
    Sample(
        "purged",
        "generation 8 after a purge of old calls: heads are missing, nothing is called tampering",
        {"generation": 8, "odd": ("purged_head",)},
        (),
        Verdict.FINDINGS,
    ),
    Sample(
        "upgraded",
        "generation 12, upgraded from 9, call chains begun anew",
        {"generation": 12, "bodies": "migrated"},
        (),
        Verdict.CLEAN,
    ),
    Sample("empty", "a store that kept nothing", {"generation": 9, "odd": ("empty",)}, (), Verdict.INCONCLUSIVE),
    Sample(
        "postgres",
        "a gateway of generation 10 on PostgreSQL, with a call deleted and a live task marked for the purge",
        {"generation": 10},
        ("call_deleted", "task_disposition"),
        Verdict.FINDINGS,
        on_postgres=True,
    ),
    Sample(
        "workspace",
        "an agent application's workspace: a session that its pages refuse, and a row that no conversion brought over",
        {"generation": 18, "seed": 7, "size": 400},
        ("orphan-thinking", "straggler", "lost-5-tool_call", "twice-2-assistant"),
        Verdict.FINDINGS,
        kind="maka",
    ),
    Sample(
        "tasks",
        "tasks and push configurations of the A2A Python SDK",
        {"generation": KINDS["a2a-python"], "seed": 7, "size": 120, "odd": ()},
        (),
        Verdict.CLEAN,
        kind="a2a-python",
    ),
)


def run(out: Path, say: Callable[[str], None]) -> tuple[list[str], int]:
    """Write the sample stores under `out`, audit and report each.

    Returns
    -------
    lines for the user, and 0 if every store got the verdict it has to get, else 3. The store on PostgreSQL is left out, with
    a line that says so, where no server is installed.

    Raises
    ------
    OutputExists : a folder of the demo holds something else.
    """
    from busbar_audit.reporting.runner import report

    lines, right = [], True
    stores = out / "stores"
    stores.mkdir(parents=True, exist_ok=True)
    for sample in SAMPLES:
        if sample.on_postgres and not installed():
            lines.append(f"{sample.name:9}  left out      {_NO_SERVER}")
            continue
        say(f"store {sample.name}")
        with ExitStack() as stack:
            try:
                uri = stack.enter_context(private_server()).uri if sample.on_postgres else None
            except AuditError as error:
                lines.append(f"{sample.name:9}  NOT SHOWN     {error.read}")
                right = False
                continue
            target, end = _in_file(sample, stores) if uri is None else _in_database(sample, uri)
            outcome = report(target, out / sample.name, as_of=end, progress=say)
        as_told = outcome.verdict is sample.verdict
        right = right and as_told
        note = "" if as_told else f"  EXPECTED {sample.verdict}"
        lines.append(f"{sample.name:9}  {outcome.verdict:12}  {sample.shows}{note}")
        lines.append(f"           {printable(str((out / sample.name / 'index.html').absolute()))}")
    lines.append("")
    lines.append(
        "Open one of these pages in a browser; beside it lie result.json, junit.xml, metrics.prom and findings.parquet."
    )
    return lines, 0 if right else 3


_NO_SERVER = "it needs a PostgreSQL server: pip install 'busbar-audit[demo]'"


def _in_file(sample: Sample, stores: Path) -> tuple[Path | str, int | None]:
    """Write a sample into a SQLite file; return it and the end of its traffic, where it has one."""
    path = stores / f"{sample.name}.db"
    _clear(path)
    if sample.kind == "maka":
        list(workspace.write(path, faults=sample.faults, **sample.options))
        return path, None
    if sample.kind == "a2a-python":
        list(write_python_file(path, **sample.options))
        return path, None
    written = write_busbar(path, **_SIZE, **sample.options)
    for fault in sample.faults:
        plant(path, fault)
    return path, written.end


def _in_database(sample: Sample, uri: str) -> tuple[Path | str, int]:
    """Write a sample into a PostgreSQL database; return its URI and the end of the sample's traffic."""
    from busbar_audit.synth.busbar_pg import write_busbar_pg

    written, _ = write_busbar_pg(uri, _SCHEMA, faults=sample.faults, **_SIZE, **sample.options)
    return uri, written.end


def _clear(path: Path) -> None:
    """Remove the store of an earlier demo; anything that is no SQLite file stays."""
    if path.exists() and path.read_bytes()[:15] != b"SQLite format 3":
        raise OutputExists(f"{printable(str(path))} is not a store of an earlier demo.", "", "Name another --out.")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
