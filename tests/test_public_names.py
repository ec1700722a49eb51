"""What `import busbar_audit` gives, and how little it loads."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys

import busbar_audit

# Heavy, or needed by one command only: `inspect` and `checks` answer without them.
LATE = {
    "IPython",
    "adbc_driver_sqlite",
    "ipykernel",
    "jsonschema",
    "jupyter_client",
    "matplotlib",
    "nbconvert",
    "nbformat",
    "pandas",
    "papermill",
    "prometheus_client",
}


def _loaded(code: str) -> set[str]:
    """Top-level modules that are loaded after a piece of code ran in a new Python."""
    script = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return {name.partition(".")[0] for name in names}


def test_the_public_names_are_sorted_and_there() -> None:
    assert busbar_audit.__all__ == sorted(busbar_audit.__all__)
    for name in busbar_audit.__all__:
        assert getattr(busbar_audit, name).__doc__, name


def test_nothing_else_is_public() -> None:
    modules = {module.name for module in pkgutil.iter_modules(busbar_audit.__path__)}
    rest = {name for name in vars(busbar_audit) if not name.startswith("_")} - {*busbar_audit.__all__}
    assert rest <= modules, "a name that is neither in __all__ nor a module"


def test_the_package_loads_without_what_only_reports_need() -> None:
    assert not _loaded("import busbar_audit") & LATE


def test_listing_the_checks_loads_no_more() -> None:
    code = "import sys; sys.argv = ['busbar-audit', 'checks', 'BUS-C02']\nfrom busbar_audit.cli import main\n"
    assert not _loaded(f"{code}try: main()\nexcept SystemExit as ended: assert ended.code == 0") & LATE


def test_every_module_can_be_imported_by_itself() -> None:
    """In one Python, in an order that is not the package's own: a circle of imports would show."""
    names = sorted(m.name for m in pkgutil.walk_packages(busbar_audit.__path__, "busbar_audit."))
    assert len(names) > 40
    if not os.environ.get("BUSBAR_AUDIT_FULL"):
        names = names[::4]
    lines = [
        "import importlib, sys",
        f"for name in {names!r}:",
        "    for loaded in [m for m in sys.modules if m.partition('.')[0] == 'busbar_audit']: del sys.modules[loaded]",
        "    importlib.import_module(name)",
    ]
    _loaded("\n".join(lines))
