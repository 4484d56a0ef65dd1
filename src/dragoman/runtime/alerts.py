"""Tells alerts: one warning in the log, the program's own callback, and whoever else was named. Never silent, never twice a minute.

An alert that repeats one of the last minute waits for the end of that minute and is told then, once, with the number of its like: what
flaps floods nobody, and its last word is still heard.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from dragoman.clock import Clock, SystemClock
from dragoman.wire.alerts import Alert
from dragoman.wire.escape import escape_inline

log = logging.getLogger("dragoman")

#: The same alert of the same server is not told again within this time.
QUIET_S: Final = 60.0
#: Of servers that come and go; the oldest are forgotten beyond it, which costs at most a repeated alert.
_REMEMBERED: Final = 1000

#: Gets each alert that is told; may be ``async``. What it raises is logged.
OnAlert = Callable[[Alert], Any]


class Teller(Protocol):
    """Somebody else who is told: a sink that is closed at the end, e.g. a webhook."""

    def __call__(self, alert: Alert) -> None:
        """Take an alert: on the event loop, at once, without raising."""
        ...

    async def close(self, timeout_s: float) -> None:
        """Hand on what waits, within ``timeout_s``."""
        ...


class _Told:
    """When an alert was told, and what came since."""

    __slots__ = ("at", "kept", "last", "timer")

    def __init__(self, at: float) -> None:
        self.at, self.kept = at, 0
        self.last: Alert | None = None
        self.timer: asyncio.TimerHandle | None = None


class AlertBook:
    """An :data:`~dragoman.wire.alerts.AlertSink`: call it with an alert, on the event loop.

    Args:
        on_alert: The program's callback.
        tellers: More who are told.
        redact: Takes secrets out of texts.
    """

    def __init__(
        self,
        on_alert: OnAlert | None = None,
        *,
        tellers: Sequence[Teller] = (),
        redact: Callable[[str], str] | None = None,
        clock: Clock | None = None,
        quiet_s: float = QUIET_S,
    ) -> None:
        self._on_alert, self._tellers, self._redact = on_alert, tuple(tellers), redact
        self._clock = clock or SystemClock()
        self._quiet_s = quiet_s
        self._told: dict[tuple[str, str], _Told] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, alert: Alert) -> None:
        """Tell ``alert`` now, or with its like at the end of the minute."""
        key = (alert.kind, alert.server)
        now = self._clock.monotonic()
        told = self._told.get(key)
        if told is not None and now - told.at < self._quiet_s:
            told.kept, told.last = told.kept + 1, alert
            if told.timer is None and (loop := _loop()) is not None:
                told.timer = loop.call_later(self._quiet_s - (now - told.at), self._tell_kept, key)
            return
        kept = told.kept if told is not None else 0
        if told is not None and told.timer is not None:
            told.timer.cancel()
        while len(self._told) >= _REMEMBERED:
            self._tell_kept(next(iter(self._told)))
        self._told.pop(key, None)  # so that the order is that of telling
        self._told[key] = _Told(now)
        self._tell(alert, kept)

    async def close(self, timeout_s: float) -> None:
        """Tell what waits, and wait for callbacks and tellers; callbacks that take longer are cancelled."""
        for key in list(self._told):
            self._tell_kept(key)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=timeout_s)
            for task in late:
                task.cancel()
                log.error("on_alert did not end within %g s", timeout_s)
        await asyncio.gather(*(teller.close(timeout_s) for teller in self._tellers), return_exceptions=True)

    def _tell_kept(self, key: tuple[str, str]) -> None:
        told = self._told.pop(key, None)
        if told is None:
            return
        if told.timer is not None:
            told.timer.cancel()
        if told.last is not None:
            self._told[key] = _Told(self._clock.monotonic())
            self._tell(told.last, told.kept - 1)

    def _tell(self, alert: Alert, more: int) -> None:
        """Log it and hand it on; ``more`` of its kind were not told since the last one."""
        text = self._redact(alert.text) if self._redact is not None else alert.text
        if more:
            text = f"{text} ({more} more like this since the last one)"
        alert = msgspec.structs.replace(alert, text=escape_inline(text))
        log.warning("%s", alert.text)
        for teller in self._tellers:
            try:
                teller(alert)
            except Exception:
                log.exception("an alert could not be handed on")
        if self._on_alert is None:
            return
        try:
            outcome = self._on_alert(alert)
        except Exception:
            log.exception("on_alert failed")
            return
        if inspect.isawaitable(outcome):
            if (loop := _loop()) is None:
                log.error("on_alert is async, and no event loop runs here: %s", alert.text)
                return
            task = loop.create_task(_awaited(outcome))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _awaited(outcome: Any) -> None:
    try:
        await outcome
    except Exception:
        log.exception("on_alert failed")


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
