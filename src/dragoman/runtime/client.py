"""One server, one typed face: connect, list, call, read, close. No policy: that is :class:`~dragoman.runtime.host.Host`.

::

    async with Client(["python3", "server.py"]) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, Unpack

import msgspec
from msgspec import Raw

from dragoman._version import __version__
from dragoman.errors import CallFailed, InvalidResult, LocalProtocolError
from dragoman.protocol.events import Peer
from dragoman.protocol.handshake import Identity
from dragoman.runtime.asking import Asker, AskLayer, Elicitation, Roots
from dragoman.runtime.driver import Tap
from dragoman.runtime.eras import PROCESS_MEMORY, EraMemory
from dragoman.runtime.listing import all_pages, decode_completion
from dragoman.runtime.mirrors import Mirrors
from dragoman.runtime.opening import Opening, check_revision
from dragoman.runtime.progress import Progress, progress_sink
from dragoman.runtime.reopening import SETTINGS, Reopening
from dragoman.runtime.session import RequestOptions, Session
from dragoman.runtime.targets import FRAME_LIMIT, Place, Target, fallback_for, transport_for
from dragoman.runtime.trace import logging_tap, wire_log
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Completion, Implementation, Prompt, Resource, ResourceTemplate, Tool
from dragoman.wire.methods import META_LOG_LEVEL
from dragoman.wire.results import (
    PromptResult,
    ReadResult,
    ToolResult,
    decode_prompt_result,
    decode_read_result,
    decode_tool_result,
)
from dragoman.wire.revisions import Era

log = logging.getLogger("dragoman")

_MAX_LOGGED: Final = 20

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


class Client:
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
        timeout_s: float = 60.0,
        connect_timeout_s: float = 30.0,
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
    ) -> None:
        check_revision(revision)
        if not (timeout_s > 0 and connect_timeout_s > 0):
            raise LocalProtocolError("deadlines must be positive numbers of seconds")
        asker = Asker(roots=roots, on_sampling=on_sampling, on_elicitation=on_elicitation, layers=ask_layers)
        make, shown, key = transport_for(
            target, Place(env, inherit, base_env, cwd), headers=headers, frame_limit=frame_limit, stop_s=stop_s, stderr=stderr
        )
        self.label = label or shown
        self.timeout_s = timeout_s
        self.problems: list[Flaw] = []
        self._session = Session(asker, label=self.label, on_notification=on_notification, on_log=on_log)
        self._opening = Opening(
            transport=make,
            identity=Identity(Implementation(name, version), asker.capabilities()),
            label=self.label,
            key=key,
            eras=eras or PROCESS_MEMORY,
            timeout_s=connect_timeout_s,
            revision=revision,
            close_s=stop_s + 5.0,
            repeatable=key is not None,
            fallback=fallback_for(target, headers=headers, frame_limit=frame_limit),
            tap=on_wire or (logging_tap(self.label) if wire_log.isEnabledFor(logging.DEBUG) else None),
        )
        self._log_level: str | None = None
        self._mirrors = Mirrors()
        self._opened = False
        self._reopening = Reopening(self._opening, self._session)

    # --- opening and closing ------------------------------------------------------------------------------------

    async def open(self) -> Client:
        """Connect. ``async with`` does this.

        Raises:
            SpawnFailed, ConnectFailed, VersionMismatch: See :mod:`dragoman.errors`.
        """
        if self._opened or self._session.closed:
            raise LocalProtocolError(f"{self.label} was opened before; a client is opened once", hint="make a new client")
        self._opened = True
        await self._opening.connect(self._session)
        return self

    async def close(self) -> None:
        """End the connection: bounded, idempotent, from any task or thread."""
        self._session.closed = True
        driver = getattr(self._session, "driver", None)
        if driver is not None:
            await driver.close()
        await self._reopening.close()

    async def __aenter__(self) -> Client:
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
    def is_open(self) -> bool:
        """Whether calls can be made right now."""
        driver = getattr(self._session, "driver", None)
        return driver is not None and driver.connection.state.value == "open"

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Call ``callback(method)`` inside the reader when a list changed; it must only take note."""
        self._session.on_change = callback

    # --- tools --------------------------------------------------------------------------------------------------

    async def list_tools(self, *, timeout_s: float | None = None) -> list[Tool]:
        """All tools, over all pages. Broken ones are set aside in ``problems``."""
        tools: list[Tool] = await self._list("tools/list", "tools", timeout_s)
        if self.server.era == "modern" and self._session.driver.connection.traits.headers:
            tools = self._mirrors.take(tools, self.problems)
        self._say_problems("tools/list")
        return tools

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        force: bool = False,
    ) -> ToolResult:
        """Call one tool.

        Args:
            name: The tool's own name.
            arguments: JSON object.
            timeout_s: Over all rounds; the time a person needs to answer the server's questions is not counted.
            on_progress: Gets a :class:`Progress`; asks the server to send it.
            meta: More members for ``_meta``.
            force: Call even what the server did not declare.

        Returns:
            The result; ``is_error`` says that the tool failed, which is no exception.

        Raises:
            CallFailed: It was sent, or perhaps sent. LocalProtocolError: it was not.
        """
        params = {"name": name, "arguments": arguments or {}}
        options: RequestOptions = {}
        if on_progress is not None or meta is not None or force:
            options = {"on_progress": progress_sink(on_progress), "meta": meta, "force": force}
        if self._mirrors:
            send = functools.partial(self._request, "tools/call", params, timeout_s, **options)
            raw = await self._mirrors.call(send, self.list_tools, name, arguments or {})
        else:
            raw = await self._request("tools/call", params, timeout_s, **options)
        return self._decoded("tools/call", decode_tool_result, raw)

    # --- resources and prompts ----------------------------------------------------------------------------------

    async def list_resources(self, *, timeout_s: float | None = None) -> list[Resource]:
        """All resources, over all pages."""
        return await self._list("resources/list", "resources", timeout_s)

    async def list_resource_templates(self, *, timeout_s: float | None = None) -> list[ResourceTemplate]:
        """All resource templates, over all pages."""
        return await self._list("resources/templates/list", "resourceTemplates", timeout_s)

    async def read_resource(
        self, uri: str, *, timeout_s: float | None = None, on_progress: Callable[[Progress], Any] | None = None
    ) -> ReadResult:
        """The contents of one resource."""
        raw = await self._request("resources/read", {"uri": uri}, timeout_s, on_progress=progress_sink(on_progress))
        return self._decoded("resources/read", decode_read_result, raw)

    async def subscribe(self, uri: str) -> None:
        """Ask for ``notifications/resources/updated`` of one resource (revisions up to 2025-11-25)."""
        await self._request("resources/subscribe", {"uri": uri}, None)

    async def unsubscribe(self, uri: str) -> None:
        """Undo :meth:`subscribe`."""
        await self._request("resources/unsubscribe", {"uri": uri}, None)

    async def list_prompts(self, *, timeout_s: float | None = None) -> list[Prompt]:
        """All prompts, over all pages."""
        return await self._list("prompts/list", "prompts", timeout_s)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
    ) -> PromptResult:
        """One prompt, filled in. Values of arguments are strings."""
        params = {"name": name, "arguments": arguments or {}}
        raw = await self._request("prompts/get", params, timeout_s, on_progress=progress_sink(on_progress))
        return self._decoded("prompts/get", decode_prompt_result, raw)

    async def complete(
        self,
        ref: Mapping[str, str],
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> Completion:
        """Completion values.

        Args:
            ref: ``{"type": "ref/prompt", "name": …}`` or ``{"type": "ref/resource", "uri": …}``.
            argument: Its name.
            value: What is typed so far.
            context: Arguments filled in already (from 2025-06-18 on).
        """
        params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": context}
        raw = await self._request("completion/complete", params, timeout_s)
        return self._decoded("completion/complete", decode_completion, raw)

    # --- utilities ----------------------------------------------------------------------------------------------

    async def ping(self, *, timeout_s: float | None = None) -> None:
        """Ask whether the server is there: ``ping``, or ``server/discover`` where ping is gone."""
        modern = self.server.era == "modern"
        await self._request("server/discover" if modern else "ping", {}, timeout_s)

    async def set_log_level(self, level: str) -> None:
        """How much the server should log to us: ``debug`` … ``emergency``; in the stateless era for each later request."""
        if self.server.era == "modern":
            self._log_level = level
        else:
            await self._request("logging/setLevel", {"level": level}, None)

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout_s: float | None = None, force: bool = False
    ) -> Any:
        """Any request: the result as JSON values."""
        return self._decoded(method, msgspec.json.decode, await self._request(method, params or {}, timeout_s, force=force))

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Any one-way message."""
        await self._connected().driver.notify(method, params)

    # --- parts --------------------------------------------------------------------------------------------------

    def _connected(self) -> Session:
        if getattr(self._session, "peer", None) is None:
            raise LocalProtocolError(f"{self.label} is not connected", hint="use 'async with', or call open() first")
        return self._session

    async def _request(self, method: str, params: Mapping[str, Any], timeout_s: float | None, **options: Unpack[RequestOptions]) -> Raw:
        session = self._connected()
        driver = session.driver
        if asyncio.get_running_loop() is not driver.loop:
            return await driver.elsewhere(self._request(method, params, timeout_s, **options))
        if self._reopening.busy is not None:
            driver = await self._reopening.ready()
        if self._log_level is not None:
            options["meta"] = {META_LOG_LEVEL: self._log_level, **(options.get("meta") or {})}
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        began = time.monotonic()
        try:
            result = await session.request(method, params, timeout_s=wait_s, **options)
        except CallFailed as exc:
            if not await self._reopening.remedied(exc, driver):
                raise
            wait_s = max(wait_s - (time.monotonic() - began), 0.001)
            result = await session.request(method, params, timeout_s=wait_s, **options)
        self._reopening.answered = True
        if method in SETTINGS:
            self._reopening.note(method, params)
        return result

    async def _list(self, method: str, member: str, timeout_s: float | None) -> list[Any]:
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        items, problems = await all_pages(self._request, method, member, wait_s, self.label)
        self.problems = problems
        if method != "tools/list":  # there may be more
            self._say_problems(method)
        return items

    def _say_problems(self, method: str) -> None:
        for problem in self.problems[:_MAX_LOGGED]:
            log.warning("%s: %s: set aside: %s", self.label, method, problem)

    def _decoded(self, method: str, decode: Callable[[Raw], T], raw: Raw) -> T:
        try:
            return decode(raw)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise InvalidResult(f"the result of {method} from {self.label} cannot be read: {exc}", result=raw, server=self.label) from exc
