"""An Ed25519 signature over a manifest, which covers every file of a report by its digest."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

from busbar_audit.errors import ReportError, UsageError
from busbar_audit.text import printable

NAME = "manifest.sig"
_INSTALL = "pip install 'busbar-audit[sign]'"


def private_key(path: Path) -> Any:
    """Read a private Ed25519 key: PEM (PKCS #8) or OpenSSH, without a password.

    Raises
    ------
    UsageError : the file is no such key. ReportError : the library for it is not installed.
    """
    serialization, ed25519, unsupported = _library()
    data = _content(path)
    for load in (serialization.load_pem_private_key, serialization.load_ssh_private_key):
        try:
            key = load(data, password=None)
        except (ValueError, TypeError, unsupported):
            continue
        if isinstance(key, ed25519.Ed25519PrivateKey):
            return key
    raise UsageError(
        f"--sign-key {printable(str(path))} holds no private Ed25519 key without a password.",
        "PEM or OpenSSH, as `openssl genpkey -algorithm ed25519` writes it.",
    )


def public_key(path: Path) -> Any:
    """Read a public Ed25519 key: PEM or OpenSSH.

    Raises
    ------
    UsageError, ReportError : as for `private_key`.
    """
    serialization, ed25519, unsupported = _library()
    data = _content(path)
    for load in (serialization.load_pem_public_key, serialization.load_ssh_public_key):
        try:
            key = load(data)
        except (ValueError, TypeError, unsupported):
            continue
        if isinstance(key, ed25519.Ed25519PublicKey):
            return key
    raise UsageError(
        f"--key {printable(str(path))} holds no public Ed25519 key.",
        "PEM or OpenSSH, as `openssl pkey -pubout` writes it.",
    )


def write_signature(directory: Path, manifest: Path, key: Any) -> None:
    """Sign a manifest with a private key; the signature goes beside it, in base64."""
    signed = base64.b64encode(key.sign(manifest.read_bytes())).decode("ascii")
    (directory / NAME).write_text(signed + "\n", encoding="ascii")


def holds(signature: bytes, content: bytes, key: Any) -> bool:
    """Whether a signature in base64 is that of a content by the holder of a public key."""
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(base64.b64decode(signature.strip(), validate=True), content)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def _library() -> tuple[Any, Any, type[Exception]]:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ReportError("Signatures need the package cryptography, which is not installed.", _INSTALL) from None
    return serialization, ed25519, UnsupportedAlgorithm


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"The key {printable(str(path))} cannot be read: {error.strerror}.") from None
