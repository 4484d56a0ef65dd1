"""Posts alerts as JSON to one address, off the path of calls: a bounded queue, a deadline of its own, two tries, no redirects."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, Final

import msgspec

from dragoman._version import __version__
from dragoman.errors import DragomanError
from dragoman.store.records import iso
from dragoman.transports.http_target import find_proxy, parse_url
from dragoman.wire.alerts import Alert

log = logging.getLogger("dragoman")

TRY_S: Final = 5.0
TRIES: Final = 2
MAX_WAITING: Final = 100


class Webhook:
    """An :data:`~dragoman.wire.alerts.AlertSink` that posts ``{"kind", "server", "text", "at"}`` to ``url``.

    A task runs only while something waits. What cannot be delivered is logged, once until something is delivered again.

    Args:
        url: ``http://`` or ``https://``, with credentials or a secret path if need be: only its origin is shown.
        try_s: Time of one try, connecting included.

    Raises:
        ConfigError: It is no such URL.
    """

    def __init__(self, url: str, *, try_s: float = TRY_S) -> None:
        self._target = parse_url(url)
        self._shown = self._target.url.split("://")[0] + "://" + self._target.host
        self._try_s = try_s
        self._waiting: deque[Alert] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._failing = False

    def __call__(self, alert: Alert) -> None:
        """Queue ``alert``; the oldest is given up where too many wait."""
        if len(self._waiting) >= MAX_WAITING:
            self._failed(f"more than {MAX_WAITING} alerts wait; the oldest is not sent")
            self._waiting.popleft()
        self._waiting.append(alert)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def close(self, timeout_s: float) -> None:
        """Wait for what is queued, and give up the rest."""
        worker = self._worker
        if worker is None:
            return
        await asyncio.wait([worker], timeout=timeout_s)
        if not worker.done():
            worker.cancel()
            await asyncio.wait([worker], timeout=1.0)
            self._failed(f"{len(self._waiting) + 1} alerts were not sent within {timeout_s:g} s")

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._deliver(self._waiting.popleft())
        finally:
            self._worker = None

    async def _deliver(self, alert: Alert) -> None:
        body = msgspec.json.encode({"kind": alert.kind, "server": alert.server, "text": alert.text, "at": iso(alert.at)})
        problem = ""
        for _ in range(TRIES):
            try:
                async with asyncio.timeout(self._try_s):
                    problem = await self._post(body)
            except TimeoutError:
                problem = f"no answer within {self._try_s:g} s"
            if not problem:
                self._failing = False
                return
        self._failed(problem)

    async def _post(self, body: bytes) -> str:
        """What went wrong, or nothing."""
        from dragoman.transports import http_session as http  # aiohttp, which only those need who have a webhook

        target, tries_s = self._target, {"connect_s": self._try_s, "idle_s": self._try_s}
        headers = {"Content-Type": "application/json", "User-Agent": f"dragoman/{__version__}"}
        if target.authorization is not None:
            headers["Authorization"] = target.authorization
        try:
            options: dict[str, Any] = http.request_options(find_proxy(target))
            async with (
                http.open_session(target, trust=None, **tries_s) as session,
                session.post(http.parsed(target.url), data=body, headers=headers, **options) as response,
            ):
                return "" if 200 <= response.status < 300 else f"HTTP {response.status}"
        except TimeoutError:
            raise
        except DragomanError as exc:
            return str(exc)
        except Exception as exc:
            return http.explain(exc, self._shown, connect_s=self._try_s)[0]

    def _failed(self, problem: str) -> None:
        if not self._failing:
            self._failing = True
            log.error(
                "alerts do not reach the webhook at %s: %s; further failures are not logged until one gets through", self._shown, problem
            )
