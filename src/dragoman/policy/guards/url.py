"""The guard ``url``: an address of an allowed scheme and host that is on the public internet, by name and by what DNS says now.

The server looks the name up again and follows redirects by itself: an attacker who runs a name server can answer twice differently.
Only an egress rule around the server closes that; this check keeps out everything that can be told beforehand.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.guards.addresses import is_public, looks_numeric
from dragoman.policy.guards.email import matches
from dragoman.policy.guards.text import flaw, quoted

#: Says which addresses a name has; raises ``OSError`` where it has none.
Lookup = Callable[[str], Awaitable[Sequence[str]]]

DNS_S: Final = 5.0
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.S)
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@%]+)(?::([0-9]{1,5}))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
#: Names that resolve inside a machine or a company. RFC 6761, RFC 8375, ICANN's reserved and the usual ones.
_INSIDE: Final = frozenset(
    ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "test", "onion", "invalid")
)
_WEB_PORTS: Final = frozenset({80, 443})


class UrlGuard:
    """Lets URLs through, with the host in its plain form.

    Args:
        schemes: In lower case.
        hosts: Names, ``*.example.com`` for all below one; empty: any.
        ports: Empty: those of the web and everything from 1024 up.
        private: Let addresses of this machine and its networks through too, as far as ``hosts`` allows.
        dns: Look names up. Off where only a proxy can.
        lookup: Instead of the system's resolver.
    """

    name, whole = "url", False

    def __init__(
        self,
        schemes: Sequence[str] = ("https", "http"),
        hosts: Sequence[str] = (),
        ports: Sequence[int] = (),
        *,
        private: bool = False,
        dns: bool = True,
        lookup: Lookup | None = None,
    ) -> None:
        self._schemes = tuple(scheme.lower() for scheme in schemes)
        self._hosts = tuple(host.lower() for host in hosts)
        self._ports, self._private, self._dns = frozenset(ports), private, dns
        self._lookup = _resolve if lookup is None else lookup

    async def check(self, value: Any, call: Call) -> Any:
        if (wrong := flaw(value, 8192, what="a URL")) is not None:
            return wrong
        if re.search(r"\s", value) or "\\" in value:
            return Problem("", f"a URL holds neither spaces nor backslashes: {quoted(value)}")
        parts = _URL.fullmatch(value)
        if parts is None or (authority := _AUTHORITY.fullmatch(parts[2])) is None:
            return Problem("", f"expected a URL such as {self._schemes[0]}://host/path, without a user name, got {quoted(value)}")
        scheme, rest = parts[1].lower(), parts[3]
        if scheme not in self._schemes:
            return Problem("", f"the scheme {quoted(scheme)} is not allowed; allowed: {', '.join(self._schemes)}")
        port = int(authority[2]) if authority[2] else None
        if port is not None and not self._port_is_allowed(port):
            allowed = ", ".join(map(str, sorted(self._ports))) or "80, 443, and 1024 to 65535"
            return Problem("", f"the port {port} is not allowed; allowed: {allowed}")
        host = _plain_host(authority[1])
        if isinstance(host, Problem):
            return host
        if self._hosts and not any(matches(host, allowed) for allowed in self._hosts):
            return Problem("", f"the host {quoted(host)} is not allowed; allowed: {', '.join(self._hosts)}")
        if not self._private and (problem := await self._private_host(host)) is not None:
            return problem
        # A slash after the host, as readers disagree about "host#@other" and "host?@other".
        return f"{scheme}://{host}{f':{port}' if port is not None else ''}{rest if not rest or rest[0] == '/' else '/' + rest}"

    def _port_is_allowed(self, port: int) -> bool:
        return port in self._ports if self._ports else port in _WEB_PORTS or 1024 <= port <= 65535

    async def _private_host(self, host: str) -> Problem | None:
        refused = Problem("", f"{quoted(host)} is not a public address; only hosts on the public internet may be named here")
        address = host.strip("[]")
        if host.startswith("[") or looks_numeric(host):
            return None if is_public(address) else refused
        if "." not in host or host.rpartition(".")[2] in _INSIDE:
            return refused
        if not self._dns:
            return None
        try:
            found = await asyncio.wait_for(self._lookup(host), DNS_S)
        except (OSError, UnicodeError, TimeoutError):
            return Problem("", f"the host {quoted(host)} cannot be found; check its spelling")
        return refused if not found or not all(is_public(one) for one in found) else None

    def describe(self) -> str:
        where = ", ".join(self._hosts) or "any host"
        return f"{', '.join(self._schemes)}; {where}; {'private addresses too' if self._private else 'public addresses only'}"


def _plain_host(written: str) -> str | Problem:
    """The host in lower case and ASCII, or why it is refused."""
    if written.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(written[1:-1]).compressed}]"
        except ValueError:
            return Problem("", f"{quoted(written)} is no IPv6 address")
    host = written.lower()
    if not host.isascii():
        if unicodedata.normalize("NFKC", host).isascii() or any(not char.isalnum() and char not in ".-" for char in host):
            return Problem("", f"write the host {quoted(written)} in plain letters")
        try:
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return Problem("", f"{quoted(written)} is no host name")
    host = host.removesuffix(".")
    if looks_numeric(host):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            return Problem("", f"{quoted(written)} is not an IPv4 address in its usual form, four decimal numbers with dots")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        return Problem("", f"{quoted(written)} is no host name")
    return host


async def _resolve(host: str) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
