"""A connection that is up, and everything one request of a call can need: rounds, and one deadline over all of them.

Modern servers answer ``input_required`` when they want something first; the session asks, and sends the request again with
the answers and the server's opaque state, under a new id. Time a person needs is not counted.

Source: MCP 2026-07-28 basic/patterns/mrtr.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypedDict

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.errors import CallFailed, CallTimeout, InvalidResult
from dragoman.protocol.events import Peer, ProgressReceived, short
from dragoman.runtime.asking import DECLINED, Asker
from dragoman.runtime.driver import Driver
from dragoman.runtime.sampling import MAX_A_MINUTE, Rate, fitted
from dragoman.wire.envelope import EMPTY, ErrorBody, RequestId
from dragoman.wire.lenient import decode_leniently
from dragoman.wire.methods import (
    MESSAGE,
    MULTI_ROUND,
    PROGRESS,
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    SERVER_REQUESTS,
    TOOLS_CHANGED,
)

log = logging.getLogger("dragoman")

SAMPLING: Final = "sampling/createMessage"
MAX_ROUNDS: Final = 10
CHANGES: Final = frozenset({TOOLS_CHANGED, RESOURCES_CHANGED, PROMPTS_CHANGED, RESOURCE_UPDATED})


class _Head(msgspec.Struct, gc=False):
    resultType: str | None = None
    inputRequests: dict[str, Any] | None = None
    requestState: Raw | UnsetType = UNSET


_decode_head: Final = msgspec.json.Decoder(_Head).decode


class RequestOptions(TypedDict, total=False):
    """What may come with a request, besides its params and its deadline."""

    on_progress: Callable[[ProgressReceived], Any] | None
    max_timeout_s: float | None
    max_bytes: int | None
    meta: Mapping[str, Any] | None
    force: bool
    headers: tuple[tuple[str, str], ...]
    opened: Callable[[RequestId], Any] | None


class CallOptions(RequestOptions, total=False):
    """The same, and what concerns all rounds: ``on_round`` is called when the server wants something first."""

    on_round: Callable[[], Any] | None


NO_OPTIONS: Final[RequestOptions] = {}


class Session:
    """The handlers of one driver, and the rounds of its calls.

    Args:
        asker: Answers the server.
        label: What to call the server in messages.
        on_notification: Every notice: method, and its params as JSON values.
        on_log: Log messages of the server: the params of ``notifications/message``.

    Attributes:
        observers: Parts of ours that see each notice, inside the reader.
        endings: Parts of ours that are told that the connection in use has ended, and why.
        progress_of: Who gets progress of requests that were answered with a task, by token.
        takes_tasks: Whether a call may be answered with a task.
    """

    def __init__(
        self,
        asker: Asker,
        *,
        label: str,
        on_notification: Callable[[str, dict[str, Any]], Any] | None = None,
        on_log: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.asker = asker
        self.label = label
        self.driver: Driver
        self.peer: Peer
        self.on_change: Callable[[str], None] | None = None
        self.closed = False
        self.observers: list[Callable[[str, Raw], None]] = []
        self.endings: list[Callable[[str], None]] = []
        self.progress_of: dict[RequestId, Callable[[Raw], None]] = {}
        self.takes_tasks = False
        self._on_notification = on_notification
        self._on_log = on_log
        self._samplings = Rate()

    # --- handlers of the driver ---------------------------------------------------------------------------------

    def on_notice(self, method: str, params: Raw) -> None:
        """Take note; callbacks of the user's run later, off the reader."""
        if method == PROGRESS:
            for callback_of in list(self.progress_of.values()):
                callback_of(params)
            return
        self.changed(method, params)
        callback = self._on_notification
        on_log = self._on_log if method == MESSAGE else None
        if callback is None and on_log is None:
            return
        size = len(memoryview(params))
        if on_log is not None:
            self.driver.later(lambda: on_log(_members(params)), size)
        if callback is not None:
            self.driver.later(lambda: callback(method, _members(params)), size)

    def changed(self, method: str, params: Raw = EMPTY) -> None:
        """Tell the parts of ours of a notice, or of a change that may have been missed."""
        if method in CHANGES and self.on_change is not None:
            self.on_change(method)
        for observer in self.observers[:] if self.observers else ():
            observer(method, params)

    def on_ended(self, reason: str) -> None:
        """Tell the parts of ours, unless another connection took its place."""
        if self.closed or self.driver.connection.state == "closed":
            for ending in self.endings[:]:
                ending(reason)

    async def on_ask(self, method: str, params: Raw) -> Any:
        """A legacy server's request."""
        if method == SAMPLING:
            if not self._samplings.allows(asyncio.get_running_loop().time()):
                return ErrorBody(DECLINED, f"more than {MAX_A_MINUTE} samplings in a minute")
            return fitted(await self.asker.handle(self.label, method, params, "legacy"), self.peer.revision)
        if not self.asker.waits_for_a_person(method):
            return await self.asker.handle(self.label, method, params, "legacy")
        driver = self.driver
        driver.pause_deadlines()
        try:
            return await self.asker.handle(self.label, method, params, "legacy")
        finally:
            driver.resume_deadlines()

    # --- requests -----------------------------------------------------------------------------------------------

    async def request(
        self, method: str, params: Mapping[str, Any] | None, timeout_s: float, call_options: CallOptions | None = None
    ) -> Raw:
        """The result of a request, after as many rounds as the server needs (at most ten).

        Raises:
            CallFailed: As :meth:`Driver.request`; also when the server's questions could not be answered.
        """
        driver = self.driver
        on_round: Callable[[], Any] | None = None
        options: RequestOptions = NO_OPTIONS
        if call_options:
            both = call_options.copy()
            on_round, options = both.pop("on_round", None), both
        if self.peer.era == "legacy":
            return await driver.request(method, params, timeout_s=timeout_s, **options)
        began = driver.now()
        result = await driver.request(method, params, timeout_s=timeout_s, **options)
        head = self._head(method, result)
        if head is None:
            return result
        return await self._more_rounds(
            method, params, head, _left(timeout_s, driver.now() - began, timeout_s, options), timeout_s, on_round, options
        )

    async def _more_rounds(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        head: _Head,
        left_s: float,
        timeout_s: float,
        on_round: Callable[[], Any] | None,
        options: RequestOptions,
    ) -> Raw:
        """Answer what the server asks, and send the request again, until there is a result."""
        for _ in range(MAX_ROUNDS - 1):
            if on_round is not None:
                on_round()
            body = dict(params or {})
            if head.inputRequests:
                body["inputResponses"], took_s = await self.answers(method, head.inputRequests, left_s, timeout_s)
                left_s -= took_s
            if head.requestState is not UNSET:
                body["requestState"] = head.requestState
            if left_s <= 0:
                raise self.too_late(timeout_s)
            began = self.driver.now()
            try:
                result = await self.driver.request(method, body, timeout_s=left_s, **options)
            except CallTimeout as exc:
                raise self.too_late(timeout_s, exc.request_id) from None  # the caller knows the whole, not what was left of it
            left_s = _left(left_s, self.driver.now() - began, timeout_s, options)
            another = self._head(method, result)
            if another is None:
                return result
            head = another
        raise CallFailed(f"{self.label} still asks after {MAX_ROUNDS} rounds of one call of {method}", server=self.label)

    def too_late(self, timeout_s: float, request_id: RequestId | None = None) -> CallTimeout:
        """The error of a call whose time is over."""
        message = f"no answer from {self.label} within {timeout_s:g} s, over all its rounds"
        return CallTimeout(message, timeout_s, server=self.label, request_id=request_id)

    def _head(self, method: str, result: Raw) -> _Head | None:
        """``None`` if the result is final."""
        try:
            head = _decode_head(result)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise InvalidResult(f"the result of {self.label} has a bad head: {exc}", server=self.label) from exc
        if head.resultType in (None, "complete") or (head.resultType == "task" and self.takes_tasks and method == "tools/call"):
            return None
        if head.resultType == "input_required" and method in MULTI_ROUND:
            if not head.inputRequests and head.requestState is UNSET:
                message = f"{self.label} wants something before it answers {method}, and does not say what"
                raise InvalidResult(message, path="/inputRequests", result=result, server=self.label)
            return head
        raise InvalidResult(
            f"{self.label} answered {method} with resultType {short(head.resultType)}, which was not asked for",
            path="/resultType",
            result=result,
            server=self.label,
        )

    async def answers(self, method: str, requests: dict[str, Any], left_s: float, timeout_s: float) -> tuple[dict[str, Any], float]:
        """An answer to each, and the seconds that count against the deadline of the call: those that no person needed."""
        loop = asyncio.get_running_loop()
        answers: dict[str, Any] = {}
        counted_s = 0.0
        for key, request in requests.items():
            wanted = request.get("method") if isinstance(request, dict) else None
            if not isinstance(wanted, str) or wanted not in SERVER_REQUESTS:
                raise InvalidResult(
                    f"{self.label} wants {short(wanted)} before it answers {method}, which is not a request of a server",
                    path=f"/inputRequests/{key}",
                    server=self.label,
                )
            person = self.asker.waits_for_a_person(wanted)
            began = loop.time()
            try:
                async with asyncio.timeout(None if person else left_s - counted_s) as limit:
                    answer = await self.asker.handle(self.label, wanted, request.get("params") or {}, "modern")
            except Exception as exc:
                if limit.expired():
                    raise self.too_late(timeout_s) from None
                message = f"{self.label} wants {wanted} before it answers {method}: the handler failed: {exc!r}"
                raise CallFailed(message, server=self.label) from exc
            if not person:
                counted_s += loop.time() - began
            if isinstance(answer, ErrorBody):
                raise CallFailed(f"{self.label} wants {wanted} before it answers {method}: {answer.message}", server=self.label)
            answers[key] = answer
        return answers, counted_s


def _left(left_s: float, took_s: float, timeout_s: float, options: RequestOptions) -> float:
    """What is left of the time of a call after a round. Where progress moved its deadline, what counts in the end is the maximum."""
    most_s = options.get("max_timeout_s")
    if most_s is None:
        return left_s - took_s
    most_s = options["max_timeout_s"] = most_s - took_s
    return min(timeout_s, most_s)


def _members(params: Raw) -> dict[str, Any]:
    decoded, _ = decode_leniently(params)
    return decoded if isinstance(decoded, dict) else {}
