"""Public web addresses only, however a private one is written, and by what the name resolves to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dragoman.errors import Problem
from dragoman.policy.guards import url as url_module
from dragoman.policy.guards.url import UrlGuard
from tests.policy.guards.corpus import CALL, cases, refused

#: What these names say in the world, or could.
_ZONES: dict[str, list[str]] = {
    "rebind.example.com": ["127.0.0.1"],
    "localtest.me": ["127.0.0.1"],
    "lvh.me": ["127.0.0.1"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "10.0.0.1.sslip.io": ["10.0.0.1"],
    "a.169.254.169.254.xip.io": ["169.254.169.254"],
    "spoofed.burpcollaborator.net": ["127.0.0.1"],
    "mixed.example.com": ["93.184.216.34", "10.0.0.1"],
    "six.example.com": ["fd00:ec2::254"],
    "mapped.example.com": ["::ffff:127.0.0.1"],
    "empty.example.com": [],
}


async def _lookup(host: str) -> Sequence[str]:
    if host == "gone.example.com":
        raise OSError("no such host")
    return _ZONES.get(host, ["93.184.216.34", "2606:2800:220:1::1"])


async def test_no_hostile_url_of_the_list_gets_through() -> None:
    """Our contract: at least 300 ways in, none works."""
    rows = cases("url_hostile")
    assert len(rows) >= 300
    guard = UrlGuard(lookup=_lookup)
    assert [row for row in rows if not await refused(guard, row[1])] == []


async def test_no_honest_url_of_the_list_is_refused() -> None:
    """Our contract: at least 200."""
    rows = cases("url_honest")
    assert len(rows) >= 200
    guard = UrlGuard(lookup=_lookup)
    assert [row for row in rows if await refused(guard, row[1])] == []


async def test_only_named_hosts_are_let_through() -> None:
    """Our contract: a name, or all below one; look-alikes and longer names are others."""
    guard = UrlGuard(hosts=("example.com", "*.example.org"), lookup=_lookup)
    for good in ("https://example.com/x", "https://EXAMPLE.com./", "https://a.example.org", "https://a.b.example.org/"):
        assert not await refused(guard, good)
    for bad in (
        "https://example.org/",
        "https://evilexample.org/",
        "https://example.com.evil.com/",
        "https://www.example.com/",
        "https://evil.com/example.com",
        "https://evil.com#example.com",
        "https://evil.com?.example.org",
        "https://exаmple.com/",
        "https://.example.org/",
        "https://example.com:x@evil.com/",
    ):
        assert await refused(guard, bad), bad


async def test_the_host_is_sent_in_its_plain_form() -> None:
    """What was checked is what the server reads; a slash stands where readers disagree."""
    guard = UrlGuard(lookup=_lookup)
    assert await guard.check("HTTPS://MÜNCHEN.de./a?b#c", CALL) == "https://xn--mnchen-3ya.de/a?b#c"
    assert await guard.check("http://example.com?x@127.0.0.1/", CALL) == "http://example.com/?x@127.0.0.1/"
    assert await guard.check("http://example.com#@127.0.0.1/", CALL) == "http://example.com/#@127.0.0.1/"
    assert await guard.check("https://[2606:4700:0:0::1111]:8443", CALL) == "https://[2606:4700::1111]:8443"


async def test_private_addresses_can_be_allowed_and_names_left_unresolved() -> None:
    """Our contract: for servers inside, and where only a proxy resolves."""
    assert await UrlGuard(private=True, hosts=("127.0.0.1",)).check("http://127.0.0.1:8080/", CALL) == "http://127.0.0.1:8080/"
    assert await refused(UrlGuard(private=True, hosts=("127.0.0.1",)), "http://127.0.0.2:8080/")
    assert await UrlGuard(dns=False, lookup=_lookup).check("https://gone.example.com/", CALL) == "https://gone.example.com/"
    assert await refused(UrlGuard(dns=False, lookup=_lookup), "https://localhost/")


async def test_ports_and_schemes_can_be_named() -> None:
    """Our contract."""
    guard = UrlGuard(schemes=("https",), ports=(443, 22), lookup=_lookup)
    assert not await refused(guard, "https://example.com:22/")
    problem = await guard.check("https://example.com:8443/", CALL)
    assert isinstance(problem, Problem)
    assert problem.message == "the port 8443 is not allowed; allowed: 22, 443"
    problem = await guard.check("http://example.com/", CALL)
    assert isinstance(problem, Problem)
    assert problem.message == 'the scheme "http" is not allowed; allowed: https'


async def test_a_name_server_that_does_not_answer_refuses_the_call() -> None:
    """A look-up may hang for minutes; the call has a person waiting."""

    async def never(host: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    saved = url_module.DNS_S
    url_module.DNS_S = 0.01  # type: ignore[misc]  # a constant for everybody else
    try:
        assert await refused(UrlGuard(lookup=never), "https://slow.example.com/")
    finally:
        url_module.DNS_S = saved  # type: ignore[misc]  # put back
