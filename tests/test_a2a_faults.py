"""Every check of the A2A SDKs' stores has a fault that it finds and a store on which it passes; how many there are."""

from __future__ import annotations

import re
from pathlib import Path

import faults_a2a
import test_a2a_peers as peers
import test_a2a_python as python

from busbar_audit.checks import catalogue

FAMILIES = ("a2a", "a2a-js", "a2a-python")
# Found by tests of their own, or states that are legal and told: where each is found.
ELSEWHERE = {
    "test_a2a.py": "D26 F09 F12 F16 G02 G05 G09 L05 S01 S04 S05 S06 M06 D03 D17 L06 L07",
    "test_a2a_peers.py": "K01 K04 K16 J04 J16 J17",
    "test_a2a_python.py": "P04 P06 P07 P16 P17 P18",
}


def test_there_are_faults_for_all_of_them() -> None:
    planted = [f"A2A-{code}" for fault in faults_a2a.FAULTS for code in fault.found]
    planted += [
        f"A2A-{code}"
        for table in (peers.JS_FAULTS, peers.FILE_FAULTS, peers.JAVA_FAULTS, python.FAULTS)
        for code in table
    ]
    faults = len(faults_a2a.FAULTS) + len(planted) - sum(len(fault.found) for fault in faults_a2a.FAULTS)
    assert faults >= 100
    told = {f"A2A-{code}" for codes in ELSEWHERE.values() for code in codes.split()}
    there = {check.code for check in catalogue() if check.family in FAMILIES}
    assert there - set(planted) - told == set()
    assert told <= there


def test_what_is_found_elsewhere_is_named_there() -> None:
    """A code that nobody names in the test file is one that nobody looks for."""
    lost = {}
    for name, codes in ELSEWHERE.items():
        text = (Path(__file__).parent / name).read_text(encoding="utf-8")
        lost[name] = {code for code in codes.split() if not re.search(rf"\b{code}\b|A2A-{code}", text)}
    assert not any(lost.values()), lost
