"""The same ``Client`` for code without ``async``: each method runs on one shared loop in a thread.

Safe to use from several threads. Callbacks (progress, elicitation) run in that thread and must not call back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.runtime import client as _async
from dragoman.runtime.client import ServerInfo
from dragoman.runtime.portal import PORTAL
from dragoman.runtime.progress import Progress
from dragoman.runtime.targets import Target
from dragoman.wire.listing import Completion, Prompt, Resource, ResourceTemplate, Tool
from dragoman.wire.results import PromptResult, ReadResult, ToolResult


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
    ) -> ToolResult:
        """Call one tool; see :meth:`dragoman.Client.call_tool`."""
        return PORTAL.run(self._client.call_tool(name, arguments, timeout_s=timeout_s, on_progress=on_progress, meta=meta))

    def list_resources(self, *, timeout_s: float | None = None) -> list[Resource]:
        """All resources."""
        return PORTAL.run(self._client.list_resources(timeout_s=timeout_s))

    def list_resource_templates(self, *, timeout_s: float | None = None) -> list[ResourceTemplate]:
        """All resource templates."""
        return PORTAL.run(self._client.list_resource_templates(timeout_s=timeout_s))

    def read_resource(self, uri: str, *, timeout_s: float | None = None) -> ReadResult:
        """The contents of one resource."""
        return PORTAL.run(self._client.read_resource(uri, timeout_s=timeout_s))

    def list_prompts(self, *, timeout_s: float | None = None) -> list[Prompt]:
        """All prompts."""
        return PORTAL.run(self._client.list_prompts(timeout_s=timeout_s))

    def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None, *, timeout_s: float | None = None) -> PromptResult:
        """One prompt, filled in."""
        return PORTAL.run(self._client.get_prompt(name, arguments, timeout_s=timeout_s))

    def complete(self, ref: Mapping[str, str], argument: str, value: str, *, context: Mapping[str, str] | None = None) -> Completion:
        """Completion values."""
        return PORTAL.run(self._client.complete(ref, argument, value, context=context))

    def ping(self, *, timeout_s: float | None = None) -> None:
        """Ask whether the server is there."""
        PORTAL.run(self._client.ping(timeout_s=timeout_s))

    def set_log_level(self, level: str) -> None:
        """How much the server should log to us."""
        PORTAL.run(self._client.set_log_level(level))
