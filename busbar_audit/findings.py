"""What checks return: outcomes, and findings with their place and extent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from busbar_audit.policy import Acceptance
from busbar_audit.queries import SEVERITIES

# The columns every check returns first; further ones are evidence.
COLUMNS = ("subject", "place", "first_seq", "last_seq", "records", "detail")


class Outcome(StrEnum):
    """How a check ended."""

    PASS = "pass"  # noqa: S105 - not a password
    FINDING = "finding"
    NOT_APPLICABLE = "not_applicable"
    COULD_NOT_RUN = "could_not_run"
    NOTHING_TO_CHECK = "nothing_to_check"


def at_least(severity: str, threshold: str) -> bool:
    """Whether a severity is as grave as the threshold or graver."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(threshold)


@dataclass(frozen=True)
class Finding:
    """One finding: where it is, how far it reaches, what is known of it.

    subject : table or population. place : what in it (a principal, a task, a key id).
    first_seq, last_seq : extent, None where there is no sequence. records : how many records it covers.
    detail : facts in words. evidence : further columns of the check's query.
    """

    code: str
    severity: str
    subject: str
    place: str
    first_seq: int | None
    last_seq: int | None
    records: int
    detail: str
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, code: str, severity: str, row: Mapping[str, Any]) -> Finding:
        """A finding from a row of a check's query: the fixed columns, the others as evidence."""
        return cls(
            code=code,
            severity=severity,
            subject=row["subject"],
            place=row["place"],
            first_seq=row["first_seq"],
            last_seq=row["last_seq"],
            records=row["records"],
            detail=row["detail"],
            evidence={name: value for name, value in row.items() if name not in COLUMNS},
        )

    @property
    def identity(self) -> str:
        """The same for the same finding in another run: a digest of code, subject, place and first record."""
        text = "\x1f".join((self.code, self.subject, self.place, str(self.first_seq)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """For result.json; integers above 2**53 become text, so that no reader rounds them."""
        return {
            "identity": self.identity,
            "severity": self.severity,
            "subject": self.subject,
            "place": self.place,
            "first_seq": exact(self.first_seq),
            "last_seq": exact(self.last_seq),
            "records": exact(self.records),
            "detail": self.detail,
            "evidence": {key: exact(value) for key, value in self.evidence.items()},
        }


def exact(value: Any) -> Any:
    """A value as JSON keeps it exactly: big integers as text, bytes as length and digest."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else str(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()[:16]}"
    if isinstance(value, Mapping):
        return {str(key): exact(inner) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [exact(inner) for inner in value]
    return str(value)


@dataclass(frozen=True)
class Accepted:
    """An acceptance of the policy that was in force, and how many findings it took out."""

    acceptance: Acceptance
    findings: int


@dataclass(frozen=True)
class CheckResult:
    """The end of one check.

    examined : rows looked at. findings : exact number. samples : the first of them in the check's order.
    accepted : what the policy lets be, which is in none of these numbers.
    counts : findings by severity. severity : the gravest found, else the check's own.
    """

    code: str
    title: str
    severity: str
    outcome: Outcome
    reason: str
    examined: int
    findings: int
    samples: tuple[Finding, ...]
    counts: Mapping[str, int]
    seconds: float
    query: str
    meaning: str
    proves: str
    next: str
    accepted: tuple[Accepted, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For result.json."""
        return {
            "code": self.code,
            "title": self.title,
            "severity": self.severity,
            "outcome": str(self.outcome),
            "reason": self.reason,
            "examined": exact(self.examined),
            "findings": exact(self.findings),
            "accepted": exact(sum(each.findings for each in self.accepted)),
            "by_severity": dict(self.counts),
            "samples": [sample.as_dict() for sample in self.samples],
            "seconds": round(self.seconds, 6),
            "query": self.query,
        }
