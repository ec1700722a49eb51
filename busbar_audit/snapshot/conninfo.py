"""The words of a PostgreSQL connection: what the user named, what we add, and what must never be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

import psycopg
from psycopg import conninfo as conninfos

from busbar_audit.errors import UsageError
from busbar_audit.text import printable

APPLICATION = "busbar-audit"
_CONNECT_TIMEOUT = 10
# A network that is gone without a word ends the audit after a minute, not after hours.
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60000}
_DRIVER = re.compile(r"^postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_SECRET = ("password", "sslpassword", "passfile", "sslkey")


@dataclass(frozen=True)
class Words:
    """What a connection is made of.

    given : parameters of libpq by name. secrets : texts to be masked wherever they appear, the longest first.
    """

    given: Mapping[str, Any] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Words:
        """Read ``postgresql://…`` (also with a driver's name in the scheme), ``service=NAME`` or other words of libpq.

        Raises
        ------
        UsageError : they cannot be read.
        """
        plain = _DRIVER.sub("postgresql://", text.strip())
        try:
            words = conninfos.conninfo_to_dict(plain)
        except psycopg.Error:
            # The driver quotes the text it cannot read, and with it the password.
            raise UsageError(
                "The words of the PostgreSQL target cannot be read (not shown: they may hold a password).",
                "postgresql://USER@HOST:PORT/DATABASE, or service=NAME.",
                "Percent-encode special characters, or keep the password in ~/.pgpass or a service file.",
            ) from None
        hidden = {str(words[name]) for name in _SECRET if words.get(name)}
        hidden |= {quote(secret, safe="") for secret in hidden}
        written = re.match(r"postgresql://[^/?#]*?:([^@/]*)@", plain)
        if written and written[1]:
            hidden |= {written[1], unquote(written[1])}
        return cls(
            {
                "connect_timeout": _CONNECT_TIMEOUT,
                **_ALIVE,
                **words,
                "application_name": APPLICATION,
                "client_encoding": "UTF8",
            },
            tuple(sorted(hidden, key=len, reverse=True)),
        )

    def line(self) -> str:
        """All words in one text, as libpq reads them: secrets included."""
        return conninfos.make_conninfo("", **self.given)

    def masked(self, said: object) -> str:
        """The first line of a message, printable, with every secret taken out."""
        text = str(said).strip() or type(said).__name__
        for secret in self.secrets:
            text = text.replace(secret, "***")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return printable(lines[0] if lines else "no message").rstrip(".")
