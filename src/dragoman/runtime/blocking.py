"""The same ``Client`` for code without ``async``: each method runs on one shared loop in a thread.

Safe to use from several threads. Callbacks (progress, elicitation) run in that thread and must not call back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from dragoman.runtime import client as _async
from dragoman.runtime.asking import Roots
from dragoman.runtime.client import ServerInfo
from dragoman.runtime.portal import PORTAL
from dragoman.runtime.progress import Progress
from dragoman.runtime.subscriptions import Change, Filter
from dragoman.runtime.subscriptions import Changes as _AsyncChanges
from dragoman.runtime.targets import Target
from dragoman.runtime.tasks import TaskHandle as _AsyncTaskHandle
from dragoman.runtime.tracing import Trace
from dragoman.wire.apps import View
from dragoman.wire.listing import Completion, Prompt, Resource, ResourceTemplate, Tool
from dragoman.wire.results import PromptResult, ReadResult, ToolResult

if TYPE_CHECKING:
    from dragoman.runtime.skills import LoadedSkill as _AsyncLoadedSkill
    from dragoman.wire.skills import Skill


class Changes:
    """One subscription; see :class:`dragoman.runtime.subscriptions.Changes`. Iterating waits in this thread."""

    def __init__(self, changes: _AsyncChanges) -> None:
        self._changes = changes

    def __enter__(self) -> Self:
        PORTAL.run(self._changes.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Change:
        change = PORTAL.run(self._next())
        if change is None:
            raise StopIteration
        return change

    async def _next(self) -> Change | None:
        try:
            return await self._changes.__anext__()
        except StopAsyncIteration:
            return None

    @property
    def granted(self) -> Filter | None:
        """What the server agreed to tell."""
        return self._changes.granted

    @property
    def ended(self) -> str | None:
        """How it ended, ``None`` while it runs."""
        return self._changes.ended

    def close(self) -> None:
        """End it; whoever iterates, in another thread, stops."""
        PORTAL.run(self._changes.close())


class TaskHandle:
    """A call that the server works on; see :class:`dragoman.runtime.tasks.TaskHandle`."""

    def __init__(self, task: _AsyncTaskHandle) -> None:
        self._task = task

    @property
    def id(self) -> str | None:
        """Names it on its server."""
        return self._task.id

    @property
    def status(self) -> str:
        """As last heard."""
        return self._task.status

    def result(self, *, timeout_s: float | None = None) -> ToolResult:
        """Wait for it to end."""
        return PORTAL.run(self._task.result(timeout_s=timeout_s))

    def refresh(self) -> str:
        """Ask how it is doing; the status."""
        return PORTAL.run(self._task.refresh())

    def cancel(self) -> None:
        """Ask the server to stop."""
        PORTAL.run(self._task.cancel())


class LoadedSkill:
    """A skill that is acted on; see :class:`dragoman.runtime.skills.LoadedSkill`."""

    def __init__(self, loaded: _AsyncLoadedSkill) -> None:
        self._loaded = loaded
        self.skill, self.server, self.text = loaded.skill, loaded.server, loaded.text

    def read(self, path: str) -> bytes:
        """A file of the skill, verified."""
        return PORTAL.run(self._loaded.read(path))


class Client:
    """A connection to one MCP server; arguments as :class:`dragoman.Client`.

    ::

        with Client(["python3", "server.py"]) as client:
            print(client.call_tool("add", {"a": 1, "b": 2}).text)
    """

    def __init__(self, target: Target, **options: Any) -> None:
        self._client = _async.Client(target, **options)

    def open(self) -> Client:
        """Connect; ``with`` does this."""
        PORTAL.run(self._client.open())
        return self

    def close(self) -> None:
        """End the connection; idempotent."""
        PORTAL.run(self._client.close())

    def __enter__(self) -> Client:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def server(self) -> ServerInfo:
        """What the server said about itself."""
        return self._client.server

    def list_tools(self, *, timeout_s: float | None = None) -> list[Tool]:
        """All tools, over all pages."""
        return PORTAL.run(self._client.list_tools(timeout_s=timeout_s))

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        trace: Trace | None = None,
    ) -> ToolResult:
        """Call one tool; see :meth:`dragoman.Client.call_tool`."""
        call = self._client.call_tool(name, arguments, timeout_s=timeout_s, on_progress=on_progress, meta=meta, trace=trace)
        return PORTAL.run(call)

    def start_task(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, ttl_ms: int | None = None, timeout_s: float | None = None
    ) -> TaskHandle:
        """Call one tool without waiting for its result; see :meth:`dragoman.Client.start_task`."""
        return TaskHandle(PORTAL.run(self._client.start_task(name, arguments, ttl_ms=ttl_ms, timeout_s=timeout_s)))

    def task(self, task_id: str) -> TaskHandle:
        """A task that was started before."""
        return TaskHandle(self._client.task(task_id))

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resource_list: bool = False,
        resources: Sequence[str] = (),
        timeout_s: float | None = None,
    ) -> Changes:
        """Hear of changes; see :meth:`dragoman.Client.listen`."""

        async def made() -> _AsyncChanges:
            return self._client.listen(tools=tools, prompts=prompts, resource_list=resource_list, resources=resources, timeout_s=timeout_s)

        return Changes(PORTAL.run(made()))

    def set_roots(self, roots: Roots) -> None:
        """Show other folders from now on."""
        PORTAL.run(self._client.set_roots(roots))

    def list_resources(self, *, timeout_s: float | None = None) -> list[Resource]:
        """All resources."""
        return PORTAL.run(self._client.list_resources(timeout_s=timeout_s))

    def list_resource_templates(self, *, timeout_s: float | None = None) -> list[ResourceTemplate]:
        """All resource templates."""
        return PORTAL.run(self._client.list_resource_templates(timeout_s=timeout_s))

    def read_resource(self, uri: str, *, timeout_s: float | None = None) -> ReadResult:
        """The contents of one resource."""
        return PORTAL.run(self._client.read_resource(uri, timeout_s=timeout_s))

    def read_view(self, tool: Tool, *, timeout_s: float | None = None) -> View:
        """The page that a server brings along for the results of a tool; untrusted."""
        return PORTAL.run(self._client.read_view(tool, timeout_s=timeout_s))

    def list_prompts(self, *, timeout_s: float | None = None) -> list[Prompt]:
        """All prompts."""
        return PORTAL.run(self._client.list_prompts(timeout_s=timeout_s))

    def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None, *, timeout_s: float | None = None) -> PromptResult:
        """One prompt, filled in."""
        return PORTAL.run(self._client.get_prompt(name, arguments, timeout_s=timeout_s))

    def list_skills(self, *, timeout_s: float | None = None) -> list[Skill]:
        """The skills that a server lists."""
        return PORTAL.run(self._client.list_skills(timeout_s=timeout_s))

    def get_skill(self, uri: str, *, timeout_s: float | None = None) -> Skill:
        """The entry of one skill."""
        return PORTAL.run(self._client.get_skill(uri, timeout_s=timeout_s))

    def load_skill(self, skill: Skill | str, *, dynamic: bool = False, timeout_s: float | None = None) -> LoadedSkill:
        """A skill's instructions, verified; see :meth:`dragoman.Client.load_skill`."""
        return LoadedSkill(PORTAL.run(self._client.load_skill(skill, dynamic=dynamic, timeout_s=timeout_s)))

    def read_directory(self, uri: str, *, timeout_s: float | None = None) -> list[Resource]:
        """What is in a folder of resources."""
        return PORTAL.run(self._client.read_directory(uri, timeout_s=timeout_s))

    def complete(self, ref: Mapping[str, str], argument: str, value: str, *, context: Mapping[str, str] | None = None) -> Completion:
        """Completion values."""
        return PORTAL.run(self._client.complete(ref, argument, value, context=context))

    def ping(self, *, timeout_s: float | None = None) -> None:
        """Ask whether the server is there."""
        PORTAL.run(self._client.ping(timeout_s=timeout_s))

    def set_log_level(self, level: str) -> None:
        """How much the server should log to us."""
        PORTAL.run(self._client.set_log_level(level))
