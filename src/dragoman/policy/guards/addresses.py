"""Which addresses are on the public internet, and which texts a resolver would read as a number."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

#: A last label like these makes the whole name an IPv4 address to most programs. Source: WHATWG URL, "ends in a number".
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.I)

# The standard library's tables differ between patch releases, and know nothing of clouds.
_NEVER: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' networks; some clouds' metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # a public address that is the inside of Azure
        "169.254.0.0/16",  # link-local; most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
    )
)
#: Of IPv6 only what is handed out as global unicast, without the ways to write an IPv4 address in it.
_GLOBAL6: Final = ipaddress.ip_network("2000::/3")
_NEVER6: Final = tuple(ipaddress.ip_network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48"))


def is_public(text: str) -> bool:
    """Whether an address, in its usual form, is reached over the public internet. What is no address is not."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NEVER)
    return address.scope_id is None and address in _GLOBAL6 and not any(address in network for network in _NEVER6)


def looks_numeric(host: str) -> bool:
    """Whether programs read a host as an IPv4 address, in whichever form."""
    return _NUMERIC.fullmatch(host.rpartition(".")[2]) is not None
