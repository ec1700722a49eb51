"""From outcomes to one word and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from busbar_audit.findings import CheckResult, Outcome, at_least


class Verdict(StrEnum):
    """The last word of a run."""

    CLEAN = "clean"
    FINDINGS = "findings"
    INCONCLUSIVE = "inconclusive"

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 3 inconclusive (2 is for usage)."""
        return {"clean": 0, "findings": 1, "inconclusive": 3}[self.value]


@dataclass(frozen=True)
class AccountLine:
    """A table in the account: its rows in the copy are examined or not examined for a reason."""

    table: str
    rows: int
    examined: int
    not_examined: dict[str, int]

    @property
    def adds_up(self) -> bool:
        """Whether every row is accounted for."""
        return self.rows == self.examined + sum(self.not_examined.values()) and self.examined >= 0


def judge(
    results: Sequence[CheckResult],
    account: Sequence[AccountLine],
    fail_on: str,
    evidence: int | None,
    kind: str = "chained record",
    hidden: Sequence[str] = (),
) -> tuple[Verdict, list[str]]:
    """Judge a run.

    Parameters
    ----------
    results : of the selected checks.
    account : of all tables.
    fail_on : severity from which a finding makes the run `findings`.
    evidence : records looked at of the kind that is audited, None where no check of them was selected. kind : in words.
    hidden : tables that may not be read, where all of the store was asked for: their rows are in no account.

    Returns
    -------
    verdict and the reasons for it, gravest first, in words.
    """
    reasons: list[str] = []
    grave = [
        r
        for r in results
        if r.outcome is Outcome.FINDING and any(n and at_least(s, fail_on) for s, n in r.counts.items())
    ]
    if grave:
        total = sum(n for r in grave for s, n in r.counts.items() if at_least(s, fail_on))
        reasons.append(f"{total:,} finding(s) of severity {fail_on} or above in {len(grave)} check(s)")
    not_run = [r for r in results if r.outcome is Outcome.COULD_NOT_RUN]
    if not_run:
        reasons.append(f"{len(not_run)} check(s) could not run: {_codes(not_run)}")
    partly = [r for r in results if r.outcome is Outcome.FINDING and r.reason]
    if partly:
        reasons.append(f"{len(partly)} check(s) ran in part only: {_codes(partly)}")
    wrong = [line.table for line in account if not line.adds_up]
    if wrong:
        reasons.append(f"the account does not add up for {', '.join(wrong)}")
    if hidden:
        reasons.append(f"{len(hidden)} table(s) may not be read and are in no account: {', '.join(hidden)}")
    if not results:
        reasons.append("no check was selected")
    elif not any(r.examined for r in results):
        reasons.append("nothing was looked at")
    elif evidence == 0:
        reasons.append(f"the store holds no {kind}: there was no evidence to check")
    if grave:
        return Verdict.FINDINGS, reasons
    if reasons:
        return Verdict.INCONCLUSIVE, reasons
    return Verdict.CLEAN, [f"every selected check that applies ran and found nothing of severity {fail_on} or above"]


def _codes(results: Sequence[CheckResult]) -> str:
    codes = [r.code for r in results]
    return ", ".join(codes[:6]) + (f" and {len(codes) - 6} more" if len(codes) > 6 else "")


def gravest(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict over several stores: findings before inconclusive before clean; none at all is inconclusive."""
    for verdict in (Verdict.FINDINGS, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return Verdict.CLEAN if verdicts else Verdict.INCONCLUSIVE
