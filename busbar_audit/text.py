"""Text of unknown origin, made safe to show on a terminal or in one line of a log."""

from __future__ import annotations

import unicodedata

# Cc: C0 and C1 controls (ESC starts a terminal command). Cf: bidi overrides, zero-width and other invisible signs.
# Cs: halves of surrogate pairs (file names that are no UTF-8), which cannot be printed. Zl, Zp: line breaks.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: object, keep: str = "") -> str:
    r"""Return `text` with every control and invisible character written out.

    Parameters
    ----------
    text : what to show; anything but a str goes through `str()` first.
    keep : characters left as they are, e.g. ``"\n"`` for text of several lines.

    Returns
    -------
    str
        The same text; an escape character reads ``\x1b``, a right-to-left override ``\u202e``. Encodes as UTF-8.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    plain = str(text)
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(
        sign if sign in keep or unicodedata.category(sign) not in _HIDDEN else _written_out(sign) for sign in plain
    )


def _written_out(sign: str) -> str:
    if sign in _NAMED:
        return _NAMED[sign]
    number = ord(sign)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
