"""What may stand between an audit and its server: a pooler that shares connections, or a network that ends.

Both listen on a Unix socket of their own and speak just enough of the protocol. The server behind lets everyone in.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

Mode = Literal["transaction", "statement", "careless"]
# Startup parameters that a pooler knows; it refuses a client that sends others.
KNOWN = {
    "user",
    "database",
    "application_name",
    "client_encoding",
    "datestyle",
    "timezone",
    "standard_conforming_strings",
}


class Door:
    """A Unix socket of our own in front of a server."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self.folder, self.upstream = folder, f"{upstream}/.s.PGSQL.5432"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen()
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def uri(self, database: str, user: str = "postgres", more: str = "") -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}{more}"

    def server(self) -> socket.socket:
        behind = socket.socket(socket.AF_UNIX)
        behind.connect(self.upstream)
        self.open.append(behind)
        return behind

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for each in self.open:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        # A side that is gone ends the conversation, whichever it is.
        with suppress(OSError, EOFError), client:
            self.serve(client)

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError


class Cut(Door):
    """Passes everything on, until so many bytes have come from the server; then all connections end at once.

    left : bytes still to come; None for no end. passed : bytes that came.
    """

    def __init__(self, folder: Path, upstream: str) -> None:
        self.left: int | None = None
        self.passed = 0
        super().__init__(folder, upstream)

    def serve(self, client: socket.socket) -> None:
        behind = self.server()
        threading.Thread(target=self._forward, args=(client, behind), daemon=True).start()
        with behind:
            while data := behind.recv(4096):
                self.passed += len(data)
                if self.left is not None:
                    data, self.left = data[: self.left], max(0, self.left - len(data))
                client.sendall(data)
                if self.left == 0:
                    client.shutdown(socket.SHUT_RDWR)
                    return

    @staticmethod
    def _forward(client: socket.socket, behind: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(4096):
                behind.sendall(data)


class Pooler(Door):
    """Gives each transaction (or statement) to another connection of the server than the one before.

    mode : `statement` refuses transactions, as an honest pooler does then; `careless` does not notice them.
    version : what it says of the server's version; "" leaves it out.
    """

    def __init__(self, folder: Path, upstream: str, mode: Mode, version: str | None) -> None:
        self.mode, self.version, self.refused, self.turns = mode, version, [], 0
        super().__init__(folder, upstream)

    def serve(self, client: socket.socket) -> None:
        words = _startup(client)
        if unknown := sorted(name for name in words if name.lower() not in KNOWN):
            self.refused += unknown
            client.sendall(_error("08P01", f"unsupported startup parameter: {unknown[0]}"))
            return
        servers = deque(self._login(words) for _ in range(3))
        client.sendall(_message(b"R", struct.pack("!I", 0)))
        for kind, body in servers[0][1]:
            said = body
            if kind == b"S" and body.startswith(b"server_version\0") and self.version is not None:
                said = b"server_version\0" + self.version.encode() + b"\0"
            if kind == b"S" and not said.endswith(b"\0\0"):
                client.sendall(_message(kind, said))
        client.sendall(_message(b"Z", b"I"))
        held: socket.socket | None = None
        while True:
            kind, body = _receive(client)
            if kind == b"X":
                return
            if self.mode == "statement" and kind in b"QP" and b"BEGIN" in body.upper():
                client.sendall(_error("08P01", "transaction blocks not allowed in statement pooling mode", b"ERROR"))
                client.sendall(_message(b"Z", b"I"))
                continue
            if held is None:
                servers.rotate(1)
                held, self.turns = servers[0][0], self.turns + 1
            held.sendall(_message(kind, body))
            if kind in b"QS":
                status = b""
                while not status:
                    kind, body = _receive(held)
                    client.sendall(_message(kind, body))
                    status = body if kind == b"Z" else b""
                if status == b"I" or self.mode == "careless":
                    held = None

    def _login(self, words: dict[str, str]) -> tuple[socket.socket, list[tuple[bytes, bytes]]]:
        behind, said = self.server(), []
        given = b"".join(f"{name}\0{words[name]}\0".encode() for name in ("user", "database"))
        behind.sendall(struct.pack("!II", len(given) + 9, 196608) + given + b"\0")
        while True:
            kind, body = _receive(behind)
            if kind == b"E":
                raise EOFError
            said.append((kind, body))
            if kind == b"Z":
                return behind, said


@contextmanager
def cut(folder: Path, upstream: str) -> Iterator[Cut]:
    door = Cut(folder, upstream)
    try:
        yield door
    finally:
        door.close()


@contextmanager
def pooler(folder: Path, upstream: str, mode: Mode, version: str | None = None) -> Iterator[Pooler]:
    door = Pooler(folder, upstream, mode, version)
    try:
        yield door
    finally:
        door.close()


def _startup(client: socket.socket) -> dict[str, str]:
    (length,) = struct.unpack("!I", _exactly(client, 4))
    parts = _exactly(client, length - 4)[4:].split(b"\0")
    names, values = parts[:-2:2], parts[1:-2:2]
    return {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}


def _receive(source: socket.socket) -> tuple[bytes, bytes]:
    kind = _exactly(source, 1)
    (length,) = struct.unpack("!I", _exactly(source, 4))
    return kind, _exactly(source, length - 4)


def _exactly(source: socket.socket, count: int) -> bytes:
    got = bytearray()
    while len(got) < count:
        part = source.recv(count - len(got))
        if not part:
            raise EOFError
        got += part
    return bytes(got)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _error(code: str, text: str, severity: bytes = b"FATAL") -> bytes:
    fields = b"S" + severity + b"\0V" + severity + b"\0C" + code.encode() + b"\0M" + text.encode() + b"\0\0"
    return _message(b"E", fields)
