"""The tasks extension of 2026-07-28 behind the extension seam of the official SDK 2.x. Usage: tasks_2.py [stdio | http].

The SDK has no tasks of its own: what a task does is this file's, the era, the envelopes and the checks of messages are the SDK's.
It serves `tests/interop` only, from the environment with that SDK.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, RequestParams

ASK = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "How many guests?",
        "requestedSchema": {"type": "object", "properties": {"guests": {"type": "integer"}}},
    },
}


class Named(RequestParams):
    task_id: str


class Update(Named):
    input_responses: dict[str, Any]


class Tasks(Extension):
    """A call of any tool but `plain` becomes a task, for clients that declare the extension."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.tasks: dict[str, dict[str, Any]] = {}
        self.numbers = itertools.count(1)

    def methods(self) -> Sequence[MethodBinding]:
        bound = (("tasks/get", Named, self.get), ("tasks/update", Update, self.update), ("tasks/cancel", Named, self.cancel))
        return [MethodBinding(name, kind, handler) for name, kind, handler in bound]

    async def intercept_tool_call(self, params: CallToolRequestParams, ctx: Any, call_next: Any) -> Any:
        declared = ctx.session.client_params.capabilities.extensions or {}
        if params.name == "plain" or self.identifier not in declared:
            return await call_next(ctx)
        task_id = f"t{next(self.numbers)}"
        self.tasks[task_id] = {"name": params.name, "polls": 0, "status": "working"}
        return {"resultType": "task", **self.described(task_id)}

    def described(self, task_id: str) -> dict[str, Any]:
        moment = "2026-07-28T00:00:00Z"
        stamps = {"createdAt": moment, "lastUpdatedAt": moment, "ttlMs": None, "pollIntervalMs": 20}
        return {"taskId": task_id, "status": self.tasks[task_id]["status"], **stamps}

    def known(self, task_id: str) -> dict[str, Any]:
        if task_id not in self.tasks:
            raise MCPError(code=-32602, message="no such task")
        return self.tasks[task_id]

    async def get(self, ctx: Any, params: Named) -> dict[str, Any]:
        task = self.known(params.task_id)
        task["polls"] += 1
        more: dict[str, Any] = {}
        if task["status"] == "working" and task["name"] == "ask" and "answer" not in task:
            task["status"] = "input_required"
        elif task["status"] == "working" and task["polls"] > 2 and task["name"] != "wait":
            task["status"] = "failed" if task["name"] == "burn" else "completed"
        if task["status"] == "input_required":
            more["inputRequests"] = {"guests": ASK}
        if task["status"] == "failed":
            more["error"] = {"code": -32000, "message": "burnt"}
        if task["status"] == "completed":
            more["result"] = {"resultType": "complete", "content": [{"type": "text", "text": task.get("answer", "baked")}]}
        return {"resultType": "complete", **self.described(params.task_id), **more}

    async def update(self, ctx: Any, params: Update) -> dict[str, Any]:
        task, answer = self.known(params.task_id), params.input_responses["guests"]
        task["answer"] = f"{answer['action']}: {(answer.get('content') or {}).get('guests')}"
        task["status"] = "working"
        return {"resultType": "complete"}

    async def cancel(self, ctx: Any, params: Named) -> dict[str, Any]:
        self.known(params.task_id)["status"] = "cancelled"
        return {"resultType": "complete"}


server = MCPServer("sdk-2-tasks", version="1.0", extensions=[Tasks()])


@server.tool()
def bake() -> str:
    """Made as a task, or at once for a client that knows no tasks."""
    return "baked at once"


@server.tool()
def burn() -> str:
    """A task that fails."""
    return "never"


@server.tool()
def ask() -> str:
    """A task that asks."""
    return "never"


@server.tool()
def wait() -> str:
    """A task that does not end by itself."""
    return "never"


@server.tool()
def plain() -> str:
    """Never a task."""
    return "at once"


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["stdio"]):
        server.run("stdio")
    else:
        from _http import serve

        serve(server.streamable_http_app(stateless_http=True))
