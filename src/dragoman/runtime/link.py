"""The connection under a client: opening, closing, sending within a deadline, and remembering what may be remembered.

What can be asked over it is in :class:`~dragoman.runtime.client.Client`.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar, Unpack

import msgspec
from msgspec import Raw

from dragoman._version import __version__
from dragoman.errors import CallFailed, InvalidResult, LocalProtocolError
from dragoman.protocol.events import Peer, PeerViolation
from dragoman.protocol.handshake import Identity
from dragoman.runtime.asking import Asker, AskLayer, Elicitation, Roots
from dragoman.runtime.caching import CACHEABLE, Freshness, ResultCache, Shelf
from dragoman.runtime.driver import Tap
from dragoman.runtime.eras import PROCESS_MEMORY, EraMemory
from dragoman.runtime.listing import PAGE_BYTES, all_pages
from dragoman.runtime.mirrors import Mirrors
from dragoman.runtime.opening import Opening, check_revision
from dragoman.runtime.reopening import SETTINGS, Reopening
from dragoman.runtime.session import CallOptions, Session
from dragoman.runtime.settings import check_frame_limit, check_names, check_place, check_seconds, check_stop, check_target
from dragoman.runtime.subscriptions import Uris
from dragoman.runtime.targets import FRAME_LIMIT, Place, Target, Web, fallback_for, positive, transport_for
from dragoman.runtime.tasks import Tasks
from dragoman.runtime.trace import logging_tap, wire_log
from dragoman.runtime.visits import told_what_to_do, went_there
from dragoman.transports.base import Transport
from dragoman.wire.apps import CAPABILITY, UI_EXTENSION
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Implementation
from dragoman.wire.methods import META_LOG_LEVEL, TASKS_EXTENSION
from dragoman.wire.revisions import Era

log = logging.getLogger("dragoman")

_MAX_LOGGED: Final = 20
DEFAULT_TIMEOUT_S: Final = 30.0

T = TypeVar("T")


class ServerInfo(msgspec.Struct, frozen=True):
    """What a server says about itself: for display only, and untrusted.

    Attributes:
        era: ``legacy`` (handshake) or ``modern`` (stateless).
        revision: The one both sides speak, e.g. ``2025-11-25``.
        capabilities: As the server declared them.
        instructions: How it wants to be used, or ``None``.
    """

    name: str
    version: str
    era: Era
    revision: str
    capabilities: dict[str, Any]
    instructions: str | None


class Link:
    """A connection to one MCP server.

    It may be opened, used and closed from different tasks and threads; ``close`` may be called twice.

    Args:
        target: A command as a list, a URL, or a :class:`~dragoman.transports.base.Transport` not yet opened.
        env: Variables for the child, on top of the few that children inherit (never the whole environment).
        inherit: Names of more variables of ours to pass on.
        base_env: What counts as ours, ``os.environ`` by default.
        cwd: Where the child starts.
        headers: For a URL: sent with every request.
        name, version: What we call ourselves.
        revision: Speak only this one; ``None`` finds out.
        timeout_s: Default deadline of every request.
        connect_timeout_s: Deadline of the handshake.
        connect_s: For a URL: to find the host, and again to connect including TLS.
        idle_s: For a URL: longest silence of a server that owes an answer, or whose stream is open.
        stop_s: Time a child has to end by itself and by signals, in all.
        frame_limit: Longest message accepted, in bytes.
        roots: Folders we show to a server that asks; ``None`` declares none.
        on_sampling, on_elicitation: See :mod:`dragoman.runtime.asking`.
        on_log: Gets the params of each log message of the server.
        on_notification: Gets method and params of each notice.
        on_wire: Sees each message: ``"→"`` or ``"←"``, and bytes.
        stderr: Gets what the child writes on stderr, as bytes.
        label: What to call the server in messages; by default the command or URL.
        eras: Where eras are remembered.
        ask_layers: Around every ask of the server.
        cache: Keep results for as long as the server says (stateless era); a cache of your own may be shared by several clients.
        principal: On whose behalf: private results are kept for each alone.
        tasks: Let calls of tools be answered later, where tool and server do so.
        apps: Say that views of tools can be shown, to servers that offer less where nobody can; you show them.
        guardian: For a command: have a small process, shared by all clients, end it if this process is killed.
    """

    def __init__(
        self,
        target: Target,
        *,
        env: Mapping[str, str] | None = None,
        inherit: Sequence[str] = (),
        base_env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        name: str = "dragoman",
        version: str = __version__,
        revision: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        connect_timeout_s: float = 30.0,
        connect_s: float = 5.0,
        idle_s: float = 300.0,
        stop_s: float = 5.0,
        frame_limit: int = FRAME_LIMIT,
        roots: Roots | None = None,
        on_sampling: Callable[[dict[str, Any]], Any] | None = None,
        on_elicitation: Callable[[Elicitation], Any] | None = None,
        on_log: Callable[[dict[str, Any]], Any] | None = None,
        on_notification: Callable[[str, dict[str, Any]], Any] | None = None,
        on_wire: Tap | None = None,
        stderr: Callable[[bytes], None] | None = None,
        label: str | None = None,
        eras: EraMemory | None = None,
        ask_layers: Sequence[AskLayer] = (),
        cache: ResultCache | bool = True,
        principal: str | None = None,
        tasks: bool = False,
        apps: bool = False,
        guardian: bool = True,
    ) -> None:
        check_revision(revision)
        check_target(target)
        check_seconds(timeout_s=timeout_s, connect_timeout_s=connect_timeout_s)
        check_stop(stop_s)
        check_frame_limit(frame_limit)
        check_names(name=name, version=version)
        check_place(env, inherit, base_env, headers, cwd)
        web = Web(headers, positive("connect_s", connect_s), positive("idle_s", idle_s))
        asker = Asker(roots=roots, on_sampling=on_sampling, on_elicitation=on_elicitation, layers=ask_layers)
        make, shown, key = transport_for(
            target, Place(env, inherit, base_env, cwd, guardian), web=web, frame_limit=frame_limit, stop_s=stop_s, stderr=stderr
        )
        self.label = label or shown
        self.timeout_s = timeout_s
        self.problems: list[Flaw] = []
        self._asker = asker
        declared, in_handshake = asker.capabilities(), asker.handshake_capabilities()
        if tasks:
            declared["extensions"] = {TASKS_EXTENSION: {}}  # for the stateless era: before, tasks were of the protocol itself
        if apps:
            declared["extensions"] = {**declared.get("extensions", {}), UI_EXTENSION: CAPABILITY}
            in_handshake["extensions"] = {UI_EXTENSION: CAPABILITY}
        self._session = Session(asker, label=self.label, on_notification=on_notification, on_log=on_log)
        self._opening = Opening(
            transport=make,
            identity=Identity(Implementation(name, version), declared, in_handshake=in_handshake),
            label=self.label,
            key=key,
            eras=eras or PROCESS_MEMORY,
            timeout_s=connect_timeout_s,
            revision=revision,
            close_s=stop_s + 5.0,
            fallback=fallback_for(target, web=web, frame_limit=frame_limit),
            tap=on_wire or (logging_tap(self.label) if wire_log.isEnabledFor(logging.DEBUG) else None),
        )
        self._log_level: str | None = None
        self._mirrors = Mirrors()
        self._opened = False
        self._reopening = Reopening(self._opening, self._session)
        self._uris = Uris()
        self._tasks = Tasks(self) if tasks else None
        if self._tasks is not None:
            self._session.takes_tasks = True
            self._session.observers.append(self._tasks.take_note)
        self._shelf: Shelf | None = None
        self._cache = ResultCache() if cache is True else cache
        # What is private belongs to a principal, and to the credentials that the server saw.
        self._owner = (principal, tuple(sorted((headers or {}).items())), tuple(sorted((env or {}).items())))
        self._server_key: Hashable = (key, shown, str(cwd)) if key is not None else id(self)

    # --- opening and closing ------------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Connect. ``async with`` does this.

        Raises:
            SpawnFailed, ConnectFailed, VersionMismatch: See :mod:`dragoman.errors`.
        """
        if self._opened or self._session.closed:
            raise LocalProtocolError(f"{self.label} was opened before; a client is opened once", hint="make a new client")
        self._opened = True
        await self._opening.connect(self._session)
        peer = self._session.peer
        if peer.era == "modern" and self._cache is not False:
            self._shelf = Shelf(self._cache, (self._server_key, peer.revision), self._owner)
            self._session.observers.append(self._shelf.take_note)
        return self

    async def close(self) -> None:
        """End the connection: bounded, idempotent, from any task or thread."""
        self._session.closed = True
        driver = getattr(self._session, "driver", None)
        if driver is not None:
            await driver.close()
        await self._reopening.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def server(self) -> ServerInfo:
        """What the server said about itself.

        Raises:
            LocalProtocolError: Not connected.
        """
        peer: Peer | None = getattr(self._session, "peer", None)
        if peer is None:
            raise LocalProtocolError(f"{self.label} is not connected")
        return ServerInfo(peer.info.name, peer.info.version, peer.era, peer.revision, peer.capabilities, peer.instructions)

    @property
    def violations(self) -> dict[str, int]:
        """How often the server broke the protocol, by kind."""
        driver = getattr(self._session, "driver", None)
        return dict(driver.violations) if driver is not None else {}

    @property
    def first_violations(self) -> dict[str, PeerViolation]:
        """The first breach of each kind, with what it was and the beginning of its bytes, untrusted."""
        driver = getattr(self._session, "driver", None)
        return dict(driver.first_of) if driver is not None else {}

    @property
    def died_of_probe(self) -> bool:
        """Whether the server ended when it was asked for its era, and was started again for the handshake."""
        return self._opening.died_of_probe

    @property
    def resumptions(self) -> int:
        """How often a stream of the server's ended early and was continued."""
        driver = getattr(self._session, "driver", None)
        return driver.connection.streams.resumptions if driver is not None else 0

    @property
    def pid(self) -> int | None:
        """The process of the server, also the number of its process group; ``None`` where it is not a child of ours."""
        pid = getattr(self.transport, "pid", None)
        return pid if isinstance(pid, int) else None

    @property
    def transport(self) -> Transport | None:
        """The channel in use, to look at; ``None`` before there is one."""
        driver = getattr(self._session, "driver", None)
        return driver.transport if driver is not None else None

    @property
    def is_open(self) -> bool:
        """Whether calls can be made right now."""
        driver = getattr(self._session, "driver", None)
        return driver is not None and driver.connection.state == "open"

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(method)`` inside the reader when a list changed; it must only take note."""
        self._session.on_change = callback

    # --- parts --------------------------------------------------------------------------------------------------

    def _connected(self) -> Session:
        if getattr(self._session, "peer", None) is None:
            raise LocalProtocolError(f"{self.label} is not connected", hint="use 'async with', or call open() first")
        return self._session

    async def _on_our_loop(self, work: Coroutine[Any, Any, T]) -> T:
        driver = self._connected().driver
        return await (work if asyncio.get_running_loop() is driver.loop else driver.elsewhere(work))

    async def _request(self, method: str, params: Mapping[str, Any], timeout_s: float | None, **options: Unpack[CallOptions]) -> Raw:
        return await self._send(method, params, timeout_s, options)

    async def _send(self, method: str, params: Mapping[str, Any], timeout_s: float | None, options: CallOptions | None = None) -> Raw:
        session = self._connected()
        driver = session.driver
        if asyncio.get_running_loop() is not driver.loop:
            return await driver.elsewhere(self._send(method, params, timeout_s, options))
        if self._reopening.busy is not None:
            driver = await self._reopening.ready()
        if self._log_level is not None:
            options = options.copy() if options is not None else {}
            options["meta"] = {META_LOG_LEVEL: self._log_level, **(options.get("meta") or {})}
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        if type(wait_s) is not float and type(wait_s) is not int:
            check_seconds(timeout_s=wait_s)
        began = time.monotonic()
        try:
            result = await session.request(method, params, wait_s, options)
        except CallFailed as exc:
            took_s = time.monotonic() - began
            if await went_there(session, exc):  # a person may take long, which does not count
                began = time.monotonic() - took_s
            elif not await self._reopening.remedied(exc, driver):
                raise
            wait_s = max(wait_s - (time.monotonic() - began), 0.001)
            try:
                result = await session.request(method, params, wait_s, options)
            except CallFailed as again:
                raise told_what_to_do(again) from exc
        self._reopening.answered = True
        if method in SETTINGS:
            self._reopening.note(method, params)
        return result

    async def _list(self, method: str, member: str, timeout_s: float | None, cache: bool = True) -> list[Any]:
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        modern = self._connected().peer.era == "modern"
        shelf = self._shelf
        ticket = shelf.ticket(f"{method}*", {}, about=method) if shelf is not None else None
        kept = shelf.get(ticket) if cache and shelf is not None and ticket is not None else None
        if kept is not None:
            items, self.problems = list(kept[0]), list(kept[1])
            return items
        fresh = Freshness()
        items, problems = await all_pages(
            functools.partial(self._request, max_bytes=PAGE_BYTES),
            method,
            member,
            wait_s,
            self.label,
            empty_cursor=modern,
            on_page=None if shelf is None else fresh.take,
        )
        if shelf is not None and ticket is not None:
            shelf.put(ticket, (tuple(items), tuple(problems)), fresh.ttl_ms, fresh.scope)
        self.problems = problems
        if method != "tools/list":  # there may be more
            self._say_problems(method)
        return items

    async def _fetch(
        self, method: str, params: Mapping[str, Any], timeout_s: float | None, cache: bool, **options: Unpack[CallOptions]
    ) -> Raw:
        """A request whose result may be kept: not if the server asked something first, or was told what it asked."""
        shelf = self._shelf
        if shelf is None or method not in CACHEABLE or "inputResponses" in params or "requestState" in params:
            return await self._request(method, params, timeout_s, **options)
        ticket = shelf.ticket(method, params)
        if cache and (kept := shelf.get(ticket)) is not None:
            raw: Raw = kept
            return raw
        rounds: list[None] = []
        options["on_round"] = lambda: rounds.append(None)
        raw = await self._request(method, params, timeout_s, **options)
        if not rounds:
            shelf.put_raw(ticket, raw)
        return raw

    def _say_problems(self, method: str) -> None:
        for problem in self.problems[:_MAX_LOGGED]:
            log.warning("%s: %s: set aside: %s", self.label, method, problem)

    def _decoded(self, method: str, decode: Callable[[Raw], T], raw: Raw) -> T:
        try:
            return decode(raw)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise InvalidResult(f"the result of {method} from {self.label} cannot be read: {exc}", result=raw, server=self.label) from exc
