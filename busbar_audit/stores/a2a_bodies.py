"""The bodies of the three helper functions: fingerprints of known generations, and the literal that makes the lock key.

Source: fact sheet section 1.7. The digests of v4 were recomputed from a store that the vendor's own migration made; those of
older generations come from the sheet alone and are unverified.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from busbar_audit.stores.a2a_shapes import CONFIGS, TASKS

PUSH_LOCK, DELETE_LOCK, CLEANUP = (
    "a2a_lock_task_for_push_config",
    "a2a_lock_task_for_delete",
    "a2a_delete_task_push_configs",
)
HELPERS = (PUSH_LOCK, DELETE_LOCK, CLEANUP)
DELETE_TRIGGER, LOCK_TRIGGER, TRUNCATE_TRIGGER = (
    "a2a_delete_task_push_configs_trigger",
    "a2a_lock_task_for_delete_trigger",
    "a2a_truncate_task_push_configs_trigger",
)
TRIGGERS = (LOCK_TRIGGER, DELETE_TRIGGER, TRUNCATE_TRIGGER)
MARKER = re.compile(r"task-aware-push-config-v([0-9]{1,9})")

# helper, digest of the normalised body, what it is called, generations that have it
_KNOWN = (
    (PUSH_LOCK, "bffed52a3239ba9258f0e8affd02b6c69e6a042b81b83fb1117d97c94562e668", "v1", (11,)),
    (PUSH_LOCK, "6e7744109cb682f13e3459b41d7d3433237e0f61f1add2c92d8db2ae6dce2688", "v2", (12,)),
    (PUSH_LOCK, "d987105892f0a4a50d3ce9f19f56543f3ca168a115038246b6b9f87d850690ed", "v3a", (13,)),
    (PUSH_LOCK, "2296304dd5ba60af9c0660ccd429c5577bd6ab3d71208b9c928658b53f3a8722", "v3b or v4", (13, 14)),
    (DELETE_LOCK, "f0641b5b1664e5ba1826f53ebe377ad9c7bb545d3f738bb7c3de2d207a219216", "v3a", (13,)),
    (DELETE_LOCK, "e2348ecb18ebb546c18b00d0f604ac8966e6659a393dea0b998d558bc25effe1", "v3b or v4", (13, 14)),
    (CLEANUP, "3d018ec003907d4a3633b757414310f1799c31ff82e99d82c3224f5e9a1a5628", "v1, v2 or v3", (11, 12, 13)),
    (CLEANUP, "9dcc1924938a005d88289bc2910705733155511d01e32f90e62e5b9f431f4b30", "v4", (14,)),
)
_BY_DIGEST = {(name, digest): (called, generations) for name, digest, called, generations in _KNOWN}

# A literal that is hashed on its own with seed 0 scopes the key to one table.
_SCOPED = re.compile(r"hashtextextended\s*\(\s*'((?:[^']|'')*)'\s*,\s*0\s*\)", re.IGNORECASE)
_HASHED = re.compile(r"hashtextextended\s*\(", re.IGNORECASE)
_PART = r"(\"(?:[^\"]|\"\")+\"|[A-Za-z_][A-Za-z0-9_$]*)"
_NAMED = re.compile(rf"{_PART}\s*\.\s*\"?({TASKS}|{CONFIGS})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Body:
    """What is told of one helper's text.

    digest : SHA-256 of the normalised text, hexadecimal. called : known name of that digest, "" if unknown.
    generations : those whose helper it is. key : what the lock key is made with: the literal as written, ``seed 0``
    where the task id alone is hashed, "" where nothing is. schemas : schemas of the store's tables that it names.
    """

    digest: str
    called: str
    generations: tuple[int, ...]
    key: str
    schemas: tuple[str, ...]


def read_body(name: str, source: str, schema: str) -> Body:
    """Describe the text (``prosrc``) of the helper `name` of the store in `schema`; the text itself is not kept."""
    digest = hashlib.sha256(normalised(source, schema).encode()).hexdigest()
    called, generations = _BY_DIGEST.get((name, digest), ("", ()))
    scoped = _SCOPED.search(source)
    key = scoped[1].replace("''", "'") if scoped else "seed 0" if _HASHED.search(source) else ""
    named = {_folded(match[1]) for match in _NAMED.finditer(source)}
    return Body(digest, called, generations, key, tuple(sorted(named)))


def normalised(source: str, schema: str) -> str:
    """The text without what does not change its effect: case, blanks, quotes, alias, and the schema's own name."""
    plain = re.sub(r"[\s\"]+", "", source.lower())
    plain = plain.replace("asrelation", "").replace("relation.", "")
    own = schema.lower()
    return plain.replace(f"{own}.{CONFIGS}", "{P}").replace(f"{own}.{TASKS}", "{T}")


def marked(comment: str | None) -> int | None:
    """The generation that a marker names (14 for v4), None for any other text; a newer one than known has its number too."""
    found = MARKER.fullmatch(comment or "")
    return 10 + int(found[1]) if found else None


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
