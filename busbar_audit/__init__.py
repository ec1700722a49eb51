"""busbar_audit: audit the durable stores of agent systems.

from busbar_audit import open_store, audit

with open_store("busbar-governance.db") as store:
    result = audit(store)
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from busbar_audit.auditing import audit
    from busbar_audit.errors import AuditError
    from busbar_audit.findings import CheckResult, Finding, Outcome
    from busbar_audit.reporting.session import open_run
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
    "open_run",
    "open_store",
]

_HOME = {
    "AuditError": "errors",
    "CheckResult": "findings",
    "Finding": "findings",
    "Outcome": "findings",
    "Result": "result",
    "Store": "store",
    "Verdict": "verdict",
    "audit": "auditing",
    "open_run": "reporting.session",
    "open_store": "store",
}


def __getattr__(name: str) -> _typing.Any:
    # Loaded when asked for: a worker that needs one module does not wait for DuckDB and SQLAlchemy.
    if name in _HOME:
        return getattr(_importlib.import_module(f"busbar_audit.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
