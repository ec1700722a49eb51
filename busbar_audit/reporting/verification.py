"""Whether a report folder or case file is what was written: every file by its digest, the manifest by its signature."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from busbar_audit.errors import ReportError
from busbar_audit.origin import identity
from busbar_audit.reporting import casecheck, manifest, signature
from busbar_audit.text import printable

SIGNED, UNSIGNED, UNCHECKED = "signed by the key", "not signed", "signed, and not checked: no --key was given"

# Of a name and of a whole path, as file systems have them.
_LONGEST_NAME, _LONGEST_PATH = 255, 4000


@dataclass(frozen=True)
class Difference:
    """One way in which a folder is not what its manifest says.

    kind : missing, changed, added, link, manifest, signature, or case (a case file that contradicts itself).
    """

    kind: str
    name: str
    what: str


@dataclass(frozen=True)
class Verified:
    """A report folder held against its manifest. written : what the manifest says of who wrote it, and of what."""

    files: int
    differences: tuple[Difference, ...]
    signed: str
    written: Mapping[str, Any]

    @property
    def exit_code(self) -> int:
        """1 where anything is not as it was written."""
        return 1 if self.differences else 0


def verify(directory: Path, key: Path | None = None) -> Verified:
    """Hold a report folder against its manifest; nothing but the folder is needed, and no store.

    Parameters
    ----------
    key : a public Ed25519 key; the manifest must be signed by its holder.

    Raises
    ------
    ReportError : there is no manifest that can be read. UsageError : the key is none.
    """
    place = directory / manifest.NAME
    try:
        content = place.read_bytes()
        told = json.loads(content, object_pairs_hook=_once)
        files = {str(name): dict(each) for name, each in told["files"].items()}
        if told["schema"] != manifest.SCHEMA:
            raise ValueError(f"its schema is {str(told['schema'])[:60]}, {manifest.SCHEMA} was expected")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReportError(
            f"{printable(str(place))} cannot be read as a manifest: {printable(str(error))[:200]}.",
            "A folder written by --out, with its manifest.json.",
            "Nothing was verified.",
        ) from None
    try:
        found = [*_files(directory, files), *_inputs(directory, told)]
        found += [Difference("case", casecheck.NAME, said) for said in casecheck.contradictions(directory)]
    except OSError as error:
        raise ReportError(
            f"{printable(str(error.filename or directory))} cannot be read: {error.strerror}.",
            "A folder written by --out, every file of it readable.",
            "Nothing was verified.",
        ) from None
    signed, more = _signature(directory, content, key)
    return Verified(len(files), (*found, *more), signed, told)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of a name told twice other programs may read the first.
    told = dict(pairs)
    if len(told) < len(pairs):
        raise ValueError("a name is there twice")
    return told


def _files(directory: Path, files: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    for name, due in sorted(files.items()):
        pure = PurePosixPath(name)
        path = directory / pure
        if len(name) > _LONGEST_PATH or any(
            len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in pure.parts
        ):
            yield Difference("manifest", name, "is longer than the name of any file")
        elif pure.is_absolute() or ".." in pure.parts or name in ("", manifest.NAME):
            yield Difference("manifest", name, "names a file outside the folder")
        elif any(
            part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(directory) and part != directory
        ):
            yield Difference("link", name, "is a link, and not the file that was written")
        elif not path.is_file():
            yield Difference("missing", name, "is not there")
        elif path.stat().st_size != due.get("bytes") or manifest.sha256(path) != due.get("sha256"):
            yield Difference(
                "changed", name, f"is not what was written ({path.stat().st_size:,} bytes, {due.get('bytes')} due)"
            )
    for name in (manifest.NAME, signature.NAME):
        if (directory / name).is_symlink():
            yield Difference("link", name, "is a link, and not the file that was written")
    # Without these a folder says nothing, and nothing was verified where they are not told of.
    told = casecheck.NAME if casecheck.NAME in files else "run.json"
    for name in sorted({told, "index.html"} - files.keys()):
        yield Difference("manifest", name, "is not listed, and every report has it")
    known = {*files, manifest.NAME, signature.NAME}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if name not in known and (path.is_symlink() or not path.is_dir()):
            yield Difference("added", name, "is of no report")


def _inputs(directory: Path, told: Mapping[str, Any]) -> Iterator[Difference]:
    """What the manifest says of runs and stores, against the results it lists, or the case it is of."""
    case, run = directory / casecheck.NAME, directory / "run.json"
    if not case.is_file() and not run.is_file():
        return  # which was said
    same = False
    try:
        if case.is_file():
            documents = [json.loads(case.read_text(encoding="utf-8"))]
            runs = told["runs"]  # a case file does not name its run
        else:
            documents = json.loads(run.read_text(encoding="utf-8"))["stores"]
            runs = [document["run"]["id"] for document in documents]
        inputs = [{"location": d["store"]["location"], **dict(identity(d["snapshot"]))} for d in documents]
        claimed = [{name: each.get(name) for name in due} for each, due in zip(told["inputs"], inputs, strict=True)]
        same = (told["runs"], claimed) == (runs, inputs)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # one of the two is not of that shape, so they do not say the same
    if not same:
        yield Difference("manifest", manifest.NAME, "names other runs or stores than the documents beside it")


def _signature(directory: Path, content: bytes, key: Path | None) -> tuple[str, list[Difference]]:
    place = directory / signature.NAME
    if key is None:
        return (UNCHECKED if place.exists() else UNSIGNED), []
    public = signature.public_key(key)
    try:
        signed = place.read_bytes()
    except OSError:
        return UNSIGNED, [Difference("signature", signature.NAME, "is not there, and --key asks for it")]
    if signature.holds(signed, content, public):
        return SIGNED, []
    return "signed by another key, or changed since", [
        Difference("signature", signature.NAME, "is not that of this manifest by this key")
    ]


def lines(found: Verified, directory: Path) -> Iterator[str]:
    """For a terminal."""
    tool, inputs = found.written.get("tool"), found.written.get("inputs")
    tool = tool if isinstance(tool, dict) else {}
    yield f"report    {printable(str(directory))}"
    yield f"written   by {printable(str(tool.get('name')))} {printable(str(tool.get('version')))}"
    for each in inputs if isinstance(inputs, list) else ():
        if isinstance(each, dict):
            yield f"store     {printable(str(each.get('location')))}, copied {printable(str(each.get('taken_at')))}"
    yield f"files     {found.files:,}, {len(found.differences):,} difference(s)"
    for each in found.differences[:50]:
        yield f"          {each.kind}: {printable(each.name[:200])} {each.what}"
    yield f"manifest  {found.signed}"
    if found.signed == UNSIGNED and not found.differences:
        yield "          whoever can write to it could have changed files and manifest together; --sign-key prevents that"
