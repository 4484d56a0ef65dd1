"""Results kept for as long as their server says: ``ttlMs`` and ``cacheScope`` of the six methods that have them.

What a call of a tool brought is never kept. A notice of a change drops what it is about, also what is on its way.

Source: MCP 2026-07-28 server/utilities/caching.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from dragoman.clock import Clock, SystemClock
from dragoman.wire.envelope import encode
from dragoman.wire.listing import Page
from dragoman.wire.methods import PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED

READ: Final = "resources/read"
CACHEABLE: Final = frozenset(
    {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", READ},
)
MAX_TTL_S: Final = 24 * 3600.0
MAX_BYTES: Final = 1_000_000  # of one result; what is longer is asked for again
_DROPPED_BY: Final = {
    TOOLS_CHANGED: ("tools/list",),
    PROMPTS_CHANGED: ("prompts/list",),
    RESOURCES_CHANGED: ("resources/list", "resources/templates/list"),
}


class _Head(msgspec.Struct):
    ttlMs: int | None = None
    cacheScope: str | None = None


class _Updated(msgspec.Struct):
    uri: str


_decode_head: Final = msgspec.json.Decoder(_Head).decode
_decode_updated: Final = msgspec.json.Decoder(_Updated).decode


class _Entry(NamedTuple):
    value: Any
    until: float
    uri: str | None


class ResultCache:
    """Kept results, of one client or of several that share them.

    Args:
        clock: What time it is.
        max_entries: The least recently used give way beyond so many.
    """

    def __init__(self, *, clock: Clock | None = None, max_entries: int = 1_000) -> None:
        self._clock = clock or SystemClock()
        self._max = max_entries
        self._entries: OrderedDict[tuple[Hashable, str, bytes, Hashable], _Entry] = OrderedDict()
        self._changes: Counter[tuple[Hashable, str]] = Counter()

    def __len__(self) -> int:
        return len(self._entries)


class Ticket(NamedTuple):
    """Where a result that is being asked for will be kept, and how many changes there had been before."""

    method: str
    params: bytes
    uri: str | None
    changes: int
    about: str


class Shelf:
    """What one client sees of a cache.

    Args:
        cache: Perhaps shared.
        server: Which server, and in which revision.
        owner: For whom private results are kept: principal and credentials.
    """

    def __init__(self, cache: ResultCache, server: Hashable, owner: Hashable) -> None:
        self._cache, self._server, self._owner = cache, server, ("private", owner)

    def ticket(self, name: str, params: Mapping[str, Any], *, about: str | None = None) -> Ticket:
        """For one request; take it before the request is sent. ``about`` is its method, where ``name`` is another."""
        method = about or name
        uri = params.get("uri") if method == READ else None
        changes = self._cache._changes[self._server, method]
        return Ticket(name, encode(dict(sorted(params.items()))), uri if isinstance(uri, str) else None, changes, method)

    def get(self, ticket: Ticket) -> Any | None:
        """What is kept and still good, or ``None``."""
        cache = self._cache
        for owner in (self._owner, "public"):
            key = (self._server, ticket.method, ticket.params, owner)
            entry = cache._entries.get(key)
            if entry is None:
                continue
            if cache._clock.monotonic() < entry.until:
                cache._entries.move_to_end(key)
                return entry.value
            del cache._entries[key]
        return None

    def put(self, ticket: Ticket, value: Any, ttl_ms: int | None, scope: str | None) -> None:
        """Keep it for ``ttl_ms``, unless it changed meanwhile. Only what is said to be public is shared."""
        cache = self._cache
        if ttl_ms is None or ttl_ms <= 0 or cache._changes[self._server, ticket.about] != ticket.changes:
            return
        key = (self._server, ticket.method, ticket.params, "public" if scope == "public" else self._owner)
        cache._entries[key] = _Entry(value, cache._clock.monotonic() + min(ttl_ms, MAX_TTL_S * 1000) / 1000, ticket.uri)
        cache._entries.move_to_end(key)
        if len(cache._entries) > cache._max:
            cache._entries.popitem(last=False)

    def put_raw(self, ticket: Ticket, raw: Raw) -> None:
        """Keep a result as it came, as it says itself."""
        size = len(memoryview(raw))
        if size > MAX_BYTES:
            return
        try:
            head = _decode_head(raw)
        except (msgspec.DecodeError, RecursionError):
            return
        if head.ttlMs:
            self.put(ticket, Raw(bytes(raw)), head.ttlMs, head.cacheScope)  # a copy: it must not hold the whole of what was read

    def take_note(self, method: str, params: Raw) -> None:
        """A notice came."""
        for listing in _DROPPED_BY.get(method, ()):
            self._drop(listing, lambda entry: True)
        if method == RESOURCE_UPDATED:
            try:
                uri = _decode_updated(params).uri
            except (msgspec.DecodeError, RecursionError):
                self._drop(READ, lambda entry: True)
                return
            self._drop(READ, lambda entry: entry.uri is None or is_within(uri, entry.uri) or is_within(entry.uri, uri))

    def _drop(self, method: str, concerned: Callable[[_Entry], bool]) -> None:
        cache = self._cache
        cache._changes[self._server, method] += 1
        for key in [
            k for k, entry in cache._entries.items() if k[0] == self._server and k[1] in (method, f"{method}*") and concerned(entry)
        ]:
            del cache._entries[key]


def is_within(uri: str, outer: str) -> bool:
    """Whether ``uri`` is ``outer`` or a part of it."""
    return uri == outer or uri.startswith(outer if outer.endswith("/") else outer + "/")


def outers(uri: str) -> Iterator[str]:
    """Everything that ``uri`` is within, itself included: what :func:`is_within` says, for many at once."""
    yield uri
    at = uri.find("/")
    while at >= 0:
        yield uri[: at + 1]
        yield uri[:at]
        at = uri.find("/", at + 1)


class Freshness:
    """How long a listing is good: as long as each of its pages, and shared only where each is."""

    def __init__(self) -> None:
        self.ttl_ms: int | None = None
        self.scope: str | None = "public"
        self._pages = 0

    def take(self, page: Page) -> None:
        """One more page."""
        ttl = page.ttl_ms or 0
        self.ttl_ms = ttl if self._pages == 0 else min(self.ttl_ms or 0, ttl)
        self._pages += 1
        if page.cache_scope != "public":
            self.scope = None
