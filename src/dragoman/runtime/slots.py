"""A place for one server in a host: what it is, how it is doing, what it last offered, and its client, which may come and go.

When a server is tried again is decided by its :class:`~dragoman.runtime.supervisor.Supervisor`; this carries it out.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from typing import Any, Final, Literal

from dragoman.clock import Clock
from dragoman.errors import AuthRequired, CallFailed, ConnectFailed, DragomanError, NotAllowed
from dragoman.runtime import standing, vitals
from dragoman.runtime.catalog import Catalog
from dragoman.runtime.client import Client
from dragoman.runtime.gauges import Gauge
from dragoman.runtime.loops import LoopTime
from dragoman.runtime.reopening import Settings
from dragoman.runtime.specs import ServerSpec
from dragoman.runtime.standing import Credential
from dragoman.runtime.supervisor import Jitter, Supervisor, Verdict
from dragoman.wire.alerts import Alert, AlertKind, AlertSink
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")

SlotState = Literal["disabled", "not approved", "configured", "starting", "ready", "idle", "backing off", "down", "stopped"]

STOP_S: Final = 10.0
#: Calls that a server took before it turned another one away get this long to end.
LINGER_S: Final = 5.0


Listed = Callable[["Slot", Client, tuple[Tool, ...]], None]
"""Told that the server listed its tools, for the first time or anew."""

Tried = Callable[["Slot", float, DragomanError | None], None]
"""Told how an attempt to reach the server went, or that it was lost (0 ms): milliseconds, and what went wrong."""


Changed = Callable[["Slot"], None]
"""Told that it is in another state that lasts."""


class Slot:
    """One server of a host.

    Args:
        spec: What it is.
        options: For ``spec.make_client``.
        listed, tried: Are told, on the event loop; they do not raise.
        changed: The same, of another state.
        alert: Is told when the server is down, and up again.
        on_demand: It is started only for somebody who wants it, and who learns what went wrong.
        clock, jitter: For tests.

    Attributes:
        error: Why it is not up, or was not the last time.
        starts: How often it was started, or tried to.
        instructions: How it says it wants to be used, untrusted; kept while it is away.
        gauge: Counts its calls.
        listeners: How many follow its changes; while there are any it is not stopped for being idle.
        moved: Set, and replaced by another, when its state has become another one that lasts.
    """

    def __init__(
        self,
        spec: ServerSpec,
        options: dict[str, Any],
        listed: Listed,
        tried: Tried,
        *,
        changed: Changed | None = None,
        alert: AlertSink | None = None,
        on_demand: bool = False,
        clock: Clock | None = None,
        jitter: Jitter | None = None,
    ) -> None:
        self.spec = spec
        self.state: SlotState = "configured"
        if not spec.enabled:
            self.state = "disabled"
        elif spec.held_back is not None:
            self.state = "not approved"
        self.error: DragomanError | None = None
        self.client: Client | None = None
        self.catalog: Catalog | None = None
        self.instructions: str | None = None
        self.starts = self.listeners = 0
        self.moved = asyncio.Event()
        self.gauge = Gauge()
        self._options = options
        self._told_listed, self._tried, self._changed = listed, tried, changed
        self._alert, self._on_demand = alert, on_demand
        self._clock = clock if clock is not None else LoopTime()
        self.supervisor = Supervisor(self._clock, remote=spec.remote, jitter=jitter)
        self._starting: asyncio.Task[Client] | None = None
        self._closing: set[asyncio.Task[Any]] = set()  # of clients that are no longer used, and starts that nobody wants any more
        self._timer: asyncio.TimerHandle | None = None
        self._again_at = 0.0
        self._refused: Credential | None = None  # the server does not want this one
        self._settings: Settings = {}
        self._flaws: tuple[Flaw, ...] = ()
        self._was_up = self._told_down = False
        self._just_crashed = False  # a program that was up a moment ago is started at once for a call

    @property
    def name(self) -> str:
        """The configured name."""
        return self.spec.name

    @property
    def restarts(self) -> int:
        """How often it was started again after it was lost."""
        return self.supervisor.restarts

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """What was set aside when its tools were listed last."""
        return self.catalog.problems if self.catalog is not None else self._flaws

    def obstacle(self, *, asking: bool = False) -> DragomanError | None:
        """Why it cannot be started right now, without trying; ``None`` if it is up or may be tried.

        Args:
            asking: A person would be asked first, for which a trial that is due is not good enough a reason.
        """
        match self.state:
            case "disabled":
                return NotAllowed(f"the server {self.name} is switched off", hint=f"dragoman enable {self.name}", server=self.name)
            case "not approved":
                return NotAllowed(str(self.spec.held_back), hint=f"on a terminal: dragoman enable {self.name}", server=self.name)
            case "stopped":
                return NotAllowed(f"the server {self.name} was stopped; nothing was sent", server=self.name)
            case "backing off" | "down" | "starting" if self.error is not None and not self._just_crashed:
                if self._refused is not None:
                    return self.error if standing.credential_of(self.spec.credential) == self._refused else None
                if self._on_demand and self.starts == 1 and not self._was_up:
                    return self.error  # who asks has just wanted it: no second try was promised, and a command does not wait for one
                left_s = self._again_at - self._clock.monotonic()
                if asking or (left_s > 0 and self.state != "starting"):
                    return standing.again_in(self.error, self.name, self.state, left_s)
        return None

    # --- starting -----------------------------------------------------------------------------------------------

    async def connected(self) -> Client:
        """A client that is up, started or started again where needed; one start at a time, whoever asks.

        Raises:
            NotAllowed: Switched off, not approved yet, or stopped, even while it was starting.
            TransportError, ProtocolError, ConfigError: It did not start, or is given up for a while.
        """
        client = self.client
        if client is not None and client.is_open:
            return client
        starting = self._starting
        if starting is None:
            if (obstacle := self.obstacle()) is not None:
                raise obstacle.with_traceback(None)  # the same error for many callers: it must not collect all their frames
            starting = self._begin()
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            task, obstacle = asyncio.current_task(), self.obstacle()
            if not starting.cancelled() or task is None or task.cancelling():
                raise
            if obstacle is not None:
                raise obstacle from None  # the start was cancelled by stop(), not the caller by its own
        return await self.connected()  # it was cancelled by restart(), which has begun another one

    def _begin(self) -> asyncio.Task[Client]:
        self._cancel_timer()
        self._starting = asyncio.create_task(self._start())
        self._starting.add_done_callback(self._started)
        return self._starting

    async def _start(self) -> Client:
        self.state = "starting"
        self.starts += 1
        began = time.monotonic()
        credential = standing.credential_of(self.spec.credential)
        client: Client | None = None
        catalog: Catalog | None = None
        try:
            await self._let_go()
            client = self.spec.make_client(label=self.name, **self._options)
            vitals.on_end(client, functools.partial(self._ended, client))
            await client.open()
            catalog = Catalog(client, functools.partial(self._listed, client))
            await catalog.refresh()
            await vitals.restore(client, self._settings)
            if not client.is_open:
                raise standing.ended(self.name, "it ended at once", vitals.ending(client))
            if not self._is_wanted():  # a transport of the program's own may have let the cancellation pass
                raise asyncio.CancelledError
        except BaseException as exc:
            if client is not None:
                await self._close(client, catalog)
            if not isinstance(exc, DragomanError):
                if self._is_wanted():
                    self.state = "configured"
                raise
            error = self._not_started(exc)
            if standing.is_about_us(error):
                standing.name_credential(error, self.name, credential)
            self._tried(self, (time.monotonic() - began) * 1000, error)
            if self._is_wanted():
                self._failed(error, credential)
            if error is exc:
                raise
            raise error from exc
        self.client, self.catalog, self.error, self.state = client, catalog, None, "ready"
        self.instructions = client.server.instructions
        self._refused = None
        if self._was_up:
            log.info("%s: restarted", self.name)
        self._was_up = True
        catalog.watch()
        self._tried(self, (time.monotonic() - began) * 1000, None)
        self.supervisor.came_up()
        if self._told_down:
            self._told_down = False
            self._tell("server up", f"{self.name} is up again")
        self._move()
        return client

    def _is_wanted(self) -> bool:
        """Whether the start that asks is the one that counts: neither stopped nor restarted meanwhile."""
        return self.state == "starting" and self._starting is asyncio.current_task()

    def _not_started(self, exc: DragomanError) -> DragomanError:
        """The error of a start: no call was sent, so it must not look like a call that perhaps ran."""
        if isinstance(exc, CallFailed):
            exc = ConnectFailed(f"{self.name} could not be used: {exc}", hint=exc.hint)
        exc.server = exc.server or self.name
        return exc

    def _started(self, task: asyncio.Task[Client]) -> None:
        if self._starting is task:
            self._starting = None
        if not task.cancelled():
            task.exception()  # whoever awaited it has it; nobody else needs to be told

    def _listed(self, client: Client, tools: tuple[Tool, ...]) -> None:
        if len(tools) > self.spec.max_tools:
            log.warning("%s: lists %d tools, limit %d; the rest is set aside", self.name, len(tools), self.spec.max_tools)
            tools = tools[: self.spec.max_tools]
        self._told_listed(self, client, tools)

    # --- failing ------------------------------------------------------------------------------------------------

    def _ended(self, client: Client, reason: str) -> None:
        """Its connection ended; called inside the reader."""
        if self.client is client and not vitals.is_reopening(client):
            self.lost(standing.ended(self.name, reason, vitals.ending(client)))

    def lost(self, error: DragomanError) -> None:
        """It was up and is not any more, or might as well not be: close what is left of it, and start it again when that is due."""
        if self.state == "ready":
            self._put_away()
            self._tried(self, 0.0, error)
            verdict = self.supervisor.lost()
            self._just_crashed = verdict.state == "backing off" and not self.spec.remote
            self._obey(verdict, error)

    def answered(self, ms: float) -> None:
        """It was asked whether it lives, and does."""
        self._tried(self, ms, None)

    def refused(self, error: AuthRequired) -> None:
        """The server turned a call away for who we are: no other call goes there until that changes."""
        credential = standing.credential_of(self.spec.credential)
        standing.name_credential(error, self.name, credential)
        if self.state == "ready":
            self._put_away(linger_s=LINGER_S)
            self._tried(self, 0.0, error)
            self._lock(error, credential)

    def _failed(self, error: DragomanError, credential: Credential) -> None:
        if standing.is_about_us(error):
            self._lock(error, credential)
        else:
            self._just_crashed = False
            self._obey(self.supervisor.failed(error), error)

    def _lock(self, error: DragomanError, credential: Credential) -> None:
        self._refused = credential
        self._is_now("down", error, "it is not tried again until its credential changes")

    def _obey(self, verdict: Verdict, error: DragomanError) -> None:
        self._again_at = self._clock.monotonic() + verdict.after_s
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(verdict.after_s, self._again)
        self._is_now(verdict.state, error, f"it is tried again in {max(verdict.after_s, 1.0):.0f} s")

    def _is_now(self, state: Literal["backing off", "down"], error: DragomanError, what_next: str) -> None:
        self.error, self.state = error, state
        log.info("%s is %s: %s; %s", self.name, state, standing.sentence(error), what_next)
        self._move()
        # Who wanted a server that never ran has the error; nobody else ever counted on it.
        if state == "down" and not self._told_down and (self._was_up or not self._on_demand):
            self._told_down = True
            self._tell("server down", f"{self.name} is down: {standing.sentence(error)}; {what_next}")

    def _again(self) -> None:
        """The time has come for the next attempt; nobody waits for how it ends."""
        self._timer = None
        if self.state in ("backing off", "down") and self._starting is None and self._refused is None:
            self._begin()

    # --- stopping -----------------------------------------------------------------------------------------------

    async def rest(self) -> None:
        """Stop a server that nobody uses; its tools stay offered, and the next call starts it."""
        if self.state == "ready" and self._starting is None:
            self.state = "idle"
            log.info("%s: stopped, because nobody used it for %g s; the next call starts it", self.name, self.spec.idle_stop_s or 0.0)
            self._move()
            await self._let_go()

    async def restart(self) -> Client:
        """Stop it where it is up, forget what went wrong, and start it.

        Raises:
            DragomanError: As :meth:`connected`.
        """
        if self.state not in ("disabled", "not approved", "stopped"):
            self._cancel_start()
            self._put_away()
            self.supervisor.forget()
            self._refused, self.error, self.state = None, None, "configured"
            self._begin()
        return await self.connected()

    async def stop(self) -> None:
        """Stop the server; it is not started again. Bounded; calls on their way to it end as lost or refused."""
        self.state = "stopped"
        self._cancel_timer()
        self._move()
        self._cancel_start()
        await self._let_go()

    def _cancel_start(self) -> None:
        if (starting := self._starting) is not None:
            starting.cancel()
            self._leaves(starting)

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    async def _let_go(self) -> None:
        """Close the client, and wait for it, and for what is being closed already."""
        self._put_away()
        if self._closing:
            await asyncio.wait(self._closing, timeout=STOP_S)

    def _put_away(self, *, linger_s: float = 0.0) -> None:
        """Use the client no more from now on, and close it in the background, after what is on its way or ``linger_s``."""
        client, self.client = self.client, None
        catalog, self.catalog = self.catalog, None
        if client is not None and catalog is not None:
            self._settings, self._flaws = vitals.settings(client), catalog.problems
            self._leaves(asyncio.get_running_loop().create_task(self._close(client, catalog, linger_s)))

    def _leaves(self, task: asyncio.Task[Any]) -> None:
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close(self, client: Client, catalog: Catalog | None, linger_s: float = 0.0) -> None:
        if catalog is not None:
            await catalog.close()
        if linger_s:
            await vitals.quiet(client, linger_s)
        await client.close()
        if self.spec.when_down is not None:
            self.spec.when_down()

    # --- telling ------------------------------------------------------------------------------------------------

    def _move(self) -> None:
        moved, self.moved = self.moved, asyncio.Event()
        moved.set()
        if self._changed is not None:
            self._changed(self)

    def _tell(self, kind: AlertKind, text: str) -> None:
        if self._alert is not None:
            self._alert(Alert(kind=kind, server=self.name, text=text, at=self._clock.now()))
