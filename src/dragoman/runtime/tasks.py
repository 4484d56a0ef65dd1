"""Calls of tools that are answered later: the tasks of 2025-11-25, and the extension that took their place in 2026-07-28.

The two are not compatible on the wire; which one is spoken follows from the revision. In both, the deadline of the call covers
everything, save the time that a person needs to answer; a call that is given up is cancelled on the server.

Source: MCP 2025-11-25 basic/utilities/tasks; SEP-2663 (io.modelcontextprotocol/tasks).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, Unpack

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.errors import CallFailed, DragomanError, InvalidResult, LocalProtocolError, ServerError
from dragoman.protocol.events import ProgressReceived, short
from dragoman.runtime.session import RequestOptions
from dragoman.wire.envelope import ErrorBody, RequestId
from dragoman.wire.methods import TASK_STATUS, TASKS_EXTENSION
from dragoman.wire.results import ToolResult, decode_tool_result

if TYPE_CHECKING:
    from dragoman.runtime.link import Link
    from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")

FIRST_REVISION: Final = "2025-11-25"
ENDED: Final = frozenset({"completed", "failed", "cancelled"})
MIN_POLL_S: Final = 0.02
MAX_POLL_S: Final = 60.0
_POLL_S: Final = 1.0
_CANCEL_S: Final = 5.0


class _Task(msgspec.Struct):
    """A task as either revision writes it."""

    taskId: str | None = None
    status: str | None = None
    statusMessage: str | None = None
    resultType: str | None = None
    pollInterval: float | None = None
    pollIntervalMs: float | None = None
    inputRequests: dict[str, Any] | None = None
    result: Raw | UnsetType = UNSET
    error: ErrorBody | None = None
    task: Raw | UnsetType = UNSET

    @property
    def poll_s(self) -> float:
        poll_ms = self.pollIntervalMs if self.pollIntervalMs is not None else self.pollInterval
        return _POLL_S if poll_ms is None else min(max(poll_ms / 1000, MIN_POLL_S), MAX_POLL_S)


class _Stated(msgspec.Struct):
    progressToken: int | str | None = None
    progress: float = 0.0
    total: float | None = None
    message: str | None = None


class _Named(msgspec.Struct):
    taskId: str


_decode: Final = msgspec.json.Decoder(_Task).decode
_decode_progress: Final = msgspec.json.Decoder(_Stated).decode
_decode_named: Final = msgspec.json.Decoder(_Named).decode


class Send(Protocol):
    """Sends one ``tools/call``: more members of its params, and options."""

    def __call__(self, more: Mapping[str, Any], /, **options: Unpack[RequestOptions]) -> Awaitable[Raw]: ...


class TaskHandle:
    """A call that the server works on.

    Attributes:
        id: Names the task on its server, where there is one: the id can be kept, and given to ``client.task`` later. ``None``:
            the server answered at once.
        status: As last heard: ``working``, ``input_required``, ``completed``, ``failed``, ``cancelled``.
        message: What the server said about the status; untrusted.
    """

    def __init__(self, tasks: Tasks, task_id: str | None, *, done: Raw | None = None, state: _Task | None = None) -> None:
        self.id = task_id
        self.status = "completed" if done is not None else "working"
        self.message: str | None = None
        self._tasks, self._done = tasks, done
        self._poll_s = _POLL_S
        self._answered: set[str] = set()
        self._state: _Task | None = None
        if state is not None:
            self._note(state)

    async def result(self, *, timeout_s: float | None = None) -> ToolResult:
        """Wait for it to end, answering the server's questions meanwhile. The task goes on if this is cancelled or late.

        Raises:
            CallFailed: It failed, was cancelled, or did not end in time.
        """
        raw = await self._tasks.finish(self, self._tasks.link.timeout_s if timeout_s is None else timeout_s)
        return self._tasks.link._decoded("tools/call", decode_tool_result, raw)

    async def refresh(self) -> str:
        """Ask how it is doing; the status."""
        if self._done is None:
            await self._get(self._tasks.link.timeout_s)
        return self.status

    async def cancel(self) -> None:
        """Ask the server to stop. It may end all the same."""
        if self._done is None:
            await self._tasks.link._request("tasks/cancel", {"taskId": self.id}, None)

    async def _get(self, timeout_s: float) -> None:
        self._note(self._tasks.read(await self._tasks.link._request("tasks/get", {"taskId": self.id}, timeout_s), "tasks/get"))

    def _unanswered(self) -> dict[str, Any]:
        """What the server asks and has not been answered: it repeats itself until it has seen the answers."""
        asked = self._state.inputRequests if self._state is not None and self.status == "input_required" else None
        return {key: request for key, request in (asked or {}).items() if key not in self._answered}

    def _note(self, state: _Task) -> None:
        self._state, self._poll_s = state, state.poll_s
        self.status, self.message = state.status or "working", state.statusMessage


class Tasks:
    """The tasks of one client."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._support: dict[str, str] = {}
        self._heard: dict[str, asyncio.Event] = {}
        self._cancelling: set[asyncio.Task[None]] = set()

    # --- what servers and tools offer ---------------------------------------------------------------------------

    def learn(self, tools: list[Tool]) -> None:
        """Remember which tools run as tasks (2025-11-25)."""
        self._support = {tool.name: str(tool.execution.get("taskSupport")) for tool in tools if tool.execution is not None}

    def _by_request(self) -> bool:
        """Whether the server takes ``params.task``."""
        peer = self.link._session.peer
        declared: Any = peer.capabilities.get("tasks") if peer.revision == FIRST_REVISION else None
        for name in ("requests", "tools", "call"):
            declared = declared.get(name) if isinstance(declared, dict) else None
        return declared is not None and declared is not False

    async def call(self, name: str, send: Send, timeout_s: float, options: RequestOptions) -> Raw:
        """The final result of a call, whether or not the server makes a task of it."""
        if self.link._session.peer.era == "legacy" and not (self._support.get(name) == "required" and self._by_request()):
            return await send({}, **options)
        ends = asyncio.get_running_loop().time() + timeout_s
        handle, stop = await self._begin(name, send, None, options)
        try:
            if handle._done is not None:
                return handle._done
            return await self.finish(handle, max(ends - asyncio.get_running_loop().time(), 0.001), timeout_s)
        except (asyncio.CancelledError, DragomanError):
            if handle.status not in ENDED:
                self._cancel_soon(handle)
            raise
        finally:
            stop()

    async def start(self, name: str, send: Send, ttl_ms: int | None, options: RequestOptions) -> TaskHandle:
        """Start a call as a task, where the tool and the server take that.

        Raises:
            LocalProtocolError: They do not. CallFailed: As every call.
        """
        peer = self.link._session.peer
        if peer.era == "legacy":
            support = self._support.get(name, "forbidden")
            if not self._by_request():
                raise LocalProtocolError(f"{self.link.label} makes no tasks of calls (revision {peer.revision})", hint="use call_tool")
            if support not in ("optional", "required"):
                raise LocalProtocolError(
                    f"the tool {name!r} does not run as a task, as listed last", hint="use call_tool, or list_tools first"
                )
        elif TASKS_EXTENSION not in (peer.capabilities.get("extensions") or {}):  # type: ignore[operator]  # None is taken care of
            raise LocalProtocolError(f"{self.link.label} does not declare the extension {TASKS_EXTENSION}", hint="use call_tool")
        handle, stop = await self._begin(name, send, ttl_ms, options)
        stop()
        return handle

    async def _begin(self, name: str, send: Send, ttl_ms: int | None, options: RequestOptions) -> tuple[TaskHandle, Callable[[], None]]:
        session = self.link._session
        if session.peer.era == "modern":
            raw = await send({}, **options)
            state = self.read(raw, "tools/call")
            if state.resultType != "task":
                return TaskHandle(self, None, done=raw), _nothing
            return TaskHandle(self, self._id_of(state), state=state), _nothing
        token: list[RequestId] = []
        noting: RequestOptions = {**options, "opened": token.append}
        raw = await send({"task": {} if ttl_ms is None else {"ttl": ttl_ms}}, **noting)
        outer = self.read(raw, "tools/call")
        if outer.task is UNSET:
            raise InvalidResult(
                f"{self.link.label} answered {short(name)} without the task that was asked for", result=raw, server=self.link.label
            )
        state = self.read(outer.task, "tools/call")
        stop = self._keep_progress(token[-1], options.get("on_progress"))
        return TaskHandle(self, self._id_of(state), state=state), stop

    def _keep_progress(self, token: RequestId, sink: Callable[[ProgressReceived], Any] | None) -> Callable[[], None]:
        """The token of a call stays good until its task has ended, though the call was answered."""
        session = self.link._session
        if sink is None:
            return _nothing

        def take(params: Raw) -> None:
            try:
                said = _decode_progress(params)
            except (msgspec.DecodeError, RecursionError):
                return
            if said.progressToken == token:
                event = ProgressReceived(token, said.progress, said.total, said.message)
                session.driver.later(lambda: sink(event), len(said.message or ""))

        session.progress_of[token] = take
        return lambda: session.progress_of.pop(token, None) and None

    # --- waiting ------------------------------------------------------------------------------------------------

    async def finish(self, handle: TaskHandle, left_s: float, timeout_s: float | None = None) -> Raw:
        """The final result of a task, asked for at the server's pace until then."""
        if handle._done is not None:
            return handle._done
        link, loop = self.link, asyncio.get_running_loop()
        whole_s = left_s if timeout_s is None else timeout_s
        modern = link._session.peer.era == "modern"
        task_id = str(handle.id)
        heard = self._heard.setdefault(task_id, asyncio.Event())
        try:
            while True:
                began = loop.time()
                if handle.status in ENDED or (handle.status == "input_required" and not modern):
                    raw = self._inlined(handle) if modern else await self._fetched(handle, left_s)
                    if raw is not None:
                        handle._done = raw
                        return raw
                elif new := handle._unanswered() if modern else None:
                    left_s -= await self._answer(handle, new, left_s, whole_s)
                    began = loop.time()  # a person may have taken long, which does not count
                elif handle._state is not None:
                    heard.clear()
                    try:
                        async with asyncio.timeout(min(handle._poll_s, left_s)):
                            await heard.wait()
                    except TimeoutError:
                        pass
                left_s -= loop.time() - began
                if left_s <= 0:
                    raise link._session.too_late(whole_s)
                began = loop.time()
                await handle._get(left_s)
                left_s = max(left_s - (loop.time() - began), 0.001)
        finally:
            self._heard.pop(task_id, None)

    async def _answer(self, handle: TaskHandle, new: dict[str, Any], left_s: float, whole_s: float) -> float:
        """Answer what the server asks; the seconds that count."""
        answers, counted_s = await self.link._session.answers("tools/call", new, left_s, whole_s)
        handle._answered |= new.keys()
        await self.link._request("tasks/update", {"taskId": handle.id, "inputResponses": answers}, max(left_s - counted_s, 0.001))
        return counted_s

    def _inlined(self, handle: TaskHandle) -> Raw | None:
        """The end of a task of the extension; ``None`` if it must be asked for first."""
        state = handle._state
        if state is None or (handle.status == "completed" and state.result is UNSET and state.resultType == "task"):
            return None
        if handle.status == "completed" and state.result is not UNSET:
            return state.result
        if handle.status == "failed" and state.error is not None:
            data = None if state.error.data is UNSET else state.error.data
            raise ServerError(state.error.code, state.error.message, data, server=self.link.label, maybe_ran="yes")
        raise self._no_result(handle)

    async def _fetched(self, handle: TaskHandle, left_s: float) -> Raw:
        """The end of a task of 2025-11-25; it waits for it, and the server may ask things meanwhile."""
        if handle.status == "cancelled":
            raise self._no_result(handle)
        raw = await self.link._request("tasks/result", {"taskId": handle.id}, left_s)
        if handle.status not in ENDED:
            handle.status = "completed"
        return raw

    def _no_result(self, handle: TaskHandle) -> CallFailed:
        said = f": {short(handle.message)}" if handle.message else ""
        return CallFailed(f"the task {short(handle.id)} of {self.link.label} ended as {handle.status}{said}", server=self.link.label)

    # --- parts --------------------------------------------------------------------------------------------------

    def take_note(self, method: str, params: Raw) -> None:
        """A server may say that a task changed; nobody relies on it."""
        if method == TASK_STATUS and self._heard:
            try:
                event = self._heard.get(_decode_named(params).taskId)
            except (msgspec.DecodeError, RecursionError):
                return
            if event is not None:
                event.set()

    def read(self, raw: Raw, method: str) -> _Task:
        """A task as the server described it.

        Raises:
            InvalidResult: It cannot be read.
        """
        try:
            return _decode(raw)
        except (msgspec.DecodeError, RecursionError) as exc:
            label = self.link.label
            raise InvalidResult(f"the task in the result of {method} from {label} cannot be read: {exc}", result=raw, server=label) from exc

    def _id_of(self, state: _Task) -> str:
        if not state.taskId:
            raise InvalidResult(f"{self.link.label} made a task without an id", path="/taskId", server=self.link.label)
        return state.taskId

    def _cancel_soon(self, handle: TaskHandle) -> None:
        task = asyncio.get_running_loop().create_task(self._cancel(handle))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel(self, handle: TaskHandle) -> None:
        try:
            await self.link._request("tasks/cancel", {"taskId": handle.id}, _CANCEL_S)
        except DragomanError as exc:
            log.debug("%s: the task %s could not be cancelled: %s", self.link.label, short(handle.id), exc)


def _nothing() -> None:
    """There is no progress to stop."""
