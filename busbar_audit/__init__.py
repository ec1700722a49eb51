"""busbar_audit: audit the durable stores of agent systems.

from busbar_audit import open_store, audit

with open_store("busbar-governance.db") as store:
    result = audit(store)
"""

from busbar_audit.audit import audit
from busbar_audit.errors import AuditError
from busbar_audit.findings import CheckResult, Finding, Outcome
from busbar_audit.result import Result
from busbar_audit.store import Store, open_store
from busbar_audit.verdict import Verdict

__all__ = [
    "AuditError",
    "CheckResult",
    "Finding",
    "Outcome",
    "Result",
    "Store",
    "Verdict",
    "audit",
    "open_store",
]
