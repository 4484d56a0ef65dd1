"""Many servers, one policy: every call goes through the chain, and ends as an :class:`~dragoman.policy.chain.Outcome`.

::

    async with Host.from_config("dragoman.toml") as host:
        outcome = await host.call("files.read_text_file", {"path": "a.txt"})
        print(outcome.for_user() if outcome.ok else outcome.hint)

``from_config`` is in :mod:`dragoman.service.assemble`, which hands in what a host needs; this class opens no files.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import msgspec

from dragoman.errors import ConfigError, LocalProtocolError, UnknownTool
from dragoman.policy.chain import Call, Kind, Outcome, Result, Spent
from dragoman.policy.names import SHORT, model_name
from dragoman.policy.ports import Caller, Resolved
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.rules import Rules, ToolRule
from dragoman.policy.stack import Stack
from dragoman.runtime.client import Client, Progress
from dragoman.runtime.slots import ServerSpec, Slot
from dragoman.runtime.turns import Turn
from dragoman.wire.listing import Tool
from dragoman.wire.tier import DEFAULT_TIER, Tier

log = logging.getLogger("dragoman")


class HostTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a host offers it.

    Attributes:
        model_name: ``server__tool``, within 64 characters of ``[A-Za-z0-9_-]``.
        rule: What decided the tier.
        held: Why it cannot be called now, or ``None``.
    """

    server: str
    name: str
    model_name: str
    tier: Tier
    rule: str
    definition: Tool
    held: str | None = None

    @property
    def full_name(self) -> str:
        """``server.tool``."""
        return f"{self.server}.{self.name}"


class Watcher(Protocol):
    """Who writes down how servers are doing; called off the path of calls."""

    async def health(self, server: str, ok: bool, ms: float, error: str | None) -> None:
        """A connection was tried."""
        ...

    async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        """A server listed its tools."""
        ...


class Host:
    """Servers, a registry and a chain.

    Args:
        specs: The servers.
        build: Makes the chain: gets the registry and its end, which sends a call and awaits the answer.
        options: For every client: name, version, handlers, eras.
        watcher: Writes down health and catalogs.
        lazy: Start a server when it is first needed, instead of all when the host opens.
        adhoc: Its servers have no configuration: the person at the keyboard decides, so calls have no tiers.
        openers: Awaited before anything else when the host opens.
        closers: Awaited after everything else when the host closes, e.g. the store.
    """

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        build: Callable[[ToolRegistry, Caller], Stack],
        *,
        options: dict[str, Any] | None = None,
        watcher: Watcher | None = None,
        lazy: bool = False,
        adhoc: bool = False,
        closers: Sequence[Callable[[], Any]] = (),
        openers: Sequence[Callable[[], Any]] = (),
    ) -> None:
        self.registry = ToolRegistry(self._load)
        self._options = options or {}
        self._watcher = watcher
        self._lazy = lazy
        self._adhoc = adhoc
        self._openers = openers
        self._closers = closers
        self._slots: dict[str, Slot] = {}
        self.stack = build(self.registry, self._dispatch)
        run = secrets.token_hex(6)
        self._ids = (f"{run}-{n}" for n in itertools.count(1))
        self._writing: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        for spec in specs:
            self._insert(spec)

    # --- opening and closing ------------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Start. A server that does not start stops none of the others: see ``slots``."""
        self._loop = asyncio.get_running_loop()
        for opener in self._openers:
            await opener()
        if not self._lazy:
            await self.start_all()
        return self

    async def start_all(self) -> None:
        """Start every server that may be started, side by side."""
        startable = [slot for slot in self._slots.values() if slot.state in ("configured", "failed")]
        await asyncio.gather(*(slot.connected() for slot in startable), return_exceptions=True)

    async def close(self) -> None:
        """Stop every server; idempotent."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(*(slot.stop() for slot in self._slots.values()), return_exceptions=True)
        if self._writing:
            await asyncio.wait(self._writing, timeout=5.0)
        for closer in self._closers:
            await closer()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- servers ------------------------------------------------------------------------------------------------

    @property
    def slots(self) -> Mapping[str, Slot]:
        """The servers by name."""
        return self._slots

    async def add(
        self,
        name: str,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        tools: Mapping[str, str] | None = None,
        default_tier: Tier = DEFAULT_TIER,
        timeout_s: float | None = None,
        result_bytes: int = 1_000_000,
        **client: Any,
    ) -> None:
        """Add a server while the host runs, and start it.

        Args:
            command, url: One of them.
            tools: Tiers by tool name or pattern.
            client: More for :class:`~dragoman.runtime.client.Client`: ``env``, ``cwd``, ``headers``, ``revision`` …

        Raises:
            ConfigError: The name is taken or not allowed, or not exactly one of ``command`` and ``url`` is given.
            DragomanError: It did not start; it stays configured.
        """
        target: Any = command if url is None else url
        if (command is None) == (url is None):
            raise ConfigError(f"the server {name} needs exactly one of command and url")

        def make(**options: Any) -> Client:
            return Client(target, **{**options, **client})

        rules = Rules(name, {key: ToolRule(tier) for key, tier in _tiers(tools or {}).items()}, default_tier)
        await self.add_spec(ServerSpec(name=name, make_client=make, rules=rules, timeout_s=timeout_s, result_bytes=result_bytes))

    async def add_spec(self, spec: ServerSpec) -> None:
        """Add a server whose spec is made already, and start it unless the host is lazy."""
        slot = self._insert(spec)
        if not self._lazy and slot.state == "configured":
            await slot.connected()

    async def remove(self, name: str) -> None:
        """Stop a server and forget it.

        Raises:
            UnknownTool: There is no such server.
        """
        slot = self._slots.pop(name, None)
        if slot is None:
            raise UnknownTool(f"there is no server {name}", hint=f"servers: {', '.join(sorted(self._slots)) or 'none'}")
        self.registry.drop_server(name)
        await slot.stop()

    def _insert(self, spec: ServerSpec) -> Slot:
        if spec.name in self._slots:
            raise ConfigError(f"there is a server {spec.name} already", hint="choose another name, or remove it first")
        slot = self._slots[spec.name] = Slot(spec, self._options, self)
        self.registry.set_server(spec.name, (), spec.rules)
        return slot

    # --- tools --------------------------------------------------------------------------------------------------

    async def tools(self) -> list[HostTool]:
        """Every tool of every server that could be started, the withheld ones too (``held``)."""
        await self.start_all()
        return [
            HostTool(
                server=entry.server,
                name=entry.name,
                model_name=model_name(entry.server, entry.name, SHORT),
                tier=entry.tier,
                rule=entry.rule,
                definition=entry.definition,
                held=entry.held,
            )
            for entry in self.registry.all()
            if entry.definition is not None
        ]

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
        yield Turn(self, f"turn-{next(self._ids)}", principal)

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
        loop = self._loop
        if loop is None or self._closed:
            raise LocalProtocolError("the host is not open", hint="use 'async with', or call open() first")
        if asyncio.get_running_loop() is not loop:  # another thread's loop: the host lives on its own
            moved = self._run(kind, server, name, arguments, principal, turn, timeout_s, on_progress, from_model)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(moved, loop))
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
        return await self.stack.run(call)

    async def _dispatch(self, call: Call) -> Outcome:
        """The end of the chain: hop 3 begins here."""
        slot = self._slots.get(call.server)
        if slot is None:
            raise UnknownTool(f"the server {call.server} was removed", server=call.server)
        client = await slot.connected()
        timeout_s = call.timeout_s if call.timeout_s is not None else slot.spec.timeout_s
        result: Result
        if call.kind == "tool":
            result = await client.call_tool(call.name, call.arguments, timeout_s=timeout_s, on_progress=call.on_progress)
        elif call.kind == "resource":
            result = await client.read_resource(call.name, timeout_s=timeout_s, on_progress=call.on_progress)
        else:
            result = await client.get_prompt(call.name, call.arguments, timeout_s=timeout_s, on_progress=call.on_progress)
        return Outcome(call=call, result=result, spent=Spent(result_bytes=len(memoryview(result.raw_json))))

    async def _load(self, server: str) -> bool:
        slot = self._slots.get(server)
        if slot is None or (slot.client is not None and slot.client.is_open):
            return False
        await slot.connected()
        return True

    def result_limit(self, server: str) -> int:
        """Longest result in bytes that a call of this server may bring."""
        slot = self._slots.get(server)
        return slot.spec.result_bytes if slot is not None else 0

    # --- what slots tell ----------------------------------------------------------------------------------------

    def on_tools(self, slot: Slot, tools: tuple[Tool, ...]) -> None:
        """Register a server's tools."""
        if self._slots.get(slot.name) is not slot:
            return  # removed meanwhile
        self.registry.set_server(slot.name, tools, slot.spec.rules)
        client = slot.client or (slot.catalog.client if slot.catalog else None)
        if self._watcher is not None and client is not None:
            self._write(self._watcher.catalog(slot.name, client.server.era, client.server.revision, tools))

    async def on_health(self, slot: Slot, ok: bool, ms: float, error: str | None) -> None:
        """Write down how a connection went."""
        if self._watcher is None:
            return
        await self._watcher.health(slot.name, ok, ms, error)
        if ok and slot.client is not None and slot.catalog is not None:
            server = slot.client.server
            await self._watcher.catalog(slot.name, server.era, server.revision, await slot.catalog.tools())

    def _write(self, coroutine: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)


def _tiers(tools: Mapping[str, str]) -> dict[str, Tier]:
    from dragoman.wire.tier import is_tier

    tiers: dict[str, Tier] = {}
    for key, tier in tools.items():
        if not is_tier(tier):
            raise ConfigError(f"{tier!r} is not a tier", key=f"tools.{key}", hint="one of L0, L1, L2, L3, off")
        tiers[key] = tier
    return tiers
