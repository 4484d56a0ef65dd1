"""Reading one HTTP answer: a body within a limit, a stream of events, and how it ended, in words. Shared by both HTTP transports."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dragoman.protocol.bounds import Bound
from dragoman.protocol.sse import EDGE, SseDiscarded, SseEvent, SseParser
from dragoman.protocol.streams import Position
from dragoman.transports.base import Oversized, Received, Report, StreamEnded, Weigh
from dragoman.transports.http_target import printable
from dragoman.transports.http_watch import Exchange
from dragoman.wire.envelope import RequestId

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDict

ERROR_BODY: Final = 1 << 20  # the body of a refusal is a JSON-RPC error or a page for people
MAX_REDIRECTS: Final = 3
_OFFERED: Final = frozenset({"gzip", "x-gzip", "deflate", "identity"})
_BIG_BODY: Final = 1 << 20  # over this, aiohttp warns of bytes and wants a file to read from
_USUAL: Final = frozenset({"application/json", "text/event-stream"})  # as almost everybody writes them, so that they need no parsing
_KEPT: Final = 2048
_MARKUP: Final = re.compile(r"<(?:style|script)\b[^<]*(?:</[^>]*>|$)|<[^>]*(?:>|$)", re.IGNORECASE)
_AT_ONCE: Final = 128  # events in one turn of the loop: a read can hold thousands, and other servers wait meanwhile
_SMALL: Final = 64 << 10
_TRUSTED_SHARE: Final = 16


# What to do about an answer whose status says that all is well.
NOT_MCP: Final = "is this the address of an MCP endpoint? they often end in /mcp or /sse"
NO_ANSWER: Final = "the fault is the server's, or that of a proxy that cut its answer; its log says more"
CODED: Final = "switch this compression off at the server or the proxy before it"


BOMB: Final = "no honest answer is packed so tightly; if it is meant, have the server send it without compression"
_HONEST_SIZE: Final = 32 * 2**20  # what may come out of a few bytes
_HONEST_RATIO: Final = 100  # beyond that; JSON comes to 5 or 20


class TooLong(NamedTuple):
    """A body over the limit, thrown away; ``bomb`` says so where it was about to become one out of very little."""

    head: bytes
    tail: bytes
    size: int
    bomb: str = ""


class Events:
    """The events of one stream, and how far it came when it broke.

    Args:
        limit: Most bytes of data in one event.
        weigh: Says how long a message may become, by its beginning.
        report: Where messages go.
        exchange: What brings it.
    """

    def __init__(self, limit: int, weigh: Weigh | None, report: Callable[[Report], None], exchange: Exchange) -> None:
        self._limit = limit
        self._parser = SseParser(limit, _weigher(weigh, exchange))
        self._report = report
        self._exchange = exchange
        self._loop = asyncio.get_running_loop()
        self._began = 0.0

    @property
    def position(self) -> Position:
        """How far it came by now."""
        return Position(self._parser.last_id, self._parser.retry_ms, self._loop.time() - self._began)

    async def read(self, response: aiohttp.ClientResponse, other: Callable[[SseEvent], None] | None = None) -> str:
        """Report its messages until it ends, or is stopped as a bomb: what is said of that, else nothing.

        Args:
            other: Gets the events that are of another type.
        """
        coded = "Content-Encoding" in response.headers
        self._began = self._loop.time()
        content, exchange, via, now = response.content, self._exchange, self._exchange.via, self._loop.time
        while chunk := await content.readany():
            exchange.heard = now()
            for number, event in enumerate(self._parser.feed(chunk), 1):
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                if isinstance(event, SseDiscarded):
                    self._report(Oversized(event.head, event.tail, event.size, self._limit, via))
                elif event.event == "message":
                    if event.data:  # without data it only sets an id or a time to wait
                        self._report(Received(event.data, via))
                elif other is not None:
                    other(event)
            if coded and (bomb := _bomb(content)):
                return bomb
        return ""


def _weigher(weigh: Weigh | None, exchange: Exchange | None) -> Callable[[bytes], int | None] | None:
    return None if weigh is None or exchange is None else lambda head: weigh(head, exchange.via)


def _bomb(content: aiohttp.StreamReader) -> str:
    """What is wrong with a body that came out of a decompressor, if there is much more of it than honest data allows."""
    size = content.total_bytes
    if size <= _HONEST_SIZE:
        return ""
    packed: int | None = getattr(content, "total_compressed_bytes", None)  # older releases of the library do not count
    if packed is not None and size <= _HONEST_RATIO * packed:
        return ""
    out_of = "a compressed answer" if packed is None else f"{packed} compressed bytes"
    return f"{size} bytes and more came out of {out_of}; it was stopped there"


async def ask(
    session: aiohttp.ClientSession, method: str, url: Any, headers: CIMultiDict[str], options: dict[str, Any], message: bytes | None = None
) -> aiohttp.ClientResponse | tuple[str, int]:
    """One request, redirects within the origin followed with method and body; or why they lead nowhere, and the last status.

    The caller closes the response.
    """
    for _ in range(MAX_REDIRECTS + 1):
        body = message if message is None or len(message) < _BIG_BODY else io.BytesIO(message)
        response = await session.request(method, url, data=body, headers=headers, **options)
        status = response.status
        if not 300 <= status < 400:
            return response
        try:
            target = _target(response)
        finally:
            response.close()
        if isinstance(target, str):
            return target, status
        url = target
    return f"more than {MAX_REDIRECTS} redirects, the last to {printable(str(url))}", status


def _target(response: aiohttp.ClientResponse) -> Any:
    from dragoman.transports.http_session import redirect_target

    target = redirect_target(response)
    if target is not None:
        return target
    where = printable(response.headers.get("Location", "nowhere"))
    return f"HTTP {response.status} redirects to {where}; only 307 and 308 within {response.url.origin()} are followed"


def kind_of(response: aiohttp.ClientResponse) -> str:
    """The media type, or ``""`` where the server does not say."""
    stated = response.headers.get("Content-Type", "")
    return stated if stated in _USUAL else response.content_type if stated else ""


def foreign_coding(response: aiohttp.ClientResponse, via: RequestId | None) -> StreamEnded | None:
    """The end of an answer whose content coding was not offered and cannot be read, or ``None``."""
    stated = response.headers.get("Content-Encoding")
    if stated is None:
        return None
    foreign = [name for part in stated.split(",") if (name := part.strip().lower()) and name not in _OFFERED]
    if not foreign:
        return None
    line = f"HTTP {response.status}: the body is coded as {printable(', '.join(foreign))}, which was not offered (gzip and deflate were)"
    return StreamEnded(via, line, status=response.status, hint=CODED)


async def answer(
    response: aiohttp.ClientResponse, kind: str, exchange: Exchange, limit: int, weigh: Weigh | None, report: Callable[[Report], None]
) -> StreamEnded:
    """Read an answer of this media type that is no stream to its end, report the message it is, and say how it ended."""
    via = exchange.via
    status = response.status
    good = 200 <= status < 300
    limit = limit if good else min(limit, ERROR_BODY)
    body = await read(response, limit, exchange, weigh if good else None)
    if isinstance(body, TooLong) and body.bomb:
        return StreamEnded(via, f"HTTP {status}: {body.bomb}", status=status, hint=BOMB)
    if isinstance(body, TooLong):
        if good:
            report(Oversized(body.head, body.tail, body.size, limit, via))
        line = f"HTTP {status} {printable(response.reason or '')}: a body of {body.size} bytes or more, limit {limit}"
        return StreamEnded(via, line, status=status)
    is_json = kind == "application/json" or kind.endswith("+json")
    # Refusals are JSON-RPC too, and not all servers say so; those about credentials are HTTP's own.
    if body and status not in (401, 403) and (is_json or body[:_KEPT].lstrip()[:1] == b"{"):
        report(Received(body, via, None if good else status))
        if good:  # as a rule that was the answer, and nobody reads how the exchange ended
            line = f"HTTP {status} without an answer to this request: {printable(body[:200].decode('utf-8', 'replace'))}"
            return StreamEnded(via, line, status=status, hint=NO_ANSWER)
    return refused(response, via, kind if good and not is_json else "", body)


def refused(response: aiohttp.ClientResponse, via: RequestId | None, foreign_kind: str, body: bytes | bytearray) -> StreamEnded:
    """The end of an answer that perhaps did not settle its request, in words."""
    challenge = response.headers.get("WWW-Authenticate", "")
    text = body[:_KEPT].decode("utf-8", "replace").strip()
    line = _without_answer(response, foreign_kind, text)
    hint = "" if not 200 <= response.status < 300 else NOT_MCP if foreign_kind else NO_ANSWER
    return StreamEnded(
        via,
        line,
        status=response.status,
        body=text,
        challenge=printable(challenge, 1000),
        hint=hint,
        retry_after_s=seconds_of(response.headers.get("Retry-After", "")),
    )


def seconds_of(retry_after: str) -> float | None:
    """The wait that a ``Retry-After`` asks for, seconds or a date; ``None`` where it cannot be read. RFC 9110 section 10.2.3."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time()) if text else None
    except (ValueError, OverflowError):
        return None


async def read(
    response: aiohttp.ClientResponse, limit: int, exchange: Exchange | None = None, weigh: Weigh | None = None
) -> bytes | bytearray | TooLong:
    """The body, decompressed. One over the limit is not read to its end: the stream tells which request it answers."""
    length = response.content_length if "Content-Encoding" not in response.headers else None
    if length is not None and length <= min(limit, _SMALL):
        return await response.read()
    content, body = response.content, bytearray()  # grows in place, where joined parts would need the memory twice
    bound = Bound(limit, _weigher(weigh, exchange))
    known_too_long = length is not None and length > limit
    now = asyncio.get_running_loop().time
    at = 0
    while chunk := await content.readany():
        if exchange is not None:
            exchange.heard = now()
        start, at = at, at + len(chunk)
        if at >= EDGE and not known_too_long and bound.is_over(max(at, length or 0), body, chunk):
            known_too_long = True  # for the request it answers
        if start == len(body):
            body += chunk
            if length is not None and not known_too_long and at * _TRUSTED_SHARE > length:
                body += bytes(length - at)  # all of it at once, for appending moves it about; not before some of it is here
        else:
            body[start:at] = chunk
        if at > limit or (known_too_long and at >= EDGE):
            return TooLong(bytes(body[:EDGE]), bytes(body[-EDGE:]), max(at, length or 0))
        if length is None and (bomb := _bomb(content)) and "Content-Encoding" in response.headers:
            return TooLong(b"", b"", at, bomb)
    return body


def _page(body: str) -> str | None:
    """What a page for people is called, or how its text begins; ``None`` for what is no page."""
    lower = body[:_KEPT].lower()
    if not lower.startswith(("<!doctype html", "<html", "<head", "<body")):
        return None
    start, end = lower.find("<title"), lower.find("</title")
    start = lower.find(">", start) + 1 if start >= 0 else 0
    title = " ".join(body[start:end].split()) if 0 < start <= end else ""
    shown = title or " ".join(_MARKUP.sub(" ", body[:_KEPT]).split())
    return f'a web page, "{printable(shown, 80)}"' if shown else "a web page"


def _without_answer(response: aiohttp.ClientResponse, foreign_kind: str, body: str) -> str:
    status, text = response.status, _page(body) or printable(body)
    if 200 <= status < 300:
        if not body:
            return f"HTTP {status} without an answer"
        if foreign_kind:
            return f"answer is {foreign_kind}, not JSON or an event stream: {text}"
        return f"HTTP {status} without an answer to this request: {text}"
    line = f"HTTP {status} {printable(response.reason or '')}".rstrip()
    if status in (401, 403) and (challenge := response.headers.get("WWW-Authenticate")):
        line += f" (WWW-Authenticate: {printable(challenge)})"
    if after := response.headers.get("Retry-After"):
        line += f" (Retry-After: {printable(after)})"
    return f"{line}: {text}" if text else line
