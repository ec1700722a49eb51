"""Errors that reach a user. Each message says what was read, what was expected and what to do.

AuditError                     exit 3 unless a subclass says otherwise
├── UsageError                 exit 2: the call's words are off
│   ├── TargetNotFound         the path named does not exist
│   ├── PolicyError            the policy file cannot be read, or says what is not known
│   └── UnknownCheck           no check or area of that name
├── NotAStore                  exit 3: the target is there, but no store can be read from it
│   ├── NotADatabase           not SQLite, encrypted, or cut short
│   └── UnknownFamily          a database, but none of the families known here
├── SnapshotError              exit 3: no consistent copy could be taken
│   ├── StoreLocked            another process held the store for longer than we wait
│   └── NotEnoughSpace         the private copy does not fit on the disk
├── WarehouseError             exit 3: the copy could not be loaded exactly
├── WitnessError               exit 3: the witness cannot be read or written, or another run has it
├── QueryFileError             exit 3: a file in queries/ is not well formed (file and line)
└── ReportError                exit 3: the report could not be made or put in its place
    └── OutputExists           exit 2: something that is not ours stands where the report should go
"""

from __future__ import annotations


class AuditError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    read : what was being read or done.
    expected : what was expected there.
    todo : what the reader of the message can do next.
    """

    exit_code = 3

    def __init__(self, read: str, expected: str = "", todo: str = "") -> None:
        self.read, self.expected, self.todo = read, expected, todo
        super().__init__("\n".join(part for part in (read, expected, todo) if part))


class UsageError(AuditError):
    """The call's words are off."""

    exit_code = 2


class TargetNotFound(UsageError):
    """The path named does not exist; it is never created."""


class PolicyError(UsageError):
    """The policy file cannot be read, or says what is not known here."""


class UnknownCheck(UsageError):
    """No check or area of that name."""


class NotAStore(AuditError):
    """The target exists, but no store can be read from it."""


class NotADatabase(NotAStore):
    """Not SQLite, encrypted, or cut short."""


class UnknownFamily(NotAStore):
    """A database, but of none of the families known here."""


class SnapshotError(AuditError):
    """No consistent copy could be taken."""


class StoreLocked(SnapshotError):
    """Another process held the store for longer than we wait."""


class NotEnoughSpace(SnapshotError):
    """The private copy does not fit on the disk."""


class WarehouseError(AuditError):
    """The copy could not be loaded exactly."""


class QueryFileError(AuditError):
    """A file in queries/ is not well formed."""


class WitnessError(AuditError):
    """The witness cannot be read, written, or is in use by another run."""


class ReportError(AuditError):
    """The report could not be made or put in its place."""


class OutputExists(ReportError):
    """Something that is not an earlier report stands where the report should go."""

    exit_code = 2
