"""The servers of a host: put in and taken out, started and stopped, looked after, and what they tell handed on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dragoman.errors import ConfigError, DragomanError, LocalProtocolError, UnknownTool
from dragoman.policy.dispatch import DEFAULT_RESULT_BYTES
from dragoman.policy.names import some
from dragoman.policy.ports import Redact
from dragoman.policy.registry import ToolRegistry
from dragoman.runtime.alerts import AlertBook
from dragoman.runtime.client import Client
from dragoman.runtime.following import Following
from dragoman.runtime.gauges import BreakerState
from dragoman.runtime.heartbeat import Heartbeat
from dragoman.runtime.loops import run_on
from dragoman.runtime.sending import clean, removed
from dragoman.runtime.slots import Slot
from dragoman.runtime.specs import ServerSpec
from dragoman.runtime.watching import Watcher, Watching
from dragoman.wire.alerts import Alert
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")


class Fleet:
    """What a host does to its servers; see :class:`~dragoman.runtime.host.Host` for the arguments.

    Attributes:
        registry: What the servers offer.
    """

    def __init__(
        self,
        options: dict[str, Any],
        watcher: Watcher | None,
        alerts: AlertBook,
        *,
        lazy: bool,
        redact: Redact | None,
        withdraw: Callable[[str | None], None] | None,
        wanted: Callable[[], Iterable[str]] | None,
        breaker: Callable[[str], BreakerState | None],
    ) -> None:
        self.alerts = alerts
        self.registry = ToolRegistry(self._load)
        self._options, self._lazy, self._redact = options, lazy, redact
        self._withdraw, self._wanted = withdraw, wanted
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Task[None] | None = None
        self._slots: dict[str, Slot] = {}
        self._watching = Watching(watcher, self._slots, breaker)
        self._restarting: set[asyncio.Task[Any]] = set()
        self._heartbeat = Heartbeat(self._slots.values, self._restart_wanted if wanted is not None else None)

    @property
    def slots(self) -> Mapping[str, Slot]:
        """The servers by name."""
        return self._slots

    async def start_all(self, wait_s: float | None = None) -> None:
        """Start every server that may be started, side by side; after ``wait_s`` seconds those that are slow go on by themselves."""
        startable = [slot for slot in self._slots.values() if slot.state in ("configured", "backing off", "down")]
        waiting = [asyncio.ensure_future(slot.connected()) for slot in startable]
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=wait_s)
        finally:
            for one in waiting:
                one.cancel()  # ends the wait, not the start
            await asyncio.gather(*waiting, return_exceptions=True)

    async def add_spec(self, spec: ServerSpec) -> None:
        """Add a server while the host runs, and start it unless the host is lazy.

        Raises:
            ConfigError: The name is taken.
            DragomanError: It did not start; it stays, and is tried again when it is needed.
        """
        await run_on(self._loop, self._add(spec))

    async def _add(self, spec: ServerSpec) -> None:
        self._refuse_if_closed()
        slot = self._insert(spec)
        if not self._lazy:
            await slot.connected()

    async def remove(self, name: str) -> None:
        """Stop a server and forget it. Calls on their way to it end as lost or refused.

        Raises:
            UnknownTool: There is no such server.
        """
        await run_on(self._loop, self._remove(name))

    async def _remove(self, name: str) -> None:
        slot = self._slot(name)
        del self._slots[name]
        self.registry.drop_server(name)
        if self._withdraw is not None:
            self._withdraw(name)
        await slot.stop()
        self._watching.gone(slot)

    async def restart(self, name: str) -> None:
        """Stop a server and start it anew, whatever state it is in: one that is down, or whose credential was not wanted, too.

        Raises:
            UnknownTool: There is no such server.
            NotAllowed: It is switched off or not approved.
            DragomanError: It did not start; it is tried again by the usual rules.
        """
        await run_on(self._loop, self._slot(name).restart())

    def listen(
        self, name: str, *, tools: bool = False, prompts: bool = False, resource_list: bool = False, resources: Sequence[str] = ()
    ) -> Following:
        """Hear of changes at a server, over its restarts: ``async with host.listen("files", tools=True) as changes: async for …``.

        Args:
            name: The server.
            tools, prompts, resource_list, resources: As :meth:`dragoman.Client.listen`.

        Raises:
            UnknownTool: There is no such server.
        """
        what = {"tools": tools, "prompts": prompts, "resource_list": resource_list, "resources": resources}
        return Following(self._slot(name), what)

    def _slot(self, name: str) -> Slot:
        slot = self._slots.get(name)
        if slot is None:
            raise UnknownTool(f"there is no server {name}", hint=f"servers: {some(sorted(self._slots)) or 'none'}")
        return slot

    def _insert(self, spec: ServerSpec) -> Slot:
        if spec.name in self._slots:
            raise ConfigError(f"there is a server {spec.name} already", hint="choose another name, or remove it first")
        slot = self._slots[spec.name] = Slot(
            spec, self._options, self._listed, self._tried, changed=self._changed, alert=self.alerts, on_demand=self._lazy
        )
        self.registry.set_server(spec.name, (), spec.rules)
        return slot

    def note_check(self, server: str, ms: float, error: DragomanError | None) -> None:
        """Have written down that somebody looked at a server, and what was found."""
        if (slot := self._slots.get(server)) is not None:
            self._watching.checked(slot, ms, error)

    def notice(self, alert: Alert) -> None:
        """Tell an alert of a layer, and have written down how its server is now: an :data:`~dragoman.wire.alerts.AlertSink`."""
        self.alerts(alert)
        if (slot := self._slots.get(alert.server)) is not None:
            self._watching.changed(slot)

    def obstacle(self, server: str) -> DragomanError | None:
        """Why calls of this server would be in vain right now, without trying; ``None`` if they may work."""
        slot = self._slots.get(server)
        return slot.obstacle(asking=True) if slot is not None else removed(server)

    def result_limit(self, server: str) -> int:
        """Longest result in bytes that a call of this server may bring."""
        slot = self._slots.get(server)
        return slot.spec.result_bytes if slot is not None else DEFAULT_RESULT_BYTES  # removed while its last result arrived

    def _refuse_if_closed(self) -> None:
        if self._loop is None or self._closing is not None:
            if self._loop is None:
                raise LocalProtocolError("the host is not open", hint="use 'async with', or call open() first")
            raise LocalProtocolError("the host is closed; nothing was sent", hint="a host is opened once: make a new one")

    async def _load(self, server: str) -> bool:
        slot = self._slots.get(server)
        if slot is None:
            return False
        if slot.catalog is not None and slot.client is not None and slot.client.is_open:
            try:
                await slot.catalog.current()  # lists only where a change was announced
            except DragomanError as exc:
                log.warning("%s: the tools changed and could not be listed: %s", server, exc)
        else:
            await slot.connected()
        return True

    # --- what slots tell ----------------------------------------------------------------------------------------

    def _listed(self, slot: Slot, client: Client, tools: tuple[Tool, ...]) -> None:
        if self._slots.get(slot.name) is slot:  # else it was removed meanwhile
            self.registry.set_server(slot.name, tools, slot.spec.rules)
            self._watching.catalog(slot.name, client.server.era, client.server.revision, tools)

    def _tried(self, slot: Slot, ms: float, error: DragomanError | None) -> None:
        if error is not None:
            clean(error, self._redact)
        if self._slots.get(slot.name) is slot:
            self._watching.checked(slot, ms, error)

    def _changed(self, slot: Slot) -> None:
        if self._slots.get(slot.name) is slot:
            self._watching.changed(slot)

    async def _stop_all(self) -> None:
        await self._heartbeat.close()
        for task in self._restarting:
            task.cancel()
        await asyncio.gather(*(slot.stop() for slot in self._slots.values()), return_exceptions=True)

    def _restart_wanted(self) -> None:
        for slot in [self._slots[name] for name in (self._wanted or tuple)() if name in self._slots]:
            log.info("%s: restarted, because somebody asked for it", slot.name)
            task = asyncio.get_running_loop().create_task(slot.restart())
            self._restarting.add(task)
            task.add_done_callback(self._restarted)

    def _restarted(self, task: asyncio.Task[Any]) -> None:
        self._restarting.discard(task)
        if not task.cancelled():
            task.exception()  # what went wrong is in the slot
