"""The guard ``email``: one plain address of an allowed domain. Names, comments, groups, routes and lists in one text are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.guards.text import flaw, quoted

_LOCAL: Final = re.compile(r"[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+)*")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+")


class EmailGuard:
    """Lets addresses through whose domain is allowed.

    Args:
        domains: Exact domains, or ``*.example.com`` for all below one.
    """

    name, whole = "email", False

    def __init__(self, domains: Sequence[str]) -> None:
        self._domains = tuple(domain.lower() for domain in domains)

    async def check(self, value: Any, call: Call) -> Any:
        if (wrong := flaw(value, 254, what="an address")) is not None:
            return wrong
        local, at, domain = value.partition("@")
        # "%" and "!" once routed mail on; some relays still follow them.
        if not at or len(local) > 64 or "!" in local or not _LOCAL.fullmatch(local) or not _DOMAIN.fullmatch(domain):
            return Problem("", f"expected one plain address such as name@{self._domains[0].removeprefix('*.')}, got {quoted(value)}")
        if not any(matches(domain.lower(), allowed) for allowed in self._domains):
            return Problem("", f"the domain {quoted(domain)} is not allowed; allowed: {', '.join(self._domains)}")
        return value

    def describe(self) -> str:
        return f"addresses at {', '.join(self._domains)}"


def matches(name: str, allowed: str) -> bool:
    """Whether a host name is the allowed one, or below it where that begins with ``*.``. Both in lower case."""
    return name.endswith(allowed[1:]) and len(name) > len(allowed) - 1 if allowed.startswith("*.") else name == allowed
