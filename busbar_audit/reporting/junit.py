"""junit.xml: one testcase a check.

A finding is a failure, a check that could not run an error, and what was not applicable or had nothing to check is skipped.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from busbar_audit.origin import identity
from busbar_audit.text import printable

# What XML 1.0 cannot hold and `printable` leaves alone.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = ("not_applicable", "nothing_to_check")


def write_junit(document: Mapping[str, Any], path: Path, notebooks: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write the checks of a result.json, and the notebooks of a report, as a JUnit test suite."""
    suite = ET.Element("testsuite", name="busbar-audit", timestamp=document["run"]["started"].rstrip("Z"))
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("verdict", document["verdict"]),
        ("store", document["store"]["location"]),
        *((f"snapshot.{name}", value) for name, value in identity(document["snapshot"])),
    ):
        ET.SubElement(properties, "property", name=name, value=_legal(value))
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for check in document["checks"]:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=f"{document['store']['family']}.{check['code']}",
            name=_legal(check["title"]),
            time=f"{check['seconds']:.6f}",
        )
        counts["tests"] += 1
        outcome = check["outcome"]
        if outcome == "finding":
            counts["failures"] += 1
            failure = ET.SubElement(case, "failure", type=check["severity"], message=f"{check['findings']} finding(s)")
            failure.text = _legal("\n".join(_line(sample) for sample in check["samples"]))
        elif outcome == "could_not_run":
            counts["errors"] += 1
            ET.SubElement(case, "error", type=outcome, message=_legal(check["reason"]))
        elif outcome in _SKIPPED:
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", type=outcome, message=_legal(check["reason"]))
    for notebook in notebooks:
        case = ET.SubElement(
            suite, "testcase", classname="notebook", name=_legal(notebook["name"]), time=f"{notebook['seconds']:.6f}"
        )
        counts["tests"] += 1
        if not notebook["completed"]:
            counts["errors"] += 1
            ET.SubElement(case, "error", type="incomplete", message=_legal(notebook["reason"]))
    for name, value in counts.items():
        suite.set(name, str(value))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _line(sample: Mapping[str, Any]) -> str:
    extent = "" if sample["first_seq"] is None else f" seq {sample['first_seq']} to {sample['last_seq']}"
    where = " ".join(printable(sample[part]) for part in ("subject", "place"))
    return f"[{sample['severity']}] {where}{extent}: {printable(sample['detail'])}"


def _legal(value: object) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", printable(value, keep="\n"))
