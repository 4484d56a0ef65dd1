"""One server, one typed face: connect, list, call, read, close. No policy: that is :class:`~dragoman.runtime.host.Host`.

::

    async with Client(["python3", "server.py"]) as client:
        result = await client.call_tool("add", {"a": 1, "b": 2})
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import msgspec
from msgspec import Raw

from dragoman.errors import InvalidResult, LocalProtocolError
from dragoman.runtime.asking import Roots
from dragoman.runtime.link import Link, ServerInfo
from dragoman.runtime.listing import all_pages, decode_completion, without_long_names
from dragoman.runtime.progress import Progress, progress_sink
from dragoman.runtime.prompts import texts
from dragoman.runtime.session import NO_OPTIONS, RequestOptions
from dragoman.runtime.subscriptions import Changes, Filter
from dragoman.runtime.tasks import Send, TaskHandle, Tasks
from dragoman.runtime.tracing import Trace, meta_of
from dragoman.wire.apps import View, view_of
from dragoman.wire.listing import Completion, Prompt, Resource, ResourceTemplate, Tool
from dragoman.wire.methods import ROOTS_CHANGED
from dragoman.wire.results import (
    PromptResult,
    ReadResult,
    ToolResult,
    decode_prompt_result,
    decode_read_result,
    decode_tool_result,
)

if TYPE_CHECKING:
    from dragoman.runtime.skills import LoadedSkill
    from dragoman.wire.skills import Skill

__all__ = ["Client", "ServerInfo"]


class Client(Link):
    __doc__ = Link.__doc__

    # --- tools --------------------------------------------------------------------------------------------------

    async def list_tools(self, *, timeout_s: float | None = None, cache: bool = True) -> list[Tool]:
        """All tools, over all pages. Broken ones are set aside in ``problems``. ``cache=False`` asks in any case."""
        tools: list[Tool] = without_long_names(await self._list("tools/list", "tools", timeout_s, cache), self.problems)
        if self.server.era == "modern" and self._session.driver.connection.traits.headers:
            tools = self._mirrors.take(tools, self.problems)
        if self._tasks is not None:
            self._tasks.learn(tools)
        self._say_problems("tools/list")
        return tools

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        max_timeout_s: float | None = None,
        max_bytes: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        trace: Trace | None = None,
        force: bool = False,
    ) -> ToolResult:
        """Call one tool.

        Args:
            name: The tool's own name.
            arguments: JSON object.
            timeout_s: Over all rounds; the time a person needs to answer the server's questions is not counted.
            max_timeout_s: Each step of progress gives the server ``timeout_s`` anew, up to this many seconds in all; asks for progress.
            max_bytes: The longest result that is wanted; of a longer one, no more than this is held, and the call fails.
            on_progress: Gets a :class:`Progress`; asks the server to send it.
            meta: More members for ``_meta``.
            trace: The trace that this call belongs to: a ``traceparent``, or a mapping with ``tracestate`` and ``baggage`` too.
            force: Call even what the server did not declare.

        Returns:
            The result; ``is_error`` says that the tool failed, which is no exception.

        Raises:
            CallFailed: It was sent, or perhaps sent. LocalProtocolError: it was not.
        """
        if type(arguments) is not dict:
            _check_object(arguments)
        params = {"name": name, "arguments": arguments or {}}
        options: RequestOptions = NO_OPTIONS
        if on_progress is not None or meta is not None or trace is not None or force or max_timeout_s is not None:
            sink, more = progress_sink(on_progress), _merged(meta, trace)
            options = {"on_progress": sink, "meta": more, "force": force, "max_timeout_s": max_timeout_s, "max_bytes": max_bytes}
        elif max_bytes is not None:
            options = {"max_bytes": max_bytes}
        if self._tasks is None and not self._mirrors:
            raw = await self._send("tools/call", params, timeout_s, options)  # type: ignore[arg-type]  # the wider one only adds a key
        elif self._tasks is not None:
            wait_s = self.timeout_s if timeout_s is None else timeout_s
            raw = await self._on_our_loop(self._tasks.call(name, self._sender(params, wait_s), wait_s, options))
        else:
            raw = await self._sender(params, timeout_s)({}, **options)
        return self._decoded("tools/call", decode_tool_result, raw)

    async def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl_ms: int | None = None,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        trace: Trace | None = None,
    ) -> TaskHandle:
        """Call one tool without waiting for its result; needs ``tasks=True``.

        Args:
            ttl_ms: How long the server should keep the task (2025-11-25).
            timeout_s: For the server to take it.

        Raises:
            LocalProtocolError: The server, or the tool as listed last, makes no tasks. CallFailed: As :meth:`call_tool`.
        """
        tasks = self._with_tasks()
        params = {"name": name, "arguments": arguments or {}}
        options: RequestOptions = {"on_progress": progress_sink(on_progress), "meta": _merged(meta, trace)}
        return await self._on_our_loop(tasks.start(name, self._sender(params, timeout_s), ttl_ms, options))

    def task(self, task_id: str) -> TaskHandle:
        """A task that was started before, perhaps over another connection."""
        return TaskHandle(self._with_tasks(), task_id)

    def _with_tasks(self) -> Tasks:
        self._connected()
        if self._tasks is None:
            raise LocalProtocolError("tasks were not asked for", hint="pass tasks=True when the client is made")
        return self._tasks

    def _sender(self, params: Mapping[str, Any], timeout_s: float | None) -> Send:
        async def send(more: Mapping[str, Any], /, **options: Unpack[RequestOptions]) -> Raw:
            body = {**params, **more}
            if not self._mirrors:
                return await self._request("tools/call", body, timeout_s, **options)
            once = functools.partial(self._request, "tools/call", body, timeout_s, **options)
            return await self._mirrors.call(once, self.list_tools, params["name"], params["arguments"])

        return send

    # --- resources and prompts ----------------------------------------------------------------------------------

    async def list_resources(self, *, timeout_s: float | None = None, cache: bool = True) -> list[Resource]:
        """All resources, over all pages."""
        return await self._list("resources/list", "resources", timeout_s, cache)

    async def list_resource_templates(self, *, timeout_s: float | None = None, cache: bool = True) -> list[ResourceTemplate]:
        """All resource templates, over all pages."""
        return await self._list("resources/templates/list", "resourceTemplates", timeout_s, cache)

    async def read_resource(
        self,
        uri: str,
        *,
        timeout_s: float | None = None,
        max_timeout_s: float | None = None,
        max_bytes: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        trace: Trace | None = None,
        cache: bool = True,
    ) -> ReadResult:
        """The contents of one resource; ``trace`` and ``max_bytes`` as in :meth:`call_tool`, ``cache`` as in :meth:`list_tools`."""
        options: RequestOptions = {
            "on_progress": progress_sink(on_progress),
            "meta": _merged(None, trace),
            "max_timeout_s": max_timeout_s,
            "max_bytes": max_bytes,
        }
        raw = await self._fetch("resources/read", {"uri": uri}, timeout_s, cache, **options)
        return self._decoded("resources/read", decode_read_result, raw)

    async def read_view(self, tool: Tool, *, timeout_s: float | None = None, cache: bool = True) -> View:
        """The page that a server brings along for the results of a tool. It is untrusted: see :class:`~dragoman.wire.apps.View`.

        Raises:
            LocalProtocolError: The tool has none. InvalidResult: What is there is no view. CallFailed: As :meth:`read_resource`.
        """
        uri = tool.view_uri
        if uri is None:
            raise LocalProtocolError(f"tool {tool.name!r} has no view", hint="show its result as text")
        result = await self.read_resource(uri, timeout_s=timeout_s, cache=cache)
        try:
            return view_of(result.contents, uri)
        except ValueError as exc:
            raise InvalidResult(f"{uri} of {self.label} is no view: {exc}", result=result, server=self.label) from exc

    async def subscribe(self, uri: str) -> None:
        """Ask for ``notifications/resources/updated`` of one resource (revisions up to 2025-11-25)."""
        await self._request("resources/subscribe", {"uri": uri}, None)

    async def unsubscribe(self, uri: str) -> None:
        """Undo :meth:`subscribe`."""
        await self._request("resources/unsubscribe", {"uri": uri}, None)

    async def list_prompts(self, *, timeout_s: float | None = None, cache: bool = True) -> list[Prompt]:
        """All prompts, over all pages."""
        return await self._list("prompts/list", "prompts", timeout_s, cache)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
        max_timeout_s: float | None = None,
        max_bytes: int | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        trace: Trace | None = None,
    ) -> PromptResult:
        """One prompt, filled in. Values of arguments are strings; the rest is as in :meth:`call_tool`."""
        params = {"name": name, "arguments": texts(arguments)}
        options: RequestOptions = {
            "on_progress": progress_sink(on_progress),
            "meta": _merged(None, trace),
            "max_timeout_s": max_timeout_s,
            "max_bytes": max_bytes,
        }
        raw = await self._request("prompts/get", params, timeout_s, **options)
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

    # --- skills -------------------------------------------------------------------------------------------------

    async def list_skills(self, *, timeout_s: float | None = None, cache: bool = True) -> list[Skill]:
        """The skills that a server lists, perhaps not all it has. Their files are not fetched; broken entries are in ``problems``."""
        skills: list[Skill] = await self._list("skills/list", "skills", timeout_s, cache)
        return skills

    async def get_skill(self, uri: str, *, timeout_s: float | None = None) -> Skill:
        """The entry of one skill as it is now, by the URI of its ``SKILL.md``, listed or not."""
        from dragoman.wire.skills import decode_skill

        skill = self._decoded("skills/get", decode_skill, await self._request("skills/get", {"uri": uri}, timeout_s))
        if skill.uri != uri:
            raise InvalidResult(f"{self.label} was asked for the skill {uri!r} and answered with another", server=self.label)
        return skill

    async def load_skill(self, skill: Skill | str, *, dynamic: bool = False, timeout_s: float | None = None) -> LoadedSkill:
        """Fetch a skill's instructions, verified against its entry; its other files come through :meth:`LoadedSkill.read`.

        Ask the person first: what a server writes there steers a model.

        Args:
            skill: An entry that was listed, or a URI to get one by.
            dynamic: Load it even if its files cannot be verified.
            timeout_s: For each request.

        Raises:
            LocalProtocolError: It is too large, or cannot be verified. InvalidResult: ``SKILL.md`` is not what was listed.
        """
        from dragoman.runtime.skills import LoadedSkill, check_loadable

        if isinstance(skill, str):
            skill = await self.get_skill(skill, timeout_s=timeout_s)
        check_loadable(skill, self.label, dynamic=dynamic)
        loaded = LoadedSkill(skill, self.label, functools.partial(self.read_resource, timeout_s=timeout_s, cache=False))
        await loaded.load()
        return loaded

    async def read_directory(self, uri: str, *, timeout_s: float | None = None) -> list[Resource]:
        """What is in a folder of resources, where the server offers that; no part of a skill that its entry does not list."""
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        ask = functools.partial(self._within, uri)
        found, self.problems = await all_pages(ask, "resources/directory/read", "resources", wait_s, self.label)
        return found

    async def _within(self, uri: str, method: str, params: Mapping[str, Any], timeout_s: float) -> Raw:
        return await self._request(method, {"uri": uri, **params}, timeout_s)

    # --- changes ------------------------------------------------------------------------------------------------

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resource_list: bool = False,
        resources: Sequence[str] = (),
        timeout_s: float | None = None,
    ) -> Changes:
        """Hear of changes, in every era: ``async with client.listen(tools=True) as changes: async for change in changes: …``.

        Args:
            tools, prompts, resource_list: Changes of these lists.
            resources: URIs of resources whose contents may change.
            timeout_s: For the server to agree; the subscription itself has no deadline.

        Returns:
            To be entered; see :class:`~dragoman.runtime.subscriptions.Changes`.
        """
        if isinstance(resources, str):
            raise LocalProtocolError("resources must be a list of URIs")
        wanted = Filter(tools, prompts, resource_list, tuple(dict.fromkeys(resources)))
        if wanted == Filter():
            raise LocalProtocolError("nothing to listen to", hint="e.g. listen(tools=True)")
        return Changes(self, wanted, self.timeout_s if timeout_s is None else timeout_s)

    async def set_roots(self, roots: Roots) -> None:
        """Show other folders from now on; a legacy server is told that they changed.

        Raises:
            LocalProtocolError: None were declared when the client was made; one is no folder and no file:// URI.
        """
        self._asker.set_roots(roots)
        if self.is_open and self.server.era == "legacy":
            await self.notify(ROOTS_CHANGED)

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
        return self._decoded(method, msgspec.json.decode, await self._fetch(method, params or {}, timeout_s, True, force=force))

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Any one-way message."""
        await self._connected().driver.notify(method, params)


def _check_object(arguments: object) -> None:
    if arguments is not None and not isinstance(arguments, Mapping):
        raise LocalProtocolError(f"arguments must be a mapping, got {type(arguments).__name__}")


def _merged(meta: Mapping[str, Any] | None, trace: Trace | None) -> Mapping[str, Any] | None:
    return meta if trace is None else {**(meta or {}), **meta_of(trace)}
