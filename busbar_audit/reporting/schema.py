"""Documents are checked against the published schemas before they are written."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from busbar_audit.errors import ReportError
from busbar_audit.result import json_schema

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

NAMES = ("result", "run", "case")


def validate(name: str, document: object) -> None:
    """Check a document against the schema ``result``, ``run`` or ``case``.

    Raises
    ------
    ReportError : it does not fit; the text names the place.
    """
    from jsonschema.exceptions import best_match

    error = best_match(validator(name).iter_errors(document))
    if error is not None:
        place = "/".join(str(part) for part in error.absolute_path) or "the top"
        raise ReportError(
            f"{name}.json does not fit its own schema at {place}: {error.message[:300]}.",
            f"Expected what busbar_audit/schemas/{name}.json says.",
            "This is a fault of busbar-audit, not of the store; nothing was published.",
        )


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of one schema; references between the two are resolved here, never over a network."""
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    known: Any = Registry()
    for other in NAMES:
        content = json_schema(other)
        known = known.with_resource(content["$id"], Resource.from_contents(content))
    return Draft202012Validator(json_schema(name), registry=known)
