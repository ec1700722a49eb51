"""The fault table: every fault in every store it is made for, with the codes an audit must raise, and no others.

@pytest.mark.parametrize("case", CASES, ids=str)
def test_…(case, tmp_path):
    base, planted = case.write(tmp_path / "s.db")
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from busbar_audit.synth.busbar import SynthStore, write_busbar
from busbar_audit.synth.faults import FAULTS, Planted, plant

SIZES: dict[str, Any] = {"calls": 300, "tasks": 30, "audits": 50}


@dataclass(frozen=True)
class Case:
    """One fault in one generation."""

    fault: str
    generation: int

    def __str__(self) -> str:
        return f"{self.fault}-v{self.generation}"

    @property
    def options(self) -> dict[str, Any]:
        """Options of the healthy store the fault is planted in."""
        return {"generation": self.generation, **SIZES, **FAULTS[self.fault].needs}

    def write(self, path: Path) -> tuple[SynthStore, Planted]:
        """Write the store and plant the fault."""
        store = write_busbar(path, **self.options)
        return store, plant(path, self.fault)


CASES = [Case(name, max(fault.generations)) for name, fault in FAULTS.items()]
ALL_CASES = [Case(name, generation) for name, fault in FAULTS.items() for generation in fault.generations]
