"""Single faults for synthetic maka workspaces, each with exactly the findings it must raise.

A fault is planted in one session, and all it may change is what is said of that session: a store with as many sessions as
there are faults can hold them all. Faults of the whole file are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping

from busbar_audit.synth import maka_faults_imports, maka_faults_ledger, maka_faults_pending, maka_faults_rows
from busbar_audit.synth.maka_planting import MakaFault

__all__ = ["FAULTS", "MakaFault"]

FAULTS: Mapping[str, MakaFault] = {
    fault.name: fault
    for fault in (
        *maka_faults_ledger.FAULTS,
        *maka_faults_rows.FAULTS,
        *maka_faults_imports.FAULTS,
        *maka_faults_pending.FAULTS,
    )
}
