"""`busbar-audit verify`: a report folder is what was written, or each thing that is not is named."""

from __future__ import annotations

import errno
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from support_cli import called, last
from support_reports import clean_store

from busbar_audit.commands import runs
from busbar_audit.errors import ReportError, UsageError
from busbar_audit.reporting import signature
from busbar_audit.reporting.verification import SIGNED, UNCHECKED, UNSIGNED, lines, verify

SIGNATURE, MANIFEST = ("signature", "manifest.sig"), ("manifest", "manifest.json")
AS_OF = ("--as-of", "2023-11-23T00:00:00Z", "--only", "BUS-C01")


def _keys(folder: Path, name: str) -> tuple[Path, Path]:
    """A private and a public key: PEM of the one, OpenSSH of the other."""
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    )
    return private, public


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a signed report, and its keys beside it."""
    folder = tmp_path_factory.mktemp("verify")
    private, _ = _keys(folder, "own")
    _keys(folder, "other")
    store = clean_store(folder / "s.db", calls=20)
    done = called("audit", store, *AS_OF, "--out", folder / "report", "--sign-key", private)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written / "report", tmp_path / "report"))


def test_what_was_written_is_clean_without_the_store_and_elsewhere(written: Path, copy: Path) -> None:
    own = written / "own.pub"
    assert (verify(copy, own).differences, verify(copy, own).signed) == ((), SIGNED)
    assert verify(copy).signed == UNCHECKED
    done = called("verify", copy, "--key", own)
    assert (done.returncode, last(done.stdout)) == (0, "clean")
    assert "signed by the key" in done.stdout
    (copy / signature.NAME).unlink()
    assert (verify(copy).differences, verify(copy).signed) == ((), UNSIGNED)
    assert "could have changed files and manifest together" in called("verify", copy).stdout


def _manifest(copy: Path, change: Callable[[dict[str, object]], object]) -> None:
    told = json.loads((copy / "manifest.json").read_text())
    change(told)
    (copy / "manifest.json").write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (lambda c: (c / "result.json").write_text("{}"), {("changed", "result.json")}),
        (lambda c: (c / "summary.md").write_bytes((c / "summary.md").read_bytes()[:-1] + b"x"), {("changed", "summary.md")}),
        (lambda c: (c / "junit.xml").unlink(), {("missing", "junit.xml")}),
        (lambda c: (c / "more.txt").write_text("x"), {("added", "more.txt")}),
        (lambda c: (c / "deep").mkdir() or (c / "deep" / "manifest.json").write_text("x"), {("added", "deep/manifest.json")}),
        (lambda c: (c / "deep").symlink_to("/tmp"), {("added", "deep")}),
        (lambda c: (c / "run.json").rename(c / "x") and (c / "run.json").symlink_to("x"),
         {("link", "run.json"), ("added", "x")}),
        (lambda c: _manifest(c, lambda m: m.update(runs=["other"])), {MANIFEST, SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m["inputs"][0].update(location="/elsewhere")),
         {MANIFEST, SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m["files"].pop("junit.xml")), {("added", "junit.xml"), SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m["files"].update({"../s.db": {}})), {("manifest", "../s.db"), SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m["tool"].update(version="9")), {SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m.update(inputs=[])), {MANIFEST, SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m.update(inputs=5, tool=[1])), {MANIFEST, SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m.pop("runs")), {MANIFEST, SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m["files"].pop("run.json")) or (c / "run.json").unlink(),
         {("manifest", "run.json"), SIGNATURE}),
        (lambda c: _manifest(c, lambda m: m["files"].update({"x" * 5000: {}})), {("manifest", "x" * 5000), SIGNATURE}),
        (lambda c: (c / "manifest.json").rename(c.parent / "m") and (c / "manifest.json").symlink_to(c.parent / "m"),
         {("link", "manifest.json")}),
        (lambda c: (c / "manifest.sig").write_text("AAAA"), {SIGNATURE}),
        (lambda c: (c / "manifest.sig").write_text("not base64 é"), {SIGNATURE}),
        (lambda c: (c / "manifest.sig").unlink(), {SIGNATURE}),
    ],
)  # fmt: skip
def test_each_change_is_named(
    change: Callable[[Path], object], kinds: set[tuple[str, str]], written: Path, copy: Path
) -> None:
    change(copy)
    found = verify(copy, written / "own.pub")
    assert {(each.kind, each.name) for each in found.differences} == kinds
    assert found.exit_code == 1
    assert list(lines(found, copy))


def test_a_folder_of_nothing_was_not_verified(tmp_path: Path) -> None:
    told = {"schema": "busbar-audit/manifest/1", "files": {}, "runs": [], "inputs": []}
    (tmp_path / "manifest.json").write_text(json.dumps(told))
    assert {each.name for each in verify(tmp_path).differences} == {"run.json", "index.html"}


def test_a_result_that_cannot_be_written_down_is_no_fault_of_the_program(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(ReportError, match="cannot be written to standard output: No space left"):
        runs.verify(written / "report")


def test_another_key_is_told(written: Path, copy: Path) -> None:
    done = called("verify", copy, "--key", written / "other.pub")
    assert (done.returncode, last(done.stdout)) == (1, "findings")
    assert "signed by another key, or changed since" in done.stdout


def test_no_manifest_and_no_key_are_told_apart(written: Path, copy: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no public Ed25519 key"):
        verify(copy, written / "own.pem")
    with pytest.raises(UsageError, match="cannot be read"):
        verify(copy, tmp_path / "nothing")
    for content in (
        "",
        "[]",
        '{"schema": "another", "files": {}}',
        '{"schema": "busbar-audit/manifest/1"}',
        '{"schema": "busbar-audit/manifest/2", "files": {}}',
        '{"schema": "busbar-audit/manifest/1", "files": {"a": {}}, "files": {}}',
        "[" * 100_000,
    ):
        (copy / "manifest.json").write_text(content)
        with pytest.raises(ReportError, match="cannot be read as a manifest"):
            verify(copy)
    done = called("verify", tmp_path / "nowhere")
    assert (done.returncode, last(done.stdout)) == (3, "inconclusive")
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    wrong = tmp_path / "rsa.pem"
    wrong.write_bytes(
        other.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    store = clean_store(tmp_path / "s.db", calls=5)
    done = called("audit", store, *AS_OF, "--out", tmp_path / "out", "--sign-key", wrong)
    assert done.returncode == 2
    assert "holds no private Ed25519 key" in done.stderr
    assert not (tmp_path / "out").exists()
    assert called("audit", store, *AS_OF, "--sign-key", wrong).returncode == 2


def test_a_signed_report_is_replaced_by_the_next_run(written: Path, tmp_path: Path) -> None:
    store = clean_store(tmp_path / "s.db", calls=5)
    for _ in range(2):
        done = called("audit", store, *AS_OF, "--out", tmp_path / "out", "--sign-key", written / "own.pem")
        assert done.returncode == 0, done.stderr
        assert verify(tmp_path / "out", written / "own.pub").differences == ()
    assert called("audit", store, *AS_OF, "--out", tmp_path / "out").returncode == 0
    assert verify(tmp_path / "out").signed == UNSIGNED
