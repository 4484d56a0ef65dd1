"""A plain look at a URL before anything is spoken over it: clock, encryption, redirects, and who stands in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from dragoman.errors import DragomanError
from dragoman.service.diagnosis import Diagnosis
from dragoman.service.symptoms import cut

LOOK_S: Final = 5.0
_SKEW_S: Final = 120.0
_PROXIES: Final = (
    "nginx",
    "cloudflare",
    "envoy",
    "haproxy",
    "traefik",
    "caddy",
    "varnish",
    "squid",
    "awselb",
    "cloudfront",
    "akamai",
    "gws",
)


def of_headers(headers: Mapping[str, str], now: float) -> tuple[list[Diagnosis], str]:
    """What the headers of any answer tell: findings, and the proxy before the server or ``""``."""
    found = []
    try:
        ahead = parsedate_to_datetime(headers.get("Date", "")).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        ahead = 0.0
    if abs(ahead) > _SKEW_S:
        way = "ahead of" if ahead > 0 else "behind"
        what = f"its clock is {abs(ahead):,.0f} s {way} ours: tokens and certificates will be refused as expired or not yet valid"
        advice = "set the clocks (NTP) of both machines"
        found.append(
            Diagnosis(code="clock-skew", weight="warning", whose="this machine", what=what, advice=advice, evidence=cut(headers["Date"]))
        )
    via = headers.get("Via", "")
    server = headers.get("Server", "")
    proxy = f"Via: {via}" if via else f"Server: {server}" if any(name in server.lower() for name in _PROXIES) else ""
    return found, proxy


def of_get(status: int, kind: str) -> list[Diagnosis]:
    """What an answer to GET tells: servers without a stream say 405, and need no GET at all in the stateless era."""
    if status == 200 and not kind.startswith("text/event-stream"):
        shown = cut(kind or "no content type", 60)
        what = f"GET is answered with 200 and {shown}: some clients take that for an event stream, again and again"
        return [
            Diagnosis(
                code="get-is-no-stream", weight="note", whose="nobody", what=what, advice="answer GET with 405, or with an event stream"
            )
        ]
    if 300 <= status < 400:
        what = f"HTTP {status}: the address leads to another one"
        return [Diagnosis(code="redirect", weight="note", whose="nobody", what=what, advice="use the address that it leads to")]
    return []


async def look(url: str, headers: Mapping[str, str]) -> tuple[list[Diagnosis], str]:
    """One GET, no redirect followed, nothing of the body read. What goes wrong here shows in the handshake too, and is told there."""
    import aiohttp

    from dragoman.transports import http_session, http_target

    try:
        target = http_target.parse_url(url)
        options = http_session.request_options(http_target.find_proxy(target))
        asked = {**http_target.base_headers(headers, target.authorization), "Accept": "text/event-stream, application/json"}
        async with asyncio.timeout(LOOK_S):
            session = http_session.open_session(target, connect_s=LOOK_S, idle_s=LOOK_S, trust=None)
            async with session, session.get(target.url, headers=asked, **options) as response:
                found, proxy = of_headers(response.headers, time.time())
                return found + of_get(response.status, response.headers.get("Content-Type", "")), proxy
    except (aiohttp.ClientError, DragomanError, TimeoutError, OSError, ValueError):
        return [], ""
