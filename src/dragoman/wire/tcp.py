"""A TCP address as it is written, and the rule for which addresses plain TCP may be used with.

Plain TCP is neither encrypted nor authenticated, so only this machine's own addresses are taken, unless the address itself says
otherwise: ``tcp+unencrypted://``. It stands in the address and not beside it, so that whoever approves the address approves this too.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

SCHEMES: Final = ("tcp", "tcp+unencrypted")
_OPEN: Final = SCHEMES[1]
_EXAMPLE: Final = "tcp://127.0.0.1:7000"


class BadAddress(ValueError):
    """What is wrong with an address, and what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class TcpAddress(NamedTuple):
    """A host, a port, and whether other machines may be connected to."""

    host: str
    port: int
    elsewhere: bool = False

    @property
    def url(self) -> str:
        """As it is written."""
        return f"{SCHEMES[self.elsewhere]}://{_place(self)}"

    @property
    def ways_out(self) -> str:
        """What to do about a host that is not this machine."""
        return (
            f"bring it here through a tunnel (ssh -L {self.port}:localhost:{self.port} …), "
            f"or write {_OPEN}://{_place(self)} if everybody on the way may read and change it"
        )


def tcp_address(url: str) -> TcpAddress:
    """The address in a ``tcp://host:port`` URL.

    Raises:
        BadAddress: It has no port, or more than host and port; or the host is not this machine and the scheme does not say so.
    """
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError as exc:
        raise BadAddress(f"{url!r} cannot be read: {exc}", f"write host and port, as in {_EXAMPLE}") from None
    if not host or not port:
        raise BadAddress(f"{url!r} names no host and port", f"write both, as in {_EXAMPLE}")
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None:
        raise BadAddress(f"a {parts.scheme}:// URL is a host and a port, with nothing before or after", f"write it as in {_EXAMPLE}")
    address = TcpAddress(host, port, parts.scheme == _OPEN)
    if not address.elsewhere and not (is_loopback(host) or _says_local(host)):
        raise BadAddress(
            f"{url!r} is not on this machine, and plain TCP is neither encrypted nor authenticated",
            address.ways_out,
        )
    return address


def is_loopback(address: str) -> bool:
    """Whether an IP address, not a name, is this machine's own."""
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _says_local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _place(address: TcpAddress) -> str:
    return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"
