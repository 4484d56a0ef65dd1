"""Many servers, one policy: every call goes through the chain, and ends as an :class:`~dragoman.policy.chain.Outcome`.

::

    async with Host.from_config("dragoman.toml") as host:
        outcome = await host.call("files.read_text_file", {"path": "a.txt"})
        print(outcome.for_user() if outcome.ok else outcome.hint)

``from_config`` and ``add`` are in :mod:`dragoman.service.assemble`, which hands in what a host needs; this class opens no files.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self

from dragoman.errors import DragomanError, LocalProtocolError
from dragoman.policy.chain import Call, Kind, Outcome
from dragoman.policy.ports import Caller, Redact, Resolved
from dragoman.policy.stack import Stack
from dragoman.policy.views import guidance
from dragoman.runtime.alerts import AlertBook, OnAlert
from dragoman.runtime.fleet import Fleet
from dragoman.runtime.loops import run_on
from dragoman.runtime.offers import HostTool, offered
from dragoman.runtime.progress import Progress
from dragoman.runtime.renewing import Renewing
from dragoman.runtime.sending import Sending
from dragoman.runtime.slots import Slot
from dragoman.runtime.specs import ServerSpec
from dragoman.runtime.turns import Turn
from dragoman.runtime.watching import Watcher

log = logging.getLogger("dragoman")

#: How long opening waits for servers; an `npx` that has to download takes six seconds.
OPENING_S: Final = 10.0
#: How long closing waits for calls to be written down, and then for the last rows of health and catalogs.
LAST_WORDS_S: Final = 5.0


class Host(Fleet):
    """Servers, a registry and a chain. It lives on the event loop that opens it; calls may come from other threads' loops too.

    Args:
        specs: The servers.
        build: Makes the chain of this host, which ends in its ``dispatch``.
        options: For every client: name, version, handlers, eras.
        watcher: Writes down health and catalogs.
        lazy: Start a server when it is first needed, instead of all when the host opens.
        adhoc: Its servers have no configuration: the person at the keyboard decides, so calls have no tiers.
        redact: Takes secrets out of the errors of servers, which quote what a server said.
        withdraw: Takes back open questions about one server, or (``None``) all.
        openers: Awaited before anything else when the host opens.
        closers: Awaited after everything else when the host closes, e.g. the store.
        wanted: Looked at every few seconds: names of servers that somebody else wants restarted.
        on_alert: Gets each alert; may be ``async``, and may raise, which is logged.
        alerts: Instead of ``on_alert``.

    Attributes:
        alerts: Tells alerts; an :data:`~dragoman.wire.alerts.AlertSink` for whoever sees something that a person should know at once.
    """

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        build: Callable[[Host], Stack],
        *,
        options: dict[str, Any] | None = None,
        watcher: Watcher | None = None,
        lazy: bool = False,
        adhoc: bool = False,
        redact: Redact | None = None,
        withdraw: Callable[[str | None], None] | None = None,
        closers: Sequence[Callable[[], Awaitable[object]]] = (),
        openers: Sequence[Callable[[], Awaitable[object]]] = (),
        wanted: Callable[[], Iterable[str]] | None = None,
        on_alert: OnAlert | None = None,
        alerts: AlertBook | None = None,
    ) -> None:
        book = alerts if alerts is not None else AlertBook(on_alert, redact=redact)
        super().__init__(
            options or {},
            watcher,
            book,
            lazy=lazy,
            redact=redact,
            withdraw=withdraw,
            wanted=wanted,
            breaker=lambda server: self.stack.shared.breakers.state(server),
        )
        self._adhoc = adhoc
        self._openers = openers
        self._closers = closers
        self.dispatch: Caller = Sending(self._slots, self.registry, redact)
        run = secrets.token_hex(6)
        self._ids = (f"{run}-{n}" for n in itertools.count(1))
        self._idle: asyncio.Event | None = None
        self.stack = build(self)
        self._renewing = Renewing(self.stack, lambda: next(self._ids))
        for spec in specs:
            self._insert(spec)

    # --- opening and closing ------------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Start, and wait for the servers, ten seconds at most: one that hangs holds up none of the others, and goes on starting.

        How each of them is doing is in ``slots``.

        Raises:
            LocalProtocolError: It was opened before.
            DragomanError: The store cannot be used.
        """
        if self._loop is not None:
            raise LocalProtocolError("the host was opened before; a host is opened once", hint="make a new one")
        self._loop = asyncio.get_running_loop()
        try:
            for opener in self._openers:
                await opener()
            self._heartbeat.start()
            if not self._lazy:
                await self.start_all(OPENING_S)
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Stop every server; bounded and idempotent. Calls on their way end as lost or refused and are written down."""
        loop = self._loop
        if loop is None or not loop.is_running():
            return  # never opened, or its loop is over and everything with it
        if asyncio.get_running_loop() is not loop:
            await run_on(self._loop, self.close())
            return
        if self._closing is None:
            self._closing = loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._withdraw is not None:
            self._withdraw(None)
        await self._stop_all()
        if len(self.stack.flights):  # the audit of their endings comes before the end of the store
            self._idle = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self._idle.wait()
        self._renewing.close()
        await self._watching.finish(LAST_WORDS_S)
        for closer in self._closers:
            try:
                await closer()
            except Exception:
                log.exception("the host did not close in good order")
        await self.alerts.close(LAST_WORDS_S)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _remove(self, name: str) -> None:
        try:
            await super()._remove(name)
        finally:  # cancelled as well: another server may get the name
            self.stack.shared.forget(name)

    def _tried(self, slot: Slot, ms: float, error: DragomanError | None) -> None:
        super()._tried(slot, ms, error)
        if error is None:
            self._renewing.start(slot.name)

    # --- tools --------------------------------------------------------------------------------------------------

    async def tools(self) -> list[HostTool]:
        """Every tool of every server that could be started, the withheld ones too (``held``).

        Left out are those that are off, and those that only a view of their server may call.
        """
        return await run_on(self._loop, self._tools())

    async def instructions(self) -> str:
        """How the servers want to be used, in their own words, for a model: each in a block that is quoted and marked as unverified.

        Put it into the system prompt, or leave it out; it is guidance and nothing more. Empty where no server says anything.
        """
        return await run_on(self._loop, self._instructions())

    async def _instructions(self) -> str:
        self._refuse_if_closed()
        await self.start_all()
        return "\n".join(guidance(slot.name, slot.instructions) for slot in self._slots.values() if slot.instructions)

    async def _tools(self) -> list[HostTool]:
        self._refuse_if_closed()
        await self.start_all()
        catalogs = [slot.catalog for slot in self._slots.values() if slot.catalog is not None]
        await asyncio.gather(*(catalog.current() for catalog in catalogs), return_exceptions=True)  # those that announced a change
        return offered(self.registry)

    async def definition(self, name: str) -> Resolved | None:
        """The tool of this name, its server started where needed; ``None`` if there is none.

        Raises:
            DragomanError: The server did not start.
        """
        server = self._sole_server
        found = self.registry.find("tool", server, name)
        if found is None and await self.registry.load(server, name):
            found = self.registry.find("tool", server, name)
        return found

    @property
    def _sole_server(self) -> str:
        """The server that every call of an ad hoc host means; empty where calls name theirs."""
        return next(iter(self._slots), "") if self._adhoc else ""

    # --- calls --------------------------------------------------------------------------------------------------

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        principal: str = "local",
        turn: str = "",
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        from_model: bool = True,
    ) -> Outcome:
        """Call a tool through the chain. Never raises for what happened to the call; cancelling it does raise.

        Args:
            name: ``server.tool``, or ``server__tool`` as models write it.
            arguments: JSON object, untrusted.
            principal: On whose behalf.
            turn: The work this belongs to; empty makes each call one.
            timeout_s: After approval, over queue and all rounds.
            from_model: False when a person typed the arguments: they are not coerced.
        """
        return await self._run("tool", "", name, arguments, principal, turn, timeout_s, on_progress, from_model)

    async def read(self, server: str, uri: str, *, principal: str = "local", turn: str = "", timeout_s: float | None = None) -> Outcome:
        """Read a resource through the chain."""
        return await self._run("resource", server, uri, None, principal, turn, timeout_s, None, True)

    async def prompt(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        principal: str = "local",
        turn: str = "",
        timeout_s: float | None = None,
    ) -> Outcome:
        """Fill in a prompt through the chain."""
        return await self._run("prompt", server, name, arguments, principal, turn, timeout_s, None, True)

    @contextlib.asynccontextmanager
    async def turn(self, *, principal: str = "local") -> AsyncIterator[Turn]:
        """The work for one user request: its calls share budgets, grants and provenance."""
        turn = self.new_turn(principal)
        try:
            yield turn
        finally:
            self.end_turn(turn)

    def new_turn(self, principal: str = "local") -> Turn:
        """A turn for code that cannot use ``async with``."""
        return Turn(self, f"turn-{next(self._ids)}", principal)

    def end_turn(self, turn: Turn) -> None:
        """Forget what was counted in a turn of :meth:`new_turn`; ``async with`` does this."""
        self.stack.shared.turns.end(turn.principal, turn.id)

    async def _run(
        self,
        kind: Kind,
        server: str,
        name: str,
        arguments: Mapping[str, Any] | None,
        principal: str,
        turn: str,
        timeout_s: float | None,
        on_progress: Callable[[Progress], Any] | None,
        from_model: bool,
    ) -> Outcome:
        self._refuse_if_closed()
        if asyncio.get_running_loop() is not self._loop:
            return await run_on(self._loop, self._run(kind, server, name, arguments, principal, turn, timeout_s, on_progress, from_model))
        call_id = next(self._ids)
        call = Call(
            id=call_id,
            kind=kind,
            server=server or self._sole_server,
            name=name,
            arguments=arguments if arguments is not None else {},
            principal=principal,
            turn=turn or call_id,
            timeout_s=timeout_s,
            from_model=from_model,
            on_progress=on_progress,
            adhoc=self._adhoc,
        )
        try:
            return await self.stack.run(call)
        finally:
            if self._idle is not None and not len(self.stack.flights):
                self._idle.set()
