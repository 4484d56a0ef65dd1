"""Everything that needs aiohttp: the session, its resolver, redirects, and the one place where its exceptions become words.

Imported when an HTTP server is opened, never before: the import alone costs more than a stdio call's whole process.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from dragoman.transports.http_answer import CODED
from dragoman.transports.http_target import Proxy, Target, printable

MAX_CONNECTIONS: Final = 64  # per host; more requests than that wait in a queue
# Common servers drop an idle connection after 5 s. Sending on one as it is dropped loses a request that perhaps ran, so we drop it first.
_KEEPALIVE_S: Final = 4.0
_CODING: Final = re.compile(r"[Cc]an ?not decode content-encoding: (?:\w+ \()?(\w+)")
_BUFFER: Final = 256 * 1024


class _Resolver(AbstractResolver):
    """The system's resolver with a deadline: aiohttp has none for names alone, and a dead name server takes half a minute."""

    def __init__(self, timeout_s: float) -> None:
        self._inner = aiohttp.ThreadedResolver()
        self._timeout_s = timeout_s

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._inner.resolve(host, port, family)
        except TimeoutError:
            raise OSError(f"the name server did not answer within {self._timeout_s:g} s") from None

    async def close(self) -> None:
        await self._inner.close()


def open_session(target: Target, *, connect_s: float, trust: ssl.SSLContext | None, idle_s: float | None = None) -> aiohttp.ClientSession:
    """A session of its own, which has not connected yet. No cookies, no ``~/.netrc``, the system's certificates.

    It has no headers of its own either: aiohttp would show those to a proxy, ``Authorization`` included.

    Args:
        idle_s: Longest silence, for those that do not watch it as ``http_watch`` does, at a tenth of the cost.
    """
    tls: dict[str, Any] = {}
    if target.secure:
        tls["ssl"] = trust or _system_trust()
    connector = aiohttp.TCPConnector(
        limit=0, limit_per_host=MAX_CONNECTIONS, keepalive_timeout=_KEEPALIVE_S, resolver=_Resolver(connect_s), **tls
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s, sock_read=idle_s),
        trust_env=False,  # true would read ~/.netrc
        read_bufsize=_BUFFER,
    )


def parsed(url: str) -> URL:
    """A URL in the form that every request needs anyhow."""
    return URL(url)


def base_headers(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """What every request carries, in a form that is cheap to copy and to add to."""
    return CIMultiDict(headers)


def request_options(proxy: Proxy | None) -> dict[str, Any]:
    """What every request of a session has in common."""
    options: dict[str, Any] = {"allow_redirects": False}
    if proxy is not None:
        options["proxy"] = proxy.url  # with its credentials, which aiohttp turns into Proxy-Authorization
    return options


def redirect_target(response: aiohttp.ClientResponse) -> URL | None:
    """Where a 307 or 308 leads, if it stays within the origin; a body with credentials goes nowhere else."""
    where = response.headers.get("Location")
    if response.status not in (307, 308) or not where:
        return None
    try:
        found = response.url.join(URL(where)).with_user(None)
        return found if found.origin() == response.url.origin() else None
    except ValueError:
        return None


class Broken(NamedTuple):
    """How an exchange broke: a line for a person, whether the request may have left this machine, and what to do."""

    reason: str
    sent: bool
    hint: str = ""


def silent(label: str, idle_s: float) -> Broken:
    """The same for an exchange that was ended because nothing was heard."""
    return Broken(f"{label} sent nothing for {idle_s:g} s", True, "is it stuck? idle_s sets how long a silence may last")


def explain(exc: BaseException, label: str, *, connect_s: float) -> Broken:
    """What went wrong in words, with phase and peer."""
    if coding := _CODING.search(str(exc)):
        return Broken(
            f"the body of the answer of {label} cannot be decoded as {coding.group(1)}; gzip and deflate were offered", True, CODED
        )
    reason, sent = _in_words(exc, label, connect_s=connect_s)
    return Broken(reason, sent, next((hint for kinds, hint in _HINTS if isinstance(exc, kinds)), ""))


_HINTS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...]] = (
    ((aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError), "check HTTPS_PROXY or HTTP_PROXY, or set NO_PROXY for this host"),
    (aiohttp.ClientConnectorCertificateError, "is it the right host? a private authority has to be trusted by this system"),
    (aiohttp.ClientConnectorSSLError, "does this port speak TLS? http:// is for those that do not"),
    (aiohttp.ClientConnectorDNSError, "check the host's name, and the network"),
    (aiohttp.ClientConnectorError, "is the server running, and is the port right?"),
    (aiohttp.ConnectionTimeoutError, "check host and port, or the firewall; connect_s sets how long to wait"),
    (aiohttp.ServerDisconnectedError, "the server, or a proxy before it, ended; its log says more"),
    ((aiohttp.ClientPayloadError, aiohttp.ClientResponseError), "the fault is the server's, or that of a proxy before it"),
)


def _in_words(exc: BaseException, label: str, *, connect_s: float) -> tuple[str, bool]:
    match exc:
        case aiohttp.ClientHttpProxyError():
            return f"the proxy does not connect to {label}: HTTP {exc.status} {printable(exc.message)}", False
        case aiohttp.ClientProxyConnectionError():
            return f"cannot connect to the proxy for {label}: {_cause(exc.os_error)}", False
        case aiohttp.ClientConnectorCertificateError():
            return f"TLS with {label} failed: {printable(str(exc.certificate_error))}", False
        case aiohttp.ClientConnectorSSLError():
            return f"TLS with {label} failed: {_cause(exc.os_error)}", False
        case aiohttp.ClientConnectorDNSError():
            return f"cannot find the host of {label}: {_cause(exc.os_error)}", False
        case aiohttp.ClientConnectorError():
            return f"cannot connect to {label}: {_cause(exc.os_error)}", False
        case aiohttp.ConnectionTimeoutError():
            return f"cannot connect to {label}: no connection within {connect_s:g} s", False
        case aiohttp.ServerDisconnectedError():
            return f"{label} closed the connection without an answer", True
        case aiohttp.ClientPayloadError():
            return f"the answer of {label} broke off: {printable(str(exc))}", True
        case aiohttp.ClientResponseError():
            return f"{label} does not answer in HTTP that can be read: {printable(exc.message)}", True
        case OSError():
            return f"the connection to {label} broke: {_cause(exc)}", True
        case _:
            return f"the request to {label} failed: {type(exc).__name__}: {printable(str(exc))}", True


def _cause(exc: OSError) -> str:
    if exc.errno and not isinstance(exc, socket.gaierror | ssl.SSLError):
        return os.strerror(exc.errno)  # asyncio's own text is "Connect call failed" with an address
    return printable(exc.strerror or str(exc) or type(exc).__name__)


def _system_trust() -> ssl.SSLContext:
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
