"""A callback URL, told without its secrets: scheme, host, what kind of place that is, and whether a secret stands in it."""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from typing import NamedTuple

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\]*)([^#]*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?\.?")
_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]*|[0-9]+)){0,3}")
_SECRET = re.compile(
    r"[?&;](?:[a-z0-9_.-]*(?:token|secret|passw(?:or)?d|credential|api[_-]?key|signature)|auth|authorization|key|sig|pwd|jwt|code)=[^&;]",
    re.IGNORECASE,
)
_METADATA = frozenset({"metadata.google.internal", "metadata", "instance-data"})
_METADATA_ADDRESSES = frozenset({"169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"})
_INSIDE = (".internal", ".local", ".localhost", ".lan", ".home", ".corp", ".intranet", ".svc", ".home.arpa")
_SCHEMES = frozenset(
    {"http", "https", "ws", "wss", "ftp", "ftps", "file", "grpc", "grpcs", "unix", "amqp", "kafka", "gopher"}
)
_SHARED = ipaddress.ip_network("100.64.0.0/10")


class Callback(NamedTuple):
    """What may be told of a URL.

    scheme : in lower case, "other" for an uncommon one, "" where the text is no URL.
    host : in lower case, "" where it cannot be read as one.
    reach : public, loopback, metadata, link-local, private, single label, internal name, or unreadable.
    userinfo : a user name or password stands before the host. secret_query : a parameter that looks like a secret.
    """

    scheme: str
    host: str
    reach: str
    userinfo: bool
    secret_query: bool


def describe(url: str) -> Callback:
    """Describe a URL. Nothing of its user name, path or query is in the answer."""
    # Without a query all is told by what stands before the path, and many callbacks have that in common.
    begin = url.find("://")
    stop = url.find("/", begin + 3) if begin > 0 else -1
    if stop < 0 or "?" in url or "&" in url or ";" in url:
        return _described(url)
    return _plain(url[: stop + 1])


@lru_cache(maxsize=4096)
def _plain(url: str) -> Callback:
    return _described(url)


def _described(url: str) -> Callback:
    found = _URL.match(url)
    if not found:
        return Callback("", "", "unreadable", userinfo=False, secret_query=False)
    scheme, authority, rest = found.groups()
    user, _, place = authority.rpartition("@")
    host, reach = _seen(place)
    secret = _SECRET.search(rest) is not None
    # A word of any other kind at this place could be a secret as well.
    told = scheme.lower() if scheme.lower() in _SCHEMES else "other"
    return Callback(told, host, reach, userinfo=bool(user), secret_query=secret)


@lru_cache(maxsize=4096)
def _seen(place: str) -> tuple[str, str]:
    host = _host(place)
    return host, _place(host)


def _host(place: str) -> str:
    if place.startswith("["):
        inner = place[1:].partition("]")[0].partition("%")[0]
        try:
            return f"[{ipaddress.IPv6Address(inner)}]"
        except ValueError:
            return ""
    name = place.partition(":")[0]
    # Anything else than a host name could be a secret at the wrong place.
    return name.lower() if _NAME.fullmatch(name) else ""


def _place(host: str) -> str:
    if not host:
        return "unreadable"
    name = host.rstrip(".")
    address = _address(name)
    if address is not None:
        return _place_of(address)
    if name in _METADATA:
        return "metadata"
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    if "." not in name:
        return "single label"
    return "internal name" if name.endswith(_INSIDE) else "public"


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if name.startswith("["):
        address = ipaddress.IPv6Address(name[1:-1])
        return address.ipv4_mapped or address
    if not _NUMBERS.fullmatch(name):
        return None
    try:
        # Also the forms that resolvers take: one number, hexadecimal, octal, fewer than four parts.
        return ipaddress.IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):
        return None


def _place_of(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if str(address) in _METADATA_ADDRESSES:
        return "metadata"
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    shared = isinstance(address, ipaddress.IPv4Address) and address in _SHARED
    return "private" if address.is_private or shared or address.is_reserved or address.is_multicast else "public"
